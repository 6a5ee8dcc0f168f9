# title: avg_pool2d with one number of padding for both dimensions: the backward does not compile
# expect: * cpu eager agree
# expect: * cpu aot_eager agree
# expect: * cpu inductor compile_error
import torch


def normal(n, scale, shift, seed):  # about normal, |x - shift| <= 3 * scale
    g = torch.Generator().manual_seed(seed)
    u = torch.randint(-(2**20), 2**20 + 1, (3, n), generator=g).sum(0).double() / 2**20
    return shift + scale * u


def inputs(device="cpu", draw=0):
    s0 = normal(16, 1.0, 0.0, seed=11 + draw).to(device, torch.float64)
    x0 = s0.as_strided((1, 4, 4), (16, 4, 1), 0).detach().requires_grad_()
    return [x0]


def program(x0):
    v1 = torch.nn.functional.avg_pool2d(x0, (2, 2), (2, 2), (1,))
    return (v1,)


def cotangents(outputs, draw=0):
    c0 = normal(outputs[0].numel(), 1.0, 0.0, seed=17 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]
