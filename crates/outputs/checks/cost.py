#!/usr/bin/env python3
"""The cost of many small outputs: `convert` of 20,000 files, and again when all are up to date.

    cost.py TEST_DATA MESHMAP .. [--rounds N] [--folder DIR]

Prints a table with one row per command: user, system and wall time of the first and of the second run, and the size of
all that is not an output. The commands take turns, and times are minima of all rounds. On a disk the system time varies
by a factor of 2: give the same command twice to see by how much. In /dev/shm it varies less.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

FOLDERS = 200
FILES = 100

# Small valid files. Their copies take turns.
VARIANTS = ("no_names.iqm", "fmt_byte.iqm", "custom.iqm", "va_shared_bytes.iqm")

# The seconds of user, system and wall time.
Times = tuple[float, float, float]


@dataclass
class Costs:
    """The measurements of one command."""

    first: list[Times] = field(default_factory=list)
    second: list[Times] = field(default_factory=list)
    allocated: int = 0
    length: int = 0
    count: int = 0


def make_inputs(data: Path, folder: Path) -> None:
    """Copies the variants to 200 folders of 100 files."""
    contents = [(data / "iqm/valid" / name).read_bytes() for name in VARIANTS]
    for outer in range(FOLDERS):
        inner_folder = folder / f"d{outer:03}"
        inner_folder.mkdir(parents=True)
        for inner in range(FILES):
            (inner_folder / f"f{inner:03}.iqm").write_bytes(contents[inner % len(contents)])


def measure(meshmap: Path, folder: Path, output: str, expected: str) -> Times:
    """Converts everything and returns the times. The summary must contain `expected`, without commas."""
    os.sync()
    with tempfile.TemporaryFile("w+") as out:
        begin = time.monotonic()
        process = subprocess.Popen(
            [meshmap, "convert", "in", "--to", "glb", "-o", output, "-j", "2"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        summary = (out.read().splitlines() or [""])[-1]
    if process.returncode != 0 or expected not in summary.replace(",", ""):
        sys.exit(f"{meshmap}: status {process.returncode}: {summary}")
    return usage.ru_utime, usage.ru_stime, wall


def measure_extra(costs: Costs, folder: Path) -> None:
    """Adds up the sizes of everything that is not an output: hidden files and folders, with their contents."""
    costs.allocated = costs.length = costs.count = 0
    for root, folders, files in os.walk(folder):
        is_hidden = any(part.startswith(".") for part in Path(root).relative_to(folder).parts)
        names = files + [name for name in folders if is_hidden or name.startswith(".")]
        for name in names:
            if is_hidden or name.startswith(".") or (name in files and not name.endswith(".glb")):
                stat = os.lstat(os.path.join(root, name))
                costs.allocated += stat.st_blocks * 512
                costs.count += 1
                if name in files:
                    costs.length += stat.st_size


def main() -> None:
    """Measures all commands and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, metavar="TEST_DATA", help="the folder tests/data")
    parser.add_argument("commands", type=Path, nargs="+", metavar="MESHMAP", help="the commands to compare")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds [default: 3]")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where to make the temporary folder")
    arguments = parser.parse_args()
    commands = [path.resolve() for path in arguments.commands]
    costs = [Costs() for _ in commands]
    total = FOLDERS * FILES

    with tempfile.TemporaryDirectory(prefix="meshmap-cost-", dir=arguments.folder) as temporary:
        folder = Path(temporary)
        make_inputs(arguments.data, folder / "in")
        for _ in range(arguments.rounds):
            for number in range(len(commands)):
                shutil.rmtree(folder / f"o{number}", ignore_errors=True)
            for number, command in enumerate(commands):
                costs[number].first.append(measure(command, folder, f"o{number}", f"{total} files written"))
            for number, command in enumerate(commands):
                costs[number].second.append(measure(command, folder, f"o{number}", f" 0 files written {total} up"))
        for number in range(len(commands)):
            measure_extra(costs[number], folder / f"o{number}")

    print(f"{total:,} files, minima of {arguments.rounds} rounds, {os.cpu_count()} cores; s of user, system, wall time")
    print(f"{'first run':>21} {'second run':>21} {'not outputs: KiB on disk':>26} {'KiB':>7} {'files':>6}   command")
    for command, cost in zip(commands, costs):
        first = " ".join(f"{min(values):6.2f}" for values in zip(*cost.first))
        second = " ".join(f"{min(values):6.2f}" for values in zip(*cost.second))
        extra = f"{cost.allocated / 1024:26,.0f} {cost.length / 1024:7,.0f} {cost.count:6}"
        print(f"{first:>21} {second:>21} {extra}   {command}")


if __name__ == "__main__":
    main()
