//! Bundles of kernel events: `protos/perfetto/trace/ftrace/ftrace_event_bundle.proto`. One holds what was read of one CPU's
//! buffer at once, in time order, as messages (`event`), as columns (`compact_sched`), or both.

use super::clocks::time;
use super::ftrace::{self, Kernel};
use super::wire::{Broken, Fields};
use crate::tracepoint::Names;
use ingest::{Ledger, Trouble};
use model::{Batch, CpuId, Event, LossSpan, MaybeCount, MaybeNs, Ns, Prio, Tid, What};

/// No machine has more CPUs.
const MOST_CPUS: u32 = 1 << 14;
/// `FtraceClock`: the kernel's `boot` clock is not in the list; it is what is meant where no clock is named.
const CLOCK_OF_BOOT: u64 = 0;

/// What is known of a CPU between its bundles.
#[derive(Clone, Copy)]
pub(super) struct Lane {
    /// Its last event.
    pub(super) last: Ns,
    /// Who runs there, by its last switch.
    pub(super) current: Tid,
    pub(super) prio: Prio,
}

impl Lane {
    const NEW: Self = Self { last: Ns::MIN, current: Tid::UNKNOWN, prio: Prio::UNKNOWN };
}

/// All CPUs' bundles.
pub(super) struct Bundles {
    pub(super) kernel: Kernel,
    lanes: Vec<Lane>,
    /// What must be added to times of a clock other than boot's; the first bundle that tells both decides, so that
    /// durations stay those that the kernel measured.
    shift: Option<i64>,
    /// Packets of the sequence that carries bundles were lost since this time.
    dropped: Option<Ns>,
    latest: Ns,
}

/// What a bundle was.
pub(super) struct Met {
    pub(super) cpu: CpuId,
    /// Its last event.
    pub(super) last: Ns,
}

/// A bundle's own words.
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
    fn of(bundle: &'a [u8]) -> Result<Self, Broken> {
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
        Self { kernel, lanes: Vec::new(), shift: None, dropped: None, latest: Ns::MIN }
    }

    /// The latest event of any CPU.
    pub(super) fn latest(&self) -> Ns {
        self.latest
    }

    /// Packets that may have held bundles were lost here.
    pub(super) fn dropped(&mut self) {
        if self.latest != Ns::MIN {
            self.dropped.get_or_insert(self.latest);
            self.lanes.iter_mut().for_each(forget);
        }
    }

    /// Reads a bundle; `None` where it holds no event.
    pub(super) fn read(
        &mut self,
        bundle: &[u8],
        offset: u64,
        names: &mut Names,
        out: &mut Batch,
        bad: &mut dyn Ledger,
    ) -> Option<Met> {
        let Ok(head) = Head::of(bundle) else {
            bad.trouble("a bundle of kernel events that is damaged", offset, Trouble::Lost);
            return None;
        };
        let nowhere = head.cpu.is_none() && self.kernel.own;
        let number = head.cpu.unwrap_or(0);
        if number >= MOST_CPUS {
            bad.trouble("a bundle of kernel events of a CPU that no machine has", offset, Trouble::Lost);
            return None;
        }
        let cpu = if nowhere { CpuId::UNKNOWN } else { CpuId(number) };
        let mut lane = if nowhere { Lane::NEW } else { self.lane(cpu) };
        let before = lane.last;
        if head.lost {
            forget(&mut lane);
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
                    Err(Broken) => bad.trouble("a kernel event that is damaged", offset, Trouble::Lost),
                }
            }
        }
        if let Some(columns) = head.compact {
            let place = ftrace::Place { cpu, offset, shift };
            if super::compact::read(columns, place, &self.kernel.states, &mut lane, names, out).is_err() {
                bad.trouble("a bundle of packed switches that is damaged", offset, Trouble::Lost);
            }
        }
        let events = out.events.get_mut(start..).unwrap_or_default();
        if !events.is_sorted_by_key(|e| e.at) {
            events.sort_by_key(|e| e.at); // keeps the order within an instant
        }
        if !self.kernel.own {
            follow(&mut lane, events);
        }
        let ends = events.first().zip(events.last()).map(|(first, last)| (first.at, last.at));
        lane.last = lane.last.max(ends.map_or(Ns::MIN, |e| e.1));
        if let Some(slot) = self.lanes.get_mut(cpu.0 as usize) {
            *slot = lane;
        }
        let (first, last) = ends?;
        self.latest = self.latest.max(last);
        if head.lost {
            let (from, to) = (MaybeNs::new(before), MaybeNs::new(first));
            let span = LossSpan { from, to, cpu: Some(cpu), events: MaybeCount::UNKNOWN };
            out.events.push(Event { at: first, offset, cpu, current: Tid::UNKNOWN, what: What::Loss(span) });
        }
        if let Some(from) = self.dropped.take() {
            let (from, to) = (MaybeNs::new(from.min(first)), MaybeNs::new(first));
            let span = LossSpan { from, to, cpu: None, events: MaybeCount::UNKNOWN };
            out.events.push(Event { at: first, offset, cpu, current: Tid::UNKNOWN, what: What::Loss(span) });
        }
        (!nowhere).then_some(Met { cpu, last })
    }

    fn lane(&mut self, cpu: CpuId) -> Lane {
        let at = cpu.0 as usize;
        if at >= self.lanes.len() {
            self.lanes.resize(at + 1, Lane::NEW);
        }
        self.lanes[at]
    }

    fn shift_of(&mut self, head: &Head<'_>) -> i64 {
        if head.clock == CLOCK_OF_BOOT {
            return 0;
        }
        let told = head.ftrace != 0 && head.boot != 0;
        if self.shift.is_none() && told {
            self.shift = head.boot.checked_sub(head.ftrace).filter(|s| time(s.unsigned_abs()).is_some());
        }
        self.shift.unwrap_or(0)
    }
}

/// Nobody knows any more who runs there.
fn forget(lane: &mut Lane) {
    (lane.current, lane.prio) = (Tid::UNKNOWN, Prio::UNKNOWN);
}

/// Keeps who runs there, and tells it to the wakings that came as columns, which do not say who woke.
fn follow(lane: &mut Lane, events: &mut [Event]) {
    for event in events {
        match &mut event.what {
            What::Switch(s) => (lane.current, lane.prio) = (s.next, s.next_prio),
            What::Wake(w) if w.waker == Tid::UNKNOWN => w.waker = lane.current,
            _ => {}
        }
    }
}
