//! Generated spools, also truncated and damaged: no panics, and all events have the right time.
#![allow(clippy::unwrap_used)]

use super::{Meta, SPOOL, Writer, frame, has_begun, open_spool, segments};
use crate::wire;
use ingest::{Anomalies, Reach};
use model::{Batch, CallchainEnd, Event, EventKind, LossSpan, NameId, Ns};
use safefs::Dir;
use std::path::{Path, PathBuf};

/// A block of switches between threads 0 and 1 on CPU `cpu`, one every 10 ns from `base`.
pub fn block(cpu: u16, level: u8, base: u64, events: u32, lost: u64) -> Vec<u8> {
    let mut bytes = vec![wire::KIND_BLOCK, level];
    bytes.extend_from_slice(&cpu.to_ne_bytes());
    bytes.extend_from_slice(&events.to_ne_bytes());
    for word in [base, base + u64::from(events - 1) * 10, lost] {
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    for n in 0..events {
        bytes.extend_from_slice(&(n * 10).to_ne_bytes());
        bytes.extend_from_slice(&[1, 1, 120, 120]);
        for tid in [n & 1, !n & 1] {
            bytes.extend_from_slice(&tid.to_ne_bytes());
        }
        bytes.extend_from_slice(&u64::from(n).to_ne_bytes());
    }
    bytes
}

fn rename(cpu: u16, tid: i32, at: u64, name: &str) -> Vec<u8> {
    let mut bytes = vec![wire::KIND_RARE, wire::RENAME];
    bytes.extend_from_slice(&cpu.to_ne_bytes());
    bytes.extend_from_slice(&tid.to_ne_bytes());
    bytes.extend_from_slice(&at.to_ne_bytes());
    bytes.extend_from_slice(&tid.to_ne_bytes());
    bytes.extend_from_slice(&[0; 4]);
    let mut text = name.as_bytes().to_vec();
    text.resize(16, 0);
    bytes.extend_from_slice(&text);
    bytes
}

pub fn mark(kind: u8, at: u64) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&at.to_ne_bytes());
    bytes
}

pub fn begin(dir: &Path) -> Writer {
    let spool = Dir::open(dir).unwrap().make(SPOOL).unwrap();
    Meta { version: super::META_VERSION, finished: true, ..Meta::default() }.store(&spool).unwrap();
    Writer::new(&spool).unwrap()
}

fn spool_in(dir: &Path) -> Dir {
    Dir::open(dir).unwrap().open_dir(SPOOL).unwrap()
}

fn segment_path(dir: &Path, at: usize) -> PathBuf {
    let spool = spool_in(dir);
    spool.path().join(&segments(&spool).unwrap()[at].1)
}

/// Writes a spool with two segments, two CPUs, an interrupted level, a loss, and an end.
fn make(dir: &Path) {
    let mut w = begin(dir);
    for segment in 0..2u64 {
        let t = segment * 100_000;
        w.begin_segment(t).unwrap();
        w.frame(&[&[frame::SNAP_BEGIN, frame::OPENING]]).unwrap();
        w.frame(&[&mark(frame::SNAP_DONE, t + 100)]).unwrap();
        w.frame(&[&block(0, 0, t + 1000, 50, 0)]).unwrap();
        w.frame(&[&rename(1, 7, t + 2105, "seven")]).unwrap();
        w.frame(&[&block(1, 0, t + 2000, 50, 0)]).unwrap();
        w.frame(&[&block(1, 1, t + 2003, 3, 0)]).unwrap();
        w.frame(&[&mark(frame::MARK, t + 5000)]).unwrap();
        w.frame(&[&block(0, 0, t + 9000, 10, 4)]).unwrap();
        w.frame(&[&mark(if segment == 1 { frame::END } else { frame::MARK }, t + 9055)]).unwrap();
    }
    w.flush().unwrap();
}

