# title: bfloat16 intermediates may stay in float32
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
    s0 = normal(64, 1.0, 0.0, seed=1 + draw).to(device, torch.bfloat16)
    s1 = normal(64, 1.0, 0.0, seed=2 + draw).to(device, torch.bfloat16)
    x0 = s0.as_strided((4, 16), (16, 1), 0).detach().requires_grad_()
    x1 = s1.as_strided((4, 16), (16, 1), 0).detach().requires_grad_()
    return [x0, x1]


def program(x0, x1):
    v2 = torch.sin(x0)
    v3 = torch.exp(v2)
    v4 = torch.mul(v3, x1)
    v5 = torch.sigmoid(v4)
    v6 = torch.mul(v4, x0)
    v7 = torch.add(v5, v6)
    v8 = torch.mean(v7, -1)
    return (v8,)


def cotangents(outputs, draw=0):
    c0 = normal(outputs[0].numel(), 1.0, 0.0, seed=3 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]
