# SPDX-License-Identifier: BSD-3-Clause
"""The plain way to fuzz torch.compile: what scripts/bench_throughput measures gradfuzz against.

    python scripts/plain_loop.py FOLDER [--device cpu] [--draws 3] [--limit N]

Runs every program module of FOLDER (the files that `gradfuzz` writes: inputs, program, cotangents,
CALL) one after the other in this process: eager, then torch.compile with aot_eager and with
inductor, default flags, forward and backward, compared by torch.testing.assert_close. Prints one
JSON object. Seconds are those since the process began, without the warm-up's; CPU seconds those of
this process and of all that it started.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

COMPILED = ("aot_eager", "inductor")

# Compiled before the clock starts: what a machine pays once (vector probe, precompiled headers).
WARM_UP = """
import torch

def inputs(device="cpu", draw=0):
    x0 = torch.arange(12.0, device=device).reshape(3, 4).requires_grad_()
    return [x0]

def program(x0):
    v1 = torch.sin(x0)
    v2 = torch.amax(v1, 1)
    return (v2,)

def cotangents(outputs, draw=0):
    return [torch.ones_like(outputs[0])]
"""


def tree_cpu_seconds() -> float:
    """User and system time of this process, its descendants, and those that they waited for."""
    tick = os.sysconf("SC_CLK_TCK")
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path("/proc", entry, "stat").read_text()
            except OSError:  # ended meanwhile
                continue
            fields = stat.rpartition(")")[2].split()
            parents[int(entry)] = int(fields[1])
            seconds[int(entry)] = sum(int(f) for f in fields[11:15]) / tick
    total = 0.0
    for pid, cpu in seconds.items():
        node = pid
        while node and node != os.getpid():
            node = parents.get(node, 0)
        total += cpu if node else 0.0
    return total


def age_seconds() -> float:
    """Wall time since this process began."""
    started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")


def load(text: str, name: str) -> SimpleNamespace:
    """A program module from its text. Dynamo imports the module of a function by name."""
    module = ModuleType(f"plain_loop_{name}")
    sys.modules[module.__name__] = module
    namespace = module.__dict__
    exec(compile(text, name, "exec"), namespace)
    return SimpleNamespace(
        CALL=namespace.get("CALL", {}),
        second_inputs=namespace.get("second_inputs"),
        **{key: namespace[key] for key in ("inputs", "program", "cotangents")},
    )


def calls(module: SimpleNamespace, draws: int) -> list[tuple[Callable, list[float], int]]:
    """What makes the inputs, the floats and the draw of each call: the first ones, then the second."""
    first = (module.inputs, module.CALL.get("floats", []))
    second = (module.second_inputs, module.CALL.get("second_floats", []))
    makers = [first] + ([second] if module.second_inputs else [])
    return [(make, floats, draw) for make, floats in makers for draw in range(draws)]


class Totals:
    """What was done, and how long torch took for it."""

    def __init__(self) -> None:
        self.programs = 0
        self.with_gradients = 0
        self.gradient_tensors = 0  # over all draws and both compiled rungs, as gradfuzz counts
        self.forward_tensors = 0
        self.mismatches: list[str] = []
        self.errors: list[str] = []
        self.torch_seconds = 0.0

    @contextlib.contextmanager
    def in_torch(self) -> Iterator[None]:
        """Counts the time inside as torch's own."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.torch_seconds += time.perf_counter() - start


def observe(
    function: Callable,
    module: SimpleNamespace,
    device: str,
    make: Callable,
    floats: list[float],
    draw: int,
) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
    """Outputs and gradients of one call, as the module's CALL asks for them."""
    call = module.CALL
    backward = call.get("backward", "grad")
    leaves = make(device=device, draw=draw)
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    autocast = (
        torch.autocast(device, dtype=torch.bfloat16)
        if call.get("autocast")
        else contextlib.nullcontext()
    )
    if call.get("no_grad_first"):
        with torch.no_grad(), autocast:
            function(*make(device=device, draw=draw), *floats)
    if backward == "none":
        with torch.no_grad(), autocast:
            return list(function(*leaves, *floats)), []
    with autocast:
        outputs = list(function(*leaves, *floats))
    vectors = module.cotangents(outputs, draw=draw)
    roots = [(o, c) for o, c in zip(outputs, vectors, strict=True) if o.requires_grad]
    if not roots or not wanted:
        return [o.detach() for o in outputs], []
    grad = torch.autograd.grad
    args: Any = ([o for o, _ in roots], wanted, [c for _, c in roots])
    if backward == "double":
        first = grad(*args, create_graph=True, allow_unused=True)
        scalars = [g.sum() for g in first if g is not None and g.requires_grad]
        second = grad(scalars, wanted, allow_unused=True) if scalars else []
        gradients = [*first, *second]
    else:
        gradients = list(grad(*args, allow_unused=True, retain_graph=backward == "accumulate"))
        if backward == "accumulate":
            again = grad(*args, allow_unused=True)
            gradients = [
                None if g is None else g + h for g, h in zip(gradients, again, strict=True)
            ]
    return [o.detach() for o in outputs], [g if g is None else g.detach() for g in gradients]


