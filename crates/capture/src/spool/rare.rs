//! Decodes rare events and snapshot rows to the model's events, and assigns ids to names.

use super::callchains::{Callchains, call_name};
use super::energy::Energy;
use super::frame;
use super::only_focus::OnlyFocus;
use crate::objects::Objects;
use crate::wire::{self, Bytes, Row};
use model::{
    BlockOperation, BlockRequest, CoreType, CpuId, Device, Donor, Event, EventKind, InheritedPriority, Mark, MarkEdge,
    NameId, Ns, Pid, Prio, SnapshotEntry, SnapshotState, StackId, Switch, Tid, Wake, WakeKind,
};
use std::collections::{HashMap, HashSet};

/// The texts of the stream and their ids.
#[derive(Default)]
pub struct Names {
    ids: HashMap<Box<str>, NameId>,
    /// New texts that have not been handed out.
    pub fresh: Vec<Box<str>>,
}

impl Names {
    pub fn id(&mut self, text: &str) -> NameId {
        if text.is_empty() {
            return NameId::NONE;
        }
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = NameId(self.ids.len() as u32 + 1);
        self.ids.insert(text.into(), id);
        self.fresh.push(text.into());
        id
    }
}

/// What is known of a thread: needed for what its children inherit and for moves of a whole process.
#[derive(Clone, Copy)]
struct Known {
    pid: i32,
    mask: NameId,
}

/// Maximum number of cgroups whose settings are remembered; with more, some settings are reported again.
const MAX_CGROUPS: usize = 1 << 16;

/// Decodes records, and keeps the state that this needs. The threads and texts of the recording limit its size.
#[derive(Default)]
pub struct Decoder {
    pub names: Names,
    pub callchains: Callchains,
    threads: HashMap<i32, Known>,
    /// Threads that have ended. Their earlier texts to trace_marker may follow, up to the next mark.
    ended: HashSet<i32>,
    paths: HashMap<u64, NameId>,
    irqs: HashMap<i32, NameId>,
    /// Names of timers' functions, by the lower half of their addresses.
    functions: HashMap<i32, NameId>,
    /// The last settings of each cgroup.
    limits: HashMap<u64, EventKind>,
    /// Marks by number: their name, and whether they have an end.
    marks: HashMap<u32, (NameId, bool)>,
    /// Names of counted events by number.
    counters: HashMap<u32, NameId>,
    pub energy: Energy,
    /// With `--only-focus`.
    pub only_focus: Option<OnlyFocus>,
    objects: Objects,
}

/// As in bpf/block.h. The kernel numbers operations (`REQ_OP_READ`, …) in the order of [`BlockOperation::ALL`].
const BLOCK_REQUEST: u8 = 26;

/// As in bpf/rare.h. Older spools have [`wire::PRIORITY`] instead.
const INHERIT: u8 = 27;

/// Names in the order of `enum ipi` of bpf/wire.h.
const IPIS: [&str; 2] = ["reschedule", "call_function"];

/// The number of events without an interrupt number or a softirq vector.
const UNNUMBERED: i32 = -1;

const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

impl Decoder {
    /// Sets a cgroup's path.
    pub fn path(&mut self, id: u64, path: &str) {
        let name = self.names.id(path);
        self.paths.insert(id, name);
    }

    /// Sets an interrupt's name.
    pub fn irq(&mut self, number: i32, name: &str) {
        let name = self.names.id(name);
        self.irqs.insert(number, name);
    }

    /// Sets the name of a mark's number; a `stretch` has an end.
    pub fn mark(&mut self, number: u32, stretch: bool, name: &str) {
        let name = self.names.id(name);
        self.marks.insert(number, (name, stretch));
    }

    /// Sets the name of a counted event's number.
    pub fn counter(&mut self, number: u32, name: &str) {
        let name = self.names.id(name);
        self.counters.insert(number, name);
    }

    /// Forgets threads that have ended, at a mark: nothing more of them follows.
    pub fn forget_ended(&mut self) {
        for tid in self.ended.drain() {
            self.threads.remove(&tid);
        }
    }

