# SPDX-License-Identifier: BSD-3-Clause
"""From a Python function and its arguments to a gradfuzz program, through the graph that Dynamo records.

The graph is taken at the level of torch operators, before AOTAutograd: it is what the person wrote,
with Python gone. Whatever a program cannot say raises Inexpressible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.fx

from . import hazards, parse, rungs
from .script import REAL_COMPILE
from .tensors import Inexpressible, dtype_name, group, is_plain, snapshot

# Values are written out up to here; larger buffers get a recipe that fits them.
LITERAL_ELEMENTS = 1 << 16

_OPERATORS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "neg": "neg",
    "abs": "abs",
    "pos": "positive",
    "invert": "bitwise_not",
    "and_": "bitwise_and",
    "or_": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
    "eq": "eq",
    "ne": "ne",
    "iadd": "Tensor.add_",
    "isub": "Tensor.sub_",
    "imul": "Tensor.mul_",
    "itruediv": "Tensor.div_",
    "ifloordiv": "Tensor.floor_divide_",
    "imod": "Tensor.remainder_",
    "ipow": "Tensor.pow_",
    "iand": "Tensor.bitwise_and_",
    "ior": "Tensor.bitwise_or_",
    "ixor": "Tensor.bitwise_xor_",
    "getitem": "Tensor.__getitem__",
    "setitem": "Tensor.__setitem__",
}
# With a number on the left and a tensor on the right, what the tensor's own method would do.
_REFLECTED = {"sub": "rsub", "div": "div", "pow": "pow"}
_NAMESPACES = (
    "",
    "nn.functional",
    "linalg",
    "fft",
    "special",
    "_C._nn",
    "_C._special",
    "_C._linalg",
    "_C._fft",
)
_FACTORIES = {"zeros", "ones", "empty", "full"}
_VARIADIC = {
    "permute",
    "view",
    "expand",
    "repeat",
    "reshape",
    "flip",
    "tile",
    "new_zeros",
    "new_ones",
    "new_empty",
}


def _function_paths() -> dict[int, str]:
    """id of each function below torch -> its shortest public path."""
    paths: dict[int, str] = {}
    for space in _NAMESPACES:
        node: Any = torch
        for part in filter(None, space.split(".")):
            node = getattr(node, part, None)
        for name in dir(node) if node is not None else ():
            target = getattr(node, name, None)
            if callable(target) and not isinstance(target, type):
                # What torch._C holds is public elsewhere under the same name.
                public = {"_C._nn": "nn.functional"}.get(space, space.replace("_C._", ""))
                if space.startswith("_C") and not _resolves(f"{public}.{name}"):
                    public = space
                paths.setdefault(id(target), f"{public}.{name}" if public else name)
    return paths


def _resolves(path: str) -> bool:
    node: Any = torch
    for part in path.split("."):
        node = getattr(node, part, None)
    return callable(node)


_paths: dict[int, str] = {}


def path_of(target: Callable) -> str:
    """The path below torch under which a program can call `target`."""
    if not _paths:
        _paths.update(_function_paths())
    if id(target) in _paths:
        return _paths[id(target)]
    if isinstance(target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        path = "ops." + str(target).replace("::", ".")
        if path.startswith("ops.aten.") and path.count(".") == 3 and path.endswith(".default"):
            path = path.removesuffix(".default")
        return path
    name = getattr(target, "__name__", "")
    module = getattr(target, "__module__", "") or ""
    if module.startswith("torch.") and name and _resolves(f"{module[6:]}.{name}"):
        return f"{module[6:]}.{name}"
    raise Inexpressible(f"{getattr(target, '__qualname__', target)} is no function below torch")


def _with_list(name: str, args: list) -> list:
    """x.permute(0, 2, 1) means x.permute((0, 2, 1)), and torch.flip takes nothing else."""
    if name in _VARIADIC and len(args) > 1 and all(isinstance(a, int) for a in args[1:]):
        return [args[0], args[1:]]
    return args


class Trace:
    """What one call went through: the graph, the tensors that entered and left it, the call's value."""

    def __init__(
        self, module: torch.fx.GraphModule, inputs: Sequence, outputs: Sequence, result: Any
    ) -> None:
        self.module = module
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.result = result


