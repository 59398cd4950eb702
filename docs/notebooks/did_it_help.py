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
# # Did it help?
#
# Records a program before and after a change, in turn, and says whether it became faster, by how much, and why.
#
# It needs `pip install 'corewise[plots]'` and Jupyter. Open this file as a notebook with Jupytext, or convert it: `jupytext --to ipynb did_it_help.py`.

# %%
import sys
from pathlib import Path

import corewise
from corewise import plots

# %% [markdown]
# ## Record both in turn
#
# One run of each says little: a machine is never the same twice. Six pairs or more, recorded in turn, are compared as pairs, so that a slow drift
# of the machine affects both sides alike (`corewise ab` on the command line does this too, and repeats disturbed pairs).
#
# Replace the commands with your own. Without the rights to record, this notebook continues with simulated runs (`testdata/notebooks`), and says so.

# %%
BEFORE = [sys.executable, "hand_over.py", "1"]
AFTER = [sys.executable, "hand_over.py", "100"]
PAIRS = 6

before, after = [], []
try:
    for pair in range(PAIRS):
        before.append(corewise.record(BEFORE, output=f"before-{pair}.cw"))
        after.append(corewise.record(AFTER, output=f"after-{pair}.cw"))
except corewise.Error as why:
    print(f"No recording on this machine: {why}")
    print("The rest of this notebook compares simulated runs: a program that renders frames on a hybrid machine.")
    runs = Path("../../testdata/notebooks")
    before, after = ([corewise.open(path) for path in sorted(runs.glob(f"{side}-*.cw"))] for side in ("before", "after"))
print(len(before), "runs before,", len(after), "after")

# %% [markdown]
# ## The answer
#
# The first line is the answer: changed, the same (within a margin of 5 %), or unknown, with the number of runs that would settle it.

# %%
comparison = corewise.compare(before, after)
print(comparison.answer)

# %% [markdown]
# The effects with their 95 % intervals. An interval that does not touch 0 is a change; one within the grey margin is the same.

# %%
plots.comparison(comparison)

# %% [markdown]
# ## Why
#
# The critical path to the objective, by cause: the pieces sum to the change of the means (ns; negative is faster).

# %%
import pandas

if comparison.why:
    print(comparison.why["line"])
    pieces = pandas.DataFrame(comparison.why["pieces"])[["title", "cause", "role", "ns"]]
else:
    pieces = pandas.DataFrame(columns=["title", "cause", "role", "ns"])
    print("The runs have no critical path.")
pieces.sort_values("ns", key=abs, ascending=False).head(8)

# %% [markdown]
# ## Before and after, thread by thread
#
# One run of each side: where did the threads' time go?

# %%
plots.thread_time(before[0], top=6)

# %%
plots.thread_time(after[0], top=6)

# %% [markdown]
# ## What must be known before the numbers are used

# %%
for caution in comparison.cautions or ["no cautions"]:
    print("-", caution)

# %% [markdown]
# The whole comparison is in `print(comparison)`, and as a page in `comparison` itself.
