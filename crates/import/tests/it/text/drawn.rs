//! Tests random traces that are printed and read again, and rare kinds of lines.

use crate::text::file;
use import::formats::ftrace_text::FtraceText;
use import::formats::perf_script::PerfScript;
use ingest::{Anomaly, Importer, Input, Sniff};
use model::{Batch, Event, EventKind, NameId, Ns, StackFrame, SwitchOut, Tid, Wake, WakeKind};
use testkit::{Mode, Random};

/// Returns the part of an event that its printed line contains.
fn printed_part(event: &Event) -> Option<(i64, u32, String)> {
    let what = match event.what {
        EventKind::Switch(s) => {
            let out = match s.out {
                SwitchOut::NotRecorded => SwitchOut::Blocked,
                out if out.is_runnable() && out != SwitchOut::Preempted => SwitchOut::Runnable,
                out => out,
            };
            format!("{} {out:?} {}", s.prev.0, s.next.0)
        }
        EventKind::Wake(Wake { kind: WakeKind::WakeupAtSwitchIn, .. }) => return None,
        EventKind::Wake(w) => format!("{:?} {} {:?}", w.kind, w.tid.0, w.target.unwrap_or(event.cpu)),
        EventKind::Migrate { tid, from, to } => format!("{} {} {}", tid.0, from.0, to.0),
        _ => return None,
    };
    Some((event.at.0, event.cpu.0, what))
}

/// Converts perf's text to ftrace's: with a dash and flags, without the subsystem.
fn as_ftrace(script: &str) -> String {
    let line = |l: &str| {
        let (head, rest) = l.split_once("] ").unwrap();
        let (task, cpu) = head.split_once(" [").unwrap();
        let (time, rest) = rest.split_once(": ").unwrap();
        let (comm, tid) = task.split_once(' ').unwrap();
        format!(
            "{comm:>16}-{tid:<7} [{cpu}] d..3. {time}: {}\n",
            rest.replacen("sched:", "", 1).replacen("power:", "", 1).replacen("syscalls:", "", 1)
        )
    };
    script.lines().map(line).collect()
}

#[test]
fn printed_events_are_read_back() {
    for seed in 0..60 {
        let mode = [Mode::Whole, Mode::Deleted][seed as usize % 2];
        let mut batch: Batch = Random { mode, seed, steps: 400 }.batch();
        batch.events.sort_by_key(|e| e.at);
        let script = testkit::perf_script::render(&batch);
        let is_printed = |e: &&model::Event| {
            printed_part(e).is_some()
                || matches!(e.what, EventKind::Sample | EventKind::Affinity { .. } | EventKind::Throttle { .. })
        };
        let Some(first) = batch.events.iter().find(is_printed) else { continue };
        let origin = first.at;
        for text in [script.clone(), as_ftrace(&script)] {
            let read = file(text.as_bytes()).unwrap();
            assert!(read.anomalies.0.is_empty(), "seed {seed}: {:?}", read.anomalies.0);
            let mut expected: Vec<_> = batch.events.iter().filter_map(printed_part).collect();
            expected.iter_mut().for_each(|w| w.0 -= origin.0);
            let mut found: Vec<_> = read.events.iter().filter_map(printed_part).collect();
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "seed {seed}, {}", read.format);
        }
    }
}

fn lines(text: &str) -> Vec<String> {
    let read = file(text.as_bytes()).unwrap();
    read.events.iter().map(|e| read.describe(e)).collect()
}

#[test]
fn all_kinds_of_losses_are_read() {
    let text = "\
# tracer: nop
#
# entries-in-buffer/entries-written: 3/9   #P:2
            sh-7       [000] ..... 1.000000: cpu_idle: state=1 cpu_id=0
##### CPU 1 buffer started ####
            sh-8       [001] ..... 1.000010: cpu_idle: state=1 cpu_id=1
CPU:0 [LOST 5 EVENTS]
            sh-7       [000] ..... 1.000020: cpu_idle: state=1 cpu_id=0
CPU:1 [EVENTS DROPPED]
";
    let losses: Vec<_> = lines(text).into_iter().filter(|t| t.contains("lost")).collect();
    assert_eq!(
        losses,
        [
            "10000 cpu1 lost -1 of Some(1): -∞–10000",
            "20000 cpu0 lost 5 of Some(0): 0–20000",
            "20000 cpu1 lost -1 of Some(1): 10000–20000"
        ]
    );
    let read = file(text.as_bytes()).unwrap();
    assert!(read.facts.lacks.iter().any(|l| l.contains("overwritten")), "{:?}", read.facts.lacks);
}

