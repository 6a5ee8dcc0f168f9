import torch


def f(x):
    buf = torch.empty(64)
    buf[:4] = x
    return buf + x.sum()


junk = [torch.full((64,), float(i)) for i in range(50)]
del junk
x = torch.randn(4)
print("same:", torch.equal(torch.compile(f)(x), f(x)))
