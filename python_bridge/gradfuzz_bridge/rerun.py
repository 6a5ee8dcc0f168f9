# SPDX-License-Identifier: BSD-3-Clause
"""Runs a whole script under one rung of the ladder and says where it departs from eager.

This is what the person who filed the report sees: the script's own assertions, the outputs of each
compiled call, the gradients that the script itself computes. It judges nothing: numbers, for the
parent to weigh.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.utils._pytree as pytree

from . import capture, rungs
from .script import REAL_COMPILE, Script, ScriptError
from .tensors import owned

_CALLS = 64
_SAMPLE = 64
_REAL_GRAD = torch.autograd.grad


class _Seen:
    """What one run of a script showed."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.gradients: list[Any] = []  # results of torch.autograd.grad, in order
        self.leaves: list[torch.Tensor] = []  # whose .grad is read at the end
        self.random: list[
            tuple[torch.Tensor, torch.Tensor]
        ] = []  # state before and after each call
        self.error: dict[str, Any] | None = None
        self.check: Any = None
        self.form = ""
        self.seconds = 0.0
        self.graphs = 0
        self.graph_breaks = 0

    def finish(self) -> None:
        self.leaf_gradients = [owned(t.grad) for t in self.leaves]
        self.leaves = []


def _watched(function: Callable, compiled: Callable, seen: _Seen, eager: _Seen | None) -> Callable:
    def call(*args: Any, **kwargs: Any) -> Any:
        index = len(seen.calls)
        if index >= _CALLS:
            return compiled(*args, **kwargs)
        # Every rung draws the same random numbers at the same call, whatever it consumed before.
        if eager is not None and index < len(eager.random):
            torch.set_rng_state(eager.random[index][0])
        before = torch.get_rng_state()
        facts: dict[str, Any] = {"function": capture._name(function), "outputs": [], "inputs": []}
        seen.calls.append(facts)
        tensors, _, flat = capture.tensors_in((args, kwargs))
        for module in capture.modules_of(function, flat):
            tensors += list(module.parameters())
        for tensor in tensors:
            if (
                tensor.requires_grad
                and tensor.is_leaf
                and not any(tensor is t for t in seen.leaves)
            ):
                seen.leaves.append(tensor)
        watching, torch.autograd.grad = (
            torch.autograd.grad,
            _REAL_GRAD,
        )  # Dynamo must see the real one
        try:
            result = compiled(*args, **kwargs)
        finally:
            torch.autograd.grad = watching
        facts["outputs"] = [_kept(v) for v in pytree.tree_leaves(result)]
        facts["inputs"] = [owned(v) for v in flat if isinstance(v, torch.Tensor)]
        seen.random.append((before, torch.get_rng_state()))
        if eager is not None and index < len(eager.random):
            torch.set_rng_state(eager.random[index][1])
        return result

    return capture._like(function, call)


