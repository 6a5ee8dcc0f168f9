# SPDX-License-Identifier: BSD-3-Clause
"""Records what a script gives to torch.compile, and turns each call into a gradfuzz program.

A call becomes a program of torch operators where Dynamo sees it as one graph and the program does the
same in eager, bit for bit. Otherwise it becomes an *opaque* program of one statement,

    v2 = torch._gradfuzz_script("/tmp/report.py", 0, x0, x1)

which calls the script's own function: recorded call 0 of that script. Both are ordinary programs: the
ladder, the oracle and the reducer take them as they are.
"""

from __future__ import annotations

import contextlib
import inspect
import time
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch._inductor
import torch.utils._pytree as pytree

from . import graph, rungs
from .script import Script, ScriptError
from .tensors import Inexpressible, describe, dtype_name, is_plain, owned, snapshot

# Calls that are looked into, at most; of one function only those that differ in dtypes, layouts or
# plain arguments from the ones before.
_CALLS = 16
# Above this many elements of parameters and arguments a call is not copied for a look.
_COPY_LIMIT = 1 << 25
EXTERN = "_gradfuzz_script"


def tensors_in(value: Any) -> tuple[list[torch.Tensor], Any, list[Any]]:
    """(the distinct tensors of nested arguments, the tree, the flat values)."""
    flat, tree = pytree.tree_flatten(value)
    distinct: list[torch.Tensor] = []
    for item in flat:
        if isinstance(item, torch.Tensor) and not any(item is t for t in distinct):
            distinct.append(item)
    return distinct, tree, flat


def modules_of(function: Callable, values: Sequence[Any]) -> list[torch.nn.Module]:
    """The modules that a call may read: itself, its owner, its arguments, what it closes over."""
    found: list[Any] = [function, getattr(function, "__self__", None), *values]
    code = getattr(function, "__code__", None)
    if code is not None:
        found += [c.cell_contents for c in function.__closure__ or () if _filled(c)]
        found += [function.__globals__.get(name) for name in code.co_names]
    modules: list[torch.nn.Module] = []
    for item in found:
        if isinstance(item, torch.nn.Module) and not any(item is m for m in modules):
            modules.append(item)
    return modules


