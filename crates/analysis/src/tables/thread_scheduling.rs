//! The scheduling settings of threads: one row for each period of constant settings.

use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, World};
use model::{NameId, Ns, Rows, SetTo, ThreadKey, ThreadState, ThreadStretch, Tid, Value};
use rustc_hash::FxHashMap;

/// The kernel's `SCHED_*` policies by number (`include/uapi/linux/sched.h`); 4 is reserved.
const POLICIES: [&str; 8] = ["other", "fifo", "rr", "batch", "", "idle", "deadline", "ext"];
/// The static priority of nice 0, to which the nice value is added.
const NICE_0: i64 = 120;

/// The settings of a thread; `None`: not recorded.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Settings {
    policy: Option<u8>,
    nice: Option<i8>,
    prio: Option<i16>,
    uclamp_min: Option<u16>,
    uclamp_max: Option<u16>,
    cgroup: Option<u64>,
}

impl Settings {
    /// Applies a change. Settings that are not in it keep their value.
    fn take(&mut self, to: &SetTo) {
        match *to {
            SetTo::Policy { policy, nice } => {
                let former = self.policy;
                self.policy = policy.and_then(|policy| u8::try_from(policy).ok()).or(former);
                self.nice = nice.or(self.nice);
                // The own priority of the old policy does not apply to the new one.
                if self.policy != former {
                    self.prio = None;
                }
            }
            SetTo::Attr { prio, uclamp_min, uclamp_max } => {
                self.prio = prio.get().or(self.prio);
                self.uclamp_min = uclamp_min.or(self.uclamp_min);
                self.uclamp_max = uclamp_max.or(self.uclamp_max);
            }
            SetTo::Cgroup { id, .. } => self.cgroup = Some(id),
            SetTo::Limits { .. } | SetTo::IdealCpu(_) | SetTo::Inner(_) => {}
        }
    }

    /// Whether the policy is other, batch or idle, where the nice value sets the priority.
    fn is_fair(&self) -> bool {
        matches!(self.policy, Some(0 | 3 | 5))
    }

    fn static_prio(&self) -> Option<i64> {
        let by_nice = self.nice.filter(|_| self.is_fair()).map(|nice| NICE_0 + i64::from(nice));
        by_nice.or(self.prio.map(i64::from))
    }
}

/// A cgroup.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Cgroup {
    path: NameId,
    weight: Option<u16>,
    /// The CPU time in a period, and the length of a period.
    quota: Option<Ns>,
    period: Option<u32>,
}

#[derive(Clone, Copy, Default)]
struct Of {
    tid: Tid,
    /// The current settings, if any are recorded, and since when.
    set: Option<(Ns, Settings)>,
    /// The previous settings, as long as the current ones may still become equal: of several changes at one instant the
    /// last counts.
    was: Option<Was>,
    /// The end of its last stretch.
    until: Ns,
    exited: bool,
}

/// A completed row.
#[derive(Clone, Copy)]
struct Was {
    thread: ThreadKey,
    tid: Tid,
    start: Ns,
    end: Ns,
    set: Settings,
    cgroup: Cgroup,
}

pub(crate) struct ThreadScheduling {
    threads: ByThread<Of>,
    cgroups: FxHashMap<u64, Cgroup>,
    over: Vec<Was>,
}

/// Whether one of two paths of the same number is in the CPU controller's own hierarchy (v1) and the other in v2: earlier
/// versions recorded the threads' groups of v2 and the settings of v1, whose numbers are unrelated.
fn are_of_two_hierarchies(one: NameId, other: NameId, world: &World) -> bool {
    let is_v1 = |path| world.name(path).map(|path| path.starts_with("cpu:"));
    is_v1(one).zip(is_v1(other)).is_some_and(|(one, other)| one != other)
}

impl Was {
    /// Returns the values that the row shows.
    fn shown(&self) -> (Settings, Option<i64>, Cgroup) {
        (Settings { prio: None, ..self.set }, self.set.static_prio(), self.cgroup)
    }
}

