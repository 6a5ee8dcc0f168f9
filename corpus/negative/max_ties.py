# title: max over a dimension with equal elements
# expect: * cpu eager agree
# expect: * cpu aot_eager agree
# expect: * cpu aot_eager_decomp_partition agree
# expect: * cpu inductor agree
import torch


def ints(n, low, high, seed):  # whole numbers in [low, high]
    g = torch.Generator().manual_seed(seed)
    return torch.randint(low, high + 1, (n,), generator=g)


def inputs(device="cpu", draw=0):
    s0 = ints(35, 0, 2, seed=1 + draw).to(device, torch.float32)
    x0 = s0.as_strided((5, 7), (7, 1), 0).detach().requires_grad_()
    return [x0]


def program(x0):
    v1, v2 = torch.max(x0, dim=1)
    return (v1,)


def cotangents(outputs, draw=0):
    c0 = ints(outputs[0].numel(), 1, 4, seed=99 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]
