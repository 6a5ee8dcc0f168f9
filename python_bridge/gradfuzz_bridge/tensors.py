# SPDX-License-Identifier: BSD-3-Clause
"""Copies of tensors that keep what a compiler can see: layout, aliasing, requires_grad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

_DTYPES = {
    getattr(torch, name): name
    for name in (
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "bool",
    )
}


class Inexpressible(ValueError):
    """Something that a gradfuzz program cannot say; the message says what."""


def dtype_name(dtype: torch.dtype) -> str:
    """ "float32"; Inexpressible for the types that programs do not have."""
    if dtype not in _DTYPES:
        raise Inexpressible(f"{dtype} is no element type of a gradfuzz program")
    return _DTYPES[dtype]


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether it is an ordinary strided tensor: no subclass, no transform of torch.func around it."""
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.layout == torch.strided
        and tensor.device.type in ("cpu", "cuda")
        and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
        and not tensor.is_quantized
    )


def extent(tensor: torch.Tensor) -> tuple[int, int]:
    """The half-open range of elements of its storage that a tensor reaches."""
    first = tensor.storage_offset()
    if tensor.numel() == 0:
        return first, first
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return first, first + reach + 1


class Group:
    """Tensors that share one storage: the range they span, and who they are."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.members: list[int] = []
        self.first = 0
        self.end = 0
        self.base: torch.Tensor | None = None  # one-dimensional, detached, over [first, end)


def group(tensors: Sequence[torch.Tensor]) -> list[Group]:
    """The storages behind `tensors`, in order of first use."""
    groups: dict[int, Group] = {}
    for i, tensor in enumerate(tensors):
        key = tensor.untyped_storage()._cdata
        first, end = extent(tensor)
        if key not in groups:
            groups[key] = Group(tensor.dtype)
            groups[key].first, groups[key].end = first, end
        found = groups[key]
        if found.dtype != tensor.dtype:
            raise Inexpressible("two arguments view one storage under different element types")
        found.members.append(i)
        found.first, found.end = min(found.first, first), max(found.end, end)
    for found in groups.values():
        member = tensors[found.members[0]].detach()
        if member.is_conj() or member.is_neg():
            raise Inexpressible("an argument is a lazy conjugate or negative")
        found.base = torch.as_strided(member, (found.end - found.first,), (1,), found.first)
    return list(groups.values())


def snapshot(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Copies with the same sizes, strides, aliasing among each other and requires_grad; all leaves."""
    with torch.no_grad():
        copies: list[torch.Tensor | None] = [None] * len(tensors)
        for found in group(tensors):
            base = found.base.clone()
            for i in found.members:
                t = tensors[i]
                view = base.as_strided(t.shape, t.stride(), t.storage_offset() - found.first)
                copies[i] = view.detach()
        for copy, tensor in zip(copies, tensors):
            if tensor.requires_grad:
                copy.requires_grad_()
    return copies


def owned(value: Any) -> Any:
    """A detached copy of one tensor that keeps its strides, overlapping ones too; else the value."""
    if not isinstance(value, torch.Tensor):
        return value
    if not is_plain(value) or value.is_conj() or value.is_neg():
        return value.detach().clone()
    try:
        return snapshot([value.detach()])[0]
    except RuntimeError:
        return value.detach().clone()  # a view beyond its storage, from a wrong kernel


def describe(tensor: torch.Tensor) -> str:
    """ "float32 (2, 3), requires grad", with strides where they are not the contiguous ones."""
    text = f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
    if tensor.layout == torch.strided and not tensor.is_contiguous():
        text += f", strides {tuple(tensor.stride())}"
    if tensor.requires_grad:
        text += ", requires grad"
    return text
