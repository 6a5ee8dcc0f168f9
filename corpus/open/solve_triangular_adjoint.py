# title: solve_triangular with a conjugate transpose: the compiled layout is not what the kernel returns
# expect: * cpu eager agree
# expect: * cpu aot_eager agree
# expect: * cpu inductor runtime_error
import torch


def normal(n, scale, shift, seed):  # about normal, |x - shift| <= 3 * scale
    g = torch.Generator().manual_seed(seed)
    u = torch.randint(-(2**20), 2**20 + 1, (3, n), generator=g).sum(0).double() / 2**20
    return shift + scale * u


def inputs(device="cpu", draw=0):
    s0 = torch.complex(*normal(2 * 4, 1.0, 0.0, seed=11 + draw).reshape(2, -1)).to(device, torch.complex128)
    s1 = torch.complex(*normal(2 * 4, 1.0, 0.0, seed=31 + draw).reshape(2, -1)).to(device, torch.complex128)
    x0 = s0.as_strided((2, 2), (2, 1), 0)
    x1 = s1.as_strided((2, 2), (2, 1), 0)
    return [x0, x1]


def program(x0, x1):
    v2 = torch.adjoint(x0)
    v3 = torch.linalg.solve_triangular(v2, x1, upper=True)
    return (v3,)


def cotangents(outputs, draw=0):
    c0 = normal(outputs[0].numel(), 1.0, 0.0, seed=17 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]