    /// Adds the data that an event of a block does not contain. Returns `false` if they were lost, and the event says nothing without them.
    pub fn complete(&mut self, event: &mut Event) -> bool {
        if self.only_focus.as_ref().is_some_and(|only| !only.keeps(event)) {
            return false;
        }
        if let EventKind::Count { event: number, .. } = &mut event.what {
            *number = self.counters.get(&number.0).copied().unwrap_or_default();
        } else if let EventKind::WokenByCall { call, .. } = &mut event.what {
            let number = call.0.cast_signed();
            *call = if number < 0 { NameId::NONE } else { self.names.id(&call_name(number)) };
        } else if let EventKind::Irq { kind, number, name: name @ NameId(0), .. } = &mut event.what {
            let of = *number;
            let mut listed = |list: &[&str]| {
                let text = usize::try_from(of).ok().and_then(|at| list.get(at).copied());
                self.names.id(text.unwrap_or_default())
            };
            (*number, *name) = match kind {
                model::IrqKind::Hard => (of, self.irqs.get(&of).copied().unwrap_or_default()),
                model::IrqKind::Soft => (of, listed(&SOFTIRQS)),
                model::IrqKind::Timer => (UNNUMBERED, self.functions.get(&of).copied().unwrap_or_default()),
                model::IrqKind::Ipi => (UNNUMBERED, listed(&IPIS)),
            };
        } else if let EventKind::ObjectWait(wait) = &mut event.what {
            return self.objects.complete(wait);
        } else if let EventKind::ObjectReady { kind, id, name, .. } = &mut event.what {
            let Some(known) = self.objects.known(*id) else { return false };
            (*kind, *id, *name) = known;
        }
        true
    }