#[test]
fn damaged_lines_are_losses_and_lines_of_another_form_are_not() {
    let text = "\
a-1 [000] 1.000000: sched_waking: comm=b pid=2 prio=120 target_cpu=000
a-1 [000] 1.000001: sched_switch: prev_comm=a prev_pid=1
no event at all
a-1 [000] 1.000002: sched_switch: (__schedule+0x2b0/0x910) prev=0xffff8000 next=0xffff9000 prev_state=1
a-1 [000] 1.000003: sched_waking: comm=b pid=2 prio=120 target_cpu=000
";
    let read = file(text.as_bytes()).unwrap();
    assert_eq!(
        read.anomalies.0.iter().map(|(what, t)| (*what, t.what, t.count, t.first_offset)).collect::<Vec<_>>(),
        [
            ("a line is not an event", Anomaly::NotUnderstood, 1, 128),
            (
                "an event has a known name, but arguments of another form: it may be a probe of that name",
                Anomaly::NotUnderstood,
                1,
                144
            ),
            ("the arguments of an event are damaged or cut off", Anomaly::Lost, 1, 71)
        ]
    );
    let samples = read.events.iter().filter(|e| e.what == EventKind::Sample && e.current == Tid(1)).count();
    assert_eq!(samples, 1, "a line of another form still shows which thread ran");
    let wakes = read.events.iter().filter(|e| matches!(e.what, EventKind::Wake(_))).count();
    let losses = read.events.iter().filter(|e| matches!(e.what, EventKind::Loss(_))).count();
    assert_eq!((wakes, losses), (2, 1));
}

#[test]
fn late_lines_are_sorted() {
    // Lines that are slightly late need no second reading; a line that is much later makes the engine read again.
    let line = |cpu: u32, us: u32| format!("a-1 [{cpu:03}] 1.{us:06}: cpu_idle: state=1 cpu_id={cpu}\n");
    let slightly_late: String =
        (0..30_000).map(|n| line(n % 2, if n % 2 == 0 { n } else { n.saturating_sub(3_000) })).collect();
    let read = file(slightly_late.as_bytes()).unwrap();
    assert_eq!((read.late, read.events.len()), (0, 30_001), "one event is a name");
    assert!(read.events.windows(2).all(|w| w[0].at <= w[1].at));
    let much_later = slightly_late + &line(1, 1);
    let read = file(much_later.as_bytes()).unwrap();
    assert!(read.events.windows(2).all(|w| w[0].at <= w[1].at));
    assert_eq!((read.late, read.events.len()), (0, 30_002));
}

/// Batches stay small although a callchain may follow each event, and no chain is split between two batches.
#[test]
fn switches_with_and_without_callchains() {
    let switch = |n: usize, chain: &str| {
        let args = "prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=a next_pid=1 next_prio=120";
        format!("a 1 [000] 1.{n:09}: sched:sched_switch: {args}\n{chain}")
    };
    let bare: String = (0..40_000).map(|n| switch(n, "")).collect();
    let opened = PerfScript.open(Input::Pipe(Box::new(bare.as_bytes()))).unwrap();
    let mut stream = opened.streams.into_iter().next().unwrap();
    let (mut batch, mut all) = (Batch::default(), 0);
    while stream.next(&mut batch, &mut ingest::Anomalies::default()).unwrap() != ingest::Reach::End {
        assert!(batch.events.len() < 9_000, "{} events at once", batch.events.len());
        all += batch.events.len();
        batch.clear();
    }
    assert_eq!(all + batch.events.len(), 40_001);
    for end in ["", "\n"] {
        let chained = |n| switch(n, &format!("\tffffffff81399a71 x\n\t    {n:08x} [unknown] (/x)\n{end}"));
        let read = file((0..20_000).map(chained).collect::<String>().as_bytes()).unwrap();
        let stacks = read.events.iter().filter_map(|e| match e.what {
            EventKind::Switch(s) => {
                Some(read.stacks[s.stack.0 as usize - 1].iter().map(|f| f.address).collect::<Vec<_>>())
            }
            _ => None,
        });
        assert!(stacks.eq((0..20_000).map(|n| vec![0xffff_ffff_8139_9a71, n])));
    }
}

