#!/usr/bin/env python3
"""Attacks on the folder that `meshmap convert` writes to: names that collide, races, links, kills, a full disk.

    attacks.py MESHMAP TEST_DATA [--times N] [--big-times N] [NAME ..]

MESHMAP is the command, TEST_DATA the folder tests/data of the project. Each attack runs N times, each time in a new
temporary folder. Prints one line per attack: its name, the number of wrong results, and the reason of the first one.
The exit status is 1 if there is any. Needs Linux. The attack `full_disk` needs the right to mount a file system.
"""

import argparse
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

INDEX = ".meshmap-outputs.jsonl"

# The files that belong to an output, by its extension.
COMPANIONS = {".gltf": ".bin", ".obj": ".mtl"}

# A command that takes longer hangs. The large file of `big_buffers` has its own limit.
SECONDS = 20
BIG_SECONDS = 500

# The races of a repetition, for each pair of commands.
ROUNDS = 30

# The kills of a repetition.
KILLS = 20


class Failed(Exception):
    """A result so wrong that the attack cannot go on."""


class NotRun(Exception):
    """The attack is not possible on this machine."""


@dataclass
class Result:
    """The result of a command: its exit status, negative after a signal, and its output."""

    status: int
    out: str
    err: str

    def crashed(self) -> bool:
        """True after a signal, an abort or a panic, also one in a thread."""
        return self.status < 0 or self.status in (101, 134) or "panicked at" in self.err

    def wrote_nothing(self) -> bool:
        """True if the summary reports that all outputs were up to date."""
        return re.search(r"\b0 files written", self.out) is not None

    def summary(self) -> str:
        """The exit status and the end of the output, for a reason."""
        lines = (self.err + self.out).strip().splitlines()
        return f"status {self.status}: {lines[-1][:200] if lines else 'no message'}"


