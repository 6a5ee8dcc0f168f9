# SPDX-License-Identifier: BSD-3-Clause
"""Valid calls of every differentiable operator, from the operator database that torch ships.

`torch.testing._internal.common_methods_invocations.op_db` knows sample inputs and options of each
public operator. Its calls are what the generator fits into programs (generate/harvest.h): a tensor
that may hold any values is described by its sizes and range, another by its elements.

The harvest runs in a process of its own, once per torch version: importing op_db changes settings of
torch, and a worker must be the same whether the harvest was there or not.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import types
import unittest
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import hazards, parse

# Elements of one tensor argument; larger samples test size, not meaning. An operator that has larger
# ones only may have the second number.
_MAX_NUMEL = (512, 4096)
_MAX_CALLS_PER_OPERATOR = 8
# Samples in a row without a usable one, after which an operator is given up.
_MAX_FAILURES = 30
_MAX_RESULTS = 6

# Whole groups that are no operators of a program: reference implementations, prims, run-time compilers.
_SKIP_PREFIXES = ("_refs.", "ops.", "jiterator", "signal.windows")

# Elements whose rounding to this grid leaves a call valid are rounded: short to read, exact in most
# dtypes, and the same on machines whose samples differ by an ULP.
_GRID = 64

_DTYPES = ("float32", "float64", "int64", "int32", "bool", "uint8")


class _CannotSay(Exception):
    """An argument that the program representation has no spelling for."""


class _Refused(Exception):
    """A call that is of no use, with the reason in words."""


def ensure(machine_cache: str) -> str:
    """The path of the harvest of this torch, made now (half a minute) where there is none yet.

    The file holds {"key", "calls": [...], "operators": [...]}:
      calls: {"op": path below torch, "args", "kwargs", "results", "leaves"}; in args, {"v": i} names
        leaf i, all else is as in a program's JSON form. A leaf is {"dtype", "sizes", "grad"} with
        "values" (its elements), or with "low" and "high" where it may hold any values in that range.
      operators: {"name": of op_db, "paths": how programs may spell it, "reason": why there is no call
        of it, or ""}; all that take float32 and support autograd.
    """
    path = pathlib.Path(machine_cache) / "operators.json"
    if _has_key(path):
        return str(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two workers may start at once: one harvests
        if not _has_key(path):
            _harvest_in_child(path)
    return str(path)


def _key() -> str:
    source = pathlib.Path(__file__).read_bytes() + pathlib.Path(hazards.__file__).read_bytes()
    return f"{torch.__version__} {hashlib.sha256(source).hexdigest()[:16]}"


def _has_key(path: pathlib.Path) -> bool:
    try:
        with open(path, encoding="utf-8") as file:
            # The key comes first: no need to read megabytes to know that they are right.
            return file.read(200).startswith(json.dumps({"key": _key()})[:-1] + ",")
    except OSError:
        return False


def _harvest_in_child(path: pathlib.Path) -> None:
    # Without a GPU in sight: the samples must not depend on whether the machine has one.
    environment = dict(os.environ, PYTHONHASHSEED="0", OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="")
    environment["PYTHONPATH"] = str(pathlib.Path(__file__).resolve().parents[1])
    command = [sys.executable, "-m", f"{__package__}.harvest", str(path)]
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        raise RuntimeError(
            f"cannot read torch's operator database: {lines[-1]} "
            "(go without it: --weight family.harvested=0)"
        )


def main(path: str) -> None:
    """Harvests into a file, which is there whole or not at all."""
    calls, operators = harvest()
    target = pathlib.Path(path)
    with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False) as file:
        json.dump({"key": _key(), "calls": calls, "operators": operators}, file)
    os.replace(file.name, target)


def harvest() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """All calls that a program can say and that eager accepts with a gradient; all operators."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    if importlib.util.find_spec("expecttest") is None:
        # torch's test utilities derive their test case from its; no sample needs one.
        sys.modules["expecttest"] = types.SimpleNamespace(TestCase=unittest.TestCase)  # type: ignore
    from torch.testing._internal import common_utils
    from torch.testing._internal.common_methods_invocations import op_db

    # op_db seeds every device before each sample and walks the stack for the test that asks: two thirds
    # of the time, for nothing here.
    for device in ("cuda", "xpu", "mtia"):
        if hasattr(getattr(torch, device, None), "manual_seed_all"):
            getattr(torch, device).manual_seed_all = lambda seed: None
    if hasattr(common_utils, "extract_test_fn"):
        common_utils.extract_test_fn = lambda: None
    calls: list[dict[str, Any]] = []
    operators: dict[str, dict[str, Any]] = {}
    seen: set[str] = set()
    for info in op_db:
        if not info.supports_autograd or torch.float32 not in info.supported_dtypes("cpu"):
            continue
        operator = operators.setdefault(info.name, {"name": info.name, "paths": [], "reason": ""})
        for path in _spellings(info.name):
            if path not in operator["paths"]:
                operator["paths"].append(path)
        found, reason = _calls_of(info, seen)
        calls += found
        if not found and not operator["reason"]:
            operator["reason"] = reason
    _free_leaves(calls)
    spoken = {call["op"] for call in calls}
    for operator in operators.values():
        if spoken.intersection(operator["paths"]):
            operator["reason"] = ""
    return calls, [operators[name] for name in sorted(operators)]


