#!/usr/bin/env python3
"""Makes a long Perfetto trace from a short one: repeats its kernel events, each time later by the trace's length.

    perfetto_repeat.py TRACE OUT [--events 8000000] [--compact]

It needs PyPI's `perfetto`. All other packets are written once. --compact: switches and wakeups become `compact_sched` columns
(wakeups as sched_waking, which is what columns contain), the rest is left out.
"""
import argparse

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto


def packed(bundle):
    """Returns a bundle's switches and wakeups as columns."""
    compact, table = proto.FtraceEventBundle(cpu=bundle.cpu), {}
    columns, last = compact.compact_sched, {"switch": 0, "waking": 0}
    for event in bundle.event:
        kind = event.WhichOneof("event")
        if kind == "sched_switch":
            s = event.sched_switch
            columns.switch_timestamp.append(event.timestamp - last["switch"])
            columns.switch_prev_state.append(s.prev_state)
            columns.switch_next_pid.append(s.next_pid)
            columns.switch_next_prio.append(s.next_prio)
            columns.switch_next_comm_index.append(table.setdefault(s.next_comm, len(table)))
            last["switch"] = event.timestamp
        elif kind == "sched_wakeup":
            w = event.sched_wakeup
            columns.waking_timestamp.append(event.timestamp - last["waking"])
            columns.waking_pid.append(w.pid)
            columns.waking_prio.append(w.prio)
            columns.waking_target_cpu.append(w.target_cpu)
            columns.waking_comm_index.append(table.setdefault(w.comm, len(table)))
            last["waking"] = event.timestamp
    columns.intern_table.extend(table)
    return compact


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def shift(bundle, by):
    for event in bundle.event:
        event.timestamp += by
    columns = bundle.compact_sched
    for times in (columns.switch_timestamp, columns.waking_timestamp) if bundle.HasField("compact_sched") else ():
        if times:
            times[0] += by


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("trace")
    options.add_argument("out")
    options.add_argument("--events", type=int, default=8_000_000)
    options.add_argument("--compact", action="store_true")
    options = options.parse_args()
    trace = proto.Trace()
    with open(options.trace, "rb") as file:
        trace.ParseFromString(file.read())
    kernel = [p for p in trace.packet if p.HasField("ftrace_events")]
    times = [e.timestamp for p in kernel for e in p.ftrace_events.event]
    length = max(times) - min(times) + 1000
    if options.compact:
        for packet in kernel:
            packet.ftrace_events.CopyFrom(packed(packet.ftrace_events))
    each = sum(len(c.switch_timestamp) + len(c.waking_timestamp) for p in kernel
               for c in [p.ftrace_events.compact_sched]) + sum(len(p.ftrace_events.event) for p in kernel)
    # Only kernel events: data of programs would make the importer wait for the whole trace.
    others = [p for p in trace.packet if p.HasField("system_info") or p.HasField("clock_snapshot")]
    config = proto.TracePacket()
    config.trace_config.data_sources.add().config.name = "linux.ftrace"
    written = 0
    with open(options.out, "wb") as out:
        out.write(proto.Trace(packet=[config, *others]).SerializeToString())
        while written < options.events:
            for packet in kernel:
                body = packet.SerializeToString()
                out.write(b"\x0a" + varint(len(body)) + body)
            written += each
            for packet in kernel:
                shift(packet.ftrace_events, length)
    print(f"{written} events")


if __name__ == "__main__":
    main()