@dataclass
class Case:
    """One repetition of an attack: the command, the test data, and a folder that is empty at first."""

    meshmap: Path
    data: Path
    folder: Path

    def start(self, *arguments: str, memory: int | None = None) -> subprocess.Popen:
        """Starts `meshmap convert` in the folder, with a limit for its address space in bytes."""

        def limit() -> None:
            if memory is not None:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

        return subprocess.Popen(
            [self.meshmap, "convert", *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            preexec_fn=limit,
        )

    def finish(self, process: subprocess.Popen, seconds: int = SECONDS) -> Result:
        """Waits for the end of a command."""
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failed(f"no end within {seconds} s: convert {' '.join(process.args[2:])}") from None
        return Result(process.returncode, out, err)

    def convert(self, *arguments: str, seconds: int = SECONDS, memory: int | None = None) -> Result:
        """Runs `meshmap convert` to its end."""
        return self.finish(self.start(*arguments, memory=memory), seconds)

    def reference(self, *arguments: str) -> dict[str, bytes]:
        """Returns the outputs of a run in a folder that nothing else touches."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            result = self.convert(*arguments, "-o", folder)
            if result.status != 0:
                raise Failed(f"the reference cannot be made: {result.summary()}")
            return outputs(Path(folder))

    def valid(self) -> list[Path]:
        """Returns the valid IQM files of the test data."""
        return sorted((self.data / "iqm/valid").glob("*.iqm"))

    def put(self, path: str, number: int = 0) -> None:
        """Copies the valid file with this number to a path in the folder. Numbers beyond the last one begin again."""
        valid = self.valid()
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(valid[number % len(valid)], target)

    def put_many(self, folder: str, count: int, first: int = 0) -> None:
        """Copies `count` valid files, beginning with the number `first`, to f000.iqm, f001.iqm and so on."""
        for index in range(count):
            self.put(f"{folder}/f{index:03}.iqm", first + index)

    def keep(self, path: str) -> None:
        """Makes a file that must not change: see `is_kept`."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("KEEP\n")

    def is_kept(self, path: str) -> bool:
        """True if the folder of a file of `keep` has this file as it was, and nothing else."""
        target = self.folder / path
        return os.listdir(target.parent) == [target.name] and target.read_bytes() == b"KEEP\n"

    def empty(self, path: str) -> None:
        """Removes a folder, if it exists."""
        shutil.rmtree(self.folder / path, ignore_errors=True)


def files(folder: Path) -> Iterator[Path]:
    """The files, links, pipes and so on below a folder, which need not exist. Links are not followed."""
    for root, _, names in os.walk(folder):
        for name in names:
            yield Path(root, name)


def outputs(folder: Path) -> dict[str, bytes]:
    """The contents of the regular files that are not hidden, by their paths below the folder."""
    found = {}
    for path in files(folder):
        below = path.relative_to(folder)
        if path.is_file() and not path.is_symlink() and not str(below).startswith(".meshmap"):
            found[str(below)] = path.read_bytes()
    return found


def parts(folder: Path) -> list[str]:
    """The names of part files, which are left by commands that did not end in order."""
    return [path.name for path in files(folder) if path.name.startswith(".meshmap-") and path.name.endswith(".part")]


def differences(expected: dict[str, bytes], folder: Path) -> Iterator[str]:
    """One reason for each output that is missing or differs, and for each part file."""
    found = outputs(folder)
    for name, content in sorted(expected.items()):
        if name not in found:
            yield f"{name} is missing"
        elif found[name] != content:
            yield f"{name} differs"
    for name in sorted(set(found) - set(expected)):
        yield f"{name} was not expected"
    for name in parts(folder):
        yield f"{name} is left"


def incomplete(expected: dict[str, bytes], folder: Path) -> Iterator[str]:
    """One reason for each visible file that is not complete, and for each output without its companion."""
    found = outputs(folder)
    for name, content in sorted(found.items()):
        if expected.get(name) != content:
            yield f"{name} is visible and not complete"
        companion = companion_of(name)
        if companion in expected and companion not in found:
            yield f"{name} is there without {companion}"


def companion_of(name: str) -> str | None:
    """The name of the file that belongs to an output. None for formats of one file."""
    stem, extension = os.path.splitext(name)
    return stem + COMPANIONS[extension] if extension in COMPANIONS else None


# Names


def sparse_iqm(path: Path, vertices: int) -> None:
    """Writes an IQM file with one triangle and many vertices, nearly all of which are a hole in the file."""
    header = 124
    text = b"\0m\0"
    meshes = header + 4
    arrays = meshes + 24
    triangles = arrays + 40
    positions = triangles + 12
    positions += -positions % 16
    normals = positions + 12 * vertices
    end = normals + 12 * vertices
    fields = [2, end, 0, len(text), header, 1, meshes, 2, vertices, arrays, 1, triangles, 0] + [0] * 14
    with path.open("wb") as file:
        file.write(b"INTERQUAKEMODEL\0" + struct.pack("<27I", *fields))
        file.write(text.ljust(meshes - header, b"\0"))
        file.write(struct.pack("<6I", 1, 0, 0, vertices, 0, 1))
        file.write(struct.pack("<5I", 0, 0, 7, 3, positions) + struct.pack("<5I", 2, 0, 7, 3, normals))
        file.write(struct.pack("<3I", 0, 1, 2))
        file.seek(positions)
        file.write(struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0))
        file.truncate(end)


def big_buffers(case: Case) -> Iterator[str]:
    """A glTF above 2 GiB needs two buffers. The second one must not have the name of another file's buffer."""
    if shutil.disk_usage(case.folder).free < 6 << 30:
        raise NotRun("needs 6 GiB of disk")
    case.put("in/scan_1.iqm")
    sparse_iqm(case.folder / "in/scan.iqm", 90_500_000)
    result = case.convert("in", "--to", "gltf", "-o", "o", "-j", "1", seconds=BIG_SECONDS)
    if result.status != 0:
        yield result.summary()
        return
    users: dict[str, str] = {}
    for path in sorted((case.folder / "o").glob("*.gltf")):
        for buffer in json.loads(path.read_bytes())["buffers"]:
            uri, expected = buffer["uri"], buffer["byteLength"]
            if uri in users:
                yield f"{users[uri]} and {path.name} share {uri}"
            users[uri] = path.name
            file = path.parent / uri
            size = file.stat().st_size if file.is_file() else 0
            if size != expected:
                yield f"{path.name} has a buffer of {expected:,} bytes, and {uri} has {size:,}"
    if sorted(set(users.values())) != ["scan.gltf", "scan_1.gltf"]:
        yield f"buffers of {sorted(set(users.values()))} only"
    for name in parts(case.folder / "o"):
        yield f"{name} is left"


