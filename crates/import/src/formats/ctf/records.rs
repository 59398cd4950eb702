//! Turns a packet's bytes into events.

use super::clock::Clock;
use super::compile::{CLOCK, CLOCK_BITS, ID};
use super::kinds::{Kind, Record};
use super::layout::{Class, EventLayout, Layouts};
use super::losses::Losses;
use super::program::Short;
use crate::tracepoint::Names;
use model::{Batch, CpuId, Event, EventKind, NameId, Ns, Pid, Tid};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The maximum number of threads whose process and name are remembered.
const MAX_THREADS: usize = 1 << 20;

/// The state kept while a stream's records are read.
pub(super) struct Records {
    pub(super) layouts: Arc<Layouts>,
    pub(super) values: Vec<u64>,
    pub(super) names: Names,
    pub(super) losses: Losses,
    /// The clock's last reading, and its time.
    pub(super) clock: u64,
    pub(super) now: Ns,
    /// The CPU of the packet.
    pub(super) cpu: CpuId,
    /// The thread that runs, and its CPU, according to the last switch.
    running: (CpuId, Tid),
    /// Each thread's process and name according to contexts, and the last context: the next one is usually the same.
    contexts: FxHashMap<Tid, (Pid, NameId)>,
    last_context: (Tid, Pid, NameId),
}

/// The part of a packet that is in the window.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// The bit after its last one in the window.
    pub(super) end: usize,
    /// The bit after the packet's last one, from the window's first byte.
    pub(super) remaining: u64,
    /// The offset of its first byte in the file.
    pub(super) offset: u64,
}

/// Why reading records stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// The batch is full.
    Full,
    /// The window ends here, or within the next record.
    Short,
    /// The rest of this packet cannot be read.
    Bad(&'static str),
}

impl Records {
    pub(super) fn new(layouts: Arc<Layouts>) -> Self {
        Self {
            values: vec![0; layouts.slots],
            layouts,
            names: Names::new(),
            losses: Losses::new(),
            clock: 0,
            now: Ns::MIN,
            cpu: CpuId::UNKNOWN,
            running: (CpuId::UNKNOWN, Tid::UNKNOWN),
            contexts: FxHashMap::default(),
            last_context: (Tid::UNKNOWN, Pid::UNKNOWN, NameId::NONE),
        }
    }

    /// Reads records from bit `at`, which it advances, until there are `limit` events.
    pub(super) fn read(
        &mut self,
        stream: u64,
        bytes: &[u8],
        at: &mut usize,
        part: Part,
        out: &mut Batch,
        limit: usize,
    ) -> Stop {
        let layouts = self.layouts.clone();
        let Some(class) = layouts.class(stream) else {
            return Stop::Bad("a packet belongs to a stream that the metadata does not declare");
        };
        while out.events.len() < limit {
            if *at >= part.end {
                return Stop::Short;
            }
            match self.record(class, bytes, *at, part, out) {
                Ok(after) => *at = after,
                Err(stop) => return stop,
            }
        }
        Stop::Full
    }

