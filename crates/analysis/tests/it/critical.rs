//! The critical path of random traces: its invariants, and a comparison with a slow calculation that looks up every
//! piece.

use crate::support;
use crate::support::changes::PowerChange;
use crate::support::instants::{Cpu, Instant, instants};
use crate::support::{Analysed, critical, parked};
use model::{
    Col, CpuState, CpuStretch, Ns, Power, Reason, Span, Table, ThreadKey, ThreadState, ThreadStretch, Tid, Value,
    tables,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::{ByName, Mode, Rng};

/// A random trace or a part of it, and the TID at the end of the path.
fn drawn(mode: Mode, seed: u64, steps: usize) -> (Analysed, Option<Tid>) {
    let analysed = support::random(mode, seed, steps);
    let mut rng = Rng(seed ^ 1);
    let tids: Vec<Tid> = analysed.threads.iter().map(|s| s.tid).collect();
    let ends = if rng.one_in(3) { None } else { rng.pick(&tids) };
    (analysed, ends)
}

fn holds(a: &Analysed, path: &Table, sums: &Table, account: &Table) -> Result<(), TestCaseError> {
    let int = |row, col| path.int(row, col);
    let mut at = a.span.start.0;
    let mut by_thread = BTreeMap::<i64, BTreeMap<String, i64>>::new();
    for row in 0..path.rows.len() {
        let (start, end, thread) =
            (int(row, "start_ns").unwrap(), int(row, "end_ns").unwrap(), int(row, "thread").unwrap());
        prop_assert_eq!(start, at, "a gap or an overlap");
        prop_assert!(start < end);
        at = end;
        let state = path.text(row, "state").unwrap();
        let is = if matches!(state, "wakeup_latency" | "throttled") { "ready" } else { state };
        let within = |s: &&ThreadStretch| s.thread.0 == thread && s.span.start.0 <= start && end <= s.span.end.0;
        match a.threads.iter().find(within) {
            Some(s) => {
                prop_assert_eq!(s.state.as_str(), is);
                prop_assert!(state != "running" || s.cpu.map(|c| i64::from(c.0)) == int(row, "cpu"));
            }
            None => prop_assert_eq!((state, path.text(row, "reason")), ("unknown", None)),
        }
        // The path goes to another thread only where that thread was woken, and to its waker; or, if an interrupt woke it, to the
        // thread from which it came.
        if row > 0 && int(row - 1, "thread") != Some(thread) {
            let waker = int(row, "waker");
            prop_assert!(is == "ready" && (waker == int(row - 1, "thread") || waker.is_none_or(|waker| waker == 0)));
        }
        let sums = by_thread.entry(thread).or_default();
        let column = match state {
            "running" => format!("running_{}", path.text(row, "core_type").unwrap_or("uniform")),
            other => other.to_owned(),
        };
        let sibling_busy = path.text(row, "sibling") == Some("busy");
        for column in [Some("path".to_owned()), Some(column), sibling_busy.then(|| "sibling_busy".to_owned())] {
            *column.map_or(&mut 0, |c| sums.entry(c + "_ns").or_default()) += end - start;
        }
    }
    prop_assert!(path.rows.is_empty() || at == a.span.end.0);
    sums_to_the_path(path, account)?;
    prop_assert_eq!(by_thread.len(), sums.rows.len());
    for row in 0..sums.rows.len() {
        let of = &by_thread[&sums.int(row, "thread").unwrap()];
        let of_path = |col: &&Col| col.name.ends_with("_ns") && !["waited_ns", "object_ns"].contains(&col.name);
        for col in sums.def.cols.iter().filter(of_path) {
            prop_assert_eq!(sums.int(row, col.name), Some(of.get(col.name).copied().unwrap_or(0)), "{}", col.name);
        }
        // Waits count if they end where the path is with their thread.
        let thread = sums.int(row, "thread").unwrap();
        let visits: Vec<_> = (0..path.rows.len()).filter(|at| int(*at, "thread") == Some(thread)).collect();
        let is_on_path = |end: i64| {
            visits.iter().any(|at| (int(*at, "start_ns").unwrap()..=int(*at, "end_ns").unwrap()).contains(&end))
        };
        let waits = &a.tables["object_waits"];
        let counted: Vec<_> = (0..waits.rows.len())
            .filter(|at| waits.int(*at, "thread") == Some(thread) && is_on_path(waits.int(*at, "end_ns").unwrap()))
            .collect();
        let waited: i64 = counted.iter().map(|at| waits.int(*at, "waited_ns").unwrap()).sum();
        prop_assert_eq!(sums.int(row, "waited_ns"), Some(waited));
        prop_assert_eq!(sums.text(row, "kind").is_some(), !counted.is_empty());
        prop_assert!(sums.int(row, "object_ns").unwrap_or(0) <= waited);
    }
    Ok(())
}

/// The account has the time of each state on each type of core, in nodes that come after those above them.
fn sums_to_the_path(path: &Table, account: &Table) -> Result<(), TestCaseError> {
    let mut states = BTreeMap::<(String, Option<String>), i64>::new();
    let key = |of: &Table, row, state: &str| {
        let core_type = of.text(row, "core_type").filter(|_| state.starts_with("running"));
        (state.to_owned(), core_type.map(str::to_owned))
    };
    for row in 0..path.rows.len() {
        let state = match (path.text(row, "state").unwrap(), path.text(row, "sibling")) {
            ("running", Some("busy")) => "running_sibling_busy",
            (state, _) => state,
        };
        *states.entry(key(path, row, state)).or_default() +=
            path.int(row, "end_ns").unwrap() - path.int(row, "start_ns").unwrap();
    }
    for row in 0..account.rows.len() {
        let state = account.text(row, "state").unwrap();
        let (time, alone) = (account.int(row, "slow_ns").unwrap(), account.int(row, "alone_ns").unwrap());
        *states.entry(key(account, row, state)).or_default() -= time;
        prop_assert!((0..=time).contains(&alone) && account.int(row, "typical_ns") == Some(0));
        prop_assert!(account.int(row, "above").is_none_or(|above| above < account.int(row, "node").unwrap()));
    }
    prop_assert!(states.values().all(|rest| *rest == 0), "{states:?}");
    Ok(())
}

/// A row of the table without the number.
type Row = Vec<Value>;

/// The path from the end, with a search through all stretches for each.
fn slow(a: &Analysed, ends: Option<Tid>) -> Vec<Row> {
    let cuts = cuts(a);
    let covers = |s: &&ThreadStretch, at: Ns| s.span.start < at && s.span.end > a.span.start;
    let last_begun = |of: &dyn Fn(&ThreadStretch) -> bool, at: Ns| {
        a.threads.iter().filter(|s| of(s) && covers(s, at)).max_by_key(|s| s.span.start)
    };
    let mut next = match ends {
        Some(tid) => last_begun(&|s| s.tid == tid, a.span.end).map(|s| s.thread),
        None => {
            let busy = a.cpus.iter().filter(|s| s.state == CpuState::Busy && s.span.overlap(a.span).is_some());
            busy.max_by_key(|s| (s.span.end.min(a.span.end), s.span.start, s.cpu)).map(|s| s.thread)
        }
    };
    let (mut rows, mut at, mut ended_by) = (Vec::new(), a.span.end, ThreadKey::UNKNOWN);
    // The threads from which the path went to their wakers, with the place of the wait that the wakeup ended.
    let mut left: Vec<(ThreadKey, Option<usize>)> = Vec::new();
    let mut is_interrupted = false;
    let mut tid = None;
    while let Some(thread) = next.filter(|_| at > a.span.start) {
        if let Some(place) = left.iter().position(|(of, _)| *of == thread) {
            left.truncate(place);
        }
        let place = |thread: ThreadKey, at: Ns| {
            let of =
                a.threads.iter().enumerate().filter(|(_, s)| s.thread == thread && covers(s, at) && !s.span.is_empty());
            of.max_by_key(|(_, s)| s.span.start).map(|(place, _)| place)
        };
        let mut found = place(thread, at);
        // The wait of the thread that the path left last began later than what the interrupted one did before.
        let back = left.last().copied().filter(|_| is_interrupted);
        let back =
            back.filter(|(_, waits)| *waits > found && waits.is_some_and(|waits| covers(&&a.threads[waits], at)));
        if let Some((_, waits)) = back {
            (found, ended_by) = (waits, thread);
            left.pop();
        }
        is_interrupted = false;
        let found = found.map(|place| a.threads[place]);
        let thread = found.map_or(thread, |s| s.thread);
        next = Some(thread);
        tid = found.map(|s| s.tid).or(tid);
        let known_until = found.map_or(a.span.start, |s| s.span.end.min(at));
        if known_until < at {
            rows.push(vec![
                known_until.into(),
                at.into(),
                thread.0.into(),
                tid.map(|t| i64::from(t.0)).into(),
                "unknown".into(),
            ]);
        }
        let Some(s) = found else { break };
        let woken = s.state == ThreadState::Ready && matches!(s.reason, Reason::Woken | Reason::New);
        let waker = match s.state {
            ThreadState::Ready if woken => s.waker_thread,
            ThreadState::Blocked => ended_by,
            _ => ThreadKey::UNKNOWN,
        };
        let mut pieces = pieces(a, &cuts, &s, known_until, waker);
        pieces.reverse();
        rows.extend(pieces);
        at = s.span.start;
        ended_by = ThreadKey::UNKNOWN;
        if woken && waker.0 > 0 {
            let blocked =
                a.threads.iter().enumerate().filter(|(_, b)| b.thread == thread && b.state == ThreadState::Blocked);
            let waits =
                blocked.filter(|(_, b)| b.span.start < at).max_by_key(|(_, b)| b.span.start).map(|(place, _)| place);
            // All that the waker left since belongs to a later time, but for the thread from which the path comes.
            let place = left.iter().position(|(of, _)| *of == waker);
            left.truncate(place.unwrap_or(left.len()));
            if thread != waker {
                left.push((thread, waits));
            }
            (next, tid) = (Some(waker), None);
        } else if woken {
            // A thread that began since is not gone back to.
            left.retain(|(of, _)| {
                let mut own = a.threads.iter().filter(|s| s.thread == *of);
                !own.any(|s| s.reason == Reason::New && s.span.start >= at)
            });
            match left.last() {
                Some((of, Some(waits))) if a.threads[*waits].span.start >= at => (next, tid) = (Some(*of), None),
                back => (ended_by, is_interrupted) = (waker, back.is_some()),
            }
        }
    }
    rows.reverse();
    rows
}

/// The instants at which anything changes, and the state of the CPUs from then on.
fn cuts(a: &Analysed) -> Vec<(Span, Instant)> {
    let mut at = a.span.start;
    let span = |i: Instant| {
        let span = Span::new(at, at + Ns(i.ns));
        at = span.end;
        (span, i)
    };
    instants(a).into_iter().map(span).collect()
}

/// A stretch until a time, cut at every change; equal pieces are merged again.
fn pieces(a: &Analysed, all: &[(Span, Instant)], s: &ThreadStretch, until: Ns, waker: ThreadKey) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (within, now) in all {
        let Some(within) = Span::new(s.span.start, until).overlap(*within) else { continue };
        // Moves, frequencies, parking and throttling cut a stretch too.
        let mut borders = vec![within.start, within.end];
        let changes = a.moves.iter().map(|m| m.at).chain(a.power.iter().map(|p| p.at));
        let changes = changes.chain(a.throttles.iter().map(|t| t.at));
        borders.extend(changes.filter(|at| within.start < *at && *at < within.end));
        borders.sort_unstable();
        borders.dedup();
        for border in borders.windows(2) {
            let row = row(a, now, s, Span::new(border[0], border[1]), waker);
            match rows.last_mut() {
                Some(last) if last[2..] == row[2..] => last[1] = row[1].clone(),
                _ => rows.push(row),
            }
        }
    }
    rows
}

