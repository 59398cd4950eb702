//! The laws of ACCOUNTING.md on random traces: of a scheduler, of one with events missing, and of no scheduler at all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)] // a test fails by panicking

mod support;

use account::Rules;
use model::{CpuState, Ns, Span, ThreadState};
use proptest::prelude::*;
use support::Accounted;
use testkit::{Mode, Random, Replay, Rng};

fn accounted(mode: Mode, seed: u64, steps: usize, strict: bool) -> Accounted {
    let batch = Random { mode, seed, steps }.batch();
    let mut rng = Rng(seed);
    let has_waking = !rng.one_in(3);
    let rules = Rules { has_waking, has_wakes: has_waking || rng.one_in(2), strict, ..Rules::default() };
    support::account(|| Replay::all(batch.clone()).opened(ingest::Facts::default()), rules, true)
}

/// Spans in the order in which they came, and what they must fill.
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

fn obeys(a: &Accounted) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.late, 0, "all was sorted");
    for law in a.laws.0.iter().filter(|l| !l.what.contains("charged")) {
        prop_assert_eq!(law.residual_ns, 0, "{}: {:?}", law.what, a.totals);
    }
    prop_assert!(a.threads.windows(2).all(|w| w[0].span.start <= w[1].span.start), "threads' stretches in order");
    prop_assert!(a.cpus.windows(2).all(|w| w[0].span.start <= w[1].span.start), "CPUs' stretches in order");
    for t in &a.lives {
        let of: Vec<_> = a.threads.iter().filter(|s| s.thread == t.thread).collect();
        let spans: Vec<Span> = of.iter().map(|s| s.span).collect();
        tile("a life", &spans, Span::new(t.begin, t.end))?;
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
    at_once(a)?;
    one_place_at_a_time(a)
}

/// Sum of running × duration is busy, sum of unknown × duration is unknown, of the CPUs that are followed.
fn at_once(a: &Accounted) -> Result<(), TestCaseError> {
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
    prop_assert_eq!(whole, i128::from(a.totals.end.0));
    Ok(())
}

/// Each running stretch is the busy stretch of its CPU, to the nanosecond.
fn one_place_at_a_time(a: &Accounted) -> Result<(), TestCaseError> {
    let mut ran: Vec<_> = a
        .threads
        .iter()
        .filter(|s| s.state == ThreadState::Running && s.cpu.is_some()) // a source may not say where
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn of_a_scheduler(seed in any::<u64>(), steps in 1_usize..300) {
        let a = accounted(Mode::Whole, seed, steps, false);
        obeys(&a)?;
    }

    #[test]
    fn with_events_missing(seed in any::<u64>(), steps in 1_usize..300, strict in any::<bool>()) {
        obeys(&accounted(Mode::Deleted, seed, steps, strict))?;
    }

    #[test]
    fn of_garbage(seed in any::<u64>(), steps in 1_usize..150, strict in any::<bool>()) {
        obeys(&accounted(Mode::Garbage, seed, steps, strict))?;
    }
}
