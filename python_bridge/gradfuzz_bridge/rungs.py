# SPDX-License-Identifier: BSD-3-Clause
"""Compiles a program under one rung of the ladder and calls it."""

from __future__ import annotations

import contextlib
import importlib
import linecache
import traceback
from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo

from . import setup

# rung -> (backend of torch.compile, knobs that belong to the rung)
_RUNGS: dict[str, tuple[str, list[tuple[str, Any]]]] = {
    "dynamo": ("eager", []),
    "aot_eager": ("aot_eager", []),
    "aot_eager_decomp_partition": ("aot_eager_decomp_partition", []),
    "aot_eager_decomp_partition_crossref": ("aot_eager_decomp_partition_crossref", []),
    "inductor_fallback": ("inductor", [("inductor.fallback_by_default", True)]),
    "inductor": ("inductor", []),
}

_CONFIGS = {
    "inductor": "torch._inductor.config",
    "functorch": "torch._functorch.config",
    "dynamo": "torch._dynamo.config",
    "runtime": f"{__package__}.runtime",
}


def available() -> list[str]:
    """The rungs that this torch has, lowest first; "eager" always is one."""
    backends = set(torch._dynamo.list_backends(exclude_tags=()))
    rungs = [
        rung
        for rung, (backend, knobs) in _RUNGS.items()
        if backend in backends and all(knob_exists(name) for name, _ in knobs)
    ]
    return ["eager", *rungs]


def _resolve(name: str) -> tuple[Any, str]:
    """The config module and the key below it of a knob such as "inductor.cpp.simdlen"."""
    module, _, key = name.partition(".")
    if module not in _CONFIGS or not key:
        raise ValueError(f"unknown knob '{name}'")
    return importlib.import_module(_CONFIGS[module]), key


def knob_exists(name: str) -> bool:
    """Whether this torch has the knob."""
    try:
        config, key = _resolve(name)
        node: Any = config
        for part in key.split("."):
            node = getattr(node, part)
    except (ValueError, AttributeError, ImportError):
        return False
    return True


class Scope:
    """The knobs and the counters of one compiled function: entered around every call of it."""

    def __init__(self, knobs: list[tuple[str, Any]]) -> None:
        self._knobs = knobs
        self._stack: contextlib.ExitStack | None = None

    def enter(self) -> None:
        stack = contextlib.ExitStack()
        patches: dict[Any, dict[str, Any]] = {}
        for name, value in self._knobs:
            config, key = _resolve(name)
            patches.setdefault(config, {})[key] = value
        for config, values in patches.items():
            stack.enter_context(config.patch(values))
        self._stack = stack

    def exit(self) -> None:
        if self._stack is not None:
            self._stack.close()
            self._stack = None


