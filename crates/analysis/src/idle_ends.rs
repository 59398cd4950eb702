//! What ended each stay of a CPU in an idle state, for the tables about it.
//!
//! ```text
//!   cpu0    A │ . . . . . . . . . . . . . . . . . . . │ B        one idle period, of two stays
//!               └ state 1 ┘ └ tick    └ state 2 ┘ └ timer wakes B
//!             └──── ended by the tick ─┘└─ by the timer, for B ┘  the idle time that each ended
//! ```
//!
//! A thread's wakeup names the interrupt in which it was issued only as "an interrupt". Which one: the innermost handler on the CPU
//! where the thread was woken ([`Change::WokenByInterrupt`]); if that CPU was not recorded, the last handler, on any CPU, that had
//! begun and had not ended.

use crate::by_thread::ByThread;
use crate::{Begins, World};
use model::{
    Change, CpuId, CpuState, CpuStretch, Interrupt, IrqKind, NameId, Ns, Power, Reason, ThreadKey, ThreadState,
    ThreadStretch, TimelineEvent,
};
use std::collections::VecDeque;

/// What ended a stay, in the order of the rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum By {
    Timer,
    Tick,
    Device,
    Thread,
    Ipi,
    Interrupt,
    Pulled,
    Requeued,
    Nothing,
    NotRecorded,
    Unknown,
    Cut,
}

impl By {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Timer => "timer",
            Self::Tick => "tick",
            Self::Device => "device",
            Self::Thread => "thread",
            Self::Ipi => "ipi",
            Self::Interrupt => "interrupt",
            Self::Pulled => "pulled",
            Self::Requeued => "requeued",
            Self::Nothing => "nothing",
            Self::NotRecorded => "not_recorded",
            Self::Unknown => "unknown",
            Self::Cut => "cut",
        }
    }
}

/// A stay that ended, with the idle time around it, or idle time without a recorded state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Ended {
    pub(crate) cpu: CpuId,
    pub(crate) state: Option<u32>,
    pub(crate) by: By,
    pub(crate) interrupt: Option<Interrupt>,
    /// The thread that woke the other one, if a thread did and is known.
    pub(crate) waker: ThreadKey,
    /// The thread that runs next; unknown if the CPU remains idle.
    pub(crate) thread: ThreadKey,
    /// Whether the idle period is over, too.
    pub(crate) period: bool,
    pub(crate) since: Ns,
    pub(crate) idle: Ns,
    /// How long it was in the state, if begin and end are known.
    pub(crate) stay: Option<Ns>,
}

/// The maximum number of handlers kept for each CPU: more than fit between a wakeup and its switch-in.
const KEPT: usize = 32;

/// The maximum nesting depth of handlers.
const DEEPEST: usize = 8;

/// The functions of the scheduler's tick (kernel/time/tick-sched.c): before Linux 6.9, and since.
const TICKS: [&str; 2] = ["tick_sched_timer", "tick_nohz_handler"];

/// The softirq vectors that run timers' functions.
const TIMER_VECTORS: [i32; 2] = [1, 8];

#[derive(Clone, Copy)]
struct Handler {
    of: Interrupt,
    at: Ns,
    /// When it ended at the latest.
    until: Ns,
}

/// Idle time with at most one stay in an idle state.
#[derive(Clone, Copy)]
struct Open {
    /// When the period began, and when it ends.
    period: (Ns, Ns),
    since: Ns,
    state: Option<u32>,
    entered: Option<Ns>,
    left: Option<Ns>,
    /// The interrupt that ended the stay.
    first: Option<Interrupt>,
}

#[derive(Clone, Default)]
struct Cpu {
    open: Option<Open>,
    handlers: VecDeque<Handler>,
    /// Whether the source records when timers' functions end.
    timers_end: bool,
}

pub(crate) struct IdleEnds {
    /// By CPU number.
    cpus: Vec<Cpu>,
    threads: ByThread<Thread>,
}