def trace(function: Callable, args: tuple, kwargs: dict) -> Trace:
    """Calls `function` once under Dynamo with a backend that only looks."""
    seen: list[tuple] = []

    def backend(module: torch.fx.GraphModule, _: Any) -> Callable:
        def run(*inputs: Any) -> Any:
            outputs = module.forward(*inputs)
            seen.append((module, inputs, outputs))
            return outputs

        return run

    def frame(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)  # Dynamo wants a frame of Python, even around torch.sin

    patches = {"assume_static_by_default": True, "specialize_int": True}
    for name in ("specialize_float",):
        if rungs.knob_exists(f"dynamo.{name}"):
            patches[name] = True
    torch._dynamo.reset()
    try:
        with torch._dynamo.config.patch(patches):
            result = REAL_COMPILE(frame, backend=backend, fullgraph=True, dynamic=False)(
                *args, **kwargs
            )
    except Exception as error:
        raise Inexpressible(_first_line(error)) from error
    finally:
        torch._dynamo.reset()
    if len(seen) != 1:
        raise Inexpressible(f"Dynamo recorded {len(seen)} graphs, not one")
    return Trace(*seen[0], result)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


class _Writer:
    """Turns one FX graph into statements and regions."""

    def __init__(self, graph: torch.fx.Graph, device: str) -> None:
        self.statements: list[dict] = []
        self.regions: list[dict] = []
        self.values: dict[torch.fx.Node, Any] = {}  # argument in JSON form
        self.results: dict[torch.fx.Node, list[int]] = {}  # of nodes that yield several tensors
        self.device = device
        self._open: list[
            tuple[str, int, Any]
        ] = []  # kind, first statement, the node that opened it
        self._leaves = sum(node.op == "placeholder" for node in graph.nodes)
        self._next = self._leaves
        for node in graph.nodes:
            getattr(self, f"_{node.op}")(node)
        if self._open:
            raise Inexpressible("a context that is never left")
        self.regions.sort(key=lambda r: (r["first"], -r["last"]))

    def _placeholder(self, node: torch.fx.Node) -> None:
        self.values[node] = {"v": len(self.values)}

    def _output(self, node: torch.fx.Node) -> None:
        self.outputs = (
            list(node.args[0]) if isinstance(node.args[0], (tuple, list)) else [node.args[0]]
        )

    def _get_attr(self, node: torch.fx.Node) -> None:
        raise Inexpressible(f"the graph holds '{node.target}', which is no argument")

    def _call_module(self, node: torch.fx.Node) -> None:
        raise Inexpressible(f"the graph calls the module '{node.target}'")

    def _call_method(self, node: torch.fx.Node) -> None:
        name = str(node.target)
        args, kwargs = list(node.args), dict(node.kwargs)
        args = _with_list(name, args)
        function = not parse._METHODS_ONLY.match(name) and callable(getattr(torch, name, None))
        self._emit(node, name if function else f"Tensor.{name}", args, kwargs)

    def _call_function(self, node: torch.fx.Node) -> None:
        target, args, kwargs = node.target, list(node.args), dict(node.kwargs)
        if self._context(node):
            return
        name = getattr(target, "__name__", "")
        module = getattr(target, "__module__", "")
        if module in ("_operator", "operator", "math"):
            self._operator(node, name, args, kwargs)
            return
        path = path_of(target)
        if (
            path in _FACTORIES
            and len(args) > 1
            and path != "full"
            and all(isinstance(a, int) for a in args)
        ):
            args = [args]
        self._emit(node, path, _with_list(path, args), kwargs)

    def _operator(self, node: torch.fx.Node, name: str, args: list, kwargs: dict) -> None:
        if name == "getitem" and isinstance(args[0], torch.fx.Node) and args[0] in self.results:
            if not isinstance(args[1], int):
                raise Inexpressible("a slice of a tuple of tensors")
            self.values[node] = {"v": self.results[args[0]][args[1]]}
            return
        op = _OPERATORS.get(name)
        if op is None:
            raise Inexpressible(f"Python's operator '{name}'")
        left_is_tensor = isinstance(args[0], torch.fx.Node)
        if op == "add" or op == "mul":
            if not left_is_tensor:
                args = args[::-1]
        elif not left_is_tensor and op == "sub":
            op, args = "rsub", args[::-1]
        elif not left_is_tensor and op == "div":
            # number / tensor is reciprocal * number in torch.
            self._append("reciprocal", [self.arg(args[1])], [], 1)
            inverse = {"v": self._next - 1}
            if args[0] == 1:
                self.values[node] = inverse
                return
            self.values[node] = {"v": self._append("mul", [inverse, self.arg(args[0])], [], 1)}
            return
        elif (
            not left_is_tensor and op not in ("pow",) and op in ("lt", "le", "gt", "ge", "eq", "ne")
        ):
            mirror = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
            op, args = mirror[op], args[::-1]
        self._emit(node, op, args, kwargs)

    def _context(self, node: torch.fx.Node) -> bool:
        """Handles the nodes that enter or leave a `with` block."""
        name = getattr(node.target, "__name__", "")
        here = len(self.statements)
        if name == "_set_grad_enabled":
            if node.args[0] is False:
                self._open.append(("no_grad", here, None))
            else:
                if not self._open or self._open[-1][0] != "no_grad":
                    raise Inexpressible("torch.enable_grad")
                self._close()
            return True
        if name == "_enter_autocast":
            device, dtype, enabled = (list(node.args) + [None] * 3)[:3]
            if device not in ("cpu", "cuda"):
                raise Inexpressible(f"autocast on {device}")
            if enabled and dtype not in (torch.bfloat16, None):
                raise Inexpressible(f"autocast to {dtype}")
            self._open.append(("autocast" if enabled else "autocast_off", here, node))
            return True
        if name == "_exit_autocast":
            if not self._open or self._open[-1][2] is not node.args[0]:
                raise Inexpressible("autocast blocks that are not nested")
            self._close()
            return True
        return False

    def _close(self) -> None:
        kind, first, _ = self._open.pop()
        if len(self.statements) > first:
            self.regions.append({"kind": kind, "first": first, "last": len(self.statements) - 1})

    def _append(self, op: str, args: list, kwargs: list, results: int) -> int:
        """RETURNS: the number of the first result."""
        statement: dict[str, Any] = {"op": op, "args": args}
        if kwargs:
            statement["kwargs"] = kwargs
        if results != 1:
            statement["results"] = results
        self.statements.append(statement)
        first = self._next
        self._next += results
        return first

    def _emit(self, node: torch.fx.Node, op: str, args: list, kwargs: dict) -> None:
        in_json = [
            self.arg(a, index=op in ("Tensor.__getitem__", "Tensor.__setitem__") and i == 1)
            for i, a in enumerate(args)
        ]
        pairs = [
            [k, self.arg(v)] for k, v in kwargs.items() if k != "device" or self.device != "cpu"
        ]
        pairs = [
            p
            for p in pairs
            if not (
                p[0] in ("layout", "pin_memory", "requires_grad")
                and p[1] in (None, False, {"k": "strided"})
            )
        ]
        if op == "Tensor.__setitem__":
            self._append(op, in_json, pairs, 0)
            return
        value = node.meta.get("example_value")
        if isinstance(value, (tuple, list)):
            if not all(isinstance(v, torch.Tensor) for v in value):
                raise Inexpressible(f"{op} yields what is no tensor")
            if len(value) == 1 and node.users:
                raise Inexpressible(f"{op} yields a list of one tensor")
            first = self._append(op, in_json, pairs, max(len(value), 1))
            self.results[node] = list(range(first, first + len(value)))
            self.values[node] = {"v": first}
            return
        if value is not None and not isinstance(value, torch.Tensor):
            raise Inexpressible(f"{op} yields a {type(value).__name__}, not a tensor")
        self.values[node] = {"v": self._append(op, in_json, pairs, 1)}

    def arg(self, value: Any, index: bool = False) -> Any:
        """An argument in the JSON form of program/json.h."""
        if isinstance(value, torch.fx.Node):
            if value in self.results:
                return [{"v": v} for v in self.results[value]]
            if value not in self.values:
                raise Inexpressible(f"the value of '{value.name}' has no number")
            return self.values[value]
        if isinstance(value, torch.dtype):
            return {"t": dtype_name(value)}
        if isinstance(value, torch.memory_format):
            return {"k": str(value).removeprefix("torch.")}
        if isinstance(value, torch.layout):
            if value != torch.strided:
                raise Inexpressible(f"the layout {value}")
            return {"k": "strided"}
        if isinstance(value, torch.device):
            return self.device
        if isinstance(value, slice):
            return {"slice": [self.arg(v) for v in (value.start, value.stop, value.step)]}
        if value is Ellipsis:
            return {"e": 0}
        if isinstance(value, complex):
            return {"c": [parse._jsonable(value.real), parse._jsonable(value.imag)]}
        if isinstance(value, tuple) and index:
            return {"u": [self.arg(v) for v in value]}
        if isinstance(value, (list, tuple)):
            return [self.arg(v) for v in value]
        if value is None or isinstance(value, (bool, str)):
            return value
        if type(value) in (int, float):
            return parse._jsonable(value)
        raise Inexpressible(f"an argument of type {type(value).__name__}")


