"""Spark 4: mesh files as a data source, and jobs over them.

    >>> spark.read.format("meshmap").option("full", "true").load("assets/").createOrReplaceTempView("meshes")
    >>> spark.sql("select format, count(*), sum(triangles) from meshes group by format").show()

Spark finds the source by itself where this package is installed. Options are texts:

* ``full``, ``hash``, ``drawn``: ``true`` or ``false``, as of ``meshmap.catalog`` and ``meshmap.geometry``.
* ``geometry``: ``true``, or the columns of ``meshmap.geometry``, with commas.
* ``columns``, ``formats``: names, with commas.
* ``maxTotalBytes``: the memory for a file, as of ``meshmap.catalog``.
* ``partitionBytes``: the bytes of files that one task reads, 67108864 by default.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from . import _meshmap, _plan, _sources, jobs
from ._tables import Table, cores, nested, table

__all__ = ["MeshDataSource", "register", "run"]

_KNOWN = ("full", "hash", "geometry", "drawn", "columns", "formats", "maxTotalBytes", "partitionBytes", "path", "paths")


@dataclass
class Files(InputPartition):
    """Files that one task reads."""

    task: _plan.Task


class MeshDataSource(DataSource):
    """The catalogue of mesh files, or their geometry: ``spark.read.format("meshmap")``."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "meshmap"

    def schema(self) -> StructType:
        """The columns."""
        return from_arrow_schema(_schema(_table(self.options)))

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of the files."""
        return MeshReader(dict(self.options))


class MeshReader(DataSourceReader):
    """Reads some files at a time."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options

    def partitions(self) -> list[InputPartition]:
        """A part for each task."""
        most = int(self.options.get("partitionBytes") or self.options.get("partitionbytes") or 64 << 20)
        return [Files(task) for task in jobs.tasks(_paths(self.options), task_bytes=most, least_tasks=cores())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a part."""
        assert isinstance(partition, Files)
        _use_own_cores()
        of = _table(self.options)
        schema = _schema(of)
        for batch in of.batches(partition.task.paths()):
            if batch.num_rows:
                yield batch.cast(schema)


def _use_own_cores() -> None:
    """As many threads as the task has cores; by default one."""
    context = TaskContext.get()
    _meshmap.use_threads(context.cpus() if context is not None else 1)


def _table(options: Mapping[str, str]) -> Table:
    lower = {name.lower(): value for name, value in options.items()}
    for name in lower:
        if name not in [known.lower() for known in _KNOWN]:
            raise ValueError(f"{name} is no option: expected some of {', '.join(_KNOWN)}")

    def names(option: str) -> list[str] | None:
        text = lower.get(option)
        return None if text is None else [name.strip() for name in text.split(",") if name.strip()]

    def is_set(option: str) -> bool:
        value = lower.get(option, "false").lower()
        if value not in ("true", "false"):
            raise ValueError(f"option {option} is {value!r}: expected true or false")
        return value == "true"

    by_name = lower.get("geometry", "false").lower() not in ("true", "false")
    geometry = names("geometry") or [] if by_name else is_set("geometry")
    most = lower.get("maxtotalbytes")
    return table(
        is_set("full"),
        is_set("hash"),
        geometry,
        is_set("drawn"),
        names("columns"),
        names("formats"),
        None if most is None else int(most),
    )


def _schema(of: Table) -> pa.Schema:
    """The columns, with lists that Spark has a type for."""
    return pa.schema([pa.field(field.name, nested(field.type), field.nullable) for field in of.schema()])


def _paths(options: Mapping[str, str]) -> list[str]:
    if options.get("paths"):
        paths: list[str] = json.loads(options["paths"])
        return paths
    if options.get("path"):
        return [options["path"]]
    raise ValueError("nothing to read: expected .load(path)")


def register(spark: SparkSession) -> None:
    """Registers the source with a session that does not find it by itself."""
    spark.dataSource.register(MeshDataSource)


def run(
    spark: SparkSession,
    name: jobs.Name,
    sources: _sources.Sources,
    *,
    done: pa.Table | None = None,
    task_bytes: int = 64 << 20,
    **options: Any,
) -> DataFrame:
    """A job of ``meshmap.jobs`` over mesh files: a frame of its rows. A query that is run again does the job again, as far as
    something is missing.

    Args:
        spark: The session.
        name: ``catalog``, ``verify`` or ``convert``.
        sources: As of ``meshmap.jobs.tasks``. All executors must see them at the same paths.
        done: Rows of an earlier run: only files that ``meshmap.jobs.missing`` names are worked on.
        task_bytes: The bytes of files that one task works on.
        options: Options of the job.

    Raises:
        FileNotFoundError: A source does not exist, or no source has a mesh file.
    """
    job, columns = jobs.job(name, **options)
    schema = pa.schema([pa.field(field.name, nested(field.type), field.nullable) for field in columns])
    planned = jobs.each_task(sources, task_bytes=task_bytes, least_tasks=cores(), done=done)
    parts = [(bytearray(pickle.dumps(task)),) for task in planned]
    tasks = spark.sparkContext.parallelize(parts, max(len(parts), 1))

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _use_own_cores()
        for batch in batches:
            for task in batch.column("task").to_pylist():
                yield from job(pickle.loads(task)).cast(schema).to_batches()

    return spark.createDataFrame(tasks, "task binary").mapInArrow(work, from_arrow_schema(schema))