def _filled(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


class _State:
    """What a call may change besides its arguments: parameters, buffers, random numbers."""

    def __init__(self, modules: Sequence[torch.nn.Module]) -> None:
        self._tensors: list[torch.Tensor] = []
        for module in modules:
            self._tensors += [*module.parameters(), *module.buffers()]
        self._values = [t.detach().clone() for t in self._tensors]
        self._gradients = [t.grad for t in self._tensors]
        self._random = torch.get_rng_state()

    def restore(self) -> None:
        with torch.no_grad():
            for tensor, value, gradient in zip(self._tensors, self._values, self._gradients):
                if not torch.equal(tensor, value):
                    tensor.copy_(value)
                tensor.grad = gradient
        torch.set_rng_state(self._random)


def _ambient() -> dict[str, Any]:
    """The modes around a call that change what it computes."""
    facts: dict[str, Any] = {}
    if not torch.is_grad_enabled() or torch.is_inference_mode_enabled():
        facts["no_grad"] = True
    for device in ("cpu", "cuda"):
        if torch.is_autocast_enabled(device):
            facts["autocast"] = str(torch.get_autocast_dtype(device)).removeprefix("torch.")
    if torch.get_default_dtype() != torch.float32:
        facts["default_dtype"] = str(torch.get_default_dtype()).removeprefix("torch.")
    if torch.autograd.forward_ad._current_level >= 0:
        facts["forward_mode"] = True
    if torch._C._functorch.peek_interpreter_stack() is not None:
        facts["transform"] = True
    if torch._C._len_torch_function_stack() or torch._C._len_torch_dispatch_stack():
        facts["mode"] = True
    return facts


_UNSAYABLE = {
    "default_dtype": "another default dtype is in force around the call",
    "forward_mode": "the call is inside a forward-mode level",
    "transform": "the call is inside a torch.func transform",
    "mode": "the call is inside a torch function or dispatch mode",
}


class Call:
    """One recorded call."""

    def __init__(self, index: int, number: int, function: str, options: dict[str, Any]) -> None:
        self.index = index
        self.numbers = [number]  # among all calls of the script; later ones are of the same kind
        self.function = function
        self.options = _plain_options(options)
        self.knobs = _knobs(options)
        self.arguments: list[str] = []
        self.ambient: dict[str, Any] = {}
        self.program: dict[str, Any] | None = None
        self.opaque = False
        self.why_opaque = ""
        self.names: list[str] = []
        self.hazards: list[str] = []
        self.redrawn = False
        self.random = False
        self.error = ""
        self.output_facts: list[str] = []
        # What the script's backward sent to each tensor output; the first backward only.
        self.received: dict[int, torch.Tensor] = {}
        self.create_graph = False
        self.approximate_layout = False

    def facts(self) -> dict[str, Any]:
        self._finish()
        return {
            "index": self.index,
            "numbers": self.numbers[:64],
            "function": self.function,
            "knobs": self.knobs,
            "options": self.options,
            "arguments": self.arguments,
            "outputs": self.output_facts,
            "ambient": self.ambient,
            "program": self.program,
            "opaque": self.opaque,
            "why_opaque": self.why_opaque,
            "names": self.names,
            "hazards": self.hazards,
            "redrawn": self.redrawn,
            "random": self.random,
            "error": self.error,
            "backward": bool(self.received),
            "approximate_cotangent": self.approximate_layout,
        }

    def _finish(self) -> None:
        """Puts what the script's backward sent into the program."""
        if self.program is None or not self.received:
            return
        positions = self.program.pop("tensor_outputs", None)
        for i, output in enumerate(self.program["outputs"]):
            at = positions[i] if positions else i
            sent = self.received.get(at)
            if sent is None:
                output["cotangent"] = {"kind": "uniform", "low": 0.0, "high": 0.0, "seed": 0}
                output["layout"] = "contiguous"
                continue
            output["cotangent"], output["layout"], exact = _cotangent(sent)
            self.approximate_layout |= not exact
        if self.create_graph:
            self.program.setdefault("call", {})["backward"] = "double"


def _cotangent(sent: torch.Tensor) -> tuple[dict, str, bool]:
    """(recipe, layout, whether that is exactly the layout) of a gradient that a script sent."""
    strides, shape = sent.stride(), sent.shape
    if sent.numel() > 1 and all(st == 0 or size == 1 for st, size in zip(strides, shape)):
        return {"kind": "literal", "values": graph.literal(sent.reshape(-1)[:1])}, "expanded", True
    values, _ = graph.recipe(sent.reshape(-1))
    reverse = sent.permute(tuple(range(sent.dim()))[::-1])
    if sent.dim() > 1 and not sent.is_contiguous() and reverse.is_contiguous():
        if values["kind"] == "literal":
            values = {"kind": "literal", "values": graph.literal(reverse.reshape(-1))}
        return values, "column_major", True
    return values, "contiguous", sent.is_contiguous()


class Recorder:
    """The hook that runs compiled functions in eager and records their calls."""

    def __init__(self, path: str, device: str, look: bool) -> None:
        self.path = path
        self.device = device
        self.look = look  # False: only keep what opaque programs call
        self.calls: list[Call] = []
        self.externs: dict[int, Callable] = {}
        self.functions = 0
        self.seconds = 0.0
        self._total = 0

    def hook(self, function: Callable, options: dict[str, Any]) -> Callable:
        self.functions += 1
        kinds: dict[tuple, Call] = {}

        def recording(*args: Any, **kwargs: Any) -> Any:
            number, self._total = self._total, self._total + 1
            kind = tuple(
                describe(v) if isinstance(v, torch.Tensor) else _shown(v)
                for v in pytree.tree_leaves((args, kwargs))
            )
            if kind in kinds:
                kinds[kind].numbers.append(number)
                return function(*args, **kwargs)
            if len(self.calls) >= _CALLS:
                return function(*args, **kwargs)
            call = Call(len(self.calls), number, _name(function), options)
            self.calls.append(call)
            kinds[kind] = call
            return self._record(call, function, args, kwargs)

        return _like(function, recording)

    def _record(self, call: Call, function: Callable, args: tuple, kwargs: dict) -> Any:
        call.ambient = _ambient()
        start = time.monotonic()
        flat = pytree.tree_leaves((args, kwargs))
        call.arguments = [describe(v) if isinstance(v, torch.Tensor) else _shown(v) for v in flat]
        try:
            self._look(call, function, args, kwargs)
        except Inexpressible as error:
            call.why_opaque = str(error)
        except Exception as error:
            call.why_opaque = f"the look into the call failed: {type(error).__name__}: {error}"[
                :300
            ]
        self.seconds += time.monotonic() - start
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            call.error = f"{type(error).__name__}: {error}"[:2000]
            raise
        outputs = pytree.tree_leaves(result)
        call.output_facts = [
            describe(v) if isinstance(v, torch.Tensor) else _shown(v) for v in outputs
        ]
        if self.look:
            self._watch(call, [o for o in outputs if isinstance(o, torch.Tensor)])
        return result

    def _watch(self, call: Call, outputs: list[torch.Tensor]) -> None:
        """Notes the gradient that reaches each output from the script's own backward."""

        def watcher(position: int) -> Callable:
            def seen(gradient: torch.Tensor) -> None:
                if position not in call.received and is_plain(gradient):
                    call.received[position] = owned(gradient)
                    call.create_graph |= torch.is_grad_enabled()

            return seen

        for i, output in enumerate(outputs):
            if output.requires_grad and is_plain(output):
                output.register_hook(watcher(i))

    def _look(self, call: Call, function: Callable, args: tuple, kwargs: dict) -> None:
        """Finds the program of a call, without the call's effects remaining."""
        for key, text in _UNSAYABLE.items():
            if key in call.ambient:
                raise Inexpressible(text)
        if call.ambient.get("autocast", "bfloat16") != "bfloat16":
            raise Inexpressible(
                f"autocast to {call.ambient['autocast']} is in force around the call"
            )
        tensors, tree, flat = tensors_in((args, kwargs))
        modules = modules_of(function, flat)
        elements = sum(t.numel() for t in tensors) + sum(
            p.numel() for m in modules for p in m.parameters()
        )
        if elements > _COPY_LIMIT:
            raise Inexpressible(f"the call works on {elements} elements")
        for tensor in tensors:
            if not is_plain(tensor):
                raise Inexpressible(
                    f"an argument is a {type(tensor).__name__} that is no plain strided tensor"
                )
        state = _State(modules)
        names = _argument_names(function, args, kwargs)
        try:
            self._prepare_opaque(call, function, tensors, tree, flat, state, names)
            if self.look:
                self._straighten(call, function, tensors, tree, flat, state, names)
        finally:
            state.restore()
        if call.program is not None:
            plan = call.program.setdefault("call", {})
            if call.options.get("dynamic") is not None:
                plan["dynamic"] = "yes" if call.options["dynamic"] else "no"
            config = {
                f"inductor.{name}": value
                for name, value in (call.options.get("options") or {}).items()
                if value is None or isinstance(value, (bool, int, float, str))
            }
            if config:
                plan["config"] = config
            if call.ambient.get("no_grad"):
                plan["backward"] = "none"
            if call.ambient.get("autocast"):
                plan["autocast"] = True

    def _prepare_opaque(
        self,
        call: Call,
        function: Callable,
        tensors: list[torch.Tensor],
        tree: Any,
        flat: list[Any],
        state: _State,
        names: dict[int, str],
    ) -> None:
        """The program of one statement that calls the function itself."""
        storages, leaves, redrawn = graph.leaves_of(tensors)
        copies = snapshot(tensors)
        args, kwargs = _rebuilt(tree, flat, tensors, copies)
        random = torch.get_rng_state()
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            # A program all the same: its eager rung raises, and what the others do is compared.
            call.error = f"{type(error).__name__}: {error}"[:2000]
            result = None
        call.random = not torch.equal(random, torch.get_rng_state())
        state.restore()
        paths = [
            p
            for p, value in pytree.tree_flatten_with_path(result)[0]
            if isinstance(value, torch.Tensor)
        ]
        outputs = [v for v in pytree.tree_leaves(result) if isinstance(v, torch.Tensor)]
        for output in outputs:
            if is_plain(output):
                dtype_name(output.dtype)
            else:
                raise Inexpressible(
                    f"the call returns a {type(output).__name__} that is no plain strided tensor"
                )
        if not outputs:
            raise Inexpressible(call.error or "the call returns no tensor")
        if call.random:
            raise Inexpressible("the call draws random numbers")
        self.externs[call.index] = _extern(function, tree, flat, tensors, paths)
        if not tensors:
            raise Inexpressible("the call takes no tensor")
        count = len(tensors)
        call.names = [names.get(id(t), f"x{i}") for i, t in enumerate(tensors)]
        call.redrawn = redrawn
        call.opaque = True
        statement: dict[str, Any] = {
            "op": EXTERN,
            "args": [self.path, call.index, *({"v": i} for i in range(count))],
        }
        if len(outputs) != 1:
            statement["results"] = len(outputs)
        call.program = {
            "format": 1,
            "storages": storages,
            "leaves": leaves,
            "statements": [statement],
            "outputs": [
                {"value": count + i, **graph.default_cotangent(101 + i)}
                for i in range(len(outputs))
            ],
        }

    def _straighten(
        self,
        call: Call,
        function: Callable,
        tensors: list[torch.Tensor],
        tree: Any,
        flat: list[Any],
        state: _State,
        names: dict[int, str],
    ) -> None:
        """Replaces the opaque program by one of torch operators, where that does the same."""
        try:
            copies = snapshot(tensors)
            args, kwargs = _rebuilt(tree, flat, tensors, copies)
            taken = graph.trace(function, args, kwargs)
            state.restore()
            results = [v for v in pytree.tree_leaves(taken.result) if isinstance(v, torch.Tensor)]
            # The same arguments again for eager; parameters and buffers are the same objects.
            again = snapshot(tensors)
            args, kwargs = _rebuilt(tree, flat, tensors, again)
            twin = {id(c): a for c, a in zip(copies, again)}
            program, positions = graph.write(taken, results, copies, self.device)
            inputs = [twin.get(id(taken.inputs[p]), taken.inputs[p]) for p in positions]
            before = snapshot(inputs)
            storages, leaves, redrawn = graph.leaves_of(before)
            outputs = [
                v
                for v in pytree.tree_leaves(function(*args, **kwargs))
                if isinstance(v, torch.Tensor)
            ]
            if len(outputs) != len(results):
                raise Inexpressible("Dynamo's call returns another number of tensors than eager")
            fault = graph.agrees(program, before, outputs, inputs, call.hazards)
            if fault:
                raise Inexpressible(fault)
        except Inexpressible as error:
            call.why_opaque = str(error)
            return
        lifted = _lifted_names(taken, positions)
        names = {**names, **{id(a): names.get(id(t), "") for t, a in zip(tensors, again)}}
        call.names = [names.get(id(t), "") or lifted[i] for i, t in enumerate(inputs)]
        call.program = {**program, "storages": storages, "leaves": leaves}
        call.opaque = False
        call.redrawn = redrawn


def _lifted_names(taken: graph.Trace, positions: list[int]) -> list[str]:
    """ "self.l.weight" of the inputs that Dynamo lifted, from their placeholders."""
    names = []
    for node in taken.module.graph.nodes:
        if node.op == "placeholder":
            names.append(
                str(node.target).removeprefix("L_").strip("_").replace("self_", "self.", 1)
            )
    return [names[p] if p < len(names) else f"input {p}" for p in positions]


def _name(function: Callable) -> str:
    if isinstance(function, torch.nn.Module):
        return type(function).__name__
    return getattr(function, "__qualname__", type(function).__name__).replace("<locals>.", "")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 and " at 0x" not in text else f"a {type(value).__name__}"


def _like(function: Callable, wrapper: Callable) -> Callable:
    """A plain function, so that it binds as a method where the original would."""
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        if hasattr(function, name) and not isinstance(function, torch.nn.Module):
            setattr(wrapper, name, getattr(function, name))
    return wrapper


def _plain_options(options: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, value in options.items():
        if key == "options" and isinstance(value, dict):
            plain[key] = {k: v for k, v in value.items() if isinstance(v, (bool, int, float, str))}
        elif value is None or isinstance(value, (bool, int, float, str)):
            plain[key] = value
        else:
            plain[key] = _shown(value)
    return plain


def _knobs(options: dict[str, Any]) -> list[list]:
    """Inductor's settings behind `mode` and `options`, as knobs."""
    settings: dict[str, Any] = {}
    if options.get("mode") not in (None, "default"):
        with contextlib.suppress(Exception):  # an unknown mode: torch.compile itself will say so
            settings.update(torch._inductor.list_mode_options(options["mode"]))
    if isinstance(options.get("options"), dict):
        settings.update(options["options"])
    knobs = [
        [f"inductor.{name}", value]
        for name, value in settings.items()
        if isinstance(value, (bool, int, float, str))
    ]
    return [knob for knob in knobs if rungs.knob_exists(knob[0])]


def _argument_names(function: Callable, args: tuple, kwargs: dict) -> dict[int, str]:
    """id of each tensor argument -> the parameter's name."""
    target = function.forward if isinstance(function, torch.nn.Module) else function
    names: dict[int, str] = {}
    try:
        bound = inspect.signature(target).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return names
    for name, value in bound.items():
        for path, item in pytree.tree_flatten_with_path(value)[0]:
            if isinstance(item, torch.Tensor):
                names.setdefault(id(item), name + pytree.keystr(path))
    for module in modules_of(function, pytree.tree_leaves((args, kwargs))):
        for name, tensor in (*module.named_parameters(), *module.named_buffers()):
            names.setdefault(id(tensor), name)
    return names


def _rebuilt(
    tree: Any, flat: list[Any], tensors: list[torch.Tensor], copies: list[torch.Tensor]
) -> tuple[tuple, dict]:
    """The call's arguments with every tensor replaced by its copy."""
    twin = {id(t): c for t, c in zip(tensors, copies)}
    return pytree.tree_unflatten(
        [twin.get(id(v), v) if isinstance(v, torch.Tensor) else v for v in flat], tree
    )


def _extern(
    function: Callable, tree: Any, flat: list[Any], tensors: list[torch.Tensor], paths: list
) -> Callable:
    """`def call(x0, x1)` that calls the function with the recorded arguments around those tensors.

    Written out as source, so that Dynamo sees a plain call and no tree of ours.
    """
    position = {id(t): i for i, t in enumerate(tensors)}
    constants: dict[str, Any] = {"function": function}

    def spelled(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return f"x{position[id(value)]}"
        if isinstance(value, tuple) and type(value) is tuple:
            return "(" + "".join(spelled(v) + ", " for v in value) + ")"
        if type(value) is list:
            return "[" + ", ".join(spelled(v) for v in value) + "]"
        if type(value) is dict and all(isinstance(k, str) for k in value):
            return "{" + ", ".join(f"{k!r}: {spelled(v)}" for k, v in value.items()) + "}"
        if pytree.tree_leaves(value) != [value] and any(
            isinstance(v, torch.Tensor) for v in pytree.tree_leaves(value)
        ):
            raise Inexpressible(f"an argument is a {type(value).__name__} that holds tensors")
        constants[f"c{len(constants)}"] = value
        return f"c{len(constants) - 1}"

    args, kwargs = pytree.tree_unflatten(flat, tree)
    given = [spelled(a) for a in args] + [f"{k}={spelled(v)}" for k, v in kwargs.items()]
    parameters = ", ".join(f"x{i}" for i in range(len(tensors)))
    results = ", ".join("out" + pytree.keystr(path) for path in paths)
    source = f"def call({parameters}):\n    out = function({', '.join(given)})\n    return ({results},)\n"
    exec(compile(source, "<gradfuzz extern>", "exec"), constants)
    return constants["call"]


_externs: dict[tuple[str, int], Callable] = {}


def _load_externs(path: str, device: str) -> None:
    with open(path, encoding="utf-8") as file:
        script = Script(file.read(), path)
    recorder = Recorder(path, device, look=False)
    with contextlib.suppress(ScriptError):  # the calls before the error are there
        script.run(recorder.hook, device, None)
    for index, function in recorder.externs.items():
        _externs[path, index] = function


def _extern_call(path: str, index: int, *tensors: torch.Tensor) -> Any:
    results = _externs[path, index](*tensors)
    return results[0] if len(results) == 1 else results


def _call_extern(path: str, index: int, *tensors: torch.Tensor) -> Any:
    """What `torch._gradfuzz_script` is: recorded call `index` of the script at `path`."""
    if (path, index) not in _externs and not torch.compiler.is_compiling():
        _load_externs(path, tensors[0].device.type if tensors else "cpu")
        if (path, index) not in _externs:
            raise RuntimeError(f"{path} makes no call {index} that can be repeated")
    return _extern_call(path, index, *tensors)


def install() -> None:
    """Makes opaque programs runnable in this process."""
    setattr(torch, EXTERN, _call_extern)


def capture(request: dict[str, Any]) -> dict[str, Any]:
    """Runs a script with a recording torch.compile.

    Args:
      request: {"path": file with the script's text, "device": "cpu" | "cuda"}.

    Returns:
      {"form", "calls": [...], "error": null | {"type", "message", "line", "source"}, "log",
       "mapped_to_cpu", "functions", "capture_seconds"}
    """
    install()
    with open(request["path"], encoding="utf-8") as file:
        script = Script(file.read(), request["path"])
    device = request.get("device", "cpu")
    recorder = Recorder(request["path"], device, look=True)
    error = None
    try:
        script.run(recorder.hook, device, None)
    except ScriptError as failure:
        error = failure.facts()
    for index, function in recorder.externs.items():
        _externs[request["path"], index] = function
    return {
        "form": script.form,
        "calls": [call.facts() for call in recorder.calls],
        "functions": recorder.functions,
        "error": error,
        "log": script.log,
        "mapped_to_cpu": script.mapped_to_cpu,
        "capture_seconds": recorder.seconds,
    }