pub fn read(dir: &Path) -> (Vec<Event>, Vec<Box<str>>, Anomalies) {
    let (mut events, mut names, mut bad) = (Vec::new(), Vec::new(), Anomalies::default());
    let Ok(mut opened) = open_spool(dir) else { return (events, names, bad) };
    let mut batch = Batch::default();
    let mut reached = Ns::MIN;
    for _ in 0..10_000 {
        batch.clear();
        let reach = opened.streams[0].next(&mut batch, &mut bad).unwrap();
        assert!(batch.events.iter().all(|e| e.at >= reached));
        events.append(&mut batch.events);
        names.append(&mut batch.names);
        match reach {
            Reach::Until(until) => reached = until.get().unwrap_or(Ns::MIN),
            Reach::End => return (events, names, bad),
        }
    }
    panic!("the stream does not end");
}

#[test]
fn round_trip() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    let (events, names, bad) = read(dir.path());
    assert!(bad.0.is_empty(), "{bad:?}");
    assert_eq!(names, ["seven".into()]);
    let switches = events.iter().filter(|e| matches!(e.what, EventKind::Switch(_))).count();
    // Of the last ten, four are after the recording's end; events after an earlier mark are handed out with the next one.
    assert_eq!(switches, 2 * 103 + 10 + 6);
    let losses: Vec<LossSpan> =
        events.iter().filter_map(|e| if let EventKind::Loss(l) = e.what { Some(l) } else { None }).collect();
    let decoded = (losses[0].from.get(), losses[0].to.get(), losses[0].events.get());
    assert_eq!((losses.len(), decoded), (2, (Some(Ns(1490)), Some(Ns(9000)), Some(4))));
    for cpu in 0..2 {
        let times: Vec<Ns> = events.iter().filter(|e| e.cpu.0 == cpu).map(|e| e.at).collect();
        assert!(times.is_sorted(), "CPU {cpu}");
    }
    assert_eq!(open_spool(dir.path()).unwrap().facts.begin, Some(Ns(100)));
}

#[test]
fn a_recording_begins_with_its_first_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    assert!(!has_begun(dir.path()), "no spool");
    let mut w = begin(dir.path());
    assert!(!has_begun(dir.path()), "no segment");
    w.begin_segment(0).unwrap();
    w.frame(&[&[frame::SNAP_BEGIN, frame::OPENING]]).unwrap();
    w.flush().unwrap();
    assert!(!has_begun(dir.path()), "the snapshot is incomplete");
    w.frame(&[&mark(frame::SNAP_DONE, 100)]).unwrap();
    assert!(!has_begun(dir.path()), "its end is not written");
    w.flush().unwrap();
    assert!(has_begun(dir.path()));
    let mut meta = Meta::load(&spool_in(dir.path())).unwrap();
    meta.preparing = true;
    meta.store(&spool_in(dir.path())).unwrap();
    assert!(!has_begun(dir.path()), "what is recorded so far is dropped when the recorder is prepared");
}

#[test]
fn events_noticed_late_keep_their_time() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = begin(dir.path());
    w.begin_segment(0).unwrap();
    w.frame(&[&mark(frame::SNAP_DONE, 100)]).unwrap();
    w.frame(&[&block(0, 0, 1000, 50, 0)]).unwrap();
    w.frame(&[&mark(frame::MARK, 5000)]).unwrap();
    w.frame(&[&rename(0, 7, 4000, "late")]).unwrap();
    w.frame(&[&mark(frame::END, 6000)]).unwrap();
    w.flush().unwrap();
    let (events, _, bad) = read(dir.path());
    assert!(bad.0.is_empty(), "{bad:?}");
    assert_eq!((events.len(), events.last().unwrap().at), (51, Ns(4000)));
}

/// A rare record: its head, then `rest`.
fn rare(of: u8, tid: i32, at: u64, rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![wire::KIND_RARE, of, 0, 0];
    bytes.extend_from_slice(&tid.to_ne_bytes());
    bytes.extend_from_slice(&at.to_ne_bytes());
    bytes.extend_from_slice(rest);
    bytes
}

