# SPDX-License-Identifier: BSD-3-Clause
"""What a worker does once, before its first program."""

from __future__ import annotations

import gc
import hashlib
import importlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import types
import warnings

import torch

from . import runtime


def prepare(machine_cache: str) -> None:
    """Makes torch.compile quiet, single-threaded and quick to start.

    Args:
      machine_cache: folder for facts about the machine (vector ISA probe, precompiled headers), kept
        between runs. What is about programs stays in TORCHINDUCTOR_CACHE_DIR, which is the run's own.
    """
    warnings.filterwarnings("ignore")
    _check_exceptions()
    torch.set_num_threads(1)
    codecache = importlib.import_module("torch._inductor.codecache")
    dynamo = importlib.import_module("torch._dynamo")
    headers = os.path.join(machine_cache, "precompiled_headers")
    for name, path in (("_HEADER_DIR", headers), ("_HEADER_LOCK_DIR", headers + "/locks")):
        if hasattr(codecache, name):
            setattr(codecache, name, path)
    _make_fast_compiler(pathlib.Path(machine_cache) / "fast")
    _remember_vector_isa(pathlib.Path(machine_cache) / "vector_isa.json")
    importlib.import_module(f"{__package__}.capture").install()
    global _screening_switches
    _screening_switches = [
        name
        for name in runtime.SWITCHES
        if importlib.import_module(f"{__package__}.{name}").install()
    ]
    # One process compiles many small programs under many settings: neither limit means anything here.
    for name in ("recompile_limit", "cache_size_limit", "accumulated_recompile_limit"):
        if hasattr(dynamo.config, name):
            setattr(dynamo.config, name, 1 << 20)
    _skip_source_hashes(codecache)
    # A tenth of a worker's start and of its first program is the collector, looking again and again at
    # the million objects that torch's modules are made of. Later it is 7 %: a pack makes half a million
    # short-lived objects, so the collector waits for more of them (Python's default: 700).
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


def _skip_source_hashes(codecache: types.ModuleType) -> None:
    """Tells Inductor's caches that the sources of torch and Triton are those of their versions.

    It hashes all of them, for caches that outlive an installation; ours live as long as a run.
    """
    key = hashlib.sha256(f"{torch.__version__} {torch.version.git_version}".encode())
    for name, value in (("torch_key", key.digest()), ("triton_key", key.hexdigest())):
        function = getattr(codecache, name, None)
        if hasattr(function, "set"):
            function.set(value)


def _check_exceptions() -> None:
    """Refuses a worker that was linked to another C++ runtime than torch's.

    There, torch cannot turn a C++ exception into a Python one, and everything seems not to compile.
    """
    try:
        _ = torch.ones(1) == object()  # raises inside torch, which turns it into NotImplemented
    except RuntimeError as e:
        raise RuntimeError(
            "exceptions do not pass between torch and this worker: it was built with a compiler whose "
            "C++ runtime is not the system's libstdc++; build it with another (CXX=g++-13, say)"
        ) from e


_fast_compiler = ""
_screening_switches: list[str] = []  # of runtime.SWITCHES, those that work here


def fast_knobs() -> list[tuple[str, object]]:
    """Knobs that make Inductor's kernels quick to compile; for screening only.

    The C++ kernels keep their vector code; what changes is the optimiser's level, debug information, the
    linker (where the machine's compiler is g++), and how many kernels there are to a file. A Triton
    kernel is compiled for one launch configuration instead of several.
    """
    knobs: list[tuple[str, object]] = []
    if _fast_compiler:
        knobs.append(("inductor.cpp.cxx", [None, _fast_compiler]))
    # No two packs have the same graph: what these would keep is never asked for again.
    knobs += [("inductor.fx_graph_cache", False), ("functorch.enable_autograd_cache", False)]
    knobs += [(f"runtime.{name}", True) for name in _screening_switches]
    return knobs


def _make_fast_compiler(folder: pathlib.Path) -> None:
    """A g++ that ends every command line with quicker options (the last -O counts)."""
    global _fast_compiler
    real = shutil.which("g++")
    if real is None or os.environ.get("CXX", "g++") != "g++":
        return
    options = "-O1 -g0" + (" -fuse-ld=mold" if shutil.which("mold") else "")
    text = f'#!/bin/sh\nexec {real} "$@" {options}\n'
    path = folder / "g++"
    if not path.is_file() or path.read_text() != text:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
            file.write(text)
        os.chmod(file.name, 0o755)
        os.replace(file.name, path)
    _fast_compiler = str(path)


def _remember_vector_isa(path: pathlib.Path) -> None:
    """Keeps the answers of Inductor's vector ISA probe: it starts several Python processes."""
    from torch._inductor import cpu_vec_isa

    probe = getattr(cpu_vec_isa.VecISA, "check_build", None)
    if probe is None:
        return
    key = f"{torch.__version__} {platform.processor()} {_cpu_flags()} {compiler()}"

    def remembered(self: object, code: str) -> bool:
        try:
            known = json.loads(path.read_text())
        except (OSError, ValueError):
            known = {}
        name = f"{key} {self}"
        if name not in known:
            known[name] = bool(probe(self, code))
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
                json.dump(known, file)
            os.replace(file.name, path)  # two workers may write: either is whole
        return known[name]

    cpu_vec_isa.VecISA.check_build = remembered


def _cpu_flags() -> str:
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return str(sum(hash_of(word) for word in line.split()) & (2**64 - 1))
    except OSError:
        pass
    return ""


def hash_of(text: str) -> int:
    """A hash that is the same in every process (hash() is not)."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & (2**64 - 1)
    return value


def compiler() -> str:
    """The C++ compiler that Inductor uses, with its version; empty when there is none."""
    for name in (os.environ.get("CXX"), "g++", "clang++"):
        if name and shutil.which(name):
            try:
                out = subprocess.run(
                    [name, "--version"], capture_output=True, text=True, timeout=20
                )
            except (OSError, subprocess.TimeoutExpired):
                continue
            return out.stdout.splitlines()[0] if out.stdout else name
    return ""


def describe(knobs: list[str]) -> dict:
    """The environment, for reports and for choosing rungs.

    Args:
      knobs: names such as "inductor.cpp.simdlen"; the answer says which exist here.
    """
    from . import rungs

    devices = ["cpu"]
    cuda = {}
    if torch.cuda.is_available():
        devices.append("cuda")
        cuda = {
            "cuda": torch.version.cuda,
            "gpu": torch.cuda.get_device_name(0),
            "gpu_count": torch.cuda.device_count(),
            "compute_capability": ".".join(map(str, torch.cuda.get_device_capability(0))),
        }
    try:
        import triton

        triton_version = triton.__version__
    except ImportError:
        triton_version = None
    return {
        "torch": torch.__version__,
        "git": torch.version.git_version,
        "python": platform.python_version(),
        "executable": sys.executable,
        "triton": triton_version,
        "devices": devices,
        "cpu": _cpu_name(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "cxx": compiler(),
        "os": platform.platform(),
        "rungs": rungs.available(),
        "knobs": {name: rungs.knob_exists(name) for name in knobs},
        **cuda,
    }


def _cpu_name() -> str:
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()
