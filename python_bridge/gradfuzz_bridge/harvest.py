# SPDX-License-Identifier: BSD-3-Clause
"""Valid calls of every differentiable operator, from the operator database that torch ships.

`torch.testing._internal.common_methods_invocations.op_db` knows sample inputs and options of each
public operator. Its calls, with their tensors written out as leaves, are what the generator fits into
programs where no hand-written record knows the operator (generate/harvest.h).
"""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
import warnings
from typing import Any

import torch

# Elements of one tensor argument; larger samples test size, not meaning.
_MAX_NUMEL = 512
_MAX_CALLS_PER_OPERATOR = 12

# Not straight-line, not reproducible, or nothing that a gradient could be wrong in.
_SKIP_PREFIXES = ("_refs.", "ops.", "jiterator", "signal.windows")
_SKIP_NAMES = {
    "bernoulli", "multinomial", "normal", "rand_like", "randint_like", "randn_like", "empty_like",
    "new_empty", "new_empty_strided", "empty", "empty_strided", "empty_permuted", "randn", "randint",
    "uniform", "exponential", "cauchy", "geometric", "log_normal", "nn.functional.dropout",
    "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.alpha_dropout",
    "nn.functional.feature_alpha_dropout", "nn.functional.rrelu", "nn.functional.gumbel_softmax",
    "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
    "pca_lowrank", "svd_lowrank", "to_sparse", "sparse.mm", "sparse.sampled_addmm", "item",
    "resize_", "resize_as_", "nn.functional.multi_head_attention_forward",
    "torch._scaled_mm", "as_strided_partial_views",
}  # fmt: skip


class _CannotSay(Exception):
    """An argument that the program representation has no spelling for."""


def load(cache: str) -> list[dict[str, Any]]:
    """The harvested calls of this torch, from the cache file or made now (about 15 s).

    Args:
      cache: path of the file; written atomically, keyed by the torch version inside.

    Returns:
      A list of {"op": path, "args": [...], "kwargs": [[name, arg], ...], "results": n,
      "leaves": [{"dtype", "sizes", "values", "grad"}]}; in args, {"leaf": i} names a leaf, the rest
      is as in a program's JSON form.
    """
    path = pathlib.Path(cache)
    key = f"{torch.__version__} format 2"
    try:
        stored = json.loads(path.read_text())
        if stored["key"] == key:
            return stored["calls"]
    except (OSError, ValueError, KeyError):
        pass
    calls = harvest()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        json.dump({"key": key, "calls": calls}, file)
    os.replace(file.name, path)
    return calls


def differentiable_operators() -> list[str]:
    """Names of the op_db entries that take float32 and support autograd: the coverage's 100 %."""
    return sorted({info.name for info in _op_db() if _wanted(info, for_coverage=True)})


