//! Turns records into events.

use super::frames::{Frames, Record};
use super::header::{self, Attr, Header};
use super::losses::Losses;
use super::mappings::Mappings;
use super::reach::Reached;
use super::sample::{Layout, Sample, Stamp};
use super::stacks::{Mode, Stacks};
use super::throttling::{Subject, Throttling};
use super::user_stack::{Unwinder, UserStack};
use crate::sampled::IDLE_SAMPLE;
use crate::tracepoint::table::Reader;
use crate::tracepoint::{ByteOrder, Decoder, EventFormat, Names};
use ingest::{Anomaly, BATCH, Fatal, Ledger, Reach, Stream};
use model::{
    Batch, CallchainEnd, CpuId, Event, EventKind, MaybeNs, NameId, Ns, Pid, Prio, StackId, Switch, SwitchOut, Tid,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The number of threads in the cache of processes.
const RECENT_SLOTS: usize = 4096;
/// Bits of a SWITCH record's `misc`: a switch-out, and a switch-out of a thread that could still run.
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// The events of a perf.data.
pub(super) struct PerfStream<'a> {
    frames: Frames<'a>,
    records: Records,
}

/// The state kept while records are read.
struct Records {
    order: ByteOrder,
    layouts: Layouts,
    cpu_of_id: FxHashMap<u64, CpuId>,
    mappings: Mappings,
    decoder: Decoder,
    names: Names,
    /// The process of each thread, as far as it has been reported.
    processes: FxHashMap<Tid, Pid>,
    /// The process in the last sample of each thread, by the low bits of its TID: it rarely changes.
    recent_processes: Vec<(Tid, Pid)>,
    stacks: Stacks,
    unwinder: Unwinder,
    losses: Losses,
    throttling: Throttling,
    /// Whether the events are those of CPUs, and not of threads.
    whole_machine: bool,
    /// Whether switch records are used, because there is no `sched_switch`.
    switch_records: bool,
    /// Whether the PREEMPT bit of switch records can be trusted (Linux 4.17).
    preempt_recorded: bool,
    reached: Reached,
    /// The size of an unused payload that follows the record just read.
    payload: usize,
}

/// The layout of each attribute's records.
pub(super) enum Layouts {
    /// All layouts are the same, which is the usual case.
    One(Layout),
    /// By ID, whose place in a sample is the same for all.
    ById { layouts: Vec<Layout>, of_id: ById, at: usize, from_end: usize },
}

/// The index of each ID's layout. It is looked up for every sample, and the kernel numbers the events of a recording
/// consecutively.
pub(super) struct ById {
    first: u64,
    /// The indexes of the IDs close to the first.
    dense: Vec<Option<usize>>,
    /// The indexes of the IDs far from the first.
    sparse: FxHashMap<u64, usize>,
}

impl ById {
    fn of(attrs: &[Attr]) -> Self {
        Self::new(attrs.iter().enumerate().flat_map(|(at, a)| a.ids.iter().map(move |id| (*id, at))))
    }

    pub(super) fn new(all: impl Iterator<Item = (u64, usize)> + Clone) -> Self {
        let first = all.clone().map(|(id, _)| id).min().unwrap_or(0);
        let places =
            all.clone().map(|(id, _)| id - first).filter(|place| *place < MAX_DENSE).max().map_or(0, |last| last + 1);
        let mut by_id = Self { first, dense: vec![None; places as usize], sparse: FxHashMap::default() };
        for (id, at) in all {
            match by_id.dense.get_mut((id - by_id.first) as usize) {
                Some(dense) => *dense = Some(at),
                None => {
                    by_id.sparse.insert(id, at);
                }
            }
        }
        by_id
    }

    #[inline]
    pub(super) fn get(&self, id: u64) -> Option<usize> {
        match self.dense.get(id.wrapping_sub(self.first) as usize) {
            Some(dense) => *dense,
            None => self.sparse.get(&id).copied(),
        }
    }
}

/// The number of IDs that are looked up by index: those of some hundred CPUs and events.
const MAX_DENSE: u64 = 1 << 14;