/// Thread 7 of process 5 calls mark 1 recursively, reaches probe 2, writes to trace_marker and exits. The recorder reads that text
/// after the exit, and still knows its process. After the next mark it does not: another thread may have that TID by then. A call of
/// a mark without a name is invalid.
#[test]
fn marks_have_their_thread_and_process() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = begin(dir.path());
    w.begin_segment(0).unwrap();
    for (number, stretch, name) in [(1u32, 1, "request"), (2, 0, "served")] {
        w.frame(&[&[frame::MARK_NAME], &number.to_ne_bytes(), &[stretch], name.as_bytes()]).unwrap();
    }
    w.frame(&[&mark(frame::SNAP_DONE, 100)]).unwrap();
    let words = |numbers: &[i32]| numbers.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>();
    let fork: Vec<u8> = words(&[5, 5, 7, 5, 120, 0, 0, 0]).into_iter().chain([0; 24]).collect();
    w.frame(&[&rare(wire::FORK, 7, 200, &fork)]).unwrap();
    let calls = [(wire::ENTERED, 1), (wire::ENTERED, 1), (wire::RETURNED, 1), (wire::ENTERED, 2), (wire::RETURNED, 1)];
    for (at, (of, number)) in (300..).step_by(10).zip(calls) {
        w.frame(&[&rare(of, 7, at, &words(&[5, number]))]).unwrap();
    }
    w.frame(&[&rare(wire::EXIT, 7, 500, &words(&[5, 0]))]).unwrap();
    w.frame(&[&rare(wire::MARKER, 7, 400, b"half way")]).unwrap();
    w.frame(&[&rare(wire::MARKER, 7, 410, b"B|5|draw")]).unwrap();
    w.frame(&[&mark(frame::MARK, 600)]).unwrap();
    w.frame(&[&rare(wire::MARKER, 7, 700, b"E")]).unwrap();
    w.frame(&[&rare(wire::ENTERED, 7, 800, &words(&[5, 3]))]).unwrap();
    w.frame(&[&mark(frame::END, 900)]).unwrap();
    w.flush().unwrap();
    let (events, names, bad) = read(dir.path());
    let decoded: Vec<_> = events
        .iter()
        .filter_map(|e| if let EventKind::Mark(m) = e.what { Some((e.at.0, m)) } else { None })
        .map(|(at, m)| {
            let name = names.get((m.name.0 as usize).wrapping_sub(1)).map_or("", |n| &**n);
            (at, m.tid.0, m.pid, m.track, name, m.edge)
        })
        .collect();
    use model::MarkEdge::{Begin, End, Instant};
    let of = model::Pid(5);
    let expected = [
        (300, 7, of, 2, "request", Begin),
        (310, 7, of, 2, "request", Begin),
        (320, 7, of, 2, "request", End),
        (330, 7, of, 3, "served", Instant),
        (340, 7, of, 2, "request", End),
        (400, 7, of, 0, "half way", Instant),
        (410, 7, of, 0, "draw", Begin),
        (700, 7, model::Pid::UNKNOWN, 0, "", End),
    ];
    assert_eq!(decoded, expected);
    assert_eq!(bad.0.len(), 1, "{bad:?}");
}

