# title: (x + 1) y - (x y + sum y) cancels
# expect: * cpu eager agree
# expect: * cpu aot_eager agree
# expect: * cpu aot_eager_decomp_partition agree
# expect: * cpu inductor agree
import torch


def normal(n, scale, shift, seed):  # about normal, |x - shift| <= 3 * scale
    g = torch.Generator().manual_seed(seed)
    u = torch.randint(-(2**20), 2**20 + 1, (3, n), generator=g).sum(0).double() / 2**20
    return shift + scale * u


def inputs(device="cpu", draw=0):
    s0 = normal(231, 1.0, 10.0, seed=1 + draw).to(device, torch.float32)
    s1 = normal(165, 1.0, 0.0, seed=2 + draw).to(device, torch.float32)
    x0 = s0.as_strided((7, 33), (33, 1), 0).detach().requires_grad_()
    x1 = s1.as_strided((33, 5), (5, 1), 0).detach().requires_grad_()
    return [x0, x1]


def program(x0, x1):
    v2 = torch.add(x0, 1)
    v3 = torch.matmul(v2, x1)
    v4 = torch.matmul(x0, x1)
    v5 = torch.sum(x1, 0)
    v6 = torch.add(v4, v5)
    v7 = torch.sub(v3, v6)
    return (v7,)


def cotangents(outputs, draw=0):
    c0 = normal(outputs[0].numel(), 1.0, 0.0, seed=3 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]
