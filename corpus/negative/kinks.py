# title: abs, relu, clamp and maximum at their kinks
# expect: * cpu eager agree
# expect: * cpu aot_eager agree
# expect: * cpu aot_eager_decomp_partition agree
# expect: * cpu inductor agree
import torch


def ints(n, low, high, seed):  # whole numbers in [low, high]
    g = torch.Generator().manual_seed(seed)
    return torch.randint(low, high + 1, (n,), generator=g)


def inputs(device="cpu", draw=0):
    s0 = ints(16, -1, 1, seed=1 + draw).to(device, torch.float32)
    x0 = s0.as_strided((16,), (1,), 0).detach().requires_grad_()
    return [x0]


def program(x0):
    v1 = torch.abs(x0)
    v2 = torch.relu(x0)
    v3 = torch.clamp(x0, -1, 0)
    v4 = torch.neg(x0)
    v5 = torch.maximum(x0, v4)
    return (v1, v2, v3, v5)


def cotangents(outputs, draw=0):
    c0 = ints(outputs[0].numel(), 1, 4, seed=99 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    c1 = ints(outputs[1].numel(), 1, 4, seed=99 + draw).to(outputs[1].device, outputs[1].dtype).reshape(outputs[1].shape)
    c2 = ints(outputs[2].numel(), 1, 4, seed=99 + draw).to(outputs[2].device, outputs[2].dtype).reshape(outputs[2].shape)
    c3 = ints(outputs[3].numel(), 1, 4, seed=99 + draw).to(outputs[3].device, outputs[3].dtype).reshape(outputs[3].shape)
    return [c0, c1, c2, c3]
