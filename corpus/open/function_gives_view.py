# title: a custom Function that gives a view of an intermediate: its backward is not called
# expect: * cpu eager agree
# expect: * cpu aot_eager gradient_mismatch
# expect: * cpu inductor gradient_mismatch
import torch


def inputs(device="cpu", draw=0):
    x0 = torch.tensor([2.0, 3.0], dtype=torch.float64, device=device).requires_grad_()
    return [x0]


class ProgramFunction(torch.autograd.Function):  # its backward is not its derivative
    @staticmethod
    def forward(ctx, v1):
        v2 = v1.view(2, 1)
        ctx.save_for_backward(v1)
        return v2

    @staticmethod
    def backward(ctx, g0):
        (v1,) = ctx.saved_tensors
        g = g0.sum()
        return v1 * g if v1.is_floating_point() else None


def program(x0):
    v1 = torch.sin(x0)
    v2 = ProgramFunction.apply(v1)
    return (v1, v2)


def cotangents(outputs, draw=0):
    c0 = torch.tensor([1.0, 1.0], dtype=torch.float64).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    c1 = torch.tensor([1.0, 1.0], dtype=torch.float64).to(outputs[1].device, outputs[1].dtype).reshape(outputs[1].shape)
    return [c0, c1]
