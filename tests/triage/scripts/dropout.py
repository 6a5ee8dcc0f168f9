import torch
import torch.nn.functional as F

torch.manual_seed(123)


@torch.compile
def f(x):
    return F.dropout(x, p=0.5, training=True) * 2


torch.manual_seed(0)
a = f(torch.ones(100))
torch.manual_seed(0)
b = F.dropout(torch.ones(100), p=0.5, training=True) * 2
print("different masks:", (a != b).sum().item())
