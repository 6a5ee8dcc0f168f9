# SPDX-License-Identifier: BSD-3-Clause
"""Reads the Python spelling of a program back into its JSON form, through Python's own `ast`.

It accepts what `program::EmitModule` writes, and what people write by hand in the same form: nested
calls, methods, operators, literal tensors. Whatever it cannot say becomes a ParseError that names the
line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from typing import Any

import torch

_DTYPES = {
    "float16": "float16",
    "half": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float": "float32",
    "float64": "float64",
    "double": "float64",
    "complex64": "complex64",
    "complex128": "complex128",
    "uint8": "uint8",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "long": "int64",
    "bool": "bool",
}
_CONSTANTS = {
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "preserve_format",
    "strided",
}
_BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
}
_COMPARE = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
# Methods of a tensor that have no function of the same name and meaning below torch.
_METHODS_ONLY = re.compile(
    r".*[^_]_$|^(to|expand|expand_as|repeat|view|view_as|new_.*|type|float|double|half|bfloat16|int|long|"
    r"bool|contiguous|unfold|masked_fill|masked_scatter|index_add|index_copy|index_fill|put|fill|size|"
    r"__getitem__|__setitem__|type_as|sum_to_size|reshape_as|mT|T|H|where|polygamma)$"
)
_PROPERTIES = {"T": "t", "mT": "mT", "H": "adjoint", "real": "real", "imag": "imag"}
_HELPERS = {
    "ints": ("low", "high"),
    "uniform": ("low", "high"),
    "normal": ("scale", "shift"),
    "choice": ("values",),
}


class ParseError(ValueError):
    """The text is not a program; the message names the line."""

    def __init__(self, node: ast.AST | None, message: str) -> None:
        line = getattr(node, "lineno", None)
        super().__init__(f"line {line}: {message}" if line else message)


def parse(text: str, path: str = "<program>") -> dict[str, Any]:
    """The program and the header of a module's text.

    Returns:
      {"program": JSON form, "header": {key: value or list of values}}
    """
    try:
        module = ast.parse(text, path)
    except SyntaxError as e:
        raise ParseError(None, f"line {e.lineno}: not Python: {e.msg}") from e
    functions = {n.name: n for n in module.body if isinstance(n, ast.FunctionDef)}
    for name in ("inputs", "program"):
        if name not in functions:
            raise ParseError(None, f"has no function '{name}'")
    storages, leaves, count = _Inputs(functions["inputs"]).read()
    call = _call_plan(module)
    floats = list(zip(call.pop("floats", []), call.pop("second_floats", []), strict=True))
    classes = {n.name: n for n in module.body if isinstance(n, ast.ClassDef)}
    body = _Body(functions["program"], count, floats, classes)
    statements, regions, outputs = body.read()
    cotangents: list[dict] = [
        {"cotangent": {"kind": "ints", "low": 1.0, "high": 1.0, "seed": 0}, "layout": "contiguous"}
        for _ in outputs
    ]
    if "cotangents" in functions:
        given = _cotangents(functions["cotangents"])
        if len(given) != len(outputs):
            raise ParseError(functions["cotangents"], "as many cotangents as outputs are needed")
        cotangents = given
    program: dict[str, Any] = {
        "format": 1,
        "storages": storages,
        "leaves": leaves,
        "statements": statements,
        "outputs": [{"value": v, **c} for v, c in zip(outputs, cotangents)],
    }
    if regions:
        program["regions"] = regions
    if "second_inputs" in functions:
        second_storages, second_leaves, _ = _Inputs(functions["second_inputs"]).read()
        call["second_storages"], call["second_leaves"] = second_storages, second_leaves
    if call:
        program["call"] = call
    return {"program": program, "header": header(text)}


def header(text: str) -> dict[str, Any]:
    """The `# key: value` lines at the top; a repeated key gives a list."""
    found: dict[str, Any] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            if line.strip():
                break
            continue
        match = re.match(r"#\s*([a-z][a-z_ ]*?)\s*:\s*(.*?)\s*$", line)
        if not match:
            continue
        key, value = match.groups()
        if key in found:
            found[key] = (found[key] if isinstance(found[key], list) else [found[key]]) + [value]
        else:
            found[key] = value
    return found


def _call_plan(module: ast.Module) -> dict[str, Any]:
    for node in module.body:
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
            continue
        if node.targets[0].id != "CALL" or not isinstance(node.value, ast.Call):
            continue
        plan = {k.arg: ast.literal_eval(k.value) for k in node.value.keywords}
        if "dynamic" in plan:
            plan["dynamic"] = "yes" if plan["dynamic"] else "no"
        return plan
    return {}


def _dotted(node: ast.AST) -> str | None:
    """ "torch.nn.functional.pad" of an attribute chain on a name, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        return ".".join([node.id, *reversed(parts)])
    return None


