# SPDX-License-Identifier: BSD-3-Clause
"""Runs a person's script with torch.compile replaced, in a folder of its own, and keeps what it prints.

A script is foreign code. It runs in a worker, which the parent gives a deadline and may kill; it has no
standard input. None of this is a sandbox: the script can do whatever the user can.

Two forms are taken: any script that calls torch.compile, and the case form: `make(device)` and
`fn(*arguments)`, perhaps `loss(outputs)` and `COMPILE`, or `check(device, backend)`.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import linecache
import os
import random
import re
import sys
import tempfile
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch

# torch.compile itself; the attribute is replaced while a script runs.
REAL_COMPILE = torch.compile

_LOG_LIMIT = 64 * 1024

# Modules that raise what a script's own checks find.
_CHECKERS = ("/torch/testing/", "/numpy/testing/", "/unittest/", "/contextlib.py")

# What a compiled callable does instead: (callable, options of torch.compile) -> replacement.
CompileHook = Callable[[Callable, dict[str, Any]], Callable]


class ScriptError(Exception):
    """The script itself failed: the exception, and where in the script."""

    def __init__(self, error: BaseException, path: str) -> None:
        self.type = type(error).__name__
        text = str(error).strip()
        self.message = text[:4000]
        self.line = 0
        self.source = ""
        # Raised by the script, or by what it asks to compare: not an assertion inside torch.
        self.own = False
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename == path:
                self.line, self.source = frame.lineno or 0, frame.line or ""
                self.own = True
            elif not any(part in frame.filename for part in _CHECKERS):
                self.own = False
        if isinstance(error, SystemExit):
            self.own = True
            if isinstance(error.code, int):
                self.message = f"exit code {error.code}"
        # Not one that the script meets later, in what it compiles or imports.
        self.syntax = isinstance(error, SyntaxError) and error.filename == path
        if isinstance(error, SyntaxError) and self.syntax:
            self.line, self.source = error.lineno or 0, (error.text or "").strip()
            self.message = error.msg
        self.error = error
        super().__init__(f"{self.type}: {text}")

    def facts(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "message": self.message,
            "line": self.line,
            "source": self.source,
            "own": self.own,
            "syntax": self.syntax,
        }


class _CudaToCpu(ast.NodeTransformer):
    """Makes a script for CUDA run on the CPU: device strings, .cuda(), and calls into torch.cuda."""

    # What such a call becomes when the answer matters to a script.
    _ANSWERS = {
        "is_available": True,
        "device_count": 1,
        "current_device": 0,
        "get_device_name": "cpu",
        "get_device_capability": (9, 0),
        "is_bf16_supported": True,
        "memory_allocated": 0,
        "max_memory_allocated": 0,
        "memory_reserved": 0,
        "manual_seed": None,
        "manual_seed_all": None,
        "synchronize": None,
        "empty_cache": None,
        "reset_peak_memory_stats": None,
        "set_device": None,
    }
    _DEVICE = re.compile(r"cuda(:\d+)?$")

    def __init__(self) -> None:
        self.changed = False

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and self._DEVICE.match(node.value):
            self.changed = True
            return ast.copy_location(ast.Constant("cpu"), node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return node  # `n if device == "cuda" else m`: which of the two is up to the device in use

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        first = node.values[0] if node.values else None
        if isinstance(first, ast.Constant) and first.value == "cuda:":
            self.changed = True
            return ast.copy_location(ast.Constant("cpu"), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if not isinstance(function, ast.Attribute):
            return node
        owner = ast.unparse(function.value)
        if owner == "torch.cuda" and function.attr in self._ANSWERS:
            self.changed = True
            answer = ast.parse(repr(self._ANSWERS[function.attr]), mode="eval").body
            return ast.copy_location(answer, node)
        if owner == "torch.cuda.amp" and function.attr == "autocast":
            self.changed = True
            new = ast.parse("torch.autocast('cpu')", mode="eval").body
            new.keywords = node.keywords
            return ast.copy_location(new, node)
        if function.attr == "cuda" and owner != "torch":
            self.changed = True
            new = ast.Call(ast.Attribute(function.value, "cpu", ast.Load()), [], [])
            return ast.copy_location(new, node)
        return node


class Script:
    """The text of a script, ready to run any number of times."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.log = ""
        self.mapped_to_cpu = False
        self.form = "script"

    def _code(self) -> types.CodeType:
        tree = ast.parse(self.text, self.path)
        if not torch.cuda.is_available():
            mapper = _CudaToCpu()
            tree = ast.fix_missing_locations(mapper.visit(tree))
            self.mapped_to_cpu = mapper.changed
        return compile(tree, self.path, "exec")

    def run(self, hook: CompileHook, device: str, backend: str | None) -> Any:
        """Runs the script once; its own torch.compile calls go through `hook`.

        Args:
          device: for the case form.
          backend: for a `check(device, backend)`; None = eager, where hook must compile nothing.

        Returns:
          What check() returned, else None.
        """
        linecache.cache[self.path] = (len(self.text), None, self.text.splitlines(True), self.path)
        module = types.ModuleType("__main__")
        module.__file__ = self.path
        # Functions of the script stay in use after the run: torch looks their module up by name.
        sys.modules["__main__"] = module
        log = _Log()
        result = None
        with _surroundings(self.path, log), replaced_compile(hook) as counter:
            try:
                exec(self._code(), module.__dict__)
                result = self._drive(module.__dict__, counter, device, backend)
            except SystemExit as leave:
                if leave.code not in (None, 0):
                    raise ScriptError(leave, self.path) from leave
            except BaseException as error:
                raise ScriptError(error, self.path) from error
            finally:
                self.log = log.text()
        return result

    def _drive(
        self, scope: dict[str, Any], counter: list[int], device: str, backend: str | None
    ) -> Any:
        if counter[0]:
            return None
        if callable(scope.get("check")):
            self.form = "check"
            return scope["check"](device, backend or "eager")
        if callable(scope.get("make")) and callable(scope.get("fn")):
            self.form = "case"
            arguments = scope["make"](device)
            outputs = torch.compile(scope["fn"], **scope.get("COMPILE", {}))(*arguments)
            if callable(scope.get("loss")):
                loss = scope["loss"](outputs if isinstance(outputs, (tuple, list)) else (outputs,))
                loss.backward()
        return None


