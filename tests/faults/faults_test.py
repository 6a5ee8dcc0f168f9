# SPDX-License-Identifier: BSD-3-Clause
"""Plants one fault at a time in Inductor's place and asks a real worker for its verdict."""

from __future__ import annotations

import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from programs import PROGRAMS  # noqa: E402
from worker_client import Worker, WorkerDied, WorkerTestCase  # noqa: E402

GRADIENT, FORWARD = "gradient_mismatch", "forward_mismatch"

# (fault, program, verdict)
FOUND = [
    ("flip_sign", "base", GRADIENT),
    ("lose_one_element", "base", GRADIENT),
    ("zero_one_row", "base", GRADIENT),
    ("shift_by_one", "base", GRADIENT),
    ("all_zero", "base", GRADIENT),
    ("all_ones", "base", GRADIENT),
    ("wrong_axis", "base", GRADIENT),
    ("scale_1_001", "base", GRADIENT),
    ("scale_2", "base", GRADIENT),
    ("nan_at_one_place", "base", "nan_mismatch"),
    ("inf_at_one_place", "base", "nan_mismatch"),
    ("half_where_positive", "base", GRADIENT),
    ("zero_vector_tail", "tail", GRADIENT),
    ("low_precision_gradient", "base", GRADIENT),
    ("none_gradient", "base", "missing_gradient"),
    ("stale_gradient", "base", GRADIENT),
    ("one_draw_in_four", "base", GRADIENT),
    ("noise_gradient", "base", "nondeterministic"),
    ("uninitialised_tail", "base", GRADIENT),
    ("shared_gradient_buffer", "base", GRADIENT),
    ("forward_wrong", "base", FORWARD),
    ("forward_nan", "base", "nan_mismatch"),
    ("forward_scale_1_001", "base", FORWARD),
    ("forward_dtype", "base", "metadata_mismatch"),
    ("forward_low_precision", "base", FORWARD),
    ("forward_stride", "base", "metadata_mismatch"),
    ("negative_zero_inside", "reciprocal", "nan_mismatch"),
    ("raise_when_run", "base", "runtime_error"),
    ("raise_in_backward", "base", "runtime_error"),
    ("raise_when_compiled", "base", "compile_error"),
    ("drop_mutation", "mutation", "input_mutation_mismatch"),
    ("no_grad_output", "base", "missing_gradient"),
    ("alias_lost", "view", "metadata_mismatch"),
    ("drop_fan_out", "fan_out", GRADIENT),
    ("tie_broken_twice", "ties", GRADIENT),
]
# Differences that no maintainer would call a bug.
SILENT = [
    ("identity", "base", "agree"),
    ("identity", "mutation", "agree"),
    ("identity", "view", "agree"),
    ("identity", "ties", "agree"),
    ("two_ulps", "base", "agree"),
    ("two_ulps", "sum", "agree"),
    ("other_summation_order", "sum", "agree"),
    ("tie_first_only", "ties", "convention"),
    ("refuse", "base", "unsupported"),
]


class FaultsTest(WorkerTestCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.programs = {}
        for name, text in PROGRAMS.items():
            cls.programs[name] = cls.worker.parse_text(text, name)["program"]

    def verdict(self, fault: str, program: str) -> dict:
        run = {
            "rungs": ["eager", "aot_eager", "inductor"],
            "draws": 5,
            "fault": f"{HERE}/backends.py:{fault}",
        }
        (result,) = self.worker.evaluate([{"program": self.programs[program]}], run)
        return result["outcome"]

    def check(self, rows: list[tuple[str, str, str]]) -> None:
        for fault, program, verdict in rows:
            with self.subTest(fault=fault, program=program):
                outcome = self.verdict(fault, program)
                said = [
                    (c["what"], c["verdict"], c.get("note"))
                    for r in outcome["rungs"]
                    for c in r["comparisons"]
                ]
                self.assertEqual(
                    outcome["verdict"],
                    verdict,
                    f"{said} {[r.get('error') for r in outcome['rungs']]}",
                )
                wrong = verdict not in ("agree", "convention", "unsupported")
                self.assertEqual(outcome["first_wrong_rung"], "inductor" if wrong else "")

    def test_planted_faults_are_found(self) -> None:
        self.check(FOUND)

    def test_legitimate_differences_stay_silent(self) -> None:
        self.check(SILENT)

    def test_a_worker_leaves_when_its_device_is_lost(self) -> None:
        run = {
            "rungs": ["eager", "inductor"],
            "draws": 1,
            "fault": f"{HERE}/backends.py:lose_device",
        }
        with Worker() as worker:
            with self.assertRaises(WorkerDied):
                worker.evaluate([{"program": self.programs["base"]}], run)
            self.assertEqual(worker.process.wait(20), 1)
            self.assertIn("cpu is lost to this process", worker.log())

    def test_one_lost_element_of_4096_is_counted(self) -> None:
        outcome = self.verdict("lose_one_element", "base")
        wrong = [c for c in outcome["rungs"][-1]["comparisons"] if c["verdict"] == GRADIENT]
        self.assertEqual([c["wrong"] for c in wrong], [1])
        self.assertEqual([c["pattern"] for c in wrong], ["one element, zero"])


if __name__ == "__main__":
    if "GRADFUZZ_WORKER" not in os.environ:
        sys.exit("set GRADFUZZ_WORKER to the gradfuzz-worker to test")
    unittest.main()