def _op_db() -> list[Any]:
    warnings.filterwarnings("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

    return op_db


def _wanted(info: Any, for_coverage: bool = False) -> bool:
    if not info.supports_autograd or torch.float32 not in info.supported_dtypes("cpu"):
        return False
    if for_coverage:
        return True
    return info.name not in _SKIP_NAMES and not info.name.startswith(_SKIP_PREFIXES)


def harvest() -> list[dict[str, Any]]:
    """All calls that the program representation can say and that eager accepts with a gradient."""
    calls: list[dict[str, Any]] = []
    seen: set[str] = set()
    for info in _op_db():
        if not _wanted(info):
            continue
        path = _spelling(info)
        if path is None:
            continue
        torch.manual_seed(0)
        try:
            samples = list(info.sample_inputs("cpu", torch.float32, requires_grad=True))
        except Exception:
            continue
        kept = 0
        # The first samples are the plainest; taking every k-th keeps the variety of options.
        step = max(1, len(samples) // _MAX_CALLS_PER_OPERATOR)
        for sample in samples[::step]:
            try:
                call = _call(path, sample)
            except _CannotSay:
                continue
            text = json.dumps(call)
            if text in seen or not _accepted(call, path):
                continue
            seen.add(text)
            calls.append(call)
            kept += 1
            if kept == _MAX_CALLS_PER_OPERATOR:
                break
    return calls


def _resolve(path: str) -> Any:
    if path.startswith("Tensor."):
        return getattr(torch.Tensor, path[len("Tensor.") :], None)
    node: Any = torch
    for part in path.split("."):
        node = getattr(node, part, None)
        if node is None:
            return None
    return node


def _spelling(info: Any) -> str | None:
    """The path below torch of an OpInfo, or None where it has none of its own."""
    name = info.name
    for path in (name, f"Tensor.{name}"):
        if callable(_resolve(path)):
            return path
    return None


def _tensor(value: torch.Tensor, leaves: list[dict[str, Any]]) -> dict[str, Any]:
    if value.layout != torch.strided or value.numel() > _MAX_NUMEL or value.is_quantized:
        raise _CannotSay
    dtype = str(value.dtype)[len("torch.") :]
    if dtype not in ("float32", "float64", "int64", "int32", "bool", "uint8", "complex64"):
        raise _CannotSay
    flat = value.detach().reshape(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    elements = flat.double().tolist()
    if any(v != v or abs(v) == float("inf") for v in elements):
        raise _CannotSay
    leaves.append(
        {
            "dtype": dtype,
            "sizes": list(value.shape),
            "values": elements,
            "grad": value.requires_grad,
        }
    )
    return {"leaf": len(leaves) - 1}


def _arg(value: Any, leaves: list[dict[str, Any]]) -> Any:
    if isinstance(value, torch.Tensor):
        return _tensor(value, leaves)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if value != value or abs(value) == float("inf"):
            return {"f": "nan" if value != value else "inf" if value > 0 else "-inf"}
        return value
    if isinstance(value, complex):
        return {"c": [value.real, value.imag]}
    if isinstance(value, torch.dtype):
        name = str(value)[len("torch.") :]
        if name not in (
            "float32",
            "float64",
            "float16",
            "bfloat16",
            "int64",
            "int32",
            "bool",
            "complex64",
        ):
            raise _CannotSay
        return {"t": name}
    if isinstance(value, torch.memory_format):
        return {"k": str(value)[len("torch.") :]}
    if isinstance(value, slice):
        return {"slice": [_arg(v, leaves) for v in (value.start, value.stop, value.step)]}
    if value is Ellipsis:
        return {"e": 0}
    if isinstance(value, torch.Size):
        return [int(v) for v in value]
    if isinstance(value, tuple):
        return {"u": [_arg(v, leaves) for v in value]}
    if isinstance(value, list):
        return [_arg(v, leaves) for v in value]
    raise _CannotSay


def _call(path: str, sample: Any) -> dict[str, Any]:
    leaves: list[dict[str, Any]] = []
    args = [_arg(v, leaves) for v in (sample.input, *sample.args)]
    kwargs = [[k, _arg(v, leaves)] for k, v in sample.kwargs.items()]
    return {"op": path, "args": args, "kwargs": kwargs, "results": 1, "leaves": leaves}


_TORCH_DTYPES = {
    name: getattr(torch, name) for name in ("float32", "float64", "int64", "int32", "bool", "uint8")
}


def _rebuild(arg: Any, tensors: list[torch.Tensor]) -> Any:
    if isinstance(arg, list):
        return [_rebuild(a, tensors) for a in arg]
    if not isinstance(arg, dict):
        return arg
    if "leaf" in arg:
        return tensors[arg["leaf"]]
    if "u" in arg:
        return tuple(_rebuild(a, tensors) for a in arg["u"])
    if "slice" in arg:
        return slice(*(_rebuild(a, tensors) for a in arg["slice"]))
    if "t" in arg:
        return getattr(torch, arg["t"])
    if "k" in arg:
        return getattr(torch, arg["k"])
    if "f" in arg:
        return float(arg["f"])
    if "c" in arg:
        return complex(*arg["c"])
    return ...


def _accepted(call: dict[str, Any], path: str) -> bool:
    """Runs the call twice; notes how many tensors it yields. False where it is of no use."""
    outcomes = []
    for _ in range(2):
        tensors = []
        for leaf in call["leaves"]:
            if leaf["dtype"] == "complex64":
                pairs = torch.tensor(leaf["values"], dtype=torch.float32).reshape(-1, 2)
                tensor = torch.view_as_complex(pairs.contiguous()).reshape(leaf["sizes"])
            else:
                tensor = torch.tensor(leaf["values"], dtype=torch.float64).to(
                    _TORCH_DTYPES[leaf["dtype"]]
                )
                tensor = tensor.reshape(leaf["sizes"])
            tensors.append(tensor.detach().clone().requires_grad_(leaf["grad"]))
        args = [_rebuild(a, tensors) for a in call["args"]]
        kwargs = {k: _rebuild(a, tensors) for k, a in call["kwargs"]}
        try:
            if path.startswith("Tensor."):
                result = getattr(args[0], path[len("Tensor.") :])(*args[1:], **kwargs)
            else:
                result = _resolve(path)(*args, **kwargs)
        except Exception:
            return False
        flat = [result] if isinstance(result, torch.Tensor) else result
        if not isinstance(flat, (list, tuple)) or not all(
            isinstance(t, torch.Tensor) for t in flat
        ):
            return False
        if not flat or not any(t.requires_grad for t in flat):
            return False
        if any(t.layout != torch.strided or t.dtype == torch.complex32 for t in flat):
            return False
        # A one-element list cannot be unpacked by the program's spelling.
        if not isinstance(result, torch.Tensor) and len(flat) == 1:
            return False
        call["results"] = len(flat)
        outcomes.append([t.detach().clone() for t in flat])
    return all(torch.equal(a, b) or bool(a.isnan().any()) for a, b in zip(*outcomes))


def operators_path(machine_cache: str) -> str:
    """Where the cache file of this torch lies."""
    return os.path.join(machine_cache, "operators.json")
