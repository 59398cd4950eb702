//! Bundles of kernel events: `protos/perfetto/trace/ftrace/ftrace_event_bundle.proto`. A bundle holds what one read of
//! a CPU's buffer returned, in the order of time, as messages (`event`), as columns (`compact_sched`), or both.

use super::clocks::time;
use super::ftrace::{self, Kernel};
use super::wire::{Fields, Malformed, Unreadable};
use crate::tracepoint::Names;
use ingest::{Anomaly, Ledger};
use model::{Batch, CpuId, Event, EventKind, LossSpan, MaybeCount, MaybeNs, Ns, Prio, Tid};

/// The maximum number of CPUs.
const MAX_CPUS: u32 = 1 << 14;
/// `FtraceClock`: the kernel's `boot` clock is not in the list; it is the default.
const CLOCK_OF_BOOT: u64 = 0;

/// The state of a CPU between its bundles.
#[derive(Clone, Copy)]
pub(super) struct CpuState {
    /// The time of its last event.
    pub(super) last: Ns,
    /// The thread that runs on it, according to its last switch.
    pub(super) current: Tid,
    pub(super) prio: Prio,
}

impl CpuState {
    const NEW: Self = Self { last: Ns::MIN, current: Tid::UNKNOWN, prio: Prio::UNKNOWN };
}

/// The bundles of all CPUs.
pub(super) struct Bundles {
    pub(super) kernel: Kernel,
    cpu_states: Vec<CpuState>,
    /// The difference to add to times of a clock other than boot's. It is taken from the first bundle that contains
    /// both times, so that durations stay as the kernel measured them.
    shift: Option<i64>,
    /// Packets of a sequence with bundles were lost since this time.
    dropped: Option<Ns>,
    latest: Ns,
}

/// The last event of a bundle.
pub(super) struct BundleEnd {
    pub(super) cpu: CpuId,
    /// The time of its last event.
    pub(super) last: Ns,
}

/// The fields of a bundle other than its events.
#[derive(Default)]
struct Head<'a> {
    cpu: Option<u32>,
    lost: bool,
    clock: u64,
    ftrace: i64,
    boot: i64,
    compact: Option<&'a [u8]>,
}

impl<'a> Head<'a> {
    fn of(bundle: &'a [u8]) -> Result<Self, Malformed> {
        let mut head = Self::default();
        let mut fields = Fields::of(bundle);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => head.cpu = Some(value.number() as u32),
                3 => head.lost = value.number() != 0,
                4 => head.compact = Some(value.bytes()),
                5 => head.clock = value.number(),
                6 => head.ftrace = value.number() as i64,
                7 => head.boot = value.number() as i64,
                _ => {}
            }
        }
        Ok(head)
    }
}

impl Bundles {
    pub(super) fn new(kernel: Kernel) -> Self {
        Self { kernel, cpu_states: Vec::new(), shift: None, dropped: None, latest: Ns::MIN }
    }

    /// Returns the latest time of an event on any CPU.
    pub(super) fn latest(&self) -> Ns {
        self.latest
    }

    /// Records that packets which may contain bundles were lost here.
    pub(super) fn dropped(&mut self) {
        if self.latest != Ns::MIN {
            self.dropped.get_or_insert(self.latest);
            self.cpu_states.iter_mut().for_each(forget_running);
        }
    }

