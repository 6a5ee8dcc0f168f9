# title: a foreach operator in place on complex numbers does not compile
# issue: https://github.com/pytorch/pytorch/issues/197094
# expect: * cpu eager agree
# expect: * cpu aot_eager agree
# expect: * cpu inductor compile_error
import torch


def ints(n, low, high, seed):  # whole numbers in [low, high]
    g = torch.Generator().manual_seed(seed)
    return torch.randint(low, high + 1, (n,), generator=g)


def inputs(device="cpu", draw=0):
    s0 = torch.complex(*ints(2 * 3, -4, 4, seed=1 + draw).double().reshape(2, -1)).to(device, torch.complex64)
    x0 = s0.as_strided((3,), (1,), 0)
    return [x0]


def program(x0):
    torch._foreach_add_([x0], [x0])
    return (x0,)


def cotangents(outputs, draw=0):
    c0 = ints(outputs[0].numel(), 1, 1, seed=0 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]