/// What the events had counted at a call comes with the call, and is a part of the count that follows.
#[test]
fn counts_at_marks_come_with_their_marks() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = begin(dir.path());
    w.begin_segment(0).unwrap();
    for (number, name) in [(8u32, "cycles"), (10, "misses")] {
        w.frame(&[&[frame::COUNTER_NAME], &number.to_ne_bytes(), name.as_bytes()]).unwrap();
    }
    w.frame(&[&[frame::MARK_NAME], &1u32.to_ne_bytes(), &[1], b"request"]).unwrap();
    w.frame(&[&mark(frame::SNAP_DONE, 100)]).unwrap();
    // Events 8 and 10 of a record that begins with event 8; the second time, they took turns with others.
    for (at, shared) in [(300u64, false), (340, true)] {
        let bits = 0b101 | u32::from(shared) << 8 | 8 << 9;
        let mut counts: Vec<u8> = [8, bits].iter().flat_map(|n: &u32| n.to_ne_bytes()).collect();
        let ran = [at / 4; 8];
        let words = [at - 200, at, 1, at + 1, 1, 1, 1, 1, 1].into_iter().chain(ran.into_iter().filter(|_| shared));
        counts.extend(words.flat_map(u64::to_ne_bytes));
        w.frame(&[&rare(wire::COUNTED_AT_MARK, 7, at, &counts)]).unwrap();
        let call: Vec<u8> = [5, 1].iter().flat_map(|n: &u32| n.to_ne_bytes()).collect();
        w.frame(&[&rare(if shared { wire::RETURNED } else { wire::ENTERED }, 7, at, &call)]).unwrap();
    }
    w.frame(&[&rare(wire::COUNTED_AT_MARK, 7, 400, &[0; 10])]).unwrap();
    w.frame(&[&mark(frame::END, 900)]).unwrap();
    w.flush().unwrap();
    let (events, names, bad) = read(dir.path());
    let decoded: Vec<_> = events
        .iter()
        .filter_map(|e| match e.what {
            EventKind::CountAtMark { tid, event, length, count, running } => {
                let name = names.get((event.0 as usize).wrapping_sub(1)).map_or("", |name| &**name);
                Some((e.at.0, tid.0, name, length.0, count, running.0))
            }
            EventKind::Mark(of) => Some((e.at.0, of.tid.0, "mark", 0, 0, 0)),
            _ => None,
        })
        .collect();
    let expected = [
        (300, 7, "cycles", 100, 300, 100),
        (300, 7, "misses", 100, 301, 100),
        (300, 7, "mark", 0, 0, 0),
        (340, 7, "cycles", 140, 340, 85),
        (340, 7, "misses", 140, 341, 85),
        (340, 7, "mark", 0, 0, 0),
    ];
    assert_eq!(decoded, expected);
    assert_eq!(bad.0.len(), 1, "{bad:?}");
}

/// Thread 7 was last seen with another mask at 200, and thread 8 has slept since; thread 9's change was recorded when it happened.
#[test]
fn a_mask_is_unknown_between_its_last_and_next_observation() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = begin(dir.path());
    w.begin_segment(0).unwrap();
    w.frame(&[&mark(frame::SNAP_DONE, 100)]).unwrap();
    let mut words = vec![0; 16 * 8];
    words[0] = 0b10;
    let seen = |since: u64| [&1u32.to_ne_bytes()[..], &[0; 4], &words, &since.to_ne_bytes()].concat();
    w.frame(&[&rare(wire::MASK_CHANGED, 7, 500, &seen(200))]).unwrap();
    w.frame(&[&rare(wire::MASK_CHANGED, 8, 600, &seen(0))]).unwrap();
    w.frame(&[&rare(wire::AFFINITY, 9, 700, &seen(200)[..8 + 16 * 8])]).unwrap();
    w.frame(&[&mark(frame::END, 1000)]).unwrap();
    w.flush().unwrap();
    let (events, names, bad) = read(dir.path());
    let decoded: Vec<_> = events
        .iter()
        .filter_map(|e| match e.what {
            EventKind::Affinity { tid, cpus } => {
                Some((e.at.0, tid.0, (cpus.0 as usize).checked_sub(1).map(|at| &*names[at])))
            }
            _ => None,
        })
        .collect();
    assert_eq!(decoded, [(200, 7, None), (500, 7, Some("1")), (600, 8, Some("1")), (700, 9, Some("1"))]);
    assert!(bad.0.is_empty(), "{bad:?}");
}

/// The parked CPUs at the beginning are reported once, and again after a gap; changes are reported when they happen.
#[test]
fn parking_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = begin(dir.path());
    for segment in 0..3u64 {
        let t = segment * 1000;
        w.begin_segment(t).unwrap();
        let of_cpu = |cpu: u32, parked: u8| [&cpu.to_ne_bytes()[..], &[parked]].concat();
        w.frame(&[&mark(frame::PARKING, t + 1), &of_cpu(0, 0), &of_cpu(3, 1)]).unwrap();
        w.frame(&[&[frame::SNAP_BEGIN, frame::OPENING]]).unwrap();
        w.frame(&[&mark(frame::SNAP_DONE, t + 10)]).unwrap();
        for (kind, at) in [(wire::UNPARKED, t + 20), (wire::PARKED, t + 30)] {
            // The parked CPU follows the head; the head has the CPU on which the event happened.
            let like = rename(1, 7, at, "");
            w.frame(&[&like[..1], &[kind], &like[2..16], &3u32.to_ne_bytes(), &[0; 4]]).unwrap();
        }
        w.frame(&[&mark(if segment == 2 { frame::END } else { frame::MARK }, t + 60)]).unwrap();
    }
    w.flush().unwrap();
    let decoded = || {
        let parking = |e: &Event| match e.what {
            EventKind::Parking { of, parked } => Some((e.at.0, of.0, parked)),
            _ => None,
        };
        read(dir.path()).0.iter().filter_map(parking).collect::<Vec<_>>()
    };
    let begun = |t: i64| [(t + 1, 0, false), (t + 1, 3, true)];
    let each = |t: i64| [(t + 20, 3, false), (t + 30, 3, true)];
    assert_eq!(decoded(), [begun(0), each(0), each(1000), each(2000)].concat());
    std::fs::remove_file(segment_path(dir.path(), 1)).unwrap();
    assert_eq!(decoded(), [begun(0), each(0), begun(2000), each(2000)].concat());
}

