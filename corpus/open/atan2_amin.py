# title: amin of atan2 drops the gradient, inductor on CPU only
# issue: https://github.com/pytorch/pytorch/issues/186799
# expect: * cpu eager agree
# expect: * cpu aot_eager agree
# expect: * cpu inductor gradient_mismatch
# expect: 2.11.* cuda inductor agree
import torch


def normal(n, scale, shift, seed):  # about normal, |x - shift| <= 3 * scale
    g = torch.Generator().manual_seed(seed)
    u = torch.randint(-(2**20), 2**20 + 1, (3, n), generator=g).sum(0).double() / 2**20
    return shift + scale * u


def inputs(device="cpu", draw=0):
    s0 = normal(6, 1.0, 0.0, seed=11 + draw).to(device, torch.float32)
    s1 = normal(6, 1.0, 0.0, seed=111 + draw).to(device, torch.float32)
    x0 = s0.as_strided((2, 3), (3, 1), 0).detach().requires_grad_()
    x1 = s1.as_strided((2, 3), (3, 1), 0)
    return [x0, x1]


def program(x0, x1):
    v2 = torch.atan2(x0, x1)
    v3 = torch.amin(v2, dim=-1)
    return (v3,)


def cotangents(outputs, draw=0):
    c0 = normal(outputs[0].numel(), 1.0, 0.0, seed=17 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]
