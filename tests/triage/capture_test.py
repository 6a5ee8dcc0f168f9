# SPDX-License-Identifier: BSD-3-Clause
"""What capture and rerun see in scripts: needs torch, neither a worker nor a C++ compiler."""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile
import textwrap
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python_bridge"))

import torch  # noqa: E402
from gradfuzz_bridge import capture, graph, rerun, rungs  # noqa: E402

SCRIPTS = HERE / "scripts"


class Captured(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, text: str) -> str:
        path = os.path.join(self.folder.name, f"script{len(os.listdir(self.folder.name))}.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write("import torch\n" + textwrap.dedent(text))
        return path

    def capture(self, text: str) -> dict:
        return capture.capture({"path": self.write(text), "device": "cpu"})

    def rung(self, text: str, rung: str) -> dict:
        return rerun.script_rung({"path": self.write(text), "device": "cpu", "rung": rung})

    def ops(self, call: dict) -> list[str]:
        return [s["op"] for s in call["program"]["statements"]]


class ProgramsTest(Captured):
    def test_function_becomes_its_operators(self) -> None:
        (call,) = self.capture("""
            def f(x, y):
                return (2 - x.sin() * y).permute(1, 0).amax(dim=0)
            torch.compile(f)(torch.ones(2, 3, requires_grad=True), torch.ones(3))
        """)["calls"]
        self.assertFalse(call["opaque"])
        self.assertEqual(self.ops(call), ["sin", "mul", "rsub", "permute", "amax"])
        self.assertEqual(call["names"], ["x", "y"])
        self.assertEqual(call["program"]["statements"][3]["args"], [{"v": 4}, [1, 0]])

    def test_decorator_with_options(self) -> None:
        (call,) = self.capture("""
            @torch.compile(dynamic=True, mode="default", options={"max_fusion_size": 1})
            def f(x):
                return x + 1
            f(torch.zeros(2))
        """)["calls"]
        self.assertEqual(call["knobs"], [["inductor.max_fusion_size", 1]])
        self.assertEqual(
            call["options"], {"dynamic": True, "mode": "default", "options": {"max_fusion_size": 1}}
        )
        self.assertEqual(call["program"]["call"]["dynamic"], "yes")

    def test_module_parameters_become_leaves(self) -> None:
        text = """
            model = torch.nn.Linear(3, 2)
            {compile}
            out = {call}(torch.ones(4, 3))
            out.pow(2).sum().backward()
        """
        ways = [
            ("compiled = torch.compile(model)", "compiled"),
            ("model.compile()", "model"),
            ("forward = torch.compile(model.forward)", "forward"),
        ]
        for compile_, call_ in ways:
            with self.subTest(way=compile_):
                (call,) = self.capture(text.format(compile=compile_, call=call_))["calls"]
                self.assertFalse(call["opaque"], call["why_opaque"])
                self.assertEqual(call["names"][1:], ["weight", "bias"])
                wants = [leaf["requires_grad"] for leaf in call["program"]["leaves"]]
                self.assertEqual(wants, [False, True, True])

    def test_values_layouts_and_aliases_are_those_before_the_call(self) -> None:
        (call,) = self.capture("""
            base = torch.arange(12.0)
            a, b = base[:6].view(2, 3).t(), base[4:10:2]
            @torch.compile
            def f(a, b):
                a.mul_(10)
                return b + 1
            f(a, b)
        """)["calls"]
        program = call["program"]
        self.assertFalse(call["opaque"], call["why_opaque"])
        (storage,) = program["storages"]
        self.assertEqual(storage["values"]["values"], [float(i) for i in range(9)])
        a, b = program["leaves"]
        self.assertEqual((a["sizes"], a["strides"], a["offset"]), ([3, 2], [1, 3], 0))
        self.assertEqual((b["sizes"], b["strides"], b["offset"]), ([3], [2], 4))

    def test_backward_of_the_script_gives_the_cotangents(self) -> None:
        (call,) = self.capture("""
            x = torch.ones(2, 2, requires_grad=True)
            a, b, c = torch.compile(lambda x: (x * 2, x * 3, x * 4))(x)
            (a.sum() + (b * torch.tensor([1.0, 2.0])).sum()).backward()
        """)["calls"]
        a, b, c = call["program"]["outputs"]
        self.assertTrue(call["backward"])
        self.assertEqual((a["layout"], a["cotangent"]["values"]), ("expanded", [1.0]))
        self.assertEqual(b["cotangent"]["values"], [1.0, 2.0, 1.0, 2.0])
        self.assertEqual((c["cotangent"]["low"], c["cotangent"]["high"]), (0.0, 0.0))

    def test_no_backward_means_a_dense_cotangent(self) -> None:
        (call,) = self.capture("torch.compile(torch.sin)(torch.ones(2, requires_grad=True))")[
            "calls"
        ]
        self.assertFalse(call["backward"])
        self.assertEqual(call["program"]["outputs"][0]["cotangent"]["kind"], "normal")

    def test_modes_around_and_inside_the_call(self) -> None:
        text = """
            @torch.compile
            def f(x):
                with torch.autocast("cpu", enabled=False):
                    y = x @ x
                with torch.no_grad():
                    z = y.exp()
                return y + z
            with torch.autocast("cpu", dtype=torch.bfloat16):
                f(torch.ones(2, 2, requires_grad=True))
            with torch.no_grad():
                f(torch.ones(2, 2))
        """
        first, second = self.capture(text)["calls"]
        regions = [(r["kind"], r["first"], r["last"]) for r in first["program"]["regions"]]
        self.assertEqual(regions, [("autocast_off", 0, 0), ("no_grad", 1, 1)])
        self.assertTrue(first["program"]["call"]["autocast"])
        self.assertEqual(second["program"]["call"]["backward"], "none")

    def test_loop_is_recorded_once_per_kind_of_call(self) -> None:
        answer = self.capture("""
            f = torch.compile(lambda x: x + 1)
            for _ in range(50):
                f(torch.zeros(2)); f(torch.zeros(2, dtype=torch.int64))
        """)
        self.assertEqual(
            [c["arguments"] for c in answer["calls"]], [["float32 (2,)"], ["int64 (2,)"]]
        )

    def test_the_look_leaves_no_trace(self) -> None:
        answer = self.capture("""
            norm = torch.nn.BatchNorm1d(2)
            seed = torch.get_rng_state()
            x = torch.arange(8.0).reshape(4, 2)
            torch.compile(norm)(x)
            assert int(norm.num_batches_tracked) == 1
            assert torch.equal(seed, torch.get_rng_state())
            y = torch.zeros(3)
            torch.compile(lambda t: t.add_(1))(y)
            assert y.tolist() == [1, 1, 1]
        """)
        self.assertIsNone(answer["error"])


class OpaqueTest(Captured):
    TEXT = """
        def f(x, rest):
            if x.sum().item() > 0:
                x = x * 2
            return {"a": x.cos(), "b": [rest[0] + 1, 3]}
        x = torch.ones(3, requires_grad=True)
        out = torch.compile(f)(x, rest=(torch.zeros(2), "text"))
        out["a"].sum().backward()
    """

    def test_what_is_no_single_graph_calls_the_function(self) -> None:
        (call,) = self.capture(self.TEXT)["calls"]
        self.assertTrue(call["opaque"])
        self.assertIn("data-dependent", call["why_opaque"])
        (statement,) = call["program"]["statements"]
        self.assertEqual(statement["op"], capture.EXTERN)
        self.assertEqual(statement["results"], 2)
        self.assertEqual(call["program"]["outputs"][0]["layout"], "expanded")

    def test_opaque_program_runs_in_a_process_that_knows_only_the_file(self) -> None:
        (call,) = self.capture(self.TEXT)["calls"]
        capture._externs.clear()
        leaves = [torch.full((3,), 2.0), torch.zeros(2)]
        a, b = graph.run(call["program"], leaves)
        self.assertTrue(torch.equal(a, torch.full((3,), 4.0).cos()))
        self.assertEqual(b.tolist(), [1, 1])

    def test_random_numbers_and_transforms_have_no_program(self) -> None:
        answer = self.capture("""
            f = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.5))
            f(torch.ones(4))
            g = torch.compile(lambda x: x.sin())
            torch.func.vmap(g)(torch.ones(2, 2))
        """)
        random, vmapped = answer["calls"]
        self.assertTrue(random["random"])
        self.assertIsNone(random["program"])
        self.assertIn("transform", vmapped["why_opaque"])

    def test_hazards(self) -> None:
        answer = self.capture("""
            i = torch.tensor([1, 1])
            torch.compile(lambda x: x.index_copy(0, i, torch.tensor([1.0, 2.0])))(torch.zeros(3))
            torch.compile(lambda x, i, v: x.index_copy(0, i, v))(torch.zeros(3), i, torch.tensor([1.0, 2.0]))
            torch.compile(lambda x, i, v: x.index_copy(0, i, v))(torch.zeros(3), i, torch.tensor([2.0, 2.0]))
            torch.compile(lambda x, i: x.index_put((i,), x[i], accumulate=True))(torch.zeros(3), i)
            torch.compile(lambda x: torch.empty(3) + x)(torch.zeros(3))
        """)
        found = [call["hazards"] for call in answer["calls"]]
        self.assertEqual(found[1:], [["duplicate indices"], [], [], ["uninitialised memory"]])


class ScriptsTest(Captured):
    def test_error_names_the_line(self) -> None:
        answer = capture.capture({"path": str(SCRIPTS / "typo.py"), "device": "cpu"})
        self.assertEqual(answer["error"]["type"], "NameError")
        self.assertEqual(answer["error"]["line"], 11)
        self.assertEqual(len(answer["calls"]), 1)

    def test_syntax_error(self) -> None:
        self.assertEqual(self.capture("def f(:\n  pass")["error"]["type"], "SyntaxError")

    def test_prints_go_to_the_log_and_stdin_is_closed(self) -> None:
        answer = self.capture("print('hello'); print(torch.ones(2))")
        self.assertEqual(answer["log"], "hello\ntensor([1., 1.])\n")

    def test_main_block_and_folder_of_its_own(self) -> None:
        here = os.getcwd()
        answer = self.capture("""
            import os, sys
            assert sys.argv[1:] == [] and os.listdir() == []
            open("left behind", "w").write("x")
            if __name__ == "__main__":
                torch.compile(lambda x: x + 1)(torch.zeros(1))
        """)
        self.assertIsNone(answer["error"])
        self.assertEqual(len(answer["calls"]), 1)
        self.assertEqual(os.getcwd(), here)

    @unittest.skipIf(torch.cuda.is_available(), "there is a GPU")
    def test_cuda_script_runs_on_the_cpu(self) -> None:
        answer = capture.capture({"path": str(SCRIPTS / "cuda_only.py"), "device": "cpu"})
        self.assertTrue(answer["mapped_to_cpu"])
        self.assertIsNone(answer["error"])
        self.assertIn("float32 (1,)", answer["calls"][0]["arguments"])

    def test_torch_compile_is_back_afterwards(self) -> None:
        before = torch.compile
        self.capture("raise ValueError")
        self.assertIs(torch.compile, before)

    def test_case_form(self) -> None:
        answer = self.capture("""
            COMPILE = dict(dynamic=True)
            def make(dev):
                return [torch.ones(3, device=dev).requires_grad_()]
            def fn(x):
                return x * 2
            def loss(outs):
                return outs[0].sum()
        """)
        self.assertEqual(answer["form"], "case")
        self.assertTrue(answer["calls"][0]["backward"])
        self.assertEqual(answer["calls"][0]["program"]["call"]["dynamic"], "yes")


class RerunTest(Captured):
    """With a backend of torch's own in which relu is wrong."""

    def setUp(self) -> None:
        super().setUp()
        rungs._RUNGS["planted"] = ("relu_accuracy_error_TESTING_ONLY", [])
        self.addCleanup(rungs._RUNGS.pop, "planted")

    TEXT = """
        x = torch.tensor([-1.0, 2.0], requires_grad=True)
        out = torch.compile(lambda x: torch.relu(x))(x)
        out.sum().backward()
    """

    def test_right_rung_shows_nothing(self) -> None:
        answer = self.rung(self.TEXT, "dynamo")
        self.assertEqual((answer["differences"], answer["error"]), ([], None))
        self.assertEqual((answer["calls"], answer["graphs"]), (1, 1))

    def test_wrong_output_is_measured(self) -> None:
        answer = self.rung(self.TEXT, "planted")
        first = answer["differences"][0]
        self.assertEqual((first["call"], first["what"]), (0, "out0"))
        self.assertEqual((first["numel"], first["wrong"], first["assert_close"]), (2, 1, False))

    def test_assertion_of_the_script_is_an_error_of_the_rung_only(self) -> None:
        answer = self.rung(self.TEXT + "    assert out.max() == 2, 'not two'\n", "planted")
        self.assertIsNone(answer["eager_error"])
        self.assertEqual(
            (answer["error"]["type"], answer["error"]["message"]), ("AssertionError", "not two")
        )

    def test_whose_assertion_it_is(self) -> None:
        for check, own in (
            ("assert out.max() == 2", True),
            ("torch.testing.assert_close(out, x.relu())", True),
            ("raise SystemExit(1)", True),
            ("import os; os._exit(1)", True),
            ("torch._C._dynamo.guards.assert_size_stride(out, (3,), (1,))", True),
            ("torch.nn.functional.embedding(x, x)", False),
        ):
            error = self.rung(self.TEXT + "    " + check + "\n", "planted")["error"]
            self.assertEqual(error["own"], own, check)

    def test_check_form(self) -> None:
        text = """
            def check(dev, backend):
                f = lambda x: torch.relu(x)
                x = torch.ones(2, device=dev)
                return not torch.equal(f(x), torch.compile(f, backend=backend)(x)), "detail"
        """
        self.assertEqual(self.rung(text, "planted")["check"], {"wrong": True, "detail": "detail"})
        self.assertEqual(self.rung(text, "dynamo")["check"], {"wrong": False, "detail": "detail"})

    def test_random_numbers_are_the_same_under_every_rung(self) -> None:
        text = """
            f = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.5))
            a = f(torch.ones(100))
            b = torch.compile(lambda x: x + torch.randn(3))(torch.zeros(3))
        """
        self.assertEqual(self.rung(text, "dynamo")["differences"], [])

    def test_grad_inside_the_compiled_function(self) -> None:
        text = """
            def f(x):
                (g,) = torch.autograd.grad(x.sin().sum(), x)
                return g
            x = torch.ones(3, requires_grad=True)
            out = torch.compile(f)(x)
            (g,) = torch.autograd.grad(x.exp().sum(), x)
        """
        answer = self.rung(text, "dynamo")
        self.assertEqual((answer["differences"], answer["error"]), ([], None))


if __name__ == "__main__":
    unittest.main()
