//! A simulated machine that writes the wire records of the BPF programs: many CPUs, threads that migrate, events that take turns on too
//! few counters, and a CPU that goes offline. What each thread counted comes from the simulation's own plan, and must be what is read.
#![allow(clippy::unwrap_used)]

use super::tests::{begin, mark};
use super::{frame, open_spool};
use crate::wire;
use ingest::{Anomalies, Reach};
use model::{Batch, EventKind, Tid};
use std::collections::BTreeMap;
use std::path::Path;

const CPUS: usize = 8;
const THREADS: u64 = 200;
/// More than two records' worth, in groups of 4 of which 2 fit.
const EVENTS: usize = 20;
const GROUP: usize = 4;
const FIT: usize = 2;
const ROTATION_NS: u64 = 4_000_000;
/// A million with `cargo test --release`; a debug build takes a minute for that.
const SWITCHES: usize = if cfg!(debug_assertions) { 50_000 } else { 1_000_000 };
/// This CPU is offline for a part of the time, and has no event 3: another type of core.
const UNPLUGGED: usize = 5;

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Count, time between readings, time counted.
type Sums = [i64; 3];

/// The frequent events of a CPU that are not in the spool yet, as bytes.
#[derive(Default)]
struct Block {
    base: u64,
    last: u64,
    events: u32,
    bytes: Vec<u8>,
}

impl Block {
    fn head(&mut self, at: u64, kind: u8, a: u8, b: u16) {
        if self.events == 0 {
            self.base = at;
        }
        (self.last, self.events) = (at, self.events + 1);
        self.bytes.extend_from_slice(&((at - self.base) as u32).to_ne_bytes());
        self.bytes.extend_from_slice(&[kind, a]);
        self.bytes.extend_from_slice(&b.to_ne_bytes());
    }

    fn words(&mut self, words: &[u64]) {
        words.iter().for_each(|word| self.bytes.extend_from_slice(&word.to_ne_bytes()));
    }

    fn switch(&mut self, at: u64, prev: i32, next: i32) {
        self.head(at, 1, 1, 120 | 120 << 8);
        [prev, next].iter().for_each(|tid| self.bytes.extend_from_slice(&tid.to_ne_bytes()));
        self.words(&[u64::MAX]);
    }

