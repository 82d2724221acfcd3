"""Functions that open pickled files, their parts and catalogues again."""

from __future__ import annotations

# As in typing, whose import takes longer than all of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

from . import _meshmap


def _reopen(origin: Any, is_reader: bool, options: dict[str, Any]) -> _meshmap.File:
    """Opens a file again."""
    return _meshmap.open(reader=origin, **options) if is_reader else _meshmap.open(origin, **options)


def _part(
    file: tuple[Any, bool, dict[str, Any]], steps: Sequence[tuple[str, tuple[Any, ...] | None]]
) -> Any:
    """Opens a file again, and takes these steps to a part of it: attributes that are called with arguments, or only read."""
    part: Any = _reopen(*file)
    for name, arguments in steps:
        part = getattr(part, name)
        if arguments is not None:
            part = part(*arguments)
    return part


def _scene(file: tuple[Any, bool, dict[str, Any]], options: dict[str, Any]) -> _meshmap.Scene:
    """Opens a file again, and makes a scene of it."""
    return _meshmap.scene(_reopen(*file), **options)


def _decoded(file: tuple[Any, bool, dict[str, Any]], index: int, parts: Sequence[_meshmap._Part]) -> _meshmap.Decoded:
    """Opens a file again, and decodes these parts of a snapshot."""
    opened = _reopen(*file)
    assert isinstance(opened, _meshmap.CGeoFile)
    return opened.snapshots[index].decode(parts=parts)


def _again(function: str, sources: Any, options: dict[str, Any]) -> _meshmap.Catalog:
    """Makes a catalogue again."""
    made: _meshmap.Catalog = getattr(_meshmap, function)(sources, **options)
    return made
