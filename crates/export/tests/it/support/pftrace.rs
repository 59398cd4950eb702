//! An independent reader of the Perfetto exporter's files, written from the documentation in its header, not from its code.

use ingest::Facts;
use model::{
    Batch, Clock, CoreType, CpuId, Donor, Event, EventKind, InheritedPriority, IrqKind, LossSpan, MaybeCount, NameId,
    Ns, Pid, Prio, SnapshotEntry, SnapshotState, StackId, Switch, SwitchOut, Tid, Wake, WakeKind,
};
use std::collections::HashMap;

/// The value of a field.
#[derive(Clone, Copy, Debug)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// A message and its fields.
#[derive(Clone, Copy)]
struct Message<'a>(&'a [u8]);

impl<'a> Message<'a> {
    fn fields(self) -> Vec<(u32, Field<'a>)> {
        let (mut rest, mut all) = (self.0, Vec::new());
        while !rest.is_empty() {
            let tag = varint(&mut rest);
            let value = match tag & 7 {
                0 => Field::Number(varint(&mut rest)),
                1 => Field::Bytes(rest.split_off(..8).expect("eight bytes")),
                2 => {
                    let length = varint(&mut rest) as usize;
                    Field::Bytes(rest.split_off(..length).expect("a message within this one"))
                }
                wire => panic!("wire type {wire}"),
            };
            all.push(((tag >> 3) as u32, value));
        }
        all
    }

    fn all(self, field: u32) -> Vec<Message<'a>> {
        let message = |(n, v)| match v {
            Field::Bytes(b) if n == field => Some(Message(b)),
            _ => None,
        };
        self.fields().into_iter().filter_map(message).collect()
    }

    fn message(self, field: u32) -> Option<Message<'a>> {
        self.all(field).into_iter().next()
    }

    fn int(self, field: u32) -> Option<i64> {
        self.fields().into_iter().find_map(|(n, v)| match v {
            Field::Number(v) if n == field => Some(v.cast_signed()),
            _ => None,
        })
    }

    fn text(self, field: u32) -> Option<&'a str> {
        self.message(field).map(|m| std::str::from_utf8(m.0).expect("a text"))
    }
}

fn varint(rest: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *rest.split_off_first().expect("a varint");
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    panic!("a varint of more than ten bytes");
}

/// The note on a switch.
type Note<'a> = HashMap<&'a str, FieldValue<'a>>;

#[derive(Clone, Copy, Debug)]
enum FieldValue<'a> {
    Int(i64),
    Text(&'a str),
}

/// A trace read back.
#[derive(Default)]
pub struct Read {
    pub facts: Facts,
    pub batch: Batch,
    ids: HashMap<String, u32>,
}

/// Reads a file.
pub fn read(file: &[u8]) -> Read {
    let mut to = Read::default();
    for packet in Message(file).all(1) {
        if let Some(bundle) = packet.message(1) {
            to.bundle(bundle);
        } else if let Some(track_event) = packet.message(11) {
            to.about(track_event);
        } else if let Some(tree) = packet.message(2) {
            to.tree(packet.int(8).expect("a timestamp"), tree);
        } else if let Some(sample) = packet.message(66) {
            to.sample(packet.int(8).expect("a timestamp"), sample);
        }
    }
    to
}

fn number(note: &Note<'_>, name: &str) -> Option<i64> {
    note.get(name).map(|t| if let FieldValue::Int(v) = t { *v } else { panic!("{name} is not a number") })
}

fn words<'a>(note: &Note<'a>, name: &str) -> Option<&'a str> {
    note.get(name).map(|t| if let FieldValue::Text(v) = t { *v } else { panic!("{name} is not a text") })
}

fn tid(v: i64) -> Tid {
    Tid(v as i32)
}

impl Read {
    fn id(&mut self, name: Option<&str>) -> NameId {
        let Some(name) = name else { return NameId::NONE };
        let next = self.ids.len() as u32 + 1;
        let id = *self.ids.entry(name.to_owned()).or_insert(next);
        if id == next {
            self.batch.names.push(name.into());
        }
        NameId(id)
    }