/// The function of one of two timers has a name; kind 7 of interrupts from other CPUs is unknown. The names come
/// before the block, as the kernel side sends them.
#[test]
fn timers_have_the_names_of_their_functions() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = begin(dir.path());
    w.begin_segment(0).unwrap();
    w.frame(&[&mark(frame::SNAP_DONE, 100)]).unwrap();
    let mut named = b"hrtimer_wakeup".to_vec();
    named.resize(64, 0);
    w.frame(&[&rare(wire::FUNCTION, 0, 200, &[&0x8120_3040u32.to_ne_bytes()[..], &[0; 4], &named].concat())]).unwrap();
    let mut interrupts = block(0, 0, 300, 1, 0)[..wire::BLOCK_HEAD].to_vec();
    interrupts[4..8].copy_from_slice(&5u32.to_ne_bytes());
    for (after, (kind, which, function)) in (0u32..).zip([
        (14, 0, Some(0x8120_3040u32)),
        (14, 0, Some(0x8120_3041)),
        (15, 0, None),
        (15, 1, None),
        (15, 7, None),
    ]) {
        interrupts.extend_from_slice(&after.to_ne_bytes());
        interrupts.extend_from_slice(&[kind, which, 0, 0]);
        interrupts.extend(function.into_iter().flat_map(u32::to_ne_bytes));
    }
    w.frame(&[&interrupts]).unwrap();
    w.frame(&[&mark(frame::END, 900)]).unwrap();
    w.flush().unwrap();
    let (events, names, bad) = read(dir.path());
    let decoded: Vec<_> = events
        .iter()
        .filter_map(|e| match e.what {
            EventKind::Irq { kind, number, begins: true, name } => Some((e.at.0, kind, number, name)),
            _ => None,
        })
        .map(|(at, kind, number, name)| {
            (at, kind, number, names.get((name.0 as usize).wrapping_sub(1)).map_or("", |n| &**n))
        })
        .collect();
    use model::IrqKind::{Ipi, Timer};
    let expected = [
        (300, Timer, -1, "hrtimer_wakeup"),
        (301, Timer, -1, ""),
        (302, Ipi, -1, "reschedule"),
        (303, Ipi, -1, "call_function"),
        (304, Ipi, -1, ""),
    ];
    assert_eq!(decoded, expected);
    assert!(bad.0.is_empty(), "{bad:?}");
}

