"""The tables that Spark reads, and their columns: known from their declarations, so that no recording is opened for a schema."""

from __future__ import annotations

import json
from typing import Any

from .. import Error, _corewise

# What each table has after its own columns.
IDENTITY = [
    ("trace", "bigint", "The ID of the recording; null if it could not be read."),
    ("path", "string", "The path of the recording."),
    ("labels", "map<string,string>", "The labels of the recording: labels['os']."),
]
TYPES = {"int": "bigint", "float": "double", "text": "string", "bool": "boolean"}
ERRORS = [
    ("table", "string", "The table that could not be made; null if the recording could not be opened."),
    ("error", "string", "Why."),
]
TRACES = [
    ("format", "string", "The format of its source."),
    ("span_ns", "bigint", "Its length. Unit: ns."),
    ("events", "bigint", "Number of events."),
    ("switches", "bigint", "Number of context switches."),
    ("wakes", "bigint", "Number of wakeups."),
    ("frames", "bigint", "Number of frames of a frame log."),
    ("threads", "bigint", "Number of thread instances."),
    ("cpus", "bigint", "Number of CPUs."),
    ("busy_ns", "bigint", "Time that CPUs ran a thread, summed over the CPUs. Unit: ns."),
    ("lost_events", "bigint", "Number of events that the source reports as lost."),
    ("machine", "string", "The processor model; null if not recorded."),
    ("arch", "string", "The architecture of the machine; null if not recorded."),
    ("conditions", "map<string,string>", "The known conditions at the start: conditions['governor.cpu0']."),
    ("about", "map<string,string>", "Other facts about the source: about['hostname']."),
    ("lacks", "array<string>", "What the source did not record, each in a sentence."),
]
FINDINGS = [
    ("rank", "bigint", "The place of the finding in its recording, from 1: that with the largest potential saving first."),
    ("rule", "string", "The rule that found it: `corewise explain RULE` describes it."),
    ("severity", "string", "Its severity."),
    ("title", "string", "The problem, in a sentence."),
    ("recoverable_ns", "bigint", "The potential saving. Unit: ns."),
    ("confidence", "string", "How sure the potential saving is."),
    ("action", "string", "What to do."),
    ("finding", "string", "All fields, as JSON (docs/diagnose.md)."),
]
EXTRA = {"errors": ERRORS, "traces": TRACES, "findings": FINDINGS}


def _about(doc: str, **facts: str) -> str:
    """The comment of a column: its documentation, and what else is known of it."""
    return doc + "".join(f" {name}: {value}." for name, value in facts.items() if value)


class Definition:
    """A table by name: its columns (name, Spark's type, documentation), and the file of a trace folder that has it in row groups (``states``)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.states: str | None = None
        # Rows are passed on while they are read; otherwise all of a recording, or none.
        self.large = False
        if name in EXTRA:
            own = EXTRA[name]
        else:
            try:
                columns, self.large, self.states = _corewise.declared(name)
            except Error as why:
                raise Error(f"{why}, and Spark reads {', '.join(EXTRA)} too") from None
            own = [(of, TYPES[kind], _about(doc, Unit=unit, Shows=shows)) for of, kind, unit, _, doc, shows in columns]
        self.columns = [*own, *IDENTITY]


def traces(trace: Any) -> list[dict[str, Any]]:
    """The row of the table `traces`."""
    facts, sums, machine = trace.facts, trace.summary, trace.machine
    row: dict[str, Any] = {name: sums.get(name, 0) for name, kind, _ in TRACES if kind == "bigint"}
    row.update(format=facts["format"], machine=machine["model_name"], arch=machine["arch"], lacks=facts["lacks"])
    row["conditions"] = [(of["name"], of["start"]["Ok"]) for of in facts["conditions"] if "Ok" in of["start"]]
    row["about"] = [(name, value) for name, value in facts["about"] if not name.startswith("label.")]
    return [{name: list(dict(reversed(cell)).items()) if name in ("conditions", "about") else cell for name, cell in row.items()}]


def findings(trace: Any, span: str | None) -> list[dict[str, Any]]:
    """The rows of the table `findings`."""
    rows = []
    for rank, of in enumerate(trace.findings(range=span), 1):
        row = {name: of[name] for name in ("rule", "severity", "title", "recoverable_ns", "confidence")}
        rows.append({"rank": rank, **row, "action": of["action"]["what"], "finding": json.dumps(of.to_dict())})
    return rows
