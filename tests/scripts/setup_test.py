# SPDX-License-Identifier: BSD-3-Clause
"""What scripts/setup, gradfuzz and test say when they can't go on: one sentence, the right code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASH = shutil.which("bash")


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GRADFUZZ_")}
    return subprocess.run(
        [str(ROOT / "scripts" / command[0]), *command[1:]],
        env=clean | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


class SetupTest(unittest.TestCase):
    def assert_refused(
        self, result: subprocess.CompletedProcess[str], code: int, *words: str
    ) -> None:
        self.assertEqual(result.returncode, code, result)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("gradfuzz: "), result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_torch_version_that_is_none(self):
        for version in ("banana", "2", "2.15.0; rm -rf /", "../2.15.0"):
            self.assert_refused(run("setup", GRADFUZZ_TORCH=version), 3, version)

    def test_torch_too_old(self):
        for version in ("1.13.1", "2.10.0"):
            self.assert_refused(run("gradfuzz", GRADFUZZ_TORCH=version), 3, version, "2.11")

    def test_no_such_python(self):
        self.assert_refused(run("gradfuzz", "--python", "no/such/python"), 3, "no/such/python")
        self.assert_refused(run("test", "--python=no/such/python"), 3, "no/such/python")
        self.assert_refused(run("setup", GRADFUZZ_PYTHON="no/such/python"), 3, "no/such/python")

    def test_python_that_is_none(self):
        self.assert_refused(run("gradfuzz", "--python", shutil.which("true")), 3, "does not run")

    def test_python_without_torch(self):
        with tempfile.TemporaryDirectory() as folder:
            bare = Path(folder, "python3")  # isolated: neither site-packages nor the user's
            bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
            bare.chmod(0o755)
            self.assert_refused(run("gradfuzz", "--python", str(bare)), 3, "has no torch")

    def test_option_without_value(self):
        self.assert_refused(run("gradfuzz", "--python"), 2, "--python")

    def test_unknown_option(self):
        self.assert_refused(run("setup", "--frobnicate"), 2, "--frobnicate")
        self.assert_refused(run("lint", "--frobnicate"), 2, "--frobnicate")

    def test_help(self):
        for script in ("setup", "test", "lint"):
            result = run(script, "--help")
            self.assertEqual(result.returncode, 0, result)
            self.assertIn(f"scripts/{script}", result.stdout)
            self.assertNotIn("set -euo", result.stdout)


class EmbeddableTest(unittest.TestCase):
    """The functions of scripts/setup, sourced."""

    def bash(self, code: str) -> subprocess.CompletedProcess[str]:
        script = f'set -euo pipefail; source "{ROOT}/scripts/setup"; {code}'
        return subprocess.run([BASH, "-c", script], capture_output=True, text=True, timeout=60)

    def test_sourcing_does_nothing(self):
        result = self.bash("true")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_own_environment_has_a_build_folder_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            torch = Path(folder, "torch")
            torch.mkdir()
            (torch / "__init__.py").write_text("raise RuntimeError('must not be imported')\n")
            (torch / "version.py").write_text("__version__ = '2.12.1+cu130'\n")
            result = self.bash(
                f'export PYTHONPATH="{folder}"; gradfuzz_choose "{sys.executable}"; '
                'echo "$torch_version"; echo "${build##*/}"; echo "$python"'
            )
        self.assertEqual(result.returncode, 0, result.stderr)
        version, build, python = result.stdout.splitlines()
        self.assertEqual(version, "2.12.1+cu130")
        self.assertEqual(build, f"torch-2.12.1-cu130-py3.{sys.version_info[1]}")
        self.assertEqual(python, sys.executable)

    def test_base_python_can_be_embedded(self):
        result = self.bash('find_base_python && "$base_python" -c "$GRADFUZZ_EMBEDDABLE"')
        if result.returncode != 0:
            self.skipTest("this machine has no Python that can be embedded")
        self.assertTrue(result.stdout.startswith("ok\t"), result.stdout)

    def test_the_compiler_is_remembered_and_another_one_is_another_build(self):
        with tempfile.TemporaryDirectory() as build:
            Path(build, ".gradfuzz-cxx").write_text("g++-13\n")
            result = self.bash(
                f'unset CXX; python=p torch_version=t build="{build}"; gradfuzz_cxx; '
                "CXX=clang++ gradfuzz_cxx; "
                '[[ $(gradfuzz_key) != "$(CXX=clang++ gradfuzz_key)" ]] && echo differs'
            )
        self.assertEqual(result.stdout.split(), ["g++-13", "clang++", "differs"], result.stderr)

    def test_last_error_is_one_short_line(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write("ERROR: first\nERROR: " + "x" * 1000 + "\nnoise\n")
            log.flush()
            result = self.bash(f"last_error {log.name} '^ERROR'")
        self.assertEqual(len(result.stdout), 300)
        self.assertTrue(result.stdout.startswith("ERROR: xxx"))


if __name__ == "__main__":
    unittest.main()
