//! A drawn snapshot, for tests of what shows snapshots.

use crate::snapshot::{
    ClassSums, CounterSums, CpuSums, CurrentThread, EnergyMethod, EnergySums, GroupKind, GroupSums, Health, Identity,
    IdleSums, InterruptCount, InterruptKind, ReadySums, SiblingSums, Snapshot, Throttled,
};
use model::CpuId;
use std::sync::Arc;
use topology::Machine;

/// The length of a drawn snapshot, ns: 10 s.
pub const DRAWN_NS: u64 = 10_000_000_000;

/// Returns a snapshot of 10 s of a machine with two performance cores of two threads each (CPUs 0 to 3) and two efficient cores
/// (CPUs 4 and 5). `factor` multiplies all sums but not the numbers of CPUs, so that two factors make two readings of one run. CPUs 0
/// and 1 run `/app.slice/game` all the time, CPU 2 runs it half the time next to an idle sibling, CPU 4 runs `/system.slice/db.service`
/// for a fifth, CPU 5 is idle.
#[must_use]
pub fn drawn(factor: u64) -> Snapshot {
    let machine = Arc::new(machine());
    let elapsed = DRAWN_NS * factor;
    let cpu = |number: u32, busy_tenths: u64, sibling: SiblingSums| {
        let busy_ns = elapsed / 10 * busy_tenths;
        CpuSums {
            cpu: number,
            class: machine.core_class(CpuId(number)) as usize,
            online: true,
            busy_ns,
            idle_ns: elapsed - busy_ns,
            unknown_ns: 0,
            offline_ns: 0,
            core_offline_ns: 0,
            sibling,
            core_several_ns: None,
            switches: 1000 * factor,
            wakeups: 400 * factor,
            migrations_from: vec![10 * factor, 20 * factor],
            interrupts: vec![
                InterruptCount { kind: InterruptKind::Timer, name: "LOC".into(), count: 2500 * factor },
                InterruptCount { kind: InterruptKind::Device, name: "nvme0q1".into(), count: 70 * factor },
                InterruptCount { kind: InterruptKind::Softirq, name: "NET_RX".into(), count: 90 * factor },
            ],
            idle_states: vec![IdleSums {
                state: "C6".into(),
                break_even_ns: Some(600_000),
                periods: 300 * factor,
                ns: (elapsed - busy_ns) / 2,
                short_periods: 40 * factor,
            }],
            current: (busy_tenths == 10).then(|| CurrentThread {
                tid: 4711 + number,
                name: "game \"render\"\\1".into(),
                since_ns: elapsed,
            }),
        }
    };
    let tenth = elapsed / 10;
    let with_busy = |tenths: u64| SiblingSums { busy_ns: tenth * tenths, ..SiblingSums::default() };
    let with_idle = |tenths: u64| SiblingSums { idle_ns: tenth * tenths, ..SiblingSums::default() };
    let alone = |tenths: u64| SiblingSums { none_ns: tenth * tenths, ..SiblingSums::default() };
    let cpus = vec![
        cpu(0, 10, with_busy(10)),
        cpu(1, 10, with_busy(10)),
        cpu(2, 5, with_idle(5)),
        cpu(3, 0, SiblingSums::default()),
        cpu(4, 2, alone(2)),
        cpu(5, 0, SiblingSums::default()),
    ];
    let fast = |tenths: u64, sibling: SiblingSums| vec![ClassSums::default(), sums(factor, tenths, sibling)];
    let game = SiblingSums { busy_ns: tenth * 20, idle_ns: tenth * 5, ..SiblingSums::default() };
    let groups = vec![
        group(GroupKind::Cgroup, "/app.slice/game", fast(25, game)),
        GroupSums {
            throttled: Some(Throttled { ns: 300_000_000 * factor, periods: 12 * factor }),
            ..group(
                GroupKind::Cgroup,
                "/system.slice/db.service",
                vec![sums(factor, 2, alone(2)), ClassSums::default()],
            )
        },
        group(GroupKind::Other, "", vec![ClassSums::default(), ClassSums::default()]),
    ];
    let mut total = group(GroupKind::Machine, "", vec![ClassSums::default(), ClassSums::default()]);
    for group in &groups {
        for (own, more) in total.by_class.iter_mut().zip(&group.by_class) {
            own.add_all(more);
        }
    }
    Snapshot {
        at_ns: 5_000_000_000 + elapsed,
        started_ns: 5_000_000_000,
        machine: machine.clone(),
        cpus,
        total,
        groups,
        health: Health {
            groups_seen: 7,
            groups_kept: 7,
            groups_max: 1024,
            kernel_bytes: 12 << 20,
            bpf_ns: Some(20_000_000 * factor),
            reading_ns: 300_000,
            ..Health::default()
        },
        identities: vec![
            identity("cpu_time", "busy, idle and unknown time of each CPU are the time since the start"),
            identity("groups", "the groups' running time is the CPUs' busy time"),
        ],
        energy: vec![
            energy("package-0", "package", 150.0 * factor as f64, elapsed, None),
            energy("package-0/core", "core", 90.0 * factor as f64, tenth * 6, Some("it could not be read: gone")),
        ],
        counters: [("cycles", 1, 9), ("instructions", 1, 18), ("cycles", 0, 3), ("instructions", 0, 4)]
            .map(|(event, class, billions)| CounterSums {
                event: event.into(),
                pmu: ["cpu_atom", "cpu_core"][class].into(),
                class,
                count: billions * 1_000_000_000 * factor,
                counted_ns: tenth * if class == 1 { 40 } else { 15 },
                estimated_ns: tenth * if class == 1 { 0 } else { 4 },
                missing_ns: tenth * u64::from(class == 0),
            })
            .into(),
        lacks: Vec::new(),
    }
}

