//! What kind of task each thread is: light, sustained, bursty or background.

use crate::by_thread::ByThread;
use crate::task_class::{Figures, LONG_BURST, TaskClass};
use crate::{Analysis, Begins, Context, World};
use model::{CoreType, Ns, Reason, Rows, SetTo, ThreadKey, ThreadState, ThreadStretch, Tid, Value, is_kernel_thread};
use rustc_hash::FxHashMap;

/// The policies `SCHED_BATCH` and `SCHED_IDLE` (`include/uapi/linux/sched.h`).
const LOW_POLICIES: [i8; 2] = [3, 5];
/// The dynamic priorities of threads with a nice value from 10, which `nice` gives a command by default, to 19 (nice 0 is 120).
const LOW_PRIORITIES: std::ops::RangeInclusive<i16> = 130..=139;
/// The least nice value that is a low priority.
const LOW_NICE: i8 = 10;

/// Stands for the program of kernel threads: the numbers of pools begin at 1.
const KERNEL: u32 = 0;

pub(crate) struct TaskClasses {
    ready_known: bool,
    types: Vec<CoreType>,
    /// The largest number of threads that are few; `None` until the first stretch.
    few: Option<i64>,
    threads: ByThread<Thread>,
    /// Whether all programs are known; otherwise all threads but the kernel's count as one.
    has_programs: bool,
    /// By program; `None`: threads of unknown programs.
    programs: FxHashMap<Option<u32>, Program>,
    /// By waker and woken thread.
    wakings: FxHashMap<(ThreadKey, ThreadKey), Wakings>,
}

/// How often a thread woke another one.
#[derive(Clone, Copy)]
struct Wakings {
    /// The bursts in which it did.
    bursts: i64,
    /// The number of the last of them.
    last: i64,
}

/// How many threads of a program run or are ready.
#[derive(Clone, Copy, Default)]
struct Program {
    runnable: i64,
    since: Ns,
    /// The time until `since` in which these were more than few.
    crowded: Ns,
}

#[derive(Clone, Copy, Default)]
struct Thread {
    tid: Tid,
    state: Option<ThreadState>,
    program: Option<u32>,
    figures: Figures,
    /// The current burst: its running time, and whether it woke a thread.
    burst: Ns,
    has_woken: bool,
    /// While it runs: [`Program::crowded`] at the begin.
    crowded_before: Ns,
}

fn is_runnable(state: Option<ThreadState>) -> bool {
    matches!(state, Some(ThreadState::Running | ThreadState::Ready))
}

impl Program {
    fn advance(&mut self, now: Ns, few: i64) {
        if self.runnable > few {
            self.crowded += now - self.since;
        }
        self.since = now;
    }
}

impl Thread {
    /// Ends the burst, if there is one.
    fn close(&mut self) {
        let (running, woke) = (std::mem::take(&mut self.burst), std::mem::take(&mut self.has_woken));
        if running == Ns::ZERO {
            return;
        }
        let of = &mut self.figures;
        of.bursts += 1;
        of.waking_bursts += i64::from(woke);
        of.longest = of.longest.max(running);
        if running >= LONG_BURST {
            of.long += running;
        }
    }
}

impl TaskClasses {
    /// Ends the state of a thread.
    fn leave(&mut self, thread: ThreadKey, now: Ns) {
        let few = self.few.unwrap_or(1);
        let of = self.threads.of(thread);
        if !is_runnable(of.state) {
            return;
        }
        let program = self.programs.entry(of.program).or_default();
        program.advance(now, few);
        program.runnable -= 1;
        if of.state == Some(ThreadState::Running) {
            of.figures.crowded += program.crowded - of.crowded_before;
        }
    }

    fn enter(&mut self, stretch: &ThreadStretch, world: &World) {
        let few = self.few.unwrap_or(1);
        let of = self.threads.of(stretch.thread);
        of.tid = stretch.tid;
        of.state = Some(stretch.state);
        if !is_runnable(of.state) {
            return;
        }
        of.program = match world.groups.program(stretch.thread) {
            _ if world.groups.name(stretch.thread).is_some_and(is_kernel_thread) => Some(KERNEL),
            program => program.filter(|_| self.has_programs),
        };
        let program = self.programs.entry(of.program).or_default();
        program.advance(stretch.span.start, few);
        program.runnable += 1;
        of.crowded_before = program.crowded;
    }

    /// Marks the burst of a waker.
    fn wakes(&mut self, stretch: &ThreadStretch, world: &World) {
        let is_kernel = world.groups.name(stretch.thread).is_some_and(is_kernel_thread);
        if stretch.waker_thread <= ThreadKey::IDLE || is_kernel {
            return;
        }
        let waker = self.threads.of(stretch.waker_thread);
        if waker.state != Some(ThreadState::Running) {
            return;
        }
        waker.has_woken = true;
        let burst = waker.figures.bursts;
        let of = self.wakings.entry((stretch.waker_thread, stretch.thread)).or_insert(Wakings { bursts: 0, last: -1 });
        of.bursts += i64::from(of.last != burst);
        of.last = burst;
    }

