"""Does torch.compile change my training loss? (it does not)"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MLP(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.inp = nn.Linear(8, width)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, 3)

    def forward(self, x):
        x = F.gelu(self.inp(x))
        x = x + self.norm(x)
        return self.out(x)


def main():
    torch.manual_seed(42)
    model = MLP()
    compiled = torch.compile(model)
    opt = torch.optim.SGD(compiled.parameters(), lr=0.1)
    x, target = torch.randn(12, 8), torch.randint(0, 3, (12,))
    losses = []
    for step in range(3):
        opt.zero_grad()
        loss = F.cross_entropy(compiled(x), target)
        loss.backward()
        opt.step()
        losses.append(loss.item())
        print(f"step {step}: {loss.item():.4f}")
    assert losses[-1] < losses[0]


if __name__ == "__main__":
    main()
