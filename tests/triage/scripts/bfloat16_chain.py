import torch

torch.manual_seed(0)
x = (torch.randn(4, 256) * 3).to(torch.bfloat16)


def f(x):
    y = x * 1.001
    y = y + 0.1
    y = y * 0.999
    y = y - 0.1
    return (y * y).mean(dim=-1)


a = f(x)
b = torch.compile(f)(x)
print((a - b).abs().max())
torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