def literal(values: torch.Tensor) -> list:
    """The elements of a tensor, in order, as the JSON of a literal recipe holds them."""
    flat = values.detach().reshape(-1).cpu()
    if flat.dtype == torch.int64 and flat.numel() and int(flat.abs().max()) > 1 << 53:
        raise Inexpressible("whole numbers beyond 2**53")
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    return [parse._jsonable(float(v)) for v in flat.double().tolist()]


def recipe(values: torch.Tensor) -> tuple[dict, bool]:
    """A value recipe for a buffer, and whether its values were drawn anew."""
    if values.numel() <= LITERAL_ELEMENTS or not values.is_floating_point():
        if values.numel() > 16 * LITERAL_ELEMENTS:
            raise Inexpressible(f"an argument with {values.numel()} whole numbers")
        return {"kind": "literal", "values": literal(values)}, False
    finite = values.double()[torch.isfinite(values)]
    if finite.numel() == 0:
        return {"kind": "literal", "values": literal(values)}, False
    low, high = float(finite.min()), float(finite.max())
    if low == high:
        return {"kind": "uniform", "low": low, "high": high, "seed": 1}, True
    if low >= 0 or high <= 0:
        return {"kind": "uniform", "low": low, "high": high, "seed": 1}, True
    return {
        "kind": "normal",
        "scale": float(finite.std()),
        "shift": float(finite.mean()),
        "seed": 1,
    }, True