    /// Decodes a rare event. Returns `false` if it is invalid.
    pub fn rare(&mut self, bytes: &[u8], offset: u64, out: &mut impl FnMut(Event)) -> bool {
        let mut b = Bytes::new(bytes);
        let head = wire::rare_head(&mut b);
        let (at, cpu, tid) = (head.at, CpuId(u32::from(head.cpu)), Tid(head.tid));
        let mut emit_at = |at, what| out(Event { at, offset, cpu, current: Tid::UNKNOWN, what });
        let mut emit = |what| emit_at(at, what);
        match head.of {
            wire::FORK => {
                let (parent, pid, inner_tid, inner_pid) = (b.i32(), b.i32(), b.i32(), b.i32());
                let (prio, policy, nice, level) = (b.i32(), b.i32(), b.i32(), b.i32());
                let cgroup = b.u64();
                let name = b.text(16);
                if let Some(only) = &mut self.only_focus {
                    only.thread(head.tid, &name);
                }
                let name = self.names.id(&name);
                let mask = self.threads.get(&parent).map_or(NameId::NONE, |t| t.mask);
                self.ended.remove(&head.tid);
                self.threads.insert(head.tid, Known { pid, mask });
                emit(EventKind::Fork { parent: Tid(parent), tid, pid: Pid(pid), name });
                emit(priority(tid, prio, policy, nice));
                if mask != NameId::NONE {
                    emit(EventKind::Affinity { tid, cpus: mask });
                }
                emit(self.cgroup(tid, cgroup));
                if level > 0 {
                    emit(EventKind::Inner { tid, inner_tid: Tid(inner_tid), inner_pid: Pid(inner_pid) });
                }
            }
            wire::EXEC => {
                let (pid, old) = (b.i32(), b.i32());
                let file = self.names.id(&b.text(256));
                if old != head.tid {
                    self.ended.insert(old);
                }
                emit(EventKind::Exec { tid, pid: Pid(pid), file });
            }
            wire::EXIT => {
                let pid = b.i32();
                self.ended.insert(head.tid);
                emit(EventKind::Exit { tid, pid: Pid(pid) });
            }
            wire::RENAME => {
                let (pid, _) = (b.i32(), b.u32());
                let name = self.names.id(&b.text(16));
                emit(EventKind::Name { tid, pid: Pid(pid), name });
            }
            wire::PRIORITY => {
                let (prio, policy, nice, attr) = (b.i32(), b.i32(), b.i32(), b.u32());
                emit(priority(tid, prio, policy, nice));
                if let Some(set) = sched_attr(tid, attr) {
                    emit(set);
                }
            }
            INHERIT => {
                let [prio, old_prio] =
                    [b.i32(), b.i32()].map(|prio| i16::try_from(prio).map_or(Prio::UNKNOWN, Prio::new));
                let donor = match b.i32() {
                    0 => Donor::None,
                    donor => Donor::Thread(Tid(donor)),
                };
                let attr = b.u32();
                emit(EventKind::Inherit { tid, priority: InheritedPriority { donor, old_prio, prio } });
                if let Some(set) = sched_attr(tid, attr) {
                    emit(set);
                }
            }
            wire::AFFINITY | wire::MASK_CHANGED => {
                let cpus = self.names.id(&wire::cpu_list(&wire::mask(&mut b)));
                let since = if head.of == wire::MASK_CHANGED { b.ns() } else { Ns::ZERO };
                // Between the two times at which it was seen, the mask is unknown.
                if since > Ns::ZERO && b.complete {
                    emit_at(since, EventKind::Affinity { tid, cpus: NameId::NONE });
                }
                if let Some(known) = self.threads.get_mut(&head.tid) {
                    known.mask = cpus;
                }
                emit_at(at, EventKind::Affinity { tid, cpus });
            }
            wire::CGROUP => {
                let (pid, whole_process, id) = (b.i32(), b.u32() != 0, b.u64());
                let text = b.text(256);
                if !text.is_empty() {
                    self.path(id, &text);
                }
                // The kernel reports the move of a whole process once, with its leader.
                let mut moved: Vec<i32> = vec![head.tid];
                if whole_process {
                    let moves = |t: i32, k: &Known| k.pid == pid && t != head.tid && !self.ended.contains(&t);
                    moved.extend(self.threads.iter().filter(|(t, k)| moves(**t, k)).map(|(t, _)| *t));
                    moved.sort_unstable();
                }
                for thread in moved {
                    emit(self.cgroup(Tid(thread), id));
                }
            }
            wire::THROTTLED | wire::UNTHROTTLED => {
                emit(EventKind::Throttle { tid: Some(tid), begins: head.of == wire::THROTTLED })
            }
            wire::PARKED | wire::UNPARKED => {
                emit(EventKind::Parking { of: CpuId(b.u32()), parked: head.of == wire::PARKED });
            }
            wire::FUNCTION => {
                let (of, _) = (b.i32(), b.u32());
                let name = self.names.id(&b.text(64));
                self.functions.insert(of, name);
            }
            wire::OBJECT => {
                self.objects.add(b.rest(), &mut self.names);
                return true;
            }
            wire::CPU_SAMPLE => {
                let chain = wire::sample_chain(&mut b);
                if b.complete {
                    let stack = self.callchains.id(chain, &mut self.names);
                    emit(EventKind::CpuSample { tid, stack, name: NameId::NONE, core: CoreType::Uniform });
                }
            }
            BLOCK_REQUEST => {
                let (sector, device, bytes) = (b.u64(), Device(b.u32()), u64::from(b.u32()));
                let (operation, done) = (b.u32() as usize, b.u32() != 0);
                let operation = BlockOperation::ALL.get(operation).copied().unwrap_or(BlockOperation::Other);
                let tid = if tid.0 > 0 { tid } else { Tid::UNKNOWN };
                emit(EventKind::Block { tid, request: BlockRequest { device, sector, bytes, operation, done } });
            }
            wire::CURRENT => emit(EventKind::Current { tid }),
            // The waking was not delivered. The kernel's time of queueing follows it immediately.
            wire::MISSED_WAKING => emit(EventKind::Wake(Wake {
                tid,
                name: NameId::NONE,
                kind: WakeKind::Waking,
                target: None,
                waker: Tid::UNKNOWN,
                prio: Prio::UNKNOWN,
                stamp: at,
            })),
            wire::INFERRED_SWITCH => {
                let (prev, code) = (Tid(b.i32()), b.u32());
                let (prev_prio, next_prio, exec) = (b.i32(), b.i32(), b.ns());
                let (state_letter, out, number) = wire::state(u8::try_from(code).unwrap_or(u8::MAX));
                emit(EventKind::Switch(Switch {
                    prev,
                    next: tid,
                    prev_name: NameId::NONE,
                    next_name: NameId::NONE,
                    prev_state: number,
                    prev_prio: i16::try_from(prev_prio).ok().into(),
                    next_prio: i16::try_from(next_prio).ok().into(),
                    out,
                    state_letter,
                    stack: StackId::NONE,
                    prev_exec: Some(exec).filter(|exec| *exec != Ns::MAX).into(),
                }));
            }
            wire::MARKER => {
                let text = b.rest();
                let pid = self.threads.get(&head.tid).map_or(Pid::UNKNOWN, |known| Pid(known.pid));
                let names = &mut self.names;
                let mut id = |text: &[u8]| names.id(&String::from_utf8_lossy(text));
                // A text in an unknown format becomes an instant with that name.
                emit(ftrace::marker(text, tid, pid, &mut id).unwrap_or_else(|| {
                    let name = id(text.trim_ascii());
                    EventKind::Mark(Mark { tid, pid, track: 0, name, edge: MarkEdge::Instant })
                }));
            }
            wire::COUNTED_AT_MARK => wire::counted_at_mark(&mut b, tid, &mut |mut what| {
                if let EventKind::CountAtMark { event: number, .. } = &mut what {
                    *number = self.counters.get(&number.0).copied().unwrap_or_default();
                }
                emit(what);
            }),
            wire::ENTERED | wire::RETURNED => {
                let (pid, number) = (Pid(b.i32()), b.u32());
                let Some((name, stretch)) = self.marks.get(&number).copied() else { return false };
                let edge = match (stretch, head.of) {
                    (false, _) => MarkEdge::Instant,
                    (true, wire::ENTERED) => MarkEdge::Begin,
                    (true, _) => MarkEdge::End,
                };
                // A separate track: calls of a function nest, but not with marks that the program sets itself.
                emit(EventKind::Mark(Mark { tid, pid, track: i64::from(number) + 1, name, edge }));
            }
            _ => return false,
        }
        b.complete
    }

