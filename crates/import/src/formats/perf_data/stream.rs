//! From records to events.

use super::frames::{Frames, Record};
use super::header::{self, Attr, Header};
use super::losses::Losses;
use super::mappings::Mappings;
use super::reach::Reached;
use super::sample::{Layout, Sample, Stamp};
use super::stacks::Stacks;
use crate::tracepoint::table::Reader;
use crate::tracepoint::{ByteOrder, Decoder, EventFormat, Names};
use ingest::{BATCH, Fatal, Ledger, Reach, Stream, Trouble};
use model::{Batch, CpuId, Event, MaybeNs, NameId, Ns, Pid, Prio, StackId, Switch, SwitchOut, Tid, What};
use rustc_hash::FxHashMap;

/// Threads whose process is told without a map.
const RECENT: usize = 4096;
/// Bits of a SWITCH record's `misc`: switched out, and while it could still run.
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// A perf.data's events.
pub(super) struct PerfStream<'a> {
    frames: Frames<'a>,
    records: Records,
}

/// What is known while records are read.
struct Records {
    order: ByteOrder,
    layouts: Layouts,
    cpu_of_id: FxHashMap<u64, CpuId>,
    mappings: Mappings,
    decoder: Decoder,
    names: Names,
    /// The process of each thread, as far as it was told to others.
    processes: FxHashMap<Tid, Pid>,
    /// Of the last sample of each thread, by the low bits of its number: it seldom tells anything new.
    recent_processes: Vec<(Tid, Pid)>,
    stacks: Stacks,
    losses: Losses,
    /// Switch records count where there is no `sched_switch`.
    switch_records: bool,
    /// Whether the PREEMPT bit of switch records can be trusted (Linux 4.17).
    preempt_told: bool,
    reached: Reached,
    /// Bytes that follow the record just read and are of no use here.
    aside: usize,
}

/// The layout of each attribute's records.
pub(super) enum Layouts {
    /// All alike, which is the rule.
    One(Layout),
    /// By id, whose place in a sample is the same for all.
    ById { layouts: Vec<Layout>, of_id: ById, at: usize, from_end: usize },
}

/// The place of each id's layout. Every sample asks, and the kernel numbers the events of one recording in a row.
pub(super) struct ById {
    first: u64,
    near: Vec<Option<usize>>,
    /// What is numbered far from the first.
    far: FxHashMap<u64, usize>,
}

impl ById {
    fn new(all: impl Iterator<Item = (u64, usize)> + Clone) -> Self {
        let first = all.clone().map(|(id, _)| id).min().unwrap_or(0);
        let places =
            all.clone().map(|(id, _)| id - first).filter(|place| *place < NEAR).max().map_or(0, |last| last + 1);
        let mut by_id = Self { first, near: vec![None; places as usize], far: FxHashMap::default() };
        for (id, at) in all {
            match by_id.near.get_mut((id - by_id.first) as usize) {
                Some(near) => *near = Some(at),
                None => {
                    by_id.far.insert(id, at);
                }
            }
        }
        by_id
    }

    #[inline]
    fn get(&self, id: u64) -> Option<usize> {
        match self.near.get(id.wrapping_sub(self.first) as usize) {
            Some(near) => *near,
            None => self.far.get(&id).copied(),
        }
    }
}

/// Ids that are looked up by place: those of some hundred CPUs and events.
const NEAR: u64 = 1 << 14;

