//! Compares the order of events with a simple merge by the rules of docs/accounting.md, for different ways to deliver them.

use ingest::{Facts, Limits, Opened, Ordered, Reach, Reading};
use model::{Batch, CpuId, Event, EventKind, MaybeNs, Ns, Switch, Tid};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use testkit::{Mode, Random, Replay, Rng};

const ROOMY: Limits = Limits { pending: 1 << 20, batch: 4096, ahead: false };

/// Of the next event of each CPU at the earliest time: wakeups (and all others) before switches, then lower CPUs first.
fn naive(events: &[Event]) -> Vec<u64> {
    let mut of_cpu: BTreeMap<CpuId, Vec<&Event>> = BTreeMap::new();
    events.iter().for_each(|e| of_cpu.entry(e.cpu).or_default().push(e));
    let mut queues: Vec<VecDeque<&Event>> = Vec::new();
    for mut queue in of_cpu.into_values() {
        queue.sort_by_key(|e| e.at); // keeps the order of the source within an instant
        queues.push(queue.into());
    }
    let mut order = Vec::new();
    loop {
        let next = queues.iter_mut().filter(|q| !q.is_empty());
        let Some(queue) = next.min_by_key(|q| (q[0].at, matches!(q[0].what, EventKind::Switch(_)), q[0].cpu)) else {
            return order;
        };
        order.extend(queue.pop_front().map(|e| e.offset));
    }
}

/// Returns the offsets, which identify the events.
fn ordered(opened: Opened<'_>, sort_all: bool, limits: Limits) -> Vec<u64> {
    read(opened, sort_all, limits).0
}

fn read(opened: Opened<'_>, sort_all: bool, limits: Limits) -> (Vec<u64>, Vec<String>, u64) {
    let mut ordered = Ordered::new(opened, sort_all, limits);
    let (mut batch, mut order, mut texts, mut names) = (Batch::default(), Vec::new(), Vec::new(), vec![String::new()]);
    while ordered.next(&mut batch) {
        names.extend(batch.names.iter().map(ToString::to_string));
        assert!(batch.events.len() <= limits.batch + 1, "{} events at once", batch.events.len());
        for event in &batch.events {
            order.push(event.offset);
            if let EventKind::Switch(Switch { prev_name, next_name, .. }) = event.what {
                texts.push(format!("{} {}", names[prev_name.0 as usize], names[next_name.0 as usize]));
            }
        }
    }
    assert!(ordered.stopped.is_none(), "{:?}", ordered.stopped);
    (order, texts, ordered.late())
}

fn random(seed: u64, steps: usize) -> Batch {
    Random { mode: if seed.is_multiple_of(2) { Mode::Whole } else { Mode::Deleted }, seed, steps }.batch()
}

/// Delivers the events in rounds: between two marks, the events of each CPU in some interval.
fn in_rounds(batch: &Batch, rng: &mut Rng) -> Replay {
    let end = batch.events.iter().map(|e| e.at.0).max().unwrap_or(0);
    let mut replay = Replay::default();
    let mut from = i64::MIN;
    let mut names = batch.names.clone();
    while from <= end {
        let to = from.max(0) + 1 + rng.below(end as usize / 4 + 2) as i64;
        let events = batch.events.iter().filter(|e| e.at.0 >= from && e.at.0 < to).copied().collect();
        let part = Batch { events, names: std::mem::take(&mut names), stacks: Vec::new(), ..Batch::default() };
        replay.0.push_back((part, Reach::Until(MaybeNs::new(Ns(to)))));
        from = to;
    }
    replay
}

/// Delivers a stream for each CPU, each with name ids of its own.
fn by_cpu(batch: &Batch) -> Opened<'static> {
    let mut streams: BTreeMap<CpuId, Batch> = BTreeMap::new();
    for event in &batch.events {
        let stream = streams.entry(event.cpu).or_default();
        let mut event = *event;
        if let EventKind::Switch(s) = &mut event.what {
            for name in [&mut s.prev_name, &mut s.next_name].into_iter().filter(|n| n.0 > 0) {
                let text = &batch.names[name.0 as usize - 1];
                let at = stream.names.iter().position(|n| n == text).unwrap_or_else(|| {
                    stream.names.push(text.clone());
                    stream.names.len() - 1
                });
                name.0 = at as u32 + 1;
            }
        }
        stream.events.push(event);
    }
    let streams = streams.into_values().map(|b| Box::new(Replay::all(b)) as Box<dyn ingest::Stream + Send>);
    Opened { facts: Facts::default(), streams: streams.collect() }
}

