//! Rare events and snapshot rows, as the model's events; names get their numbers here.

use super::callchains::Callchains;
use super::frame;
use crate::wire::{self, Bytes, Row};
use model::{
    BlockOperation, BlockRequest, CpuId, Device, Donor, Event, InheritedPriority, Mark, MarkEdge, NameId, Ns, Pid,
    Prio, Seen, SeenState, StackId, Switch, Tid, Wake, WakeKind, What,
};
use std::collections::{HashMap, HashSet};

/// The texts of the stream.
#[derive(Default)]
pub struct Names {
    ids: HashMap<Box<str>, NameId>,
    /// Not yet handed out.
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

/// What must be known of a thread to tell what its children inherit and its process shares.
#[derive(Clone, Copy)]
struct Known {
    pid: i32,
    mask: NameId,
}

/// Cgroups of which it is kept what they are set to; with more, some are told again.
const MOST_CGROUPS: usize = 1 << 16;

/// What the reader knows while it reads: bounded by the threads and texts of the recording.
#[derive(Default)]
pub struct Telling {
    pub names: Names,
    pub callchains: Callchains,
    threads: HashMap<i32, Known>,
    /// Threads that have ended: what they wrote to trace_marker before may stand behind that, up to the next mark.
    ended: HashSet<i32>,
    paths: HashMap<u64, NameId>,
    irqs: HashMap<i32, NameId>,
    /// Of timers' functions, by the lower half of their addresses.
    functions: HashMap<i32, NameId>,
    /// What each cgroup was last set to.
    limits: HashMap<u64, What>,
    /// Of marked calls: their name, and whether they are stretches.
    marks: HashMap<u32, (NameId, bool)>,
}

/// As bpf/block.h has it; the kernel numbers operations (`REQ_OP_READ`, …) in the order of [`BlockOperation::ALL`].
const BLOCK_REQUEST: u8 = 26;

/// As bpf/rare.h has it. Older spools have [`wire::PRIORITY`] in its place.
const INHERIT: u8 = 27;

/// What `enum ipi` of bpf/wire.h numbers.
const IPIS: [&str; 2] = ["reschedule", "call_function"];

/// The number of what has neither an interrupt number nor a softirq vector.
const UNNUMBERED: i32 = -1;

const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

impl Telling {
    /// A cgroup's path is this.
    pub fn path(&mut self, id: u64, path: &str) {
        let name = self.names.id(path);
        self.paths.insert(id, name);
    }

    /// An interrupt's name is this.
    pub fn irq(&mut self, number: i32, name: &str) {
        let name = self.names.id(name);
        self.irqs.insert(number, name);
    }

    /// The marks of a number are called this; a `stretch` has an end.
    pub fn mark(&mut self, number: u32, stretch: bool, name: &str) {
        let name = self.names.id(name);
        self.marks.insert(number, (name, stretch));
    }

    /// Everything that the threads told so far did stands before here.
    pub fn settle(&mut self) {
        for tid in self.ended.drain() {
            self.threads.remove(&tid);
        }
    }

    /// Puts in what an event of a block does not carry.
    pub fn complete(&mut self, event: &mut Event) {
        if let What::Irq { kind, number, name: name @ NameId(0), .. } = &mut event.what {
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
        }
    }

