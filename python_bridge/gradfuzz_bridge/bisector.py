# SPDX-License-Identifier: BSD-3-Clause
"""Asks torch's own CompilerBisector which part of the compiler makes a script fail.

It runs in a child process: the bisector prints, keeps state and switches parts of the compiler off.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile
from typing import Any

_MARK = "gradfuzz-bisect:"


def bisect(request: dict[str, Any]) -> dict[str, Any]:
    """Bisects a script that says by its exit whether it is wrong.

    Args:
      request: {"text": source of a script that leaves with a non-zero code or raises when the
        compiled result is wrong, "seconds": deadline}.

    Returns:
      {"backend", "subsystem", "number", "detail"}, or {"error": why there is no answer}.
    """
    with tempfile.TemporaryDirectory(prefix="bisect-") as folder:
        path = os.path.join(folder, "repro.py")
        pathlib.Path(path).write_text(request["text"], encoding="utf-8")
        here = str(pathlib.Path(__file__).resolve().parents[1])
        try:
            child = subprocess.run(
                [sys.executable, "-m", "gradfuzz_bridge.bisector", path],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": here, "PYTHONDONTWRITEBYTECODE": "1"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=request.get("seconds", 100),
            )
        except subprocess.TimeoutExpired:
            return {"error": "the bisector did not come to an end in time"}
    for line in child.stdout.splitlines():
        if line.startswith(_MARK):
            return json.loads(line.removeprefix(_MARK))
    last = child.stderr.strip().splitlines()[-1:] or [f"exit code {child.returncode}"]
    return {"error": f"the bisector failed: {last[0]}"[:500]}


def _is_good(path: str) -> bool:
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            runpy.run_path(path, run_name="__main__")
    except SystemExit as leave:
        return leave.code in (None, 0)
    except Exception:
        return False
    return True


def _main(path: str) -> None:
    import torch
    from torch._inductor.compiler_bisector import CompilerBisector

    def good() -> bool:
        torch._dynamo.reset()
        return _is_good(path)

    torch._inductor.config.force_disable_caches = True
    sys.argv = [path]
    if good():
        answer: dict[str, Any] = {"error": "it was right when the bisector looked"}
    else:
        with contextlib.redirect_stdout(sys.stderr):
            found = CompilerBisector.do_bisect(good)
        if found is None:
            answer = {"error": "the bisector found no part that is at fault"}
        else:
            facts = dataclasses.asdict(found)
            answer = {
                "backend": facts["backend"],
                "subsystem": facts["subsystem"],
                "number": facts["bisect_number"],
                "detail": None if facts["debug_info"] is None else str(facts["debug_info"])[:500],
            }
    print(_MARK + json.dumps(answer), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1])