impl Layouts {
    pub(super) fn of(attrs: &[Attr]) -> Result<Self, Fatal> {
        let layouts: Vec<Layout> = attrs.iter().map(Layout::of).collect();
        let Some(first) = layouts.first() else {
            return Err(Fatal::new("perf.data contains no event descriptions", 0));
        };
        if layouts.iter().all(|l| l == first) {
            return Ok(Self::One(*first));
        }
        let types = || attrs.iter().map(|a| a.sample_type);
        let of_id = ById::of(attrs);
        if types().all(|t| t & 1 << 16 != 0) {
            return Ok(Self::ById { layouts, of_id, at: 0, from_end: 8 }); // IDENTIFIER is first, or last
        }
        let before_id = types().map(|t| (t & 0b1111).count_ones() as usize * 8).next().unwrap_or(0);
        let after_id = types().map(|t| (t & (1 << 7 | 1 << 9)).count_ones() as usize * 8 + 8).next().unwrap_or(0);
        let same = types().all(|t| t & 1 << 6 != 0 && (t & 0b1111).count_ones() as usize * 8 == before_id);
        if same {
            return Ok(Self::ById { layouts, of_id, at: before_id, from_end: after_id });
        }
        Err(Fatal::new("the events have different layouts but no IDs, so they cannot be distinguished", 0))
    }

    #[inline]
    pub(super) fn get(&self, body: &[u8], order: ByteOrder, is_sample: bool) -> Option<&Layout> {
        match self {
            Self::One(layout) => Some(layout),
            Self::ById { layouts, of_id, at, from_end } => {
                let place = if is_sample { *at } else { body.len().checked_sub(*from_end)? };
                layouts.get(of_id.get(order.u64_at(body, place)?)?)
            }
        }
    }
}

impl<'a> PerfStream<'a> {
    pub(super) fn new(
        frames: Frames<'a>,
        header: Header,
        formats: &[EventFormat],
        whole_machine: bool,
    ) -> Result<Self, Fatal> {
        let layouts = Layouts::of(&header.attrs)?;
        let timed = match &layouts {
            Layouts::One(layout) => layout.has_time(),
            Layouts::ById { layouts, .. } => layouts.iter().any(Layout::has_time),
        };
        if !timed {
            let what = "perf.data contains no times: record with `perf sched record`, or `perf record -T`";
            return Err(Fatal::new(what, 0));
        }
        let mut decoder = Decoder::new(Reader::PerfData, header.order);
        decoder.set_machine(super::features::arch(&header).as_deref());
        let mut has_switch = false;
        for format in formats {
            decoder.learn(format);
            has_switch |= format.name == "sched_switch"
                && header.attrs.iter().any(|a| a.is_tracepoint() && a.config == u64::from(format.id));
        }
        let unwinder = Unwinder::new(&header);
        let preempt_recorded = super::features::kernel_at_least(&header, 4, 17);
        let records = Records {
            order: header.order,
            layouts,
            reached: header.reached(),
            cpu_of_id: header.cpu_of_id,
            mappings: header.mappings,
            decoder,
            names: Names::new(),
            processes: FxHashMap::default(),
            recent_processes: vec![(Tid::UNKNOWN, Pid::UNKNOWN); RECENT_SLOTS],
            stacks: Stacks::default(),
            unwinder,
            losses: Losses::default(),
            throttling: Throttling::new(
                header.attrs.iter().map(|attr| attr.name.clone()).collect(),
                ById::of(&header.attrs),
            ),
            whole_machine,
            switch_records: !has_switch,
            preempt_recorded,
            payload: 0,
        };
        Ok(Self { frames, records })
    }
}

impl Stream for PerfStream<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        while out.events.len() < BATCH {
            let round = match self.frames.peek()? {
                Some(record) => self.records.read(&record, out, bad),
                None => {
                    self.records.gaps(&mut self.frames, bad);
                    self.records.end(out);
                    return Ok(Reach::End);
                }
            };
            self.frames.take();
            if self.frames.has_gaps() {
                self.records.gaps(&mut self.frames, bad);
            }
            if self.records.payload > 0 {
                self.frames.skip_payload(std::mem::take(&mut self.records.payload))?;
            }
            if round {
                let until = self.records.reached.round();
                self.records.throttling.settle(until);
                return Ok(Reach::Until(MaybeNs::new(until)));
            }
        }
        Ok(Reach::Until(MaybeNs::new(self.records.reached.within_round())))
    }

    fn unwind_by(&mut self, tables: &Arc<dyn unwind::Tables>) {
        self.records.unwinder.unwind_by(tables);
    }
}

