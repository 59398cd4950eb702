//! The invariants of docs/accounting.md on random traces: of a scheduler, of one with missing events, and of random events.

use crate::support::{self, Accounted};
use account::{CpuTotals, Rules, Totals};
use model::{
    Batch, CpuId, CpuState, CpuStretch, EventKind, LossSpan, Ns, Span, ThreadKey, ThreadState, ThreadStretch, Tid,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::{ByName, Mode, Random, Replay, Rng};

fn accounted(mode: Mode, seed: u64, steps: usize, strict: bool) -> Accounted {
    let batch = Random { mode, seed, steps }.batch();
    let mut rng = Rng(seed);
    let has_waking = !rng.one_in(3);
    let rules = Rules { has_waking, has_wakes: has_waking || rng.one_in(2), strict, ..Rules::default() };
    support::account(|| Replay::all(batch.clone()).opened(ingest::Facts::default()), rules, true)
}

/// Checks that spans, in this order, tile `whole`.
fn tile(what: &str, spans: &[Span], whole: Span) -> Result<(), TestCaseError> {
    let mut at = whole.start;
    for span in spans {
        prop_assert_eq!(span.start, at, "{}: a gap or an overlap in {:?}", what, spans);
        prop_assert!(span.end > span.start, "{}: a span without length", what);
        at = span.end;
    }
    prop_assert_eq!(at, whole.end, "{}: they end early in {:?}", what, spans);
    Ok(())
}

fn check_invariants(a: &Accounted) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.late, 0, "all events were sorted");
    for law in a.laws.0.iter().filter(|l| !l.what.contains("charged")) {
        prop_assert_eq!(law.residual_ns, 0, "{}: {:?}", law.what, a.totals);
    }
    prop_assert!(a.threads.windows(2).all(|w| w[0].span.start <= w[1].span.start), "threads' stretches in order");
    prop_assert!(a.cpus.windows(2).all(|w| w[0].span.start <= w[1].span.start), "CPUs' stretches in order");
    for t in &a.instances {
        let of: Vec<_> = a.threads.iter().filter(|s| s.thread == t.thread).collect();
        let spans: Vec<Span> = of.iter().map(|s| s.span).collect();
        tile("a thread instance", &spans, Span::new(t.begin, t.end))?;
        let waits = of.iter().filter(|s| s.state == ThreadState::Ready).map(|s| s.span.len()).max();
        prop_assert_eq!(waits.unwrap_or(Ns::ZERO), t.max_ready, "the longest wait");
        for state in ThreadState::ALL {
            let sum: Ns = of.iter().filter(|s| s.state == state).map(|s| s.span.len()).sum();
            prop_assert_eq!(sum, t.time(state), "{:?} of {:?}", state, t.tid);
        }
    }
    for c in &a.totals.cpus {
        let of: Vec<_> = a.cpus.iter().filter(|s| s.cpu == c.cpu).collect();
        let spans: Vec<Span> = of.iter().map(|s| s.span).collect();
        tile("a CPU", &spans, Span::new(Ns::ZERO, a.totals.end))?;
        for state in CpuState::ALL {
            let sum: Ns = of.iter().filter(|s| s.state == state).map(|s| s.span.len()).sum();
            prop_assert_eq!(sum, c.time(state), "{:?} of {:?}", state, c.cpu);
        }
    }
    check_concurrency(a)?;
    check_running_is_busy(a)
}

/// Checks that the sum of running × duration is the busy time of the CPUs with switches, and the sum of unknown × duration
/// their unknown time.
fn check_concurrency(a: &Accounted) -> Result<(), TestCaseError> {
    let weighted = |col: &str| -> i128 {
        let rows = 0..a.concurrency.rows.len();
        rows.map(|r| {
            i128::from(a.concurrency.int(r, col).unwrap()) * i128::from(a.concurrency.int(r, "duration_ns").unwrap())
        })
        .sum()
    };
    let of = |state| -> i128 { a.totals.cpus.iter().filter(|c| c.followed).map(|c| i128::from(c.time(state).0)).sum() };
    prop_assert_eq!(weighted("running"), of(CpuState::Busy));
    prop_assert_eq!(weighted("unknown"), of(CpuState::Unknown));
    let whole: i128 =
        (0..a.concurrency.rows.len()).map(|r| i128::from(a.concurrency.int(r, "duration_ns").unwrap())).sum();
    let is_followed = a.totals.cpus.iter().any(|c| c.followed);
    prop_assert_eq!(whole, if is_followed { i128::from(a.totals.end.0) } else { 0 });
    Ok(())
}

