import torch


# Values decide which way it goes: no single graph.
def f(x, src):
    if x.sum().item() > 0:
        y = torch.slice_scatter(x, src, dim=0, start=1, end=3)
    else:
        y = x * 2
    print("hello from the middle")
    return y.sum(dim=0)


x = torch.arange(1.0, 25.0).reshape(6, 4).requires_grad_()
src = torch.ones(2, 4, requires_grad=True)
out = torch.compile(f)(x, src)
(out * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
print(x.grad)
