//! CPUs that Linux removes from the scheduler and returns to it (parking).
//!
//! - `cpuhp_enter` and `cpuhp_exit` (Linux 4.6, `include/trace/events/cpuhp.h`): one step of taking a CPU offline or
//!   bringing it online. A CPU that goes offline passes through the steps downwards, to a lower target.
//!   `CPUHP_AP_ACTIVE`, the step that lets the scheduler use the CPU, is right below the last step, `CPUHP_ONLINE`
//!   (`include/linux/cpuhotplug.h`): it is the first on the way down and, with the target `CPUHP_ONLINE`, the last on
//!   the way up. Drivers that are set up later run steps of CPUs that stay online, with the same target. These steps
//!   are lower, and their end shows that their CPU is above them. A failed step down is undone.
//! - `sched_cpu_hotplug` (Android kernels up to 4.x): a CPU went offline or came online, or failed to (`error`).
//! - `sched_isolate` (the same kernels, from Qualcomm, MediaTek and HiSilicon): a request to isolate a CPU or to end
//!   its isolation. Requests are counted, so only the mask of isolated CPUs shows the result. The mask has 32 bits.
//!
//! Before the first of these events, it is unknown whether a CPU was parked. They are not read from perf recordings:
//! perf records nothing more of a CPU that was offline (observed on Linux 6.18), so the CPU would appear parked to the
//! end.

use crate::tracepoint::table::{FieldValues, Meaning, Reader, Tracepoint, field};
use model::EventKind;

/// Not read from perf (see above), nor from CTF: CTF does not state whether its recorder continues on a CPU that comes
/// back.
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
                EventKind::Sample
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
            out.add(if online { parking(v, false) } else { EventKind::Sample })
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
        meaning: Meaning::Of(|v, out| {
            out.add(if int(v, 2) == 0 { parking(v, int(v, 1) == 0) } else { EventKind::Sample })
        }),
        ..PARKING
    },
    Tracepoint {
        name: "sched_isolate",
        numbers: &[field("requested_cpu"), field("isolated_cpus")],
        printed: &["{}cpu={requested_cpu}{}cpus={isolated_cpus}"],
        meaning: Meaning::Of(|v, out| {
            let (cpu, isolated) = (v.cpu(0).0, int(v, 1));
            out.add(if cpu < 32 { parking(v, isolated >> cpu & 1 != 0) } else { EventKind::Sample })
        }),
        ..PARKING
    },
];

/// Reads 32 bits, so that sums and differences of numbers that no kernel writes cannot overflow.
fn int(v: &FieldValues<'_>, at: usize) -> i64 {
    i64::from(v.number(at) as u32 as i32)
}

fn parking(v: &FieldValues<'_>, parked: bool) -> EventKind {
    EventKind::Parking { of: v.cpu(0), parked }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::tracepoint::{Arguments, Names, Place};
    use model::{Batch, CpuId, Ns, StackId, Tid};

    fn read(name: &str, args: &str) -> Option<EventKind> {
        let place = Place { at: Ns(5), current: Tid(3), stack: StackId::NONE };
        let mut arguments = Arguments::new(Reader::FtraceText);
        arguments.decode(name.as_bytes(), args.as_bytes(), place, &mut Names::new(), &mut Batch::default()).ok()
    }

    /// Texts as each tracepoint's `print fmt` writes them.
    #[test]
    fn printed_events_are_read() {
        let parked = |of, parked| EventKind::Parking { of: CpuId(of), parked };
        for (name, args, expected) in [
            ("cpuhp_enter", "cpu: 0001 target:   0 step: 238 (sched_cpu_deactivate)", parked(1, true)),
            ("cpuhp_enter", "cpu: 0001 target: 239 step:   5 (smpcfd_prepare_cpu)", EventKind::Sample),
            ("cpuhp_enter", "cpu: 0001 target: 239 step: 238 (sched_cpu_activate)", parked(1, false)),
            ("cpuhp_exit", " cpu: 0001  state: 237 step: 238 ret: -16", parked(1, false)),
            ("cpuhp_exit", " cpu: 0001  state: 237 step: 238 ret: 0", EventKind::Sample),
            ("cpuhp_exit", " cpu: 0001  state: 40 step: 40 ret: -12", EventKind::Sample),
            ("cpuhp_exit", " cpu: 0001  state:  82 step:  82 ret: 0", EventKind::Sample),
            ("cpuhp_exit", " cpu: 0001  state: 239 step:  54 ret: 0", parked(1, false)),
            ("sched_cpu_hotplug", "cpu 3 offline error=0", parked(3, true)),
            ("sched_cpu_hotplug", "cpu 3 online error=0", parked(3, false)),
            ("sched_cpu_hotplug", "cpu 3 offline error=-16", EventKind::Sample),
            ("sched_isolate", "iso cpu=6 cpus=0x60 time=12 us isolated=1", parked(6, true)),
            ("sched_isolate", "iso cpu=6 cpus=0x20 time=12 us isolated=0", parked(6, false)),
        ] {
            assert_eq!(read(name, args), Some(expected), "{name}: {args}");
        }
    }

    /// From a recording of Linux 6.18. Writing to `cpu1/online` took the CPU away at the second line and returned it at
    /// the last but one. The first line is from the recorder's own buffers.
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
                EventKind::Parking { of: CpuId(1), parked: true } => '(',
                EventKind::Parking { of: CpuId(1), parked: false } => ')',
                _ => '.',
            }
        };
        assert_eq!(lines.lines().map(what).collect::<String>(), ")((...(...))");
    }

    #[test]
    fn incomplete_texts_are_rejected_and_extreme_numbers_are_read() {
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