def _seed() -> None:
    torch.manual_seed(0)
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)


def _calls_of(info: Any, seen: set[str]) -> tuple[list[dict[str, Any]], str]:
    """Up to _MAX_CALLS_PER_OPERATOR calls of one OpInfo; when there are none, why."""
    if info.name.startswith(_SKIP_PREFIXES):
        return [], "no operator of a program"
    paths = _callable(info.name)
    if not paths:
        return [], "has no function of its name below torch"
    _seed()
    try:
        samples = list(info.sample_inputs("cpu", torch.float32, requires_grad=True))
    except Exception as error:
        return [], f"op_db cannot make samples: {type(error).__name__}"
    reason = ""
    for limit in _MAX_NUMEL:
        found: list[dict[str, Any]] = []
        failures = 0
        for sample in _spread(samples):
            failures += 1
            for path in paths:
                try:
                    call = _call(path, sample, limit)
                    _check(call)
                except _CannotSay:
                    reason = reason or "its arguments cannot be said in a program"
                except _Refused as refused:
                    reason = reason or str(refused)
                else:
                    text = json.dumps(call)
                    if text not in seen:
                        seen.add(text)
                        found.append(call)
                        failures = 0
                    break
            if len(found) == _MAX_CALLS_PER_OPERATOR or failures == _MAX_FAILURES:
                break
        if found:
            return found, ""
    return [], reason or "op_db has no samples"


