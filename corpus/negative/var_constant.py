# title: var and std of constant rows
# expect: * cpu eager agree
# expect: * cpu aot_eager agree
# expect: * cpu aot_eager_decomp_partition agree
# expect: * cpu inductor agree
import torch


def ints(n, low, high, seed):  # whole numbers in [low, high]
    g = torch.Generator().manual_seed(seed)
    return torch.randint(low, high + 1, (n,), generator=g)


def inputs(device="cpu", draw=0):
    s0 = ints(51, 3, 3, seed=1 + draw).to(device, torch.float32)
    x0 = s0.as_strided((3, 17), (17, 1), 0).detach().requires_grad_()
    return [x0]


def program(x0):
    v1 = torch.mul(x0, 0.1)
    v2 = torch.var(v1, -1)
    v3 = torch.std(x0, -1)
    return (v2, v3)


def cotangents(outputs, draw=0):
    c0 = ints(outputs[0].numel(), 1, 4, seed=99 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    c1 = ints(outputs[1].numel(), 1, 4, seed=99 + draw).to(outputs[1].device, outputs[1].dtype).reshape(outputs[1].shape)
    return [c0, c1]