def leaves_of(tensors: Sequence[torch.Tensor]) -> tuple[list[dict], list[dict], bool]:
    """(storages, leaves, whether values were drawn anew) of a program that starts from `tensors`."""
    for tensor in tensors:
        if not is_plain(tensor):
            raise Inexpressible(
                f"an argument is a {type(tensor).__name__} that is no plain strided tensor"
            )
        dtype_name(tensor.dtype)
        if any(stride < 0 for stride in tensor.stride()):
            raise Inexpressible("an argument with a negative stride")
    storages: list[dict] = []
    leaves: list[dict | None] = [None] * len(tensors)
    redrawn = False
    for index, found in enumerate(group(tensors)):
        values, new = recipe(found.base)
        redrawn = redrawn or new
        storages.append(
            {"dtype": dtype_name(found.dtype), "numel": found.end - found.first, "values": values}
        )
        for i in found.members:
            tensor = tensors[i]
            leaves[i] = {
                "storage": index,
                "sizes": list(tensor.shape),
                "strides": list(tensor.stride()),
                "offset": tensor.storage_offset() - found.first,
                "requires_grad": tensor.requires_grad,
            }
    return storages, leaves, redrawn


def default_cotangent(seed: int) -> dict:
    """A dense cotangent, for outputs that the script sends no gradient to."""
    return {
        "cotangent": {"kind": "normal", "scale": 1.0, "shift": 0.0, "seed": seed},
        "layout": "contiguous",
    }


