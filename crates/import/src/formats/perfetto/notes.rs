//! The data that `corewise export --to perfetto` adds to the kernel's events, so that a trace can be read back without
//! loss. The header of `crates/export/src/formats/perfetto/mod.rs` is the specification. Other programs' traces do not
//! contain it.

use super::wire::{Fields, Malformed};
use crate::tracepoint::Names;
use ingest::{Facts, Sampled};
use model::{
    Batch, Clock, CpuId, Donor, EnergyDomain, EnergyUse, EventKind, InheritedPriority, IrqKind, LossSpan, MaybeCount,
    MaybeNs, NameId, Ns, Pid, Prio, SnapshotEntry, SnapshotState, StackId, Switch, SwitchOut, Temperature, Tid, Wake,
    WakeKind,
};
use topology::Machine;

/// The name of the instant whose annotations describe the trace.
const ABOUT: &[u8] = b"about this trace";
/// The maximum number of CPUs.
const MAX_CPUS: usize = 1 << 14;
/// The prefix of the annotations' names.
const PREFIX: &[u8] = b"corewise.";

/// The facts about a trace that corewise wrote.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    begin: Option<Ns>,
    clock: String,
    has_waking: Option<bool>,
    has_yields: bool,
    has_wakeup: Option<bool>,
    has_charges: bool,
    whole_machine: bool,
    online: Vec<CpuId>,
    recorded: Vec<CpuId>,
    cpu_count: Option<u32>,
    focus: Option<i32>,
    machine: Option<Machine>,
    sampled: Option<Sampled>,
}

impl Own {
    /// Reads a track event, if it is the one that describes the trace.
    pub(super) fn of(track_event: &[u8]) -> Result<Option<Self>, Malformed> {
        let (mut own, mut is_about, mut found) = (Self::default(), false, false);
        let mut fields = Fields::of(track_event);
        while let Some((field, value)) = fields.next()? {
            match field {
                4 => found |= own.annotation(value.bytes())?,
                23 => is_about = value.bytes() == ABOUT,
                _ => {}
            }
        }
        Ok((is_about && found).then_some(own))
    }

    fn annotation(&mut self, message: &[u8]) -> Result<bool, Malformed> {
        let (mut name, mut flag, mut number, mut text) = (&[][..], false, 0, &[][..]);
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                2 => flag = value.number() == 1,
                4 => number = value.number().cast_signed(),
                6 => text = value.bytes(),
                10 => name = value.bytes(),
                _ => {}
            }
        }
        let Some(name) = name.strip_prefix(PREFIX) else { return Ok(false) };
        match name {
            b"begin" => self.begin = Some(Ns(number)),
            b"clock" => self.clock = String::from_utf8_lossy(text).into_owned(),
            b"has_waking" => self.has_waking = Some(flag),
            b"has_wakeup" => self.has_wakeup = Some(flag),
            b"has_charges" => self.has_charges = flag,
            b"has_yields" => self.has_yields = flag,
            b"whole_machine" => self.whole_machine = flag,
            b"focus" => self.focus = i32::try_from(number).ok(),
            b"machine" => self.machine = serde_json::from_slice(text).ok(),
            b"sampled" => self.sampled = serde_json::from_slice(text).ok(),
            b"online" => self.online = cpus(text),
            b"recorded" => self.recorded = cpus(text),
            b"cpu_count" => self.cpu_count = u32::try_from(number).ok(),
            _ => {}
        }
        Ok(true)
    }

    /// Replaces the facts that are derived from the format alone.
    pub(super) fn apply(self, facts: &mut Facts) {
        (facts.begin, facts.clock, facts.focus) = (self.begin, self.clock, self.focus);
        (facts.has_waking, facts.has_wakeup) = (self.has_waking, self.has_wakeup);
        (facts.has_charges, facts.whole_machine) = (self.has_charges, self.whole_machine);
        facts.has_yields = self.has_yields;
        (facts.online, facts.recorded, facts.cpu_count) = (self.online, self.recorded, self.cpu_count);
        facts.machine = self.machine.or(facts.machine.take());
        facts.sampled = self.sampled;
    }
}

/// Reads CPU numbers with commas.
fn cpus(text: &[u8]) -> Vec<CpuId> {
    let text = String::from_utf8_lossy(text);
    text.split(',').filter_map(|number| number.parse().ok()).map(CpuId).take(MAX_CPUS).collect()
}