    /// Finds the awaited bursts of all threads. At first every thread that is woken counts; the wakings of threads that turn out to be background
    /// work are then left out, which can make their wakers background work too. Threads that wake each other in a ring keep their wakings.
    fn find_awaited(&mut self) {
        let mut sums: FxHashMap<ThreadKey, i64> = FxHashMap::default();
        let mut wakers: FxHashMap<ThreadKey, Vec<(ThreadKey, i64)>> = FxHashMap::default();
        for (&(waker, woken), of) in &self.wakings {
            *sums.entry(waker).or_default() += of.bursts;
            wakers.entry(woken).or_default().push((waker, of.bursts));
        }
        let is_background = |of: &Thread| of.figures.class() == Some(TaskClass::Background);
        let mut background = Vec::new();
        for (key, of) in self.threads.iter() {
            // A burst that woke several threads is in the sum more than once.
            of.figures.awaited_bursts = sums.get(&key).map_or(0, |sum| of.figures.waking_bursts.min(*sum));
            if is_background(of) {
                background.push(key);
            }
        }
        while let Some(thread) = background.pop() {
            for (waker, bursts) in wakers.remove(&thread).unwrap_or_default() {
                let sum = sums.entry(waker).or_default();
                *sum -= bursts;
                let of = self.threads.of(waker);
                let before = is_background(of);
                of.figures.awaited_bursts = of.figures.waking_bursts.min(*sum);
                if !before && is_background(of) {
                    background.push(waker);
                }
            }
        }
    }
}

/// The largest number of runnable threads that are few.
fn few(world: &World) -> i64 {
    let class = |core: &crate::CoreNow| core.cpus.first().map_or(0, |cpu| world.cpus[*cpu].class);
    let fastest = world.cores.iter().map(class).max().unwrap_or(0);
    let fast = world.cores.iter().filter(|core| class(core) == fastest).count();
    let few = if fast == world.cores.len() { fast / 2 } else { fast };
    few.max(1) as i64
}

impl Analysis for TaskClasses {
    fn new(context: &Context<'_>) -> Self {
        Self {
            ready_known: context.ready_known,
            types: context.machine.class_names.clone(),
            few: None,
            has_programs: false,
            threads: ByThread::new(),
            programs: FxHashMap::default(),
            wakings: FxHashMap::default(),
        }
    }

    fn weight() -> usize {
        3
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, world: &World) {
        if self.few.is_none() {
            (self.few, self.has_programs) = (Some(few(world)), world.groups.has_all_processes());
        }
        self.leave(stretch.thread, stretch.span.start);
        self.enter(stretch, world);
        if stretch.state == ThreadState::Ready && matches!(stretch.reason, Reason::Woken | Reason::WokenBefore) {
            self.wakes(stretch, world);
        }
        let (of, time) = (self.threads.of(stretch.thread), stretch.span.len());
        match stretch.state {
            ThreadState::Running => {
                of.figures.running += time;
                of.burst += time;
            }
            ThreadState::Ready => {
                // A thread that is woken was waiting, even if the begin of the wait was not recorded.
                if matches!(stretch.reason, Reason::Woken | Reason::New | Reason::WokenBefore) {
                    of.close();
                }
                of.figures.ready += time;
            }
            ThreadState::Blocked => {
                of.close();
                of.figures.blocked += time;
            }
            ThreadState::Exited => of.close(),
            ThreadState::Unknown => {}
        }
        if let Some(prio) = stretch.prio.get() {
            of.figures.is_low_priority = LOW_PRIORITIES.contains(&prio);
        }
    }

    fn setting(&mut self, thread: ThreadKey, to: &SetTo, _: &World) {
        if let SetTo::Policy { policy, nice } = *to {
            let of = &mut self.threads.of(thread).figures;
            let is_low = policy.is_some_and(|policy| LOW_POLICIES.contains(&policy));
            of.is_low_priority = is_low || nice.map_or(of.is_low_priority && policy.is_none(), |nice| nice >= LOW_NICE);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        let all: Vec<ThreadKey> = self.threads.iter().map(|(key, _)| key).collect();
        for thread in &all {
            self.leave(*thread, world.now);
            self.threads.of(*thread).close();
        }
        self.find_awaited();
        for thread in all {
            let (types, ready_known) = (&self.types, self.ready_known);
            let of = self.threads.of(thread);
            let figures = &of.figures;
            if figures.running == Ns::ZERO {
                continue;
            }
            let class = figures.class();
            out.row(&[
                thread.into(),
                i64::from(of.tid.0).into(),
                class.map_or(Value::Null, |class| class.as_str().into()),
                class.and_then(|class| class.cores(types)).map_or(Value::Null, Value::from),
                figures.running.into(),
                figures.ready.into(),
                figures.blocked.into(),
                figures.bursts.into(),
                ready_known.then_some(figures.waking_bursts).into(),
                ready_known.then_some(figures.awaited_bursts).into(),
                figures.longest.into(),
                figures.long.into(),
                figures.crowded.into(),
                Value::Bool(figures.is_low_priority),
            ]);
        }
    }
}
