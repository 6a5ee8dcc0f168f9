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


@contextlib.contextmanager
def patch(values: dict[str, Any]) -> Iterator[None]:
    """Sets what `values` names, and puts it back."""
    global merge_kernels, first_config
    before = torch.get_num_threads(), merge_kernels, first_config
    torch.set_num_threads(int(values.get("num_threads", before[0])))
    merge_kernels = bool(values.get("merge_kernels", before[1]))
    first_config = bool(values.get("first_config", before[2]))
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        merge_kernels, first_config = before[1:]
