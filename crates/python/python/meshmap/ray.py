"""Ray Data: mesh files as data sets, and jobs over them.

    >>> import meshmap.ray
    >>> meshes = meshmap.ray.read("assets/", full=True)
    >>> meshmap.ray.run("convert", "assets/", folder="converted", base="assets").materialize()
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import ray.data
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

from . import _meshmap, _plan, _sources, jobs
from ._meshmap import without_secrets
from ._tables import Table, table

__all__ = ["MeshDatasource", "read", "run"]


class MeshDatasource(Datasource):
    """The catalogue of mesh files, or their geometry, for ``ray.data.read_datasource``. Arguments are as in ``read``."""

    def __init__(
        self,
        sources: _sources.Sources,
        *,
        full: bool = False,
        hash: bool = False,
        geometry: bool | Sequence[str] = False,
        drawn: bool = False,
        columns: Sequence[str] | None = None,
        formats: Sequence[str] | None = None,
        max_total_bytes: int | None = None,
        task_bytes: int = 64 << 20,
    ) -> None:
        super().__init__()
        self._pieces = list(_plan.pieces(sources, task_bytes))
        self._table = table(full, hash, geometry, drawn, columns, formats, max_total_bytes)
        self._task_bytes = task_bytes

    def get_name(self) -> str:
        """The name that Ray shows."""
        return "Meshmap"

    def estimate_inmemory_data_size(self) -> int | None:
        """The size of the rows: rows of geometry take about as much memory as the files."""
        return sum(self._size_of(piece) for piece in self._pieces)

    def _size_of(self, part: _plan.Piece | _plan.Task) -> int:
        return part.size if self._table.geometry else 1000 * part.files

    def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[ReadTask]:
        """A task for each group of files."""
        tasks = []
        for task in _plan.grouped(self._pieces, self._task_bytes, parallelism):
            named = [without_secrets(piece.path) for piece in task.pieces if isinstance(piece, _sources.File)]
            metadata = BlockMetadata(
                num_rows=None, size_bytes=self._size_of(task), input_files=named or None, exec_stats=None
            )
            tasks.append(ReadTask(partial(_read, self._table, task), metadata, schema=self._table.schema()))
        return tasks


def _read(of: Table, task: _plan.Task) -> Iterator[pa.Table]:
    _use_own_cores()
    schema, is_empty = of.schema(), True
    for batch in of.batches(task.paths()):
        is_empty = False
        yield pa.Table.from_batches([batch], schema)
    if is_empty:
        yield schema.empty_table()


def _use_own_cores() -> None:
    """As many threads as the task has cores; by default one."""
    assigned = ray.get_runtime_context().get_assigned_resources().get("CPU", 1)
    _meshmap.use_threads(max(int(assigned), 1))


def read(
    sources: _sources.Sources,
    *,
    full: bool = False,
    hash: bool = False,
    geometry: bool | Sequence[str] = False,
    drawn: bool = False,
    columns: Sequence[str] | None = None,
    formats: Sequence[str] | None = None,
    max_total_bytes: int | None = None,
    task_bytes: int = 64 << 20,
) -> ray.data.Dataset:
    """The catalogue of mesh files, or their geometry, as a data set. Rows are streamed: a task holds a table at a time.

    Args:
        sources: As of ``meshmap.find``. All workers must see them at the same paths.
        full: Decodes and checks everything, as of ``meshmap.catalog``.
        hash: Reads the bytes of each file for their SHA-256.
        geometry: Has a row for each mesh with its arrays, as ``meshmap.geometry``: True, or the names of its columns.
        drawn: Selects the meshes that viewers show, if ``geometry`` is set.
        columns: The names of the columns.
        formats: The formats that have rows.
        max_total_bytes: The memory for a file, as of ``meshmap.catalog``.
        task_bytes: The bytes of files that one task reads.

    Raises:
        FileNotFoundError: A source does not exist, or no source has a mesh file.
    """
    options: dict[str, Any] = {"full": full, "hash": hash, "geometry": geometry, "drawn": drawn}
    return ray.data.read_datasource(
        MeshDatasource(
            sources, columns=columns, formats=formats, max_total_bytes=max_total_bytes, task_bytes=task_bytes, **options
        )
    )


def run(
    name: jobs.Name, sources: _sources.Sources, *, done: pa.Table | None = None, task_bytes: int = 64 << 20, **options: Any
) -> ray.data.Dataset:
    """A job of ``meshmap.jobs`` over mesh files: a data set of its rows.

    Args:
        name: ``catalog``, ``verify`` or ``convert``.
        sources: As of ``meshmap.jobs.tasks``.
        done: Rows of an earlier run: only files that ``meshmap.jobs.missing`` names are worked on.
        task_bytes: The bytes of files that one task works on.
        options: Options of the job.

    Raises:
        FileNotFoundError: A source does not exist, or no source has a mesh file.
    """
    job, schema = jobs.job(name, **options)
    least = 2 * int(ray.cluster_resources().get("CPU", 1)) if ray.is_initialized() else 2
    tasks = jobs.each_task(sources, task_bytes=task_bytes, least_tasks=least, done=done)
    blocks = [pa.table({"task": pa.array([pickle.dumps(task)], pa.binary())}) for task in tasks]
    if not blocks:
        return ray.data.from_arrow(schema.empty_table())
    return ray.data.from_arrow(blocks).map_batches(partial(_work, job, schema), batch_format="pyarrow", batch_size=None)


def _work(job: jobs.Job, schema: pa.Schema, batch: pa.Table) -> pa.Table:
    _use_own_cores()
    return jobs.tables((job(pickle.loads(task)) for task in batch["task"].to_pylist()), schema)
