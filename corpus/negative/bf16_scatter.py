# title: bfloat16 partial sums of a scatter cancel, in any order
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
    s0 = normal(96, 1.0, 0.0, seed=1 + draw).to(device, torch.bfloat16)
    s1 = ints(96, 0, 2, seed=7 + draw).to(device, torch.int64)
    x0 = s0.as_strided((24, 4), (1, 24), 0).detach().requires_grad_()
    x1 = s1.as_strided((24, 4), (4, 1), 0)
    return [x0, x1]


def program(x0, x1):
    v2 = torch.scatter_reduce(x0, 0, x1, x0, "sum")
    return (v2,)


def cotangents(outputs, draw=0):
    c0 = normal(outputs[0].numel(), 1.0, 0.0, seed=2 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]
