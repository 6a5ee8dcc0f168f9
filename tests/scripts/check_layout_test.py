# SPDX-License-Identifier: BSD-3-Clause
"""scripts/check_layout against small trees, each with one planted fault."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True


def load_check_layout():
    loader = importlib.machinery.SourceFileLoader(
        "check_layout", str(ROOT / "scripts/check_layout")
    )
    spec = importlib.util.spec_from_loader("check_layout", loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_layout"] = module
    loader.exec_module(module)
    return module


check_layout = load_check_layout()

SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"
CMAKE = """# SPDX-License-Identifier: BSD-3-Clause
gradfuzz_part(support Threads::Threads)
gradfuzz_part(program support)
gradfuzz_part(report program fmt::fmt-header-only)
if(GRADFUZZ_TORCH_SIDE)
  gradfuzz_part(evaluate program gradfuzz_torch)
endif()
"""
CLEAN = {
    "CMakeLists.txt": CMAKE,
    "include/gradfuzz/support/rng.h": SPDX,
    "src/support/rng.cpp": SPDX + '#include "gradfuzz/support/rng.h"\nstd::mt19937 engine;\n',
    "include/gradfuzz/program/program.h": SPDX + '#include "gradfuzz/support/rng.h"\n',
    "src/program/program.cpp": SPDX + '#include "gradfuzz/program/program.h"\n',
    "include/gradfuzz/evaluate/call.h": SPDX + "#include <ATen/core/Tensor.h>\n",
    "src/evaluate/call.cpp": SPDX + '#include "gradfuzz/evaluate/call.h"\n',
    "python_bridge/worker.cpp": SPDX
    + '#include <pybind11/embed.h>\n#include "gradfuzz/evaluate/call.h"\n',
    "tests/unit/program/program_test.cpp": SPDX + "#include <gtest/gtest.h>\n",
}


class CheckLayoutTest(unittest.TestCase):
    def faults(self, **changes: str) -> list[str]:
        """The faults of the clean tree with some files added or replaced ("/" spelled "__")."""
        tree = CLEAN | {
            name.replace("__", "/").replace("_DOT_", "."): text for name, text in changes.items()
        }
        with tempfile.TemporaryDirectory() as folder:
            for name, text in tree.items():
                if name in ("src/program/program.cpp", "src/evaluate/call.cpp"):
                    text += f'#include "gradfuzz/{name[4:-4]}.h"\n'  # at the end: lines keep their numbers
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return [str(fault) for fault in check_layout.check(Path(folder))]

    def assert_one(self, faults: list[str], *words: str) -> None:
        self.assertEqual(len(faults), 1, faults)
        for word in words:
            self.assertIn(word, faults[0])

    def test_clean_tree_has_no_fault(self):
        self.assertEqual(self.faults(), [])

    def test_include_to_the_right(self):
        code = SPDX + '#include "gradfuzz/report/html.h"\n'
        self.assert_one(
            self.faults(src__program__program_DOT_cpp=code), "src/program/program.cpp:2", "report/"
        )

    def test_indirect_dependency_is_allowed(self):
        code = SPDX + '#include "gradfuzz/support/rng.h"\n'
        self.assertEqual(self.faults(include__gradfuzz__report__html_DOT_h=code), [])

    def test_parent_part_in_the_bridge(self):
        code = SPDX + '#include "gradfuzz/report/html.h"\n'
        self.assert_one(
            self.faults(python_bridge__worker_DOT_cpp=code), "python_bridge/ may not use report/"
        )

    def test_worker_part_in_the_parent(self):
        code = SPDX + '#include "gradfuzz/evaluate/call.h"\n'
        self.assert_one(
            self.faults(include__gradfuzz__report__html_DOT_h=code), "may not use evaluate/"
        )

    def test_torch_in_a_torch_free_part(self):
        for name in ("torch/torch.h", "ATen/ATen.h", "c10/util/Half.h"):
            code = SPDX + f"#include <{name}>\n"
            self.assert_one(self.faults(src__program__program_DOT_cpp=code), name, "torch-free")

    def test_torch_in_a_test_of_a_torch_free_part(self):
        code = SPDX + "#include <torch/torch.h>\n"
        self.assert_one(self.faults(tests__unit__program__program_test_DOT_cpp=code), "torch-free")

    def test_python_outside_the_bridge(self):
        for name in ("Python.h", "pybind11/pybind11.h", "torch/extension.h"):
            code = SPDX + f"#include <{name}>\n"
            self.assert_one(self.faults(src__evaluate__call_DOT_cpp=code), name, "python_bridge/")

    def test_include_in_a_comment_is_no_include(self):
        code = SPDX + '// #include <torch/torch.h>\n/*\n#include "gradfuzz/report/html.h"\n*/\n'
        self.assertEqual(self.faults(src__program__program_DOT_cpp=code), [])

    def test_banned_randomness(self):
        for line in (
            "std::random_device device;",
            "int x = rand();",
            "int x = std::rand();",
            "srand(1);",
            "std::mt19937_64 engine(1);",
            "std::uniform_int_distribution<int> d(0, 1);",
        ):
            self.assert_one(
                self.faults(src__program__program_DOT_cpp=SPDX + line + "\n"), "support/rng instead"
            )

    def test_words_that_only_look_like_randomness(self):
        code = SPDX + (
            "// rand() is banned\n"
            'const char* kOp = "torch.rand(2)";\n'
            'const char* kRaw = R"(std::mt19937 x; rand())";\n'
            "int operand(int x);\n"
            "int y = operand(1);\n"
            "const long kBig = 1'000'000;\n"
        )
        self.assertEqual(self.faults(src__program__program_DOT_cpp=code), [])

    def test_digit_separators_do_not_hide_code(self):
        code = SPDX + "long a = 1'000; int b = rand(); long c = 1'000;\n"
        self.assert_one(self.faults(src__program__program_DOT_cpp=code), "rand()")

    def test_randomness_in_the_bridge(self):
        for line in ("random.shuffle(x)", "from random import choice", "np.random.rand(2)"):
            text = f"# SPDX-License-Identifier: BSD-3-Clause\n{line}\n"
            self.assert_one(
                self.faults(python_bridge__gradfuzz_bridge__rungs_DOT_py=text), "random"
            )

    def test_seeding_in_the_bridge_is_fine(self):
        text = "# SPDX-License-Identifier: BSD-3-Clause\nrandom.seed(0)\ntorch.random.fork_rng()\n"
        self.assertEqual(self.faults(python_bridge__gradfuzz_bridge__rungs_DOT_py=text), [])

    def test_missing_spdx(self):
        self.assert_one(self.faults(src__program__program_DOT_cpp="int x;\n"), "SPDX")
        self.assert_one(self.faults(scripts__run="#!/bin/sh\necho\n"), "scripts/run:1", "SPDX")

    def test_spdx_below_the_interpreter_line(self):
        text = "#!/bin/sh\n# SPDX-License-Identifier: BSD-3-Clause\n"
        self.assertEqual(self.faults(scripts__run=text), [])

    def test_source_that_nothing_declares(self):
        code = SPDX + '#include <vector>\n#include "gradfuzz/support/rng.h"\n'
        self.assert_one(
            self.faults(src__program__emit_DOT_cpp=code), "src/program/emit.cpp:1", "no header"
        )

    def test_source_of_a_private_header(self):
        code = SPDX + '#include "emit.h"\n'
        self.assertEqual(self.faults(src__program__emit_DOT_cpp=code), [])

    def test_part_that_is_not_declared(self):
        self.assert_one(self.faults(include__gradfuzz__magic__x_DOT_h=SPDX), "no part magic")

    def test_test_file_that_is_not_built(self):
        self.assert_one(self.faults(tests__unit__program__emit_DOT_cpp=SPDX), "_test.cpp")

    def test_machine_paths(self):
        for place in ("/home" + "/me/x", "/root" + "/.cache", "/Users" + "/me"):
            self.assert_one(
                self.faults(README_DOT_md=f"See `{place}`.\n"), "README.md:1", "machine"
            )

    def test_relative_and_system_paths_are_fine(self):
        text = "See scripts/" + "work/x, $HOME/" + "home/x, /usr/include/x and a/" + "root/b.\n"
        self.assertEqual(self.faults(README_DOT_md=text), [])


if __name__ == "__main__":
    unittest.main()