#[derive(Clone, Default)]
struct Thread {
    stretch: Option<ThreadStretch>,
    /// The last move to another run queue.
    moved: Option<(Ns, CpuId)>,
    /// When and where an interrupt woke it last, and the innermost handler there.
    woken: Option<(Ns, CpuId, Option<Interrupt>)>,
}

fn is_tick(of: Interrupt, world: &World) -> bool {
    of.kind == IrqKind::Timer && world.name(of.name).is_some_and(|name| TICKS.contains(&name))
}

/// Whether `of` says more than what came before it in the same interrupt: the tick also serves other timers, a timer's own interrupt
/// comes before its function, and on ARM an IPI is handled within an interrupt.
fn says_more(before: Interrupt, is_open: bool, of: Interrupt, world: &World) -> bool {
    match (of.kind, before.kind) {
        (IrqKind::Timer, IrqKind::Timer) => before.name == NameId::NONE || is_tick(before, world),
        (IrqKind::Timer | IrqKind::Ipi, IrqKind::Hard) => is_open,
        (IrqKind::Timer, IrqKind::Soft) => is_open && TIMER_VECTORS.contains(&before.number),
        _ => false,
    }
}

/// Returns what an interrupt is that ended a stay.
fn kind(of: Option<Interrupt>, world: &World) -> By {
    match of.map(|of| of.kind) {
        None => By::Nothing,
        Some(IrqKind::Hard) => By::Device,
        Some(IrqKind::Soft) => By::Interrupt,
        Some(IrqKind::Ipi) => By::Ipi,
        Some(IrqKind::Timer) if of.is_some_and(|of| is_tick(of, world)) => By::Tick,
        Some(IrqKind::Timer) => By::Timer,
    }
}

impl Cpu {
    /// Ends all handlers: the CPU does something else now.
    fn leave_handlers(&mut self, now: Ns) {
        let open = self.handlers.iter_mut().rev().take(DEEPEST).filter(|of| of.until == Ns::MAX);
        open.for_each(|of| of.until = now);
    }

    fn begin(&mut self, of: Interrupt, at: Ns, world: &World) {
        if let Some(open) = self.open.as_mut().filter(|open| open.state.is_some()) {
            // The timer's function follows the interrupt that brought it.
            let is_open = |first| self.handlers.back().is_some_and(|last| last.until == Ns::MAX && last.of == first);
            if open.first.is_none_or(|first| says_more(first, is_open(first), of, world)) {
                open.first = Some(of);
            }
        }
        if self.handlers.len() == KEPT {
            self.handlers.pop_front();
        }
        // A function of a timer whose end is not recorded ends when the next handler begins.
        if !self.timers_end
            && let Some(last) = self.handlers.back_mut().filter(|last| last.of.kind == IrqKind::Timer)
        {
            last.until = last.until.min(at);
        }
        self.handlers.push_back(Handler { of, at, until: Ns::MAX });
    }

    fn end(&mut self, of: Interrupt, at: Ns) {
        self.timers_end |= of.kind == IrqKind::Timer;
        let is_it = |handler: &Handler| {
            handler.until == Ns::MAX && (handler.of.kind, handler.of.number) == (of.kind, of.number)
        };
        // With it end those that interrupted it.
        if let Some(place) = self.handlers.iter().rposition(is_it) {
            self.handlers.range_mut(place..).filter(|inner| inner.until == Ns::MAX).for_each(|inner| inner.until = at);
        }
    }

    /// Returns the innermost handler at a time. When an IPI's handler ends is recorded only where it is part of an interrupt, so any
    /// other handler comes first.
    fn at(&self, at: Ns) -> Option<&Handler> {
        let mut open = self.handlers.iter().rev().filter(|of| of.at <= at && at <= of.until).peekable();
        let innermost = open.peek().copied();
        while let Some(handler) = open.next() {
            let in_interrupt = open.peek().is_some_and(|around| around.of.kind == IrqKind::Hard);
            if in_interrupt || handler.of.kind != IrqKind::Ipi {
                return Some(handler);
            }
        }
        innermost
    }
}