fn energy(domain: &str, part: &'static str, joules: f64, known_ns: u64, unknown: Option<&str>) -> EnergySums {
    EnergySums {
        domain: domain.into(),
        part,
        method: EnergyMethod::Counted,
        parent: domain.split_once('/').map(|(parent, _)| parent.into()),
        same_as: None,
        joules,
        low_joules: joules * 0.99,
        high_joules: joules * 1.01,
        known_ns,
        wraps: u64::from(unknown.is_none()),
        is_live: unknown.is_none(),
        unknown: unknown.map(str::to_owned),
    }
}

fn identity(name: &'static str, meaning: &'static str) -> Identity {
    Identity { name, meaning, holds: true, residual_ns: 0, slack_ns: 1000 }
}

fn group(kind: GroupKind, name: &str, by_class: Vec<ClassSums>) -> GroupSums {
    GroupSums { kind, name: name.into(), by_class, throttled: None }
}

/// The sums of a group that ran for some tenths of the snapshot's time.
fn sums(factor: u64, tenths: u64, sibling: SiblingSums) -> ClassSums {
    let mut sums = ClassSums {
        running_ns: DRAWN_NS * factor / 10 * tenths,
        sibling,
        ready: ReadySums {
            same_group_ns: 200_000_000 * factor,
            other_group_ns: 50_000_000 * factor,
            kernel_ns: 10_000_000 * factor,
            idle_ns: 5_000_000 * factor,
            unknown_ns: 0,
        },
        wakeups: 400 * factor,
        preemptions: 30 * factor,
        migrations_from: vec![10 * factor, 20 * factor],
        ..ClassSums::default()
    };
    for ns in [800, 20_000, 21_000, 3_000_000, 40_000_000_000] {
        (0..factor).for_each(|_| sums.ready_latency.add(ns));
        (0..factor).for_each(|_| sums.run_length.add(ns * 2));
    }
    sums
}

fn machine() -> Machine {
    let mut machine = Machine::of_cpus((0..6).map(CpuId));
    let core =
        |cpu: u32| if cpu < 4 { (cpu / 2, vec![CpuId(cpu & !1), CpuId(cpu | 1)]) } else { (cpu, vec![CpuId(cpu)]) };
    for cpu in &mut machine.cpus {
        let (number, siblings) = core(cpu.id.0);
        (cpu.package, cpu.core, cpu.siblings) = (Some(0), Some(number), siblings);
    }
    for (cpu, judged) in machine.cpus.iter().zip(&mut machine.class) {
        judged.best.value = u32::from(cpu.id.0 < 4);
    }
    machine.class_names = vec![model::CoreType::Efficient, model::CoreType::Performance];
    machine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawn_sums_obey_the_identities() {
        for factor in [1, 3] {
            let snapshot = drawn(factor);
            let elapsed = snapshot.elapsed_ns();
            assert_eq!(elapsed, DRAWN_NS * factor);
            for cpu in &snapshot.cpus {
                assert_eq!(cpu.busy_ns + cpu.idle_ns + cpu.unknown_ns, elapsed, "CPU {}", cpu.cpu);
                assert_eq!(cpu.sibling.all_ns(), cpu.busy_ns, "CPU {}", cpu.cpu);
            }
            let busy: u64 = snapshot.cpus.iter().map(|cpu| cpu.busy_ns).sum();
            assert_eq!(snapshot.total.running_ns(), busy);
            assert_eq!(snapshot.groups.iter().map(GroupSums::running_ns).sum::<u64>(), busy);
        }
    }

    #[test]
    fn cores_with_both_threads_busy_are_distinguished() {
        let cores = drawn(1).cores();
        let of = |at: usize| (cores[at].several_busy_ns, cores[at].one_busy_ns, cores[at].free_ns);
        assert_eq!(cores.len(), 4);
        assert_eq!(of(0), (DRAWN_NS, 0, 0));
        assert_eq!(of(1), (0, DRAWN_NS / 2, DRAWN_NS / 2));
        assert_eq!(of(2), (0, DRAWN_NS / 5, DRAWN_NS / 5 * 4));
        assert_eq!(of(3), (0, 0, DRAWN_NS));
    }

    /// A core of four threads: in tenths of the time, CPUs 0 and 1 are busy in the first four, CPU 2 in the third to the sixth, CPU 3 never.
    #[test]
    fn a_core_of_four_threads_has_the_time_with_two_or_more_busy_once() {
        let mut snapshot = drawn(1);
        let mut machine = (*snapshot.machine).clone();
        let tenth = DRAWN_NS / 10;
        for (cpu, (busy, idle)) in [(4, 0), (4, 0), (2, 2), (0, 0)].into_iter().enumerate() {
            machine.cpus[cpu].siblings = (0..4).map(CpuId).collect();
            let sums = &mut snapshot.cpus[cpu];
            (sums.busy_ns, sums.idle_ns) = (tenth * (busy + idle), tenth * (10 - busy - idle));
            sums.sibling = SiblingSums { busy_ns: tenth * busy, idle_ns: tenth * idle, ..SiblingSums::default() };
            sums.core_several_ns = Some(tenth * 4);
        }
        snapshot.machine = Arc::new(machine);
        let core = &snapshot.cores()[0];
        assert_eq!(core.cpus, [0, 1, 2, 3]);
        assert_eq!((core.several_busy_ns, core.one_busy_ns, core.free_ns), (tenth * 4, tenth * 2, tenth * 4));
    }
}