    fn about(&mut self, event: Message<'_>) {
        for note in event.all(4) {
            let Some(name) = note.text(10).and_then(|n| n.strip_prefix("corewise.")) else { continue };
            let (facts, yes) = (&mut self.facts, note.int(2) == Some(1));
            match name {
                "version" => assert_eq!(note.int(4), Some(1)),
                "clock" => facts.clock = note.text(6).expect("a text").to_owned(),
                "begin" => facts.begin = note.int(4).map(Ns),
                "has_waking" => facts.has_waking = Some(yes),
                "has_wakeup" => facts.has_wakeup = Some(yes),
                "has_charges" => facts.has_charges = yes,
                "has_yields" => facts.has_yields = yes,
                "whole_machine" => facts.whole_machine = yes,
                "online" | "recorded" => {
                    let ids = note.text(6).expect("a text").split(',').filter(|w| !w.is_empty());
                    let ids = ids.map(|id| CpuId(id.parse().expect("a CPU's number"))).collect();
                    *(if name == "online" { &mut facts.online } else { &mut facts.recorded }) = ids;
                }
                "cpu_count" => facts.cpu_count = note.int(4).map(|count| count as u32),
                "machine" => facts.machine = serde_json::from_str(note.text(6).expect("a text")).ok(),
                "focus" => facts.focus = note.int(4).map(|v| v as i32),
                "sampled" => facts.sampled = serde_json::from_str(note.text(6).expect("a text")).ok(),
                "range" => {}
                other => panic!("unknown annotation {other}"),
            }
        }
    }

    fn tree(&mut self, at: i64, tree: Message<'_>) {
        for thread in tree.all(2) {
            let name = self.id(thread.text(2));
            let pid = thread.int(3).map_or(Pid::UNKNOWN, |p| Pid(p as i32));
            let what = EventKind::Name { tid: tid(thread.int(1).expect("a tid")), pid, name };
            self.batch.events.push(Event { at: Ns(at), offset: 0, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what });
        }
    }

    /// A sample without its callchain.
    fn sample(&mut self, at: i64, sample: Message<'_>) {
        let cpu = sample.int(1).map_or(CpuId::UNKNOWN, |c| CpuId(c as u32));
        let tid = tid(sample.int(3).expect("a tid"));
        let what = EventKind::CpuSample { tid, stack: StackId::NONE, name: NameId::NONE, core: CoreType::Uniform };
        self.batch.events.push(Event { at: Ns(at), offset: 0, cpu, current: tid, what });
    }

    fn bundle(&mut self, bundle: Message<'_>) {
        let cpu = bundle.int(1).map_or(CpuId::UNKNOWN, |c| CpuId(c as u32));
        let mut note = Note::new();
        let mut process = Pid::UNKNOWN;
        for event in bundle.all(2) {
            let at = Ns(event.int(1).expect("a timestamp"));
            let waker = event.int(2).map_or(Tid::UNKNOWN, tid);
            for (kind, body) in event.fields() {
                let Field::Bytes(body) = body else { continue };
                let body = Message(body);
                if kind == 327 {
                    let fields = body.all(2).into_iter().map(|f| {
                        let value =
                            f.int(4).map_or_else(|| FieldValue::Text(f.text(3).expect("a value")), FieldValue::Int);
                        (f.text(1).expect("a name"), value)
                    });
                    let fields: Note<'_> = fields.collect();
                    match body.text(1).expect("a name") {
                        "corewise_switch" => note = fields,
                        "corewise_process" => process = Pid(number(&fields, "tgid").expect("tgid") as i32),
                        "corewise_named" => {
                            let current = tid(number(&fields, "pid").expect("pid"));
                            self.batch.events.push(Event { at, offset: 0, cpu, current, what: EventKind::Sample });
                        }
                        name => {
                            let what = self.noted(name, at, &fields);
                            self.batch.events.push(Event { at, offset: 0, cpu, current: Tid::UNKNOWN, what });
                        }
                    }
                    continue;
                }
                let note = if kind == 4 { std::mem::take(&mut note) } else { Note::new() };
                if let Some(what) = self.native(kind, at, waker, body, &note, &mut process) {
                    self.batch.events.push(Event { at, offset: 0, cpu, current: Tid::UNKNOWN, what });
                }
            }
        }
    }

