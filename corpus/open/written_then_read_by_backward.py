# title: the backward reads an input that the forward has written since
# issue: https://github.com/pytorch/pytorch/pull/197039
# expect: * cpu eager agree
# expect: * cpu aot_eager gradient_mismatch
# expect: * cpu inductor gradient_mismatch
import torch


def normal(n, scale, shift, seed):  # about normal, |x - shift| <= 3 * scale
    g = torch.Generator().manual_seed(seed)
    u = torch.randint(-(2**20), 2**20 + 1, (3, n), generator=g).sum(0).double() / 2**20
    return shift + scale * u


def inputs(device="cpu", draw=0):
    s0 = normal(3, 1.0, 0.0, seed=11 + draw).to(device, torch.float64)
    s1 = normal(3, 1.0, 0.0, seed=31 + draw).to(device, torch.float64)
    x0 = s0.as_strided((3,), (1,), 0)
    x1 = s1.as_strided((3,), (1,), 0).detach().requires_grad_()
    return [x0, x1]


def program(x0, x1):
    v2 = torch.neg(x0)
    x0[...] = 0.0
    v3 = torch.mul(v2, x1)
    return (v3,)


def cotangents(outputs, draw=0):
    c0 = normal(outputs[0].numel(), 1.0, 0.0, seed=17 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]
