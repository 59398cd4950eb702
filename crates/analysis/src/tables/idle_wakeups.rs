//! What ended the idle periods of CPUs.

use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, World};
use model::{
    CoreType, CpuId, CpuState, CpuStretch, Interrupt, IrqKind, NameId, Ns, Power, Reason, Rows, ThreadKey, ThreadState,
    ThreadStretch, TimelineEvent, Value,
};
use std::collections::BTreeMap;
use topology::Machine;

/// The cause that ended an idle period, in the order of the rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Cause {
    Thread,
    Interrupt,
    NotRecorded,
    New,
    Pulled,
    Requeued,
    Unknown,
    Cut,
}

impl Cause {
    fn word(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Interrupt => "interrupt",
            Self::NotRecorded => "not_recorded",
            Self::New => "new",
            Self::Pulled => "pulled",
            Self::Requeued => "requeued",
            Self::Unknown => "unknown",
            Self::Cut => "cut",
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Sums {
    periods: i64,
    elsewhere: i64,
    idle: Ns,
}

#[derive(Clone, Default)]
struct Idle {
    /// How long it has been idle, while it is.
    open: Option<Ns>,
    /// Whether an idle state was recorded since then.
    has_state: bool,
    /// The first interrupt since the last idle state.
    first: Option<Interrupt>,
    by: BTreeMap<(Cause, ThreadKey, Option<Interrupt>), Sums>,
}

/// The kernel's softirq vectors (include/linux/interrupt.h).
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// Returns the name of an interrupt.
pub(super) fn interrupt_name(of: Interrupt, world: &World) -> String {
    let name = world.name(of.name);
    let with = |kind: &str, name: Option<&str>| name.map_or(kind.to_owned(), |name| format!("{kind} {name}"));
    match of.kind {
        IrqKind::Hard => name.map_or_else(|| format!("irq {}", of.number), str::to_owned),
        IrqKind::Soft => {
            let vector = usize::try_from(of.number).ok().and_then(|vector| SOFTIRQS.get(vector));
            vector.map_or_else(|| format!("softirq {}", of.number), |vector| format!("softirq {vector}"))
        }
        IrqKind::Timer => with("timer", name),
        IrqKind::Ipi => with("ipi", name),
    }
}

pub(crate) struct IdleWakeups {
    machine: Machine,
    /// By CPU number.
    cpus: Vec<Idle>,
    /// The last stretch of each thread.
    threads: ByThread<Option<ThreadStretch>>,
}

/// Returns why a thread that now runs here was ready before, its waker, and whether it was on the run queue of another
/// CPU.
fn cause(ready: Option<&ThreadStretch>, here: CpuId) -> (Cause, ThreadKey, bool) {
    let Some(ready) = ready else { return (Cause::Unknown, ThreadKey::UNKNOWN, false) };
    let elsewhere = ready.cpu.is_some_and(|queue| queue != here);
    let (cause, waker) = match (ready.reason, ready.waker_thread) {
        (Reason::New, waker) => (Cause::New, waker),
        (Reason::Woken | Reason::WokenBefore, ThreadKey::IDLE) => (Cause::Interrupt, ThreadKey::UNKNOWN),
        (Reason::Woken | Reason::WokenBefore, ThreadKey::UNKNOWN) => (Cause::NotRecorded, ThreadKey::UNKNOWN),
        (Reason::Woken | Reason::WokenBefore, waker) => (Cause::Thread, waker),
        (reason, _) if reason.left_runnable() && elsewhere => (Cause::Pulled, ThreadKey::UNKNOWN),
        (reason, _) if reason.left_runnable() => (Cause::Requeued, ThreadKey::UNKNOWN),
        _ => (Cause::Unknown, ThreadKey::UNKNOWN),
    };
    (cause, waker, elsewhere)
}

impl Sums {
    fn add(&mut self, more: &Self) {
        self.periods += more.periods;
        self.elsewhere += more.elsewhere;
        self.idle += more.idle;
    }
}

impl Idle {
    fn close(&mut self, (cause, waker, elsewhere): (Cause, ThreadKey, bool)) {
        let Some(time) = self.open.take() else { return };
        let sums = self.by.entry((cause, waker, self.first.take())).or_default();
        sums.add(&Sums { periods: 1, elsewhere: elsewhere.into(), idle: time });
    }
}

const CUT: (Cause, ThreadKey, bool) = (Cause::Cut, ThreadKey::UNKNOWN, false);

impl Analysis for IdleWakeups {
    fn new(context: &Context<'_>) -> Self {
        Self { machine: context.machine.clone(), cpus: Vec::new(), threads: ByThread::new() }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        *self.threads.of(stretch.thread) = Some(*stretch);
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        let at = stretch.cpu.0 as usize;
        if at >= self.cpus.len() {
            self.cpus.resize(at + 1, Idle::default());
        }
        let cpu = &mut self.cpus[at];
        if cpu.open.is_some() {
            // The thread's own stretch comes after its CPU's: the one in `threads` is the stretch that ends now.
            let before = self.threads.get(stretch.thread).and_then(Option::as_ref);
            let ready = before.filter(|s| s.state == ThreadState::Ready && s.span.end == world.now);
            cpu.close(if stretch.state == CpuState::Busy { cause(ready, stretch.cpu) } else { CUT });
        }
        (cpu.has_state, cpu.first) = (false, None);
        if stretch.state == CpuState::Idle {
            cpu.open = Some(stretch.span.len());
        }
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, _: Begins, _: &World) {
        let Some((cpu, to)) = event.power() else { return };
        let Some(cpu) = self.cpus.get_mut(cpu.0 as usize).filter(|cpu| cpu.open.is_some()) else { return };
        match to {
            // Earlier interrupts only ended another idle state.
            Power::Idle(_) => (cpu.has_state, cpu.first) = (true, None),
            // The interrupt of a timer comes before its function is known.
            Power::InterruptBegin(of) if cpu.has_state => {
                let nameless = |first: Interrupt| first.kind == IrqKind::Timer && first.name == NameId::NONE;
                if cpu.first.is_none_or(|first| nameless(first) && of.kind == IrqKind::Timer) {
                    cpu.first = Some(of);
                }
            }
            Power::Awake
            | Power::Frequency(_)
            | Power::InterruptBegin(_)
            | Power::InterruptEnd(_)
            | Power::Parked(_) => {}
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for (number, cpu) in (0u32..).zip(&mut self.cpus) {
            cpu.close(CUT);
            let core_type = match self.machine.cpu(CpuId(number)) {
                Some(_) => self.machine.core_type(CpuId(number)),
                None => CoreType::Uniform,
            };
            // Ordered by name: the name numbers differ between a file and the trace folder imported from it.
            let mut by: BTreeMap<(Cause, ThreadKey, Option<String>), Sums> = BTreeMap::new();
            for ((cause, waker, first), sums) in &cpu.by {
                let all = by.entry((*cause, *waker, first.map(|of| interrupt_name(of, world)))).or_default();
                all.add(sums);
            }
            for ((cause, waker, interrupt), sums) in by {
                out.row(&[
                    i64::from(number).into(),
                    core_type.as_str().into(),
                    cause.word().into(),
                    if waker == ThreadKey::UNKNOWN { Value::Null } else { waker.into() },
                    interrupt.into(),
                    sums.periods.into(),
                    sums.elsewhere.into(),
                    sums.idle.into(),
                ]);
            }
        }
    }
}
