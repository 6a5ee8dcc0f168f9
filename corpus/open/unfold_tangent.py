# title: an output that overlaps itself: its gradient is copied into overlapping memory
# issue: https://github.com/pytorch/pytorch/issues/184088
# expect: * cpu eager agree
# expect: 2.11.* cpu aot_eager agree
# expect: 2.11.* cpu inductor agree
# expect: 2.15.* cpu aot_eager gradient_mismatch
# expect: 2.15.* cpu inductor gradient_mismatch
import torch


def normal(n, scale, shift, seed):  # about normal, |x - shift| <= 3 * scale
    g = torch.Generator().manual_seed(seed)
    u = torch.randint(-(2**20), 2**20 + 1, (3, n), generator=g).sum(0).double() / 2**20
    return shift + scale * u


def inputs(device="cpu", draw=0):
    s0 = normal(3, 1.0, 0.0, seed=11 + draw).to(device, torch.float64)
    x0 = s0.as_strided((3,), (1,), 0).detach().requires_grad_()
    return [x0]


def program(x0):
    v1 = torch.exp(x0)
    v2 = v1.unfold(0, 2, 1)
    return (v2,)


def cotangents(outputs, draw=0):
    c0 = normal(outputs[0].numel(), 1.0, 0.0, seed=17 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]