/// Whether a thread is throttled, by its TID. An exited thread may also be recorded as throttled, and be woken
/// nevertheless.
fn is_throttled(a: &Analysed, s: &ThreadStretch, at: Ns) -> bool {
    let records = a.throttles.iter().skip_while(|t| t.tid.is_some());
    let last = records.filter(|t| t.at <= at && (t.tid.is_none() || t.tid == Some(s.tid))).last();
    let ran = |since: Ns| {
        let busy = |c: &&CpuStretch| c.state == CpuState::Busy && c.thread == s.thread;
        a.cpus.iter().filter(busy).any(|c| since < c.span.start && c.span.start <= at)
    };
    last.is_some_and(|t| t.begins && !ran(t.at))
}

fn row(a: &Analysed, now: &Instant, s: &ThreadStretch, span: Span, waker: ThreadKey) -> Row {
    let key = |thread: ThreadKey| (thread != ThreadKey::UNKNOWN).then_some(thread.0);
    let moved = a.moves.iter().rfind(|m| m.tid == s.tid && s.span.start <= m.at && m.at <= span.start);
    let cpu = match s.state {
        ThreadState::Running => s.cpu,
        ThreadState::Ready => moved.map(|m| m.to).or(s.cpu),
        _ => None,
    };
    let core = now.cores.iter().find(|core| core.cpus.iter().any(|c| Some(c.id) == cpu));
    let (here, others): (Vec<&Cpu>, Vec<&Cpu>) =
        core.iter().flat_map(|core| &core.cpus).partition(|c| Some(c.id) == cpu);
    let is = |state| others.iter().any(|c| c.state == state);
    let sibling = match s.state {
        ThreadState::Running if is(CpuState::Busy) => Some("busy"),
        ThreadState::Running if is(CpuState::Unknown) => Some("unknown"),
        ThreadState::Running if !others.is_empty() => Some("idle"),
        _ => None,
    };
    let khz = |change: &PowerChange| match change.to {
        Power::Frequency(khz) if Some(change.cpu) == cpu && change.at <= span.start => Some(i64::from(khz)),
        _ => None,
    };
    let running = s.state == ThreadState::Running && !here.is_empty();
    let khz = a.power.iter().rev().find_map(khz).filter(|_| running);
    let ready = s.state == ThreadState::Ready;
    let is_throttled = ready && is_throttled(a, s, span.start);
    let queue = here.first().filter(|c| ready && !is_throttled && parked::parked(a, c.id, span.start) != Some(true));
    let state = match queue {
        _ if is_throttled => "throttled",
        Some(queue) if queue.state == CpuState::Idle => "wakeup_latency",
        _ => s.state.as_str(),
    };
    vec![
        span.start.into(),
        span.end.into(),
        s.thread.0.into(),
        i64::from(s.tid.0).into(),
        state.into(),
        cpu.map(|c| i64::from(c.0)).into(),
        core.map(|c| c.core_type.as_str()).into(),
        sibling.into(),
        khz.into(),
        queue.filter(|q| q.state == CpuState::Busy).and_then(|q| key(q.thread)).into(),
        s.reason.word().into(),
        key(waker).into(),
        s.prio.get().map(i64::from).into(),
    ]
}