def _torch_path(node: ast.AST) -> str | None:
    """The path below torch of a function, with the usual abbreviation F."""
    dotted = _dotted(node)
    if dotted is None:
        return None
    if dotted.startswith("F."):
        return "nn.functional." + dotted[2:]
    return dotted[len("torch.") :] if dotted.startswith("torch.") else None


def _number(node: ast.AST) -> Any:
    """A Python literal, also float("inf") and complex(a, b), signs and powers of constants."""
    if isinstance(node, ast.Call) and _dotted(node.func) in ("float", "complex"):
        values = [_number(a) for a in node.args]
        return float(values[0]) if _dotted(node.func) == "float" else complex(*values)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_number(item) for item in node.elts]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return _number(node.left) ** _number(node.right)
    if isinstance(node, ast.Constant):
        return node.value
    raise ParseError(node, f"'{ast.unparse(node)}' is not a literal")


def _jsonable(value: float) -> Any:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"f": "nan" if value != value else "inf" if value > 0 else "-inf"}
    return value


def python_arg(value: Any, values: Sequence[torch.Tensor]) -> Any:
    """The argument that the JSON form of program/json.h stands for, given the values by id."""
    if isinstance(value, list):
        return [python_arg(v, values) for v in value]
    if not isinstance(value, dict):
        return value
    ((key, inner),) = value.items()
    if key == "v":
        return values[inner]
    if key == "t" or key == "k":
        return getattr(torch, inner)
    if key == "f":
        return float(inner)
    if key == "c":
        return complex(*(python_arg(v, values) for v in inner))
    if key == "p":
        return inner[0]
    if key == "u":
        return tuple(python_arg(v, values) for v in inner)
    if key == "slice":
        return slice(*(python_arg(v, values) for v in inner))
    return Ellipsis


def _dtype(node: ast.AST) -> str:
    path = _torch_path(node)
    if path in _DTYPES:
        return _DTYPES[path]
    raise ParseError(node, f"'{ast.unparse(node)}' is not a dtype")


