"""Files that are worked on in a separate process, so that one that ends its process is a row, and others are not lost."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from threading import Timer
from types import TracebackType
from typing import IO, Self

import pyarrow as pa

from ._plan import Task
from ._sources import File

#: Work on one file.
One = Callable[[Task], pa.Table]


@dataclass(frozen=True)
class Isolated:
    """The limits of a separate process that works on files.

    Args:
        max_bytes: The memory that the process may take beyond what it has at its start. For Linux; other systems have no such limit.
        seconds: The longest time for a file.
        attempts: How often a file is tried that ends its process.
    """

    max_bytes: int = 4 << 30
    seconds: float = 3600
    attempts: int = 2

    def __post_init__(self) -> None:
        if self.max_bytes < 1 or self.seconds <= 0 or self.attempts < 1:
            raise ValueError(f"{self}: expected a memory, a time and a number of attempts above 0")


@dataclass(frozen=True)
class Killed:
    """The reason why a file has no rows: its process ended each time."""

    error: str


def each(work: One, files: list[File], limits: Isolated) -> Generator[tuple[File, pa.Table | Killed]]:
    """The rows of each file, by a separate process, which is replaced if a file ends it.

    Raises:
        RuntimeError: The process does not start.
    """
    child: _Child | None = None
    try:
        for file in files:
            ends: list[str] = []
            while len(ends) < limits.attempts:
                child = child or _Child(work, limits)
                try:
                    yield file, child.rows(file)
                    break
                except EOFError:
                    ends.append(child.end())
                    child = None
            else:
                times = f", {limits.attempts} times" if limits.attempts > 1 else ""
                yield file, Killed(f"the process that worked on the file {ends[-1]}{times}; the memory it may take is {limits.max_bytes:,} bytes")
    finally:
        if child is not None:
            child.stop()


#: Seconds for a process to end by itself.
_PATIENCE = 5


class _Child:
    """A process that works on one file after the other."""

    def __init__(self, work: One, limits: Isolated) -> None:
        self._seconds = limits.seconds
        self._is_late = False
        command = [sys.executable, "-c", "from meshmap import _isolated; _isolated.serve()"]
        # Arrow's own memory pool takes a gigabyte of addresses in advance, which would count.
        environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        try:
            self._send((work, limits.max_bytes))
            _receive(self._stdout)
        except (EOFError, OSError) as error:
            raise RuntimeError(f"no process for files could be started: it {self.end()}") from error

    @property
    def _stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None, "it is a pipe"
        return self._process.stdout

    def _send(self, value: object) -> None:
        assert self._process.stdin is not None, "it is a pipe"
        _send(self._process.stdin, pickle.dumps(value))

    def rows(self, file: File) -> pa.Table:
        """The rows of a file. What the work raises is raised here.

        Raises:
            EOFError: The process has ended.
        """
        with _Limit(self._seconds, self._late):
            try:
                self._send(file)
                made = pickle.loads(_receive(self._stdout))
            except OSError as error:
                raise EOFError from error
        if isinstance(made, BaseException):
            raise made
        return pa.ipc.open_stream(made).read_all()

    def _late(self) -> None:
        self._is_late = True
        self._process.kill()

    def stop(self) -> None:
        """Ends the process, whatever it does."""
        self._process.kill()
        self.end()

    def end(self) -> str:
        """Ends the process. The words for how it ended."""
        try:
            # One that has closed its pipes ends at once.
            status = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    # Bytes that were not sent are lost with the process.
                    pass
        if self._is_late:
            return f"took more than {self._seconds:g} seconds"
        if status >= 0:
            return f"ended with status {status}"
        try:
            return f"was ended by the signal {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by the signal {-status}"


class _Limit:
    """Calls a function if what is done meanwhile takes too long."""

    def __init__(self, seconds: float, late: Callable[[], None]) -> None:
        self._timer = Timer(seconds, late)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._timer.cancel()


def serve() -> None:
    """Works on the files that come from standard input, and sends their rows to standard output."""
    wanted, made = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Lines that a library prints are no rows.
    os.dup2(2, 1)
    work, most = pickle.loads(_receive(wanted))
    _limit_memory(most)
    _send(made, b"ready")
    while True:
        try:
            file = pickle.loads(_receive(wanted))
        except EOFError:
            return
        try:
            table = work(Task((file,)))
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            _send(made, pickle.dumps(sink.getvalue().to_pybytes()))
        except MemoryError:
            # As if the system had ended it.
            os.abort()
        except Exception as error:
            _send(made, pickle.dumps(error))


def _limit_memory(most: int) -> None:
    if sys.platform != "linux":
        return
    import resource

    with open("/proc/self/status") as status:
        taken = next((int(line.split()[1]) << 10 for line in status if line.startswith("VmData:")), 0)
    resource.setrlimit(resource.RLIMIT_DATA, (taken + most, taken + most))


def _send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(len(data).to_bytes(8, "little") + data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes:
    """The next message.

    Raises:
        EOFError: There is none, or only a part of it.
    """
    length = pipe.read(8)
    if len(length) == 8:
        size = int.from_bytes(length, "little")
        data = pipe.read(size)
        if len(data) == size:
            return data
    raise EOFError