def refused(case: Case, names: list[str], *arguments: str) -> Iterator[str]:
    """The command must fail, name all of these, and write nothing to the folder o."""
    result = case.convert(*arguments, "-o", "o")
    if result.status == 0 or result.crashed():
        yield result.summary()
    for name in names:
        if name not in result.err:
            yield f"no message names {name}: {result.summary()}"
    for path in files(case.folder / "o"):
        yield f"{path.name} was written"


def colliding_buffers(case: Case) -> Iterator[str]:
    """An output has the name that a further buffer of another output would have."""
    case.put("in/scan.iqm")
    case.put("in/scan.gltf.1.iqm", 1)
    yield from refused(case, ["in/scan.iqm", "in/scan.gltf.1.iqm"], "in", "--to", "gltf")


def two_sources(case: Case) -> Iterator[str]:
    """Two files of one name, from two folders."""
    case.put("a/x.iqm")
    case.put("b/x.iqm", 1)
    yield from refused(case, ["a/x.iqm", "b/x.iqm"], "a/x.iqm", "b/x.iqm", "--to", "glb")


# Races


def race(case: Case, *commands: list[str]) -> list[Result]:
    """Runs commands at once, with up to 3 ms between their starts."""
    processes = []
    for command in commands:
        processes.append(case.start(*command))
        time.sleep(random.uniform(0, 0.003))
    return [case.finish(process) for process in processes]


def racing_inputs(case: Case) -> None:
    """Makes the folders a and b: different files with the same names."""
    case.put_many("a", 12)
    case.put_many("b", 12, first=5)


def came_from(main: str, expected: dict[str, bytes], found: dict[str, bytes]) -> bool:
    """True if an output and its companion are of one run."""
    companion = companion_of(main)
    for name in (main, companion):
        if name in expected and found.get(name) != expected[name]:
            return False
    return main in expected


def race_pairs(case: Case) -> Iterator[str]:
    """Two commands write outputs of the same names. Each pair of files must be of one of them."""
    racing_inputs(case)
    for target in ("gltf", "obj"):
        commands = [[source, "--to", target, "-o", "o"] for source in "ab"]
        references = [case.reference(source, "--to", target) for source in "ab"]
        mains = sorted({name for reference in references for name in reference if name.endswith(target)})
        for number in range(ROUNDS):
            if number % 2 == 0:
                case.empty("o")
            results = race(case, *(commands if number % 4 < 2 else reversed(commands)))
            yield from (result.summary() for result in results if result.crashed())
            found = outputs(case.folder / "o")
            both_ended_well = all(result.status == 0 for result in results)
            for main in mains:
                if main not in found:
                    if both_ended_well:
                        yield f"{main} is missing"
                elif not any(came_from(main, reference, found) for reference in references):
                    yield f"{main} and its {COMPANIONS['.' + target]} are not of one run"
            yield from (f"{name} is left" for name in parts(case.folder / "o"))


def reruns(case: Case, first: list[str], second: list[str], expected: dict[str, bytes]) -> Iterator[str]:
    """After two commands at once, only the first one runs, and must leave exactly its outputs."""
    for number in range(ROUNDS):
        if number % 2 == 0:
            case.empty("o")
        commands = [first, second] if number % 4 < 2 else [second, first]
        results = race(case, *commands)
        yield from (result.summary() for result in results if result.crashed())
        again = case.convert(*first)
        if again.status != 0:
            yield f"the rerun: {again.summary()}"
            continue
        found = outputs(case.folder / "o")
        for name, content in sorted(expected.items()):
            if found.get(name) != content:
                yield f"{name} is not of the command that was run again"


def race_stale(case: Case) -> Iterator[str]:
    """Two commands with different inputs of the same names, and then one of them again."""
    racing_inputs(case)
    for target in ("glb", "gltf"):
        first, second = [[source, "--to", target, "-o", "o"] for source in "ab"]
        yield from reruns(case, first, second, case.reference("a", "--to", target))


