# SPDX-License-Identifier: BSD-3-Clause
"""The programs that planted faults are looked for in."""

_HELPERS = """import torch


def ints(n, low, high, seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(low, high + 1, (n,), generator=g)


def normal(n, scale, shift, seed):
    g = torch.Generator().manual_seed(seed)
    u = torch.randint(-(2**20), 2**20 + 1, (3, n), generator=g).sum(0).double() / 2**20
    return shift + scale * u


"""

_COTANGENT = """

def cotangents(outputs, draw=0):
    c0 = normal(outputs[0].numel(), 1.0, 0.0, seed=9 + draw).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]
"""


def _program(inputs: str, body: str) -> str:
    def block(text: str) -> str:
        return "".join(f"    {line.strip()}\n" for line in text.strip().splitlines())

    names = ", ".join(
        line.split("=")[0].strip()
        for line in inputs.strip().splitlines()
        if line.strip().startswith("x")
    )
    return (
        f'{_HELPERS}def inputs(device="cpu", draw=0):\n{block(inputs)}    return [{names}]\n\n\n'
        f"def program({names}):\n{block(body)}{_COTANGENT}"
    )


_TWO = """
    s0 = normal(4096, 1.0, 0.0, seed=1 + draw).to(device, torch.float32)
    s1 = normal(4096, 1.0, 0.0, seed=2 + draw).to(device, torch.float32)
    x0 = s0.as_strided((64, 64), (64, 1), 0).detach().requires_grad_()
    x1 = s1.as_strided((64, 64), (64, 1), 0).detach().requires_grad_()
"""
_ONE_PLAIN = """
    s0 = normal(48, 1.0, 0.0, seed=1 + draw).to(device, torch.float32)
    s1 = normal(48, 1.0, 0.0, seed=2 + draw).to(device, torch.float32)
    x0 = s0.as_strided((6, 8), (8, 1), 0).detach().requires_grad_()
    x1 = s1.as_strided((6, 8), (8, 1), 0)
"""

_TAIL = """
    s0 = normal(33, 1.0, 0.0, seed=1 + draw).to(device, torch.float32)
    x0 = s0.as_strided((33,), (1,), 0).detach().requires_grad_()
"""

PROGRAMS = {
    # 4096 gradient elements: one lost element must not drown.
    "base": _program(_TWO, "v2 = torch.sin(x0)\nv3 = torch.mul(v2, x1)\nreturn (v3,)"),
    # 33 elements: two vectors of 16 and a tail of one.
    "tail": _program(_TAIL, "v1 = torch.sin(x0)\nreturn (v1,)"),
    "fan_out": _program(
        _TWO, "v2 = torch.sin(x0)\nv3 = torch.add(v2, v2)\nv4 = torch.mul(v3, x1)\nreturn (v4,)"
    ),
    "mutation": _program(_ONE_PLAIN, "v2 = x1.add_(1.0)\nv3 = torch.mul(x0, v2)\nreturn (v3,)"),
    "view": _program(_ONE_PLAIN, "v2 = torch.transpose(x1, 0, 1)\nreturn (v2,)"),
    "ties": _program(
        """
    s0 = ints(24, 0, 2, seed=1 + draw).to(device, torch.float32)
    x0 = s0.as_strided((3, 8), (8, 1), 0).detach().requires_grad_()
    """,
        "v1 = torch.amax(x0, -1)\nreturn (v1,)",
    ),
    "reciprocal": _program(
        _ONE_PLAIN, "v2 = torch.relu(x1)\nv3 = torch.reciprocal(v2)\nreturn (v3,)"
    ),
    "sum": _program(_TWO, "v2 = torch.mul(x0, x1)\nv3 = torch.sum(v2)\nreturn (v3,)"),
}
