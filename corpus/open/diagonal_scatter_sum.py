# title: x.grad is all zero: diagonal_scatter into sum, inductor only
# issue: https://github.com/pytorch/pytorch/issues/182012
# expect: 2.11.* cpu eager agree
# expect: 2.11.* cpu aot_eager agree
# expect: 2.11.* cpu inductor gradient_mismatch
# expect: 2.11.* cuda inductor gradient_mismatch
# expect: 2.15.* cpu inductor agree
import torch


def inputs(device="cpu", draw=0):
    x0 = torch.tensor(
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], dtype=torch.float32, device=device
    ).requires_grad_()
    x1 = torch.tensor([10.0, 11.0, 12.0], dtype=torch.float32, device=device).requires_grad_()
    return [x0, x1]


def program(x0, x1):
    v2 = torch.diagonal_scatter(x0, x1, 0)
    v3 = torch.sum(v2)
    return (v3,)


def cotangents(outputs, draw=0):
    c0 = torch.tensor([1.0], dtype=torch.float64).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]
