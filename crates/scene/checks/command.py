"""The command `meshmap`, which writes the files of most doors."""

import os
import subprocess
from pathlib import Path

from drawn import Absent, Moment


def convert(path: Path, output: Path, options: tuple[str, ...] = ()) -> Path:
    """Converts a file. Raises `Absent` with the reason if the command refuses it."""
    command = [os.environ["MESHMAP"], "convert", str(path), "-o", str(output), "--force", "--quiet", *options]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode < 0 or "panicked" in done.stderr:
        raise RuntimeError(f"status {done.returncode}: {done.stderr[-500:]}")
    if done.returncode:
        raise Absent(done.stderr.strip().split("\n")[-1])
    return output


def options_of(moment: Moment) -> tuple[str, ...]:
    """The options for one moment, for targets that hold one. Raises `Absent` if no option names it."""
    if moment.kind == "snapshot":
        return ("--snapshot", f"{moment.frame:g}")
    if moment.kind == "between":
        raise Absent("one snapshot")
    if moment.kind == "clip":
        if not moment.is_named:
            raise Absent("a clip whose name is not its own")
        return ("--anim", moment.name, "--frame", f"{moment.frame:g}")
    if moment.kind == "level":
        return ("--lod", moment.name.removesuffix("_lod"))
    return ()
