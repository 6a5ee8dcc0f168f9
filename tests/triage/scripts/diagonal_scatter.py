# Gradients differ between eager and torch.compile for diagonal_scatter
import torch

print(torch.__version__)

device = "cuda" if torch.cuda.is_available() else "cpu"


def fn(x, src):
    y = torch.diagonal_scatter(x, src, 0)
    return y.sum()


def run(f):
    torch.manual_seed(0)
    x = torch.randn(16, 16, device=device, requires_grad=True)
    src = torch.randn(16, device=device, requires_grad=True)
    out = f(x, src)
    out.backward()
    return out.detach(), x.grad, src.grad


eager = run(fn)
compiled = run(torch.compile(fn))

print("out equal:", torch.allclose(eager[0], compiled[0]))
print("x.grad eager:\n", eager[1])
print("x.grad compiled:\n", compiled[1])
assert torch.allclose(eager[1], compiled[1]), "x.grad is wrong!"