proptest! {
    #![proptest_config(testkit::drawn(200))]

    #[test]
    fn order_equals_the_simple_merge(seed in any::<u64>(), steps in 0_usize..400) {
        let batch = random(seed, steps);
        let order = ordered(Replay::all(batch.clone()).opened(Facts::default()), false, ROOMY);
        prop_assert_eq!(order, naive(&batch.events));
    }

    #[test]
    fn rounds_give_the_same_order(seed in any::<u64>(), steps in 0_usize..400, batch_size in 1_usize..50) {
        let batch = random(seed, steps);
        let rounds = in_rounds(&batch, &mut Rng(seed));
        let (order, _, late) = read(rounds.opened(Facts::default()), false, Limits { batch: batch_size, ..ROOMY });
        prop_assert_eq!(late, 0);
        prop_assert_eq!(order, naive(&batch.events));
    }

    #[test]
    fn reading_ahead_gives_the_same_result(seed in any::<u64>(), steps in 0_usize..400) {
        let batch = random(seed, steps);
        let [ahead, sequential] = [true, false].map(|ahead| {
            let (mut events, mut names) = (Vec::new(), Vec::new());
            let rounds = in_rounds(&batch, &mut Rng(seed)).opened(Facts::default());
            let ingested = ingest::run(rounds, Reading::default(), Limits { ahead, ..ROOMY }, |batch| {
                events.append(&mut batch.events);
                names.append(&mut batch.names);
                Ok::<_, std::convert::Infallible>(ControlFlow::Continue(()))
            });
            let ingested = ingested.unwrap();
            (events, names, ingested.origin, ingested.late, ingested.ending)
        });
        prop_assert_eq!(ahead.0.len(), batch.events.len());
        prop_assert_eq!(ahead, sequential);
    }

    #[test]
    fn spilling_to_disk_gives_the_same_order(seed in any::<u64>(), steps in 0_usize..400, pending in 1_usize..60) {
        let batch = random(seed, steps);
        let mut rng = Rng(seed);
        let mut replay = Replay::default();
        let mut names = batch.names.clone();
        for events in batch.events.chunks(1 + rng.below(30)) {
            let part = Batch { events: events.to_vec(), names: std::mem::take(&mut names), stacks: Vec::new(), ..Batch::default() };
            replay.0.push_back((part, Reach::Until(MaybeNs::NONE)));
        }
        let limits = Limits { pending, batch: 1 + rng.below(30), ..ROOMY };
        let spilled = read(replay.opened(Facts::default()), false, limits);
        let held = read(Replay::all(batch.clone()).opened(Facts::default()), false, ROOMY);
        prop_assert_eq!(&spilled, &held);
        prop_assert_eq!(spilled.0, naive(&batch.events));
    }

    #[test]
    fn several_streams_give_the_same_order(seed in any::<u64>(), steps in 0_usize..400) {
        let batch = random(seed, steps);
        let one = read(Replay::all(batch.clone()).opened(Facts::default()), false, ROOMY);
        prop_assert_eq!(read(by_cpu(&batch), false, ROOMY), one);
    }

    #[test]
    fn unordered_events_are_sorted(seed in any::<u64>(), steps in 0_usize..300, pending in 1_usize..100) {
        let batch = Random { mode: Mode::Garbage, seed, steps }.batch();
        let limits = Limits { pending, batch: 7, ..ROOMY };
        let mut times = Vec::new();
        let mut ordered = Ordered::new(Replay::all(batch.clone()).opened(Facts::default()), true, limits);
        let mut out = Batch::default();
        while ordered.next(&mut out) {
            times.extend(out.events.iter().map(|e| e.at));
        }
        prop_assert!(times.is_sorted(), "{:?}", times);
        prop_assert_eq!(ordered.late(), 0);
    }
}