/// ftrace's callchains follow the switch at which they were taken, with events of other CPUs between, and no batch ends inside of one.
/// A chain of a later event, and a user callchain, do not belong to the switch.
#[test]
fn switches_have_the_callchains_of_ftrace() {
    let switch = |n: usize, cpu: usize, tid: usize| {
        let args =
            format!("prev_comm=a prev_pid={tid} prev_prio=120 prev_state=S ==> next_comm=b next_pid=9 next_prio=120");
        format!("a-{tid} [{cpu:03}] d..2. 1.{n:09}: sched_switch: {args}\n")
    };
    let chain = |n: usize, cpu: usize, tid: usize, what: &str, frames: &str| {
        let head = format!("a-{tid} [{cpu:03}] d..2. 1.{n:09}: <{what}>\n");
        frames.split(' ').fold(head, |text, frame| text + " => " + frame + "\n")
    };
    let round = |n: usize| {
        let at = |part| 100 * n + part;
        [
            switch(at(0), 0, 1),
            switch(at(1), 1, 2),
            chain(at(2), 0, 1, "stack trace", &format!("__schedule schedule+0x27/0xe0 f{}", n % 500)),
            chain(at(3), 1, 2, "stack trace", "__schedule schedule 0xffffffffc0a01234"),
            chain(at(4), 1, 9, "stack trace", "__schedule of_another"),
            switch(at(5), 2, 3),
            chain(at(6), 2, 3, "user stack trace", "main"),
        ]
        .concat()
    };
    let read = file((0..10_000).map(round).collect::<String>().as_bytes()).unwrap();
    assert!(read.anomalies.0.is_empty() && read.late == 0, "{:?}", read.anomalies.0);
    let chains = |tid: i32| {
        let of =
            move |e: &Event| if let EventKind::Switch(s) = e.what { Some(s).filter(|s| s.prev.0 == tid) } else { None };
        let of_switch = read.events.iter().filter_map(of).map(|s| (s.stack.0 as usize).checked_sub(1));
        let named =
            of_switch.map(|at| at.map(|at| read.stacks[at].iter().map(|f| read.name(f.function)).collect::<Vec<_>>()));
        named.collect::<Vec<_>>()
    };
    let numbers: Vec<String> = (0..500).map(|n| format!("f{n}")).collect();
    for (n, chain) in chains(1).into_iter().enumerate() {
        assert_eq!(chain, Some(vec!["__schedule", "schedule", &*numbers[n % 500]]), "of round {n}");
    }
    assert!(chains(2) == vec![Some(vec!["__schedule", "schedule", ""]); 10_000]);
    assert!(chains(3) == vec![None; 10_000]);
    assert!(read.stacks.iter().flatten().all(StackFrame::in_kernel));
}

#[test]
fn a_clock_without_a_unit_counts_ticks() {
    let text = "\
          <idle>-0     [000] 53004089197: cpu_idle:             state=1 cpu_id=0
          <idle>-0     [000]2253004089197: cpu_idle:             state=4294967295 cpu_id=0
";
    let read = file(text.as_bytes()).unwrap();
    assert!(read.facts.lacks.iter().any(|l| l.contains("ticks")), "{:?}", read.facts.lacks);
    let lines = lines(text);
    assert_eq!(lines, ["0 cpu0 Idle { state: 1 }", "2200000000000 cpu0 Idle { state: -1 }"]);
}

#[test]
fn single_threads_are_not_the_whole_machine() {
    let alone = "\
a 7 [000] 1.000001: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=120
a 7 [000] 1.000003: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=c next_pid=9 next_prio=120
a 7 [001] 1.000005: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=c next_pid=9 next_prio=120
";
    assert!(!file(alone.as_bytes()).unwrap().facts.whole_machine);
    // Two threads in turn: each switch follows from the other, but none is from the idle task.
    let turn = |at: usize, prev: usize, next: usize| {
        let args = format!(
            "prev_comm=a prev_pid={prev} prev_prio=120 prev_state=S ==> next_comm=b next_pid={next} next_prio=1"
        );
        format!("a {prev} [000] 1.{at:06}: sched:sched_switch: {args}\n")
    };
    let turns = (0..90).map(|n| [turn(3 * n, 7, 8), turn(3 * n + 1, 8, 0), turn(3 * n + 2, 0, 7)]);
    let text: String = turns.clone().map(|t| t[..2].concat()).collect();
    assert!(!file(text.as_bytes()).unwrap().facts.whole_machine);
    let text: String = turns.map(|t| t.concat()).collect();
    assert!(file(text.as_bytes()).unwrap().facts.whole_machine);
    let without_cpu: String = alone.replace("[000] ", "").replace("[001] ", "");
    let read = file(without_cpu.as_bytes()).unwrap();
    assert_eq!((read.format, read.events.len()), ("perf script", 4));
    assert!(read.events.iter().all(|e| e.cpu == model::CpuId::UNKNOWN));
}