impl Default for IdleEnds {
    fn default() -> Self {
        Self { cpus: Vec::new(), threads: ByThread::new() }
    }
}

impl IdleEnds {
    fn cpu_mut(&mut self, cpu: CpuId) -> &mut Cpu {
        let at = cpu.0 as usize;
        if at >= self.cpus.len() {
            self.cpus.resize(at + 1, Cpu::default());
        }
        &mut self.cpus[at]
    }

    pub(crate) fn thread(&mut self, stretch: &ThreadStretch) {
        self.threads.of(stretch.thread).stretch = Some(*stretch);
    }

    pub(crate) fn moved(&mut self, thread: ThreadKey, to: CpuId, now: Ns) {
        self.threads.of(thread).moved = Some((now, to));
    }

    /// Handles a stretch of a CPU, and returns what ended, if it was idle.
    pub(crate) fn cpu(&mut self, stretch: &CpuStretch, begins: Begins, world: &World) -> Option<Ended> {
        let cpu = self.cpu_mut(stretch.cpu);
        cpu.leave_handlers(stretch.span.start);
        let open = cpu.open.take();
        if stretch.state == CpuState::Idle {
            let state = world.cpu_now(stretch.cpu).and_then(|now| now.idle_state).filter(|_| begins == Begins::Before);
            let (period, since) = ((stretch.span.start, stretch.span.end), stretch.span.start);
            cpu.open = Some(Open { period, since, state, entered: None, left: None, first: None });
        }
        let open = open?;
        Some(if stretch.state == CpuState::Busy {
            self.ended(open, stretch.cpu, stretch.thread, world)
        } else {
            open.ended(stretch.cpu, By::Cut, world.now)
        })
    }

    /// Handles an event, of a thread or none, and returns the stay that ended with the begin of the next.
    pub(crate) fn event(
        &mut self,
        event: &TimelineEvent,
        thread: ThreadKey,
        begins: Begins,
        world: &World,
    ) -> Option<Ended> {
        if let Change::WokenByInterrupt(cpu) = event.what {
            let handler = self.cpus.get(cpu.0 as usize).and_then(|of| of.at(event.at)).map(|handler| handler.of);
            self.threads.of(thread).woken = Some((event.at, cpu, handler));
            return None;
        }
        let (cpu, to) = event.power()?;
        let (number, at) = (cpu, event.at);
        // A damaged number is not a CPU.
        if number.0 as usize >= self.cpus.len() && world.place(number).is_none() {
            return None;
        }
        let cpu = self.cpu_mut(number);
        match to {
            Power::Idle(state) => {
                cpu.leave_handlers(at);
                let open = cpu.open.as_mut()?;
                // What came before the recording is reported at its begin.
                let here = begins == Begins::Here && at > Ns::ZERO;
                let ended = (here && open.state.is_some()).then(|| {
                    let ended = open.ended(number, kind(open.first, world), at);
                    open.since = at;
                    Ended { interrupt: open.first, ..ended }
                });
                *open = Open { state: Some(state), entered: here.then_some(at), left: None, first: None, ..*open };
                return ended;
            }
            Power::Awake => {
                if let Some(open) = cpu.open.as_mut() {
                    open.left = open.left.or(Some(at));
                }
            }
            Power::InterruptBegin(of) => cpu.begin(of, at, world),
            Power::InterruptEnd(of) => cpu.end(of, at),
            Power::Frequency(_) | Power::Parked(_) => {}
        }
        None
    }

    /// Returns the idle time that the end of the range or the recording cuts.
    pub(crate) fn finish(&mut self) -> Vec<Ended> {
        let cut = |(number, cpu): (u32, &mut Cpu)| {
            let open = cpu.open.take()?;
            Some(open.ended(CpuId(number), By::Cut, open.period.1))
        };
        (0u32..).zip(&mut self.cpus).filter_map(cut).collect()
    }