def _spread(samples: list[Any]) -> Iterator[Any]:
    """Every k-th sample first, which keeps the variety of options, then the others."""
    step = max(1, len(samples) // _MAX_CALLS_PER_OPERATOR)
    for start in range(step):
        yield from samples[start::step]


def _spellings(name: str) -> list[str]:
    """The paths below torch under which a program may call the operator of that name."""
    name = name.removeprefix("torch.")
    if name in ("T", "H", "mT", "mH"):  # properties
        return []
    return [name, f"Tensor.{name}"] + ([] if "." in name else [f"ops.aten.{name}"])


def _callable(name: str) -> list[str]:
    return [path for path in _spellings(name) if callable(_resolve(path))]


def _resolve(path: str) -> Any:
    if path.startswith("Tensor."):
        return getattr(torch.Tensor, path[len("Tensor.") :], None)
    node: Any = torch
    for part in path.split("."):
        try:
            node = getattr(node, part, None)
        except RuntimeError:  # torch.ops of a name that there is not
            return None
        if node is None:
            return None
    return node


def _round(values: list[float]) -> list[float]:
    return [round(v * _GRID) / _GRID for v in values]


def _tensor(value: torch.Tensor, leaves: list[dict[str, Any]], limit: int) -> dict[str, Any]:
    if value.layout != torch.strided or value.numel() > limit or value.is_quantized:
        raise _CannotSay
    if value.numel() == 0:
        raise _Refused("only empty samples")
    dtype = str(value.dtype)[len("torch.") :]
    if dtype not in _DTYPES:
        raise _CannotSay
    elements = value.detach().reshape(-1).double().tolist()
    if not all(math.isfinite(v) for v in elements):
        raise _CannotSay
    leaves.append(
        {
            "dtype": dtype,
            "sizes": list(value.shape),
            "grad": value.requires_grad,
            "values": elements,
        }
    )
    return {"v": len(leaves) - 1}


def _arg(value: Any, tensor: Callable[[torch.Tensor], dict[str, Any]]) -> Any:
    if isinstance(value, torch.Tensor):
        return tensor(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return parse._jsonable(float(value))
    if isinstance(value, complex):
        return {"c": [value.real, value.imag]}
    if isinstance(value, torch.dtype):
        name = str(value)[len("torch.") :]
        if name not in (*_DTYPES, "float16", "bfloat16", "complex64", "complex128"):
            raise _CannotSay
        return {"t": name}
    if isinstance(value, torch.memory_format):
        return {"k": str(value)[len("torch.") :]}
    if isinstance(value, slice):
        return {"slice": [_arg(v, tensor) for v in (value.start, value.stop, value.step)]}
    if value is Ellipsis:
        return {"e": 0}
    if isinstance(value, torch.Size):
        return [int(v) for v in value]
    if isinstance(value, tuple):
        return {"u": [_arg(v, tensor) for v in value]}
    if isinstance(value, list):
        return [_arg(v, tensor) for v in value]
    raise _CannotSay


def _call(path: str, sample: Any, limit: int) -> dict[str, Any]:
    leaves: list[dict[str, Any]] = []

    def tensor(value: torch.Tensor) -> dict[str, Any]:
        return _tensor(value, leaves, limit)

    args = [_arg(v, tensor) for v in (sample.input, *sample.args)]
    kwargs = [[k, _arg(v, tensor)] for k, v in sample.kwargs.items() if k != "device"]
    return {"op": path, "args": args, "kwargs": kwargs, "results": 1, "leaves": leaves}


def _make(leaf: dict[str, Any], values: list[float] | torch.Tensor) -> torch.Tensor:
    data = torch.as_tensor(values, dtype=torch.float64).to(getattr(torch, leaf["dtype"]))
    return data.reshape(leaf["sizes"]).detach().clone().requires_grad_(leaf["grad"])


def _run(call: dict[str, Any], tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """The results of the call; _Refused where they are of no use."""
    args = [parse.python_arg(a, tensors) for a in call["args"]]
    kwargs = {k: parse.python_arg(a, tensors) for k, a in call["kwargs"]}
    path = call["op"]
    hazard = hazards.of_call(path, args, kwargs)
    if hazard:
        raise _Refused(hazard)
    # Not every kernel that writes says so by a version: batch_norm updates its statistics in silence.
    before = [t.detach().clone() for t in tensors]
    state = torch.get_rng_state()
    try:
        if path.startswith("Tensor."):
            result = getattr(args[0], path[len("Tensor.") :])(*args[1:], **kwargs)
        else:
            result = _resolve(path)(*args, **kwargs)
    except Exception as error:
        raise _Refused(f"eager refuses its samples: {type(error).__name__}") from None
    if not torch.equal(state, torch.get_rng_state()):
        raise _Refused("random")
    if not all(torch.equal(a, b.detach()) for a, b in zip(before, tensors)):
        raise _Refused("writes into its operands")
    results = [result] if isinstance(result, torch.Tensor) else result
    if not isinstance(results, (list, tuple)) or not results:
        raise _Refused("yields no tensors")
    if not all(isinstance(t, torch.Tensor) for t in results):
        raise _Refused("yields no tensors")
    if any(t.layout != torch.strided for t in results):
        raise _Refused("yields a sparse tensor")
    if any(t.dtype == torch.complex32 for t in results):
        raise _Refused("yields complex32")
    if not any(t.requires_grad for t in results):
        raise _Refused("no gradient")
    # A one-element tuple cannot be unpacked by the program's spelling.
    if (len(results) == 1) != isinstance(result, torch.Tensor) or len(results) > _MAX_RESULTS:
        raise _Refused("yields too many tensors, or a tuple of one")
    if any(t.numel() == 0 for t in results):
        raise _Refused("yields an empty tensor")
    return list(results)


def _gradients(results: list[torch.Tensor], tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    outputs = [t for t in results if t.requires_grad]
    leaves = [t for t in tensors if t.requires_grad]
    cotangents = [torch.full_like(t, 0.5) for t in outputs]
    try:
        gradients = torch.autograd.grad(outputs, leaves, cotangents, allow_unused=True)
    except Exception as error:
        raise _Refused(f"has no derivative: {type(error).__name__}") from None
    return [g for g in gradients if g is not None]


def _outcome(call: dict[str, Any], values: list[Any]) -> list[torch.Tensor]:
    """Results and gradients, all finite; _Refused else. Notes how many results there are."""
    tensors = [_make(leaf, v) for leaf, v in zip(call["leaves"], values)]
    results = _run(call, tensors)
    call["results"] = len(results)
    gradients = _gradients(results, tensors)
    if not gradients:
        raise _Refused("no gradient")
    everything = [t.detach() for t in (*results, *gradients)]
    if not all(bool(t.isfinite().all()) for t in everything):
        raise _Refused("its samples yield infinities or NaN")
    return [t.clone() for t in everything]


def _check(call: dict[str, Any]) -> None:
    """Runs the call twice, with its elements rounded if that will do; _Refused if it is of no use."""
    if call["op"].endswith("_") and not call["op"].endswith("__"):
        raise _Refused("in place")
    if "out" in dict(call["kwargs"]):
        raise _Refused("writes into its operands")
    values = [leaf["values"] for leaf in call["leaves"]]
    rounded = [
        _round(v) if leaf["dtype"].startswith("float") else v
        for leaf, v in zip(call["leaves"], values)
    ]
    try:
        first = _outcome(call, rounded)
        values = rounded
    except _Refused:
        first = _outcome(call, values)
    second = _outcome(call, values)
    if not all(torch.equal(a, b) for a, b in zip(first, second)):
        raise _Refused("not deterministic")
    for leaf, v in zip(call["leaves"], values):
        leaf["values"] = v


def _free_leaves(calls: list[dict[str, Any]]) -> None:
    """Turns the elements of leaves that may hold any values into their range.

    A leaf that must have a structure (positive definite, triangular, at most 1 in sum) is refused by
    eager with other values, or yields NaN with them: it keeps its elements.
    """
    ranges: dict[tuple[str, int], tuple[float, float]] = {}
    for call in calls:
        for i, leaf in enumerate(call["leaves"]):
            if leaf["dtype"].startswith("float"):
                low, high = ranges.get((call["op"], i), (math.inf, -math.inf))
                ranges[call["op"], i] = (
                    min(low, *leaf["values"], math.inf),
                    max(high, *leaf["values"], -math.inf),
                )
    generator = torch.Generator().manual_seed(0)
    for call in calls:
        leaves = call["leaves"]
        values: list[Any] = [leaf["values"] for leaf in leaves]
        numbers = [i for i, leaf in enumerate(leaves) if leaf["dtype"].startswith("float")]
        limits = {i: ranges[call["op"], i] for i in numbers}
        free = numbers
        if not _are_free(call, values, limits, generator):
            free = [i for i in numbers if _are_free(call, values, {i: limits[i]}, generator)]
        for i in free:
            del leaves[i]["values"]
            leaves[i]["low"], leaves[i]["high"] = limits[i]


def _are_free(
    call: dict[str, Any],
    values: list[Any],
    limits: dict[int, tuple[float, float]],
    generator: torch.Generator,
) -> bool:
    """Whether the leaves named by `limits` may hold any values within them."""
    shapes = None
    try:
        for _ in range(2):
            changed = list(values)
            for i, (low, high) in limits.items():
                if low == high:
                    return False
                numel = math.prod(call["leaves"][i]["sizes"])
                unit = torch.rand(numel, generator=generator, dtype=torch.float64)
                changed[i] = low + (high - low) * unit
            now = [t.shape for t in _outcome(call, changed)]
            if shapes is not None and now != shapes:
                return False
            shapes = now
    except _Refused:
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1])