fn event(at: i64, offset: u64, cpu: u32) -> Event {
    Event { at: Ns(at), offset, cpu: CpuId(cpu), current: Tid::UNKNOWN, what: EventKind::Sample }
}

/// A stream that violates its horizon: late events are counted, and a second reading sorts everything.
#[test]
fn late_events_are_counted_and_a_second_reading_returns_them() {
    let replay = || {
        let part = |events: Vec<Event>, until| (Batch { events, ..Batch::default() }, until);
        let first = part(vec![event(10, 0, 0), event(50, 1, 0)], Reach::Until(MaybeNs::new(Ns(100))));
        let second = part(vec![event(30, 2, 1), event(120, 3, 0)], Reach::End);
        Replay([first, second].into()).opened(Facts::default())
    };
    assert_eq!(read(replay(), false, ROOMY), (vec![0, 1, 3], vec![], 1));
    assert_eq!(read(replay(), true, ROOMY), (vec![0, 2, 1, 3], vec![], 0));
}

#[test]
fn late_names_apply_from_the_next_event() {
    let name = EventKind::Name { tid: testkit::tid('A'), pid: model::Pid(1), name: model::NameId(1) };
    let first = Batch { events: vec![event(10, 0, 0), event(50, 1, 0)], ..Batch::default() };
    let late = Event { at: Ns(20), offset: 2, cpu: CpuId(0), current: Tid::UNKNOWN, what: name };
    let second = Batch { events: vec![late, event(60, 3, 0)], names: vec!["a".into()], ..Batch::default() };
    let replay = Replay([(first, Reach::Until(MaybeNs::new(Ns(51)))), (second, Reach::End)].into());
    assert_eq!(read(replay.opened(Facts::default()), false, ROOMY), (vec![0, 1, 2, 3], vec![], 0));
}

/// Worst cases for insertion: the events of each CPU in reverse order, and from both ends to the middle.
#[test]
fn the_worst_order_takes_no_longer_than_a_sort() {
    let count = 300_000;
    let backwards = (0..count).map(|i| event(count - i, i as u64, (i % 3) as u32));
    let inside_out = (0..count).map(|i| event(if i % 2 == 0 { i } else { count - i }, i as u64, 0));
    for events in [backwards.collect::<Vec<_>>(), inside_out.collect()] {
        let batch = Batch { events, ..Batch::default() };
        let before = std::time::Instant::now();
        assert_eq!(ordered(Replay::all(batch.clone()).opened(Facts::default()), false, ROOMY).len(), count as usize);
        assert!(before.elapsed().as_secs() < 60, "{:?}", before.elapsed());
    }
}

/// The origin is on the source's clock, and earlier events are before it.
#[test]
fn the_first_sample_is_time_0() {
    let early = Event {
        what: EventKind::Name { tid: testkit::tid('A'), pid: model::Pid(1), name: model::NameId::NONE },
        ..event(900, 0, 0)
    };
    let batch = Batch { events: vec![early, event(1_000, 1, 0), event(1_007, 2, 1)], ..Batch::default() };
    let mut ordered = Ordered::new(Replay::all(batch).opened(Facts::default()), false, ROOMY);
    let mut out = Batch::default();
    assert!(ordered.next(&mut out));
    assert_eq!(out.events.iter().map(|e| e.at.0).collect::<Vec<_>>(), [-100, 0, 7]);
    assert_eq!(ordered.origin(), Some(Ns(1_000)));
}