    /// Reads a bundle; `None` if it contains no event.
    pub(super) fn read(
        &mut self,
        bundle: &[u8],
        offset: u64,
        names: &mut Names,
        out: &mut Batch,
        bad: &mut dyn Ledger,
    ) -> Option<BundleEnd> {
        let Ok(head) = Head::of(bundle) else {
            bad.anomaly("a bundle of kernel events is damaged", offset, Anomaly::Lost);
            return None;
        };
        let no_cpu = head.cpu.is_none() && self.kernel.own;
        let number = head.cpu.unwrap_or(0);
        if number >= MAX_CPUS {
            bad.anomaly("a bundle of kernel events has an invalid CPU number", offset, Anomaly::Lost);
            return None;
        }
        let cpu = if no_cpu { CpuId::UNKNOWN } else { CpuId(number) };
        let mut cpu_state = if no_cpu { CpuState::NEW } else { self.cpu_state(cpu) };
        let before = cpu_state.last;
        if head.lost {
            forget_running(&mut cpu_state);
        }
        let start = out.events.len();
        let shift = self.shift_of(&head);
        let mut fields = Fields::of(bundle);
        while let Ok(Some((field, value))) = fields.next() {
            if field == 2 {
                let place = ftrace::Place { cpu, offset, shift };
                match self.kernel.read(value.bytes(), place, names, out) {
                    Ok(Some(event)) => out.events.push(event),
                    Ok(None) => {}
                    Err(Malformed) => bad.anomaly("a kernel event is damaged", offset, Anomaly::Lost),
                }
                self.kernel.report(offset, bad);
            }
        }
        if let Some(columns) = head.compact {
            let place = ftrace::Place { cpu, offset, shift };
            match super::compact::read(columns, place, &self.kernel.states, &mut cpu_state, names, out) {
                Ok(()) => {}
                Err(Unreadable::Malformed) => {
                    bad.anomaly("a bundle of compact switches is damaged", offset, Anomaly::Lost);
                }
                Err(Unreadable::OtherType) => {
                    let what =
                        "a bundle of compact switches has a column of another type than in Perfetto's public schema";
                    bad.anomaly(what, offset, Anomaly::NotUnderstood);
                }
            }
        }
        let events = out.events.get_mut(start..).unwrap_or_default();
        if !events.is_sorted_by_key(|e| e.at) {
            events.sort_by_key(|e| e.at); // stable: keeps the order of events with the same time
        }
        if !self.kernel.own {
            track_running(&mut cpu_state, events);
        }
        let ends = events.first().zip(events.last()).map(|(first, last)| (first.at, last.at));
        cpu_state.last = cpu_state.last.max(ends.map_or(Ns::MIN, |e| e.1));
        if let Some(slot) = self.cpu_states.get_mut(cpu.0 as usize) {
            *slot = cpu_state;
        }
        let (first, last) = ends?;
        self.latest = self.latest.max(last);
        if head.lost {
            let (from, to) = (MaybeNs::new(before), MaybeNs::new(first));
            let span = LossSpan { from, to, cpu: Some(cpu), events: MaybeCount::UNKNOWN };
            out.events.push(Event { at: first, offset, cpu, current: Tid::UNKNOWN, what: EventKind::Loss(span) });
        }
        if let Some(from) = self.dropped.take() {
            let (from, to) = (MaybeNs::new(from.min(first)), MaybeNs::new(first));
            let span = LossSpan { from, to, cpu: None, events: MaybeCount::UNKNOWN };
            out.events.push(Event { at: first, offset, cpu, current: Tid::UNKNOWN, what: EventKind::Loss(span) });
        }
        (!no_cpu).then_some(BundleEnd { cpu, last })
    }

    fn cpu_state(&mut self, cpu: CpuId) -> CpuState {
        let at = cpu.0 as usize;
        if at >= self.cpu_states.len() {
            self.cpu_states.resize(at + 1, CpuState::NEW);
        }
        self.cpu_states[at]
    }

    fn shift_of(&mut self, head: &Head<'_>) -> i64 {
        if head.clock == CLOCK_OF_BOOT {
            return 0;
        }
        let has_both = head.ftrace != 0 && head.boot != 0;
        if self.shift.is_none() && has_both {
            self.shift = head.boot.checked_sub(head.ftrace).filter(|s| time(s.unsigned_abs()).is_some());
        }
        self.shift.unwrap_or(0)
    }
}

/// Marks the running thread of a CPU as unknown.
fn forget_running(cpu_state: &mut CpuState) {
    (cpu_state.current, cpu_state.prio) = (Tid::UNKNOWN, Prio::UNKNOWN);
}

/// Tracks the running thread, and sets it as the waker of compact wakeups, which do not contain it.
fn track_running(cpu_state: &mut CpuState, events: &mut [Event]) {
    for event in events {
        match &mut event.what {
            EventKind::Switch(s) => (cpu_state.current, cpu_state.prio) = (s.next, s.next_prio),
            EventKind::Wake(w) if w.waker == Tid::UNKNOWN => w.waker = cpu_state.current,
            _ => {}
        }
    }
}