#[test]
fn switch_records_and_losses_of_perf_are_read() {
    let text = "\
       perf-exec     0/0     [000]     0.000000000: PERF_RECORD_COMM: a b:7/8
             a b     7/8     [001]     2.000000000: PERF_RECORD_SWITCH_CPU_WIDE IN           prev pid/tid:     0/0
             a b     7/8     [001]     2.000001000: PERF_RECORD_LOST lost 12
             a b     7/8     [001]     2.000002000: PERF_RECORD_SWITCH_CPU_WIDE OUT preempt  next pid/tid:     0/0
             a b     7/8     [001]     2.000003000: PERF_RECORD_FORK(7:9):(7:8)
";
    assert_eq!(
        lines(text),
        [
            "-∞ cpu0 8 of 7 is \"a b\"",
            "0 cpu1 :-1 Blocked ? → a b:8",
            "2000 cpu1 lost 12 of Some(1): 0–2000",
            "2000 cpu1 a b:8 Preempted R → :-1",
            "3000 cpu1 9 of 7 is \"\"",
        ]
    );
}

/// Other texts are not detected as traces, and neither format is detected as the other.
#[test]
fn only_traces_are_recognised() {
    for other in [
        "",
        "hello world\n",
        "a,b,c\n1,2,3\n",
        "{\"traceEvents\":[{\"ts\":1.5,\"name\":\"x: y\"}]}",
        "<!DOCTYPE html><html><head><title>A page</title></head></html>",
        "[001] 1.5: x\n",
        "Nov 21 04:41:31 host sshd[123]: Accepted 1.5: x\n",
        "127.0.0.1 - - [10/Oct/2000:13:55:36] \"GET / HTTP/1.0\" 200\n",
        "x-1 [1] 2: y: z\n12:30:11.5: z\n",
        "[    1.234567] kernel: a-1 [core]: x\n",
        "int main() { a[1] = 2.0: x; }\n",
        "Fatal: a 1 [2] 3: 4\n",
    ] {
        let is = (FtraceText.sniff(other.as_bytes()), PerfScript.sniff(other.as_bytes()));
        assert_eq!(is, (Sniff::No, Sniff::No), "{other}");
    }
    let ftrace = "  sh-7  [001] d..2. 1.5: x: y\n";
    let perf = "  sh 7 [001] 1.5: x: y\n";
    for (text, is) in [(ftrace, (Sniff::Yes, Sniff::No)), (perf, (Sniff::No, Sniff::Yes))] {
        assert_eq!((FtraceText.sniff(text.as_bytes()), PerfScript.sniff(text.as_bytes())), is, "{text}");
    }
}

#[test]
fn unsupported_texts_are_refused_with_a_reason() {
    for (text, why) in [
        ("# tracer: irqsoff\n#\n# irqsoff latency trace v1.1.5 on 6.1\n", "latency-format"),
        ("<html><title>Android System Trace</title>\n</html>\n", "no ftrace text"),
        ("# ========\n# hostname : x\n# ========\n", "no line"),
    ] {
        let fatal = file(text.as_bytes()).err().unwrap();
        assert!(fatal.what.contains(why), "{fatal}");
    }
}

#[test]
fn names_are_reported_once() {
    let text = "\
 a b-7 (    5) [000] d..2 1.000001: cpu_idle: state=1 cpu_id=0
 a b-7 (    5) [000] d..2 1.000002: tracing_mark_write: B|5|x
 a b-7 (-----) [000] d..2 1.000003: tracing_mark_write: E
 a b-7 (    6) [000] d..2 1.000004: cpu_idle: state=1 cpu_id=0
";
    let read = file(text.as_bytes()).unwrap();
    let names: Vec<_> = read.events.iter().filter(|e| matches!(e.what, EventKind::Name { .. })).collect();
    assert_eq!(names.len(), 2);
    let ends = read.events.iter().find_map(|e| match e.what {
        EventKind::Mark(m) if m.name == NameId::NONE => Some((e.at, m.pid.0)),
        _ => None,
    });
    assert_eq!(ends, Some((Ns(2_000), 5)), "an end belongs to the last known process of its thread");
}
