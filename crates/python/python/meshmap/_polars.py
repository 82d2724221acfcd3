"""Lazy frames of Polars."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from glob import has_magic
from typing import TYPE_CHECKING

from . import _meshmap, _sources
from ._meshmap import RemoteUrl, without_secrets
from ._tables import Table

if TYPE_CHECKING:
    import polars as pl


def scan(sources: _sources.Sources, of: Table) -> pl.LazyFrame:
    """See ``meshmap.scan``."""
    import polars as pl
    from polars.io.plugins import register_io_source

    _check(sources)
    # A stream of sources would be at its end when the frame is collected again.
    sources = sources if _sources.is_single(sources) else list(sources)  # type: ignore[arg-type]
    empty = pl.DataFrame(of.of([]))

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _batch: int | None
    ) -> Iterator[pl.DataFrame]:
        names = empty.columns if columns is None else columns
        chosen = of.select(names)
        of_paths, formats = _pushed_down(predicate, chosen.formats, empty.schema["format"] if "format" in empty.columns else None)
        if formats == ():
            return
        chosen = replace(chosen, formats=formats)
        wanted = partial(_are_wanted, of_paths) if of_paths else None
        left = rows
        for page in _sources.each_page(sources, wanted):
            for batch in chosen.batches([file.path for file in page], None if predicate is not None else left) if page else ():
                frame = pl.DataFrame(batch).select(names)
                if predicate is not None:
                    frame = frame.filter(predicate)
                if left is not None:
                    frame = frame.head(left)
                    left -= frame.height
                yield frame
                if left == 0:
                    return

    return register_io_source(read, schema=empty.schema, is_pure=True)


def _check(sources: _sources.Sources) -> None:
    """Raises if the only source is a path that does not exist. Everything else is listed when the frame is collected."""
    if isinstance(sources, (str, os.PathLike, RemoteUrl)):
        source = _meshmap.named(sources)
        if isinstance(source, str) and not os.path.exists(source) and not has_magic(source):
            raise FileNotFoundError(f"no such file or folder: {without_secrets(source)}")


def _pushed_down(
    predicate: pl.Expr | None, formats: tuple[str, ...] | None, kind: pl.DataType | None
) -> tuple[list[pl.Expr], tuple[str, ...] | None]:
    """The parts of a predicate that use only paths, and the formats that can have rows; None for all of them."""
    import polars as pl

    of_paths = []
    for part in [] if predicate is None else _conjuncts(predicate):
        roots = set(part.meta.root_names())
        if roots == {"path"}:
            of_paths.append(part)
        if roots == {"format"}:
            # A file of no known format has null.
            taken = [*(formats or _meshmap.FORMATS), *([] if formats else [None])]
            known = pl.DataFrame({"format": taken}, {"format": kind}).filter(part)["format"].to_list()
            if None not in known:
                formats = tuple(known)
    return of_paths, formats


def _are_wanted(predicates: list[pl.Expr], paths: list[str]) -> list[bool]:
    import polars as pl

    frame = pl.DataFrame({"path": pl.Series(paths, dtype=pl.String)}).with_row_index("file")
    kept = set(frame.filter(*predicates)["file"])
    return [number in kept for number in range(len(paths))]


def _conjuncts(predicate: pl.Expr) -> Iterator[pl.Expr]:
    """The predicates that are joined by ``&``."""
    parts = predicate.meta.pop()
    if len(parts) == 2 and (parts[1] & parts[0]).meta.eq(predicate):
        yield from _conjuncts(parts[1])
        yield from _conjuncts(parts[0])
    else:
        yield predicate
