"""A job over a folder of mesh files with Spark 4.

    python spark_job.py catalog FOLDER -o assets.parquet
    python spark_job.py velocities FOLDER -o velocities.parquet
    python spark_job.py convert FOLDER --into OUT -o converted.parquet
"""

from __future__ import annotations

import os

import jobs
import pyarrow.parquet
from pyspark.sql import SparkSession
from spark_source import MeshSource


def main() -> None:
    options = jobs.arguments(__doc__ or "").parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    builder = SparkSession.builder.appName("meshmap").config("spark.ui.enabled", "false")
    builder = builder.config("spark.executorEnv.PYTHONPATH", here)
    if "SPARK_MASTER" not in os.environ:
        # On this machine; a task is tried up to four times.
        builder = builder.master("local[2,4]")
    else:
        builder = builder.master(os.environ["SPARK_MASTER"])
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for name in ("jobs.py", "spark_source.py"):
        spark.sparkContext.addPyFile(os.path.join(here, name))
    spark.dataSource.register(MeshSource)
    reader = spark.read.format("meshmap").option("job", options.job).option("full", str(options.full).lower())
    for name, value in (("into", options.into), ("to", options.to), ("die_once", options.die_once)):
        if value:
            reader = reader.option(name, value)
    table = reader.load(options.folder).toArrow()
    pyarrow.parquet.write_table(table, options.output)
    print(f"{options.output}: {table.num_rows} rows")
    spark.stop()


if __name__ == "__main__":
    main()
