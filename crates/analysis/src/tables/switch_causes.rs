//! The causes of each thread's switch-outs.

use crate::by_thread::{Before, ByThread, left_to_wait};
use crate::call_site::{CallSite, CallSites};
use crate::{Analysis, Begins, Context, ReasonId, World};
use model::{
    CpuId, CpuState, CpuStretch, Ns, Reason, Rows, StackId, ThreadKey, ThreadState, ThreadStretch, Tid, Value,
};
use std::cmp::Ordering;

pub(crate) struct SwitchCauses {
    threads: ByThread<Thread>,
    /// The threads that left at one instant and can still run. Which thread came next is known when the instant is
    /// over.
    left: Vec<Left>,
    at: Ns,
}

#[derive(Clone, Default)]
struct Thread {
    before: Before,
    causes: Vec<(Cause, Sums)>,
    /// The last switch-out and how it was counted; its callchain comes later.
    last: Option<(Ns, Cause, ThreadState, Ns)>,
    /// The call site of that switch-out, if it is known by now.
    last_site: Option<CallSite>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// The thread could still run: how it left, and the thread that came next.
    Left(How, Next, ThreadKey),
    /// The state letter, 0 if unknown, and what the thread waits for, if known.
    Blocked(u8, Option<ReasonId>),
    Exited(u8),
    Unknown,
}

/// How a thread that could still run left its CPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum How {
    Preempted,
    Yielded,
    Throttled,
    GaveWay,
    NeverSlept,
    Unknown,
}

/// What came next on the CPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Higher,
    Equal,
    Lower,
    Idle,
    Unknown,
}

#[derive(Clone, Default)]
struct Sums {
    count: i64,
    ready: Ns,
    blocked: Ns,
    unknown: Ns,
    call_sites: CallSites,
}

struct Left {
    thread: ThreadKey,
    prio: Option<i16>,
    place: Option<usize>,
    how: How,
    ready: Ns,
}

impl How {
    /// Returns the cause for the reason of a ready stretch, if it began with a switch-out.
    fn of(reason: Reason) -> Option<Self> {
        Some(match reason {
            Reason::Preempted => Self::Preempted,
            Reason::Yielded => Self::Yielded,
            Reason::Throttled => Self::Throttled,
            Reason::GaveWay => Self::GaveWay,
            Reason::NeverSlept => Self::NeverSlept,
            Reason::LeftRunnable => Self::Unknown,
            _ => return None,
        })
    }

    /// Returns the name in the table and the state letter.
    fn words(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Preempted => ("preempted", None),
            Self::Yielded => ("yielded", None),
            Self::Throttled => ("throttled", None),
            Self::GaveWay => ("gave_way", None),
            Self::NeverSlept => ("woken_before_sleep", None),
            Self::Unknown => ("unknown", Some("R")),
        }
    }
}

impl Next {
    /// Compares with the thread that came next. A CPU's state is that of the instant of the switch.
    fn of(left: &Left, at: Ns, world: &World) -> (Self, ThreadKey) {
        let Some(cpu) = left.place.and_then(|p| world.cpus.get(p)).filter(|c| c.since == at) else {
            return (Self::Unknown, ThreadKey::UNKNOWN);
        };
        let next = match cpu.state {
            CpuState::Idle => return (Self::Idle, ThreadKey::IDLE),
            CpuState::Unknown => return (Self::Unknown, ThreadKey::UNKNOWN),
            CpuState::Busy => match cpu.prio().zip(left.prio).map(|(next, left)| next.cmp(&left)) {
                None => Self::Unknown,
                // The kernel's scale: the smaller number has precedence.
                Some(Ordering::Less) => Self::Higher,
                Some(Ordering::Equal) => Self::Equal,
                Some(Ordering::Greater) => Self::Lower,
            },
        };
        (next, cpu.thread)
    }

    fn word(self) -> Option<&'static str> {
        match self {
            Self::Higher => Some("higher"),
            Self::Equal => Some("equal"),
            Self::Lower => Some("lower"),
            Self::Idle => Some("idle"),
            Self::Unknown => None,
        }
    }
}

impl Cause {
    /// Returns the cells: name, state letter, reason, the kind of what came next, and its thread.
    fn words(self, world: &World) -> [Value; 5] {
        let letter = |l: u8| Some(l).filter(|l| *l != 0).map(|l| char::from(l).to_string());
        let reason = |by: Option<ReasonId>| by.and_then(|by| world.reason(by)).map(str::to_owned);
        let (word, letter, reason, next, preemptor) = match self {
            Self::Left(how, next, by) => {
                let (word, letter) = how.words();
                let by = Some(by.0).filter(|_| by != ThreadKey::UNKNOWN);
                (word, letter.map(str::to_owned), None, next.word(), by)
            }
            Self::Blocked(of, by) => ("blocked", letter(of), reason(by), None, None),
            Self::Exited(of) => ("exited", letter(of), None, None, None),
            Self::Unknown => ("unknown", None, None, None, None),
        };
        [word.into(), letter.into(), reason.into(), next.into(), preemptor.into()]
    }

    /// Returns the cause of a switch-out after which the thread could not run or its state is unknown. `None`: the
    /// stretch did not begin with a switch-out.
    fn of(stretch: &ThreadStretch, ran: bool) -> Option<Self> {
        match (stretch.state, stretch.reason) {
            (ThreadState::Blocked, Reason::State(letter)) => Some(Self::Blocked(letter, None)),
            (ThreadState::Exited, Reason::State(letter)) => Some(Self::Exited(letter)),
            (ThreadState::Exited, _) => ran.then_some(Self::Exited(0)),
            // The state letter was replaced by later information.
            _ if left_to_wait(stretch, ran) => Some(Self::Blocked(0, None)),
            (ThreadState::Unknown, Reason::NotRecorded) => Some(Self::Unknown),
            // Within a reported loss anything may have happened.
            (ThreadState::Unknown, Reason::Lossy) | (ThreadState::Running, _) => None,
            _ => ran.then_some(Self::Unknown),
        }
    }
}

