# SPDX-License-Identifier: BSD-3-Clause
"""Gives each Triton kernel the first of its launch configurations; for screening only.

Inductor compiles a kernel for several block sizes and times each on the GPU, to run the fastest. All
of them compute the same; which wins depends on the machine's load. Here the first one is taken as it is.

Never changes what a kernel says, only how many of its compilations there are.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch

from . import runtime


def install() -> bool:
    """Puts itself before Inductor's autotuner; "runtime.first_config" switches it on.

    Returns:
      False where there is no GPU or no Triton, or where this torch has another name for the autotuner;
      then nothing is changed.
    """
    if not torch.cuda.is_available():
        return False
    try:
        heuristics = importlib.import_module("torch._inductor.runtime.triton_heuristics")
    except ImportError:
        return False
    own = getattr(heuristics, "cached_autotune", None)
    if own is None:
        return False

    def cached_autotune(size_hints: Any, configs: list[Any], *args: Any, **kwargs: Any) -> Any:
        return own(size_hints, configs[:1] if runtime.first_config else configs, *args, **kwargs)

    heuristics.cached_autotune = cached_autotune
    return True
