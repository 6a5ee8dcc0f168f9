# SPDX-License-Identifier: BSD-3-Clause
"""Backends of torch.compile with one planted fault each; they stand in for Inductor in tests.

Each function of this file is a backend: it compiles through AOTAutograd and runs the graphs as they
are, but for the fault that its name says. faults_test.py states what gradfuzz must say of each.
"""

import itertools
import os
import sys
import time

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd


def _keep(values):
    return values


def _backend(forward=_keep, backward=_keep):
    """A backend whose graphs' results pass through `forward` and `backward` (lists of tensors)."""

    def compiler(change):
        def compile_graph(graph, example_inputs):
            def run(*args):
                with torch.no_grad():
                    return tuple(change(list(graph(*args))))

            return make_boxed_func(run)

        return compile_graph

    return aot_autograd(fw_compiler=compiler(forward), bw_compiler=compiler(backward))


def _each(change):
    """Applies `change` to every floating-point tensor of a list."""
    return lambda values: [
        change(v) if isinstance(v, torch.Tensor) and v.is_floating_point() else v for v in values
    ]


def _first(change):
    """Applies `change` to the first floating-point tensor of a list only."""

    def apply(values):
        for i, v in enumerate(values):
            if isinstance(v, torch.Tensor) and v.is_floating_point():
                return [*values[:i], change(v), *values[i + 1 :]]
        return values

    return apply


def _edit(change):
    """A copy of a tensor, changed in place."""

    def apply(value):
        copy = value.clone(memory_format=torch.contiguous_format)
        change(copy)
        return copy

    return apply


def _at_last(value):
    """Writes `value` to the last element."""

    def change(t):
        if t.numel():
            t.view(-1)[-1] = value

    return _edit(change)


