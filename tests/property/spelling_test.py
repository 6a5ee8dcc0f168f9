# SPDX-License-Identifier: BSD-3-Clause
"""The two spellings of a program say the same: JSON -> Python -> JSON, for generated programs."""

from __future__ import annotations

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from worker_client import WorkerTestCase

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "corpus"
SEEDS = 400


class SpellingTest(WorkerTestCase):
    def test_python_reads_back_as_the_same_program(self) -> None:
        self._read_back({}, range(SEEDS))

    def test_parts_that_are_called_as_a_whole_read_back(self) -> None:
        kinds = ["checkpoint", "custom_function", "jvp", "vjp", "second_float"]
        for kind in kinds:
            self._read_back({"weights": {f"feature.{kind}": 50.0}}, range(60))

    def _read_back(self, options: dict, seeds: range) -> None:
        request = {
            "type": "generate",
            "items": [{"seed": s} for s in seeds],
            "generate": options,
            "run": {},
        }
        for seed, made in enumerate(self.worker.ask(request)["programs"]):
            with self.subTest(seed=seed):
                text = self.worker.ask({"type": "emit", "program": made["program"]})["text"]
                back = self.worker.ask({"type": "parse", "path": f"seed {seed}", "text": text})
                self.assertEqual(
                    back.get("program"), made["program"], text + str(back.get("message"))
                )

    def test_a_seed_is_a_program(self) -> None:
        request = {
            "type": "generate",
            "items": [{"seed": 7}, {"seed": 8}],
            "generate": {},
            "run": {},
        }
        first, second = (self.worker.ask(request)["programs"] for _ in range(2))
        self.assertEqual(first, second)
        self.assertNotEqual(first[0], first[1])

    def test_every_corpus_entry_parses(self) -> None:
        entries = sorted(CORPUS.rglob("*.py"))
        self.assertTrue(entries)
        for path in entries:
            with self.subTest(path=path.name):
                answer = self.worker.ask(
                    {"type": "parse", "path": path.name, "text": path.read_text()}
                )
                self.assertEqual(answer["type"], "answer", answer)
                self.assertIn("title", answer["header"])
                self.assertIn("expect", answer["header"])

    def test_bad_text_is_refused_with_its_place(self) -> None:
        for text, word in [
            ("def program(:", "line 1"),
            ("x = 1", "inputs"),
            (
                "def inputs():\n    return []\n\ndef program():\n    while True: pass\n",
                "straight-line",
            ),
            (
                "def inputs():\n    return []\n\ndef program():\n    return (torch.nothing_here(y),)\n",
                "'y'",
            ),
        ]:
            answer = self.worker.ask({"type": "parse", "path": "bad.py", "text": text})
            self.assertEqual((answer["type"], answer.get("kind")), ("error", "usage"))
            self.assertIn("bad.py", answer["message"])
            self.assertIn(word, answer["message"])


if __name__ == "__main__":
    unittest.main()