    /// A record of 8 events from `first` on, with the count of each and how long it counted.
    fn counted(&mut self, at: u64, (first, bits): (usize, u16), tid: i32, length: u64, [counts, ran]: [&[u64; 8]; 2]) {
        let shared = (0..8).any(|n| bits >> n & 1 == 1 && ran[n] != length);
        let many = 8.min(EVENTS - first);
        self.head(at, 16, first as u8, bits | u16::from(shared) << 8 | (many as u16) << 9);
        self.bytes.extend_from_slice(&tid.to_ne_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        self.words(&[length]);
        self.words(&counts[..many]);
        if shared {
            self.words(&ran[..many]);
        }
    }

    fn take(&mut self, cpu: usize) -> Vec<u8> {
        let mut bytes = vec![wire::KIND_BLOCK, 0];
        bytes.extend_from_slice(&(cpu as u16).to_ne_bytes());
        bytes.extend_from_slice(&self.events.to_ne_bytes());
        [self.base, self.last, 0].iter().for_each(|word| bytes.extend_from_slice(&word.to_ne_bytes()));
        bytes.append(&mut self.bytes);
        self.events = 0;
        bytes
    }
}

/// How long group `of` is on the counters of a CPU from `from` to `to`: the groups take turns, `FIT` at a time.
fn on_counters(of: usize, from: u64, to: u64) -> u64 {
    let groups = EVENTS / GROUP;
    let mut sum = 0;
    let mut at = from;
    while at < to {
        let turn = at / ROTATION_NS;
        let end = ((turn + 1) * ROTATION_NS).min(to);
        let first = turn as usize % groups;
        if (0..FIT).any(|n| (first + n) % groups == of) {
            sum += end - at;
        }
        at = end;
    }
    sum
}

#[test]
fn every_count_is_booked_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = begin(dir.path());
    w.begin_segment(0).unwrap();
    w.frame(&[&[frame::SNAP_BEGIN, frame::OPENING]]).unwrap();
    for n in 0..EVENTS as u32 {
        w.frame(&[&[frame::COUNTER_NAME], &n.to_ne_bytes(), format!("event-{n}").as_bytes()]).unwrap();
    }
    w.frame(&[&mark(frame::SNAP_DONE, 1)]).unwrap();
    let mut rng = Rng(7);
    let mut plan = BTreeMap::<(i32, u32, usize), Sums>::new();
    let mut blocks: Vec<Block> = (0..CPUS).map(|_| Block::default()).collect();
    // The thread of each CPU, and since when; `None`: no reading yet.
    let mut running = [(0i32, None::<u64>); CPUS];
    let (mut now, mut marked) = (1_000u64, 0);
    for n in 0..SWITCHES {
        now += 1 + rng.below(20_000);
        let cpu = rng.below(CPUS as u64) as usize;
        let offline = (SWITCHES / 3..SWITCHES / 2).contains(&n) && cpu == UNPLUGGED;
        if offline {
            // Its events are gone, and are opened again when it is back.
            running[cpu] = (0, None);
            continue;
        }
        let (prev, since) = running[cpu];
        let next = if rng.below(4) == 0 { 0 } else { 1 + rng.below(THREADS) as i32 };
        blocks[cpu].switch(now, prev, next);
        if let Some(since) = since {
            // One switch in a thousand was hidden: several threads ran.
            let tid = if rng.below(1000) == 0 { -1 } else { prev };
            let length = now - since;
            for first in (0..EVENTS).step_by(8) {
                let (mut bits, mut counts, mut ran) = (0u16, [0; 8], [0; 8]);
                for at in (first..EVENTS.min(first + 8)).filter(|at| !(cpu == UNPLUGGED && *at == 3)) {
                    let time = on_counters(at / GROUP, since, now);
                    // Event 0 never counts.
                    let count = if at == 0 { 0 } else { time * (1 + rng.below(9)) };
                    bits |= 1 << (at - first);
                    (counts[at - first], ran[at - first]) = (count, time);
                    let sums = plan.entry((tid, cpu as u32, at)).or_default();
                    let more = [count, length, time].map(u64::cast_signed);
                    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
                }
                blocks[cpu].counted(now, (first, bits), tid, length, [&counts, &ran]);
            }
        }
        running[cpu] = (next, Some(now));
        if blocks[cpu].bytes.len() > 3500 || now - blocks[cpu].base > 1 << 31 {
            let bytes = blocks[cpu].take(cpu);
            w.frame(&[&bytes]).unwrap();
        }
        if now - marked > 100_000_000 {
            for (cpu, block) in blocks.iter_mut().enumerate().filter(|(_, block)| block.events > 0) {
                w.frame(&[&block.take(cpu)]).unwrap();
            }
            w.frame(&[&mark(frame::MARK, now)]).unwrap();
            marked = now;
        }
    }
    for (cpu, block) in blocks.iter_mut().enumerate().filter(|(_, block)| block.events > 0) {
        w.frame(&[&block.take(cpu)]).unwrap();
    }
    w.frame(&[&mark(frame::END, now + 1)]).unwrap();
    w.flush().unwrap();

    let (found, bad) = sums_in(dir.path());
    assert!(bad.0.is_empty(), "{bad:?}");
    assert!(plan.keys().any(|key| key.0 == -1) && plan.keys().filter(|key| key.0 == 7).count() > 100);
    let different = plan.iter().filter(|(key, of)| found.get(key) != Some(of)).count();
    assert!(found == plan, "{different} of {} sums differ", plan.len());
}

/// Reads a spool and adds up its counts.
fn sums_in(dir: &Path) -> (BTreeMap<(i32, u32, usize), Sums>, Anomalies) {
    let (mut found, mut names, mut bad) = (BTreeMap::<_, Sums>::new(), Vec::<Box<str>>::new(), Anomalies::default());
    let (mut opened, mut batch) = (open_spool(dir).unwrap(), Batch::default());
    loop {
        batch.clear();
        let reach = opened.streams[0].next(&mut batch, &mut bad).unwrap();
        names.append(&mut batch.names);
        for event in &batch.events {
            let EventKind::Count { tid: Tid(tid), event: name, length, count, running } = event.what else { continue };
            let number = names[name.0 as usize - 1].strip_prefix("event-").unwrap().parse().unwrap();
            let sums = found.entry((tid, event.cpu.0, number)).or_default();
            sums.iter_mut().zip([count, length.0, running.0]).for_each(|(sum, more)| *sum += more);
        }
        if reach == Reach::End {
            return (found, bad);
        }
    }
}
