"""Files, folders, globs, lists and addresses of stores, as lists of files and their sizes."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from . import _meshmap
from ._drawn import EXTENSIONS

Path: TypeAlias = str | os.PathLike[str]
Sources: TypeAlias = Path | Iterable[Path]


def find(sources: Sources) -> list[str]:
    """See ``meshmap.find``."""
    return [path for path, _ in found(sources)]


def found(sources: Sources) -> list[tuple[str, int]]:
    """The mesh files that sources name, and their sizes in bytes, 0 if it is not known."""
    if isinstance(sources, str) and _meshmap.is_address(sources) and not _is_prefix(sources):
        # A file of a list may be gone when its turn comes; the only one is missed at once.
        return [(sources, _meshmap.size_of_address(sources))]
    several = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    files: list[tuple[str, int]] = []
    for source in several:
        files += _found(os.fspath(source))
    if not files:
        named = ", ".join(os.fspath(source) for source in several) or "an empty list"
        raise FileNotFoundError(f"no mesh files in {named}")
    return files


def _found(source: str) -> list[tuple[str, int]]:
    if _meshmap.is_address(source):
        return _below(source) if _is_prefix(source) else [(source, 0)]
    if os.path.exists(source):
        return _meshmap.find_files([source])
    if not glob.has_magic(source):
        raise FileNotFoundError(f"no such file or folder: {source}")
    matches = sorted(glob.glob(source, recursive=True))
    if not matches:
        raise FileNotFoundError(f"nothing matches {source}")
    # A pattern that ends with ** also matches folders, whose files it matches as well.
    files = [match for match in matches if not os.path.isdir(match)]
    return _meshmap.find_files(files or matches)


def _is_prefix(address: str) -> bool:
    return address.endswith("/") or "*" in address


def _below(address: str) -> list[tuple[str, int]]:
    """The objects with the endings of meshes that an address begins, or that it matches."""
    folder = address[: address.index("*")].rpartition("/")[0] + "/" if "*" in address else address
    # A star stands for any part of a name, and two stars also for folders.
    parts = re.split(r"(\*\*/?|\*)", address)
    kinds = {"*": "[^/]*", "**": ".*", "**/": "(?:.*/)?"}
    pattern = re.compile("".join(kinds.get(part, re.escape(part)) for part in parts) + ("" if "*" in address else ".*"))
    endings = tuple(f".{ending}" for ending in EXTENSIONS)
    listed = _meshmap.list_address(folder)
    return [(name, size) for name, size in listed if name.lower().endswith(endings) and pattern.fullmatch(name)]


def shown(path: str) -> str:
    """A path as the column ``path`` has it: what is not UTF-8 is U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def groups(files: Sequence[tuple[str, int]], most_bytes: int, least_groups: int = 1) -> list[list[str]]:
    """Files in groups of at most ``most_bytes``, or of one file, for a task each. A group has at most 1,000 files, because small
    files also take time."""
    total = sum(size for _, size in files)
    most_bytes = max(min(most_bytes, total // max(least_groups, 1)), 1)
    most_files = max(min(1000, len(files) // max(least_groups, 1)), 1)
    made: list[list[str]] = []
    left = 0
    for path, size in files:
        if not made or size > left or len(made[-1]) >= most_files:
            made.append([])
            left = most_bytes
        made[-1].append(path)
        left -= size
    return made
