# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A fleet's worst hosts
#
# Reads many recordings with Spark, and shows on which hosts threads waited longest for a CPU, what was found there, and what could not be read.
#
# It needs `pip install 'corewise[spark,plots]'`, Java 17 or newer, and Jupyter. Open this file as a notebook with Jupytext, or convert it:
# `jupytext --to ipynb worst_hosts.py`.

# %%
import glob
import os
import sys

import altair
from pyspark.sql import SparkSession, functions

import corewise
import corewise.spark
from corewise import plots

# %% [markdown]
# ## The recordings
#
# Replace the pattern with your own: `s3://…/*.cw` works too ([spark.md](../spark.md)). Without recordings, this notebook shows simulated runs
# (`testdata/notebooks`), and says so. On a cluster, leave out `master`.

# %%
RUNS = "runs/*"

if "://" not in RUNS and not glob.glob(RUNS):
    print(f"No recordings match {RUNS}: the rest of this notebook shows simulated runs, each as if it were a host.")
    RUNS = os.path.abspath("../../testdata/notebooks/*.cw")

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
corewise.spark.register(spark, pushdown=True)


def load(table, **options):
    return spark.read.format("corewise").options(table=table, **options).load(RUNS)


# %% [markdown]
# Which host made each recording? Without a recorded name, the recording stands for itself.

# %%
name = functions.regexp_extract("path", "([^/]+)$", 1)
hosts = load("traces").select("path", "span_ns", "cpus", functions.coalesce(functions.col("about")["hostname"], name).alias("host")).cache()
print(hosts.count(), "recordings of", hosts.select("host").distinct().count(), "hosts")

# %% [markdown]
# ## Where threads waited
#
# The share of their time that runnable threads waited for a CPU. Each recording's table is made by corewise on an executor, Spark adds them up.

# %%
waits = load("ready_wait").groupBy("path").agg(functions.sum("ready_ns").alias("ready_ns"), functions.sum("running_ns").alias("running_ns"))
by_host = waits.join(hosts, "path").groupBy("host").agg(
    functions.count("*").alias("recordings"),
    (functions.sum("ready_ns") / 1e9).alias("ready_s"),
    (functions.sum("ready_ns") / functions.sum(functions.col("ready_ns") + functions.col("running_ns"))).alias("waiting"),
)
worst = by_host.orderBy(functions.desc("waiting"), "host").limit(10).toArrow().to_pandas()
worst

# %%
axis = altair.Axis(format="%", title="share of runnable time spent waiting for a CPU")
altair.Chart(worst).mark_bar().encode(x=altair.X("waiting", axis=axis), y=altair.Y("host", sort="-x"), tooltip=["host", "recordings", "ready_s", "waiting"])

# %% [markdown]
# ## What was found there
#
# The findings of `corewise diagnose`, by host: in how many recordings, and their potential saving in all (s).

# %%
findings = load("findings").join(hosts, "path").groupBy("host", "rule").agg(
    functions.countDistinct("path").alias("recordings"), (functions.sum("recoverable_ns") / 1e9).alias("saving_s")
)
findings.orderBy(functions.desc("saving_s"), "host", "rule").limit(10).toArrow().to_pandas()

# %% [markdown]
# ## What is not in these figures
#
# Recordings that cannot be read, or whose table cannot be made, and what the others did not record:

# %%
load("errors", of="ready_wait").select("path", "table", "error").show(truncate=100)
lacks = load("traces").select(functions.explode("lacks").alias("lacks")).groupBy("lacks").count()
lacks.orderBy(functions.desc("count")).show(truncate=100)

# %% [markdown]
# ## Look closer
#
# One recording of the worst host, as in [first_recording](first_recording.py):

# %%
path = hosts.where(functions.col("host") == worst["host"][0]).orderBy("path").first()["path"]
print(path)
trace = corewise.open(path, read_only=True)
plots.thread_time(trace, top=8)

# %%
spark.stop()