impl ThreadScheduling {
    /// Ends the current settings, now or at the end of the thread instance.
    fn close(&mut self, thread: ThreadKey, now: Ns) {
        let of = self.threads.of(thread);
        let now = now.min(of.until);
        if let Some((since, set)) = of.set
            && since < now
        {
            let (tid, cgroup) = (of.tid, set.cgroup.and_then(|id| self.cgroups.get(&id)).copied().unwrap_or_default());
            of.set = Some((now, set));
            let mut row = Was { thread, tid, start: since, end: now, set, cgroup };
            if let Some(was) = of.was {
                if was.end == since && was.shown() == row.shown() {
                    row.start = was.start;
                } else {
                    self.over.push(was);
                }
            }
            of.was = Some(row);
        }
    }
}

impl Analysis for ThreadScheduling {
    fn new(_: &Context<'_>) -> Self {
        Self { threads: ByThread::new(), cgroups: FxHashMap::default(), over: Vec::new() }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        let of = self.threads.of(stretch.thread);
        of.tid = stretch.tid;
        of.until = stretch.span.end;
        let exits = stretch.state == ThreadState::Exited;
        let exited = std::mem::replace(&mut of.exited, exits);
        if exits && !exited {
            self.close(stretch.thread, stretch.span.start);
        } else if exited && !exits {
            // A lossy source may record it again later.
            of.set = of.set.map(|(_, set)| (stretch.span.start, set));
        }
    }

    fn setting(&mut self, thread: ThreadKey, to: &SetTo, world: &World) {
        if let SetTo::Limits { id, path, weight, quota, period } = *to {
            let former = self.cgroups.get(&id).copied().unwrap_or_default();
            if are_of_two_hierarchies(former.path, path, world) {
                return;
            }
            let path = if path == NameId::NONE { former.path } else { path };
            let cgroup = Cgroup { path, weight, quota: quota.get(), period: Some(period) };
            if former != cgroup {
                let inside = |(key, of): (ThreadKey, &mut Of)| {
                    of.set.filter(|(_, set)| set.cgroup == Some(id) && !of.exited).map(|_| key)
                };
                let inside: Vec<ThreadKey> = self.threads.iter().filter_map(inside).collect();
                inside.into_iter().for_each(|key| self.close(key, world.now));
                self.cgroups.insert(id, cgroup);
            }
            return;
        }
        if let SetTo::Cgroup { id, path } = *to
            && path != NameId::NONE
        {
            let of = self.cgroups.entry(id).or_default();
            if are_of_two_hierarchies(of.path, path, world) {
                *of = Cgroup::default();
            }
            of.path = path;
        }
        let before = self.threads.of(thread).set;
        let mut set = before.map_or_else(Settings::default, |(_, set)| set);
        set.take(to);
        // The ideal CPU is not part of this table.
        if set == before.map_or_else(Settings::default, |(_, set)| set) {
            return;
        }
        // An exited thread has no settings until it is recorded again.
        if !self.threads.of(thread).exited {
            self.close(thread, world.now);
        }
        self.threads.of(thread).set = Some((world.now, set));
    }

    fn drain(&mut self, world: &World, out: &mut dyn Rows) {
        for was in self.over.drain(..) {
            let Was { thread, tid, start, end, set, cgroup } = was;
            let path = world.name(cgroup.path).map(str::to_owned).or(set.cgroup.map(|id| id.to_string()));
            let policy = set.policy.map(|p| match POLICIES.get(usize::from(p)).filter(|word| !word.is_empty()) {
                Some(word) => (*word).to_owned(),
                None => p.to_string(),
            });
            out.row(&[
                thread.into(),
                i64::from(tid.0).into(),
                start.into(),
                end.into(),
                policy.map_or(Value::Null, Value::Text),
                set.nice.map(i64::from).into(),
                set.static_prio().into(),
                set.uclamp_min.map(i64::from).into(),
                set.uclamp_max.map(i64::from).into(),
                path.map_or(Value::Null, Value::Text),
                cgroup.weight.map(i64::from).into(),
                cgroup.quota.map(|quota| quota.0).into(),
                cgroup.period.map(i64::from).into(),
            ]);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        let open = |(key, of): (ThreadKey, &mut Of)| (of.set.is_some() && !of.exited).then_some(key);
        let open: Vec<ThreadKey> = self.threads.iter().filter_map(open).collect();
        open.into_iter().for_each(|thread| self.close(thread, world.now));
        self.over.extend(self.threads.iter().filter_map(|(_, of)| of.was.take()));
        self.drain(world, out);
    }
}
