//! Tests recordings of samples without context switches.

use crate::perf_data::writer::{Bytes, CPU, Order, PerfData, Stamp};
use crate::perf_data::{Read, file, pipe};
use model::{CoreType, EventKind, SamplingOff};

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

/// Each PMU of a machine with two types of cores counts on one of them, whether or not the samples have CPUs.
#[test]
fn samples_have_the_core_type_of_their_pmu() {
    const CORE: u64 = 4 << 32;
    let text = |b: Bytes, text: &str| b.u32(64).raw(text.as_bytes()).raw(&[0; 64][text.len()..]);
    for (order, names) in [(Order::Little, ["", ""]), (Order::Big, ["cpu_core/cycles/P", "cpu_atom/cycles/P"])] {
        let mut d = PerfData::of_samples(order, &[(HARDWARE, CORE | CYCLES), (HARDWARE, ATOM | CYCLES)]);
        d.attrs.iter_mut().for_each(|attr| attr.sample_type &= !CPU);
        // PMU_MAPPINGS, and EVENT_DESC: the attribute, the number of IDs and the name of each event.
        let pmus = [(4, "cpu_core"), (8, "cpu_atom"), (1, "software")];
        let of = |b: Bytes, (number, name): &(u32, &str)| {
            Bytes::new(order).raw(&b.1).raw(&text(Bytes::new(order).u32(*number), name).1)
        };
        d.features.push((16, pmus.iter().fold(Bytes::new(order).u32(3), of).1));
        if !names[0].is_empty() {
            let event = |b: Bytes, name: &&str| {
                Bytes::new(order).raw(&b.1).raw(&text(Bytes::new(order).raw(&[0; 128]).u32(0), name).1)
            };
            d.features.push((12, names.iter().fold(Bytes::new(order).u32(2).u32(128), event).1));
        }
        d.features.sort();
        for (event, when) in [(0, 1_000), (1, 2_000), (0, 3_000)] {
            d.sample(event, at(when, 0, 11), &[0x10], &[]);
        }
        let read = file(&d.file()).unwrap();
        let cores = read.events.iter().filter_map(|event| match event.what {
            EventKind::CpuSample { core, .. } => Some(core),
            _ => None,
        });
        let (fast, slow) = (CoreType::Performance, CoreType::Efficient);
        assert_eq!(cores.collect::<Vec<_>>(), [fast, slow, fast]);
        let sampled = read.facts.sampled.unwrap();
        let names = if names[0].is_empty() { ["cpu_core/cycles/", "cpu_atom/cycles/"] } else { names };
        assert_eq!(sampled.event, "cycles");
        assert_eq!(sampled.by_core, [(fast, names[0].to_owned()), (slow, names[1].to_owned())]);
    }
}

/// The kernel stopped sampling the thread twice, and events of a CPU are known by their CPU.
#[test]
fn it_is_known_for_how_long_the_kernel_did_not_sample() {
    for (of_threads, cpu, tid) in [(true, None, Some(11)), (false, Some(3), None)] {
        let mut d = PerfData::of_samples(Order::Little, &[(HARDWARE, CYCLES)]);
        if of_threads {
            d.attrs[0].flags.push(1); // inherit
        }
        let throttle = |d: &mut PerfData, kind: u32, when: u64, stream: u64| {
            let body = Bytes::new(d.order).u64(when).u64(1).u64(stream).1;
            d.other(kind, 0, &body, at(when, 3, 11));
        };
        d.sample(0, at(1_000, 3, 11), &[0x10], &[]);
        throttle(&mut d, 5, 2_000, 7);
        // The thread goes on on another CPU.
        throttle(&mut d, 6, 5_000, 8);
        throttle(&mut d, 5, 9_000, 8);
        d.sample(0, at(10_000, 3, 11), &[0x10], &[]);
        let read = file(&d.file()).unwrap();
        let off = SamplingOff { event: "cycles".to_owned(), cpu, tid, times: 2, off_ns: 4_000, until_end: 1 };
        assert_eq!(read.sampling_off, [off]);
        assert!(read.anomalies.0.is_empty(), "nothing is lost or odd");
    }
}