    fn native(
        &mut self,
        kind: u32,
        at: Ns,
        waker: Tid,
        body: Message<'_>,
        note: &Note<'_>,
        process: &mut Pid,
    ) -> Option<EventKind> {
        let prio = |field| Prio::from(body.int(field).map(|p| p as i16));
        Some(match kind {
            4 if number(note, "shown") == Some(1) => return None,
            4 => {
                let state = body.int(4).expect("prev_state") as u32;
                let (out, state_letter) = match words(note, "out") {
                    Some(out) => {
                        (out_of(out), words(note, "state_letter").expect("a state letter").bytes().next().unwrap())
                    }
                    None => out_of_number(state),
                };
                EventKind::Switch(Switch {
                    prev: number(note, "prev").map_or_else(|| tid(body.int(2).expect("prev_pid")), tid),
                    next: number(note, "next").map_or_else(|| tid(body.int(6).expect("next_pid")), tid),
                    prev_name: self.id(body.text(1)),
                    next_name: self.id(body.text(5)),
                    stack: StackId::NONE,
                    prev_state: number(note, "state").map_or(state, |s| s as u32),
                    prev_prio: prio(3),
                    next_prio: prio(7),
                    out,
                    state_letter,
                    prev_exec: number(note, "exec").map(Ns).into(),
                })
            }
            17 | 20 | 114 => EventKind::Wake(Wake {
                tid: tid(body.int(2).expect("pid")),
                name: self.id(body.text(1)),
                kind: match kind {
                    17 => WakeKind::Wakeup,
                    20 => WakeKind::Waking,
                    _ => WakeKind::New,
                },
                target: body.int(5).map(|c| CpuId(c as u32)),
                waker,
                prio: prio(3),
                stamp: at,
            }),
            491 => EventKind::Migrate {
                tid: tid(body.int(2)?),
                from: CpuId(body.int(4)? as u32),
                to: CpuId(body.int(5)? as u32),
            },
            13 => EventKind::Idle { state: body.int(1)? as u32 as i32 },
            11 => EventKind::Frequency { of: CpuId(body.int(2)? as u32), khz: body.int(1)? as u32 },
            24 | 25 | 36 | 37 => EventKind::Irq {
                kind: if kind < 30 { IrqKind::Soft } else { IrqKind::Hard },
                number: body.int(1)? as i32,
                begins: matches!(kind, 24 | 36),
                name: if kind == 36 { self.id(body.text(2)) } else { NameId::NONE },
            },
            235 => {
                let pid = std::mem::replace(process, Pid::UNKNOWN);
                EventKind::Fork { parent: waker, tid: tid(body.int(1)?), pid, name: self.id(body.text(2)) }
            }
            237 => {
                EventKind::Exec { tid: tid(body.int(2)?), pid: Pid(body.int(3)? as i32), file: self.id(body.text(1)) }
            }
            238 => EventKind::Exit { tid: tid(body.int(2)?), pid: body.int(3).map_or(Pid::UNKNOWN, |p| Pid(p as i32)) },
            239 => return None,      // task_newtask reports the fork
            45 | 125 => return None, // requests to block devices change no state
            3 => return None,        // marks change no state
            other => panic!("unknown event {other}"),
        })
    }

