import torch


class Filter:
    """Not a module: plain methods, one decorated, one compiled by call."""

    def __init__(self, n):
        self.weight = torch.linspace(-1, 1, n)
        self.smooth = torch.compile(self._smooth, backend="inductor", mode="reduce-overhead")

    @torch.compile
    def scale(self, x, *, factor=2.0):
        return x * self.weight * factor

    def _smooth(self, pair):
        a, b = pair["a"], pair["b"]
        return {"mean": (a + b) / 2, "range": (a - b).abs()}


f = Filter(6)
x = torch.arange(12.0).reshape(2, 6).requires_grad_()
y = f.scale(x, factor=0.5)
result = f.smooth({"a": y, "b": y.flip(-1)})
result["mean"].sum().backward()
print(x.grad)
assert x.grad is not None and torch.isfinite(x.grad).all()
