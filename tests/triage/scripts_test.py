#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the built `gradfuzz triage` answers to scripts as people write them, with real torch.

GRADFUZZ names the program, GRADFUZZ_WORKER the worker. Arguments choose tests, as unittest does.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent / "scripts"
GRADFUZZ = os.environ.get("GRADFUZZ", "")
EXIT = {"not a bug": 0, "bug": 1, "could not tell": 4}


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a script is told."""

    ruling: str
    reason: str
    rung: str = ""  # the first wrong one, of a bug
    sentence: str = ""  # a pattern that the sentence matches


# By torch version; "" = every one that has no row of its own.
RIGHT = Answer("not a bug", "agrees", sentence="every rung")
EXPECTED: dict[str, dict[str, Answer]] = {
    # An issue in Markdown; a module, torch.autograd.grad.
    "atan2_amin.md": {
        "": Answer("bug", "wrong_call", "inductor", r"wrong gradient of x \(outputs right\)")
    },
    # Asserts closer than bfloat16 can be, of results that agree.
    "bfloat16_chain.py": {"": RIGHT},
    # Several graphs, a print in the middle: the script's function is called as it is.
    "branches.py": {"": RIGHT},
    # Leaves at once without a GPU; an in-place write that Inductor gets wrong.
    "cuda_only.py": {
        "": Answer("bug", "wrong_call", "inductor", "wrong input after the call: buf")
    },
    # An assertion of its own; fixed since.
    "diagonal_scatter.py": {
        "2.11": Answer("bug", "wrong_call", "inductor", r"wrong gradient of x \(outputs right\)"),
        "": RIGHT,
    },
    # Random numbers: other masks, as documented.
    "dropout.py": {"": RIGHT},
    # One function for six kinds of call, of which only uint8 is wrong.
    "dtype_loop.py": {"": Answer("bug", "wrong_call", "inductor", "wrong shape, dtype, stride")},
    # Undefined; here every rung writes in the same order.
    "duplicate_indices.py": {"": RIGHT},
    # Its own assertion fails under Inductor, and asks for too much.
    "exact_equality.py": {
        "": Answer("not a bug", "agrees", sentence="own check at line 14 asks for more than")
    },
    # A decorated method, a bound method, keyword arguments, dictionaries.
    "methods.py": {"": RIGHT},
    # An optimizer, main(), an assertion that holds.
    "training_loop.py": {"": RIGHT},
    "typo.py": {
        "": Answer(
            "could not tell", "script_error", sentence=r"line 11 \(los\.backward\(\)\): NameError"
        )
    },
    "uninitialised.py": {"": Answer("not a bug", "uninitialised_memory", sentence="torch.empty")},
}


def triage(
    *arguments: str, text: str | None = None, seconds: float = 550
) -> subprocess.CompletedProcess:
    """Runs `gradfuzz triage`; `text` goes to its standard input."""
    return subprocess.run(
        [GRADFUZZ, "triage", *arguments],
        input="" if text is None else text,
        capture_output=True,
        text=True,
        timeout=seconds,
    )


class ScriptsTest(unittest.TestCase):
    """tests/triage/scripts against EXPECTED."""

    def test_every_script_has_an_expectation(self) -> None:
        names = {p.name for p in SCRIPTS.iterdir() if p.suffix in (".py", ".md")}
        self.assertEqual(names, set(EXPECTED))


def _test_of(name: str):
    def test(self: unittest.TestCase) -> None:
        run = triage("--json", "--verdict-only", str(SCRIPTS / name))
        self.assertIn(run.returncode, EXIT.values(), run.stderr)
        answer = json.loads(run.stdout)
        torch = ".".join(answer["environment"]["torch"].split(".")[:2])
        want = EXPECTED[name].get(torch, EXPECTED[name].get(""))
        decision = answer["decision"]
        said = Answer(
            decision["ruling"],
            decision["reason"],
            decision["first_wrong_rung"],
            want.sentence
            if re.search(want.sentence, decision["sentence"])
            else decision["sentence"],
        )
        self.assertEqual(said, want)
        self.assertEqual(run.returncode, EXIT[want.ruling])

    return test


for _name in EXPECTED:
    setattr(ScriptsTest, "test_" + _name.replace(".", "_"), _test_of(_name))


class PageTest(unittest.TestCase):
    """What the page of a bug tells, in full."""

    def test_atan2_amin(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run = triage("--out", folder, str(SCRIPTS / "atan2_amin.md"))
            files = set(os.listdir(folder))
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        for part in (
            r"(?m)^  inductor +(result \d of torch\.autograd\.grad|AssertionError)",  # the script
            r"(?m)^  inductor +right +(WRONG|NaN/Inf)",  # the isolation table
            r"smallest repro",
            r"(?m)^  dtype [^:]*float64",  # the trigger table
            r"(?m)^  shape ",
            r"removed by \d+ of \d+ settings",
            r"workaround: torch\._inductor\.config\.",
            r"BUG since inductor \(cpu\): (wrong gradient|NaN or Inf at other places: gradient) of x"
            r" \(outputs right\)\. Known: ",
        ):
            self.assertRegex(run.stdout, part)
        self.assertLessEqual({"repro.py", "report.md", "triage.txt", "triage.json"}, files)


class HostileTest(unittest.TestCase):
    """Scripts that do not play along: one sentence, the right exit code, never a hang."""

    def script(self, text: str, *options: str, name: str = "a.py") -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            path.write_text(text)
            return triage("--verdict-only", *options, str(path))

    def expect(self, run: subprocess.CompletedProcess, code: int, sentence: str) -> None:
        text = " ".join((run.stdout if code not in (2, 3) else run.stderr).split())
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        self.assertRegex(text, sentence)
        self.assertNotIn("Traceback", run.stdout)

    def test_nothing_to_run(self) -> None:
        self.expect(triage("/does/not/exist.py"), 2, "cannot read /does/not/exist.py: No such file")
        self.expect(self.script(" \n"), 2, r"a\.py is empty")
        self.expect(self.script("# Bug\n\nIt is wrong.\n", name="a.md"), 2, "no block of code")

    def test_no_python(self) -> None:
        run = self.script("# Bug\n\n```python\nimport torch\ndef f(x:\n```\n", name="a.md")
        self.expect(
            run, 4, r"COULD NOT TELL: the script is no valid Python at line 5 \(def f\(x:\)"
        )

    def test_leaves(self) -> None:
        self.expect(
            self.script("import sys\nsys.exit(3)\n"),
            4,
            r"the script leaves at line 2 \(sys\.exit\(3\)\): exit code 3",
        )

    def test_leaves_for_good_after_its_calls(self) -> None:
        text = "import os, torch\ntorch.compile(torch.sin)(torch.ones(3))\nos._exit(0)\n"
        self.expect(self.script(text), 0, "NOT A BUG: every rung agrees")

    def test_reads_input(self) -> None:
        self.expect(
            self.script("n = int(input())\n"), 4, r"line 1 \(n = int\(input\(\)\)\): EOFError"
        )

    def test_prints_without_end(self) -> None:
        text = (
            "import sys, torch\n"
            "for i in range(200000):\n    print('line', i)\n"
            "torch.compile(torch.sin)(torch.ones(3))\n"
        )
        run = self.script(text, "--log")
        self.expect(run, 0, "NOT A BUG")
        self.assertIn("[cut]", run.stderr)
        self.assertNotIn("line 199999", run.stdout + run.stderr)

    def test_runs_for_ever_with_children(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            pids = pathlib.Path(folder) / "pids"
            text = (
                "import subprocess\n"
                "a = subprocess.Popen(['sleep', '1000'])\n"
                "b = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
                f"open({str(pids)!r}, 'a').write(f'{{a.pid}} {{b.pid}} ')\n"
                "while True: pass\n"
            )
            run = self.script(text, "--deadline", "5")
            self.expect(run, 4, r"did not end within 5 s in eager.*\(--deadline gives it more\)")
            left = [int(p) for p in pids.read_text().split() if _runs(int(p))]
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            self.assertEqual(left, [])

    def test_takes_memory_without_end(self) -> None:
        run = self.script(
            "import torch\nl = []\nwhile True: l.append(torch.ones(1 << 20))\n", "--memory", "2"
        )
        self.expect(run, 4, r"used more than 2048 MiB of memory.*\(--memory gives it more\)")

    def test_standard_input(self) -> None:
        run = triage("--verdict-only", "-", text="x = 1\n")
        self.expect(run, 4, "standard input.*the script never calls torch.compile")


def _runs(pid: int) -> bool:
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


if __name__ == "__main__":
    unittest.main(verbosity=2)