impl Thread {
    fn count(&mut self, cause: Cause, after: ThreadState, time: Ns) -> &mut Sums {
        let at = self.causes.binary_search_by_key(&cause, |(c, _)| *c).unwrap_or_else(|at| {
            self.causes.insert(at, (cause, Sums::default()));
            at
        });
        self.causes[at].1.add(1, after, time);
        &mut self.causes[at].1
    }

    /// Adds the call site of the switch-out at this instant.
    fn waits_at(&mut self, at: Ns, site: Option<CallSite>) {
        if let Some((when, cause @ Cause::Blocked(..), _, time)) = self.last
            && when == at
            && let Ok(counted) = self.causes.binary_search_by_key(&cause, |(c, _)| *c)
        {
            self.causes[counted].1.call_sites.add(site, time);
            self.last_site = site;
        }
    }

    /// Adds what the thread waits for to the switch-out at this instant.
    fn waits_for(&mut self, at: Ns, by: ReasonId) {
        if let Some((when, cause @ Cause::Blocked(letter, None), after, time)) = self.last
            && when == at
            && let Ok(counted) = self.causes.binary_search_by_key(&cause, |(c, _)| *c)
        {
            self.causes[counted].1.add(-1, after, Ns(-time.0));
            let site = self.last_site.take();
            site.into_iter().for_each(|site| self.causes[counted].1.call_sites.remove(site, time));
            if self.causes[counted].1.count == 0 {
                self.causes.remove(counted);
            }
            self.last = None;
            let known = Cause::Blocked(letter, Some(by));
            self.count(known, after, time).call_sites.add(site, time);
        }
    }
}

impl Sums {
    fn add(&mut self, count: i64, after: ThreadState, time: Ns) {
        self.count += count;
        match after {
            ThreadState::Ready => self.ready += time,
            ThreadState::Blocked => self.blocked += time,
            ThreadState::Unknown => self.unknown += time,
            ThreadState::Running | ThreadState::Exited => {}
        }
    }
}

impl SwitchCauses {
    /// Counts the threads that left at the last instant, if it is over.
    #[inline]
    fn advance(&mut self, world: &World) {
        if world.now > self.at {
            self.settle(world);
            self.at = world.now;
        }
    }

    fn settle(&mut self, world: &World) {
        for left in self.left.drain(..) {
            let (next, by) = Next::of(&left, self.at, world);
            self.threads.of(left.thread).count(Cause::Left(left.how, next, by), ThreadState::Ready, left.ready);
        }
    }
}

impl Analysis for SwitchCauses {
    fn new(context: &Context<'_>) -> Self {
        Self { threads: ByThread::new(), left: Vec::new(), at: context.span.start }
    }

    fn weight() -> usize {
        3
    }

    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, world: &World) {
        self.advance(world);
        let thread = self.threads.of(stretch.thread);
        let ran = thread.before.ran();
        if !thread.before.changes(stretch, begins) {
            return;
        }
        let time = stretch.span.len();
        if let (ThreadState::Ready, Some(how)) = (stretch.state, How::of(stretch.reason)) {
            // While the thread is ready, its priority and run queue may change.
            let (prio, cpu) = ran.map_or((stretch.prio, stretch.cpu), |r| (r.prio, r.cpu));
            self.left.push(Left {
                thread: stretch.thread,
                prio: prio.get(),
                place: cpu.and_then(|c| world.place(c)),
                how,
                ready: time,
            });
        } else if let Some(cause) = Cause::of(stretch, ran.is_some()) {
            thread.count(cause, stretch.state, time);
            (thread.last, thread.last_site) = (Some((stretch.span.start, cause, stretch.state, time)), None);
        }
    }

    fn blocked_at(&mut self, thread: ThreadKey, stack: StackId, world: &World) {
        let thread = self.threads.of(thread);
        thread.waits_at(world.now, world.functions.call_site(stack));
    }

    fn blocked_by(&mut self, thread: ThreadKey, reason: ReasonId, world: &World) {
        self.threads.of(thread).waits_for(world.now, reason);
    }

    fn cpu(&mut self, _: &CpuStretch, _: Begins, world: &World) {
        self.advance(world);
    }

    fn moved(&mut self, _: ThreadKey, _: CpuId, world: &World) {
        self.advance(world);
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.settle(world);
        for (key, thread) in self.threads.iter() {
            let tid = thread.before.tid().unwrap_or(Tid::UNKNOWN);
            for (cause, sums) in &thread.causes {
                let [word, letter, reason, next, by] = cause.words(world);
                let [ready, blocked, unknown] = [sums.ready, sums.blocked, sums.unknown].map(Value::from);
                let tid = i64::from(tid.0).into();
                let count = sums.count.into();
                let site = sums.call_sites.longest();
                let (source, line) = world.lines.of_site(site);
                let site = world.functions.of_site(site);
                let (source, line) = (source.into(), line.into());
                out.row(&[
                    key.into(),
                    tid,
                    word,
                    letter,
                    reason,
                    next,
                    by,
                    count,
                    ready,
                    blocked,
                    unknown,
                    site,
                    source,
                    line,
                ]);
            }
        }
    }
}