    fn noted(&mut self, name: &str, at: Ns, note: &Note<'_>) -> EventKind {
        let int = |name: &str| number(note, name);
        let pid = || tid(int("pid").expect("pid"));
        match name {
            "corewise_switch_nowhere" => EventKind::Switch(Switch {
                prev: tid(int("prev").unwrap()),
                next: tid(int("next").unwrap()),
                prev_name: NameId::NONE,
                next_name: NameId::NONE,
                stack: StackId::NONE,
                prev_state: int("state").unwrap() as u32,
                prev_prio: int("prev_prio").map_or(Prio::UNKNOWN, |p| Prio::new(p as i16)),
                next_prio: int("next_prio").map_or(Prio::UNKNOWN, |p| Prio::new(p as i16)),
                out: out_of(words(note, "out").unwrap()),
                state_letter: words(note, "state_letter").unwrap().bytes().next().unwrap(),
                prev_exec: int("exec").map(Ns).into(),
            }),
            "corewise_woken" => EventKind::Wake(Wake {
                tid: pid(),
                name: NameId::NONE,
                kind: WakeKind::WakeupAtSwitchIn,
                target: int("target_cpu").map(|c| CpuId(c as u32)),
                waker: int("waker").map_or(Tid::UNKNOWN, tid),
                prio: int("prio").map_or(Prio::UNKNOWN, |p| Prio::new(p as i16)),
                stamp: Ns(int("stamp").expect("stamp")),
            }),
            "corewise_seen" => EventKind::Snapshot(SnapshotEntry {
                tid: pid(),
                pid: int("tgid").map_or(Pid::UNKNOWN, |p| Pid(p as i32)),
                name: self.id(words(note, "name")),
                state: match words(note, "state").expect("a state") {
                    "running" => SnapshotState::Running,
                    "ready" => SnapshotState::Ready,
                    "blocked" => SnapshotState::Blocked,
                    _ => SnapshotState::Exited,
                },
                state_letter: words(note, "state_letter").and_then(|l| l.bytes().next()).expect("a state letter"),
                cpu: int("cpu").map_or(CpuId::UNKNOWN, |c| CpuId(c as u32)),
                exec: int("exec").map(Ns).into(),
            }),
            "corewise_current" => EventKind::Current { tid: pid() },
            "corewise_charge" => EventKind::Charge { tid: pid(), ns: Ns(int("ns").unwrap()) },
            "corewise_priority" => EventKind::Priority {
                tid: pid(),
                prio: Prio::new(int("prio").unwrap() as i16),
                policy: int("policy").filter(|p| *p != -1).map(|p| p as i8),
                nice: int("nice").filter(|n| *n != i64::from(i8::MIN)).map(|n| n as i8),
            },
            "corewise_inherit" => EventKind::Inherit {
                tid: pid(),
                priority: InheritedPriority {
                    donor: match int("donor") {
                        None => Donor::NotRecorded,
                        Some(0) => Donor::None,
                        Some(tid) => Donor::Thread(Tid(tid as i32)),
                    },
                    old_prio: Prio::new(int("old_prio").unwrap() as i16),
                    prio: Prio::new(int("prio").unwrap() as i16),
                },
            },
            "corewise_affinity" => EventKind::Affinity { tid: pid(), cpus: self.id(words(note, "cpus")) },
            "corewise_cgroup" => {
                let path = self.id(words(note, "path").filter(|p| !p.is_empty()));
                EventKind::Cgroup { tid: pid(), id: int("id").unwrap().cast_unsigned(), path }
            }
            "corewise_cgroup_limits" => EventKind::CgroupLimits {
                id: int("id").unwrap().cast_unsigned(),
                path: self.id(words(note, "path").filter(|p| !p.is_empty())),
                quota: Some(Ns(int("quota").unwrap())).filter(|q| *q != Ns::MAX).into(),
                period: u32::try_from(int("period").unwrap()).unwrap(),
                weight: int("weight").filter(|w| *w != 0).map(|w| w as u16),
                cpus: self.id(words(note, "cpus").filter(|c| !c.is_empty())),
            },
            "corewise_cgroup_stat" => EventKind::CgroupStat {
                id: int("id").unwrap().cast_unsigned(),
                periods: int("periods").unwrap(),
                throttled: int("throttled").unwrap(),
                time: Ns(int("time").unwrap()),
            },
            "corewise_yield" => EventKind::Yield { tid: pid(), begins: int("begins") == Some(1) },
            "corewise_throttle" => EventKind::Throttle {
                tid: Some(pid()).filter(|tid| *tid != Tid::IDLE),
                begins: int("begins") == Some(1),
            },
            "corewise_sched_attr" => EventKind::SchedAttr {
                tid: pid(),
                prio: Prio::new(int("prio").unwrap() as i16),
                uclamp_min: u16::try_from(int("uclamp_min").unwrap()).ok(),
                uclamp_max: u16::try_from(int("uclamp_max").unwrap()).ok(),
            },
            "corewise_ideal_cpu" => {
                let cpu = int("cpu").and_then(|c| u32::try_from(c).ok()).map(CpuId);
                EventKind::IdealCpu { tid: pid(), cpu }
            }
            "corewise_interrupt" => {
                EventKind::Irq { kind: IrqKind::Ipi, number: -1, begins: int("begins") == Some(1), name: NameId::NONE }
            }
            "corewise_parking" => EventKind::Parking {
                of: CpuId(u32::try_from(int("cpu_id").unwrap()).unwrap()),
                parked: int("parked") == Some(1),
            },
            "corewise_inner" => EventKind::Inner {
                tid: pid(),
                inner_tid: tid(int("inner_tid").unwrap()),
                inner_pid: Pid(int("inner_pid").unwrap() as i32),
            },
            "corewise_steal" => EventKind::Steal { total: Ns(int("total").unwrap()) },
            "corewise_clock" => EventKind::Clock { which: Clock::Perf, reading: int("reading").unwrap() },
            "corewise_loss" => EventKind::Loss(LossSpan {
                from: int("from").map(Ns).into(),
                to: int("to").map(Ns).into(),
                cpu: int("cpu").map(|c| CpuId(c as u32)),
                events: MaybeCount::new(int("events").unwrap()),
            }),
            "corewise_sample" => EventKind::Sample,
            other => panic!("unknown note {other} at {at:?}"),
        }
    }
}