def write(
    taken: Trace, results: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], device: str
) -> tuple[dict, list[int]]:
    """The program of a trace.

    Args:
      taken: the trace, whose inputs are the tensors that the graph ran on.
      results: the tensors that the call returned, flat.
      inputs: the call's own tensor arguments: they come first among the leaves, in this order.

    Returns:
      (the program without storages and leaves, for each leaf its position among the graph's
      inputs or, beyond those, among `inputs`): the caller knows the values before the call.
    """
    for value in taken.inputs:
        if not isinstance(value, torch.Tensor):
            raise Inexpressible(f"the graph takes a {type(value).__name__}")
    writer = _Writer(taken.module.graph, device)
    # Numbers of what the call returned: a result of the graph, or an input returned as it is.
    known: dict[int, int] = {id(t): i for i, t in enumerate(taken.inputs)}
    for node, tensor in zip(writer.outputs, taken.outputs):
        if isinstance(node, torch.fx.Node) and isinstance(tensor, torch.Tensor):
            known.setdefault(id(tensor), writer.values[node]["v"])
    numbers = []
    for tensor in results:
        if id(tensor) not in known:
            raise Inexpressible("the call returns a tensor that is no value of the graph")
        numbers.append(known[id(tensor)])
    if not writer.statements:
        raise Inexpressible("the graph is empty")
    if not numbers:
        raise Inexpressible("the call returns no tensor")
    # The call's arguments first, then what Dynamo lifted (parameters, buffers, globals).
    order = {id(t): i for i, t in enumerate(inputs)}
    positions = sorted(
        range(len(taken.inputs)), key=lambda i: (order.get(id(taken.inputs[i]), len(order)), i)
    )
    renumber = {old: new for new, old in enumerate(positions)}
    program = {
        "format": 1,
        "statements": [_renumbered(s, renumber) for s in writer.statements],
        "outputs": [
            {"value": renumber.get(n, n), **default_cotangent(101 + i)}
            for i, n in enumerate(numbers)
        ],
    }
    if writer.regions:
        program["regions"] = writer.regions
    return program, positions


def _renumbered(value: Any, renumber: dict[int, int]) -> Any:
    if isinstance(value, dict):
        if set(value) == {"v"}:
            return {"v": renumber.get(value["v"], value["v"])}
        return {k: _renumbered(v, renumber) for k, v in value.items()}
    if isinstance(value, list):
        return [_renumbered(v, renumber) for v in value]
    return value


_CONTEXTS: dict[str, Callable[[str], Any]] = {
    "no_grad": lambda device: torch.no_grad(),
    "autocast": lambda device: torch.autocast(device, dtype=torch.bfloat16),
    "autocast_off": lambda device: torch.autocast(device, enabled=False),
}


