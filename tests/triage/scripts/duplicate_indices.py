import torch


def f(x, i, v):
    return x.index_copy(0, i, v).index_put((i,), v * 3)


x = torch.zeros(4, 3)
i = torch.tensor([1, 1, 2, 1])
v = torch.arange(12.0).reshape(4, 3)
print(f(x, i, v) == torch.compile(f)(x, i, v))