fn out_of(word: &str) -> SwitchOut {
    match word {
        "runnable" => SwitchOut::Runnable,
        "preempted" => SwitchOut::Preempted,
        "preempted_to_user" => SwitchOut::PreemptedToUser,
        "yielded" => SwitchOut::Yielded,
        "throttled" => SwitchOut::Throttled,
        "gave_way" => SwitchOut::GaveWay,
        "blocked" => SwitchOut::Blocked,
        "exited" => SwitchOut::Exited,
        _ => SwitchOut::NotRecorded,
    }
}

/// Maps state numbers as Linux defines them since 4.14.
fn out_of_number(state: u32) -> (SwitchOut, u8) {
    match state {
        0 => (SwitchOut::Runnable, b'R'),
        256 => (SwitchOut::Preempted, b'R'),
        16 => (SwitchOut::Exited, b'X'),
        32 => (SwitchOut::Exited, b'Z'),
        1 => (SwitchOut::Blocked, b'S'),
        2 => (SwitchOut::Blocked, b'D'),
        4 => (SwitchOut::Blocked, b'T'),
        8 => (SwitchOut::Blocked, b't'),
        64 => (SwitchOut::Blocked, b'P'),
        128 => (SwitchOut::Blocked, b'I'),
        other => panic!("state {other}"),
    }
}

/// The names of the written events, and of their fields from 1 on.
const EVENTS: &[(u32, &str, &[&str])] = &[
    (3, "print", &["ip", "buf"]),
    (4, "sched_switch", &["prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"]),
    (11, "cpu_frequency", &["state", "cpu_id"]),
    (13, "cpu_idle", &["state", "cpu_id"]),
    (17, "sched_wakeup", &["comm", "pid", "prio", "success", "target_cpu"]),
    (20, "sched_waking", &["comm", "pid", "prio", "success", "target_cpu"]),
    (114, "sched_wakeup_new", &["comm", "pid", "prio", "success", "target_cpu"]),
    (491, "sched_migrate_task", &["comm", "pid", "prio", "orig_cpu", "dest_cpu"]),
];

