# title: logsumexp near 0, with one large term
# expect: * cpu eager agree
# expect: * cpu aot_eager agree
# expect: * cpu aot_eager_decomp_partition agree
# expect: * cpu inductor agree
import torch


def ints(n, low, high, seed):  # whole numbers in [low, high]
    g = torch.Generator().manual_seed(seed)
    return torch.randint(low, high + 1, (n,), generator=g)


def inputs(device="cpu", draw=0):
    x0 = torch.tensor([[0.0, -17.0, -18.0], [0.0, -30.0, -40.0], [1e-04, -20.0, -90.0], [float("-inf"), float("-inf"), 3.0]], dtype=torch.float32, device=device).requires_grad_()
    return [x0]


def program(x0):
    v1 = torch.logsumexp(x0, -1)
    return (v1,)


def cotangents(outputs, draw=0):
    c0 = ints(outputs[0].numel(), 1, 4, seed=99 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]