def run(
    program: dict, leaves: Sequence[torch.Tensor], found: list[str] | None = None
) -> list[torch.Tensor]:
    """Runs a program's statements in eager Python on `leaves`; its outputs. For checking a capture.

    Args:
      found: takes the hazards of its calls (hazards.py), each once.
    """
    values = list(leaves)
    regions = program.get("regions", [])
    device = leaves[0].device.type if leaves else "cpu"
    open_regions: list[tuple[int, Any]] = []
    try:
        for i, statement in enumerate(program["statements"]):
            while open_regions and open_regions[-1][0] < i:
                open_regions.pop()[1].__exit__(None, None, None)
            for region in regions:
                if region["first"] == i:
                    context = _CONTEXTS[region["kind"]](device)
                    context.__enter__()
                    open_regions.append((region["last"], context))
            args = [parse.python_arg(a, values) for a in statement["args"]]
            kwargs = {k: parse.python_arg(v, values) for k, v in statement.get("kwargs", [])}
            if found is not None:
                hazard = hazards.of_call(statement["op"], args, kwargs)
                if hazard and hazard not in found:
                    found.append(hazard)
            results = rungs.call_operator(statement["op"], args, kwargs)
            if len(results) != statement.get("results", 1):
                raise Inexpressible(f"{statement['op']} yields {len(results)} tensors")
            values += results
    finally:
        while open_regions:
            open_regions.pop()[1].__exit__(None, None, None)
    return [values[output["value"]] for output in program["outputs"]]


def same_tensor(a: torch.Tensor | None, b: torch.Tensor | None) -> bool:
    """Bit for bit, with dtype, sizes and strides; NaN equals NaN."""
    if a is None or b is None:
        return a is b
    if a.dtype != b.dtype or a.shape != b.shape or a.stride() != b.stride():
        return False
    a, b = a.detach(), b.detach()
    if a.is_floating_point() or a.is_complex():
        return bool(
            torch.equal(torch.isnan(a), torch.isnan(b))
            and torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))
        )
    return bool(torch.equal(a, b))


def gradients(
    outputs: Sequence[torch.Tensor], leaves: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """Of all leaves that ask for one, under the default cotangents."""
    heads, cotangents = [], []
    for i, output in enumerate(outputs):
        if isinstance(output, torch.Tensor) and output.requires_grad:
            generator = torch.Generator().manual_seed(101 + i)
            drawn = torch.randn(output.shape, generator=generator, dtype=torch.float64)
            heads.append(output)
            cotangents.append(drawn.to(output.device, output.dtype))
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    if not heads or not wanted:
        return [None] * len(wanted)
    return list(
        torch.autograd.grad(heads, wanted, cotangents, allow_unused=True, retain_graph=True)
    )


def agrees(
    program: dict,
    before: Sequence[torch.Tensor],
    results: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor],
    found: list[str],
) -> str:
    """Whether a program does in eager what the function did: empty, or what differs.

    Args:
      before: the leaves as they were before the call (copied here).
      results: what the function returned in eager.
      inputs: the function's leaves after that call, in the order of the program's.
      found: takes the hazards of the program.
    """
    leaves = snapshot(before)
    try:
        outputs = run(program, leaves, found)
    except Exception as error:
        return f"the program form raises {_first_line(error)}"
    if hazards.UNINITIALISED in found:
        return ""  # its values differ from themselves
    for i, (mine, theirs) in enumerate(zip(outputs, results)):
        if not same_tensor(mine, theirs):
            return f"output {i} of the program form differs"
        if mine.requires_grad != theirs.requires_grad:
            return f"output {i} of the program form differs in requires_grad"
    for i, (mine, theirs) in enumerate(zip(leaves, inputs)):
        if not same_tensor(mine, theirs):
            return f"the program form leaves argument {i} otherwise"
    try:
        expected = gradients(results, inputs)
    except Exception:
        return ""  # the function's own backward does not run: nothing to compare
    try:
        found = gradients(outputs, leaves)
    except Exception as error:
        return f"the backward of the program form raises {_first_line(error)}"
    for i, (mine, theirs) in enumerate(zip(found, expected)):
        if not same_tensor(mine, theirs):
            return f"gradient {i} of the program form differs"
    return ""
