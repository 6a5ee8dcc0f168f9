# title: Inductor returns an all-zero gradient for diagonal_scatter followed by sum
# id: 3f1c9a5d2b7e8041
# expect: 2.11.* cpu inductor gradient_mismatch
# workaround: torch._inductor.config.fallback_by_default = True
#
# Exits 1 while torch.compile is wrong, 0 when it is right. Needs only torch.
import sys

import torch


def inputs(device="cpu", draw=0):
    x0 = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]], dtype=torch.float32, device=device).requires_grad_()
    x1 = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float32, device=device).requires_grad_()
    return [x0, x1]


def program(x0, x1):
    v2 = torch.diagonal_scatter(x0, x1, 0)
    v3 = torch.sum(v2)
    return (v3,)


def cotangents(outputs, draw=0):
    c0 = torch.tensor([1.0], dtype=torch.float64).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]


def widen(xs):  # the same inputs in float64, for the reference
    return [x.detach().to(torch.float64).requires_grad_(x.requires_grad) for x in xs]


def run(fn, xs):  # everything that one call yields, by name
    outs = fn(*xs)
    seen = {f"out{i}": o for i, o in enumerate(outs)}
    leaves = {f"grad x{i}": x for i, x in enumerate(xs) if x.requires_grad}
    grads = torch.autograd.grad(outs, list(leaves.values()), cotangents(outs), allow_unused=True)
    seen.update(zip(leaves, grads))
    return seen


def wrong(got, exact):  # the elements that differ; this program is exact in its dtype
    got, exact = (t.detach().to("cpu", torch.float64) for t in (got, exact))
    return ~((got == exact) | (got.isnan() & exact.isnan()))


def report(compiled, eager, exact):  # prints each quantity; True when one is wrong
    bad = False
    for name, want in eager.items():
        got, ref = compiled[name], exact[name]
        if got is None or want is None or got.shape != want.shape or got.dtype != want.dtype:
            differs = got is not want
        else:
            differs = bool(wrong(got, ref).any())
        print(f"{name}: {'WRONG' if differs else 'right'}")
        if differs:
            print(f"  float64   {ref}\n  eager     {want}\n  compiled  {got}")
        bad = bad or differs
    return bad


def main():
    print(f"torch {torch.__version__}, cpu, inductor")
    compiled_program = torch.compile(program, backend="inductor", fullgraph=True)
    eager = run(program, inputs())
    exact = run(program, widen(inputs()))
    compiled = run(compiled_program, inputs())
    bad = report(compiled, eager, exact)
    print("WRONG" if bad else "RIGHT")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
