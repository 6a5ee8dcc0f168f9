# SPDX-License-Identifier: BSD-3-Clause
"""Settings of torch that belong to no config module, in the form of one.

A knob "runtime.NAME" is an attribute here; `patch` sets it for the time of a call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

# Compile the C++ kernels of a module together; see merge_kernels.
merge_kernels = False
# Compile a Triton kernel for the first of its launch configurations alone; see first_config.
first_config = False
# Threads within one operator; a worker has one, so that programs do not disturb each other.
num_threads = 1

# Each is served by the module of ours that has its name.
SWITCHES = ("merge_kernels", "first_config")


@contextlib.contextmanager
def patch(values: dict[str, Any]) -> Iterator[None]:
    """Sets what `values` names, and puts it back."""
    own = globals()
    threads = torch.get_num_threads()
    switches = {name: own[name] for name in SWITCHES}
    torch.set_num_threads(int(values.get("num_threads", threads)))
    own.update({name: bool(values.get(name, own[name])) for name in SWITCHES})
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        own.update(switches)