impl Layouts {
    pub(super) fn of(attrs: &[Attr]) -> Result<Self, Fatal> {
        let layouts: Vec<Layout> = attrs.iter().map(Layout::of).collect();
        let Some(first) = layouts.first() else { return Err(Fatal::new("perf.data without any event description", 0)) };
        if layouts.iter().all(|l| l == first) {
            return Ok(Self::One(*first));
        }
        let types = || attrs.iter().map(|a| a.sample_type);
        let of_id = ById::new(attrs.iter().enumerate().flat_map(|(at, a)| a.ids.iter().map(move |id| (*id, at))));
        if types().all(|t| t & 1 << 16 != 0) {
            return Ok(Self::ById { layouts, of_id, at: 0, from_end: 8 }); // IDENTIFIER: first, or last
        }
        let before_id = types().map(|t| (t & 0b1111).count_ones() as usize * 8).next().unwrap_or(0);
        let behind_id = types().map(|t| (t & (1 << 7 | 1 << 9)).count_ones() as usize * 8 + 8).next().unwrap_or(0);
        let same = types().all(|t| t & 1 << 6 != 0 && (t & 0b1111).count_ones() as usize * 8 == before_id);
        if same {
            return Ok(Self::ById { layouts, of_id, at: before_id, from_end: behind_id });
        }
        Err(Fatal::new("events of different layouts without ids: they cannot be told apart", 0))
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
    pub(super) fn new(frames: Frames<'a>, header: Header, formats: &[EventFormat]) -> Result<Self, Fatal> {
        let layouts = Layouts::of(&header.attrs)?;
        let timed = match &layouts {
            Layouts::One(layout) => layout.tells_time(),
            Layouts::ById { layouts, .. } => layouts.iter().any(Layout::tells_time),
        };
        if !timed {
            let what = "recorded without times: record with `perf sched record`, or `perf record -T`";
            return Err(Fatal::new(what, 0));
        }
        let mut decoder = Decoder::new(Reader::PerfData, header.order);
        let mut has_switch = false;
        for format in formats {
            decoder.learn(format);
            has_switch |= format.name == "sched_switch"
                && header.attrs.iter().any(|a| a.is_tracepoint() && a.config == u64::from(format.id));
        }
        let preempt_told = super::features::kernel_at_least(&header, 4, 17);
        let records = Records {
            order: header.order,
            layouts,
            reached: header.reached(),
            cpu_of_id: header.cpu_of_id,
            mappings: header.mappings,
            decoder,
            names: Names::new(),
            processes: FxHashMap::default(),
            recent_processes: vec![(Tid::UNKNOWN, Pid::UNKNOWN); RECENT],
            stacks: Stacks::default(),
            losses: Losses::default(),
            switch_records: !has_switch,
            preempt_told,
            aside: 0,
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
            if self.records.aside > 0 {
                self.frames.skip_aside(std::mem::take(&mut self.records.aside))?;
            }
            if round {
                return Ok(Reach::Until(MaybeNs::new(self.records.reached.round())));
            }
        }
        Ok(Reach::Until(MaybeNs::new(self.records.reached.within_round())))
    }
}

impl Records {
    /// Reads one record; `true` for a round mark.
    #[inline]
    fn read(&mut self, record: &Record<'_>, out: &mut Batch, bad: &mut dyn Ledger) -> bool {
        let read = match record.kind {
            header::SAMPLE => self.sample(record, out),
            header::FINISHED_ROUND => return true,
            header::SWITCH | header::SWITCH_CPU_WIDE => self.switch(record, out),
            header::COMM => self.comm(record, out),
            header::FORK => self.fork(record, out),
            header::LOST => self.lost(record),
            header::LOST_SAMPLES => self.lost_samples(record),
            header::AUXTRACE => {
                self.aside = self.order.u64_at(record.body, 0).and_then(|s| usize::try_from(s).ok()).unwrap_or(0);
                Some(())
            }
            _ => Some(()),
        };
        if read.is_none() {
            bad.trouble("a record that cannot be read", record.offset, Trouble::Lost);
            if matches!(record.kind, header::SAMPLE | header::SWITCH | header::SWITCH_CPU_WIDE) {
                self.losses.torn(record.offset);
            }
        }
        false
    }

