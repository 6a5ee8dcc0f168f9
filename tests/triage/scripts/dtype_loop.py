import torch


def repro(x):
    flag = torch.any(x)
    return flag * 200 + 100


compiled = torch.compile(repro, fullgraph=True)

for dtype in [torch.float32, torch.int32, torch.uint8]:
    for shape in [(4,), (2, 3)]:
        x = torch.ones(shape, dtype=dtype)
        expected = repro(x)
        actual = compiled(x)
        print(dtype, shape, expected, actual, expected.dtype == actual.dtype)
