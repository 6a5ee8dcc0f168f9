# SPDX-License-Identifier: BSD-3-Clause
"""Programs of harvested calls, with the harvest of the torch in use: valid, the same from a fresh and a
cached harvest, the same in both spellings."""

from __future__ import annotations

import glob
import os
import pathlib
import shutil
import sys
import tempfile
import unittest
from typing import Any
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from worker_client import Worker

SEEDS = 300
MEMORY_SEEDS = 3000
# An operator that writes outside of its operands ends a worker with this one at once.
CHECKING_MALLOC = next(iter(glob.glob("/lib/*/libc_malloc_debug.so.0")), "")
WEIGHTS = {"family.harvested": 20.0, "motif.none": 1000.0}


def _generate(worker: Worker, seeds: range) -> list[dict[str, Any]]:
    answer = worker.ask(
        {
            "type": "generate",
            "items": [{"seed": s} for s in seeds],
            "generate": {"weights": WEIGHTS},
            "run": {},
        }
    )
    if answer["type"] != "answer":
        raise AssertionError(answer)
    return answer["programs"]


class HarvestTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.cache = tempfile.mkdtemp(prefix="gradfuzz-test-")
        with mock.patch.dict(os.environ, GRADFUZZ_MACHINE_CACHE=cls.cache):
            checking = {
                "LD_PRELOAD": CHECKING_MALLOC,
                "GLIBC_TUNABLES": "glibc.malloc.check=3",
            }
            with mock.patch.dict(os.environ, checking), Worker() as fresh:  # harvests
                cls.from_fresh = _generate(fresh, range(SEEDS))
            cls.worker = Worker()  # reads what the first one left
        cls.programs = _generate(cls.worker, range(SEEDS))

    @classmethod
    def tearDownClass(cls) -> None:
        cls.worker.__exit__()
        shutil.rmtree(cls.cache)

    def test_a_cached_harvest_gives_the_same_programs(self) -> None:
        self.assertEqual(self.programs, self.from_fresh)

    def test_a_seed_is_a_program(self) -> None:
        self.assertEqual(_generate(self.worker, range(40, 60)), self.programs[40:60])

    def test_programs_are_the_same_whatever_unset_memory_holds(self) -> None:
        # malloc fills what it hands out, and another byte what it takes back.
        made = []
        for fill in (255, 128):
            filling = {"GLIBC_TUNABLES": f"glibc.malloc.perturb={fill}"}
            with (
                mock.patch.dict(os.environ, filling, GRADFUZZ_MACHINE_CACHE=self.cache),
                Worker() as worker,
            ):
                made.append(_generate(worker, range(MEMORY_SEEDS)))
        for seed, (one, other) in enumerate(zip(*made, strict=True)):
            self.assertEqual(one, other, seed)

    def test_programs_have_many_operators_with_gradients(self) -> None:
        features = [set(p["features"]) for p in self.programs]
        with_harvest = [f for f in features if "family.harvested" in f]
        self.assertGreater(len(with_harvest), SEEDS / 3)
        for f in with_harvest:
            self.assertIn("lane.real", f)
        names = {n for f in features for n in f if n.startswith("op_gradient.")}
        self.assertGreater(len(names), SEEDS / 2)

    def test_both_spellings_say_the_same(self) -> None:
        for seed, made in enumerate(self.programs):
            with self.subTest(seed=seed):
                text = made["module"]
                back = self.worker.ask({"type": "parse", "path": f"seed {seed}", "text": text})
                self.assertEqual(
                    back.get("program"), made["program"], text + str(back.get("message"))
                )

    def test_eager_takes_them(self) -> None:
        items = [{"program": p["program"]} for p in self.programs]
        run = {"rungs": ["eager"], "draws": 3, "self_checks": False}
        results = self.worker.evaluate(items, run)
        self.assertEqual(len(results), SEEDS)
        bad = [
            (r["item"], r["outcome"]["note"], self.programs[r["item"]]["module"])
            for r in results
            if r["outcome"]["verdict"] != "agree"
        ]
        self.assertLessEqual(len(bad), SEEDS // 100, bad)

    def test_the_database_says_why_an_operator_is_missing(self) -> None:
        answer = self.worker.ask({"type": "ops"})
        harvested = {row["name"] for row in answer["ops"]}
        self.assertGreater(len(answer["database"]), 400)
        left_out = 0
        for entry in answer["database"]:
            spoken = harvested.intersection(entry["paths"])
            left_out += bool(entry["left_out"])
            self.assertTrue(spoken or entry["left_out"], entry)
        self.assertLess(left_out, len(answer["database"]) * 0.1)


if __name__ == "__main__":
    unittest.main()
