//! Texts as people paste them: cut at the width of a terminal, among shell prompts, and marks with colons.

use crate::text::file;
use model::{CpuId, EventKind, MarkEdge};

#[test]
fn a_cut_line_is_a_loss_of_its_cpu() {
    let text = "\
a     7 [001]     1.000000: sched:sched_switch: a:7 [120] S ==> b:8 [120]
b     8 [001]     1.000010: sched:sched_migrate_task: comm=a pid=7 prio=120 orig_cpu=1 dest_cp
b     8 [001]     1.000020: sched:sched_switch: b:8 [120] S ==> c:9 [120]
x     5 [000]     1.000030: sched:sched_switch: x:5 [120] S ==> y:6 [120]
y     6 [000]     1.000040: sched:sched_switch: y:6 [120] S ==> x:5 [120]
";
    let read = file(text.as_bytes()).unwrap();
    let losses = read.events.iter().filter_map(|e| match e.what {
        EventKind::Loss(loss) => Some((loss.cpu, loss.from.get().map(|t| t.0), loss.to.get().map(|t| t.0))),
        _ => None,
    });
    assert_eq!(losses.collect::<Vec<_>>(), [(Some(CpuId(1)), Some(0), Some(20_000))]);
}

#[test]
fn indented_lines_outside_events_are_counted() {
    let text = "\
shell # perf script
 shell # perf script
a     7 [001]     1.000000: sched:sched_switch: a:7 [120] S ==> b:8 [120]
        ffffffff8100 schedule ([kernel.kallsyms])
        not a frame, but of the event

  and this is of the mail
b     8 [001]     1.000020: sched:sched_switch: b:8 [120] S ==> a:7 [120]
";
    let read = file(text.as_bytes()).unwrap();
    let counts: Vec<_> = read.anomalies.0.iter().map(|(what, t)| (*what, t.count)).collect();
    assert_eq!(counts, [("a line is not an event", 3)]);
}

#[test]
fn a_colon_in_a_mark_is_of_its_name() {
    let text = "\
a-7     [001] .... 1.000000: print: B|7|Outer
a-7     [001] .... 1.001000: print: B|7|AllocPages: 2
a-7     [001] .... 1.002000: print: E|7
a-7     [001] .... 1.003000: print: tracing_mark_write: E|7
";
    let read = file(text.as_bytes()).unwrap();
    let marks = read.events.iter().filter_map(|e| match e.what {
        EventKind::Mark(mark) => Some((mark.edge, read.name(mark.name))),
        _ => None,
    });
    let expected =
        [(MarkEdge::Begin, "Outer"), (MarkEdge::Begin, "AllocPages: 2"), (MarkEdge::End, ""), (MarkEdge::End, "")];
    assert_eq!(marks.collect::<Vec<_>>(), expected);
}

/// perf script prints the CPU of the events that were recorded with it; samples of the idle task are counted, and in no profile.
#[test]
fn events_with_and_without_a_cpu_are_read() {
    let text = "\
a     7 [001]     1.000000: cycles:
        ffffffff81000010 schedule ([kernel.kallsyms])
            401000 main (/bin/a)
        fa7fffffffffffba [unknown] ([unknown])

a     7     1.000010: sched:sched_switch: a:7 [120] S ==> b:8 [120]
        ffffffff81000010 schedule ([kernel.kallsyms])

swapper     0 [000]     1.000020: cycles:
        ffffffff81000020 idle ([kernel.kallsyms])

b     8     1.000030: sched:sched_switch: b:8 [120] S ==> a:7 [120]
";
    let read = file(text.as_bytes()).unwrap();
    let switches = read.events.iter().filter(|e| matches!(e.what, EventKind::Switch(_)));
    assert_eq!(switches.map(|e| e.cpu).collect::<Vec<_>>(), [CpuId::UNKNOWN; 2]);
    let counts: Vec<_> = read.anomalies.0.iter().map(|(what, t)| (*what, t.count)).collect();
    let expected =
        [("a sample of the idle task is not part of the profile", 1), ("an event has no CPU, unlike others", 2)];
    assert_eq!(counts, expected);
    // After a function of the program, an address of the upper half is none of the kernel.
    let frames: Vec<u64> = read.stacks[0].iter().map(|frame| frame.address).collect();
    assert_eq!(frames, [0xffff_ffff_8100_0010, 0x40_1000, model::StackFrame::CONTEXT_USER, 0xfa7f_ffff_ffff_ffba]);
}
