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

use crate::tracepoint::table::{FieldValues, Meaning, Reader, Tracepoint, field};
use model::What;

/// Perf's; of CTF nothing tells which recorder goes on with a CPU that comes back.
const PARKING: Tracepoint =
    Tracepoint { not_read_from: &[Reader::PerfData, Reader::PerfScript, Reader::Ctf], ..Tracepoint::NEW };

pub(super) const TRACEPOINTS: &[Tracepoint] = &[
    Tracepoint {
        name: "cpuhp_enter",
        numbers: &[field("cpu").perfetto(1), field("target").perfetto(4), field("idx").perfetto(3)],
        printed: &["{}cpu:{cpu}{}target:{target}{}step:{idx}"],
        perfetto: 345,
        meaning: Meaning::Of(|v, out| {
            let (target, step) = (int(v, 1), int(v, 2));
            out.add(if target < step {
                parking(v, true)
            } else if target - step == 1 {
                parking(v, false)
            } else {
                What::Sample
            })
        }),
        ..PARKING
    },
    Tracepoint {
        name: "cpuhp_exit",
        numbers: &[
            field("cpu").perfetto(1),
            field("state").perfetto(4),
            field("idx").perfetto(2),
            field("ret").perfetto(3),
        ],
        printed: &["{}cpu:{cpu}{}state:{state}{}step:{idx}{}ret:{ret}"],
        perfetto: 343,
        meaning: Meaning::Of(|v, out| {
            let (state, step, error) = (int(v, 1), int(v, 2), int(v, 3));
            let online = if error == 0 { state > step } else { state < step };
            out.add(if online { parking(v, false) } else { What::Sample })
        }),
        ..PARKING
    },
    Tracepoint {
        name: "sched_cpu_hotplug",
        numbers: &[field("affected_cpu").perfetto(1), field("status").perfetto(3), field("error").perfetto(2)],
        printed: &[
            "{}cpu {affected_cpu} online{status=1}{}error={error}",
            "{}cpu {affected_cpu} {status=0}{}error={error}",
        ],
        perfetto: 19,
        meaning: Meaning::Of(|v, out| out.add(if int(v, 2) == 0 { parking(v, int(v, 1) == 0) } else { What::Sample })),
        ..PARKING
    },
    Tracepoint {
        name: "sched_isolate",
        numbers: &[field("requested_cpu"), field("isolated_cpus")],
        printed: &["{}cpu={requested_cpu}{}cpus={isolated_cpus}"],
        meaning: Meaning::Of(|v, out| {
            let (cpu, isolated) = (v.cpu(0).0, int(v, 1));
            out.add(if cpu < 32 { parking(v, isolated >> cpu & 1 != 0) } else { What::Sample })
        }),
        ..PARKING
    },
];

/// Sums and differences of numbers that no kernel writes would not fit.
fn int(v: &FieldValues<'_>, at: usize) -> i64 {
    i64::from(v.number(at) as u32 as i32)
}

fn parking(v: &FieldValues<'_>, parked: bool) -> What {
    What::Parking { of: v.cpu(0), parked }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::tracepoint::{Arguments, Names, Place};
    use model::{Batch, CpuId, Ns, StackId, Tid};

    fn read(name: &str, args: &str) -> Option<What> {
        let place = Place { at: Ns(5), current: Tid(3), stack: StackId::NONE };
        let mut arguments = Arguments::new(Reader::FtraceText);
        arguments.decode(name.as_bytes(), args.as_bytes(), place, &mut Names::new(), &mut Batch::default()).ok()
    }

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
            assert_eq!(read(name, args), Some(told), "{name}: {args}");
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
            match read(name, args).unwrap() {
                What::Parking { of: CpuId(1), parked: true } => '(',
                What::Parking { of: CpuId(1), parked: false } => ')',
                _ => '.',
            }
        };
        assert_eq!(lines.lines().map(what).collect::<String>(), ")((...(...))");
    }

    #[test]
    fn texts_that_lack_something_and_numbers_that_no_kernel_writes() {
        for point in TRACEPOINTS {
            assert_eq!(read(point.name, ""), None);
            assert_eq!(read(point.name, "cpu: x target: step: state: ret: cpu  error= cpu= cpus="), None);
            for number in ["0", "1", "-1", "9223372036854775807", "-9223372036854775808"] {
                let args = point.printed[0].replace("{}", " ").replace("{status=1}", "");
                let args: Vec<&str> = args.split('}').map(|part| part.split('{').next().unwrap()).collect();
                assert!(read(point.name, &args.join(number)).is_some(), "{}: {args:?}", point.name);
            }
        }
    }
}
