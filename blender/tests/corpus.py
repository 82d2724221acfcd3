#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports every file of folders through the installed extension, in a process that is restarted after a crash or a hang.

    corpus.py PYTHON FOLDER..     PYTHON has `bpy`; folders contain FORMAT/valid, and perhaps FORMAT/bad and FORMAT/large

Valid files must be imported with the file's values, or refused with a reason. Damaged files may be refused, but must not crash or
hang Blender. Prints each problem, then the counts. Exit status 1 if there are problems.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

MOST_SECONDS = 20.0
SUFFIXES = {".cgeo", ".iqm", ".ctm", ".slmesh", ".llmesh", ".slm", ".tmf"}
SKIN_TOLERANCE = 2e-5
WORKER = Path(__file__).with_name("worker.py")


class Worker:
    """A Blender that imports one file after the other."""

    def __init__(self, python: str) -> None:
        self.process = subprocess.Popen(
            [python, "-u", str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        if self.result(60) is None:
            raise SystemExit("Blender did not start, or the extension is not installed")

    def read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def result(self, seconds: float) -> dict | None:
        """The next result; None if the process ended or needs longer."""
        self.log: list[str] = []
        while True:
            try:
                line = self.lines.get(timeout=seconds)
            except queue.Empty:
                self.log.append(f"no result after {seconds:g} s")
                return None
            if line is None:
                self.log.append(f"Blender ended with {self.process.wait()}")
                return None
            if line.startswith("RESULT "):
                return json.loads(line.removeprefix("RESULT "))
            self.log.append(line.rstrip())

    def ask(self, path: Path) -> dict | None:
        assert self.process.stdin
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        # The comparison of all frames of an animation takes longer than the import.
        return self.result(MOST_SECONDS * 10)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def main(python: str, folders: list[str]) -> int:
    paths = sorted(
        path
        for folder in folders
        for path in Path(folder).rglob("*")
        if path.suffix in SUFFIXES and path.parent.name in ("valid", "bad", "large", "extras")
    )
    total, problems, refusals, slowest = Counter(), [], [], (0.0, "")
    worker = Worker(python)
    for path in paths:
        result = worker.ask(path)
        kind = "bad" if path.parent.name == "bad" else "valid"
        if result is None:
            problems.append(f"{path}: {worker.log[-1]}")
            worker.end()
            worker = Worker(python)
            continue
        slowest = max(slowest, (result["seconds"], path.name))
        if result["seconds"] > MOST_SECONDS:
            problems.append(f"{path}: the import took {result['seconds']:.1f} s")
        if "Traceback" in result["refused"]:
            problems.append(f"{path}: {' | '.join(result['refused'].splitlines()[-4:])}")
            continue
        if result["refused"]:
            total[f"{kind} refused"] += 1
            if kind == "valid":
                refusals.append(f"{path.name}: {result['refused'].splitlines()[0]}")
            continue
        total[f"{kind} imported"] += 1
        if kind == "bad":
            continue
        if "differs" in result:
            problems.append(f"{path}: {result['differs']}")
        if result.get("skin_error", 0) > SKIN_TOLERANCE and any("shears bones" in line for line in worker.log):
            total["with shear that is reported"] += 1
        elif result.get("skin_error", 0) > SKIN_TOLERANCE:
            problems.append(f"{path}: skinned vertices differ by {result['skin_error']:.2g} of the size")
        if "not_compared" in result:
            total["valid imported in part, not compared"] += 1
        for key in ("meshes", "uvs", "colors", "light", "normals", "hashes", "skinned", "armatures", "actions", "snapshots"):
            total[key] += result[key]
    worker.end()
    for line in refusals:
        print("refused", line)
    for line in problems:
        print("PROBLEM", line)
    print(f"{len(paths)} files; " + ", ".join(f"{count} {key}" for key, count in total.items()))
    print(f"slowest import: {slowest[0]:.2f} s, {slowest[1]}")
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
