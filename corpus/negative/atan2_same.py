# title: gradient of atan2(x, x) cancels to 0
# expect: * cpu eager agree
# expect: * cpu aot_eager agree
# expect: * cpu aot_eager_decomp_partition agree
# expect: * cpu inductor agree
import torch


def ints(n, low, high, seed):  # whole numbers in [low, high]
    g = torch.Generator().manual_seed(seed)
    return torch.randint(low, high + 1, (n,), generator=g)


def normal(n, scale, shift, seed):  # about normal, |x - shift| <= 3 * scale
    g = torch.Generator().manual_seed(seed)
    u = torch.randint(-(2**20), 2**20 + 1, (3, n), generator=g).sum(0).double() / 2**20
    return shift + scale * u


def inputs(device="cpu", draw=0):
    s0 = normal(32, 1.0, 0.0, seed=1 + draw).to(device, torch.float32)
    x0 = s0.as_strided((4, 8), (8, 1), 0).detach().requires_grad_()
    return [x0]


def program(x0):
    v1 = torch.atan2(x0, x0)
    return (v1,)


def cotangents(outputs, draw=0):
    c0 = ints(outputs[0].numel(), 1, 4, seed=99 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]