def race_options(case: Case) -> Iterator[str]:
    """Two commands with the same inputs and different options, and then one of them again."""
    case.put_many("a", 24)
    first = ["a", "--to", "glb", "-o", "o"]
    yield from reruns(case, first, [*first, "--flip"], case.reference("a", "--to", "glb"))


def race_same(case: Case) -> Iterator[str]:
    """One command twice at once, as a task that is started twice. A third run must find all outputs up to date."""
    case.put_many("a", 12)
    for target in ("glb", "gltf", "obj"):
        command = ["a", "--to", target, "-o", "o"]
        expected = case.reference("a", "--to", target)
        for _ in range(ROUNDS):
            case.empty("o")
            for result in race(case, command, command):
                if result.status != 0:
                    yield result.summary()
            yield from differences(expected, case.folder / "o")
            again = case.convert(*command)
            if again.status != 0 or not again.wrote_nothing():
                yield f"the third run: {again.summary()}"


# Links


def fails_and_names(result: Result, link: str) -> Iterator[str]:
    """The command must fail, and its message must name the link."""
    if result.status == 0 or result.crashed():
        yield result.summary()
    elif link not in result.err:
        yield f"no message names {link}: {result.summary()}"


def linked_subfolder(case: Case) -> Iterator[str]:
    """A folder below the output is a link to a folder outside."""
    case.put("in/sub/a.iqm")
    link = case.folder / "o/sub"
    for target in ("../victim", str(case.folder / "victim")):
        case.empty("o")
        case.keep("victim/a.glb")
        link.parent.mkdir()
        link.symlink_to(target)
        result = case.convert("in", "--to", "glb", "-o", "o")
        if not case.is_kept("victim/a.glb"):
            yield "a file outside was replaced"
        yield from fails_and_names(result, "o/sub")
        if not link.is_symlink():
            yield "the link was replaced"


def linked_textures(case: Case) -> Iterator[str]:
    """The folder for copies of images is a link to a folder outside."""
    case.keep("victim/crate.png")
    (case.folder / "o").mkdir()
    (case.folder / "o/c.gltf.textures").symlink_to("../victim")
    source = str(case.data / "textures/crate.iqm")
    result = case.convert(source, "--to", "gltf", "-o", "o/c.gltf", "--copy-textures")
    if not case.is_kept("victim/crate.png"):
        yield "a file outside was replaced"
    yield from fails_and_names(result, "o/c.gltf.textures")


def linked_root(case: Case) -> Iterator[str]:
    """The folder for the outputs is a link, which the user has named: it is followed."""
    case.put_many("in/sub", 3)
    (case.folder / "real").mkdir()
    (case.folder / "o").symlink_to("real")
    command = ["in", "--to", "gltf", "-o", "o"]
    result = case.convert(*command)
    if result.status != 0:
        yield result.summary()
    yield from differences(case.reference("in", "--to", "gltf"), case.folder / "real")
    if not (case.folder / "o").is_symlink():
        yield "the link was replaced"
    again = case.convert(*command)
    if not again.wrote_nothing():
        yield f"the second run: {again.summary()}"


def linked_output(case: Case) -> Iterator[str]:
    """An output exists, as a link to a file outside, or to a name outside that does not exist."""
    case.put("in/a.iqm")
    expected = case.reference("in", "--to", "glb")
    for target in ("a.glb", "missing.glb"):
        for command in (["in", "--to", "glb", "-o", "o"], ["in/a.iqm", "-o", "o/a.glb"]):
            case.empty("o")
            (case.folder / "o").mkdir()
            case.keep("victim/a.glb")
            (case.folder / "o/a.glb").symlink_to(f"../victim/{target}")
            result = case.convert(*command)
            if not case.is_kept("victim/a.glb"):
                yield f"a file was written outside: {result.summary()}"
                case.empty("victim")
            if result.crashed():
                yield result.summary()
            if result.status == 0:
                yield from differences(expected, case.folder / "o")


# The index