def load(source: str, name: str, function: str) -> Callable:
    """Executes a module's text and returns one function of it; tracebacks show its lines."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: dict[str, Any] = {"torch": torch, "__name__": name}
    exec(compile(source, name, "exec"), namespace)
    return namespace[function]


def reset() -> None:
    """Forgets every compiled function: once per program (or pack), never between its rungs."""
    torch._dynamo.reset()


class Unsupported(Exception):
    """The program asks for what this torch does not have."""


def _refusal(why: str) -> Callable:
    def refuse(*_arguments: torch.Tensor | float) -> None:
        raise Unsupported(why)

    return refuse


def _backend_from_file(spec: str) -> Callable:
    """The function NAME of FILE in "FILE:NAME", a backend of torch.compile."""
    path, _, name = spec.rpartition(":")
    with open(path, encoding="utf-8") as file:
        return load(file.read(), path, name)


def compile_rung(
    source: str,
    name: str,
    rung: str,
    knobs: list[tuple[str, Any]],
    dynamic: bool | None,
    substitute: str,
    fast: bool,
    whole: bool,
) -> tuple[Callable, Scope]:
    """The program as one rung runs it; compilation happens at the first call, inside the scope.

    Args:
      source: text with `def program(...)`.
      name: pseudo file name for tracebacks.
      rung: "eager" or a key of the ladder.
      knobs: config entries on top of the rung's own.
      dynamic: as for torch.compile.
      fast: quick compiler settings (setup.fast_knobs).
      whole: what cannot be one graph is an error that names the line.
      substitute: "FILE:NAME" of a backend that stands in for Inductor; how tests plant faults.
    """
    function = load(source, name, "program")
    if rung == "eager":
        return function, Scope([])
    torch._dynamo.utils.counters.clear()
    for knob, _ in knobs:
        if not knob_exists(knob):
            return _refusal(f"this torch has no setting {knob}"), Scope([])
    backend, own = _RUNGS[rung]
    if fast and backend == "inductor":
        own = [*own, *setup.fast_knobs()]
    chosen = _backend_from_file(substitute) if substitute and rung == "inductor" else backend
    compiled = torch.compile(function, backend=chosen, dynamic=dynamic, fullgraph=whole)
    return compiled, Scope([*own, *knobs])


def forget(name: str) -> None:
    """Drops the text of a program that is no longer needed."""
    linecache.cache.pop(name, None)


def counters() -> dict[str, int]:
    """Graphs and graph breaks since the last compile_rung."""
    stats = torch._dynamo.utils.counters
    return {
        "graphs": int(stats["stats"].get("unique_graphs", 0)),
        "graph_breaks": int(sum(stats["graph_break"].values())),
    }


def call(function: Callable, leaves: list[torch.Tensor], floats: list[float]) -> list[torch.Tensor]:
    """Calls a program; anything but a tuple of tensors is an error."""
    outputs = function(*leaves, *floats)
    if isinstance(outputs, torch.Tensor):
        outputs = (outputs,)
    for output in outputs:
        if not isinstance(output, torch.Tensor):
            raise TypeError(f"the program returned a {type(output).__name__}, not a tensor")
    return list(outputs)


def device_is_lost(device: str) -> bool:
    """Whether the device fails at whatever it is asked, as CUDA does after a device-side assert."""
    if torch.device(device).type != "cuda":
        return False
    try:
        torch.zeros(1, device=device).add_(1)
        torch.cuda.synchronize(device)
    except RuntimeError:
        return True
    return False


def grad(
    outputs: list[torch.Tensor],
    leaves: list[torch.Tensor],
    cotangents: list[torch.Tensor],
    retain_graph: bool,
    create_graph: bool,
) -> list[torch.Tensor | None]:
    """torch.autograd.grad, so that an error keeps its Python type and traceback."""
    return list(
        torch.autograd.grad(
            outputs,
            leaves,
            cotangents,
            retain_graph=retain_graph,
            create_graph=create_graph,
            allow_unused=True,
        )
    )


def call_operator(op: str, args: list[Any], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """Runs one statement whose operator the dispatcher does not know under its name."""
    if op.startswith("Tensor."):
        result = getattr(args[0], op[len("Tensor.") :])(*args[1:], **kwargs)
    else:
        target: Any = torch
        for part in op.split("."):
            target = getattr(target, part)
        result = target(*args, **kwargs)
    if result is None:
        return []
    if isinstance(result, torch.Tensor):
        return [result]
    flat = []
    for item in result:
        if not isinstance(item, torch.Tensor):
            raise TypeError(f"{op} returns a {type(item).__name__}, not a tensor")
        flat.append(item)
    return flat


_COMPILE_MODULES = (
    "torch._dynamo.exc",
    "torch._inductor.exc",
    "torch.fx.experimental.symbolic_shapes",
)


def _statement(error: BaseException | None) -> str:
    """The program's line that the compiler was busy with, in the form of a traceback; "" if unknown.

    Few of Inductor's errors name it, but the node of the graph at hand does.
    """
    while error is not None:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        for frame in reversed(frames):
            for value in frame.f_locals.values():
                if isinstance(value, torch.fx.Node):
                    said = str(value.meta.get("stack_trace") or "")
                    at = said.rfind('  File "<gradfuzz program ')
                    if at >= 0:
                        return said[at:].rstrip() + "\n"
        error = error.__cause__
    return ""


def explain(error: BaseException) -> dict[str, str]:
    """What an exception says: its kind, its type and text, and the innermost frames.

    Returns:
      {"kind": "compile" | "runtime" | "unsupported", "text": "Type: message", "trace": ...}
    """
    kind = "runtime"
    node: BaseException | None = error
    while node is not None:
        module = type(node).__module__
        if type(node).__name__ in ("Unsupported", "UncapturedHigherOrderOpError"):
            kind = "unsupported"
            break
        if module.startswith(_COMPILE_MODULES):
            kind = "compile"
        node = node.__cause__
    frames = traceback.extract_tb(error.__traceback__)
    if kind == "runtime" and any(
        "_inductor/" in f.filename and "/compile" in f.filename for f in frames
    ):
        kind = "compile"
    trace = "".join(traceback.format_list(frames[-6:])) + _statement(error)
    return {"kind": kind, "text": f"{type(error).__name__}: {error}", "trace": trace}


def same(reference: torch.Tensor, result: torch.Tensor, fp64: torch.Tensor) -> bool:
    """PyTorch's own accuracy rule, at the tolerance that its minifier uses."""
    import logging

    from torch._dynamo.utils import same as dynamo_same

    logging.disable(logging.CRITICAL)
    try:
        return bool(dynamo_same(reference, result, fp64, tol=1e-3, equal_nan=True))
    except Exception:
        return False
    finally:
        logging.disable(logging.NOTSET)