    /// Decodes a frame of cgroups' settings (reported if they changed) or of their statistics. Returns `false` if it is invalid.
    pub fn cgroups(&mut self, payload: &[u8], offset: u64, out: &mut impl FnMut(Event)) -> bool {
        let mut b = Bytes::new(payload);
        let (kind, at) = (b.u8(), b.ns());
        let mut emit = |what| out(Event { at, offset, cpu: CpuId(0), current: Tid::UNKNOWN, what });
        if kind == frame::CGROUP_STAT {
            while b.complete && !b.rest().is_empty() {
                let (id, periods, throttled, time) = (b.u64(), b.ns().0, b.ns().0, b.ns());
                emit(EventKind::CgroupStat { id, periods, throttled, time });
            }
            return b.complete;
        }
        let (id, quota, period) = (b.u64(), b.ns(), u32::try_from(b.u64()).unwrap_or(u32::MAX));
        let (weight, listed) = (b.u16(), b.u16());
        let cpus = self.names.id(&b.text(listed.into()));
        let path = self.names.id(&String::from_utf8_lossy(b.rest()));
        let quota = Some(quota).filter(|quota| *quota != Ns::MAX).into();
        let weight = Some(weight).filter(|weight| *weight > 0);
        let limits = EventKind::CgroupLimits { id, path, quota, period, weight, cpus };
        // Each segment repeats the settings.
        if self.limits.len() >= MAX_CGROUPS {
            self.limits.clear();
        }
        if b.complete && self.limits.insert(id, limits) != Some(limits) {
            emit(limits);
        }
        b.complete
    }

    fn cgroup(&self, tid: Tid, id: u64) -> EventKind {
        EventKind::Cgroup { tid, id, path: self.paths.get(&id).copied().unwrap_or_default() }
    }

    /// Takes note of a snapshot's row. With `out`, also reports it as events.
    pub fn row(&mut self, row: &Row, offset: u64, out: Option<&mut dyn FnMut(Event)>) {
        let mask = self.names.id(&wire::cpu_list(&row.mask));
        self.threads.insert(row.tid, Known { pid: row.pid, mask });
        if let Some(only) = &mut self.only_focus {
            only.thread(row.tid, &row.comm);
        }
        let Some(out) = out else { return };
        let (tid, pid, cpu) = (Tid(row.tid), Pid(row.pid), CpuId(u32::from(row.cpu)));
        let name = self.names.id(&row.comm);
        let mut emit = |what| out(Event { at: row.at, offset, cpu, current: Tid::UNKNOWN, what });
        let (state, state_letter) = seen(row);
        emit(EventKind::Name { tid, pid, name });
        let exec = Some(row.exec).filter(|exec| *exec != Ns::MAX).into();
        emit(EventKind::Snapshot(SnapshotEntry { tid, pid, name, state, state_letter, cpu, exec }));
        emit(priority(tid, row.prio, row.policy, row.nice));
        if let Some(set) = sched_attr(tid, row.attr) {
            emit(set);
        }
        emit(EventKind::Affinity { tid, cpus: mask });
        emit(self.cgroup(tid, row.cgroup));
        if row.level > 0 {
            emit(EventKind::Inner { tid, inner_tid: Tid(row.inner_tid), inner_pid: Pid(row.inner_pid) });
        }
        if let Some(wait) = row.waits_for {
            emit(wait);
        }
    }
}

fn priority(tid: Tid, prio: i32, policy: i32, nice: i32) -> EventKind {
    let policy = i8::try_from(policy).ok().filter(|policy| *policy >= 0);
    let nice = i8::try_from(nice).ok();
    EventKind::Priority { tid, prio: i16::try_from(prio).ok().into(), policy, nice }
}

fn sched_attr(tid: Tid, word: u32) -> Option<EventKind> {
    let (prio, uclamp_min, uclamp_max) = wire::attr(word)?;
    Some(EventKind::SchedAttr { tid, prio, uclamp_min, uclamp_max })
}

/// Returns the state of a row's thread, and its state letter.
fn seen(row: &Row) -> (SnapshotState, u8) {
    let (state_letter, class, _) = wire::state(wire::state_code(row.state, row.exit_state));
    if class == model::SwitchOut::Exited {
        (SnapshotState::Exited, state_letter)
    } else if row.on_cpu {
        (SnapshotState::Running, b'R')
    } else if row.state == 0 || row.state & 0x200 != 0 {
        // Runnable, or being woken at this instant.
        (SnapshotState::Ready, b'R')
    } else if row.on_rq != 0 && !row.delayed {
        // Preempted on its way to sleep: it is still queued.
        (SnapshotState::Ready, b'R')
    } else {
        (SnapshotState::Blocked, state_letter)
    }
}