/// A generic kernel event (`ftrace/generic.proto`) with corewise's data.
#[derive(Clone, Copy)]
pub(super) struct Note<'a>(&'a [u8]);

/// The value of a field.
enum FieldValue<'a> {
    Int(i64),
    Text(&'a [u8]),
}

impl<'a> Note<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    pub(super) fn name(self) -> &'a [u8] {
        let mut fields = Fields::of(self.0);
        while let Ok(Some((field, value))) = fields.next() {
            if field == 1 {
                return value.bytes();
            }
        }
        &[]
    }

    fn field(self, wanted: &str) -> Option<FieldValue<'a>> {
        let mut fields = Fields::of(self.0);
        while let Ok(Some((field, value))) = fields.next() {
            let (mut name, mut found) = (&[][..], None);
            let mut inner = Fields::of(if field == 2 { value.bytes() } else { &[] });
            while let Ok(Some((field, value))) = inner.next() {
                match field {
                    1 => name = value.bytes(),
                    3 => found = Some(FieldValue::Text(value.bytes())),
                    4 => found = Some(FieldValue::Int(value.number().cast_signed())),
                    _ => {}
                }
            }
            if name == wanted.as_bytes() {
                return found;
            }
        }
        None
    }

    fn int(self, name: &str) -> Option<i64> {
        if let FieldValue::Int(v) = self.field(name)? { Some(v) } else { None }
    }

    fn text(self, name: &str) -> Option<&'a [u8]> {
        if let FieldValue::Text(v) = self.field(name)? { Some(v) } else { None }
    }

    fn state_letter(self) -> u8 {
        let former = || self.text("letter"); // former name
        self.text("state_letter").or_else(former).and_then(|l| l.first().copied()).unwrap_or(b'?')
    }

    fn out(self) -> Option<SwitchOut> {
        Some(match self.text("out")? {
            b"runnable" => SwitchOut::Runnable,
            b"preempted" => SwitchOut::Preempted,
            b"preempted_to_user" => SwitchOut::PreemptedToUser,
            b"yielded" => SwitchOut::Yielded,
            b"throttled" => SwitchOut::Throttled,
            b"gave_way" => SwitchOut::GaveWay,
            b"blocked" => SwitchOut::Blocked,
            b"exited" => SwitchOut::Exited,
            _ => SwitchOut::NotRecorded,
        })
    }

    pub(super) fn tid(self, name: &str) -> Tid {
        self.int(name).and_then(|v| i32::try_from(v).ok()).map_or(Tid::UNKNOWN, Tid)
    }

    pub(super) fn pid(self, name: &str) -> Pid {
        Pid(self.tid(name).0)
    }

    fn cpu(self, name: &str) -> Option<CpuId> {
        self.int(name).and_then(|v| u32::try_from(v).ok()).map(CpuId)
    }

    fn prio(self, name: &str) -> Prio {
        self.int(name).and_then(|v| i16::try_from(v).ok()).into()
    }

    fn ns(self, name: &str, absent: Ns) -> Ns {
        self.int(name).map_or(absent, Ns)
    }

    fn exec_time(self) -> MaybeNs {
        self.int("exec").map(Ns).into()
    }

    /// Whether the switch after it is for display only.
    pub(super) fn display_only(self) -> bool {
        self.int("shown") == Some(1)
    }

    /// Completes the switch after it.
    pub(super) fn amend(self, switch: &mut Switch) {
        switch.prev_exec = self.exec_time();
        if let Some(state) = self.int("state") {
            switch.prev_state = state as u32;
        }
        if let Some(out) = self.out() {
            (switch.out, switch.state_letter) = (out, self.state_letter());
        }
        if self.int("prev") == Some(-1) {
            (switch.prev, switch.prev_name) = (Tid::UNKNOWN, NameId::NONE);
        }
        if self.int("next") == Some(-1) {
            (switch.next, switch.next_name) = (Tid::UNKNOWN, NameId::NONE);
        }
    }

    fn switch_without_cpu(self) -> Switch {
        Switch {
            prev: self.tid("prev"),
            next: self.tid("next"),
            prev_name: NameId::NONE,
            next_name: NameId::NONE,
            stack: StackId::NONE,
            prev_state: self.int("state").unwrap_or(0) as u32,
            prev_prio: self.prio("prev_prio"),
            next_prio: self.prio("next_prio"),
            out: self.out().unwrap_or(SwitchOut::NotRecorded),
            state_letter: self.state_letter(),
            prev_exec: self.exec_time(),
        }
    }

    fn snapshot(self, names: &mut Names, out: &mut Batch) -> SnapshotEntry {
        SnapshotEntry {
            tid: self.tid("pid"),
            pid: self.pid("tgid"),
            name: self.text("name").map_or(NameId::NONE, |n| names.id(n, out)),
            state: match self.text("state") {
                Some(b"running") => SnapshotState::Running,
                Some(b"ready") => SnapshotState::Ready,
                Some(b"exited") => SnapshotState::Exited,
                _ => SnapshotState::Blocked,
            },
            state_letter: self.state_letter(),
            cpu: self.cpu("cpu").unwrap_or(CpuId::UNKNOWN),
            exec: self.exec_time(),
        }
    }

    /// Returns the event of a note that is not about another event.
    pub(super) fn event(self, names: &mut Names, out: &mut Batch) -> EventKind {
        let tid = || self.tid("pid");
        match self.name() {
            b"corewise_switch_nowhere" => EventKind::Switch(self.switch_without_cpu()),
            b"corewise_woken" => EventKind::Wake(Wake {
                tid: tid(),
                name: NameId::NONE,
                kind: WakeKind::WakeupAtSwitchIn,
                target: self.cpu("target_cpu"),
                waker: self.tid("waker"),
                prio: self.prio("prio"),
                stamp: self.ns("stamp", Ns::MIN),
            }),
            b"corewise_seen" => EventKind::Snapshot(self.snapshot(names, out)),
            b"corewise_current" => EventKind::Current { tid: tid() },
            b"corewise_charge" => EventKind::Charge { tid: tid(), ns: self.ns("ns", Ns::ZERO) },
            b"corewise_priority" => EventKind::Priority {
                tid: tid(),
                prio: self.prio("prio"),
                policy: self.int("policy").and_then(|v| i8::try_from(v).ok()).filter(|policy| *policy != -1),
                nice: self.int("nice").and_then(|v| i8::try_from(v).ok()).filter(|nice| *nice != i8::MIN),
            },
            b"corewise_inherit" => EventKind::Inherit {
                tid: tid(),
                priority: InheritedPriority {
                    donor: match self.int("donor") {
                        None => Donor::NotRecorded,
                        Some(0) => Donor::None,
                        Some(_) => Donor::Thread(self.tid("donor")),
                    },
                    old_prio: self.prio("old_prio"),
                    prio: self.prio("prio"),
                },
            },
            b"corewise_affinity" => {
                let cpus = self.text("cpus").map_or(NameId::NONE, |n| names.id(n, out));
                EventKind::Affinity { tid: tid(), cpus }
            }
            b"corewise_cgroup" => {
                let path = self.text("path").filter(|p| !p.is_empty()).map_or(NameId::NONE, |n| names.id(n, out));
                EventKind::Cgroup { tid: tid(), id: self.int("id").unwrap_or(0).cast_unsigned(), path }
            }
            b"corewise_cgroup_limits" => {
                let mut name = |field| {
                    let value = self.text(field).filter(|t| !t.is_empty());
                    value.map_or(NameId::NONE, |text| names.id(text, out))
                };
                EventKind::CgroupLimits {
                    id: self.int("id").unwrap_or(0).cast_unsigned(),
                    path: name("path"),
                    cpus: name("cpus"),
                    quota: self.int("quota").map(Ns).filter(|quota| *quota != Ns::MAX).into(),
                    period: self.int("period").and_then(|p| u32::try_from(p).ok()).unwrap_or(0),
                    weight: self.int("weight").and_then(|w| u16::try_from(w).ok()).filter(|weight| *weight > 0),
                }
            }
            b"corewise_cgroup_stat" => EventKind::CgroupStat {
                id: self.int("id").unwrap_or(0).cast_unsigned(),
                periods: self.int("periods").unwrap_or(0),
                throttled: self.int("throttled").unwrap_or(0),
                time: self.ns("time", Ns::ZERO),
            },
            b"corewise_yield" => EventKind::Yield { tid: tid(), begins: self.int("begins") == Some(1) },
            b"corewise_throttle" => EventKind::Throttle {
                tid: Some(tid()).filter(|tid| *tid != Tid::IDLE),
                begins: self.int("begins") == Some(1),
            },
            b"corewise_sched_attr" => {
                let clamp = |field| self.int(field).and_then(|v| u16::try_from(v).ok());
                let prio = self.prio("prio");
                EventKind::SchedAttr {
                    tid: tid(),
                    prio,
                    uclamp_min: clamp("uclamp_min"),
                    uclamp_max: clamp("uclamp_max"),
                }
            }
            b"corewise_ideal_cpu" => EventKind::IdealCpu { tid: tid(), cpu: self.cpu("cpu") },
            b"corewise_interrupt" => EventKind::Irq {
                kind: if self.text("kind") == Some(b"timer") { IrqKind::Timer } else { IrqKind::Ipi },
                number: -1,
                begins: self.int("begins") == Some(1),
                name: self.text("name").map_or(NameId::NONE, |n| names.id(n, out)),
            },
            b"corewise_parking" => EventKind::Parking {
                of: self.cpu("cpu_id").unwrap_or(CpuId::UNKNOWN),
                parked: self.int("parked") == Some(1),
            },
            b"corewise_inner" => {
                EventKind::Inner { tid: tid(), inner_tid: self.tid("inner_tid"), inner_pid: self.pid("inner_pid") }
            }
            b"corewise_count" => {
                let length = self.ns("length", Ns::ZERO).max(Ns::ZERO);
                EventKind::Count {
                    tid: tid(),
                    event: self.text("event").map_or(NameId::NONE, |name| names.id(name, out)),
                    length,
                    count: self.int("count").unwrap_or(0),
                    running: self.ns("running", Ns::ZERO).clamp(Ns::ZERO, length),
                }
            }
            b"corewise_energy_domain" => {
                let mut name = |field| {
                    let value = self.text(field).filter(|t| !t.is_empty());
                    value.map_or(NameId::NONE, |text| names.id(text, out))
                };
                EventKind::EnergyDomain(EnergyDomain {
                    domain: name("domain"),
                    part: name("part"),
                    parent: name("parent"),
                    same_as: name("same_as"),
                    source: name("source"),
                    from_power: self.int("from_power") == Some(1),
                    update: self.int("update").filter(|update| *update >= 0).map(Ns).into(),
                })
            }
            b"corewise_energy" => {
                let mut name = |field| {
                    let value = self.text(field).filter(|t| !t.is_empty());
                    value.map_or(NameId::NONE, |text| names.id(text, out))
                };
                EventKind::Energy(EnergyUse {
                    domain: name("domain"),
                    unknown: name("unknown"),
                    length: self.ns("length", Ns::ZERO).max(Ns::ZERO),
                    nj: self.int("nj").map_or(MaybeCount::UNKNOWN, MaybeCount::new),
                    spread_nj: self.int("spread_nj").unwrap_or(0).max(0),
                })
            }
            b"corewise_temperature" => EventKind::Temperature(Temperature {
                zone: self.text("zone").map_or(NameId::NONE, |zone| names.id(zone, out)),
                millicelsius: self.int("mc").and_then(|mc| i32::try_from(mc).ok()).unwrap_or(i32::MIN),
            }),
            b"corewise_steal" => EventKind::Steal { total: self.ns("total", Ns::ZERO) },
            b"corewise_clock" => {
                let which = match self.text("which") {
                    Some(b"monotonic") => Clock::Monotonic,
                    Some(b"boottime") => Clock::Boottime,
                    Some(b"realtime") => Clock::Realtime,
                    Some(b"tsc") => Clock::Tsc,
                    _ => Clock::Perf,
                };
                EventKind::Clock { which, reading: self.int("reading").unwrap_or(0) }
            }
            b"corewise_loss" => EventKind::Loss(LossSpan {
                from: self.int("from").map(Ns).into(),
                to: self.int("to").map(Ns).into(),
                cpu: self.cpu("cpu"),
                events: self.int("events").map_or(MaybeCount::UNKNOWN, MaybeCount::new),
            }),
            _ => EventKind::Sample,
        }
    }
}