def _contiguous(sizes: list[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


def _flatten(value: Any) -> tuple[list[Any], list[int]]:
    """The elements of a nested list in order, and its sizes."""
    if not isinstance(value, list):
        return [value], []
    if not value:
        return [], [0]
    parts = [_flatten(item) for item in value]
    if any(p[1] != parts[0][1] for p in parts):
        raise ValueError("a ragged literal")
    return [x for p in parts for x in p[0]], [len(value), *parts[0][1]]


def _literal_recipe(flat: list[Any], is_complex: bool) -> dict[str, Any]:
    values: list[Any] = []
    for item in flat:
        if is_complex:
            values += [_jsonable(complex(item).real), _jsonable(complex(item).imag)]
        else:
            values.append(_jsonable(float(item)))
    return {"kind": "literal", "values": values}


def _helper(node: ast.Call) -> tuple[ast.AST, dict[str, Any]] | None:
    """(count, recipe) of a call such as ints(9, -8, 8, seed=4 + draw)."""
    name = _dotted(node.func)
    if name not in _HELPERS:
        return None
    keys = _HELPERS[name]
    recipe: dict[str, Any] = {"kind": name}
    for key, arg in zip(keys, node.args[1:]):
        value = _number(arg)
        recipe[key] = [_jsonable(float(v)) for v in value] if key == "values" else float(value)
    seed = next((k.value for k in node.keywords if k.arg == "seed"), None)
    if isinstance(seed, ast.BinOp) and isinstance(seed.op, ast.Add):
        seed = seed.left
    recipe["seed"] = int(_number(seed)) if seed is not None else 0
    if len(node.args) != len(keys) + 1:
        raise ParseError(node, f"{name} takes {len(keys) + 1} positional arguments")
    return node.args[0], recipe


class _Inputs:
    """Reads `def inputs(device="cpu", draw=0)`."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self._function = function
        self._storages: list[dict] = []
        self._names: dict[str, dict | int] = {}  # leaf or storage index by variable name

    def read(self) -> tuple[list[dict], list[dict], int]:
        for node in self._function.body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._names[node.targets[0].id] = self._value(node.value)
            elif isinstance(node, ast.Return):
                items = getattr(node.value, "elts", None)
                if items is None:
                    raise ParseError(node, "inputs returns a list of tensors")
                leaves = []
                for item in items:
                    value = (
                        self._names.get(item.id)
                        if isinstance(item, ast.Name)
                        else self._value(item)
                    )
                    if value is None:
                        raise ParseError(item, f"'{ast.unparse(item)}' is not defined")
                    leaves.append(self._whole(value))
                return self._storages, leaves, len(leaves)
            else:
                raise ParseError(node, f"inputs cannot hold '{ast.unparse(node)}'")
        raise ParseError(self._function, "inputs returns nothing")

    def _whole(self, value: dict | int) -> dict:
        if isinstance(value, dict):
            return value
        return {
            "storage": value,
            "sizes": [self._storages[value]["numel"]],
            "strides": [1],
            "offset": 0,
            "requires_grad": False,
        }

    def _storage(self, dtype: str, numel: int, recipe: dict) -> int:
        self._storages.append({"dtype": dtype, "numel": numel, "values": recipe})
        return len(self._storages) - 1

    def _value(self, node: ast.AST) -> dict | int:
        """A leaf (dict) or a storage (index)."""
        if isinstance(node, ast.Name):
            if node.id not in self._names:
                raise ParseError(node, f"'{node.id}' is not defined")
            return self._names[node.id]
        if not isinstance(node, ast.Call):
            raise ParseError(
                node, f"'{ast.unparse(node)}' is not a tensor that a program can start from"
            )
        path = _torch_path(node.func)
        if path == "tensor":
            return self._literal(node)
        if path == "complex":  # torch.complex(*helper(2 * n, ...).double().reshape(2, -1))
            inner = node.args[0]
            while not (isinstance(inner, ast.Call) and _dotted(inner.func) in _HELPERS):
                inner = (
                    inner.value
                    if isinstance(inner, ast.Starred)
                    else getattr(inner, "func", None) or getattr(inner, "value", None)
                )
                if inner is None:
                    raise ParseError(node, "torch.complex needs a random recipe")
            count, recipe = _helper(inner)
            return self._storage("complex128", int(_number(count.right)), recipe)
        if _dotted(node.func) in _HELPERS:
            count, recipe = _helper(node)
            return self._storage(
                "float64" if recipe["kind"] != "ints" else "int64", int(_number(count)), recipe
            )
        if isinstance(node.func, ast.Attribute):
            return self._method(node)
        raise ParseError(
            node, f"'{ast.unparse(node)}' is not a tensor that a program can start from"
        )

    def _literal(self, node: ast.Call) -> dict:
        keywords = {k.arg: k.value for k in node.keywords}
        value = _number(node.args[0])
        try:
            flat, sizes = _flatten(value)
        except ValueError as e:
            raise ParseError(node, str(e)) from e
        if "dtype" in keywords:
            dtype = _dtype(keywords["dtype"])
        elif any(isinstance(v, complex) for v in flat):
            dtype = "complex64"
        elif flat and all(isinstance(v, bool) for v in flat):
            dtype = "bool"
        elif all(isinstance(v, int) for v in flat) and flat:
            dtype = "int64"
        else:
            dtype = "float32"
        storage = self._storage(
            dtype, len(flat), _literal_recipe(flat, dtype.startswith("complex"))
        )
        leaf = {
            "storage": storage,
            "sizes": sizes,
            "strides": _contiguous(sizes),
            "offset": 0,
            "requires_grad": False,
        }
        if "requires_grad" in keywords:
            leaf["requires_grad"] = bool(_number(keywords["requires_grad"]))
        return leaf

    def _method(self, node: ast.Call) -> dict | int:
        name = node.func.attr
        value = self._value(node.func.value)
        if name == "to":
            for arg in node.args:
                if _torch_path(arg) in _DTYPES:
                    index = value if isinstance(value, int) else value["storage"]
                    self._storages[index]["dtype"] = _dtype(arg)
            return value
        if name == "as_strided":
            sizes, strides = (list(_number(a)) for a in node.args[:2])
            offset = int(_number(node.args[2])) if len(node.args) > 2 else 0
            index = value if isinstance(value, int) else value["storage"]
            return {
                "storage": index,
                "sizes": sizes,
                "strides": strides,
                "offset": offset,
                "requires_grad": False,
            }
        if name == "reshape":
            sizes = (
                _number(node.args[0]) if len(node.args) == 1 else [_number(a) for a in node.args]
            )
            sizes = sizes if isinstance(sizes, list) else [sizes]
            return {**self._whole(value), "sizes": sizes, "strides": _contiguous(sizes)}
        if name == "detach":
            return dict(self._whole(value))
        if name == "requires_grad_":
            on = not node.args or bool(_number(node.args[0]))
            return {**self._whole(value), "requires_grad": on}
        raise ParseError(node, f"inputs cannot hold the method '{name}'")


def _cotangents(function: ast.FunctionDef) -> list[dict]:
    """Reads `def cotangents(outputs, draw=0)`: one recipe and layout per output."""
    found: list[dict] = []
    for node in function.body:
        if not isinstance(node, ast.Assign):
            continue
        text = ast.unparse(node.value)
        if ".expand(" in text:
            layout = "expanded"
        elif ".permute(" in text:
            layout = "column_major"
        elif "[..., 0]" in text:
            layout = "sliced"
        else:
            layout = "contiguous"
        recipe = None
        for call in ast.walk(node.value):
            if not isinstance(call, ast.Call):
                continue
            helper = _helper(call)
            if helper:
                recipe = helper[1]
            elif _torch_path(call.func) == "tensor":
                recipe = _literal_recipe(_flatten(_number(call.args[0]))[0], False)
        if recipe is None:
            raise ParseError(node, "a cotangent needs a recipe")
        found.append({"cotangent": recipe, "layout": layout})
    return found


def _head(items: list[ast.expr]) -> tuple[ast.expr | None, list[ast.expr]]:
    return (items[0], items[1:]) if items else (None, [])


def _same_text(body: list[ast.stmt], expected: str) -> bool:
    """Whether statements read as the text does; a tuple of one is the same with and without
    parentheses."""
    return [ast.unparse(n) for n in body] == [ast.unparse(n) for n in ast.parse(expected).body]


def _tuple_text(items: Iterable[str]) -> str:
    return "(" + ", ".join(items) + ",)"


def _saves(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and _dotted(node.value.func) == "ctx.save_for_backward"
    )


class _Body:
    """Reads `def program(x0, x1): ...` into statements; nested calls become statements of their own."""

    def __init__(
        self,
        function: ast.FunctionDef,
        leaves: int,
        floats: list[tuple[float, float]],
        classes: dict[str, ast.ClassDef],
    ) -> None:
        self._function = function
        names = [a.arg for a in function.args.args]
        if len(names) != leaves + len(floats):
            made = f"inputs makes {leaves}" + (f", CALL has {len(floats)} floats" if floats else "")
            raise ParseError(function, f"program takes {len(names)} arguments, {made}")
        self._values: dict[str, Any] = {name: {"v": i} for i, name in enumerate(names[:leaves])}
        for name, pair in zip(names[leaves:], floats):
            self._values[name] = {"p": [float(value) for value in pair]}
        self._classes = classes
        self._next = leaves
        self._statements: list[dict] = []
        self._regions: list[dict] = []
        self._blocks: dict[str, ast.FunctionDef] = {}  # called as a whole

    def read(self) -> tuple[list[dict], list[dict], list[int]]:
        outputs = self._block(self._function.body)
        if outputs is None:
            raise ParseError(self._function, "program returns nothing")
        self._regions.sort(key=lambda r: (r["first"], -r["last"]))
        return self._statements, self._regions, outputs

    def _block(self, body: list[ast.stmt]) -> list[int] | None:
        skip = 0  # statements read already
        for number, node in enumerate(body):
            if number < skip:
                continue
            if isinstance(node, ast.Return):
                if isinstance(node.value, (ast.Tuple, ast.List)):
                    return [self._id(item) for item in node.value.elts]
                return [self._id(node.value)]
            if isinstance(node, ast.With):
                outputs = self._with(node)
                if outputs is not None:
                    return outputs
            elif isinstance(node, ast.FunctionDef):
                self._blocks[node.name] = node
            elif isinstance(node, ast.Assign) and self._is_vjp(node):
                skip = number + self._vjp(node, body[number + 1 :])
            elif isinstance(node, ast.Assign):
                self._assign(node)
            elif isinstance(node, ast.AugAssign):
                self._augmented(node)
            elif isinstance(node, ast.Expr):
                if not isinstance(node.value, ast.Constant) and self._part(node.value) is None:
                    self._call(node.value, 0)  # for its effect; the result has no name
            else:
                raise ParseError(
                    node, f"a program is straight-line code, not '{type(node).__name__}'"
                )
        return None

    def _with(self, node: ast.With) -> list[int] | None:
        call = node.items[0].context_expr
        path = _torch_path(call.func) if isinstance(call, ast.Call) else None
        keywords = {k.arg: k.value for k in call.keywords} if isinstance(call, ast.Call) else {}
        if path == "no_grad":
            kind = "no_grad"
        elif path in ("autocast", "amp.autocast"):
            off = "enabled" in keywords and _number(keywords["enabled"]) is False
            kind = "autocast_off" if off else "autocast"
        else:
            raise ParseError(node, f"a program cannot hold 'with {ast.unparse(call)}'")
        return self._region(kind, node.body)

    def _region(self, kind: str, body: list[ast.stmt]) -> list[int] | None:
        first = len(self._statements)
        outputs = self._block(body)
        if len(self._statements) > first:
            self._regions.append({"kind": kind, "first": first, "last": len(self._statements) - 1})
        return outputs

    def _part(self, node: ast.expr) -> list[int] | None:
        """What a part of the program gives that is called as a whole; None for other calls."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
            call, path = node.value, _torch_path(node.value.func)
            if path != "func.jvp":
                return None
            same = len(call.args) == 3 and ast.dump(call.args[1]) == ast.dump(call.args[2])
            if not same or ast.unparse(node.slice) != "1":
                raise ParseError(node, "jvp is along the values themselves: jvp(f, xs, xs)[1]")
            return self._block_call("jvp", node, call.args[0], call.args[1].elts)
        if not isinstance(node, ast.Call):
            return None
        if _torch_path(node.func) == "utils.checkpoint.checkpoint":
            if [k.arg for k in node.keywords] != ["use_reentrant"] or _number(
                node.keywords[0].value
            ):
                raise ParseError(node, "checkpoint is called with use_reentrant=False alone")
            return self._block_call("checkpoint", node, *_head(node.args))
        name, _, method = (_dotted(node.func) or "").partition(".")
        if method == "apply" and name in self._classes:
            return self._apply(node, self._classes[name])
        return None

    def _block_call(
        self, kind: str, node: ast.AST, function: ast.expr | None, arguments: list[ast.expr]
    ) -> list[int]:
        """The statements of a function defined above, as a region; what it returns."""
        name = function.id if isinstance(function, ast.Name) else ""
        block = self._blocks.get(name)
        if block is None:
            raise ParseError(node, f"{kind} takes a function defined within program")
        names = [a.arg for a in block.args.args]
        return self._enter(kind, node, name, names, block.body, arguments)

    def _enter(
        self,
        kind: str,
        node: ast.AST,
        name: str,
        names: list[str],
        body: list[ast.stmt],
        arguments: list[ast.expr],
    ) -> list[int]:
        if len(names) != len(arguments):
            raise ParseError(node, f"{name} takes {len(names)} arguments")
        outside = dict(self._values)
        self._values.update(zip(names, [self._arg(a) for a in arguments]))
        outputs = self._region(kind, body)
        self._values = outside
        return outputs or []

    def _apply(self, node: ast.Call, cls: ast.ClassDef) -> list[int]:
        """A torch.autograd.Function with the one backward that programs can have."""
        methods = {n.name: n for n in cls.body if isinstance(n, ast.FunctionDef)}
        if set(methods) != {"forward", "backward"}:
            raise ParseError(cls, f"{cls.name} has a forward and a backward")
        forward = methods["forward"]
        names = [a.arg for a in forward.args.args][1:]
        saved = next(
            ([ast.unparse(a) for a in n.value.args] for n in forward.body if _saves(n)), []
        )
        count = len(methods["backward"].args.args) - 1
        sums = " + ".join(f"g{i}.sum()" for i in range(count))
        gradients = [f"{x} * g if {x}.is_floating_point() else None" for x in saved]
        gradients += ["None"] * (len(names) - len(saved))
        expected = (
            f"{_tuple_text(saved)} = ctx.saved_tensors\ng = {sums}\nreturn {', '.join(gradients)}"
        )
        if names[: len(saved)] != saved or not _same_text(methods["backward"].body, expected):
            raise ParseError(
                methods["backward"],
                "a backward gives x * g to each x that forward takes and saves, g the sum of all "
                "cotangents' elements",
            )
        body = [n for n in forward.body if not _saves(n)]
        return self._enter("function", node, cls.name, names, body, node.args)

    def _is_vjp(self, node: ast.Assign) -> bool:
        return isinstance(node.value, ast.Call) and _torch_path(node.value.func) == "func.vjp"

    def _vjp(self, node: ast.Assign, rest: list[ast.stmt]) -> int:
        """The four statements of a part with its gradient added. Returns their number."""
        function, arguments = _head(node.value.args)
        outputs = self._block_call("vjp", node, function, arguments)
        target = node.targets[0]
        names = [ast.unparse(item) for item in getattr(target.elts[0], "elts", [])]
        takes = [ast.unparse(a) for a in arguments]
        expected = "\n".join(
            [
                _tuple_text(f"g{i}" for i in range(len(takes)))
                + f" = pullback({_tuple_text(f'torch.ones_like({v})' for v in names)})",
                "g = " + " + ".join(f"({x} * g{i}).sum()" for i, x in enumerate(takes)),
                _tuple_text(names) + " = " + _tuple_text(f"{v} + g" for v in names),
            ]
        )
        if len(names) != len(outputs) or not _same_text(rest[:3], expected):
            raise ParseError(
                node,
                "behind vjp stand the pull-back of ones, the sum of all elements of x * gradient, "
                "and its addition to each value",
            )
        self._values.update((name, {"v": v}) for name, v in zip(names, outputs))
        return 4

    def _assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        outputs = self._part(node.value)
        if outputs is not None:
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            if len(targets) != len(outputs):
                raise ParseError(node, "as many names as results are needed")
            for item, value in zip(targets, outputs):
                self._values[item.id] = {"v": value}
            return
        if isinstance(target, ast.Name):
            self._values[target.id] = self._arg(node.value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(node.value, (ast.Tuple, ast.List)):
                values = [self._arg(item) for item in node.value.elts]
                if len(values) != len(target.elts):
                    raise ParseError(node, "as many names as values are needed")
            else:
                first = self._call(node.value, len(target.elts))["v"]
                values = [{"v": first + i} for i in range(len(target.elts))]
            for item, value in zip(target.elts, values):
                if not isinstance(item, ast.Name):
                    raise ParseError(item, "only names can be assigned to")
                self._values[item.id] = value
        elif isinstance(target, ast.Subscript):
            self._emit(
                "Tensor.__setitem__",
                [self._arg(target.value), self._index(target.slice), self._arg(node.value)],
                [],
                0,
            )
        else:
            raise ParseError(node, f"cannot assign to '{ast.unparse(target)}'")

    def _augmented(self, node: ast.AugAssign) -> None:
        name = _BINARY.get(type(node.op))
        if name is None:
            raise ParseError(node, f"operator in '{ast.unparse(node)}' is not known")
        if isinstance(node.target, ast.Subscript):
            base, index = self._arg(node.target.value), self._index(node.target.slice)
            old = self._emit("Tensor.__getitem__", [base, index], [], 1)
            new = self._emit(f"Tensor.{name}_", [old, self._arg(node.value)], [], 1)
            self._emit("Tensor.__setitem__", [base, index, new], [], 0)
            return
        target = self._arg(node.target)
        self._values[node.target.id] = self._emit(
            f"Tensor.{name}_", [target, self._arg(node.value)], [], 1
        )

    def _id(self, node: ast.AST) -> int:
        value = self._arg(node)
        if not (isinstance(value, dict) and "v" in value):
            raise ParseError(node, f"'{ast.unparse(node)}' is not a tensor of the program")
        return value["v"]

    def _emit(self, op: str, args: list, kwargs: list, results: int) -> dict:
        statement: dict[str, Any] = {"op": op, "args": args}
        if kwargs:
            statement["kwargs"] = kwargs
        if results != 1:
            statement["results"] = results
        self._statements.append(statement)
        first = self._next
        self._next += results
        return {"v": first}

    def _index(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Tuple):
            return {"u": [self._index(item) for item in node.elts]}
        if isinstance(node, ast.Slice):
            parts = [
                None if p is None else self._arg(p) for p in (node.lower, node.upper, node.step)
            ]
            return {"slice": parts}
        return self._arg(node)

    def _arg(self, node: ast.AST) -> Any:
        """An argument in JSON form; calls inside it become statements first."""
        if isinstance(node, ast.Name):
            if node.id in self._values:
                return self._values[node.id]
            raise ParseError(node, f"'{node.id}' is not defined")
        if isinstance(node, ast.Constant):
            if node.value is Ellipsis:
                return {"e": 0}
            if isinstance(node.value, complex):
                return {"c": [node.value.real, node.value.imag]}
            return _jsonable(node.value)
        if isinstance(node, ast.List):
            return [self._arg(item) for item in node.elts]
        if isinstance(node, ast.Tuple):
            return {"u": [self._arg(item) for item in node.elts]}
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            args = [self._arg(node.left), self._arg(node.comparators[0])]
            return self._emit(_COMPARE[type(node.ops[0])], args, [], 1)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call):
            if _dotted(node.func) == "float":
                return _jsonable(float(_number(node.args[0])))
            if _dotted(node.func) == "complex":
                parts = [float(_number(a)) for a in node.args]
                return {"c": [_jsonable(p) for p in parts]}
            if _dotted(node.func) == "slice":
                return {"slice": [self._arg(a) for a in node.args]}
            return self._call(node, 1)
        raise ParseError(node, f"'{ast.unparse(node)}' is not known")

    def _unary(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.operand, ast.Constant) and isinstance(node.op, ast.USub):
            return _jsonable(-node.operand.value)
        value = self._arg(node.operand)
        names = {ast.USub: "neg", ast.Invert: "logical_not"}
        if type(node.op) not in names:
            raise ParseError(node, f"operator in '{ast.unparse(node)}' is not known")
        if isinstance(value, dict) and "v" in value:
            return self._emit(names[type(node.op)], [value], [], 1)
        if isinstance(value, dict):
            raise ParseError(node, "a float that is a parameter is an argument as it is")
        return _jsonable(-value)

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self._arg(node.left), self._arg(node.right)
        is_tensor = [isinstance(v, dict) and "v" in v for v in (left, right)]
        if not any(is_tensor):
            return _jsonable(_number_of(node, left, right))
        name = _BINARY.get(type(node.op))
        if name is None:
            raise ParseError(node, f"operator in '{ast.unparse(node)}' is not known")
        if not is_tensor[0] and name in ("add", "mul"):
            left, right = right, left
        elif not is_tensor[0] and name == "sub":
            return self._emit("rsub", [right, left], [], 1)
        elif not is_tensor[0] and name == "div":
            inverse = self._emit("reciprocal", [right], [], 1)
            return inverse if left in (1, 1.0) else self._emit("mul", [inverse, left], [], 1)
        return self._emit(name, [left, right], [], 1)

    def _subscript(self, node: ast.Subscript) -> Any:
        value = self._arg(node.value)
        if isinstance(value, list):
            return value[int(_number(node.slice))]
        if self._is_multiple(node.value) and isinstance(node.slice, ast.Constant):
            return {"v": value["v"] + int(node.slice.value)}
        return self._emit("Tensor.__getitem__", [value, self._index(node.slice)], [], 1)

    # Functions whose result people index, as in `torch.max(x, dim=0)[0]`.
    _PAIRS = {
        "max",
        "min",
        "sort",
        "topk",
        "median",
        "mode",
        "kthvalue",
        "cummax",
        "cummin",
        "nanmedian",
    }

    def _is_multiple(self, node: ast.AST) -> bool:
        """Whether the call just emitted yields a pair: rewrites its number of results if so."""
        if not isinstance(node, ast.Call):
            return False
        last = self._statements[-1]
        name = last["op"].split(".")[-1]
        tensors = [a for a in last["args"] if isinstance(a, dict) and "v" in a]
        has_dim = len(last["args"]) > 1 or last.get("kwargs")
        if name not in self._PAIRS or len(tensors) > 1:
            return False
        if name in ("max", "min", "median", "nanmedian") and not has_dim:
            return False
        last["results"] = 2
        self._next += 1
        return True

    def _attribute(self, node: ast.Attribute) -> Any:
        path = _torch_path(node)
        if path in _DTYPES:
            return {"t": _DTYPES[path]}
        if path in _CONSTANTS:
            return {"k": path}
        if path in ("pi", "e", "inf", "nan"):
            import math

            return _jsonable(getattr(math, path))
        value = self._arg(node.value)
        if node.attr == "values":
            return value
        if node.attr in _PROPERTIES:
            return self._emit(_PROPERTIES[node.attr], [value], [], 1)
        raise ParseError(node, f"attribute '{node.attr}' is not known")

    def _call(self, node: ast.AST, results: int) -> dict:
        if not isinstance(node, ast.Call):
            raise ParseError(node, f"'{ast.unparse(node)}' is not a call")
        path = _torch_path(node.func)
        args: list[Any] = []
        if path is None:
            if not isinstance(node.func, ast.Attribute):
                raise ParseError(node, f"'{ast.unparse(node.func)}' is not a function of torch")
            args.append(self._arg(node.func.value))
            name = node.func.attr
            only_method = _METHODS_ONLY.match(name) or not callable(getattr(torch, name, None))
            path = f"Tensor.{name}" if only_method else name
            rest = [self._arg(a) for a in node.args]
            # x.permute(0, 2, 1) means x.permute((0, 2, 1)).
            variadic = {"permute", "view", "expand", "repeat", "reshape", "flip", "tile", "movedim"}
            if name in variadic - {"movedim"} and all(isinstance(a, int) for a in rest):
                rest = [rest]
            args += rest
        else:
            args = [self._arg(a) for a in node.args]
        kwargs = [[k.arg, self._arg(k.value)] for k in node.keywords if k.arg not in ("device",)]
        return self._emit(path, args, kwargs, results)


def _number_of(node: ast.BinOp, left: Any, right: Any) -> Any:
    if isinstance(left, dict) or isinstance(right, dict):
        raise ParseError(node, "a float that is a parameter is an argument as it is")
    operations = {
        ast.Add: lambda a, b: a + b,
        ast.Sub: lambda a, b: a - b,
        ast.Mult: lambda a, b: a * b,
        ast.Div: lambda a, b: a / b,
        ast.Pow: lambda a, b: a**b,
    }
    if type(node.op) not in operations:
        raise ParseError(node, f"operator in '{ast.unparse(node)}' is not known")
    return operations[type(node.op)](left, right)