impl Records {
    /// Reads one record; `true` for a round mark.
    #[inline]
    fn read(&mut self, record: &Record<'_>, out: &mut Batch, bad: &mut dyn Ledger) -> bool {
        let read = match record.kind {
            header::SAMPLE => self.sample(record, out, bad),
            header::FINISHED_ROUND => return true,
            header::SWITCH | header::SWITCH_CPU_WIDE => self.switch(record, out),
            header::COMM => self.comm(record, out),
            header::FORK => self.fork(record, out),
            header::LOST => self.lost(record),
            header::THROTTLE | header::UNTHROTTLE => self.throttle(record),
            header::LOST_SAMPLES => self.lost_samples(record),
            header::AUXTRACE => {
                self.payload = self.order.u64_at(record.body, 0).and_then(|s| usize::try_from(s).ok()).unwrap_or(0);
                Some(())
            }
            _ => Some(()),
        };
        if read.is_none() {
            bad.anomaly("a record cannot be read", record.offset, Anomaly::Lost);
            if matches!(record.kind, header::SAMPLE | header::SWITCH | header::SWITCH_CPU_WIDE) {
                self.losses.unreadable(record.offset);
            }
        }
        false
    }

    #[inline]
    fn sample(&mut self, record: &Record<'_>, out: &mut Batch, bad: &mut dyn Ledger) -> Option<()> {
        let layout = self.layouts.get(record.body, self.order, true)?;
        let Sample { stamp, chain, raw, ip, core, user } = layout.sample(record.body, self.order)?;
        let profiled = ip.filter(|_| stamp.tid.0 > 0);
        if raw.is_none() && ip.is_some() && stamp.tid == Tid::IDLE {
            bad.anomaly(IDLE_SAMPLE, record.offset, Anomaly::Warning);
        }
        let (mut stack, mode) = (StackId::NONE, Mode::of_record(record.misc));
        let has_stack = profiled.is_some() || raw.is_some_and(|r| self.decoder.is_switch(r));
        let unwound = if has_stack && user.any() { self.unwound(&user, chain, (stamp, mode, ip), out) } else { None };
        if let Some(unwound) = unwound {
            stack = unwound;
        } else if !chain.is_empty() && has_stack {
            stack = self.stack(chain, (stamp, mode), out);
        } else if let Some(ip) = profiled {
            stack = self.stacks.id(
                std::iter::once(ip),
                CallchainEnd::Unknown,
                (stamp, mode),
                &mut self.mappings,
                &mut self.names,
                out,
            );
        }
        let (at, offset, cpu, current) = (stamp.at, record.offset, stamp.cpu, stamp.tid);
        let event = Event { at, offset, cpu, current, what: EventKind::Sample };
        let from = out.events.len();
        match raw {
            Some(raw) => self.decoder.decode(raw, event, stack, &mut self.names, out).ok()?,
            None if profiled.is_some() => {
                let what = EventKind::CpuSample { tid: stamp.tid, stack, name: NameId::NONE, core };
                out.events.push(Event { what, ..event });
            }
            None => out.events.push(event),
        }
        self.insert_process_and_loss(stamp, offset, from, out);
        Some(())
    }

    /// Called after an event was added: inserts before it the process of its thread and the loss that it ends.
    #[inline]
    fn insert_process_and_loss(&mut self, stamp: Stamp, offset: u64, from: usize, out: &mut Batch) {
        self.reached.add(stamp.cpu, stamp.at);
        let (process, loss) = (self.process(stamp, offset), self.losses.delivered(stamp.cpu, stamp.at));
        if process.is_some() || loss.is_some() {
            out.events.splice(from..from, process.into_iter().chain(loss));
        }
    }

    /// Returns an event with the process of the current task, if that is new.
    #[inline]
    fn process(&mut self, stamp: Stamp, offset: u64) -> Option<Event> {
        if self.recent_processes.get(stamp.tid.0 as usize % RECENT_SLOTS) == Some(&(stamp.tid, stamp.pid)) {
            return None;
        }
        let new = stamp.pid.0 > 0 && stamp.tid.0 > 0 && self.is_new_process(stamp.tid, stamp.pid);
        let what = EventKind::Name { tid: stamp.tid, pid: stamp.pid, name: NameId::NONE };
        new.then_some(Event { at: stamp.at, offset, cpu: stamp.cpu, current: Tid::UNKNOWN, what })
    }

