# SPDX-License-Identifier: BSD-3-Clause
"""Compiles all C++ kernels of one Inductor module together; for screening only.

Inductor gives the kernels between two external calls a file of their own: a packed module has about
seven. Of the 0.53 CPU seconds that such a file costs (g++ 12, AVX-512), 0.33 are g++ getting ready: the
precompiled header, and the templates that it leaves pending. Here they become one file: each kernel's
text in a namespace of its own, and one binding to Python for all (one a kernel: a fifth of the file's
time). What does not compile that way is compiled as Inductor does it.

Needs: compilation in this process (compile_threads = 1). Never changes what a kernel says.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from . import runtime

_PENDING = "_gradfuzz_pending_kernels"
_ENTRY = "gradfuzz_kernels"


class _Kernel:
    """A kernel that waits to be compiled, in the place of the function that it will be."""

    def __init__(self, argtypes: list[str], source: str) -> None:
        self.argtypes, self.source = argtypes, source
        self.function: Any = None


def install() -> bool:
    """Puts itself before Inductor's compilation; "runtime.merge_kernels" switches it on.

    Returns:
      False where this torch has other names for what it needs; then nothing is changed.
    """
    async_compile = importlib.import_module("torch._inductor.async_compile")
    compiler = getattr(async_compile, "AsyncCompile", None)
    one_by_one = getattr(async_compile, "CppPythonBindingsCodeCache", None)
    names = ("suffix_template", "call_entry_function", "extra_parse_arg", "load_async")
    if not (hasattr(compiler, "cpp_pybinding") and hasattr(compiler, "wait")) or not all(
        hasattr(one_by_one, name) for name in names
    ):
        return False
    own_binding, own_wait = compiler.cpp_pybinding, compiler.wait

    def cpp_pybinding(self: Any, argtypes: list[str], source_code: str) -> Any:
        if not runtime.merge_kernels or async_compile.get_compile_threads() > 1:
            return own_binding(self, argtypes, source_code)
        kernel = _Kernel(argtypes, source_code)
        self.__dict__.setdefault(_PENDING, []).append(kernel)
        return kernel

    def wait(self: Any, scope: dict[str, Any]) -> None:
        kernels = self.__dict__.pop(_PENDING, [])
        try:
            _compile_together(kernels, one_by_one)
        except Exception:  # one of them does not compile, or not in this company
            for kernel in kernels:
                kernel.function = own_binding(self, kernel.argtypes, kernel.source)
        for name, value in list(scope.items()):
            if isinstance(value, _Kernel):
                scope[name] = value.function
        own_wait(self, scope)

    compiler.cpp_pybinding, compiler.wait = cpp_pybinding, wait
    return True


def _compile_together(kernels: list[_Kernel], cache: Any) -> None:
    """Sets `function` of each kernel.

    Raises:
      Whatever the compiler does.
    """
    if not kernels:
        return

    class Together(cache):
        cache: dict[str, Any] = {}
        entry_function = _ENTRY

    library = Together.load_async(_one_source(kernels, cache))()
    for i, kernel in enumerate(kernels):
        kernel.function = functools.partial(getattr(library, _ENTRY), i)


def _one_source(kernels: list[_Kernel], cache: Any) -> str:
    """The kernels, and one function for Python: its first argument says which of them it calls."""
    includes, bodies, calls = ["#define PY_SSIZE_T_CLEAN"], [], []
    for i, kernel in enumerate(kernels):
        body = []
        for line in kernel.source.splitlines():
            (includes if line.lstrip().startswith("#include") else body).append(line)
        text = "\n".join(body)
        # Inductor calls every kernel "kernel", and "C" names know no namespace.
        bodies.append(
            f"namespace gradfuzz_{i} {{\n#define kernel kernel_{i}\n{text}\n#undef kernel\n}}\n"
        )
        arguments = ", ".join(
            f"parse_arg<{argtype.replace('const ', '')}>(args, {n})"
            for n, argtype in enumerate(kernel.argtypes, 1)
        )
        call = cache.call_entry_function.format(arguments)
        calls.append(f"case {i}:\n#define kernel gradfuzz_{i}::kernel_{i}\n{call}\n#undef kernel\n")
    binding = cache.suffix_template.format(
        arg_len="0 && false",  # how many there must be differs: "!= 0 && false" refuses none
        call_entry_func=f"switch (parse_arg<int64_t>(args, 0)) {{\n{''.join(calls)}}}\nPy_RETURN_NONE;",
        entry_func=_ENTRY,
        extra_parse_arg=cache.extra_parse_arg.format(array_len=-1),
    )
    return "\n".join([*dict.fromkeys(includes), *bodies, binding])
