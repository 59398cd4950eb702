//! Simulated samples of the events of a CPU.
use super::*;
use model::{EventKind, Ns, StackId};

/// Group 0: the switches, event 0, the tracepoint. Group 1: events 1 and 9, a tracepoint.
fn two_groups() -> CpuCounting {
    let group =
        |ids: &[u64], slots: &[Option<usize>]| Group { ids: ids.into(), slots: slots.into(), ..Group::default() };
    CpuCounting {
        groups: vec![group(&[10, 11, 12], &[None, Some(0), None]), group(&[20, 21, 22], &[Some(1), Some(9), None])],
        points: vec![12, 22],
        ..CpuCounting::default()
    }
}

/// A count: when it ends, thread, event, length, count, ns counting.
type Counted = (i64, i32, u32, i64, i64, i64);

/// A simulated CPU.
struct Cpu {
    counting: CpuCounting,
    records: Vec<Vec<u8>>,
}

impl Cpu {
    fn new() -> Self {
        Self { counting: two_groups(), records: Vec::new() }
    }

    fn out(&mut self, what: impl FnOnce(&mut CpuCounting, &mut Out<'_>)) {
        let mut block = Block::new(3, 0);
        let records = &mut self.records;
        let mut take = |record: &[u8]| records.push(record.to_vec());
        what(&mut self.counting, &mut Out { block: &mut block, take: &mut take });
        block.close(&mut take);
    }

    /// A sample of a group: values by id, in the order of the kernel or another one.
    fn sample(&mut self, group: usize, sample: SwitchSample, times: [u64; 2], values: &[(u64, u64)]) {
        let words =
            [values.len() as u64, times[0], times[1]].into_iter().chain(values.iter().flat_map(|(id, v)| [*v, *id]));
        let bytes: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
        let reading = self.counting.decode(group, &mut wire::Bytes::new(&bytes)).unwrap();
        self.out(|counting, out| counting.begin(Some((group, &sample)), out));
        self.counting.sampled(group, &sample, reading);
    }

    /// A switch at `at` µs, before which there were `switches`. `set`: for how long the second group had counted, µs, if it does.
    fn switch(&mut self, at: u64, [prev, next]: [u32; 2], switches: u64, set: Option<u64>, set_first: bool) {
        let ns = at * 1000;
        let main = SwitchSample { current: prev, at: ns, threads: Some([prev, next]) };
        let own = SwitchSample { current: prev, at: ns + 700, threads: None };
        for first in [true, false] {
            if first == set_first
                && let Some(ran) = set
            {
                self.sample(1, own, [ns, ran * 1000], &[(21, 7 * ran), (20, 5 * ran), (22, switches)]);
            } else if first != set_first {
                self.sample(0, main, [ns, ns], &[(10, switches), (11, 2 * at), (12, switches)]);
            }
        }
    }

    fn counted(mut self) -> Vec<Counted> {
        self.out(|counting, out| counting.finish_old(u64::MAX, out));
        let mut all = Vec::new();
        for record in &self.records {
            let head = wire::block_head(record).unwrap();
            let data = &record[wire::BLOCK_HEAD..];
            assert!(wire::decode_block(&head, data, 0, &mut |_, _| StackId::NONE, &mut |event| {
                let EventKind::Count { tid, event: of, length, count, running } = event.what else {
                    panic!("{event:?}")
                };
                assert_eq!(event.cpu, CpuId(3));
                let us = |ns: Ns| ns.0 / 1000;
                all.push((us(event.at), tid.0, of.0, us(length), count, us(running)));
            }));
        }
        all
    }
}

#[test]
fn counts_are_of_the_thread_that_leaves() {
    let mut cpu = Cpu::new();
    cpu.switch(1000, [1, 2], 5, Some(1000), false);
    // The samples of a switch have no fixed order.
    cpu.switch(1300, [2, 3], 6, Some(1300), true);
    cpu.switch(1400, [3, 2], 7, Some(1400), false);
    assert_eq!(
        cpu.counted(),
        [
            (1300, 2, 1, 300, 1500, 300),
            (1300, 2, 9, 300, 2100, 300),
            (1300, 2, 0, 300, 600, 300),
            (1400, 3, 0, 100, 200, 100),
            (1400, 3, 1, 100, 500, 100),
            (1400, 3, 9, 100, 700, 100),
        ]
    );
}

#[test]
fn what_several_threads_counted_is_of_none() {
    let mut cpu = Cpu::new();
    cpu.switch(1000, [1, 2], 5, Some(1000), true);
    // Out of turn during the switch at 1300, back before that at 1400.
    cpu.switch(1300, [2, 1], 6, None, true);
    cpu.switch(1400, [1, 2], 7, Some(1150), true);
    // Out for a while, but the same thread ran.
    cpu.switch(1600, [2, 1], 8, Some(1250), true);
    // One switch was not delivered, though the threads match.
    cpu.switch(1700, [1, 2], 10, Some(1350), true);
    let of = |event: u32, all: &[Counted]| all.iter().filter(|c| c.2 == event).copied().collect::<Vec<_>>();
    let all = cpu.counted();
    assert_eq!(of(1, &all), [(1400, -1, 1, 400, 750, 150), (1600, 2, 1, 200, 500, 100), (1700, -1, 1, 100, 500, 100)]);
    assert_eq!(
        of(0, &all),
        [
            (1300, 2, 0, 300, 600, 300),
            (1400, 1, 0, 100, 200, 100),
            (1600, 2, 0, 200, 400, 200),
            (1700, -1, 0, 100, 200, 100)
        ]
    );
}

#[test]
fn what_straddles_a_loss_is_unknown() {
    let mut cpu = Cpu::new();
    cpu.switch(1000, [1, 2], 5, Some(1000), true);
    // Only the second sample of a switch is there.
    let own = SwitchSample { current: 2, at: 1_200_000, threads: None };
    cpu.sample(1, own, [1_200_000; 2], &[(20, 6000), (21, 8400), (22, 6)]);
    cpu.out(|counting, out| counting.begin(None, out));
    cpu.switch(1400, [1, 2], 7, Some(1400), true);
    assert_eq!(
        cpu.counted(),
        [(1400, -1, 1, 400, 2000, 400), (1400, -1, 9, 400, 2800, 400), (1400, -1, 0, 400, 800, 400)]
    );
}

#[test]
fn a_reading_between_switches_is_of_the_thread_that_runs() {
    let reading = |at: u64, switches: u64, count: u64| {
        let mut reading = Reading { enabled: at, running: at, counts: [0; MAX_GROUP] };
        (reading.counts[0], reading.counts[1]) = (switches, count);
        (at, reading)
    };
    let now = |switches: Option<u64>, at: u64| Now {
        switches,
        readings: vec![reading(at, switches.unwrap_or(0), at / 500)],
        hits: 1,
    };
    for (switches, all, tid) in [
        (Some(6), false, Some(2)),
        (Some(7), false, None),
        (None, false, None),
        (Some(7), true, Some(-1)),
        (None, true, Some(-1)),
    ] {
        let mut cpu = Cpu::new();
        cpu.switch(1000, [1, 2], 5, None, true);
        cpu.out(|counting, out| counting.finish_old(u64::MAX, out));
        cpu.out(|counting, out| counting.book(&now(switches, 1_300_000), all, out));
        let read: Vec<Counted> = tid.map(|tid| (1300, tid, 0, 300, 600, 300)).into_iter().collect();
        cpu.switch(1400, [2, 1], switches.unwrap_or(7), None, true);
        let (from, then) = (if tid.is_some() { 1300 } else { 1000 }, if switches == Some(6) { 2 } else { -1 });
        // After a reading of none, one thread may have run: its switch shows how many there were.
        let then = if (switches, all) == (Some(7), true) { 2 } else { then };
        let after = (1400, then, 0, 1400 - from, 2 * (1400 - from), 1400 - from);
        assert_eq!(cpu.counted(), [read, vec![after]].concat(), "{switches:?} {all}");
    }
}

#[test]
fn an_offline_cpu_counts_nothing() {
    let mut cpu = Cpu::new();
    cpu.switch(1000, [1, 2], 5, None, true);
    let main = SwitchSample { current: 2, at: 9_000_000, threads: Some([2, 1]) };
    // Enabled for 1 of 8 ms.
    cpu.sample(0, main, [2_000_000; 2], &[(10, 6), (11, 9), (12, 0)]);
    assert_eq!(cpu.counted(), []);
}

#[test]
fn a_group_with_unknown_events_is_not_decoded() {
    let group = &two_groups().groups[1];
    let of = |words: &[u64]| {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        group.decode(&mut wire::Bytes::new(&bytes)).is_some()
    };
    assert!(of(&[3, 9, 9, 1, 20, 2, 21, 3, 22]));
    assert!(!of(&[3, 9, 9, 1, 20, 2, 21, 3]));
    assert!(!of(&[3, 9, 9, 1, 20, 2, 21, 3, 23]));
    assert!(!of(&[u64::MAX, 9, 9, 1, 20, 2, 21, 3, 22]));
}
