# SPDX-License-Identifier: BSD-3-Clause
"""Talks to a real gradfuzz-worker as the parent does: frames over a socketpair."""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import unittest
from typing import Any


class WorkerDied(RuntimeError):
    """The worker closed the connection."""


class WorkerTestCase(unittest.TestCase):
    """Tests that share one worker."""

    worker: Worker

    @classmethod
    def setUpClass(cls) -> None:
        cls.worker = Worker()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.worker.__exit__()


class Worker:
    """One worker process; use as a context manager."""

    def __init__(self, executable: str | None = None, deadline: float = 300) -> None:
        executable = executable or os.environ["GRADFUZZ_WORKER"]
        self.cache = tempfile.mkdtemp(prefix="gradfuzz-test-")
        machine = os.environ.get("GRADFUZZ_MACHINE_CACHE", self.cache + "/machine")
        ours, theirs = socket.socketpair()
        ours.settimeout(deadline)
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [
                executable,
                "--fd",
                str(theirs.fileno()),
                "--cache-dir",
                self.cache + "/programs",
                "--machine-cache",
                machine,
            ],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self.stderr,
            stderr=self.stderr,
            start_new_session=True,
        )
        theirs.close()
        self._socket = ours
        self.ready = self.read()
        if self.ready["type"] != "ready":
            raise WorkerDied(str(self.ready))

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.cache, ignore_errors=True)

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        self._socket.sendall(struct.pack("<I", len(data)) + data)

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            if not more:
                raise WorkerDied(self.log())
            data += more
        return data

    def log(self) -> str:
        self.stderr.seek(0)
        return self.stderr.read().decode(errors="replace")[-4000:]

    def read(self) -> dict[str, Any]:
        (length,) = struct.unpack("<I", self._exactly(4))
        return json.loads(self._exactly(length))

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """One request that has one answer."""
        self.send(message)
        return self.read()

    def parse(self, path: str) -> dict[str, Any]:
        with open(path, encoding="utf-8") as file:
            return self.parse_text(file.read(), path)

    def parse_text(self, text: str, path: str = "text") -> dict[str, Any]:
        """The program and header of a module's text; errors name `path`."""
        answer = self.ask({"type": "parse", "path": path, "text": text})
        if answer["type"] != "answer":
            raise ValueError(answer["message"])
        return answer

    def evaluate(
        self, items: list[dict], run: dict | None = None, generate: dict | None = None
    ) -> list[dict]:
        """The result frames of the items, in order."""
        self.send(
            {"type": "evaluate", "items": items, "run": run or {}, "generate": generate or {}}
        )
        results = []
        while True:
            frame = self.read()
            if frame["type"] == "done":
                return results
            if frame["type"] == "error":
                raise RuntimeError(frame["message"])
            if frame["type"] == "result":
                results.append(frame)