def survives_index(case: Case, *options: str, memory: int | None = None) -> Iterator[str]:
    """The command must write its outputs next to an index that was not made by it."""
    result = case.convert("in", "--to", "glb", "-o", "o", *options, memory=memory)
    if result.crashed():
        yield result.summary()
        return
    found = outputs(case.folder / "o")
    for name, content in case.reference("in", "--to", "glb").items():
        if found.get(name) != content:
            yield f"{name} is not written: {result.summary()}"
    for name in parts(case.folder / "o"):
        yield f"{name} is left"


def index_folder_for(case: Case) -> Path:
    """Makes inputs and a folder for outputs, and returns the path of the index."""
    case.put_many("in", 3)
    (case.folder / "o").mkdir()
    return case.folder / "o" / INDEX


def index_link(case: Case) -> Iterator[str]:
    """The index is a link to a file outside."""
    case.keep("victim/file")
    index_folder_for(case).symlink_to("../victim/file")
    yield from survives_index(case)
    if not case.is_kept("victim/file"):
        yield "the file outside was changed"


def index_hard_link(case: Case) -> Iterator[str]:
    """The index is a hard link to a file outside."""
    case.keep("victim/file")
    index_folder_for(case).hardlink_to(case.folder / "victim/file")
    yield from survives_index(case)
    if not case.is_kept("victim/file"):
        yield "the file outside was changed"


def index_fifo(case: Case) -> Iterator[str]:
    """The index is a pipe, which nothing writes to."""
    os.mkfifo(index_folder_for(case))
    yield from survives_index(case)


def index_bomb(case: Case) -> Iterator[str]:
    """The index has 8 GiB, all of which are a hole, and the command has less memory."""
    with index_folder_for(case).open("wb") as file:
        file.truncate(8 << 30)
    yield from survives_index(case, "--max-memory", "100MiB", memory=4_000_000 << 10)


def index_folder(case: Case) -> Iterator[str]:
    """The index is a folder."""
    index_folder_for(case).mkdir()
    yield from survives_index(case)


def output_fifo(case: Case) -> Iterator[str]:
    """An output exists, as a pipe that nothing reads."""
    case.put("in/a.iqm")
    (case.folder / "o").mkdir()
    pipe = case.folder / "o/a.glb"
    os.mkfifo(pipe)
    for command in (["in", "--to", "glb", "-o", "o"], ["in/a.iqm", "-o", "o/a.glb"]):
        result = case.convert(*command)
        if result.status == 0 or result.crashed() or not result.err:
            yield result.summary()
        if not pipe.is_fifo():
            yield "the pipe was replaced"
            return


# Interruptions


def removed_folder(case: Case) -> Iterator[str]:
    """The folder of the outputs is removed again and again while the command runs."""
    case.put_many("in", 200)
    command = ["in", "--to", "gltf", "-o", "o"]
    process = case.start(*command, "-q")
    limit = time.monotonic() + 3 * SECONDS
    while process.poll() is None and time.monotonic() < limit:
        case.empty("o")
        time.sleep(random.uniform(0, 0.005))
    disturbed = case.finish(process)
    if disturbed.crashed():
        yield disturbed.summary()
    again = case.convert(*command)
    if again.status != 0:
        yield f"the rerun: {again.summary()}"
    yield from differences(case.reference("in", "--to", "gltf"), case.folder / "o")


def mount(folder: Path, options: str) -> None:
    """Mounts a file system in memory."""
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except FileNotFoundError:
        raise NotRun("there is no command mount") from None
    if done.returncode != 0:
        raise NotRun(f"no file system can be mounted: {done.stderr.strip()}")


def full_disk(case: Case) -> Iterator[str]:
    """The file system has too few bytes or too few inodes for the outputs, and grows later."""
    case.put_many("in", 60)
    folder = case.folder / "o"
    folder.mkdir()
    for target, (small, large) in itertools.product(
        ("glb", "gltf", "obj"), (("size=100k", "size=64m"), ("nr_inodes=20", "nr_inodes=10000"))
    ):
        command = ["in", "--to", target, "-o", "o"]
        expected = case.reference("in", "--to", target)
        mount(folder, small)
        try:
            result = case.convert(*command)
            if result.status == 0 or result.crashed():
                yield f"{target}, {small}: {result.summary()}"
            for reason in itertools.chain(incomplete(expected, folder), parts(folder)):
                yield f"{target}, {small}: {reason}"
            mount(folder, f"remount,{large}")
            again = case.convert(*command)
            if again.status != 0:
                yield f"{target}, {large}: {again.summary()}"
            for reason in differences(expected, folder):
                yield f"{target}, {large}: {reason}"
        finally:
            subprocess.run(["umount", folder], check=True)