    #[inline]
    fn sample(&mut self, record: &Record<'_>, out: &mut Batch) -> Option<()> {
        let layout = self.layouts.get(record.body, self.order, true)?;
        let Sample { stamp, chain, raw } = layout.sample(record.body, self.order)?;
        let mut stack = StackId::NONE;
        if !chain.is_empty() && raw.is_some_and(|r| self.decoder.is_switch(r)) {
            stack = self.stack(chain, stamp, out);
        }
        let (at, offset, cpu, current) = (stamp.at, record.offset, stamp.cpu, stamp.tid);
        let event = Event { at, offset, cpu, current, what: What::Sample };
        let from = out.events.len();
        match raw {
            Some(raw) => self.decoder.decode(raw, event, stack, &mut self.names, out).ok()?,
            None => out.events.push(event),
        }
        self.told(stamp, offset, from, out);
        Some(())
    }

    /// An event was added: what it tells by the way, and the loss that it ends, come before it.
    #[inline]
    fn told(&mut self, stamp: Stamp, offset: u64, from: usize, out: &mut Batch) {
        self.reached.met(stamp.cpu, stamp.at);
        let (process, loss) = (self.process(stamp, offset), self.losses.delivered(stamp.cpu, stamp.at));
        if process.is_some() || loss.is_some() {
            out.events.splice(from..from, process.into_iter().chain(loss));
        }
    }

    /// Tells the process of the task that was current, once.
    #[inline]
    fn process(&mut self, stamp: Stamp, offset: u64) -> Option<Event> {
        if self.recent_processes.get(stamp.tid.0 as usize % RECENT) == Some(&(stamp.tid, stamp.pid)) {
            return None;
        }
        let new = stamp.pid.0 > 0 && stamp.tid.0 > 0 && self.told_process(stamp.tid, stamp.pid);
        let what = What::Name { tid: stamp.tid, pid: stamp.pid, name: NameId::NONE };
        new.then_some(Event { at: stamp.at, offset, cpu: stamp.cpu, current: Tid::UNKNOWN, what })
    }

    /// Whether it is news that the thread is of this process.
    #[cold]
    fn told_process(&mut self, tid: Tid, pid: Pid) -> bool {
        if let Some(recent) = self.recent_processes.get_mut(tid.0 as usize % RECENT) {
            *recent = (tid, pid);
        }
        self.processes.insert(tid, pid) != Some(pid)
    }

    /// pid, tid, then the name.
    fn comm(&mut self, record: &Record<'_>, out: &mut Batch) -> Option<()> {
        let (pid, tid) = (self.order.u32_at(record.body, 0)?, self.order.u32_at(record.body, 4)?);
        let layout = self.layouts.get(record.body, self.order, false);
        let stamp = layout.and_then(|l| l.stamp_behind(record.body, self.order));
        let end = record.body.len() - layout.map_or(0, |l| l.id_size).min(record.body.len());
        let name = record.body.get(8..end)?.split(|b| *b == 0).next()?;
        let (pid, tid) = (Pid(pid as i32), Tid(tid as i32));
        let name = self.names.id(name, out);
        self.told_process(tid, pid);
        self.side_band(stamp, What::Name { tid, pid, name }, record.offset, out);
        Some(())
    }

    /// pid, parent's pid, tid, parent's tid, time.
    fn fork(&mut self, record: &Record<'_>, out: &mut Batch) -> Option<()> {
        let (pid, tid) = (self.order.u32_at(record.body, 0)?, self.order.u32_at(record.body, 8)?);
        let (pid, tid) = (Pid(pid as i32), Tid(tid as i32));
        let stamp =
            self.layouts.get(record.body, self.order, false).and_then(|l| l.stamp_behind(record.body, self.order));
        self.told_process(tid, pid);
        self.side_band(stamp, What::Name { tid, pid, name: NameId::NONE }, record.offset, out);
        Some(())
    }

    /// perf tells the threads that were there before it began with a time of 0: they hold from the begin.
    fn side_band(&mut self, stamp: Option<Stamp>, what: What, offset: u64, out: &mut Batch) {
        let (at, cpu) = stamp.filter(|s| s.at.0 > 0).map_or((Ns::MIN, CpuId(0)), |s| (s.at, s.cpu));
        if matches!(what, What::Name { tid, .. } if tid.0 > 0) {
            out.events.push(Event { at, offset, cpu, current: Tid::UNKNOWN, what });
        }
    }