/// A switch in a futex call, a wakeup by another call, and a switch after them, which shows that the lengths are right.
#[test]
fn what_a_thread_waits_for_comes_with_its_switch() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = begin(dir.path());
    w.begin_segment(0).unwrap();
    w.frame(&[&mark(frame::SNAP_DONE, 100)]).unwrap();
    let mut waits = block(0, 0, 300, 1, 0)[..wire::BLOCK_HEAD].to_vec();
    waits[4..8].copy_from_slice(&4u32.to_ne_bytes());
    let numbers = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>();
    let head = |after: u32, kind: u8, code: u8| [&after.to_ne_bytes()[..], &[kind, code, 120, 120]].concat();
    // A switch with its call and the futex, of address 0x1_0000_0008: the operation and two bits, the value, and the words.
    waits.extend([head(0, 1 | 0x20, 1), numbers(&[7, 0, 5, 0, 2, 8, 1 | 7 << 20 | 128 << 23, 2, 9, 10, 11])].concat());
    waits.extend([head(1, 18, 0), numbers(&[7, 234, 8, 1])].concat());
    // One without words, as its value is 0.
    waits.extend([head(2, 1 | 0x20, 1), numbers(&[0, 7, 6, 0, 0, 8, 1 | 393 << 23])].concat());
    waits.extend([head(3, 1, 1), numbers(&[7, 0, 7, 0])].concat());
    w.frame(&[&waits]).unwrap();
    w.frame(&[&mark(frame::END, 900)]).unwrap();
    w.flush().unwrap();
    let (events, names, bad) = read(dir.path());
    assert!(bad.0.is_empty(), "{bad:?}");
    let tid = model::Tid(7);
    let wait = model::FutexWait {
        tid,
        address: 0x1_0000_0008,
        operation: 128,
        expected: 2,
        read: true,
        own: true,
        words: [2, 9, 11],
    };
    let of_futexes: Vec<_> =
        events.iter().filter(|e| !matches!(e.what, EventKind::Switch(_))).map(|e| (e.at.0, e.what)).collect();
    let call = names.iter().position(|name| &**name == "tgkill").unwrap() as u32 + 1;
    let woken = EventKind::WokenByCall { tid, call: model::NameId(call), argument: 0x1_0000_0008 };
    let empty = model::FutexWait {
        tid: model::Tid(0),
        operation: 393,
        expected: 0,
        read: false,
        own: false,
        words: [0; 3],
        ..wait
    };
    let [wait, empty] = [wait, empty].map(EventKind::FutexWait);
    assert_eq!(of_futexes, [(300, wait), (301, woken), (302, empty)]);
    let switches = events.iter().filter(|e| matches!(e.what, EventKind::Switch(_))).map(|e| e.at.0);
    assert_eq!(switches.collect::<Vec<_>>(), [300, 302, 303]);
}

/// Each segment repeats all settings: unchanged settings are reported once, and again after a gap.
#[test]
fn quotas_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = begin(dir.path());
    for segment in 0..3u64 {
        let t = segment * 1000;
        w.begin_segment(t).unwrap();
        w.frame(&[&mark(frame::THROTTLES, t + 1)]).unwrap();
        w.frame(&[&[frame::SNAP_BEGIN, frame::OPENING]]).unwrap();
        w.frame(&[&mark(frame::SNAP_DONE, t + 10)]).unwrap();
        for (kind, at) in [(wire::THROTTLED, t + 20), (wire::UNTHROTTLED, t + 30)] {
            let like = rename(0, 7, at, "");
            w.frame(&[&like[..1], &[kind], &like[2..24]]).unwrap();
        }
        let quota: u64 = if segment == 2 { 500 } else { u64::MAX };
        let numbers: Vec<u8> = [t + 40, 9, quota, 1000].iter().flat_map(|n| n.to_ne_bytes()).collect();
        let shorts: Vec<u8> = [100u16, 3].iter().flat_map(|n| n.to_ne_bytes()).collect();
        w.frame(&[&[frame::CGROUP_LIMITS], &numbers, &shorts, b"0-3/one"]).unwrap();
        let counts: Vec<u8> = [t + 50, 9, 4, 3, 2].iter().flat_map(|n| n.to_ne_bytes()).collect();
        w.frame(&[&[frame::CGROUP_STAT], &counts]).unwrap();
        w.frame(&[&mark(if segment == 2 { frame::END } else { frame::MARK }, t + 60)]).unwrap();
    }
    w.flush().unwrap();
    let quota = |of: &EventKind, names: &[Box<str>]| match *of {
        EventKind::Throttle { tid, begins } => Some(format!("{} {begins}", tid.map_or(0, |tid| tid.0))),
        EventKind::CgroupLimits { id, path, quota, period, weight, cpus } => {
            let name = |id: model::NameId| &names[id.0 as usize - 1];
            let quota = quota.get().map_or_else(|| "max".into(), |quota| quota.0.to_string());
            Some(format!("{id} {} {quota} {} {} {}", name(path), period, weight.unwrap_or(0), name(cpus)))
        }
        EventKind::CgroupStat { id, periods, throttled, time } => {
            Some(format!("{id} {periods} {throttled} {}", time.0))
        }
        _ => None,
    };
    let decoded = || {
        let (events, names, _) = read(dir.path());
        events.iter().filter_map(|e| Some((e.at.0, quota(&e.what, &names)?))).collect::<Vec<_>>()
    };
    let each = |t: i64| [(t + 20, "7 true"), (t + 30, "7 false")].map(|(at, words)| (at, words.to_owned()));
    let limits = |t: i64, words: &str| (t + 40, words.to_owned());
    let counts = |t: i64| (t + 50, "9 4 3 2".to_owned());
    let all = |t: i64| (t + 1, "0 false".to_owned());
    let [first, second, third] = [0, 1000, 2000].map(|t| each(t).to_vec());
    let (free, held) = ("9 /one max 1000 100 0-3", "9 /one 500 1000 100 0-3");
    let last = [third.clone(), vec![limits(2000, held), counts(2000)]].concat();
    let begun = [vec![all(0)], first, vec![limits(0, free), counts(0)]].concat();
    assert_eq!(decoded(), [begun.clone(), second, vec![counts(1000)], last.clone()].concat());
    std::fs::remove_file(segment_path(dir.path(), 1)).unwrap();
    assert_eq!(decoded(), [begun, vec![all(2000)], last].concat());
}

