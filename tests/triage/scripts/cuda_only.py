import torch

if not torch.cuda.is_available():
    raise SystemExit("this needs a GPU")

torch.backends.cuda.matmul.allow_tf32 = False
dev = torch.device("cuda:0")


@torch.compile(dynamic=False)
def step(buf: torch.Tensor, idx: torch.Tensor):
    buf.index_add_(0, idx, buf[idx] * 2)
    return buf


if __name__ == "__main__":
    buf = torch.full((1,), 0.75).cuda()
    idx = torch.tensor([0, 0], device=dev)
    out = step(buf, idx)
    torch.cuda.synchronize()
    print("expected 3.75, got", out.item(), "on", torch.cuda.get_device_name(0))
