# SPDX-License-Identifier: BSD-3-Clause
"""Programs that are compiled under settings of their own."""

from __future__ import annotations

import pathlib
import sys
import unittest
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from worker_client import WorkerTestCase

SLICE = 256
RELU = """
def inputs(device="cpu", draw=0):
    x0 = torch.tensor([1.0, -2.0, 3.0], device=device).requires_grad_()
    return [x0]


def program(x0):
    v1 = torch.relu(x0)
    return (v1,)


def cotangents(outputs, draw=0):
    c0 = torch.tensor([1.0], dtype=torch.float64).to(outputs[0].device, outputs[0].dtype).reshape(()).expand(outputs[0].shape)
    return [c0]
"""
RUN = {"rungs": ["eager", "inductor"], "draws": 1, "pack": 4}
# What Inductor has for tests of its own minifier: relu compiles to something else.
BUG = {"inductor.cpp.inject_relu_bug_TESTING_ONLY": "accuracy"}


class ConfigTest(WorkerTestCase):
    def relu(self, config: dict[str, Any]) -> dict[str, Any]:
        suffix = f"\n\nCALL = dict(config={config!r})\n" if config else ""
        return {"program": self.worker.parse_text(RELU + suffix)["program"]}

    def test_a_setting_is_of_its_program_alone(self) -> None:
        # One request: what is compiled together must not share what only some ask for.
        items = [self.relu({}), self.relu(BUG), self.relu({}), self.relu(BUG)]
        results = sorted(self.worker.evaluate(items, RUN), key=lambda r: r["item"])
        verdicts = [r["outcome"]["verdict"] for r in results]
        self.assertEqual(verdicts[0::2], ["agree"] * 2)
        self.assertNotIn("agree", verdicts[1::2])

    def test_what_this_torch_does_not_have_is_refused(self) -> None:
        (result,) = self.worker.evaluate([self.relu({"inductor.no_such_setting": 1})], RUN)
        self.assertEqual(result["outcome"]["verdict"], "unsupported")
        self.assertIn("inductor.no_such_setting", str(result["outcome"]))

    def test_this_torch_has_every_setting_that_is_drawn(self) -> None:
        request = {
            "type": "generate",
            "items": [{"seed": s * SLICE} for s in range(150)],
            "generate": {"weights": {"feature.config": 100.0}},
        }
        programs = self.worker.ask(request)["programs"]
        names = {name for made in programs for name in made["program"]["call"]["config"]}
        self.assertGreater(len(names), 15)
        answer = self.worker.ask({"type": "describe", "knobs": sorted(names)})
        self.assertEqual([n for n, exists in answer["knobs"].items() if not exists], [])


if __name__ == "__main__":
    unittest.main()