    /// Stores the process of a thread, and returns whether it is new.
    #[cold]
    fn is_new_process(&mut self, tid: Tid, pid: Pid) -> bool {
        if let Some(recent) = self.recent_processes.get_mut(tid.0 as usize % RECENT_SLOTS) {
            *recent = (tid, pid);
        }
        self.processes.insert(tid, pid) != Some(pid)
    }

    /// pid, tid, then the name.
    fn comm(&mut self, record: &Record<'_>, out: &mut Batch) -> Option<()> {
        let (pid, tid) = (self.order.u32_at(record.body, 0)?, self.order.u32_at(record.body, 4)?);
        let layout = self.layouts.get(record.body, self.order, false);
        let stamp = layout.and_then(|l| l.trailing_stamp(record.body, self.order));
        let end = record.body.len() - layout.map_or(0, |l| l.id_size).min(record.body.len());
        let name = record.body.get(8..end)?.split(|b| *b == 0).next()?;
        let (pid, tid) = (Pid(pid as i32), Tid(tid as i32));
        let name = self.names.id(name, out);
        self.is_new_process(tid, pid);
        self.side_band(stamp, Tid::UNKNOWN, EventKind::Name { tid, pid, name }, record.offset, out);
        Some(())
    }

    /// pid, parent's pid, tid, parent's tid, time.
    fn fork(&mut self, record: &Record<'_>, out: &mut Batch) -> Option<()> {
        let (pid, tid) = (self.order.u32_at(record.body, 0)?, self.order.u32_at(record.body, 8)?);
        let (pid, tid) = (Pid(pid as i32), Tid(tid as i32));
        let parent = Tid(self.order.u32_at(record.body, 12)? as i32);
        let stamp =
            self.layouts.get(record.body, self.order, false).and_then(|l| l.trailing_stamp(record.body, self.order));
        self.is_new_process(tid, pid);
        self.side_band(stamp, parent, EventKind::Name { tid, pid, name: NameId::NONE }, record.offset, out);
        Some(())
    }

    /// perf records the threads that existed before it started with a time of 0: they hold from the start.
    fn side_band(&mut self, stamp: Option<Stamp>, current: Tid, what: EventKind, offset: u64, out: &mut Batch) {
        let stamp = stamp.filter(|s| s.at.0 > 0);
        let (at, cpu, current) = stamp.map_or((Ns::MIN, CpuId(0), Tid::UNKNOWN), |s| (s.at, s.cpu, current));
        if matches!(what, EventKind::Name { tid, .. } if tid.0 > 0) {
            out.events.push(Event { at, offset, cpu, current, what });
        }
    }

    /// A switch record contains one side: the thread that left or the thread that came.
    fn switch(&mut self, record: &Record<'_>, out: &mut Batch) -> Option<()> {
        if !self.switch_records {
            return Some(());
        }
        let stamp = self.layouts.get(record.body, self.order, false)?.trailing_stamp(record.body, self.order)?;
        let leaves = record.misc & SWITCH_OUT != 0;
        let preempted = record.misc & SWITCH_OUT_PREEMPT != 0;
        self.preempt_recorded |= preempted;
        let out_state = match (preempted, self.preempt_recorded) {
            (true, _) => SwitchOut::Preempted,
            (false, true) => SwitchOut::Blocked,
            (false, false) => SwitchOut::NotRecorded,
        };
        let (prev, next) = if leaves { (stamp.tid, Tid::UNKNOWN) } else { (Tid::UNKNOWN, stamp.tid) };
        let what = EventKind::Switch(Switch {
            prev,
            next,
            prev_name: NameId::NONE,
            next_name: NameId::NONE,
            stack: StackId::NONE,
            prev_state: 0,
            prev_prio: Prio::UNKNOWN,
            next_prio: Prio::UNKNOWN,
            out: out_state,
            state_letter: if preempted { b'R' } else { b'?' },
            prev_exec: MaybeNs::NONE,
        });
        let from = out.events.len();
        out.events.push(Event { at: stamp.at, offset: record.offset, cpu: stamp.cpu, current: Tid::UNKNOWN, what });
        self.insert_process_and_loss(stamp, record.offset, from, out);
        Some(())
    }