    /// Returns how an idle period ended of a CPU that now runs a thread.
    fn ended(&self, open: Open, cpu: CpuId, thread: ThreadKey, world: &World) -> Ended {
        // The thread's own stretch comes after its CPU's: this is the one that ends now.
        let of = self.threads.get(thread);
        let ready = of.and_then(|of| of.stretch).filter(|s| s.state == ThreadState::Ready && s.span.end == world.now);
        let pulled = |ready: &ThreadStretch| {
            let moved = of.and_then(|of| of.moved).filter(|(at, to)| *to == cpu && *at >= open.period.0);
            ready.span.start < open.period.0 && moved.is_some()
        };
        let ended = Ended { period: true, thread, ..open.ended(cpu, By::Unknown, world.now) };
        let Some(ready) = ready else { return Ended { interrupt: open.first, ..ended } };
        let elsewhere = ready.cpu.is_some_and(|queue| queue != cpu);
        let (by, interrupt, waker) = match (ready.reason, ready.waker_thread) {
            (reason, _) if reason.left_runnable() && !elsewhere => (By::Requeued, open.first, ThreadKey::UNKNOWN),
            (reason, _) if reason.left_runnable() || pulled(&ready) => (By::Pulled, open.first, ThreadKey::UNKNOWN),
            (Reason::Woken | Reason::WokenBefore, ThreadKey::IDLE) => {
                let woken = of.and_then(|of| of.woken).filter(|(at, ..)| *at == ready.span.start);
                let (handler, is_own) = match woken {
                    Some((_, on, handler)) => (handler, on == cpu),
                    None => self.innermost(ready.span.start, cpu),
                };
                // A softirq does the rest of an interrupt's work, and after it the idle task wakes ksoftirqd.
                let rest = is_own && handler.is_none_or(|of| matches!(of.kind, IrqKind::Soft | IrqKind::Ipi));
                let interrupt = if rest { open.first.or(handler) } else { handler };
                let by = if interrupt.is_none() { By::Interrupt } else { kind(interrupt, world) };
                (by, interrupt, ThreadKey::UNKNOWN)
            }
            (Reason::Woken | Reason::WokenBefore, ThreadKey::UNKNOWN) => {
                (By::NotRecorded, open.first, ThreadKey::UNKNOWN)
            }
            (Reason::Woken | Reason::WokenBefore | Reason::New, waker) => {
                let sent = self.cpus[cpu.0 as usize].handlers.iter().filter(|of| of.at >= ready.span.start);
                (By::Thread, sent.map(|of| of.of).find(|of| of.kind == IrqKind::Ipi), waker)
            }
            _ => (By::Unknown, open.first, ThreadKey::UNKNOWN),
        };
        Ended { by, interrupt, waker, ..ended }
    }

    /// Returns the innermost handler on any CPU at a time, and whether it ran on this one.
    fn innermost(&self, at: Ns, cpu: CpuId) -> (Option<Interrupt>, bool) {
        let here = (0u32..).zip(&self.cpus).filter_map(|(number, of)| Some((of.at(at)?, number == cpu.0)));
        let last = here.max_by_key(|(handler, is_own)| (handler.at, *is_own));
        last.map_or((None, false), |(handler, is_own)| (Some(handler.of), is_own))
    }
}

impl Open {
    fn ended(&self, cpu: CpuId, by: By, now: Ns) -> Ended {
        let idle = now.min(self.period.1) - self.since;
        let stay = self.entered.zip(self.left).map(|(entered, left)| left - entered);
        let (interrupt, unknown) = (None, ThreadKey::UNKNOWN);
        let (state, since, period) = (self.state, self.since, by == By::Cut);
        Ended { cpu, state, by, interrupt, waker: unknown, thread: unknown, period, since, idle, stay }
    }
}
