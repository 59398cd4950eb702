//! What an event of a name tells, from its fields: LTTng's names, and the kernel's, which perf keeps (`sched:sched_switch`).

use super::compile::Found;
use super::program::{Slot, text};
use super::ust;
use crate::tracepoint::{Names, States, waker};
use model::{Batch, CpuId, Event, IrqKind, Mark, MarkEdge, Ns, Pid, StackId, Switch, Tid, Wake, WakeKind, What};

/// Fields of events and contexts that anything is made of.
const FIELDS: &[&str] = &[
    "common_flags",
    "prev_comm",
    "prev_tid",
    "prev_pid",
    "prev_prio",
    "prev_state",
    "next_comm",
    "next_tid",
    "next_pid",
    "next_prio",
    "comm",
    "tid",
    "pid",
    "prio",
    "target_cpu",
    "cpu",
    "orig_cpu",
    "dest_cpu",
    "runtime",
    "state",
    "cpu_id",
    "parent_tid",
    "parent_pid",
    "child_tid",
    "child_pid",
    "child_comm",
    "filename",
    "newprio",
    "irq",
    "vec",
    "name",
];
/// What stands beside an event's own fields: LTTng's contexts, and what perf writes into each event.
const BESIDE: &[&str] = &["tid", "pid", "procname", "vtid", "vpid"];
const OF_PERF: &[&str] = &["perf_tid", "perf_pid", "perf_cpu"];

/// Whether a field of this part of an event of this name is read.
pub(super) fn wants(event: &str, part: &str, field: &str) -> bool {
    match part {
        "fields" => OF_PERF.contains(&field) || tells(event) && FIELDS.contains(&field) || ust::is_text(event, field),
        _ => BESIDE.contains(&field),
    }
}

/// The kernel's name of an event, without the subsystem that perf puts before it, as LTTng and perf both know it.
fn kernel_name(event: &str) -> &str {
    match event.rsplit_once(':').map_or(event, |(_, name)| name) {
        "irq_softirq_entry" => "softirq_entry",
        "irq_softirq_exit" => "softirq_exit",
        "power_cpu_idle" => "cpu_idle",
        "power_cpu_frequency" => "cpu_frequency",
        "syscall_entry_sched_yield" => "sys_enter_sched_yield",
        "syscall_exit_sched_yield" => "sys_exit_sched_yield",
        name => name,
    }
}

/// Whether an event of this name tells anything beyond its time.
fn tells(event: &str) -> bool {
    Kind::of(event, &|_| Some(0), 0).is_some()
}

/// Whether it is a record that perf writes beside the events of CPUs (`perf data convert --all`): it does not show that the
/// recording ran, and what was there before has the time 0.
pub(super) fn is_side_band(event: &str) -> bool {
    matches!(event, "perf_comm" | "perf_fork" | "perf_exit" | "perf_mmap" | "perf_mmap2")
}

/// Whether these events have one of this kernel name.
pub(super) fn has<'n>(mut events: impl Iterator<Item = &'n str>, name: &str) -> bool {
    events.any(|e| kernel_name(e) == name)
}

/// What an event is, with the slots of the fields that are read.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Switch {
        prev_comm: Slot,
        prev: Slot,
        prev_prio: Slot,
        state: Slot,
        next_comm: Slot,
        next: Slot,
        next_prio: Slot,
        nice: i64,
    },
    Wake {
        kind: WakeKind,
        comm: Slot,
        tid: Slot,
        prio: Slot,
        target: Option<Slot>,
        /// perf keeps the kernel's `common_flags`.
        flags: Option<Slot>,
        nice: i64,
    },
    Migrate {
        tid: Slot,
        from: Slot,
        to: Slot,
    },
    Charge {
        tid: Slot,
        ns: Slot,
    },
    Idle {
        state: Slot,
    },
    Frequency {
        khz: Slot,
        cpu: Slot,
    },
    Fork {
        parent: Slot,
        tid: Slot,
        pid: Option<Slot>,
        comm: Option<Slot>,
    },
    Exec {
        tid: Slot,
        file: Option<Slot>,
    },
    Exit {
        tid: Slot,
    },
    Priority {
        tid: Slot,
        prio: Slot,
        nice: i64,
    },
    Irq {
        kind: IrqKind,
        begins: bool,
        number: Slot,
        name: Option<Slot>,
    },
    /// A row of a list of the threads that there are, or perf's word of one.
    Named {
        tid: Slot,
        pid: Slot,
        name: Option<Slot>,
    },
    /// Of who is current.
    Yield {
        begins: bool,
    },
    /// What a program marked: a text, or else the event's name.
    Mark {
        name: Box<str>,
        text: Option<Slot>,
        tid: Option<Slot>,
        pid: Option<Slot>,
    },
}