    /// A switch record tells one side: who left, or who came.
    fn switch(&mut self, record: &Record<'_>, out: &mut Batch) -> Option<()> {
        if !self.switch_records {
            return Some(());
        }
        let stamp = self.layouts.get(record.body, self.order, false)?.stamp_behind(record.body, self.order)?;
        let leaves = record.misc & SWITCH_OUT != 0;
        let preempted = record.misc & SWITCH_OUT_PREEMPT != 0;
        self.preempt_told |= preempted;
        let out_state = match (preempted, self.preempt_told) {
            (true, _) => SwitchOut::Preempted,
            (false, true) => SwitchOut::Blocked,
            (false, false) => SwitchOut::Untold,
        };
        let (prev, next) = if leaves { (stamp.tid, Tid::UNKNOWN) } else { (Tid::UNKNOWN, stamp.tid) };
        let what = What::Switch(Switch {
            prev,
            next,
            prev_name: NameId::NONE,
            next_name: NameId::NONE,
            stack: StackId::NONE,
            prev_state: 0,
            prev_prio: Prio::UNKNOWN,
            next_prio: Prio::UNKNOWN,
            out: out_state,
            letter: if preempted { b'R' } else { b'?' },
            prev_exec: MaybeNs::NONE,
        });
        let from = out.events.len();
        out.events.push(Event { at: stamp.at, offset: record.offset, cpu: stamp.cpu, current: Tid::UNKNOWN, what });
        self.told(stamp, record.offset, from, out);
        Some(())
    }

    /// id, how many.
    fn lost(&mut self, record: &Record<'_>) -> Option<()> {
        let (id, events) = (self.order.u64_at(record.body, 0)?, self.order.u64_at(record.body, 8)?);
        let stamp =
            self.layouts.get(record.body, self.order, false).and_then(|l| l.stamp_behind(record.body, self.order));
        let cpu = stamp.map(|s| s.cpu).or_else(|| self.cpu_of_id.get(&id).copied());
        match cpu {
            Some(cpu) => self.losses.lost(cpu, events, record.offset),
            None => self.losses.lost_in_all(events),
        }
        Some(())
    }

    /// How many; without a time, it is perf's own sum at the end.
    fn lost_samples(&mut self, record: &Record<'_>) -> Option<()> {
        let events = self.order.u64_at(record.body, 0)?;
        let stamp =
            self.layouts.get(record.body, self.order, false).and_then(|l| l.stamp_behind(record.body, self.order));
        match stamp.filter(|s| s.at.0 > 0) {
            Some(stamp) => self.losses.lost(stamp.cpu, events, record.offset),
            None => self.losses.lost_in_all(events),
        }
        Some(())
    }

    fn stack(&mut self, chain: &[u8], stamp: Stamp, out: &mut Batch) -> StackId {
        let order = self.order;
        let addresses = chain.chunks_exact(8).filter_map(|b| order.u64_at(b, 0));
        self.stacks.id(addresses, stamp, &mut self.mappings, &mut self.names, out)
    }

    /// Bytes that could not be read are events lost: of any CPU, from its last event before to its next one after.
    fn gaps(&mut self, frames: &mut Frames<'_>, bad: &mut dyn Ledger) {
        for gap in frames.gaps() {
            bad.trouble(gap.what, gap.offset, Trouble::Lost);
            self.losses.torn(gap.offset);
        }
    }

    fn end(&mut self, out: &mut Batch) {
        out.events.extend(self.losses.at_end(self.reached.latest(), 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_near_the_first_and_far_from_it() {
        let all = [(70, 0), (72, 1), (69 + NEAR, 2), (70 + NEAR, 3), (u64::MAX, 4)];
        let by_id = ById::new(all.into_iter());
        assert!(all.iter().all(|(id, at)| by_id.get(*id) == Some(*at)));
        assert!([0, 69, 71, 71 + NEAR].iter().all(|id| by_id.get(*id).is_none()));
        assert_eq!(ById::new(std::iter::empty()).get(0), None);
    }
}