#[test]
fn without_its_first_segment() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    std::fs::remove_file(segment_path(dir.path(), 0)).unwrap();
    let (events, names, bad) = read(dir.path());
    assert!(bad.0.is_empty());
    assert_eq!((names.len(), events.first().unwrap().at), (1, Ns(101_000)));
    assert_eq!(open_spool(dir.path()).unwrap().facts.begin, Some(Ns(100_100)));
}

/// A flight recorder removes a segment once the next one had begun by the given time.
#[test]
fn old_segments_are_removed_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = begin(dir.path());
    for at in [0, 100, 200, 300] {
        w.begin_segment(at).unwrap();
    }
    let left = || segments(&spool_in(dir.path())).unwrap().len();
    let kept = [99, 100, 299, 1000].map(|until| {
        w.drop_before(until);
        left()
    });
    assert_eq!(kept, [4, 3, 2, 1], "the last one is never removed");
}

#[test]
fn cut_at_any_byte() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    let path = segment_path(dir.path(), 1);
    let whole = std::fs::read(&path).unwrap();
    let all = read(dir.path()).0;
    let mut before = 0;
    for end in (0..whole.len()).step_by(7) {
        std::fs::write(&path, &whole[..end]).unwrap();
        let (events, _, _) = read(dir.path());
        assert!(events.len() >= before && events.len() <= all.len());
        assert_eq!(events[..], all[..events.len()], "cut at {end}");
        before = events.len();
    }
    assert!(before > 100);
}

#[test]
fn flipped_bytes_lose_at_most_a_segment_and_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    let path = segment_path(dir.path(), 0);
    let whole = std::fs::read(&path).unwrap();
    for at in (0..whole.len()).step_by(3) {
        let mut bad = whole.clone();
        bad[at] ^= 0x55;
        std::fs::write(&path, &bad).unwrap();
        let (events, _, anomalies) = read(dir.path());
        let second = events.iter().filter(|e| e.at >= Ns(100_000) && matches!(e.what, EventKind::Switch(_))).count();
        assert_eq!(second, 103 + 6, "flipped at {at}");
        let header_number = (16..32).contains(&at);
        assert!(header_number || !anomalies.0.is_empty(), "flipped at {at}");
    }
}

#[test]
fn a_newer_spool_is_rejected_with_a_message() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    let path = dir.path().join(SPOOL).join("meta.json");
    std::fs::write(&path, "{\"version\": 99}").unwrap();
    let why = open_spool(dir.path()).err().unwrap();
    assert!(why.what.contains("newer version"), "{why}");
    std::fs::write(&path, "nonsense").unwrap();
    assert!(open_spool(dir.path()).is_err());
}