proptest! {
    #![proptest_config(testkit::drawn(300))]
    #[test]
    fn the_path_is_the_one_that_the_slow_calculation_finds(seed in any::<u64>(), steps in 1usize..300, mode in 0usize..3) {
        is_the_slow_one([Mode::Whole, Mode::Deleted, Mode::Garbage][mode], seed, steps)?;
    }
}

fn is_the_slow_one(mode: Mode, seed: u64, steps: usize) -> Result<(), TestCaseError> {
    let (a, ends) = drawn(mode, seed, steps);
    let Ok([path, sums, account]) = critical(&a, ends) else {
        prop_assert!(a.threads.iter().all(|s| Some(s.tid) != ends || s.span.overlap(a.span).is_none()));
        return Ok(());
    };
    // Sums of unbounded times saturate.
    if mode != Mode::Garbage {
        holds(&a, &path, &sums, &account)?;
        let width = tables::CRITICAL_PATH.cols.len();
        let mut wanted = slow(&a, ends);
        wanted.iter_mut().for_each(|row| row.resize(width, Value::Null));
        prop_assert_eq!(path.rows, wanted);
    }
    Ok(())
}

/// The path once went back to a thread that had begun at that instant, and to one that was created on it.
#[test]
fn the_path_does_not_go_back_to_threads_before_they_began() -> Result<(), TestCaseError> {
    [(3_232_512_578_302_390_608, 295), (3_283_822_301_767_507_919, 276)]
        .into_iter()
        .try_for_each(|(seed, steps)| is_the_slow_one(Mode::Whole, seed, steps))
}

/// The random traces are not trivial: many paths go through wakeups and all other states.
#[test]
fn random_paths_are_of_all_kinds() {
    let mut seen = BTreeMap::<String, usize>::new();
    for seed in 0..200 {
        let (a, ends) = drawn(Mode::Whole, seed, 200);
        let Ok([path, ..]) = critical(&a, ends) else { continue };
        for row in 0..path.rows.len() {
            *seen.entry(path.text(row, "state").unwrap().to_owned()).or_default() += 1;
            let woken = row > 0 && path.int(row - 1, "thread") != path.int(row, "thread");
            *seen.entry("woken".to_owned()).or_default() += usize::from(woken);
            let by_irq = path.text(row, "state") == Some("blocked") && path.int(row, "waker") == Some(0);
            *seen.entry("blocked until an interrupt".to_owned()).or_default() += usize::from(by_irq);
        }
    }
    let kinds =
        ["running", "ready", "wakeup_latency", "blocked", "exited", "unknown", "woken", "blocked until an interrupt"];
    assert!(kinds.iter().all(|kind| seen.get(*kind).is_some_and(|n| *n >= 5)), "{seen:?}");
}
