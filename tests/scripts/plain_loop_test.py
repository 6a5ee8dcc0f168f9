# SPDX-License-Identifier: BSD-3-Clause
"""scripts/plain_loop.py: what it counts must be right, or the benchmark compares nothing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
import unittest
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("plain_loop", ROOT / "scripts/plain_loop.py")
plain_loop = importlib.util.module_from_spec(spec)
sys.modules["plain_loop"] = plain_loop
spec.loader.exec_module(plain_loop)

MODULE = """
import torch

def inputs(device="cpu", draw=0):
    x0 = (torch.arange(6.0) + draw).reshape(2, 3).to(device).requires_grad_()
    x1 = torch.ones(3, device=device).requires_grad_()
    x2 = torch.zeros(3, device=device)
    return [x0, x1, x2]

def program(x0, x1, x2):
    v3 = torch.mul(x0, x0)
    v4 = torch.add(v3, x2)
    return (v4,)

def cotangents(outputs, draw=0):
    return [torch.ones_like(outputs[0])]
"""


class PlainLoopTest(unittest.TestCase):
    def observe(self, call: str = ""):
        module = plain_loop.load(MODULE + call, "test")
        return plain_loop.observe(module.program, module, "cpu", module.inputs, [], 0)

    def test_gradients_of_the_leaves_that_want_one(self):
        outputs, gradients = self.observe()
        x = torch.arange(6.0).reshape(2, 3)
        self.assertTrue(torch.equal(outputs[0], x * x))
        self.assertEqual(len(gradients), 2)
        self.assertTrue(torch.equal(gradients[0], 2 * x))
        self.assertIsNone(gradients[1])

    def test_call_plans(self):
        x = torch.arange(6.0).reshape(2, 3)
        self.assertEqual(self.observe('CALL = dict(backward="none")\n')[1], [])
        twice = self.observe('CALL = dict(backward="accumulate")\n')[1]
        self.assertTrue(torch.equal(twice[0], 4 * x))
        double = self.observe('CALL = dict(backward="double")\n')[1]
        self.assertTrue(torch.equal(double[2], torch.full((2, 3), 2.0)))

    def test_second_calls_are_made_on_every_draw(self):
        second = "\ndef second_inputs(device='cpu', draw=0):\n    return [torch.ones(3, 3)] * 3\n"
        self.assertEqual(len(plain_loop.calls(plain_loop.load(MODULE, "one"), 3)), 3)
        module = plain_loop.load(MODULE + second, "two")
        made = [make(draw=draw)[0].shape for make, _, draw in plain_loop.calls(module, 3)]
        self.assertEqual(made, [torch.Size([2, 3])] * 3 + [torch.Size([3, 3])] * 3)

    def test_settings_are_set_and_put_back(self):
        import torch._inductor.config as inductor

        before = inductor.max_fusion_size, torch.get_num_threads()
        with plain_loop.settings({"inductor.max_fusion_size": 3, "runtime.num_threads": 2}):
            self.assertEqual((inductor.max_fusion_size, torch.get_num_threads()), (3, 2))
        self.assertEqual((inductor.max_fusion_size, torch.get_num_threads()), before)

    def test_none_is_not_zero(self):
        zero = torch.zeros(2)
        self.assertTrue(plain_loop.close(None, None))
        self.assertFalse(plain_loop.close(None, zero))
        self.assertFalse(plain_loop.close(zero, None))

    def test_close_sees_values_shapes_and_nan(self):
        one = torch.ones(2)
        self.assertTrue(plain_loop.close(one, one + 1e-7))
        self.assertFalse(plain_loop.close(one, one + 1e-3))
        self.assertFalse(plain_loop.close(one, torch.ones(3)))
        self.assertFalse(plain_loop.close(one, one * float("nan")))
        self.assertTrue(plain_loop.close(one * float("nan"), one * float("nan")))

    def test_cpu_time_of_living_and_ended_children_counts(self):
        burn = (
            "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"
        )
        before = plain_loop.tree_cpu_seconds()
        subprocess.run([sys.executable, "-c", burn], check=True)
        ended = plain_loop.tree_cpu_seconds()
        self.assertGreaterEqual(ended - before, 0.25)
        child = subprocess.Popen(
            [sys.executable, "-c", burn + "print(flush=True)\ntime.sleep(60)"],
            stdout=subprocess.PIPE,
        )
        try:
            child.stdout.readline()
            self.assertGreaterEqual(plain_loop.tree_cpu_seconds() - ended, 0.25)
        finally:
            child.kill()
            child.wait()
            child.stdout.close()

    def test_time_outside_torch_does_not_count(self):
        totals = plain_loop.Totals()
        with totals.in_torch():
            time.sleep(0.02)
        time.sleep(0.05)
        self.assertGreaterEqual(totals.torch_seconds, 0.02)
        self.assertLess(totals.torch_seconds, 0.05)


if __name__ == "__main__":
    unittest.main()