class _Log(io.TextIOBase):
    """Keeps the first part of what is written."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self._size < _LOG_LIMIT:
            self._parts.append(text[: _LOG_LIMIT - self._size])
        self._size += len(text)
        return len(text)

    def text(self) -> str:
        return "".join(self._parts) + ("\n[cut]\n" if self._size > _LOG_LIMIT else "")


@contextlib.contextmanager
def _no_way_out() -> Iterator[None]:
    """os._exit() raises instead: what the script did before is still to be judged."""
    leave_for_good, here = os._exit, os.getpid()

    def leave(code: int) -> None:
        if os.getpid() != here:  # a child that the script forked
            leave_for_good(code)
        raise SystemExit(code)

    os._exit = leave
    try:
        yield
    finally:
        os._exit = leave_for_good


@contextlib.contextmanager
def _surroundings(path: str, log: _Log) -> Iterator[None]:
    """What a script finds: an empty folder, no arguments, fixed seeds; and what it must not leave behind."""
    before = os.getcwd()
    argv, sys.argv = sys.argv, [path]
    threads = torch.get_num_threads()
    default_dtype, deterministic = (
        torch.get_default_dtype(),
        torch.are_deterministic_algorithms_enabled(),
    )
    with tempfile.TemporaryDirectory(prefix="script-", ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        random.seed(0)
        torch.manual_seed(0)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(0)
        try:
            with (
                contextlib.redirect_stdout(log),
                contextlib.redirect_stderr(log),
                _no_way_out(),
                torch.enable_grad(),
            ):
                yield
        finally:
            os.chdir(before)
            sys.argv = argv
            torch.set_num_threads(threads)
            torch.set_default_dtype(default_dtype)
            torch.use_deterministic_algorithms(deterministic)


@contextlib.contextmanager
def replaced_compile(hook: CompileHook) -> Iterator[list[int]]:
    """torch.compile calls `hook` for the length of the block; yields [number of compilations]."""
    counter = [0]

    @functools.wraps(REAL_COMPILE)
    def compile_(model: Any = None, **options: Any) -> Any:
        if model is None:
            return lambda function: compile_(function, **options)
        counter[0] += 1
        if options.get("disable"):
            return model
        if not isinstance(model, torch.nn.Module):
            return hook(model, options)
        # The wrapper that people see around a module stays the real one: attributes, state_dict keys.
        wrapper = REAL_COMPILE(model, backend="eager")
        wrapper.forward = hook(model, options)
        return wrapper

    torch.compile = compile_
    try:
        yield counter
    finally:
        torch.compile = REAL_COMPILE
