# title: Inductor drops the gradient of amin after atan2 (float32, CPU)
# id: b04d77c2e95a6013
# expect: 2.15.* cpu inductor gradient_mismatch
# workaround: torch._inductor.config.cpp.simdlen = 1
#
# Exits 1 while torch.compile is wrong, 0 when it is right. Needs only torch.
import sys

import torch


def inputs(device="cpu", draw=0):
    x0 = torch.tensor([[1.0, 5.0, 2.0], [4.0, 5.0, 2.0]], dtype=torch.float32, device=device).requires_grad_()
    x1 = torch.tensor([[5.0, 2.0, 3.0], [2.0, 4.0, 2.0]], dtype=torch.float32, device=device).requires_grad_()
    return [x0, x1]


def program(x0, x1):
    v2 = torch.atan2(x0, x1)
    v3 = torch.amin(v2, -1)
    return (v3,)


def cotangents(outputs, draw=0):
    c0 = torch.tensor([1.0, 1.0], dtype=torch.float64).to(outputs[0].device, outputs[0].dtype).reshape(outputs[0].shape)
    return [c0]


# Absolute error allowed, as calibrated for this program; RTOL and ATOL where nothing was.
TOLERANCE = {"grad x0": 3.2e-07, "grad x1": 3.2e-07, "out0": 9.6e-07}
RTOL, ATOL = 1.3e-06, 1e-05


def widen(xs):  # the same inputs in float64, for the reference
    return [x.detach().to(torch.float64).requires_grad_(x.requires_grad) for x in xs]


def run(fn, xs):  # everything that one call yields, by name
    outs = fn(*xs)
    seen = {f"out{i}": o for i, o in enumerate(outs)}
    leaves = {f"grad x{i}": x for i, x in enumerate(xs) if x.requires_grad}
    grads = torch.autograd.grad(outs, list(leaves.values()), cotangents(outs), allow_unused=True)
    seen.update(zip(leaves, grads))
    return seen


def wrong(got, eager, exact, atol):  # the elements that rounding does not explain
    got, eager, exact = (t.detach().to("cpu", torch.float64) for t in (got, eager, exact))
    allowed = atol + RTOL * exact.abs() + 2 * (eager - exact).abs()
    as_eager = (got == eager) | (got.isnan() & eager.isnan())
    return ~(as_eager | ((got - exact).abs() <= allowed))


def report(compiled, eager, exact):  # prints each quantity; True when one is wrong
    bad = False
    for name, want in eager.items():
        got, ref = compiled[name], exact[name]
        if got is None or want is None or got.shape != want.shape or got.dtype != want.dtype:
            differs = got is not want
        else:
            differs = bool(wrong(got, want, ref, TOLERANCE.get(name, ATOL)).any())
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
