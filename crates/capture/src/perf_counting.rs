//! What a CPU's events counted while each thread ran there (`--counters`), with the perf backend. The kernel itself reads them at each
//! switch: a group has the tracepoint of switches as a member, and each of its samples has the values of the whole group.
//!
//! ```text
//!   group 0   switches, software events, msr, sched_switch  always counts: its tracepoint records the switches
//!   group n   events of a PMU, a second sched_switch        may be rotated out: then its tracepoint does not fire
//!
//!      switch      A runs          switch   B runs ...
//!   ────┼────────────────┼───────────┼────────┼──────
//!      sample           read       sample   sample      each difference is booked to the thread that ran until then
//! ```
//!
//! Group 0 counts the switches of its CPU: those that were not delivered, those while a group was rotated out, and those whose samples
//! were lost too. If there was one between two readings of a group, several threads ran: what was counted is then booked to none of them.

use crate::counter_trial::open_event;
use crate::counting::{CounterPlan, MAX_COUNTERS, refused};
use crate::options::CaptureError;
use crate::perf_events::{Block, FLAG_CLOCK, ioctl, open_switches};
use crate::samples;
use crate::wire::{self, COUNTS, COUNTS_MANY, COUNTS_SHARED};
use model::CpuId;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// `PERF_TYPE_SOFTWARE`, and `PERF_COUNT_SW_CONTEXT_SWITCHES` of it (linux/perf_event.h).
const SOFTWARE: u32 = 1;
const CONTEXT_SWITCHES: u64 = 3;
/// `PERF_FORMAT_TOTAL_TIME_ENABLED`, `_TOTAL_TIME_RUNNING`, `_ID`, `_GROUP`.
pub const READ_GROUP: u64 = 1 | 2 | 4 | 8;
const DISABLED: u64 = 1;

/// As in bpf/wire.h: how much the time for which an event was enabled may differ from half or twice the time on the trace's clock, ns.
const ENABLED_SLACK_NS: u64 = 50_000;
/// The events of a group, at most: those that are counted, the switches, the tracepoint.
const MAX_GROUP: usize = MAX_COUNTERS + 2;
/// All samples of a switch have come this long after it, ns.
const SAMPLES_NS: u64 = 500_000;
/// A thread that has run for this long without a switch is read in between, ns.
const LONG_NS: u64 = 100_000_000;
/// How often the last reading of a CPU is tried, if its threads switch meanwhile.
const ATTEMPTS: usize = 10;

/// A sample of a switch, except its values.
#[derive(Clone, Copy, Debug)]
pub struct SwitchSample {
    /// The thread that leaves, as in the sample's head: the same number in all samples of the switch.
    pub current: u32,
    /// The time of the sample, ns.
    pub at: u64,
    /// The threads that leave and come; `None`: the sample is of a group that has a tracepoint of its own.
    pub threads: Option<[u32; 2]>,
}

/// The values of a group at a time.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    enabled: u64,
    running: u64,
    counts: [u64; MAX_GROUP],
}

/// The last reading of a group.
#[derive(Clone, Copy, Debug)]
struct Last {
    at: u64,
    /// The number of switches of the CPU by then.
    switches: u64,
    /// The thread that runs from there on, if known.
    next: Option<u32>,
    reading: Reading,
}

/// A group of events of a CPU.
#[derive(Debug, Default)]
struct Group {
    /// The leader first. Empty in tests.
    events: Vec<File>,
    /// The kernel's id of each event.
    ids: Vec<u64>,
    /// Which event of the plan each is; `None`: the switches, or the tracepoint.
    slots: Vec<Option<usize>>,
    last: Option<Last>,
}

/// The samples of a switch so far.
#[derive(Debug)]
struct Hit {
    current: u32,
    /// Its first sample.
    at: u64,
    /// When it was recorded, the threads, and the number of switches before it.
    switch: Option<(u64, [u32; 2], u64)>,
    readings: Vec<(usize, Reading)>,
}

/// The thread that runs.
#[derive(Clone, Copy, Debug)]
struct Current {
    tid: u32,
    /// The number of switches by its switch-in.
    switches: u64,
}

/// A reading of all groups between two switches.
pub struct Now {
    /// The number of switches by then; `None`: a thread switched while the groups were read.
    switches: Option<u64>,
    /// When, and what, by group.
    readings: Vec<(u64, Reading)>,
    hits: u64,
}