    /// Reads one record and returns the bit after it.
    #[inline]
    fn record(&mut self, class: &Class, bytes: &[u8], at: usize, part: Part, out: &mut Batch) -> Result<usize, Stop> {
        let short = |_: Short| Stop::Short;
        if let Some(place) = self.values.get_mut(CLOCK_BITS) {
            *place = 0;
        }
        let body = class.header.run(bytes, at, part.end, &mut self.values).map_err(short)?;
        let value = |values: &[u64], slot: usize| values.get(slot).copied().unwrap_or(0);
        let clock = Clock::wrapped(self.clock, value(&self.values, CLOCK), value(&self.values, CLOCK_BITS));
        let id = value(&self.values, ID);
        let layout = class.event(id).ok_or(Stop::Bad("an event is not declared in the metadata"))?;
        let program = layout.program.as_ref().ok_or(Stop::Bad("an event has types that cannot be read"))?;
        let after = program.run(bytes, body, part.end, &mut self.values).map_err(short)?;
        if after == at {
            return Err(Stop::Bad("an event has no content"));
        }
        let now = class.clock.ns(clock).ok_or(Stop::Bad("a time exceeds 64 bits of nanoseconds"))?;
        (self.clock, self.now) = (clock, now);
        let offset = part.offset + at as u64 / 8;
        if layout.side_band {
            self.side_band(layout, bytes, offset, out);
            return Ok(after);
        }
        let left = part.remaining.saturating_sub(after as u64);
        if let Some(loss) = self.losses.delivered(now, (after - at) as u64, left) {
            self.running = (CpuId::UNKNOWN, Tid::UNKNOWN);
            out.events.push(loss);
        }
        self.event(layout, bytes, offset, out);
        Ok(after)
    }

    /// A name with time 0 holds from the start.
    fn side_band(&mut self, layout: &EventLayout, bytes: &[u8], offset: u64, out: &mut Batch) {
        let at = if self.clock == 0 { Ns::MIN } else { self.now };
        let record = Record { bytes, values: &self.values, at, current: Tid::UNKNOWN };
        if let Some(kind) = &layout.kind {
            let cpu = if self.cpu == CpuId::UNKNOWN { CpuId(0) } else { self.cpu };
            let event = Event { at, offset, cpu, current: Tid::UNKNOWN, what: EventKind::Sample };
            record.add(kind, event, &self.layouts.states, &mut self.names, out);
        }
    }

    #[inline]
    fn event(&mut self, layout: &EventLayout, bytes: &[u8], offset: u64, out: &mut Batch) {
        let mut record = Record { bytes, values: &self.values, at: self.now, current: Tid::UNKNOWN };
        let cpu = layout.cpu.map_or(self.cpu, |slot| CpuId(record.value(slot) as u32));
        let (at, mut event) =
            (self.now, Event { at: self.now, offset, cpu, current: Tid::UNKNOWN, what: EventKind::Sample });
        if let Some(slot) = layout.tid {
            record.current = record.tid(slot);
            event.current = record.current;
            let pid = layout.pid.map_or(Pid::UNKNOWN, |slot| Pid(record.value(slot) as i32));
            let name = match layout.name {
                Some(slot) => record.comm(record.current, slot, &mut self.names, out),
                None => NameId::NONE,
            };
            let context = (record.current, pid, name);
            if context != self.last_context {
                self.last_context = context;
                out.events.extend(changed(&mut self.contexts, context).map(|what| Event {
                    at,
                    offset,
                    cpu,
                    current: Tid::UNKNOWN,
                    what,
                }));
            }
        } else if self.running.0 == cpu {
            record.current = self.running.1;
        }
        let Some(kind) = &layout.kind else { return out.events.push(event) };
        record.add(kind, event, &self.layouts.states, &mut self.names, out);
        if let (Kind::Switch { .. }, Some(Event { what: EventKind::Switch(switch), .. })) = (kind, out.events.last()) {
            self.running = (cpu, switch.next);
        }
        if matches!(kind, Kind::Named { .. }) {
            // The name is side-band data, but a CPU wrote this record at this time.
            out.events.push(event);
        }
    }
}

/// Returns what a context states about a thread, if it differs from before.
fn changed(known: &mut FxHashMap<Tid, (Pid, NameId)>, (tid, pid, name): (Tid, Pid, NameId)) -> Option<EventKind> {
    if tid.0 <= 0 || (pid.0 <= 0 && name == NameId::NONE) {
        return None;
    }
    if known.len() >= MAX_THREADS {
        known.clear();
    }
    let pid = if pid.0 > 0 { pid } else { Pid::UNKNOWN };
    (known.insert(tid, (pid, name)) != Some((pid, name))).then_some(EventKind::Name { tid, pid, name })
}