/// Checks that each running stretch is the busy stretch of its CPU, to the nanosecond.
fn check_running_is_busy(a: &Accounted) -> Result<(), TestCaseError> {
    let mut ran: Vec<_> = a
        .threads
        .iter()
        .filter(|s| s.state == ThreadState::Running && s.cpu.is_some()) // the CPU may not be recorded
        .map(|s| (s.cpu, s.span.start, s.span.end, s.thread))
        .collect();
    let mut busy: Vec<_> = a
        .cpus
        .iter()
        .filter(|s| s.state == CpuState::Busy)
        .map(|s| (Some(s.cpu), s.span.start, s.span.end, s.thread))
        .collect();
    ran.sort_unstable();
    busy.sort_unstable();
    prop_assert_eq!(ran, busy);
    Ok(())
}

/// Returns all sums except those of threads.
fn sums(t: &Totals) -> (Ns, &[CpuTotals], &[LossSpan], [bool; 3], [u64; 4]) {
    (
        t.end,
        &t.cpus,
        &t.losses,
        [t.ready_known, t.lossy_complete, t.filled],
        [t.threads.len(), t.missing_wakeups(), t.events, t.wakes],
    )
}

/// Compares the tables with and without inferred time, from the same events.
fn inferred(mode: Mode, seed: u64, steps: usize, strict: bool) -> Result<(), TestCaseError> {
    let batch = Random { mode, seed, steps }.batch();
    let whole_machine = !Rng(seed).one_in(3);
    let rules = Rules { has_waking: true, has_wakes: true, strict, whole_machine, ..Rules::default() };
    let open = || Replay::all(batch.clone()).opened(ingest::Facts::default());
    let without = support::account(open, rules.clone(), true);
    let found = Rules { infer: true, ..rules };
    let (separate, within) =
        (support::accounted(open, found.clone(), true, false), support::accounted(open, found, true, true));
    prop_assert_eq!(&without.threads, &separate.threads, "inferring changes no stretches");
    prop_assert_eq!(&without.cpus, &separate.cpus);
    prop_assert_eq!(&without.instances, &separate.instances);
    prop_assert_eq!(sums(&without.totals), sums(&separate.totals));
    check_invariants(&within)?;
    for stretch in &within.totals.inferred {
        let span = stretch.span;
        prop_assert!(!span.is_empty());
        let unknown = |s: &CpuStretch| s.cpu == stretch.cpu && s.state == CpuState::Unknown;
        let of_cpu: Ns =
            separate.cpus.iter().filter(|s| unknown(s)).filter_map(|s| s.span.overlap(span)).map(Span::len).sum();
        prop_assert_eq!(of_cpu, span.len(), "the CPU was unknown: {:?}", stretch);
        let unknown = |s: &ThreadStretch| s.thread == stretch.thread && s.state == ThreadState::Unknown;
        let of_thread: Ns =
            separate.threads.iter().filter(|s| unknown(s)).filter_map(|s| s.span.overlap(span)).map(Span::len).sum();
        let wanted = if stretch.thread == ThreadKey::IDLE { Ns::ZERO } else { span.len() };
        prop_assert_eq!(of_thread, wanted, "the thread was unknown: {:?}", stretch);
    }
    // Only unknown time moved, and all inferred time did.
    for (a, b) in separate.totals.cpus.iter().zip(&within.totals.cpus) {
        prop_assert_eq!(a.time(CpuState::Unknown) - b.time(CpuState::Unknown), b.inferred);
    }
    for (a, b) in separate.instances.iter().zip(&within.instances) {
        prop_assert_eq!(b.time(ThreadState::Running) - a.time(ThreadState::Running), b.inferred);
        prop_assert_eq!(a.time(ThreadState::Unknown) - b.time(ThreadState::Unknown), b.inferred);
    }
    Ok(())
}