    /// Tells a rare event; `false` where it makes no sense.
    pub fn rare(&mut self, bytes: &[u8], offset: u64, out: &mut impl FnMut(Event)) -> bool {
        let mut b = Bytes::new(bytes);
        let head = wire::rare_head(&mut b);
        let (at, cpu, tid) = (head.at, CpuId(u32::from(head.cpu)), Tid(head.tid));
        let mut tell_at = |at, what| out(Event { at, offset, cpu, current: Tid::UNKNOWN, what });
        let mut tell = |what| tell_at(at, what);
        match head.of {
            wire::FORK => {
                let (parent, pid, inner_tid, inner_pid) = (b.i32(), b.i32(), b.i32(), b.i32());
                let (prio, policy, nice, level) = (b.i32(), b.i32(), b.i32(), b.i32());
                let cgroup = b.u64();
                let name = self.names.id(&b.text(16));
                let mask = self.threads.get(&parent).map_or(NameId::NONE, |t| t.mask);
                self.ended.remove(&head.tid);
                self.threads.insert(head.tid, Known { pid, mask });
                tell(What::Fork { parent: Tid(parent), tid, pid: Pid(pid), name });
                tell(priority(tid, prio, policy, nice));
                if mask != NameId::NONE {
                    tell(What::Affinity { tid, cpus: mask });
                }
                tell(self.cgroup(tid, cgroup));
                if level > 0 {
                    tell(What::Inner { tid, inner_tid: Tid(inner_tid), inner_pid: Pid(inner_pid) });
                }
            }
            wire::EXEC => {
                let (pid, old) = (b.i32(), b.i32());
                let file = self.names.id(&b.text(256));
                if old != head.tid {
                    self.ended.insert(old);
                }
                tell(What::Exec { tid, pid: Pid(pid), file });
            }
            wire::EXIT => {
                let pid = b.i32();
                self.ended.insert(head.tid);
                tell(What::Exit { tid, pid: Pid(pid) });
            }
            wire::RENAME => {
                let (pid, _) = (b.i32(), b.u32());
                let name = self.names.id(&b.text(16));
                tell(What::Name { tid, pid: Pid(pid), name });
            }
            wire::PRIORITY => {
                let (prio, policy, nice, attr) = (b.i32(), b.i32(), b.i32(), b.u32());
                tell(priority(tid, prio, policy, nice));
                if let Some(set) = sched_attr(tid, attr) {
                    tell(set);
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
                tell(What::Inherit { tid, priority: InheritedPriority { donor, old_prio, prio } });
                if let Some(set) = sched_attr(tid, attr) {
                    tell(set);
                }
            }
            wire::AFFINITY | wire::MASK_SEEN => {
                let cpus = self.names.id(&wire::cpu_list(&wire::mask(&mut b)));
                let since = if head.of == wire::MASK_SEEN { b.ns() } else { Ns::ZERO };
                // Between the two looks nobody knows it.
                if since > Ns::ZERO && b.whole {
                    tell_at(since, What::Affinity { tid, cpus: NameId::NONE });
                }
                if let Some(known) = self.threads.get_mut(&head.tid) {
                    known.mask = cpus;
                }
                tell_at(at, What::Affinity { tid, cpus });
            }
            wire::CGROUP => {
                let (pid, whole, id) = (b.i32(), b.u32() != 0, b.u64());
                let text = b.text(256);
                if !text.is_empty() {
                    self.path(id, &text);
                }
                // The kernel tells of a whole process once, by its leader.
                let mut moved: Vec<i32> = vec![head.tid];
                if whole {
                    let moves = |t: i32, k: &Known| k.pid == pid && t != head.tid && !self.ended.contains(&t);
                    moved.extend(self.threads.iter().filter(|(t, k)| moves(**t, k)).map(|(t, _)| *t));
                    moved.sort_unstable();
                }
                for thread in moved {
                    tell(self.cgroup(Tid(thread), id));
                }
            }
            wire::HELD | wire::LET_GO => tell(What::Throttle { tid: Some(tid), begins: head.of == wire::HELD }),
            wire::PARKED | wire::UNPARKED => {
                tell(What::Parking { of: CpuId(b.u32()), parked: head.of == wire::PARKED });
            }
            wire::FUNCTION => {
                let (of, _) = (b.i32(), b.u32());
                let name = self.names.id(&b.text(64));
                self.functions.insert(of, name);
            }
            BLOCK_REQUEST => {
                let (sector, device, bytes) = (b.u64(), Device(b.u32()), u64::from(b.u32()));
                let (operation, done) = (b.u32() as usize, b.u32() != 0);
                let operation = BlockOperation::ALL.get(operation).copied().unwrap_or(BlockOperation::Other);
                let tid = if tid.0 > 0 { tid } else { Tid::UNKNOWN };
                tell(What::Block { tid, request: BlockRequest { device, sector, bytes, operation, done } });
            }
            wire::CURRENT => tell(What::Current { tid }),
            // Its waking went untold; the kernel's note of its queueing comes right after one.
            wire::WOKEN_UNSEEN => tell(What::Wake(Wake {
                tid,
                name: NameId::NONE,
                kind: WakeKind::Waking,
                target: None,
                waker: Tid::UNKNOWN,
                prio: Prio::UNKNOWN,
                stamp: at,
            })),
            wire::SWITCHED => {
                let (prev, code) = (Tid(b.i32()), b.u32());
                let (prev_prio, next_prio, exec) = (b.i32(), b.i32(), b.ns());
                let (letter, out, number) = wire::state(u8::try_from(code).unwrap_or(u8::MAX));
                tell(What::Switch(Switch {
                    prev,
                    next: tid,
                    prev_name: NameId::NONE,
                    next_name: NameId::NONE,
                    prev_state: number,
                    prev_prio: i16::try_from(prev_prio).ok().into(),
                    next_prio: i16::try_from(next_prio).ok().into(),
                    out,
                    letter,
                    stack: StackId::NONE,
                    prev_exec: Some(exec).filter(|exec| *exec != Ns::MAX).into(),
                }));
            }
            wire::MARKER => {
                let text = b.rest();
                let pid = self.threads.get(&head.tid).map_or(Pid::UNKNOWN, |known| Pid(known.pid));
                let names = &mut self.names;
                let mut id = |text: &[u8]| names.id(&String::from_utf8_lossy(text));
                // Anything that is not in the known words is a moment of that text.
                tell(ftrace::marker(text, tid, pid, &mut id).unwrap_or_else(|| {
                    let name = id(text.trim_ascii());
                    What::Mark(Mark { tid, pid, track: 0, name, edge: MarkEdge::Instant })
                }));
            }
            wire::ENTERED | wire::RETURNED => {
                let (pid, number) = (Pid(b.i32()), b.u32());
                let Some((name, stretch)) = self.marks.get(&number).copied() else { return false };
                let edge = match (stretch, head.of) {
                    (false, _) => MarkEdge::Instant,
                    (true, wire::ENTERED) => MarkEdge::Begin,
                    (true, _) => MarkEdge::End,
                };
                // A track of its own: functions nest in themselves, but not in what the program marks by itself.
                tell(What::Mark(Mark { tid, pid, track: i64::from(number) + 1, name, edge }));
            }
            _ => return false,
        }
        b.whole
    }

    /// Tells a frame of cgroups' settings, where they are other than before, or of their statistics; `false` where it makes no
    /// sense.
    pub fn cgroups(&mut self, payload: &[u8], offset: u64, out: &mut impl FnMut(Event)) -> bool {
        let mut b = Bytes::new(payload);
        let (kind, at) = (b.u8(), b.ns());
        let mut tell = |what| out(Event { at, offset, cpu: CpuId(0), current: Tid::UNKNOWN, what });
        if kind == frame::CGROUP_STAT {
            while b.whole && !b.rest().is_empty() {
                let (id, periods, throttled, time) = (b.u64(), b.ns().0, b.ns().0, b.ns());
                tell(What::CgroupStat { id, periods, throttled, time });
            }
            return b.whole;
        }
        let (id, quota, period) = (b.u64(), b.ns(), u32::try_from(b.u64()).unwrap_or(u32::MAX));
        let (weight, listed) = (b.u16(), b.u16());
        let cpus = self.names.id(&b.text(listed.into()));
        let path = self.names.id(&String::from_utf8_lossy(b.rest()));
        let quota = Some(quota).filter(|quota| *quota != Ns::MAX).into();
        let weight = Some(weight).filter(|weight| *weight > 0);
        let limits = What::CgroupLimits { id, path, quota, period, weight, cpus };
        // Each segment tells them anew.
        if self.limits.len() >= MOST_CGROUPS {
            self.limits.clear();
        }
        if b.whole && self.limits.insert(id, limits) != Some(limits) {
            tell(limits);
        }
        b.whole
    }

    fn cgroup(&self, tid: Tid, id: u64) -> What {
        What::Cgroup { tid, id, path: self.paths.get(&id).copied().unwrap_or_default() }
    }

    /// Takes note of a snapshot's row and, if `out` is wanted, tells it.
    pub fn row(&mut self, row: &Row, offset: u64, out: Option<&mut dyn FnMut(Event)>) {
        let mask = self.names.id(&wire::cpu_list(&row.mask));
        self.threads.insert(row.tid, Known { pid: row.pid, mask });
        let Some(out) = out else { return };
        let (tid, pid, cpu) = (Tid(row.tid), Pid(row.pid), CpuId(u32::from(row.cpu)));
        let name = self.names.id(&row.comm);
        let mut tell = |what| out(Event { at: row.at, offset, cpu, current: Tid::UNKNOWN, what });
        let (state, letter) = seen(row);
        tell(What::Name { tid, pid, name });
        let exec = Some(row.exec).filter(|exec| *exec != Ns::MAX).into();
        tell(What::Seen(Seen { tid, pid, name, state, letter, cpu, exec }));
        tell(priority(tid, row.prio, row.policy, row.nice));
        if let Some(set) = sched_attr(tid, row.attr) {
            tell(set);
        }
        tell(What::Affinity { tid, cpus: mask });
        tell(self.cgroup(tid, row.cgroup));
        if row.level > 0 {
            tell(What::Inner { tid, inner_tid: Tid(row.inner_tid), inner_pid: Pid(row.inner_pid) });
        }
    }
}

fn priority(tid: Tid, prio: i32, policy: i32, nice: i32) -> What {
    let policy = i8::try_from(policy).ok().filter(|policy| *policy >= 0);
    let nice = i8::try_from(nice).ok();
    What::Priority { tid, prio: i16::try_from(prio).ok().into(), policy, nice }
}

fn sched_attr(tid: Tid, word: u32) -> Option<What> {
    let (prio, uclamp_min, uclamp_max) = wire::attr(word)?;
    Some(What::SchedAttr { tid, prio, uclamp_min, uclamp_max })
}

/// What a row's thread did, and its state's letter.
fn seen(row: &Row) -> (SeenState, u8) {
    let (letter, class, _) = wire::state(wire::state_code(row.state, row.exit_state));
    if class == model::SwitchOut::Exited {
        (SeenState::Exited, letter)
    } else if row.on_cpu {
        (SeenState::Running, b'R')
    } else if row.state == 0 || row.state & 0x200 != 0 {
        // Runnable, or being woken at this instant.
        (SeenState::Ready, b'R')
    } else if row.on_rq != 0 && !row.delayed {
        // Preempted on its way to sleep: it still has a turn.
        (SeenState::Ready, b'R')
    } else {
        (SeenState::Blocked, letter)
    }
}