/// The events that a CPU counts.
#[derive(Debug, Default)]
pub struct CpuCounting {
    groups: Vec<Group>,
    /// The ids of the tracepoints, by group.
    points: Vec<u64>,
    hit: Option<Hit>,
    current: Option<Current>,
    /// When the counters were read last.
    read_at: u64,
    /// The number of switches that were read.
    hits: u64,
}

impl Group {
    fn add(&mut self, event: OwnedFd, slot: Option<usize>) -> Result<(), CaptureError> {
        let mut id = 0u64;
        // SAFETY: PERF_EVENT_IOC_ID writes a number of eight bytes.
        if unsafe { libc::ioctl(event.as_raw_fd(), 0x8008_2407, &raw mut id) } != 0 {
            let why = std::io::Error::last_os_error();
            return Err(CaptureError::Counters(format!("the kernel does not number its perf events: {why}")));
        }
        self.ids.push(id);
        self.slots.push(slot);
        self.events.push(event.into());
        Ok(())
    }

    fn leader(&self) -> Option<BorrowedFd<'_>> {
        self.events.first().map(AsFd::as_fd)
    }

    /// Decodes the values of the group, as the kernel writes them with [`READ_GROUP`].
    fn decode(&self, b: &mut wire::Bytes<'_>) -> Option<Reading> {
        let (n, enabled, running) = (b.u64(), b.u64(), b.u64());
        let mut reading = Reading { enabled, running, counts: [0; MAX_GROUP] };
        let mut found = 0;
        for at in 0..usize::try_from(n).unwrap_or(0) {
            let (value, id) = (b.u64(), b.u64());
            if !b.complete {
                return None;
            }
            let is_at = self.ids.get(at) == Some(&id);
            let place = if is_at { Some(at) } else { self.ids.iter().position(|of| *of == id) };
            if let Some(count) = place.and_then(|place| reading.counts.get_mut(place)) {
                *count = value;
                found += 1;
            }
        }
        (b.complete && found == self.ids.len()).then_some(reading)
    }

    /// Reads the group now. This interrupts the CPU.
    fn read(&mut self) -> Option<(u64, Reading)> {
        let mut bytes = [0; 24 + 16 * MAX_GROUP];
        let n = self.events.first_mut()?.read(&mut bytes).ok()?;
        let reading = self.decode(&mut wire::Bytes::new(bytes.get(..n)?))?;
        Some((samples::now(), reading))
    }

    /// Takes a reading. What was counted since the last one is booked to `tid`, if no thread switched: `switches` is the number of switches
    /// before it, `then` after it; `next` runs from here on.
    fn take(
        &mut self,
        at: u64,
        reading: &Reading,
        [switches, then]: [u64; 2],
        tid: Option<u32>,
        next: Option<u32>,
        out: &mut Out<'_>,
    ) {
        if let Some(last) = &self.last {
            if at <= last.at {
                return;
            }
            let same = tid.filter(|tid| last.switches == switches && last.next.is_none_or(|next| next == *tid));
            self.write(last, at, reading, same.unwrap_or(u32::MAX), out);
        }
        self.last = Some(Last { at, switches: then, next, reading: *reading });
    }

    fn write(&self, last: &Last, at: u64, reading: &Reading, tid: u32, out: &mut Out<'_>) {
        let length = at - last.at;
        let enabled = reading.enabled.saturating_sub(last.reading.enabled);
        let ran = reading.running.saturating_sub(last.reading.running);
        // It was not enabled all the time if its CPU was offline. The two times are of different clocks.
        if enabled + ENABLED_SLACK_NS < length / 2 || enabled > 2 * length + ENABLED_SLACK_NS {
            return;
        }
        let shared = ran != enabled;
        for base in (0..MAX_COUNTERS).step_by(COUNTS) {
            let (mut bits, mut counts) = (0u16, [0u64; COUNTS]);
            for (n, slot) in self.slots.iter().enumerate() {
                let Some(place) = slot.and_then(|slot| slot.checked_sub(base)).filter(|place| *place < COUNTS) else {
                    continue;
                };
                bits |= 1 << place;
                counts[place] = reading.counts[n].wrapping_sub(last.reading.counts[n]);
            }
            if bits == 0 {
                continue;
            }
            let many = (u16::BITS - bits.leading_zeros()) as usize;
            let mut words = Vec::with_capacity(4 + 4 * COUNTS);
            words.extend([tid, 0]);
            let mut long = |value: u64| {
                let [a, b, c, d, e, f, g, h] = value.to_ne_bytes();
                words.extend([u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]);
            };
            long(length);
            counts.into_iter().take(many).for_each(&mut long);
            if shared {
                (0..many).for_each(|_| long(ran));
            }
            let flag = if shared { COUNTS_SHARED } else { 0 };
            let bits = bits | flag | (many as u16) << COUNTS_MANY;
            out.block.push(at, wire::COUNTED, base as u8, bits, &words, out.take);
        }
    }
}