/// More names than a batch holds come before the first sample, as on a machine with many threads.
#[test]
fn time_0_is_found_after_any_number_of_names() {
    let of = |at, offset| Event {
        what: EventKind::Name { tid: Tid(offset as i32), pid: model::Pid(1), name: model::NameId::NONE },
        ..event(at, offset, 0)
    };
    let count = 3 * ROOMY.batch as u64 + 5;
    let samples = [event(50_000, count, 0), event(50_007, count + 1, 1)];
    // Names without a time, with times before the first sample, and both.
    let undated = |n| of(i64::MIN, n);
    let dated = |n| of(n as i64, n);
    let both = |n| if n < count / 2 { undated(n) } else { dated(n) };
    let early: [&dyn Fn(u64) -> Event; 3] = [&undated, &dated, &both];
    for (nth, early) in early.into_iter().enumerate() {
        for (sort_all, pending) in [(false, ROOMY.pending), (true, ROOMY.pending), (true, 3 * count as usize / 4)] {
            let all: Vec<Event> = (0..count).map(early).chain(samples).collect();
            let mut replay = Replay::default();
            for part in all.chunks(1000) {
                let until = part.last().map_or(Ns::MIN, |e| e.at);
                replay.0.push_back((
                    Batch { events: part.to_vec(), ..Batch::default() },
                    Reach::Until(MaybeNs::new(until)),
                ));
            }
            let mut ordered = Ordered::new(replay.opened(Facts::default()), sort_all, Limits { pending, ..ROOMY });
            let (mut out, mut times) = (Batch::default(), Vec::new());
            while ordered.next(&mut out) {
                times.extend(out.events.iter().map(|e| (e.offset, e.at.0)));
            }
            // If dated names exceed the limit, the first one becomes time 0.
            let gives_up = nth == 1 && pending < count as usize;
            let origin = if gives_up { 0 } else { 50_000 };
            assert_eq!(ordered.origin(), Some(Ns(origin)), "{nth} {sort_all} {pending}");
            let expected = all.iter().map(|e| (e.offset, if e.at == Ns::MIN { i64::MIN } else { e.at.0 - origin }));
            assert!(times.iter().copied().eq(expected), "{nth} {sort_all} {pending}");
        }
    }
}

#[test]
fn names_without_samples_are_at_time_0() {
    let named = |n| Event {
        what: EventKind::Name { tid: Tid(n as i32), pid: model::Pid(1), name: model::NameId::NONE },
        ..event(i64::MIN, n, 0)
    };
    let count = 2 * ROOMY.batch as u64 + 1;
    let batch = Batch { events: (0..count).map(named).collect(), ..Batch::default() };
    for sort_all in [false, true] {
        let mut ordered = Ordered::new(Replay::all(batch.clone()).opened(Facts::default()), sort_all, ROOMY);
        let (mut out, mut count_read) = (Batch::default(), 0);
        while ordered.next(&mut out) {
            count_read += out.events.len() as u64;
        }
        assert_eq!((count_read, ordered.origin()), (count, Some(Ns(0))));
    }
}

/// A stream that drops some texts in each of its two batches.
struct Full(u64);

impl ingest::Stream for Full {
    fn next(&mut self, out: &mut Batch, _: &mut dyn ingest::Ledger) -> Result<Reach, ingest::Fatal> {
        self.0 += 1;
        let what = EventKind::Exit { tid: Tid(1), pid: model::Pid(1) };
        out.events.push(Event { at: Ns(self.0 as i64), offset: 10 * self.0, cpu: CpuId(0), current: Tid(1), what });
        out.left_out.texts += 3;
        out.left_out.callchains += self.0 - 1;
        Ok(if self.0 < 2 { Reach::Until(MaybeNs::new(Ns(1))) } else { Reach::End })
    }
}

/// Dropped data is counted as lost, whichever thread reads.
#[test]
fn dropped_data_is_counted() {
    for ahead in [false, true] {
        let opened = Opened { facts: Facts::default(), streams: vec![Box::new(Full(0))] };
        let ingested = ingest::run(opened, Reading::default(), Limits { ahead, ..ROOMY }, |_| {
            Ok::<_, std::convert::Infallible>(ControlFlow::Continue(()))
        });
        let ingested = ingested.unwrap();
        let counts: Vec<_> =
            ingested.anomalies.0.iter().map(|(code, t)| (*code, t.what, t.count, t.first_offset)).collect();
        assert_eq!(counts.len(), 2, "{counts:?}");
        assert!(counts[0].0.starts_with("too many callchains") && counts[0].2 == 1, "{counts:?}");
        let texts = ("too many texts: one was dropped, and what it names has no name", ingest::Anomaly::Lost, 6, 10);
        assert_eq!(counts[1], texts);
    }
}
