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
# Reads many recordings with Spark, and shows which hosts have findings that cost most, on which hosts threads waited longest for a CPU and why, since when, and
# what could not be read.
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
# Which host made each recording, and on which day? Without a recorded name, the recording stands for itself.

# %%
name = functions.regexp_extract("path", "([^/]+)$", 1)
about = functions.col("about")
host, day = functions.coalesce(about["hostname"], name).alias("host"), functions.substring(about["started"], 1, 10).alias("day")
hosts = load("traces").select("path", "span_ns", host, day).cache()
recordings = hosts.groupBy("host").count().toArrow().to_pandas().set_index("host")["count"]
print(recordings.sum(), "recordings of", len(recordings), "hosts")

# %% [markdown]
# ## What costs most
#
# `corewise diagnose` finds what keeps a program from being faster, and estimates what fixing it would save. A host's figure is the mean of its recordings: the
# largest saving of a rule, as a share of the recording's length. Rules are not added up, because one fix can resolve several findings.

# %%
largest = load("findings").groupBy("path", "rule").agg(functions.max("recoverable_ns").alias("ns"))
of_host = largest.join(hosts, "path").groupBy("host", "rule").agg(
    functions.countDistinct("path").alias("found in"), functions.sum(functions.col("ns") / functions.col("span_ns")).alias("shares")
)
found = of_host.toArrow().to_pandas()
found["recordings"] = found["host"].map(recordings)
found["saving"] = found["shares"] / found["recordings"]
worst = found.sort_values("saving", ascending=False).drop_duplicates("host").head(10)
worst[["host", "rule", "found in", "recordings", "saving"]]

# %%
axis = altair.Axis(format=".1%", title="mean potential saving, as a share of a recording's length")
altair.Chart(worst).mark_bar().encode(
    x=altair.X("saving", axis=axis), y=altair.Y("host", sort="-x"), color=altair.Color("rule", legend=altair.Legend(orient="bottom", labelLimit=400))
)

# %% [markdown]
# ## Since when
#
# The share of each day's recordings in which a rule found something. Recordings without the time of their start are on no day.

# %%
each_day = hosts.where("day IS NOT NULL").groupBy("day").agg(functions.count("*").alias("recordings"))
days = largest.join(hosts, "path").groupBy("day", "rule").agg(functions.countDistinct("path").alias("found in")).join(each_day, "day").toArrow().to_pandas()
days["share"] = days["found in"] / days["recordings"]
if days["day"].nunique() > 1:
    chart = altair.Chart(days).mark_line(point=True).encode(x="day", y=altair.Y("share", axis=altair.Axis(format="%")), color="rule")
else:
    chart = None
    print("The recordings are of one day, or of no known day.")
chart

# %% [markdown]
# ## Where threads waited
#
# The share of their runnable time that threads waited for a CPU, by how the wait began. Each recording's table is made by corewise on an executor, Spark adds
# them up.

# %%
CAUSES = {"woken": "woken", "preempted": "preempted", "throttled": "throttled by a quota", "yielded": "gave way by a yield", "new": "new thread"}
sums = [functions.sum(f"ready_{cause}_ns").alias(cause) for cause in CAUSES]
waits = load("ready_wait").groupBy("path").agg(functions.sum("ready_ns").alias("ready"), functions.sum("running_ns").alias("running"), *sums)
by_host = waits.join(hosts, "path").groupBy("host").agg(*[functions.sum(of).alias(of) for of in ("ready", "running", *CAUSES)]).toArrow().to_pandas()
by_host = by_host.fillna(0)
runnable = by_host["ready"] + by_host["running"]
by_host["other"] = by_host["ready"] - by_host[list(CAUSES)].sum(axis=1)
for cause in ("ready", *CAUSES, "other"):
    by_host[cause] = by_host[cause] / runnable
longest = by_host.nlargest(10, "ready")
parts = longest.melt("host", [*CAUSES, "other"], "cause", "share").replace({"cause": CAUSES})
axis = altair.Axis(format="~%", title="share of runnable time spent waiting for a CPU")
altair.Chart(parts).mark_bar().encode(
    x=altair.X("share", axis=axis), y=altair.Y("host", sort=list(longest["host"])), color=altair.Color("cause", legend=altair.Legend(orient="bottom"))
)

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
path = hosts.where(functions.col("host") == worst["host"].iloc[0]).orderBy("path").first()["path"]
print(path)
trace = corewise.open(path, read_only=True)
plots.thread_time(trace, top=8)

# %%
spark.stop()
