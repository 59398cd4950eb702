//! CPUs that Linux takes from the scheduler and gives back: what it has for parking.
//!
//! - `cpuhp_enter` and `cpuhp_exit` (Linux 4.6, `include/trace/events/cpuhp.h`): one step of a CPU's going offline or coming
//!   online. A CPU that goes offline is taken through the steps downwards, to a target below. `CPUHP_AP_ACTIVE`, the step
//!   that lets the scheduler use it or not, stands right below the last, `CPUHP_ONLINE` (`include/linux/cpuhotplug.h`): it
//!   is the first on the way down and, with the target `CPUHP_ONLINE`, the last on the way up. What drivers set up later
//!   runs steps of CPUs that stay online, with the same target; these lie below, and tell when they end that their CPU stands
//!   above them. A step down that fails is undone.
//! - `sched_cpu_hotplug` (Android kernels up to 4.x): a CPU has gone offline or come online, or (`error`) has not.
//! - `sched_isolate` (the same, of Qualcomm, MediaTek and HiSilicon): a CPU is asked to be isolated, or no longer. Who asks
//!   is counted, so that only the mask of the CPUs that are isolated tells what became of it; it has 32 bits.
//!
//! Before the first of these nobody can say of a CPU whether it was parked. Of recordings by perf they are not read: perf
//! records nothing more of a CPU that was offline (seen with Linux 6.18), so that it would seem to be so to the end.

use crate::text::scan::{find, integer};
use model::{CpuId, What};

