//! Every rule of ACCOUNTING.md as a drawing and what comes of it: crates/account/cases.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)] // a test fails by panicking

mod support;

use account::{CpuTotals, Rules, ThreadTotals};
use model::{
    CpuId, CpuState, CpuStretch, Event, NameId, Ns, Pid, Reason, ThreadKey, ThreadState, ThreadStretch, Tid, What,
};
use std::fmt::Write;
use std::path::Path;
use support::Accounted;
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
            losses: None,
            strict: drawn.says("strict"),
            infer: drawn.says("inferred"),
            whole: drawn.facts.whole_machine,
            within: None,
        };
        told(&support::account(|| drawn.opened(), rules, false))
    });
}

/// C, whom number 2 made, leaves in R: a thread of the kernel's gave way, if number 2 makes those. In a container it is anybody.
#[test]
fn who_was_made_by_kthreadd_gives_way() {
    for (name, reason) in [("kthreadd", Reason::GaveWay), ("sh", Reason::Preempted)] {
        let mut drawn = testkit::trace("source yields\ncpu0 A Cr A");
        let event = |what| Event { at: Ns::ZERO, offset: 0, cpu: CpuId(0), current: Tid::UNKNOWN, what };
        let (tid, pid) = (Tid(3), Pid(3));
        drawn.batch.names[1] = name.into();
        drawn.batch.events.splice(
            0..0,
            [
                event(What::Name { tid: Tid(2), pid: Pid(2), name: NameId(2) }),
                event(What::Fork { parent: Tid(2), tid, pid, name: NameId::NONE }),
            ],
        );
        let rules = Rules { has_yields: true, ..Rules::default() };
        let accounted = support::account(|| drawn.opened(), rules, false);
        let ready = accounted.threads.iter().find(|s| s.tid == tid && s.state == ThreadState::Ready).unwrap();
        assert_eq!(ready.reason, reason, "{name}");
    }
}

/// Times in milliseconds; what is 0 is left out.
fn told(a: &Accounted) -> String {
    let mut out = String::new();
    for t in &a.lives {
        let stretches = a.threads.iter().filter(|s| s.thread == t.thread);
        let _ = writeln!(out, "{:<4} {}", who(a, t.thread), listed(stretches.map(|s| thread_stretch(a, s))));
        let _ = writeln!(out, "     = {}", thread_sums(a, t));
    }
    for c in &a.totals.cpus {
        let stretches = a.cpus.iter().filter(|s| s.cpu == c.cpu);
        let _ = writeln!(out, "cpu{} {}", c.cpu.0, listed(stretches.map(|s| cpu_stretch(a, s))));
        let _ = writeln!(out, "     = {}", cpu_sums(c));
    }
    let at_once = (0..a.concurrency.rows.len()).map(|row| {
        let of = |col| a.concurrency.int(row, col).unwrap();
        let unknown = if of("unknown") > 0 { format!("+{}?", of("unknown")) } else { String::new() };
        format!("{}{unknown} {}", of("running"), ms(Ns(of("duration_ns"))))
    });
    let _ = writeln!(out, "running at once: {}", listed(at_once));
    for law in a.laws.0.iter().filter(|l| l.residual_ns != 0) {
        let _ = writeln!(out, "law broken: {} by {}", law.what, ms(Ns(law.residual_ns)));
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
        let _ = write!(text, " by {}", who(a, s.waker_thread));
    }
    if let Some(exec) = s.exec.get() {
        let _ = write!(text, " charged {}", ms(exec));
    }
    text
}

fn cpu_stretch(a: &Accounted, s: &CpuStretch) -> String {
    let what = if s.state == CpuState::Busy { who(a, s.thread) } else { s.state.as_str().to_owned() };
    format!("{}–{} {what}", ms(s.span.start), ms(s.span.end))
}

fn thread_sums(a: &Accounted, t: &ThreadTotals) -> String {
    let ready_known = |state: &ThreadState| *state != ThreadState::Ready || a.totals.ready_known;
    let mut words = sums(ThreadState::ALL.iter().filter(|s| ready_known(s)).map(|s| (s.as_str(), t.time(*s))));
    if !a.totals.ready_known {
        words.push("ready null".to_owned());
    }
    let longest = if a.totals.ready_known { t.max_ready } else { Ns::ZERO };
    words.extend(sums([("lossy", t.lossy), ("longest wait", longest), ("inferred", t.inferred)].into_iter()));
    if t.exec_of > Ns::ZERO {
        words.push(format!("charged {} of {}", ms(t.exec), ms(t.exec_of)));
    }
    let counts = [
        ("involuntary", t.involuntary),
        ("voluntary", t.voluntary),
        ("migrations", t.migrations),
        ("unwoken", t.unwoken),
    ];
    words.extend(counts.iter().filter(|c| c.1 > 0).map(|(word, n)| format!("{word} ×{n}")));
    listed(words.into_iter())
}

fn cpu_sums(c: &CpuTotals) -> String {
    let mut words = sums(CpuState::ALL.iter().map(|s| (s.as_str(), c.time(*s))));
    words.extend(sums([("lossy", c.lossy), ("inferred", c.inferred)].into_iter()));
    let counts = [("switches", c.switches), ("broken", c.broken)];
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

/// The thread's letter, and its life where that is not the first.
fn who(a: &Accounted, thread: ThreadKey) -> String {
    let Some(t) = a.lives.iter().find(|t| t.thread == thread) else { return "?".to_owned() };
    let letter = char::from(b'@' + u8::try_from(t.tid.0).unwrap());
    if t.life == 0 { letter.to_string() } else { format!("{letter}/{}", t.life) }
}