/// Whether an event never waits for a counter, so that it can be in the group that always counts: the kernel counts it itself, or (PMU `msr`)
/// reads a register that each CPU has for this event alone.
fn never_waits(attr: &counters::Attr) -> bool {
    let is_msr = || {
        let kind = std::fs::read_to_string("/sys/bus/event_source/devices/msr/type");
        kind.is_ok_and(|kind| kind.trim().parse() == Ok(attr.kind))
    };
    attr.kind == SOFTWARE || is_msr()
}

/// Where records go.
pub struct Out<'a> {
    pub block: &'a mut Block,
    pub take: &'a mut dyn FnMut(&[u8]),
}

impl CpuCounting {
    /// Opens the events of a plan on a CPU, disabled, and a tracepoint of switches in each group. Returns that of the first group too, which
    /// records the switches. `point`: the number of the tracepoint.
    ///
    /// # Errors
    /// The kernel cannot count an event there, or permissions are missing.
    pub fn open(plan: &CounterPlan, cpu: u32, point: u64) -> Result<(Self, OwnedFd), CaptureError> {
        if plan.events.len() > MAX_COUNTERS {
            let why = format!("{} events: a recording can have at most {MAX_COUNTERS}", plan.events.len());
            return Err(CaptureError::Counters(why));
        }
        let mut first = Group::default();
        let switches = counters::Attr { kind: SOFTWARE, config: CONTEXT_SWITCHES, ..Default::default() };
        let leader = open_event(&switches, cpu, None, READ_GROUP, DISABLED | FLAG_CLOCK);
        first.add(leader.map_err(|why| refused("context-switches", cpu, &why))?, None)?;
        let mut others = Vec::new();
        for set in plan.sets.iter().filter(|set| set.cpus.contains(&CpuId(cpu)) && !set.events.is_empty()) {
            let always = set.events.iter().all(|(_, attr)| never_waits(attr));
            let mut own = Group::default();
            let group = if always { &mut first } else { &mut own };
            for (slot, attr) in &set.events {
                let leader = group.leader();
                let flags = FLAG_CLOCK | if leader.is_none() { DISABLED } else { 0 };
                let name = || plan.events.get(*slot).map_or("", String::as_str);
                let event =
                    open_event(attr, cpu, leader, READ_GROUP, flags).map_err(|why| refused(name(), cpu, &why))?;
                group.add(event, Some(*slot))?;
            }
            if !always {
                others.push(own);
            }
        }
        let main = open_switches(point, cpu, first.leader(), true)?;
        first.add(main.try_clone().map_err(|why| CaptureError::Perf(why.to_string()))?, None)?;
        let mut counting = Self::default();
        for mut group in others {
            let event = open_switches(point, cpu, group.leader(), false)?;
            group.add(event, None)?;
            counting.groups.push(group);
        }
        counting.groups.insert(0, first);
        counting.points = counting.groups.iter().filter_map(|group| group.ids.last().copied()).collect();
        Ok((counting, main))
    }

    /// Lets the samples of all groups go to the buffer of `owner`, which is mapped.
    ///
    /// # Errors
    /// That of the system call.
    pub fn output_to(&self, owner: &OwnedFd) -> Result<(), CaptureError> {
        let others = self.groups.iter().skip(1).filter_map(|group| group.events.last());
        others.into_iter().try_for_each(|event| ioctl(event, 0x2405, owner.as_raw_fd())) // PERF_EVENT_IOC_SET_OUTPUT
    }

    /// Lets all events count, from here on.
    ///
    /// # Errors
    /// That of the system call.
    pub fn enable(&mut self) -> Result<(), CaptureError> {
        for group in &self.groups {
            group.events.first().map_or(Ok(()), |leader| ioctl(leader, 0x2400, 0))?; // PERF_EVENT_IOC_ENABLE
        }
        // The number of switches first: if there is one before the others are read, it is seen as one after that.
        let mut switches = None;
        for group in &mut self.groups {
            let Some((at, reading)) = group.read() else { continue };
            let switches = *switches.get_or_insert(reading.counts[0]);
            group.last = Some(Last { at, switches, next: None, reading });
        }
        Ok(())
    }