def kills(case: Case) -> Iterator[str]:
    """The command is killed. What is visible must be complete, and the next run must complete the rest.

    Half of the runs that are killed begin with an empty folder, and the others replace all outputs of another run.
    """
    case.put_many("in", 60)
    targets = ("gltf", "obj")
    expected = {}
    seconds = {}
    for target in targets:
        expected.update(case.reference("in", "--to", target))
        begin = time.monotonic()
        case.convert("in", "--to", target, "-o", "o")
        seconds[target] = time.monotonic() - begin
    folder = case.folder / "o"
    for number in range(KILLS):
        target = targets[number % 2]
        options = ["--force"] if number % 4 >= 2 and folder.exists() else []
        if not options:
            case.empty("o")
        process = case.start("in", "--to", target, "-o", "o", *options)
        time.sleep(seconds[target] * (number + random.random()) / KILLS)
        process.send_signal(signal.SIGKILL)
        case.finish(process)
        yield from (f"after a kill: {reason}" for reason in incomplete(expected, folder))
        for again in targets:
            result = case.convert("in", "--to", again, "-o", "o")
            if result.status != 0:
                yield f"the rerun: {result.summary()}"
        yield from (f"after the rerun: {reason}" for reason in differences(expected, folder))
        for again in targets:
            result = case.convert("in", "--to", again, "-o", "o")
            if result.status != 0 or not result.wrote_nothing():
                yield f"the third run: {result.summary()}"


ATTACKS = [
    two_sources,
    colliding_buffers,
    race_pairs,
    race_stale,
    race_options,
    race_same,
    linked_subfolder,
    linked_textures,
    linked_root,
    linked_output,
    index_link,
    index_hard_link,
    index_fifo,
    index_bomb,
    index_folder,
    output_fifo,
    removed_folder,
    full_disk,
    kills,
    big_buffers,
]


def repeat(attack, meshmap: Path, data: Path, times: int) -> list[str]:
    """Runs an attack and returns the reasons of all wrong results."""
    wrong = []
    for _ in range(times):
        with tempfile.TemporaryDirectory(prefix="meshmap-attack-") as folder:
            try:
                wrong.extend(attack(Case(meshmap, data, Path(folder))))
            except Failed as reason:
                wrong.append(str(reason))
    return wrong


def main() -> int:
    """Runs the attacks that are named, or all, and returns the exit status."""
    names = {attack.__name__: attack for attack in ATTACKS}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("meshmap", type=Path, metavar="MESHMAP", help="the command")
    parser.add_argument("data", type=Path, metavar="TEST_DATA", help="the folder tests/data")
    parser.add_argument("--times", type=int, default=3, metavar="N", help="repetitions of each attack [default: 3]")
    parser.add_argument(
        "--big-times", type=int, default=1, metavar="N", help="maximum repetitions of big_buffers [default: 1]"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"the attacks, by default all: {', '.join(names)}")
    arguments = parser.parse_intermixed_args()
    unknown = sorted(set(arguments.names) - set(names))
    if unknown:
        parser.error(f"no attack is named {unknown[0]}")

    any_wrong = False
    for name in arguments.names or names:
        times = arguments.times
        if name == "big_buffers":
            times = min(times, arguments.big_times)
        begin = time.monotonic()
        try:
            wrong = repeat(names[name], arguments.meshmap.resolve(), arguments.data.resolve(), times)
        except NotRun as reason:
            print(f"{name:18} NOT RUN: {reason}", flush=True)
            continue
        any_wrong = any_wrong or bool(wrong)
        seconds = time.monotonic() - begin
        first = f": {wrong[0]}" if wrong else ""
        print(f"{name:18} {len(wrong):4} wrong in {times} runs, {seconds:.0f} s{first}", flush=True)
    return 1 if any_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
