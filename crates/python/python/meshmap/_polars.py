"""Lazy frames of Polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from . import _sources
from ._tables import Table, table

if TYPE_CHECKING:
    import polars as pl


def scan(
    sources: _sources.Sources,
    *,
    full: bool = False,
    hash: bool = False,
    geometry: bool | Sequence[str] = False,
    drawn: bool = False,
    formats: Sequence[str] | None = None,
) -> pl.LazyFrame:
    """See ``meshmap.scan``."""
    import polars as pl
    from polars.io.plugins import register_io_source

    files = _sources.find(sources)
    of = table(full=full, hash=hash, geometry=geometry, drawn=drawn, formats=formats)
    empty = pl.DataFrame(of.of([]))

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _batch: int | None
    ) -> Iterator[pl.DataFrame]:
        names = empty.columns if columns is None else columns
        chosen = of.select(names)
        paths = files
        roots = set(predicate.meta.root_names()) if predicate is not None else set()
        if predicate is not None and roots == {"path"}:
            frame = pl.DataFrame({"path": [_sources.shown(path) for path in files]}).with_row_index("file")
            paths = [files[index] for index in frame.filter(predicate)["file"]]
        if predicate is not None and roots == {"format"} and formats is None:
            chosen = _of_formats(chosen, predicate)
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


def _of_formats(of: Table, predicate: pl.Expr) -> Table:
    """The table with the formats that a predicate takes; all of them if it also takes files of no known format."""
    from dataclasses import replace

    import polars as pl

    from ._meshmap import FORMATS

    known = pl.DataFrame({"format": [None, *FORMATS]}, schema={"format": pl.String}).filter(predicate)["format"].to_list()
    return of if None in known or not known else replace(of, formats=tuple(known))
