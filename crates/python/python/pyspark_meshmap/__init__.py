"""The data source `meshmap`, which Spark finds by the name of this module: see `meshmap.spark`."""

from meshmap.spark import MeshDataSource as DefaultSource

__all__ = ["DefaultSource"]