    /// Returns the group whose tracepoint has an id.
    pub fn group_of(&self, id: u64) -> Option<usize> {
        self.points.iter().position(|point| *point == id)
    }

    /// Decodes the values of a group in a sample.
    pub fn decode(&self, group: usize, b: &mut wire::Bytes<'_>) -> Option<Reading> {
        self.groups.get(group)?.decode(b)
    }

    /// Whether a sample belongs to another switch than the one before. The samples of a switch follow each other.
    fn is_next(&self, group: usize, sample: &SwitchSample) -> bool {
        self.hit
            .as_ref()
            .is_none_or(|hit| hit.current != sample.current || hit.readings.iter().any(|(of, _)| *of == group))
    }

    /// Takes a sample of a switch, after [`Self::begin`].
    pub fn sampled(&mut self, group: usize, sample: &SwitchSample, reading: Reading) {
        let SwitchSample { current, at, threads } = *sample;
        let hit = self.hit.get_or_insert_with(|| Hit { current, at, switch: None, readings: Vec::new() });
        if let Some(threads) = threads {
            hit.switch = Some((at, threads, reading.counts[0]));
        }
        hit.readings.push((group, reading));
    }

    /// Books what is complete before the next record, which is a sample of a switch (with its group), or another record.
    pub fn begin(&mut self, next: Option<(usize, &SwitchSample)>, out: &mut Out<'_>) {
        if next.is_none_or(|(group, sample)| self.is_next(group, sample)) {
            self.finish(out);
        }
    }

    /// Books the last switch if all its samples must have come by now.
    pub fn finish_old(&mut self, now: u64, out: &mut Out<'_>) {
        if self.hit.as_ref().is_some_and(|hit| hit.at + SAMPLES_NS < now) {
            self.finish(out);
        }
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        let Some(hit) = self.hit.take() else { return };
        // Without its first sample, which is lost, nothing is known about the others.
        let Some((at, [prev, next], switches)) = hit.switch else { return };
        // The kernel counts a switch after its tracepoint.
        let then = switches + 1;
        for (of, reading) in &hit.readings {
            if let Some(group) = self.groups.get_mut(*of) {
                group.take(at, reading, [switches, then], Some(prev), Some(next), out);
            }
        }
        self.current = Some(Current { tid: next, switches: then });
        self.hits += 1;
        self.read_at = at;
    }

    /// Reads all groups now, if that is of use: the CPU has run a thread for long, or (`all`) always. `None` also if a switch is incomplete.
    pub fn read_now(&mut self, all: bool) -> Option<Now> {
        let runs = self.current.is_some_and(|current| current.tid != 0);
        if self.hit.is_some() || !all && (!runs || samples::now() < self.read_at + LONG_NS) {
            return None;
        }
        let readings = self.groups.iter_mut().map(Group::read).collect::<Option<Vec<_>>>()?;
        let before = readings.first()?.1.counts[0];
        let (_, after) = self.groups.first_mut()?.read()?;
        Some(Now { switches: (after.counts[0] == before).then_some(before), readings, hits: self.hits })
    }

    /// Whether threads switched since a reading, as far as the buffer was read.
    pub fn switched_since(&self, now: &Now) -> bool {
        self.hit.is_some() || self.hits != now.hits
    }

    /// Books a reading to the current thread, after everything before it was taken from the buffer. If other threads ran too: to none of them
    /// (`all`), or not at all: the next switch does that.
    pub fn book(&mut self, now: &Now, all: bool, out: &mut Out<'_>) {
        let current = self.current.filter(|current| now.switches == Some(current.switches));
        if current.is_none() && !all {
            return;
        }
        let tid = current.map(|current| current.tid);
        // If a thread switched while the groups were read, this matches no later switch.
        let switches = now.switches.unwrap_or(u64::MAX);
        for (group, (at, reading)) in self.groups.iter_mut().zip(&now.readings) {
            group.take(*at, reading, [switches, switches], tid, tid, out);
            self.read_at = *at;
        }
    }

    /// How often a last reading is tried.
    pub fn attempts(all: bool) -> usize {
        if all { ATTEMPTS } else { 1 }
    }
}

#[cfg(test)]
mod tests;