def _kept(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return owned(value), value.requires_grad
    return (
        value
        if isinstance(value, (bool, int, float, complex, str, type(None)))
        else type(value).__name__
    )


@contextlib.contextmanager
def _watched_grad(seen: _Seen, path: str) -> Iterator[None]:
    """Keeps what the script's own calls of torch.autograd.grad return: AOTAutograd calls it too."""

    def grad(*args: Any, **kwargs: Any) -> Any:
        results = _REAL_GRAD(*args, **kwargs)
        if sys._getframe(1).f_code.co_filename == path and len(seen.gradients) < _CALLS:
            seen.gradients += [owned(g) for g in results]
        return results

    torch.autograd.grad = grad
    try:
        yield
    finally:
        torch.autograd.grad = _REAL_GRAD


def _rung_options(options: dict[str, Any], rung: str, backend: str) -> dict[str, Any]:
    """The script's options of torch.compile, with the backend of the rung.

    `mode` and `options` are Inductor's; on a lower rung they mean nothing.
    """
    kept = {k: v for k, v in options.items() if k in ("fullgraph", "dynamic") and v is not None}
    if rung == "inductor":
        kept |= {k: v for k, v in options.items() if k in ("mode", "options") and v is not None}
    return {**kept, "backend": backend}


def _run(script: Script, device: str, rung: str, knobs: list, eager: _Seen | None) -> _Seen:
    seen = _Seen()
    backend, own = rungs._RUNGS.get(rung, ("", []))

    def hook(function: Callable, options: dict[str, Any]) -> Callable:
        if rung == "eager":
            return _watched(function, function, seen, eager)
        return _watched(
            function, REAL_COMPILE(function, **_rung_options(options, rung, backend)), seen, eager
        )

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    scope = rungs.Scope([*own, *knobs])
    start = time.monotonic()
    scope.enter()
    try:
        with _watched_grad(seen, script.path):
            seen.check = script.run(hook, device, None if rung == "eager" else backend)
    except ScriptError as failure:
        seen.error = {**failure.facts(), **rungs.explain(failure.error)}
    finally:
        scope.exit()
    seen.form = script.form
    seen.seconds = time.monotonic() - start
    counters = rungs.counters()
    seen.graphs, seen.graph_breaks = counters["graphs"], counters["graph_breaks"]
    seen.finish()
    torch._dynamo.reset()
    return seen


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach().reshape(-1).cpu()
    return (
        torch.view_as_real(tensor).reshape(-1).double() if tensor.is_complex() else tensor.double()
    )


def _number(value: float) -> Any:
    """A float that JSON can carry."""
    return value if value == value and abs(value) != float("inf") else str(value)


def compare(what: str, eager: Any, got: Any) -> dict[str, Any] | None:
    """Facts on one quantity; None when it is the same bit for bit."""
    facts: dict[str, Any] = {"what": what}
    if not isinstance(eager, torch.Tensor) or not isinstance(got, torch.Tensor):
        if eager is got or (type(eager) is type(got) and (eager == got or eager != eager)):
            return None
        if isinstance(eager, float) and isinstance(got, float):
            close = abs(eager - got) <= 1e-5 + 1.3e-6 * abs(eager)
            return {
                **facts,
                "kind": "number",
                "eager": repr(eager),
                "got": repr(got),
                "assert_close": close,
            }
        text = [("a tensor" if isinstance(v, torch.Tensor) else repr(v))[:80] for v in (eager, got)]
        return {**facts, "kind": "value", "eager": text[0], "got": text[1], "assert_close": False}
    if eager.dtype != got.dtype or eager.shape != got.shape:
        text = [f"{str(t.dtype).removeprefix('torch.')} {tuple(t.shape)}" for t in (eager, got)]
        return {
            **facts,
            "kind": "metadata",
            "eager": text[0],
            "got": text[1],
            "assert_close": False,
        }
    a, b = _flat(eager), _flat(got)
    if torch.equal(torch.isnan(a), torch.isnan(b)) and torch.equal(
        torch.nan_to_num(a), torch.nan_to_num(b)
    ):
        return None
    try:
        torch.testing.assert_close(got, eager, equal_nan=True)
        close = True
    except AssertionError:
        close = False
    difference = (a - b).abs()
    finite = torch.isfinite(difference)
    wrong = ~torch.isclose(b, a, rtol=1e-3, atol=1e-5, equal_nan=True)
    scale = a[torch.isfinite(a)].abs()
    return {
        **facts,
        "kind": "tensor",
        "sizes": list(eager.shape),
        "numel": eager.numel(),
        "differ": int((difference != 0).sum()),
        "wrong": int(wrong.sum()),
        "max_error": float(difference[finite].max()) if bool(finite.any()) else 0.0,
        "scale": float(scale.max()) if scale.numel() else 0.0,
        "nan_eager": int(torch.isnan(a).sum()),
        "nan_got": int(torch.isnan(b).sum()),
        "all_zero": bool((b == 0).all()) and not bool((a == 0).all()),
        "assert_close": close,
        "eager": [_number(v) for v in a[:_SAMPLE].tolist()],
        "got": [_number(v) for v in b[:_SAMPLE].tolist()],
    }


def _differences(eager: _Seen, got: _Seen) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    def look(call: int | None, what: str, a: Any, b: Any) -> None:
        facts = compare(what, a, b)
        if facts is not None:
            found.append({"call": call, **facts})

    for i, (mine, theirs) in enumerate(zip(eager.calls, got.calls)):
        if mine["function"] != theirs["function"]:
            break  # the script went another way
        for j, (a, b) in enumerate(zip(mine["outputs"], theirs["outputs"])):
            if not (isinstance(a, tuple) and isinstance(b, tuple)):
                look(i, f"out{j}", a, b)
                continue
            look(i, f"out{j}", a[0], b[0])
            if a[1] != b[1]:
                facts = {"kind": "requires_grad", "eager": str(a[1]), "got": str(b[1])}
                found.append({"call": i, "what": f"out{j}", **facts, "assert_close": False})
        if theirs["outputs"]:
            for j, (a, b) in enumerate(zip(mine["inputs"], theirs["inputs"])):
                look(i, f"input {j} after the call", a, b)
    for i, (a, b) in enumerate(zip(eager.gradients, got.gradients)):
        look(None, f"result {i} of torch.autograd.grad", a, b)
    if got.error is None:
        for i, (a, b) in enumerate(zip(eager.leaf_gradients, got.leaf_gradients)):
            look(None, f"accumulated gradient {i}", a, b)
    return found


_eager: dict[tuple[str, str], _Seen] = {}


def script_rung(request: dict[str, Any]) -> dict[str, Any]:
    """Runs the script under a rung and compares with its run in eager.

    Args:
      request: {"path", "device", "rung", "knobs": [[name, value], ...]}.

    Returns:
      {"rung", "seconds", "error": null | {...}, "eager_error", "check": null | {"wrong", "detail"},
       "differences": [...], "calls": n, "graphs": n, "graph_breaks": n}
    """
    capture.install()
    path, device, rung = request["path"], request.get("device", "cpu"), request["rung"]
    with open(path, encoding="utf-8") as file:
        script = Script(file.read(), path)
    if (path, device) not in _eager:
        _eager.clear()
        _eager[path, device] = _run(script, device, "eager", [], None)
    eager = _eager[path, device]
    if rung == "eager":
        got = _run(script, device, "eager", [], eager)  # again: does it repeat itself?
    else:
        got = _run(script, device, rung, request.get("knobs", []), eager)
    check = None
    if got.form == "check" and got.error is None:
        wrong, detail = got.check if isinstance(got.check, tuple) else (got.check, "")
        check = {"wrong": bool(wrong), "detail": str(detail)[:500]}
    return {
        "rung": rung,
        "device": device,
        "seconds": got.seconds,
        "error": got.error,
        "eager_error": eager.error,
        "check": check,
        "differences": _differences(eager, got),
        "calls": len(got.calls),
        "graphs": got.graphs,
        "graph_breaks": got.graph_breaks,
    }