/// A tracepoint.
#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) name: &'static str,
    /// The fields that are read: the CPU, and what else [`Self::told`] takes.
    pub(crate) fields: [&'static str; 4],
    /// What stands before each in the kernel's text.
    labels: [&'static str; 4],
    told: fn(CpuId, [i64; 3]) -> What,
}

/// All of them. Where fewer than three fields are needed beside the CPU, one stands twice.
const POINTS: [Point; 4] = [
    Point {
        name: "cpuhp_enter",
        fields: ["cpu", "target", "idx", "idx"],
        labels: ["cpu:", "target:", "step:", "step:"],
        told: |of, [target, step, _]| {
            if target < step {
                What::Parking { of, parked: true }
            } else if target - step == 1 {
                What::Parking { of, parked: false }
            } else {
                What::Sample
            }
        },
    },
    Point {
        name: "cpuhp_exit",
        fields: ["cpu", "state", "idx", "ret"],
        labels: ["cpu:", "state:", "step:", "ret:"],
        told: |of, [state, step, error]| {
            let online = if error == 0 { state > step } else { state < step };
            if online { What::Parking { of, parked: false } } else { What::Sample }
        },
    },
    Point {
        name: "sched_cpu_hotplug",
        fields: ["affected_cpu", "status", "error", "error"],
        labels: ["cpu ", "", "error=", "error="],
        told: |of, [online, error, _]| {
            if error == 0 { What::Parking { of, parked: online == 0 } } else { What::Sample }
        },
    },
    Point {
        name: "sched_isolate",
        fields: ["requested_cpu", "isolated_cpus", "isolated_cpus", "isolated_cpus"],
        labels: ["cpu=", "cpus=", "cpus=", "cpus="],
        told: |of, [isolated, ..]| {
            if of.0 < 32 { What::Parking { of, parked: isolated >> of.0 & 1 != 0 } } else { What::Sample }
        },
    },
];

impl Point {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        POINTS.iter().find(|p| p.name == name)
    }

    /// What its fields say, in their order.
    pub(crate) fn what(&self, [cpu, rest @ ..]: [i64; 4]) -> What {
        // Sums and differences of numbers that no kernel writes would not fit.
        let rest = rest.map(|v| i64::from(v as u32 as i32));
        (self.told)(CpuId(cpu as u32), rest)
    }

    /// What the kernel's text says.
    pub(crate) fn read(&self, args: &[u8]) -> Option<What> {
        let behind = |label: &str| match label {
            "" => Some(i64::from(find(args, b" online").is_some())),
            _ => {
                let rest = args.get(find(args, label.as_bytes())? + label.len()..)?;
                integer(rest.trim_ascii_start()).map(|(value, _)| value)
            }
        };
        let [cpu, a, b, c] = self.labels.map(behind);
        Some(self.what([cpu?, a?, b?, c?]))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Texts as `print fmt` of each tracepoint writes them.
    #[test]
    fn texts_of_the_kernel_are_read() {
        let parked = |of, parked| What::Parking { of: CpuId(of), parked };
        for (name, args, told) in [
            ("cpuhp_enter", "cpu: 0001 target:   0 step: 238 (sched_cpu_deactivate)", parked(1, true)),
            ("cpuhp_enter", "cpu: 0001 target: 239 step:   5 (smpcfd_prepare_cpu)", What::Sample),
            ("cpuhp_enter", "cpu: 0001 target: 239 step: 238 (sched_cpu_activate)", parked(1, false)),
            ("cpuhp_exit", " cpu: 0001  state: 237 step: 238 ret: -16", parked(1, false)),
            ("cpuhp_exit", " cpu: 0001  state: 237 step: 238 ret: 0", What::Sample),
            ("cpuhp_exit", " cpu: 0001  state: 40 step: 40 ret: -12", What::Sample),
            ("cpuhp_exit", " cpu: 0001  state:  82 step:  82 ret: 0", What::Sample),
            ("cpuhp_exit", " cpu: 0001  state: 239 step:  54 ret: 0", parked(1, false)),
            ("sched_cpu_hotplug", "cpu 3 offline error=0", parked(3, true)),
            ("sched_cpu_hotplug", "cpu 3 online error=0", parked(3, false)),
            ("sched_cpu_hotplug", "cpu 3 offline error=-16", What::Sample),
            ("sched_isolate", "iso cpu=6 cpus=0x60 time=12 us isolated=1", parked(6, true)),
            ("sched_isolate", "iso cpu=6 cpus=0x20 time=12 us isolated=0", parked(6, false)),
        ] {
            assert_eq!(Point::named(name).unwrap().read(args.as_bytes()), Some(told), "{name}: {args}");
        }
    }

    /// From a recording of Linux 6.18, where writing to `cpu1/online` took the CPU away at the second line and gave it back at the
    /// last but one; the first is of the recorder's own buffers.
    #[test]
    fn a_cpu_goes_offline_and_comes_back() {
        let lines = "cpuhp_exit:  cpu: 0001  state: 236 step:  54 ret: 0
                     cpuhp_enter: cpu: 0001 target: 144 step: 236 (cpuhp_kick_ap_work)
                     cpuhp_enter: cpu: 0001 target: 144 step: 235 (sched_cpu_deactivate)
                     cpuhp_exit:  cpu: 0001  state: 234 step: 235 ret: 0
                     cpuhp_exit:  cpu: 0001  state: 144 step: 236 ret: 0
                     cpuhp_exit:  cpu: 0001  state:  84 step: 144 ret: 0
                     cpuhp_enter: cpu: 0001 target:   0 step:  25 (buffer_exit_cpu_dead)
                     cpuhp_exit:  cpu: 0001  state:  59 step:  59 ret: 0
                     cpuhp_enter: cpu: 0001 target: 236 step:  82 (cpuhp_kick_ap_alive)
                     cpuhp_exit:  cpu: 0001  state:  82 step:  82 ret: 0
                     cpuhp_enter: cpu: 0001 target: 236 step: 235 (sched_cpu_activate)
                     cpuhp_exit:  cpu: 0001  state: 236 step:  83 ret: 0";
        let what = |line: &str| {
            let (name, args) = line.trim().split_once(':').unwrap();
            match Point::named(name).unwrap().read(args.as_bytes()).unwrap() {
                What::Parking { of: CpuId(1), parked } => {
                    if parked {
                        '('
                    } else {
                        ')'
                    }
                }
                _ => '.',
            }
        };
        assert_eq!(lines.lines().map(what).collect::<String>(), ")((...(...))");
    }

    #[test]
    fn texts_that_lack_something_and_numbers_that_no_kernel_writes() {
        for point in &POINTS {
            assert_eq!(point.read(b""), None);
            assert_eq!(point.read(b"cpu: x target: step: state: ret: cpu  error= cpu= cpus="), None);
            for number in [0, 1, -1, i64::MAX, i64::MIN] {
                point.what([number; 4]);
                point.what([1, number, i64::MIN, i64::MAX]);
            }
        }
    }
}
