"""Recordings in Apache Spark 4: tables of many recordings as one DataFrame.

>>> import corewise.spark                                                       # doctest: +SKIP
>>> corewise.spark.register(spark)                                              # doctest: +SKIP
>>> waits = spark.read.format("corewise").option("table", "ready_wait").load("runs/*")  # doctest: +SKIP

Each recording is a partition, whose table corewise makes on an executor: this package, and fsspec for paths with a scheme, must be installed there.
docs/spark.md lists the tables and options.
"""

from __future__ import annotations

from typing import Any

from .. import Error

try:
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.types import ArrayType, BooleanType, DoubleType, LongType, MapType, StringType, StructField, StructType
except ImportError:
    raise Error("corewise.spark needs Spark 4, which is not installed: pip install 'corewise[spark]'") from None

from ._reader import PushingReader, Reader
from ._request import Request

__all__ = ["Source", "register"]

TYPES = {
    "bigint": LongType(),
    "double": DoubleType(),
    "string": StringType(),
    "boolean": BooleanType(),
    "map<string,string>": MapType(StringType(), StringType()),
    "array<string>": ArrayType(StringType()),
}
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


class Source(DataSource):
    """The data source `corewise`, of which Spark makes an instance for each DataFrame."""

    @classmethod
    def name(cls) -> str:
        return "corewise"

    def schema(self) -> Any:
        fields = [StructField(name, TYPES[kind], True, {"comment": doc}) for name, kind, doc in Request(self.options).columns]
        return StructType(fields)

    def reader(self, schema: Any) -> Reader:
        return Reader(Request(self.options), schema)


class PushingSource(Source):
    """The same, with filters pushed down."""

    def reader(self, schema: Any) -> Reader:
        return PushingReader(Request(self.options), schema)


def register(spark: Any, pushdown: bool | None = None) -> None:
    """Registers the format `corewise` with a Spark session.

    ``pushdown``: whether filters on `trace`, `path` and times leave out recordings and row groups before these are opened. It sets
    ``spark.sql.python.filterPushdown.enabled``, which Spark 4.1 and later have. By default, it is as that setting says, which is false unless set;
    register again after a change of the setting.
    """
    if pushdown is None:
        pushdown = spark.conf.get(PUSHDOWN, "false").lower() == "true"
    elif pushdown or spark.conf.get(PUSHDOWN, None) is not None:
        spark.conf.set(PUSHDOWN, str(pushdown).lower())
    spark.dataSource.register(PushingSource if pushdown else Source)
