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
# # My first recording
#
# Records a program, and shows where its threads' time went, on which cores they ran, what they waited for, and what to fix.
#
# It needs `pip install 'corewise[plots]'` and Jupyter. Open this file as a notebook with Jupytext, or convert it: `jupytext --to ipynb first_recording.py`.

# %%
import sys
from pathlib import Path

import corewise
from corewise import plots


def show(plot):
    """The plot, or what the recording lacks for it."""
    try:
        return plot(trace)
    except corewise.Error as why:
        print(why)


# %% [markdown]
# ## Record
#
# Replace the command with your own. Recording needs the rights that `corewise doctor` lists. Without them, this notebook continues with a
# simulated run (`testdata/notebooks`), and says so.

# %%
COMMAND = [sys.executable, "hand_over.py", "1"]

try:
    trace = corewise.record(COMMAND)
except corewise.Error as why:
    print(f"No recording on this machine: {why}")
    print("The rest of this notebook shows a simulated run: a program that renders frames on a hybrid machine.")
    trace = corewise.open(Path("../../testdata/notebooks/before-1.cw"))
trace

# %% [markdown]
# What was recorded on which machine:

# %%
trace.machine

# %% [markdown]
# ## Where the time went
#
# Each bar is the lifetime of a thread: running (by type of core), ready (it could run, but had no CPU), blocked (it waited for something else).

# %%
plots.thread_time(trace)

# %% [markdown]
# On a hybrid machine: did the threads that matter run on the fast cores?

# %%
plots.core_types(trace)

# %% [markdown]
# ## Waiting for a CPU
#
# How long did threads wait for a CPU after they could run? Each bar is a range of lengths, from its label to twice that.

# %%
show(plots.ready_latency)

# %% [markdown]
# The threads that waited most, and what was free meanwhile (all times in ns):

# %%
waits = trace.table("ready_wait").to_pandas().sort_values("ready_ns", ascending=False)
waits[["thread_name", "tid", "ready_ns", "ready_count", "max_ready_ns", "no_cpu_free_ns", "wakeup_latency_ns"]].head(5)

# %% [markdown]
# ## Idle CPUs
#
# How long were CPUs idle at a time, and what ended it? Many short periods are a sign of work that is handed over in pieces that are too small.

# %%
show(plots.idle_periods)

# %%
show(plots.idle_ends)

# %% [markdown]
# ## Frames
#
# If the program marks its frames (`corewise record --mark frame=./game:present`, or a frame log), the slowest ones and their causes:

# %%
show(plots.frames)

# %%
show(plots.slow_frames)

# %% [markdown]
# ## What to fix
#
# The problems that the rules found, those with the largest potential saving first. `print(findings)` has the evidence; `corewise explain RULE`
# describes a rule.

# %%
findings = trace.findings()
findings

# %% [markdown]
# ## Look closer
#
# `trace.view()` shows the timeline in the notebook. `trace.tables` lists all tables; each is a DataFrame with `.to_pandas()` or `.to_polars()`.

# %%
trace.view(height=500, limit_mb=5)