    /// id, number of events.
    fn lost(&mut self, record: &Record<'_>) -> Option<()> {
        let (id, events) = (self.order.u64_at(record.body, 0)?, self.order.u64_at(record.body, 8)?);
        let stamp =
            self.layouts.get(record.body, self.order, false).and_then(|l| l.trailing_stamp(record.body, self.order));
        let cpu = stamp.map(|s| s.cpu).or_else(|| self.cpu_of_id.get(&id).copied());
        match cpu {
            Some(cpu) => self.losses.lost(cpu, events, record.offset),
            None => self.losses.lost_in_all(events),
        }
        Some(())
    }

    /// The number of events; without a time, it is perf's own sum at the end.
    fn lost_samples(&mut self, record: &Record<'_>) -> Option<()> {
        let events = self.order.u64_at(record.body, 0)?;
        let stamp =
            self.layouts.get(record.body, self.order, false).and_then(|l| l.trailing_stamp(record.body, self.order));
        match stamp.filter(|s| s.at.0 > 0) {
            Some(stamp) => self.losses.lost(stamp.cpu, events, record.offset),
            None => self.losses.lost_in_all(events),
        }
        Some(())
    }

    /// time, id, stream id.
    fn throttle(&mut self, record: &Record<'_>) -> Option<()> {
        let (at, id) = (self.order.u64_at(record.body, 0)?, self.order.u64_at(record.body, 8)?);
        let at = Ns(i64::try_from(at).ok()?);
        let stamp =
            self.layouts.get(record.body, self.order, false).and_then(|l| l.trailing_stamp(record.body, self.order));
        let of_stamp = stamp.map(|s| s.cpu).filter(|cpu| *cpu != CpuId::UNKNOWN);
        let cpu = of_stamp.or_else(|| self.cpu_of_id.get(&id).copied()).filter(|_| self.whole_machine);
        let tid = stamp.map(|s| s.tid.0).filter(|tid| *tid > 0 && cpu.is_none());
        let of = Subject { event: self.throttling.event(id), cpu: cpu.map(|cpu| cpu.0), tid };
        self.throttling.add(at, of, record.kind == header::THROTTLE);
        Some(())
    }

    fn stack(&mut self, chain: &[u8], place: (Stamp, Mode), out: &mut Batch) -> StackId {
        let order = self.order;
        let addresses = chain.chunks_exact(8).filter_map(|b| order.u64_at(b, 0));
        self.stacks.id(addresses, CallchainEnd::Unknown, place, &mut self.mappings, &mut self.names, out)
    }

    /// Returns the callchain of a sample that has the program's part in another form.
    #[cold]
    fn unwound(
        &mut self,
        user: &UserStack<'_>,
        chain: &[u8],
        (stamp, mode, ip): (Stamp, Mode, Option<u64>),
        out: &mut Batch,
    ) -> Option<StackId> {
        let order = self.order;
        let chain = chain.chunks_exact(8).filter_map(|b| order.u64_at(b, 0));
        let (addresses, end) = self.unwinder.chain(user, chain, (stamp, mode, ip), &mut self.mappings)?;
        let addresses = addresses.iter().copied();
        Some(self.stacks.id(addresses, end, (stamp, mode), &mut self.mappings, &mut self.names, out))
    }

    /// Unreadable bytes are lost events. They may be of any CPU, from its last event before to its next one after.
    fn gaps(&mut self, frames: &mut Frames<'_>, bad: &mut dyn Ledger) {
        for gap in frames.gaps() {
            bad.anomaly(gap.what, gap.offset, Anomaly::Lost);
            self.losses.unreadable(gap.offset);
        }
    }

    fn end(&mut self, out: &mut Batch) {
        self.unwinder.end();
        out.events.extend(self.losses.at_end(self.reached.latest(), 0));
        out.sampling_off = self.throttling.finish(self.reached.latest());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_close_to_the_first_and_far_from_it_are_found() {
        let all = [(70, 0), (72, 1), (69 + MAX_DENSE, 2), (70 + MAX_DENSE, 3), (u64::MAX, 4)];
        let by_id = ById::new(all.into_iter());
        assert!(all.iter().all(|(id, at)| by_id.get(*id) == Some(*at)));
        assert!([0, 69, 71, 71 + MAX_DENSE].iter().all(|id| by_id.get(*id).is_none()));
        assert_eq!(ById::new(std::iter::empty()).get(0), None);
    }
}
