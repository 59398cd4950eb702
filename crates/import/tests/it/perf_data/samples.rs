//! Tests recordings of samples without context switches.

use crate::perf_data::writer::{Bytes, Order, PerfData, Stamp};
use crate::perf_data::{Read, file, pipe};
use model::EventKind;

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const CYCLES: u64 = 0;
const CPU_CLOCK: u64 = 0;
const PAGE_FAULTS: u64 = 2;
/// The second PMU of a machine with two types of cores.
const ATOM: u64 = 8 << 32;

fn at(at: u64, cpu: u32, tid: i32) -> Stamp {
    Stamp { at, cpu, pid: 11, tid, id: 1 }
}

fn named(d: &mut PerfData, name: &str, stamp: Stamp) {
    let body = Bytes::new(d.order).i32(stamp.pid).i32(stamp.tid).raw(name.as_bytes()).raw(&[0]).padded(8).1;
    d.other(3, 1 << 13, &body, stamp);
}

/// Names and threads of the samples of the profile, with the last one at the very end.
fn samples(read: &Read) -> Vec<(String, i32, i64)> {
    let samples = read.events.iter().filter_map(|event| match event.what {
        EventKind::CpuSample { tid, name, .. } => {
            let name = read.names.get((name.0 as usize).wrapping_sub(1)).map_or("", |name| name);
            Some((name.to_owned(), tid.0, event.at.0))
        }
        _ => None,
    });
    samples.collect()
}

#[test]
fn samples_have_the_names_that_threads_had_then() {
    for order in [Order::Little, Order::Big] {
        let mut d = PerfData::of_samples(order, &[(HARDWARE, CYCLES)]);
        named(&mut d, "perf", Stamp { at: 0, ..at(0, 0, 11) });
        // perf reads the buffer of CPU 0 first: the fork, and then on CPU 1 the exec before it.
        d.sample(0, at(1_000, 0, 11), &[0x10], &[]);
        let fork = Bytes::new(order).i32(11).i32(11).i32(12).i32(11).u64(3_000).1;
        d.other(7, 0, &fork, at(3_000, 0, 11));
        d.sample(0, at(4_000, 0, 12), &[0x10], &[]).sample(0, at(5_000, 0, 11), &[0x10], &[]);
        named(&mut d, "game", at(2_000, 1, 11));
        d.round();
        let expected = [("perf", 11, 0), ("game", 12, 3_000), ("game", 11, 4_000)];
        let expected: Vec<_> = expected.into_iter().map(|(name, tid, at)| (name.to_owned(), tid, at)).collect();
        assert_eq!(samples(&file(&d.file()).unwrap()), expected, "{order:?}");
        assert_eq!(samples(&pipe(&d.pipe()).unwrap()), expected, "{order:?}");
    }
}

#[test]
fn one_event_is_the_profile() {
    for (events, profile, of_time, others, counted) in [
        (&[(SOFTWARE, PAGE_FAULTS), (HARDWARE, CYCLES)][..], "cycles", true, &["page-faults"][..], 1),
        (&[(SOFTWARE, CPU_CLOCK), (HARDWARE, CYCLES)], "cpu-clock", true, &["cycles"], 1),
        (&[(HARDWARE, CYCLES), (HARDWARE, ATOM | CYCLES)], "cycles", true, &[], 2),
        (&[(SOFTWARE, PAGE_FAULTS)], "page-faults", false, &[], 1),
    ] {
        let mut d = PerfData::of_samples(Order::Little, events);
        for event in 0..events.len() {
            d.sample(event, at(1_000 + event as u64, 0, 11), &[0x10], &[]);
        }
        let read = file(&d.file()).unwrap();
        let sampled = read.facts.sampled.clone().unwrap();
        assert_eq!((sampled.event.as_str(), sampled.of_time), (profile, of_time));
        assert_eq!(sampled.others, others);
        assert_eq!(samples(&read).len(), counted, "{profile}");
        let all = read.events.iter().filter(|event| event.is_counted()).count();
        assert_eq!(all, events.len(), "the others are events, too");
    }
    assert_eq!(file(&PerfData::of_switch_records(Order::Little, "6.1").file()).unwrap().facts.sampled, None);
}
