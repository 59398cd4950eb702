//! The rules of docs/accounting.md as drawn traces with their expected output: crates/account/cases.

use crate::support::{self, Accounted};
use account::{CpuTotals, Rules, ThreadTotals};
use model::{
    CpuId, CpuState, CpuStretch, Event, EventKind, NameId, Ns, Pid, Reason, ThreadKey, ThreadState, ThreadStretch, Tid,
};
use std::fmt::Write;
use std::path::Path;
use testkit::ByName;

#[test]
fn cases() {
    testkit::cases::run(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cases")), |drawing| {
        let drawn = testkit::trace(drawing);
        let has_waking = drawn.facts.has_waking.unwrap_or(true);
        let rules = Rules {
            has_waking,
            has_wakes: has_waking || drawn.facts.has_wakeup.unwrap_or(true),
            has_yields: drawn.facts.has_yields,
            online: drawn.facts.online.clone(),
            recorded: drawn.facts.recorded.clone(),
            unrecorded: None,
            losses: None,
            strict: drawn.says("strict"),
            infer: drawn.says("inferred"),
            whole_machine: drawn.facts.whole_machine,
            within: None,
        };
        output(&support::account(|| drawn.opened(), rules, false))
    });
}

/// TID 2 creates C, which is switched out in R: if TID 2 is kthreadd, C is a kernel thread that gave way. In a container, TID 2 is
/// any process.
#[test]
fn runnable_threads_created_by_kthreadd_gave_way() {
    for (name, reason) in [("kthreadd", Reason::GaveWay), ("sh", Reason::Preempted)] {
        let mut drawn = testkit::trace("source yields\ncpu0 A Cr A");
        let event = |what| Event { at: Ns::ZERO, offset: 0, cpu: CpuId(0), current: Tid::UNKNOWN, what };
        let (tid, pid) = (Tid(3), Pid(3));
        drawn.batch.names[1] = name.into();
        drawn.batch.events.splice(
            0..0,
            [
                event(EventKind::Name { tid: Tid(2), pid: Pid(2), name: NameId(2) }),
                event(EventKind::Fork { parent: Tid(2), tid, pid, name: NameId::NONE }),
            ],
        );
        let rules = Rules { has_yields: true, ..Rules::default() };
        let accounted = support::account(|| drawn.opened(), rules, false);
        let ready = accounted.threads.iter().find(|s| s.tid == tid && s.state == ThreadState::Ready).unwrap();
        assert_eq!(ready.reason, reason, "{name}");
    }
}

/// Formats the result: times in milliseconds, without zeros.
fn output(a: &Accounted) -> String {
    let mut out = String::new();
    for t in &a.instances {
        let stretches = a.threads.iter().filter(|s| s.thread == t.thread);
        let _ = writeln!(out, "{:<4} {}", label(a, t.thread), listed(stretches.map(|s| thread_stretch(a, s))));
        let _ = writeln!(out, "     = {}", thread_sums(a, t));
    }
    for c in &a.totals.cpus {
        let stretches = a.cpus.iter().filter(|s| s.cpu == c.cpu);
        let _ = writeln!(out, "cpu{} {}", c.cpu.0, listed(stretches.map(|s| cpu_stretch(a, s))));
        let _ = writeln!(out, "     = {}", cpu_sums(c));
    }
    let concurrency = (0..a.concurrency.rows.len()).map(|row| {
        let of = |col| a.concurrency.int(row, col).unwrap();
        let unknown = if of("unknown") > 0 { format!("+{}?", of("unknown")) } else { String::new() };
        format!("{}{unknown} {}", of("running"), ms(Ns(of("duration_ns"))))
    });
    let _ = writeln!(out, "concurrency: {}", listed(concurrency));
    for law in a.laws.0.iter().filter(|l| l.residual_ns != 0) {
        let _ = writeln!(out, "law inconsistent_switches: {} by {}", law.what, ms(Ns(law.residual_ns)));
    }
    out
}

fn thread_stretch(a: &Accounted, s: &ThreadStretch) -> String {
    let mut text = format!("{}–{} {}", ms(s.span.start), ms(s.span.end), s.state.as_str());
    if let (Some(cpu), true) = (s.cpu, matches!(s.state, ThreadState::Running | ThreadState::Ready)) {
        let _ = write!(text, "@{}", cpu.0);
    }
    if let Some(reason) = s.reason.word() {
        let _ = write!(text, " {reason}");
    }
    if s.waker_thread != ThreadKey::UNKNOWN {
        let _ = write!(text, " by {}", label(a, s.waker_thread));
    }
    if let Some(exec) = s.exec.get() {
        let _ = write!(text, " charged {}", ms(exec));
    }
    text
}

fn cpu_stretch(a: &Accounted, s: &CpuStretch) -> String {
    let what = if s.state == CpuState::Busy { label(a, s.thread) } else { s.state.as_str().to_owned() };
    format!("{}–{} {what}", ms(s.span.start), ms(s.span.end))
}

fn thread_sums(a: &Accounted, t: &ThreadTotals) -> String {
    let mut words = sums(ThreadState::ALL.iter().map(|s| (s.as_str(), t.time(*s))));
    let maybe_ready = t.blocked_or_ready(a.totals.ready_known);
    let parts = [
        ("of it perhaps ready", maybe_ready),
        ("lossy", t.lossy),
        ("longest wait", t.max_ready),
        ("inferred", t.inferred),
    ];
    words.extend(sums(parts.into_iter()));
    if t.exec_of > Ns::ZERO {
        words.push(format!("charged {} of {}", ms(t.exec), ms(t.exec_of)));
    }
    let counts = [
        ("involuntary", t.involuntary),
        ("voluntary", t.voluntary),
        ("migrations", t.migrations),
        ("missing wakeups", t.missing_wakeups),
    ];
    words.extend(counts.iter().filter(|c| c.1 > 0).map(|(word, n)| format!("{word} ×{n}")));
    listed(words.into_iter())
}

fn cpu_sums(c: &CpuTotals) -> String {
    let mut words = sums(CpuState::ALL.iter().map(|s| (s.as_str(), c.time(*s))));
    words.extend(sums([("lossy", c.lossy), ("inferred", c.inferred)].into_iter()));
    let counts = [("switches", c.switches), ("inconsistent switches", c.inconsistent_switches)];
    words.extend(counts.iter().filter(|n| n.1 > 0).map(|(word, n)| format!("{word} ×{n}")));
    listed(words.into_iter())
}

fn sums<'a>(of: impl Iterator<Item = (&'a str, Ns)>) -> Vec<String> {
    of.filter(|(_, time)| *time != Ns::ZERO).map(|(word, time)| format!("{word} {}", ms(time))).collect()
}

fn listed(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

fn ms(time: Ns) -> String {
    let (whole, rest) = (time.0 / 1_000_000, time.0 % 1_000_000);
    if rest == 0 { whole.to_string() } else { format!("{whole}.{rest:06}") }
}

/// Returns the name of the thread in the drawing, with the number of its instance unless it is the first.
fn label(a: &Accounted, thread: ThreadKey) -> String {
    let Some(t) = a.instances.iter().find(|t| t.thread == thread) else { return "?".to_owned() };
    let name = char::from(b'@' + u8::try_from(t.tid.0).unwrap());
    if t.instance == 0 { name.to_string() } else { format!("{name}/{}", t.instance) }
}