def _zero_row(t):
    if t.dim() and t.size(0):
        t[t.size(0) // 2] = 0


def _lose_largest(t):
    if t.numel():
        flat = t.view(-1)
        flat[flat.abs().argmax()] = 0


def _shift(t):
    """Every gradient one place off: a mask that is off by one."""
    flat = t.view(-1)
    flat.copy_(torch.roll(flat.clone(), 1))


def _zero_tail(t):
    flat = t.view(-1)
    flat[flat.numel() - flat.numel() % 16 :] = 0


def _halve_where_positive(t):
    t.mul_(torch.where(t > 0, 0.5, 1.0))


def _low_precision(t):
    t.copy_(t.to(torch.bfloat16).to(t.dtype))


def _ulps(n):
    def change(t):
        sign = torch.ones_like(t)
        sign.view(-1)[::2] = -1
        t.mul_(1 + sign * (n * torch.finfo(t.dtype).eps / 2))

    return _edit(change)


_calls = itertools.count()
_stale = {}


def _every_fourth(values):
    return _each(lambda v: v * 2)(values) if next(_calls) % 4 == 3 else values


def _random_noise(values):
    return _each(lambda v: v * (1 + 0.1 * next(_calls)))(values)


def _stale_values(values):
    key = tuple(v.shape if isinstance(v, torch.Tensor) else None for v in values)
    return _stale.setdefault(key, [v.clone() if isinstance(v, torch.Tensor) else v for v in values])


def _none_gradient(values):
    return [None for _ in values]


def _transposed_strides(t):
    return t.mT.contiguous().mT if t.dim() >= 2 else t


def _wrong_axis(t):
    if t.dim() == 2 and t.size(0) == t.size(1):
        return t.mT.contiguous()
    return t


def _negative_zero(t):
    return torch.where(t == 0, -torch.zeros_like(t), t)


def _raise_at_run(values):
    raise RuntimeError("planted: raised when run")


def _hang(values):
    time.sleep(3600)
    return values


def _lose_device(values):
    """As after a device-side assert: what runs raises, and so would all that comes after it."""
    sys.modules["gradfuzz_bridge.rungs"].device_is_lost = lambda device: True
    raise RuntimeError("planted: device-side assert triggered")


def _abort(values):
    os.abort()


# --- What must be found ---------------------------------------------------------------------------
flip_sign = _backend(backward=_first(lambda v: -v))
lose_one_element = _backend(backward=_first(_edit(_lose_largest)))
zero_one_row = _backend(backward=_first(_edit(_zero_row)))
shift_by_one = _backend(backward=_first(_edit(_shift)))
all_zero = _backend(backward=_first(torch.zeros_like))
all_ones = _backend(backward=_first(torch.ones_like))
wrong_axis = _backend(backward=_first(_wrong_axis))
scale_1_001 = _backend(backward=_first(lambda v: v * 1.001))
scale_2 = _backend(backward=_first(lambda v: v * 2))
nan_at_one_place = _backend(backward=_first(_at_last(float("nan"))))
inf_at_one_place = _backend(backward=_first(_at_last(float("inf"))))
half_where_positive = _backend(backward=_first(_edit(_halve_where_positive)))
zero_vector_tail = _backend(backward=_first(_edit(_zero_tail)))
low_precision_gradient = _backend(backward=_first(_edit(_low_precision)))
none_gradient = _backend(backward=_none_gradient)
stale_gradient = _backend(backward=_stale_values)
one_draw_in_four = _backend(backward=_every_fourth)
noise_gradient = _backend(backward=_random_noise)
uninitialised_tail = _backend(backward=_first(_at_last(3.4e38)))
forward_wrong = _backend(forward=_first(lambda v: v + 0.5))
forward_nan = _backend(forward=_first(_at_last(float("nan"))))
forward_scale_1_001 = _backend(forward=_first(lambda v: v * 1.001))
forward_dtype = _backend(forward=_first(lambda v: v.double()))
forward_negative_zero = _backend(forward=_first(_negative_zero))
forward_low_precision = _backend(forward=_first(_edit(_low_precision)))
raise_when_run = _backend(forward=_raise_at_run)
raise_in_backward = _backend(backward=_raise_at_run)
hang = _backend(forward=_hang)
abort = _backend(forward=_abort)
lose_device = _backend(forward=_lose_device)


def raise_when_compiled(graph, example_inputs):
    raise RuntimeError("planted: raised when compiled")


def refuse(graph, example_inputs):
    raise NotImplementedError("planted: not supported by design")


def drop_mutation(graph, example_inputs):
    """Runs on copies of the inputs: what the program writes into them is lost."""

    def run(*args):
        return graph(
            *(a.clone() if isinstance(a, torch.Tensor) and not a.requires_grad else a for a in args)
        )

    return run


def no_grad_output(graph, example_inputs):
    """The outputs do not require a gradient."""

    def run(*args):
        with torch.no_grad():
            return graph(*args)

    return run


def forward_stride(graph, example_inputs):
    """The outputs are column-major where eager's are row-major."""

    def run(*args):
        return tuple(_transposed_strides(t) for t in graph(*args))

    return run


def alias_lost(graph, example_inputs):
    """Outputs that are views of inputs come back as copies."""

    def run(*args):
        return tuple(t.clone() for t in graph(*args))

    return run


def drop_fan_out(graph, example_inputs):
    """A value used twice passes on only half of its gradient: every `a + a` becomes `a + a.detach()`."""
    for node in list(graph.graph.nodes):
        tensors = [a for a in node.args if isinstance(a, torch.fx.Node)]
        if node.op == "call_function" and len(tensors) == 2 and tensors[0] is tensors[1]:
            with graph.graph.inserting_before(node):
                detached = graph.graph.call_method("detach", (tensors[1],))
            node.args = (tensors[0], detached, *node.args[2:])
    graph.recompile()
    return graph


def negative_zero_inside(graph, example_inputs):
    """relu yields -0 where eager yields 0: 1 / x then has the other infinity."""
    for node in graph.graph.nodes:
        if node.op == "call_function" and node.target is torch.relu:
            node.target = lambda x: -torch.clamp(-x, max=0.0)
    graph.recompile()
    return graph


def shared_gradient_buffer(graph, example_inputs):
    """The gradient of a write comes back as one expanded cell: the last written value everywhere."""
    return _backend(backward=_first(lambda v: v.reshape(-1)[-1].expand(v.shape)))(
        graph, example_inputs
    )


def tie_broken_twice(graph, example_inputs):
    """amax gives the whole gradient to every element of a tie, not a share of it."""

    class Amax(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, dim):
            y = torch.amax(x, dim)
            ctx.save_for_backward(x, y)
            ctx.dim = dim
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return (x == y.unsqueeze(ctx.dim)) * g.unsqueeze(ctx.dim), None

    def run(x, *rest):
        return (Amax.apply(x, -1),)

    return run


# --- What must stay silent ------------------------------------------------------------------------
two_ulps = _backend(forward=_each(_ulps(2)), backward=_each(_ulps(2)))
identity = _backend()


def other_summation_order(graph, example_inputs):
    """Sums run from the end."""
    for node in graph.graph.nodes:
        if (
            node.op == "call_function"
            and node.target is torch.sum
            and len(node.args) == 1
            and not node.kwargs
        ):
            node.target = lambda x: x.flatten().flip(0).cumsum(0)[-1]
    graph.recompile()
    return graph


def tie_first_only(graph, example_inputs):
    """amax gives the gradient of a tie to its first element: legal."""

    def run(x, *rest):
        return (torch.max(x, -1)[0],)

    return run
