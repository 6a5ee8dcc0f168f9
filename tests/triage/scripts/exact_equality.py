import torch
import torch.nn.functional as F

# I expected bit-for-bit the same numbers
torch.manual_seed(0)
x = torch.randn(64, 128)
w = torch.randn(128)


def f(x, w):
    return F.softmax(F.layer_norm(x, (128,)) * w, dim=-1).log().exp()


assert torch.equal(torch.compile(f)(x, w), f(x, w)), "compiled result is not equal to eager!"
