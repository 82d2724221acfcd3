"""Work that ends its process, for tests of what is left then. Other processes import this module."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pyarrow as pa

from meshmap._plan import Task


def work(task: Task) -> pa.Table:
    """The name of the file, unless it says that something happens."""
    (path,) = map(str, task.paths())
    name = Path(path).name
    if name.startswith("kill"):
        os.kill(os.getpid(), signal.SIGKILL)
    if name.startswith("once"):
        marker = Path(path + ".seen")
        if not marker.exists():
            marker.touch()
            os._exit(3)
    if name.startswith("exit"):
        os._exit(3)
    if name.startswith("wait"):
        time.sleep(60)
    if name.startswith("raise"):
        raise ValueError(f"{name} is bad")
    if name.startswith("memory"):
        bytearray(512 << 20)
    if name.startswith("print"):
        print("a line of a library")
        print("another one", file=sys.stderr)
    return pa.table({"name": [name]})
