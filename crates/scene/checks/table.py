"""The conformance table: files by doors.

    table.py DOOR,.. FILE..    compares what each door shows of each file with column zero

Prints each difference, each kind of exception and its count, and the table. Exit status 1 if something differs that `exceptions.py`
does not list.
"""

import importlib
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compare import Bounds, Difference, Match, Result, compare, match, size_of
from drawn import Absent, Corners, Door, Moment, Pictures
from exceptions import reason
from zero import Zero, column_zero


@dataclass
class Cell:
    """A file through a door."""

    agree: int = 0
    excepted: int = 0
    differ: int = 0
    largest: float = 0.0

    def __str__(self) -> str:
        parts = [str(self.agree)]
        if self.excepted:
            parts.append(f"{self.excepted} excepted")
        if self.differ:
            parts.append(f"{self.differ} DIFFER")
        return ", ".join(parts) + f" ({self.largest:.1e})"


@dataclass
class Table:
    """All cells, and what was found on the way."""

    doors: list[str]
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    is_quiet: bool = False

    def cell(self, zero: Zero, door: str) -> Cell:
        return self.cells.setdefault((str(zero.stored.path), door), Cell())

    def report(self, zero: Zero, door: str, moment: Moment, difference: Difference) -> None:
        """Counts a difference, as an exception or as one to look at."""
        why = reason(door, zero, moment, difference)
        if why is not None:
            self.cell(zero, door).excepted += 1
            self.reasons[door, why] += 1
            return
        self.cell(zero, door).differ += 1
        self.differences.append(difference)
        if self.is_quiet:
            return
        amount = "" if difference.amount == float("inf") else f", {difference.amount:.2g} apart"
        print(
            f"DIFFERS {zero.stored.path}: {door}: {moment}: {difference.what}: expected {difference.expected}, "
            f"found {difference.found}{amount}",
            flush=True,
        )


def check_file(table: Table, path: Path) -> None:
    try:
        zero = column_zero(path)
    except Exception as error:
        print(f"DIFFERS {path}: column zero: {type(error).__name__}: {error}")
        table.differences.append(Difference("column zero", "", str(error)))
        return
    shown = {moment: zero.at(moment) for moment in zero.moments}
    for name in table.doors:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            check_door(table, zero, shown, name, Path(folder), opener(name))
        table.seconds[name] = table.seconds.get(name, 0.0) + time.monotonic() - begin


def opener(name: str) -> Any:
    return getattr(importlib.import_module(name), f"{name.capitalize()}Door")


def check_door(table: Table, zero: Zero, shown: dict[Moment, Corners], name: str, folder: Path, opens: Any) -> None:
    """Compares what a door shows at all moments. `opens` makes the door of a path and a folder for its outputs."""
    rest = zero.moments[0]
    try:
        door: Door = opens(zero.stored.path, folder)
    except Absent as error:
        if len(shown[rest]):
            table.report(zero, name, rest, Difference("absent", kind_of(shown[rest]), str(error)))
        else:
            # There is nothing to show.
            table.cell(zero, name).agree += 1
        return
    except Exception as error:
        table.report(zero, name, rest, crash(error))
        return
    check_names(table, zero, name, door)
    pairs: Match | None = None
    for moment, expected in shown.items():
        # Differences from the first snapshot are rounded in its size.
        size = max(size_of(expected), size_of(shown[rest]))
        try:
            if isinstance(door, Pictures):
                result = door.compare(moment, expected)
            else:
                found = door.at(moment)
                # Joints move the triangles of the rest pose; each snapshot may have other triangles.
                if pairs is None or moment.kind != "clip":
                    pairs = pairs_of(expected, found, door, size)
                result = result_of(expected, found, pairs, bounds_of(door), size)
        except Absent as error:
            table.report(zero, name, moment, Difference("absent", str(moment), str(error)))
        except Exception as error:
            table.report(zero, name, moment, crash(error))
        else:
            count(table, zero, name, moment, result)


def crash(error: Exception) -> Difference:
    """A failure of the door, or of its reader."""
    return Difference("crash", "none", f"{type(error).__name__}: {error}")


def result_of(expected: Corners, found: Corners, pairs: Match | None, bounds: Bounds, size: float) -> Result:
    if pairs is None:
        return Result(0.0, [Difference("triangles", kind_of(expected), kind_of(found))])
    return compare(expected, found, pairs, bounds, size)


def check_names(table: Table, zero: Zero, name: str, door: Door) -> None:
    """Checks that a door has the names of all materials and images."""
    names, shown = zero.names(), door.names()
    if not names or shown is None:
        return
    missing = sorted(names - shown)
    if missing:
        table.report(zero, name, Moment("names"), Difference("names", str(missing[:3]), str(sorted(shown)[:3])))
    else:
        table.cell(zero, name).agree += 1


def bounds_of(door: Door) -> Bounds:
    return getattr(door, "bounds", Bounds())


def pairs_of(expected: Corners, found: Corners, door: Door, size: float) -> Match | None:
    if expected.are_points() != found.are_points() and len(expected) + len(found):
        return None
    return match(expected, found, bounds_of(door).positions * 4, size)


def kind_of(corners: Corners) -> str:
    return f"{len(corners)} {'points' if corners.are_points() else 'triangles'}"


def count(table: Table, zero: Zero, name: str, moment: Moment, result: Result) -> None:
    cell = table.cell(zero, name)
    if not result.differences:
        cell.agree += 1
        cell.largest = max(cell.largest, result.worst)
    for difference in result.differences:
        table.report(zero, name, moment, difference)


def short(path: Path) -> str:
    """A path without the folder of all files."""
    return "/".join(path.parts[-3:])


def print_table(table: Table, files: list[Path]) -> None:
    widths = [max(len(str(table.cells.get((str(path), door), "")).ljust(6)) for path in files) for door in table.doors]
    print("| file | " + " | ".join(door.ljust(width) for door, width in zip(table.doors, widths)) + " |")
    print("|---" * (1 + len(table.doors)) + "|")
    for path in files:
        cells = [str(table.cells.get((str(path), door), "")).ljust(width) for door, width in zip(table.doors, widths)]
        print(f"| {short(path)} | " + " | ".join(cells) + " |")


def main(arguments: list[str]) -> int:
    table = Table(arguments[0].split(","))
    files = [Path(argument) for argument in arguments[1:]]
    for path in files:
        check_file(table, path)
    print_table(table, files)
    for (door, why), count in sorted(table.reasons.items()):
        print(f"exception {door}: {count} x {why}")
    for door in table.doors:
        cells = [cell for (_, name), cell in table.cells.items() if name == door]
        agree, excepted, differ = (sum(getattr(cell, kind) for cell in cells) for kind in ("agree", "excepted", "differ"))
        largest = max((cell.largest for cell in cells), default=0.0)
        print(
            f"{door}: {len(cells)} files: {agree} agree, {excepted} excepted, {differ} differ, largest {largest:.1e}, {table.seconds[door]:.0f} s"
        )
    return 1 if table.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
