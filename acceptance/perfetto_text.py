#!/usr/bin/env python3
"""A second, slow reader of Perfetto traces: prints their kernel events as ftrace text, which `testdata/referee/oracle.py` reads.

    perfetto_text.py TRACE | oracle.py
    perfetto_text.py --binary TEXTPROTO > TRACE     (Perfetto's own tests keep their traces as text)

It needs PyPI's `perfetto`. Columns (`compact_sched`) are converted to lines too. The thread left by the first switch of a
CPU, or by one after a loss, is not recorded there and is printed as `<...>:-1`, which the referee does not read: give it traces
with plain events. Times are the trace's own, state numbers as the kernel wrote them.
"""
import sys
import zlib

from google.protobuf import text_format
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

WAKES = ("sched_waking", "sched_wakeup", "sched_wakeup_new")


def packets(data):
    """Yields all packets, including compressed ones."""
    trace = proto.Trace()
    trace.ParseFromString(data)
    for packet in trace.packet:
        if packet.HasField("compressed_packets"):
            yield from packets(zlib.decompress(packet.compressed_packets))
        else:
            yield packet


def event_words(event):
    kind = event.WhichOneof("event") or "other"
    if kind == "sched_switch":
        s = event.sched_switch
        return (f"sched_switch: prev_comm={s.prev_comm} prev_pid={s.prev_pid} prev_prio={s.prev_prio} "
                f"prev_state={s.prev_state} ==> next_comm={s.next_comm} next_pid={s.next_pid} next_prio={s.next_prio}")
    if kind in WAKES:
        w = getattr(event, kind)
        return f"{kind}: comm={w.comm} pid={w.pid} prio={w.prio} target_cpu={w.target_cpu:03}"
    return f"{kind}:"


def columns(compact, running):
    """Yields (time, text) of packed wakeups and switches; `running` is the current (name, thread, priority) of the CPU."""
    now, names = 0, compact.intern_table
    for row in zip(compact.waking_timestamp, compact.waking_pid, compact.waking_prio, compact.waking_target_cpu,
                   compact.waking_comm_index):
        now += row[0]
        yield now, f"sched_waking: comm={names[row[4]]} pid={row[1]} prio={row[2]} target_cpu={row[3]:03}"
    now = 0
    for row in zip(compact.switch_timestamp, compact.switch_prev_state, compact.switch_next_pid,
                   compact.switch_next_prio, compact.switch_next_comm_index):
        now += row[0]
        name, tid, prio = running
        running[:] = names[row[4]], row[2], row[3]
        yield now, (f"sched_switch: prev_comm={name} prev_pid={tid} prev_prio={prio} prev_state={row[1]} ==> "
                    f"next_comm={running[0]} next_pid={running[1]} next_prio={running[2]}")


def binary(path):
    """Returns a trace written as text in binary form; fields that the package does not know are left out."""
    with open(path, encoding="utf-8") as file:
        trace = text_format.Parse(file.read(), proto.Trace(), allow_unknown_field=True, allow_unknown_extension=True)
    return trace.SerializeToString()


def main():
    if sys.argv[1] == "--binary":
        sys.stdout.buffer.write(binary(sys.argv[2]))
        return
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    running = {}
    for packet in packets(data):
        bundle = packet.ftrace_events
        lines = [(e.timestamp, event_words(e)) for e in bundle.event]
        if bundle.HasField("compact_sched"):
            lines += columns(bundle.compact_sched, running.setdefault(bundle.cpu, ["<...>", -1, 0]))
            lines.sort(key=lambda line: line[0])
        for ns, words in lines:
            print(f"<...>-0 [{bundle.cpu:03}] {ns // 10**9}.{ns % 10**9:09}: {words}")


if __name__ == "__main__":
    main()
