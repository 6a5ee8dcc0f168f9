import torch

x = torch.randn(3, requires_grad=True)


def f(x):
    return x.sin().sum()


loss = torch.compile(f)(x)
los.backward()
