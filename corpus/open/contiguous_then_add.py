# title: a contiguous() copy of a strided input is returned, the input added to in place: the backward raises
# expect: * cpu eager agree
# expect: * cpu aot_eager runtime_error
# expect: * cpu inductor runtime_error
import torch


def normal(n, scale, shift, seed):  # about normal, |x - shift| <= 3 * scale
    g = torch.Generator().manual_seed(seed)
    u = torch.randint(-(2**20), 2**20 + 1, (3, n), generator=g).sum(0).double() / 2**20
    return shift + scale * u


def inputs(device="cpu", draw=0):
    s0 = normal(4, 1.0, 0.0, seed=11 + draw).to(device, torch.float64)
    s1 = normal(1, 1.0, 0.0, seed=31 + draw).to(device, torch.float64)
    x0 = s0.as_strided((2,), (3,), 0)
    x1 = s1.as_strided((), (), 0).detach().requires_grad_()
    return [x0, x1]


def program(x0, x1):
    v2 = x0.contiguous()
    v3 = x0.add_(x1)
    v4 = torch.sum(v3)
    return (v2, v4)


def cotangents(outputs, draw=0):
    c0 = normal(outputs[0].numel(), 1.0, 0.0, seed=17 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    c1 = torch.tensor([1.0], dtype=torch.float64).to(outputs[1].device, outputs[1].dtype).reshape(outputs[1].shape)
    return [c0, c1]