/// Returns which thread ran on each CPU at which time, from the complete switches: (CPU, TID, span). Events at one instant
/// are in the order of each CPU.
fn ran(all: &Batch, end: Ns) -> Vec<(CpuId, Tid, Span)> {
    let begin = all.events.first().map_or(Ns::ZERO, |e| e.at);
    let mut since: BTreeMap<CpuId, (Ns, Tid)> = BTreeMap::new();
    let mut ran = Vec::new();
    for event in &all.events {
        if let EventKind::Switch(switch) = event.what {
            let at = event.at - begin;
            let (from, tid) = since.insert(event.cpu, (at, switch.next)).unwrap_or((Ns::ZERO, switch.prev));
            ran.push((event.cpu, tid, Span::new(from, at)));
        }
    }
    ran.extend(since.into_iter().map(|(cpu, (from, tid))| (cpu, tid, Span::new(from, end))));
    ran
}

proptest! {
    #![proptest_config(testkit::drawn(300))]

    #[test]
    fn complete_traces_satisfy_the_invariants(seed in any::<u64>(), steps in 1_usize..300) {
        let a = accounted(Mode::Whole, seed, steps, false);
        check_invariants(&a)?;
    }

    #[test]
    fn traces_with_missing_events_satisfy_the_invariants(seed in any::<u64>(), steps in 1_usize..300, strict in any::<bool>()) {
        check_invariants(&accounted(Mode::Deleted, seed, steps, strict))?;
    }

    #[test]
    fn random_events_satisfy_the_invariants(seed in any::<u64>(), steps in 1_usize..150, strict in any::<bool>()) {
        check_invariants(&accounted(Mode::Garbage, seed, steps, strict))?;
    }

    #[test]
    fn inferring_changes_unknown_time_only(seed in any::<u64>(), steps in 1_usize..300, strict in any::<bool>()) {
        inferred(Mode::Deleted, seed, steps, strict)?;
        inferred(Mode::Garbage, seed, steps / 2, strict)?;
    }

    #[test]
    fn inferred_stretches_happened(seed in any::<u64>(), steps in 1_usize..300) {
        let (all, some) = Random { mode: Mode::Whole, seed, steps }.named();
        let rules = Rules { has_waking: true, has_wakes: true, whole_machine: true, ..Rules::default() };
        let open = |batch: &Batch| Replay::all(batch.clone()).opened(ingest::Facts::default());
        let accounted = support::account(|| open(&some), Rules { infer: true, ..rules }, true);
        check_invariants(&accounted)?;
        let truth = ran(&all, accounted.totals.end);
        for stretch in &accounted.totals.inferred {
            let same = truth.iter().filter(|(cpu, tid, _)| (*cpu, *tid) == (stretch.cpu, stretch.tid));
            let time: Ns = same.filter_map(|(_, _, span)| span.overlap(stretch.span)).map(Span::len).sum();
            prop_assert_eq!(time, stretch.span.len(), "{:?}", stretch);
        }
    }
}

#[test]
fn most_unknown_time_of_named_events_is_inferred() {
    let rules = Rules { has_waking: true, has_wakes: true, whole_machine: true, infer: true, ..Rules::default() };
    let share = |seed| {
        let (_, some) = Random { mode: Mode::Whole, seed, steps: 200 }.named();
        let accounted =
            support::account(|| Replay::all(some.clone()).opened(ingest::Facts::default()), rules.clone(), true);
        let inferred: Ns = accounted.totals.inferred.iter().map(|s| s.span.len()).sum();
        inferred.0 as f64 / (inferred + accounted.totals.cpu_time(CpuState::Unknown)).0.max(1) as f64
    };
    let shares: f64 = (0..50).map(share).sum();
    assert!(shares / 50.0 > 0.3, "of the unknown time {:.3} was inferred", shares / 50.0);
}