/// A switch-out that blocks, with its callchains: `[kernel, user, pid]`.
fn blocked(base: u64, chain: [i32; 3]) -> Vec<u8> {
    let mut bytes = block(0, 0, base, 1, 0);
    let kind = wire::BLOCK_HEAD + 4;
    bytes[kind] |= 0x80;
    chain.iter().for_each(|word| bytes.extend_from_slice(&word.to_ne_bytes()));
    bytes
}

fn stack(space: u32, pid: i32, number: i32, ended: CallchainEnd, addresses: &[u64]) -> Vec<u8> {
    let mut bytes = vec![frame::STACK];
    bytes.extend_from_slice(&space.to_ne_bytes());
    bytes.extend_from_slice(&pid.to_ne_bytes());
    bytes.extend_from_slice(&number.to_ne_bytes());
    bytes.extend_from_slice(&(ended as u32).to_ne_bytes());
    addresses.iter().for_each(|address| bytes.extend_from_slice(&address.to_ne_bytes()));
    bytes
}

#[test]
fn callchains_come_with_their_names() {
    const KERNEL: u64 = 0xffff_ffff_8100_0000;
    let dir = tempfile::tempdir().unwrap();
    let mut w = begin(dir.path());
    w.begin_segment(0).unwrap();
    w.frame(&[&mark(frame::SNAP_DONE, 100)]).unwrap();
    // Only kernel, both, both in another process with the same numbers, a lost one, and the second one again.
    let all = [[7, -14, 1], [7, 3, 1], [7, 3, 2], [-17, -17, 1], [7, 3, 1]];
    for (n, chain) in (0u64..).zip(all) {
        w.frame(&[&blocked(1000 + n * 100, chain)]).unwrap();
    }
    w.frame(&[&stack(0, 0, 7, CallchainEnd::Unknown, &[KERNEL, KERNEL + 0x101])]).unwrap();
    w.frame(&[&stack(1, 1, 3, CallchainEnd::Root, &[0x5000, 0x6001])]).unwrap();
    w.frame(&[&stack(2, 2, 3, CallchainEnd::NoTable, &[0x5000, 0x6001])]).unwrap();
    w.frame(&[&mark(frame::END, 5000)]).unwrap();
    w.flush().unwrap();
    let place = |space, address, function: &str, offset| crate::places::Place {
        space,
        address,
        function: Some(function.to_owned()),
        file: Some("/bin/it".to_owned()),
        offset,
        ..Default::default()
    };
    // A caller is looked up by the byte before its return address.
    let places = [place(0, KERNEL + 0x100, "caller", None), place(1, 0x5000, "read", Some(0x20))];
    crate::places::store(&spool_in(dir.path()), &places).unwrap();
    let mut opened = open_spool(dir.path()).unwrap();
    let (mut batch, mut bad) = (Batch::default(), Anomalies::default());
    while matches!(opened.streams[0].next(&mut batch, &mut bad).unwrap(), Reach::Until(_)) {}
    assert!(bad.0.is_empty(), "{bad:?}");
    let ids =
        batch.events.iter().filter_map(|e| if let EventKind::Switch(s) = e.what { Some(s.stack.0) } else { None });
    assert_eq!(ids.collect::<Vec<_>>(), [1, 2, 3, 0, 2]);
    let name = |id: NameId| id.0.checked_sub(1).map_or("-", |at| &batch.names[at as usize]);
    let decoded: Vec<Vec<(u64, &str, u64)>> = batch
        .stacks
        .iter()
        .map(|chain| chain.iter().map(|f| (f.address, name(f.function), f.offset)).collect())
        .collect();
    let kernel = [(KERNEL, "-", u64::MAX), (KERNEL + 0x101, "caller", u64::MAX)];
    let [known, unknown] = [("read", 0x20), ("-", u64::MAX)].map(|(name, offset)| (0x5000, name, offset));
    let outer = (0x6001, "-", u64::MAX);
    assert_eq!(decoded[0], kernel);
    assert_eq!(decoded[1], [kernel[0], kernel[1], known, outer]);
    let missing = (0, "[truncated: no unwind table]", u64::MAX);
    assert_eq!(decoded[2], [kernel[0], kernel[1], unknown, outer, missing]);
}