impl Kind {
    /// `nice` is what is added to a priority to have the kernel's: LTTng counts from nice 0's 20 below the kernel's 120.
    pub(super) fn of(event: &str, field: &dyn Fn(&str) -> Option<Slot>, nice: i64) -> Option<Self> {
        let f = field;
        let tid = || f("tid").or_else(|| f("pid"));
        let wake = |kind| {
            let target = f("target_cpu").or_else(|| f("cpu"));
            Some(Self::Wake {
                kind,
                comm: f("comm")?,
                tid: tid()?,
                prio: f("prio")?,
                target,
                flags: f("common_flags"),
                nice,
            })
        };
        let irq = |kind, begins, number: &str, name| Some(Self::Irq { kind, begins, number: f(number)?, name });
        match kernel_name(event) {
            "sched_switch" => Some(Self::Switch {
                prev_comm: f("prev_comm")?,
                prev: f("prev_tid").or_else(|| f("prev_pid"))?,
                prev_prio: f("prev_prio")?,
                state: f("prev_state")?,
                next_comm: f("next_comm")?,
                next: f("next_tid").or_else(|| f("next_pid"))?,
                next_prio: f("next_prio")?,
                nice,
            }),
            "sched_waking" => wake(WakeKind::Waking),
            "sched_wakeup" => wake(WakeKind::Wakeup),
            "sched_wakeup_new" => wake(WakeKind::New),
            "sched_migrate_task" => Some(Self::Migrate { tid: tid()?, from: f("orig_cpu")?, to: f("dest_cpu")? }),
            "sched_stat_runtime" => Some(Self::Charge { tid: tid()?, ns: f("runtime")? }),
            "cpu_idle" => Some(Self::Idle { state: f("state")? }),
            "cpu_frequency" => Some(Self::Frequency { khz: f("state")?, cpu: f("cpu_id")? }),
            "sched_process_fork" => {
                let of_lttng = f("child_tid");
                let pid = of_lttng.and_then(|_| f("child_pid"));
                let parent = f("parent_tid").or_else(|| f("parent_pid"))?;
                Some(Self::Fork { parent, tid: of_lttng.or_else(|| f("child_pid"))?, pid, comm: f("child_comm") })
            }
            "sched_process_exec" => Some(Self::Exec { tid: tid()?, file: f("filename") }),
            "sched_process_exit" => Some(Self::Exit { tid: tid()? }),
            "sched_pi_setprio" => Some(Self::Priority { tid: tid()?, prio: f("newprio")?, nice }),
            "sys_enter_sched_yield" => Some(Self::Yield { begins: true }),
            "sys_exit_sched_yield" => Some(Self::Yield { begins: false }),
            "irq_handler_entry" => irq(IrqKind::Hard, true, "irq", f("name")),
            "irq_handler_exit" => irq(IrqKind::Hard, false, "irq", None),
            "softirq_entry" => irq(IrqKind::Soft, true, "vec", None),
            "softirq_exit" => irq(IrqKind::Soft, false, "vec", None),
            "lttng_statedump_process_state" => Some(Self::Named { tid: f("tid")?, pid: f("pid")?, name: f("name") }),
            "perf_comm" => Some(Self::Named { tid: f("tid")?, pid: f("pid")?, name: f("comm") }),
            "perf_fork" => Some(Self::Named { tid: f("tid")?, pid: f("pid")?, name: None }),
            _ => None,
        }
    }
}

/// The slot of a field of a part.
pub(super) fn slot(found: &[Found], scope: &str, name: &str) -> Option<Slot> {
    found.iter().find(|f| f.scope == scope && f.name == name).map(|f| f.slot)
}

/// A record just read.
pub(super) struct Record<'r> {
    pub(super) bytes: &'r [u8],
    pub(super) values: &'r [u64],
    pub(super) at: Ns,
    /// The task that was current.
    pub(super) current: Tid,
}

