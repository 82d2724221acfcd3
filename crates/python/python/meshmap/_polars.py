"""Lazy frames of Polars."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from . import _meshmap, _sources
from ._tables import Table

if TYPE_CHECKING:
    import polars as pl


def scan(sources: _sources.Sources, of: Table) -> pl.LazyFrame:
    """See ``meshmap.scan``."""
    import polars as pl
    from polars.io.plugins import register_io_source

    files = _sources.find(sources)
    empty = pl.DataFrame(of.of([]))

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _batch: int | None
    ) -> Iterator[pl.DataFrame]:
        names = empty.columns if columns is None else columns
        chosen, paths = of.select(names), files
        for part in [] if predicate is None else _conjuncts(predicate):
            roots = set(part.meta.root_names())
            if roots == {"path"}:
                frame = pl.DataFrame({"path": [_sources.shown(path) for path in paths]}).with_row_index("file")
                paths = [paths[index] for index in frame.filter(part)["file"]]
            if roots == {"format"}:
                # A file of no known format has null.
                taken = [*(chosen.formats or _meshmap.FORMATS), *([] if chosen.formats else [None])]
                known = pl.DataFrame({"format": taken}, {"format": empty.schema["format"]}).filter(part)["format"].to_list()
                if not known:
                    paths = []
                elif None not in known:
                    chosen = replace(chosen, formats=tuple(known))
        left = rows
        for batch in chosen.batches(paths, None if predicate is not None else rows):
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


def _conjuncts(predicate: pl.Expr) -> Iterator[pl.Expr]:
    """The predicates that are joined by ``&``."""
    parts = predicate.meta.pop()
    if len(parts) == 2 and (parts[1] & parts[0]).meta.eq(predicate):
        yield from _conjuncts(parts[1])
        yield from _conjuncts(parts[0])
    else:
        yield predicate
