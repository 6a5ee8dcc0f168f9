# title: interpolation coordinates and weights are rounded in the kernel
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
    s0 = normal(150, 30.0, 0.0, seed=1 + draw).to(device, torch.float32)
    x0 = s0.as_strided((1, 1, 50, 3), (150, 150, 3, 1), 0).detach().requires_grad_()
    return [x0]


def program(x0):
    v1 = torch.nn.functional.interpolate(x0, size=[23, 7], mode="bicubic", align_corners=False)
    v2 = torch.nn.functional.interpolate(x0, size=[37, 2], mode="bilinear", align_corners=True)
    return (v1, v2)


def cotangents(outputs, draw=0):
    c0 = normal(outputs[0].numel(), 1.0, 0.0, seed=2 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    c1 = normal(outputs[1].numel(), 1.0, 0.0, seed=3 + draw).to(outputs[1].device, outputs[1].dtype).reshape(outputs[1].shape)
    return [c0, c1]
