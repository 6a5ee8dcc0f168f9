# SPDX-License-Identifier: BSD-3-Clause
"""What makes a program's result undefined, so that a difference is no bug: seen while it runs in eager."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

UNINITIALISED = "uninitialised memory"
DUPLICATES = "duplicate indices"

_EMPTY = {
    "empty",
    "empty_like",
    "empty_strided",
    "Tensor.new_empty",
    "new_empty",
    "Tensor.new_empty_strided",
}


def of_call(op: str, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """The hazard of one call with these arguments, before it runs; empty when there is none."""
    if op in _EMPTY:
        return UNINITIALISED
    name = (
        op.removeprefix("Tensor.").removesuffix("_")
        if not op.endswith("__")
        else op.removeprefix("Tensor.")
    )
    try:
        if _repeats(name, list(args), kwargs):
            return DUPLICATES
    except (IndexError, KeyError, RuntimeError, TypeError):
        pass  # not the form that is looked for: the call itself will say what is wrong
    return ""


def _repeats(name: str, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether two different values are written to one place."""

    def argument(position: int, key: str) -> Any:
        return args[position] if position < len(args) else kwargs.get(key)

    if name == "index_copy":
        index, source = argument(2, "index"), argument(3, "source")
        return _differing(
            index.reshape(-1),
            source.movedim(int(argument(1, "dim")), 0) if source.dim() else source.reshape(1),
        )
    if name == "put":
        if argument(3, "accumulate"):
            return False
        index, source = argument(1, "index"), argument(2, "source")
        return _differing(index.reshape(-1) % args[0].numel(), source.reshape(-1))
    if name.startswith("nn.functional.max_unpool"):
        index = argument(1, "indices")
        plane = torch.arange(index.numel()) // index[(0,) * (index.dim() - int(name[-2]))].numel()
        places = torch.stack([plane, index.cpu().reshape(-1)], dim=1)
        return _differing_rows(places, args[0].reshape(-1, 1))
    if name == "index_put":
        if argument(3, "accumulate"):
            return False
        return _indexed(args[0], list(argument(1, "indices")), argument(2, "values"))
    if name == "__setitem__":
        index = args[1] if isinstance(args[1], tuple) else (args[1],)
        tensors = [i for i in index if isinstance(i, torch.Tensor)]
        if len(tensors) != len(index):
            return False  # mixed with slices: left to the reader
        return _indexed(args[0], tensors, args[2])
    if name == "scatter":
        if argument(4, "reduce") or kwargs.get("reduce"):
            return False
        dim, index, source = int(argument(1, "dim")), argument(2, "index"), argument(3, "src")
        if not isinstance(source, torch.Tensor):
            return False
        grid = list(torch.meshgrid(*[torch.arange(n) for n in index.shape], indexing="ij"))
        grid[dim] = index.cpu()
        places = torch.stack([g.reshape(-1) for g in grid], dim=1)
        taken = source[tuple(slice(0, n) for n in index.shape)]
        return _differing_rows(places, taken.reshape(-1, 1))
    return False


def _indexed(target: torch.Tensor, indices: list, values: Any) -> bool:
    indices = [i for i in indices if i is not None]
    if any(i.dtype in (torch.bool, torch.uint8) for i in indices):
        return False
    if not isinstance(values, torch.Tensor) or values.numel() == 1:
        return False
    together = torch.broadcast_tensors(*[i.cpu() for i in indices])
    places = torch.stack([i.reshape(-1) for i in together], dim=1)
    places = torch.stack([p % target.shape[d] for d, p in enumerate(places.unbind(1))], dim=1)
    shape = (*together[0].shape, *target.shape[len(indices) :])
    rows = values.expand(shape).reshape(places.shape[0], -1)
    return _differing_rows(places, rows)


def _differing(index: torch.Tensor, rows: torch.Tensor) -> bool:
    return _differing_rows(index.cpu().reshape(-1, 1), rows.reshape(index.numel(), -1))


def _differing_rows(places: torch.Tensor, rows: torch.Tensor) -> bool:
    """Whether two rows with one place differ."""
    rows = rows.detach().cpu()
    first: dict[tuple, int] = {}
    for i, place in enumerate(map(tuple, places.tolist())):
        if place not in first:
            first[place] = i
        elif not torch.equal(rows[first[place]], rows[i]):
            return True
    return False
