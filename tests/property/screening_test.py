# SPDX-License-Identifier: BSD-3-Clause
"""Quick compilation, as screening uses it, changes no verdict, and spares most runs of the compiler."""

from __future__ import annotations

import glob
import pathlib
import sys
import unittest
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from worker_client import Worker

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "corpus/open"
SEEDS = range(500010, 500026)  # 15 libraries without merging, 6 with it


def _cotangents(count: int) -> str:
    """The function of that name, for outputs that each get a cotangent of ones."""
    names = [f"c{i}" for i in range(count)]
    lines = [
        f"    {name} = torch.tensor([1.0], dtype=torch.float64).to(outputs[{i}].device,"
        f" outputs[{i}].dtype).reshape(()).expand(outputs[{i}].shape)\n"
        for i, name in enumerate(names)
    ]
    return (
        "\n\ndef cotangents(outputs, draw=0):\n"
        + "".join(lines)
        + f"    return [{', '.join(names)}]\n"
    )


# Two kernels with a call of another library between them, and two more behind it.
SEVERAL_KERNELS = """
def inputs(device="cpu", draw=0):
    x0 = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device).requires_grad_()
    return [x0]


def program(x0):
    v1 = torch.sin(x0)
    v2 = torch.linalg.inv(v1)
    v3 = torch.exp(v2)
    v4 = torch.linalg.inv(v3)
    v5 = torch.cos(v4)
    return (v5,)
""" + _cotangents(1)
# The gradient of the value asks for the unique indices, whose number no graph knows: AOTAutograd
# raises, and Dynamo runs the whole function in eager.
GIVEN_UP = """
def inputs(device="cpu", draw=0):
    x0 = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device).requires_grad_()
    x1 = torch.tensor([0, 1], device=device)
    x2 = torch.tensor([5.0], device=device).as_strided((), (), 0).detach().requires_grad_()
    return [x0, x1, x2]


def program(x0, x1, x2):
    v3 = torch.index_fill(x0, 1, x1, x2)
    return (v3,)
""" + _cotangents(1)
# Inductor expects other strides of a triangular solve than it gets, in the backward: it raises.
RAISES = """
def inputs(device="cpu", draw=0):
    x0 = torch.tensor([[complex(1.0, 2.0), complex(0.0, 1.0)], [complex(3.0, 0.0), complex(4.0, 1.0)]], dtype=torch.complex64, device=device).requires_grad_()
    return [x0]


def program(x0):
    v1, v2 = torch.linalg.inv_ex(x0)
    v3, v4, v5 = torch.linalg.lu(v1, pivot=True)
    return (v4, v5)
""" + _cotangents(2)


def _evaluate(items: list[dict[str, Any]], run: dict[str, Any]) -> tuple[list[Any], int]:
    """The outcomes by item, and how many libraries Inductor compiled."""
    with Worker() as worker:
        results = worker.evaluate(items, run)
        libraries = glob.glob(f"{worker.cache}/programs/**/*.main.so", recursive=True)
    outcomes = [r["outcome"] for r in sorted(results, key=lambda r: r["item"])]
    return outcomes, len(libraries)