impl Record<'_> {
    #[inline]
    pub(super) fn value(&self, slot: Slot) -> u64 {
        self.values.get(slot).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn tid(&self, slot: Slot) -> Tid {
        Tid(self.value(slot) as i32)
    }

    #[inline]
    fn cpu(&self, slot: Slot) -> CpuId {
        CpuId(self.value(slot) as u32)
    }

    #[inline]
    fn prio(&self, slot: Slot, nice: i64) -> i16 {
        (self.value(slot) as i64).saturating_add(nice) as i16
    }

    pub(super) fn text(&self, slot: Slot) -> &[u8] {
        let text = text(self.bytes, self.value(slot));
        text.split(|b| *b == 0).next().unwrap_or(text)
    }

    /// The number of a thread's name.
    #[inline]
    pub(super) fn comm(&self, tid: Tid, slot: Slot, names: &mut Names, out: &mut Batch) -> model::NameId {
        let name = text(self.bytes, self.value(slot));
        if let Ok(field) = name.try_into() {
            return names.comm(tid, field, out); // the kernel's field as it is
        }
        let name = self.text(slot);
        let mut field = [0; 16];
        match field.get_mut(..name.len()) {
            Some(place) => {
                place.copy_from_slice(name);
                names.comm(tid, field, out)
            }
            None => names.id(name, out),
        }
    }

    /// Adds what happened: the event handed in with its `what`. It is made in its place, as [`crate::tracepoint::Decoder`] does it.
    #[inline]
    pub(super) fn add(&self, kind: &Kind, event: Event, states: &States, names: &mut Names, out: &mut Batch) {
        let what = match *kind {
            Kind::Switch { prev_comm, prev, prev_prio, state, next_comm, next, next_prio, nice } => {
                let (prev, next, number) = (self.tid(prev), self.tid(next), self.value(state));
                let (switched_out, letter) = states.meaning(number);
                let switch = Switch {
                    prev,
                    next,
                    prev_name: self.comm(prev, prev_comm, names, out),
                    next_name: self.comm(next, next_comm, names, out),
                    stack: StackId::NONE,
                    prev_state: number as u32,
                    prev_prio: self.prio(prev_prio, nice),
                    next_prio: self.prio(next_prio, nice),
                    out: switched_out,
                    letter,
                    prev_exec: Ns::MIN,
                };
                return out.events.push(Event { what: What::Switch(switch), ..event });
            }
            Kind::Wake { kind, comm, tid, prio, target, flags, nice } => {
                let tid = self.tid(tid);
                let wake = Wake {
                    tid,
                    name: self.comm(tid, comm, names, out),
                    kind,
                    target: target.map(|slot| self.cpu(slot)),
                    waker: waker(flags.map_or(0, |slot| self.value(slot)), self.current),
                    prio: self.prio(prio, nice),
                    stamp: self.at,
                };
                return out.events.push(Event { what: What::Wake(wake), ..event });
            }
            // The others are not many.
            Kind::Migrate { tid, from, to } => {
                What::Migrate { tid: self.tid(tid), from: self.cpu(from), to: self.cpu(to) }
            }
            Kind::Charge { tid, ns } => What::Charge { tid: self.tid(tid), ns: Ns(self.value(ns) as i64) },
            // The kernel's "leaving" is (u32)-1; the CPU meant is the one it is written on.
            Kind::Idle { state } => What::Idle { state: self.value(state) as i32 },
            Kind::Frequency { khz, cpu } => What::Frequency { of: self.cpu(cpu), khz: self.value(khz) as u32 },
            Kind::Fork { parent, tid, pid, comm } => {
                let (parent, tid) = (self.tid(parent), self.tid(tid));
                let name = comm.map(|slot| self.comm(tid, slot, names, out)).unwrap_or_default();
                let pid = pid.map_or(Pid::UNKNOWN, |slot| Pid(self.value(slot) as i32));
                What::Fork { parent, tid, pid, name }
            }
            Kind::Exec { tid, file } => {
                let tid = self.tid(tid);
                let file = file.map(|slot| names.id(self.text(slot), out)).unwrap_or_default();
                // An exec leaves the process with its first thread, whose number is the process's.
                What::Exec { tid, pid: Pid(tid.0), file }
            }
            Kind::Exit { tid } => What::Exit { tid: self.tid(tid), pid: Pid::UNKNOWN },
            Kind::Priority { tid, prio, nice } => {
                What::Priority { tid: self.tid(tid), prio: self.prio(prio, nice), policy: -1, nice: i8::MIN }
            }
            Kind::Yield { begins } => What::Yield { tid: event.current, begins },
            Kind::Irq { kind, begins, number, name } => What::Irq {
                kind,
                number: self.value(number) as i32,
                begins,
                name: name.map(|slot| names.id(self.text(slot), out)).unwrap_or_default(),
            },
            Kind::Named { tid, pid, name } => {
                let tid = self.tid(tid);
                let name = name.map(|slot| self.comm(tid, slot, names, out)).unwrap_or_default();
                What::Name { tid, pid: Pid(self.value(pid) as i32), name }
            }
            Kind::Mark { ref name, text, tid, pid } => {
                let said = text.map(|slot| self.text(slot)).filter(|text| !text.is_empty());
                let said = said.unwrap_or(name.as_bytes());
                What::Mark(Mark {
                    tid: tid.map_or(Tid::UNKNOWN, |slot| self.tid(slot)),
                    pid: pid.map_or(Pid::UNKNOWN, |slot| Pid(self.value(slot) as i32)),
                    track: 0,
                    name: names.id(&said[..said.len().min(ust::LONGEST)], out),
                    edge: MarkEdge::Instant,
                })
            }
        };
        out.events.push(Event { what, ..event });
    }
}
