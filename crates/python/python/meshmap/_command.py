"""The command ``meshmap``."""

from __future__ import annotations

import signal
import sys

from . import _meshmap


def main() -> int:
    """Runs the command with the arguments of this process, and returns its exit status."""
    # Python only records Ctrl-C, for Python code that never runs here.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _meshmap.run(["meshmap", *sys.argv[1:]])
