# title: slope of soft_margin_loss: sigmoid - 1 cancels
# expect: * cpu eager agree
# expect: * cpu aot_eager agree
# expect: * cpu aot_eager_decomp_partition agree
# expect: * cpu inductor agree
import torch


def ints(n, low, high, seed):  # whole numbers in [low, high]
    g = torch.Generator().manual_seed(seed)
    return torch.randint(low, high + 1, (n,), generator=g)


def inputs(device="cpu", draw=0):
    x0 = torch.tensor([-40.0, -3.0, 0.0, 5.0, 12.0, 17.0, 40.0, 62.0], dtype=torch.float32, device=device).requires_grad_()
    s1 = ints(8, 1, 1, seed=1 + draw).to(device, torch.float32)
    x1 = s1.as_strided((8,), (1,), 0)
    return [x0, x1]


def program(x0, x1):
    v2 = torch.nn.functional.soft_margin_loss(x0, x1)
    return (v2,)


def cotangents(outputs, draw=0):
    c0 = ints(outputs[0].numel(), 1, 4, seed=99 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]