/// Formats a file as text: one packet per line, the events of a bundle indented.
pub fn show(file: &[u8]) -> String {
    let mut text = String::new();
    for packet in Message(file).all(1) {
        if let Some(bundle) = packet.message(1) {
            text += &bundle.int(1).map_or_else(|| "no cpu\n".to_owned(), |cpu| format!("cpu {cpu}\n"));
            bundle.all(2).into_iter().for_each(|e| text += &show_event(e));
            continue;
        }
        let at = packet.int(8).map(|t| format!(" at {t}")).unwrap_or_default();
        for (field, value) in packet.fields() {
            let Field::Bytes(body) = value else { continue };
            let body = Message(body);
            text += &match field {
                2 => format!("process_tree{at}{}{}\n", show_tree(body, 1, "process"), show_tree(body, 2, "thread")),
                6 => format!("clock_snapshot{at} primary={}\n", body.int(2).unwrap_or(-1)),
                11 => show_track_event(&at, body),
                45 => format!("system_info release={}\n", body.message(1).and_then(|u| u.text(3)).unwrap_or_default()),
                60 => format!("track {:x} {:?}\n", body.int(1).unwrap_or(0), body.text(2).unwrap_or_default()),
                other => format!("packet {other}{at}\n"),
            };
        }
    }
    text
}

fn show_tree(tree: Message<'_>, field: u32, word: &str) -> String {
    let one = |m: Message<'_>| {
        let name = if field == 1 { m.text(3) } else { m.text(2) };
        format!(" {word}={}:{}", m.int(1).unwrap_or(-1), name.unwrap_or_default())
    };
    tree.all(field).into_iter().map(one).collect()
}

fn show_track_event(at: &str, event: Message<'_>) -> String {
    let kind = ["", "begin", "end", "instant", "value"][event.int(9).unwrap_or(0) as usize];
    let mut text =
        format!("{kind}{at} track {:x} {}\n", event.int(11).unwrap_or(0), event.text(23).unwrap_or_default());
    for note in event.all(4) {
        let name = note.text(10).unwrap_or_default();
        let numbers = note.int(2).map(|b| (b == 1).to_string()).or_else(|| note.int(4).map(|v| v.to_string()));
        let value = numbers.or_else(|| note.text(6).map(|t| format!("{t:?}"))).unwrap_or_default();
        // The machine description is long and has its own tests.
        let value = if name == "corewise.machine" { "{…}".to_owned() } else { value };
        text += &format!("  {name}={value}\n");
    }
    text
}

fn show_event(event: Message<'_>) -> String {
    let mut text = format!("  {}", event.int(1).unwrap_or(-1));
    if let Some(pid) = event.int(2) {
        text += &format!(" pid={pid}");
    }
    for (kind, body) in event.fields() {
        let Field::Bytes(body) = body else { continue };
        let body = Message(body);
        if kind == 327 {
            text += &format!(" {}", body.text(1).unwrap_or_default());
            for field in body.all(2) {
                let value =
                    field.int(4).map_or_else(|| field.text(3).unwrap_or_default().to_owned(), |v| v.to_string());
                text += &format!(" {}={value}", field.text(1).unwrap_or_default());
            }
            continue;
        }
        let Some((_, name, fields)) = EVENTS.iter().find(|e| e.0 == kind) else {
            text += &format!(" event {kind}");
            continue;
        };
        text += &format!(" {name}");
        for (number, value) in body.fields() {
            let value = match value {
                Field::Number(v) => v.to_string(),
                Field::Bytes(b) => String::from_utf8_lossy(b).trim_end().to_owned(),
            };
            text += &format!(" {}={value}", fields[number as usize - 1]);
        }
    }
    text + "\n"
}
