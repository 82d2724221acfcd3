"""The command ``meshmap``."""

from __future__ import annotations

import signal
import sys

from . import _meshmap


def main() -> int:
    """Runs the command with the arguments of this process, and gives its exit status."""
    # Python only takes a note of Ctrl-C, for code in Python that never runs here.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _meshmap.run(["meshmap", *sys.argv[1:]])