class ScreeningTest(unittest.TestCase):
    def test_verdicts_are_those_of_plain_compilation(self) -> None:
        items = [{"seed": seed} for seed in SEEDS]
        run = {"rungs": ["eager", "inductor"], "draws": 2, "pack": 8}
        quick, quick_libraries = _evaluate(items, {**run, "fast": True})
        plain, plain_libraries = _evaluate(items, {**run, "fast": False})
        self.assertEqual([o["verdict"] for o in quick], [o["verdict"] for o in plain])
        self.assertLess(quick_libraries, 0.8 * plain_libraries)

    def test_kernels_of_a_module_are_one_library(self) -> None:
        with Worker() as worker:
            program = worker.parse_text(SEVERAL_KERNELS)["program"]
        items = [{"program": program}]
        run = {"rungs": ["eager", "inductor"], "draws": 2}
        quick, quick_libraries = _evaluate(items, {**run, "fast": True})
        plain, plain_libraries = _evaluate(items, {**run, "fast": False})
        self.assertEqual([o["verdict"] for o in quick + plain], ["agree", "agree"])
        self.assertEqual(quick_libraries, 2)  # forward and backward
        self.assertGreaterEqual(plain_libraries, 4)

    def test_one_that_does_not_compile_is_alone_in_that(self) -> None:
        with Worker() as worker:
            wrong = worker.parse(str(CORPUS / "foreach_add_complex.py"))["program"]
            good = worker.parse_text(SEVERAL_KERNELS)["program"]
        items = [{"program": p} for p in (good, wrong, good)]
        run = {"rungs": ["eager", "aot_eager", "inductor"], "draws": 2, "pack": 3}
        outcomes, _ = _evaluate(items, {**run, "fast": True})
        verdicts = [o["verdict"] for o in outcomes]
        self.assertEqual(verdicts, ["agree", "compile_error", "agree"])

    def test_one_that_raises_when_run_is_found_by_the_operator_it_names(self) -> None:
        with Worker() as worker:
            good = worker.parse_text(SEVERAL_KERNELS)["program"]
            wrong = worker.parse_text(RAISES)["program"]
        run = {"rungs": ["eager", "inductor"], "draws": 2, "fast": True, "pack": 8}
        outcomes, libraries = _evaluate(
            [{"program": wrong if k == 5 else good} for k in range(8)], run
        )
        verdicts = [o["verdict"] for o in outcomes]
        self.assertEqual(verdicts, ["agree"] * 5 + ["runtime_error"] + ["agree"] * 2)
        # All of them, the seven that are right, the one that is not: halves would take more.
        self.assertLessEqual(libraries, 6)

    def test_regions_and_calls_under_autocast_are_compiled_together(self) -> None:
        with Worker() as worker:
            plain = worker.parse_text(SEVERAL_KERNELS)["program"]
        programs = [plain]
        for kind in ("no_grad", "autocast", "checkpoint", "function", "jvp", "vjp"):
            for first, last in ((0, 0), (2, 4)):
                regions = [{"kind": kind, "first": first, "last": last}]
                programs.append({**plain, "regions": regions})
        off = [{"kind": "autocast_off", "first": 2, "last": 4}]
        for regions in ([], off):
            programs.append({**plain, "regions": regions, "call": {"autocast": True}})
        run = {"rungs": ["eager", "aot_eager", "inductor"], "draws": 2, "fast": True}
        items = [{"program": p} for p in programs]
        alone, many = _evaluate(items, {**run, "pack": 1})
        together, few = _evaluate(items, {**run, "pack": len(items)})
        self.assertEqual([o["verdict"] for o in together], [o["verdict"] for o in alone])
        self.assertIn("agree", [o["verdict"] for o in alone])
        self.assertLess(few, many / 2)

    def test_one_that_dynamo_gives_up_does_not_run_the_others_in_eager(self) -> None:
        with Worker() as worker:
            good = worker.parse_text(SEVERAL_KERNELS)["program"]
            given_up = worker.parse_text(GIVEN_UP)["program"]
        run = {"rungs": ["eager", "aot_eager", "inductor"], "draws": 2, "fast": True}
        alone, _ = _evaluate([{"program": given_up}], run)
        together, _ = _evaluate(
            [{"program": p} for p in (good, given_up, good)], {**run, "pack": 3}
        )
        self.assertEqual([together[0]["verdict"], together[2]["verdict"]], ["agree", "agree"])
        self.assertTrue(all(r["graphs"] > 0 for r in together[0]["rungs"][1:]))
        for outcome in alone + together:
            for rung in outcome["rungs"][1:]:
                # Nothing is right that nobody compiled (2.15 gives it up alone, 2.11 does not).
                compiled = rung["graphs"] > 0
                self.assertEqual(compiled, rung["verdict"] != "unsupported", rung)
                self.assertTrue(compiled or not rung["comparisons"], rung)


if __name__ == "__main__":
    unittest.main()