def close(expected: torch.Tensor | None, got: torch.Tensor | None) -> bool:
    """Whether the two agree at PyTorch's default tolerances; None only agrees with None."""
    if expected is None or got is None:
        return expected is got
    try:
        torch.testing.assert_close(got, expected, equal_nan=True, check_stride=False)
    except AssertionError:
        return False
    return True


@contextlib.contextmanager
def settings(config: dict[str, Any]) -> Iterator[None]:
    """What a program is compiled under, by the names of CALL's config."""
    threads = torch.get_num_threads()
    with contextlib.ExitStack() as stack:
        for name, value in config.items():
            part, _, key = name.partition(".")
            if name == "runtime.num_threads":
                torch.set_num_threads(value)
                stack.callback(torch.set_num_threads, threads)
            else:
                module = importlib.import_module(f"torch._{part}.config")
                stack.enter_context(module.patch({key: value}))
        yield


def run_one(module: SimpleNamespace, name: str, device: str, draws: int, totals: Totals) -> None:
    """All rungs of one program."""
    torch._dynamo.reset()
    try:
        with totals.in_torch():
            expected = [observe(module.program, module, device, *c) for c in calls(module, draws)]
    except Exception as error:
        totals.errors.append(f"{name}: eager: {type(error).__name__}")
        return
    totals.programs += 1
    totals.with_gradients += any(g is not None for g in expected[0][1])
    for backend in COMPILED:
        function = torch.compile(
            module.program, backend=backend, dynamic=module.CALL.get("dynamic")
        )
        try:
            with totals.in_torch(), settings(module.CALL.get("config", {})):
                got = [observe(function, module, device, *c) for c in calls(module, draws)]
        except Exception as error:
            totals.errors.append(f"{name}: {backend}: {type(error).__name__}")
            continue
        for outputs, gradients in got:
            totals.forward_tensors += len(outputs)
            totals.gradient_tensors += sum(g is not None for g in gradients)
        for (outputs, gradients), (right_outputs, right_gradients) in zip(
            got, expected, strict=True
        ):
            pairs = [*zip(right_outputs, outputs, strict=False)]
            pairs += [*zip(right_gradients, gradients, strict=False)]
            if len(gradients) != len(right_gradients) or not all(close(e, g) for e, g in pairs):
                totals.mismatches.append(f"{name}: {backend}")
                break


def main() -> int:
    """Runs the loop; 2 when the folder holds no program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--limit", type=int, default=None, help="only the first N programs")
    options = parser.parse_args()
    paths = sorted(options.folder.glob("*.py"))[: options.limit]
    if not paths:
        print(f"plain_loop: {options.folder} holds no program (*.py)", file=sys.stderr)
        return 2
    age, cpu = age_seconds(), tree_cpu_seconds()
    run_one(load(WARM_UP, "warm_up"), "warm_up", options.device, 1, Totals())
    warm_up, warm_up_cpu = age_seconds() - age, tree_cpu_seconds() - cpu
    totals = Totals()
    totals.torch_seconds = age  # its import
    for path in paths:
        run_one(
            load(path.read_text(encoding="utf-8"), path.stem),
            path.stem,
            options.device,
            options.draws,
            totals,
        )
    wall, cpu = age_seconds() - warm_up, tree_cpu_seconds() - warm_up_cpu
    json.dump(
        {
            "torch": torch.__version__,
            "device": options.device,
            "draws": options.draws,
            "programs": totals.programs,
            "with_gradients": totals.with_gradients,
            "gradient_tensors": totals.gradient_tensors,
            "forward_tensors": totals.forward_tensors,
            "mismatches": totals.mismatches,
            "errors": totals.errors,
            "wall_seconds": round(wall, 3),
            "cpu_seconds": round(cpu, 3),
            "torch_seconds": round(totals.torch_seconds, 3),
        },
        sys.stdout,
        indent=1,
    )
    print()
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # torch's helper processes end with us; its own teardown takes seconds
