//! Reads the lines of `sched.bt` as a stream of events.
//!
//! ```text
//!   ST:0:<time>                            the start, from which all other times count
//!   P:<time>:<tid>:<prio>:<name>           a thread, before its first line (repeated if sched.bt dropped it)
//!   S:<time>:<cpu>:<prev>:<state>:<next>   sched_switch
//!   M:<time>:<cpu>:<from>:<to>:<tid>       sched_migrate_task
//!   W:<time>:<cpu>:<target>:<tid>          sched_wakeup or sched_wakeup_new
//! ```
//!
//! Numbers are hexadecimal. bpftrace's `%x` prints the low 32 bits, so times wrap every 4.29 s. A line is close in time
//! to the lines printed before it, so the closest possible time is used. A machine without any event for two seconds
//! would be misread. Newer versions that print all bits are detected by larger numbers.
//!
//! bpftrace empties the CPUs' buffers in turn, without a mark between the rounds: the lines of one CPU are in order,
//! those of two CPUs are not. Times more than two seconds before the latest line are treated as complete. If all bits
//! are printed, this may be wrong for a bpftrace that got too little CPU time: a file is then read a second time by
//! ingest, and for a pipe no time is complete before the end.

use crate::tracepoint::{Names, States};
use ingest::{Anomaly, Facts, Fatal, Importer, Ledger, Opened, Reach, StateSource, Stream};
use model::{
    Batch, CpuId, Event, EventKind, LossSpan, MaybeCount, MaybeNs, NameId, Ns, Pid, Prio, StackId, Switch, SwitchOut,
    Tid, Wake, WakeKind,
};
use rustc_hash::FxHashMap;
use std::io::{ErrorKind, Read};

/// The number of bytes read in one call; a longer line is invalid.
const CHUNK: usize = 256 << 10;
/// The maximum number of lines read in one call.
const MAX_LINES: usize = 8192;
/// The kernel's names have 15 bytes.
const MAX_NAME: usize = 16;
/// The maximum number of threads whose names are kept; Linux supports no more than 4 million.
const MAX_THREADS: usize = 1 << 20;
const MAX_CPUS: u32 = topology::cpulist::MAX_CPUS;
/// State numbers from here on are from kernels before 4.14, whose R+ was the highest bit.
const OLD_KERNELS: u64 = 512;

/// Whether these are the first bytes of `sched.bt`'s output.
pub(super) fn is_output(head: &[u8]) -> bool {
    let mut lines = head.split(|b| *b == b'\n').take(16);
    lines.any(|line| {
        let number = line.strip_prefix(b"ST:0:").unwrap_or_default();
        !number.is_empty() && number.len() <= 16 && number.iter().all(u8::is_ascii_hexdigit)
    })
}

/// Opens the output. `again` is whether it can be read a second time.
pub(super) fn open<'a>(from: Box<dyn Read + Send + 'a>, again: bool) -> Opened<'a> {
    let facts = Facts {
        format: super::SchedViz.id().to_owned(),
        clock: "bpftrace nsecs (CLOCK_MONOTONIC, or CLOCK_BOOTTIME in newer versions)".to_owned(),
        has_waking: Some(false),
        has_wakeup: Some(true),
        whole_machine: true,
        states: StateSource::Assumed,
        about: vec![("trace_type".to_owned(), "EBPF".to_owned())],
        lacks: vec![
            "A SchedViz collection does not contain the processes of threads.".to_owned(),
            "sched.bt does not record which wakeup is the first of a new thread.".to_owned(),
            "The kernel's table of states was not recorded: thread states are read as written by Linux 4.14 and later."
                .to_owned(),
        ],
        ..Facts::default()
    };
    Opened { facts, streams: vec![Box::new(EbpfStream::new(from, again))] }
}

struct EbpfStream<'a> {
    from: Box<dyn Read + Send + 'a>,
    chunk: Vec<u8>,
    /// The number of consumed bytes of the chunk, and the offset of its start in the source.
    taken: usize,
    begin: u64,
    ended: bool,
    again: bool,
    lines: Lines,
}

impl<'a> EbpfStream<'a> {
    fn new(from: Box<dyn Read + Send + 'a>, again: bool) -> Self {
        let lines = Lines {
            start: None,
            wide: false,
            since: 0,
            states: States::from_print(""),
            names: Names::new(),
            threads: FxHashMap::default(),
            last: Vec::new(),
            latest: Ns::MIN,
            lost: None,
        };
        Self { from, chunk: Vec::new(), taken: 0, begin: 0, ended: false, again, lines }
    }

    /// Reads more bytes after the rest of the chunk.
    fn fill(&mut self) -> Result<(), Fatal> {
        self.begin += self.taken as u64;
        self.chunk.drain(..self.taken);
        self.taken = 0;
        let have = self.chunk.len();
        self.chunk.resize(have + CHUNK, 0);
        let read = loop {
            match self.from.read(self.chunk.get_mut(have..).unwrap_or_default()) {
                Ok(n) => break n,
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(Fatal::new(why.to_string(), self.begin + have as u64)),
            }
        };
        self.chunk.truncate(have + read);
        self.ended = read == 0;
        Ok(())
    }
}

impl Stream for EbpfStream<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        for _ in 0..MAX_LINES {
            let rest = self.chunk.get(self.taken..).unwrap_or_default();
            let offset = self.begin + self.taken as u64;
            if let Some(end) = rest.iter().position(|b| *b == b'\n') {
                self.taken += end + 1;
                self.lines.read(rest.get(..end).unwrap_or_default(), offset, out, bad);
            } else if self.ended {
                if !rest.is_empty() {
                    bad.anomaly("a line is cut off by the end of the file", offset, Anomaly::Warning);
                }
                self.lines.end(offset, out);
                return Ok(Reach::End);
            } else {
                if rest.len() >= CHUNK {
                    bad.anomaly("a line is too long", offset, Anomaly::Warning);
                    self.taken = self.chunk.len();
                }
                self.fill()?;
            }
        }
        Ok(Reach::Until((self.again || !self.lines.wide).then(|| self.lines.complete_until()).into()))
    }
}

/// The state kept while lines are read.
struct Lines {
    start: Option<i64>,
    /// Whether times are printed with all bits.
    wide: bool,
    /// The latest time so far, since the start.
    since: u64,
    states: States,
    names: Names,
    threads: FxHashMap<Tid, (NameId, Prio)>,
    /// The time of each CPU's last line.
    last: Vec<Ns>,
    latest: Ns,
    /// The number of events lost since the last event, and the offset of the line that states it.
    lost: Option<(i64, u64)>,
}

/// Why a line cannot be read.
enum Unreadable {
    /// It is damaged, or contradicts another.
    Damaged(&'static str),
    /// It is whole, and of a form that `sched.bt` does not write.
    OtherForm(&'static str),
}

impl Lines {
    fn read(&mut self, line: &[u8], offset: u64, out: &mut Batch, bad: &mut dyn Ledger) {
        let done = match line {
            [b'S', b':', rest @ ..] => self.event(rest, offset, out, Self::switch),
            [b'W', b':', rest @ ..] => self.event(rest, offset, out, Self::wake),
            [b'M', b':', rest @ ..] => self.event(rest, offset, out, Self::migrate),
            [b'P', b':', rest @ ..] => self.thread(rest, offset, out),
            [b'S', b'T', b':', rest @ ..] => self.start_line(rest),
            [b'L', b'o', b's', b't', b' ', rest @ ..] => self.losses(rest, offset),
            // bpftrace's own messages, and its blank lines.
            _ if line.is_empty() || line.starts_with(b"Attaching ") => Ok(()),
            _ => Err(Unreadable::OtherForm("a line does not have the form of sched.bt's output")),
        };
        match done {
            Ok(()) => {}
            Err(Unreadable::Damaged(why)) => bad.anomaly(why, offset, Anomaly::Lost),
            Err(Unreadable::OtherForm(why)) => bad.not_understood(why, offset, line),
        }
    }

    fn start_line(&mut self, rest: &[u8]) -> Result<(), Unreadable> {
        let mut fields = Fields(rest);
        let (zero, start) = (fields.number()?, fields.number()?);
        if zero != 0 || !fields.0.is_empty() {
            return Err(Unreadable::OtherForm("a start line does not have the form of sched.bt's output"));
        }
        if self.start.is_some() {
            return Err(Unreadable::Damaged(
                "a second start: the text contains two recordings, only the first is read",
            ));
        }
        self.start = Some(i64::try_from(start).map_err(|_| TIME_OUT_OF_RANGE)?);
        Ok(())
    }

    /// Returns the time before which no more events will come.
    fn complete_until(&self) -> Ns {
        let since = self.since.checked_sub(WRAP / 2).and_then(|t| i64::try_from(t).ok());
        since.zip(self.start).and_then(|(since, start)| start.checked_add(since)).map_or(Ns::MIN, Ns)
    }

    fn time(&mut self, fields: &mut Fields<'_>) -> Result<Ns, Unreadable> {
        let since = self.unwrapped(fields.number()?);
        self.since = self.since.max(since);
        let since = i64::try_from(since).map_err(|_| TIME_OUT_OF_RANGE)?;
        let start = self.start.ok_or(Unreadable::Damaged("a line precedes the start line"))?;
        start.checked_add(since).map(Ns).ok_or(TIME_OUT_OF_RANGE)
    }

    /// Returns the full time of its low bits: the one closest to the times so far.
    #[inline]
    fn unwrapped(&mut self, low: u64) -> u64 {
        self.wide |= low >= WRAP;
        if self.wide {
            return low;
        }
        let nearest = (self.since & !(WRAP - 1)) | low;
        if nearest + WRAP / 2 < self.since {
            nearest + WRAP
        } else if nearest > self.since + WRAP / 2 && nearest >= WRAP {
            nearest - WRAP
        } else {
            nearest
        }
    }

    /// Reads a line with an event of a CPU.
    #[inline]
    fn event(
        &mut self,
        rest: &[u8],
        offset: u64,
        out: &mut Batch,
        what: fn(&Self, &mut Fields<'_>, Ns) -> Result<EventKind, Unreadable>,
    ) -> Result<(), Unreadable> {
        let mut fields = Fields(rest);
        let at = self.time(&mut fields)?;
        let cpu = fields.cpu()?;
        let what = what(self, &mut fields, at)?;
        if !fields.0.is_empty() {
            return Err(Unreadable::OtherForm("a line has more fields than sched.bt writes"));
        }
        let slot = cpu.0 as usize;
        if self.last.len() <= slot {
            self.last.resize(slot + 1, Ns::MIN);
        }
        if let Some(last) = self.last.get_mut(slot) {
            if at < *last {
                return Err(Unreadable::Damaged("a line is earlier than the previous one of its CPU"));
            }
            *last = at;
        }
        if self.lost.is_some() && at >= self.latest {
            self.loss_until(at, MaybeNs::new(at), out);
        }
        self.latest = self.latest.max(at);
        out.events.push(Event { at, offset, cpu, current: Tid::UNKNOWN, what });
        Ok(())
    }

    fn switch(&self, fields: &mut Fields<'_>, _at: Ns) -> Result<EventKind, Unreadable> {
        let (prev, state, next) = (fields.tid()?, fields.number()?, fields.tid()?);
        let (out, state_letter) =
            if state >= OLD_KERNELS { (SwitchOut::Preempted, b'R') } else { self.states.meaning(state) };
        let (prev_name, prev_prio) = self.known_thread(prev);
        let (next_name, next_prio) = self.known_thread(next);
        Ok(EventKind::Switch(Switch {
            prev,
            next,
            prev_name,
            next_name,
            stack: StackId::NONE,
            prev_state: state as u32,
            prev_prio,
            next_prio,
            out,
            state_letter,
            prev_exec: MaybeNs::NONE,
        }))
    }

    fn wake(&self, fields: &mut Fields<'_>, at: Ns) -> Result<EventKind, Unreadable> {
        let (target, tid) = (fields.cpu()?, fields.tid()?);
        let (name, prio) = self.known_thread(tid);
        let (kind, target, waker) = (WakeKind::Wakeup, Some(target), Tid::UNKNOWN);
        Ok(EventKind::Wake(Wake { tid, name, kind, target, waker, prio, stamp: at }))
    }

    fn migrate(&self, fields: &mut Fields<'_>, _at: Ns) -> Result<EventKind, Unreadable> {
        let (from, to, tid) = (fields.cpu()?, fields.cpu()?, fields.tid()?);
        Ok(EventKind::Migrate { tid, from, to })
    }

    fn known_thread(&self, tid: Tid) -> (NameId, Prio) {
        self.threads.get(&tid).copied().unwrap_or((NameId::NONE, Prio::UNKNOWN))
    }

    fn thread(&mut self, rest: &[u8], offset: u64, out: &mut Batch) -> Result<(), Unreadable> {
        let mut fields = Fields(rest);
        let at = self.time(&mut fields)?;
        let (tid, prio) = (fields.tid()?, fields.number()?);
        // The kernel's priorities are signed; bpftrace prints a deadline thread's −1 as 32 or 64 bits.
        let prio = i16::try_from(prio as i32).map_err(|_| Unreadable::Damaged("a priority is out of range"))?;
        let prio = Prio::new(prio);
        let name = self.names.id(fields.0.get(..MAX_NAME).unwrap_or(fields.0), out);
        if self.threads.len() < MAX_THREADS || self.threads.contains_key(&tid) {
            self.threads.insert(tid, (name, prio));
        } else {
            out.left_out.threads += 1;
        }
        let what = EventKind::Name { tid, pid: Pid::UNKNOWN, name };
        out.events.push(Event { at, offset, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what });
        Ok(())
    }

    /// Reads `Lost 17 events`: bpftrace's reader was too slow, on a CPU that is not stated.
    fn losses(&mut self, rest: &[u8], offset: u64) -> Result<(), Unreadable> {
        let text = rest.strip_suffix(b" events").and_then(|n| std::str::from_utf8(n).ok());
        let count: i64 = text
            .and_then(|n| n.parse().ok())
            .ok_or(Unreadable::OtherForm("a line does not have the form of sched.bt's output"))?;
        let before = self.lost.map_or(0, |(n, _)| n);
        self.lost = Some((before.saturating_add(count), offset));
        Ok(())
    }

    /// Adds a loss. It starts at the last line of the CPU that has been silent for longest, which may be the CPU with
    /// the loss.
    fn loss_until(&mut self, at: Ns, to: MaybeNs, out: &mut Batch) {
        if let Some((events, offset)) = self.lost.take() {
            let before = |t: &Ns| *t != Ns::MIN && to.get().is_none_or(|to| *t < to);
            let from = self.last.iter().copied().filter(before).min().into();
            let what = EventKind::Loss(LossSpan { from, to, cpu: None, events: MaybeCount::new(events) });
            out.events.push(Event { at, offset, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what });
        }
    }

    fn end(&mut self, _offset: u64, out: &mut Batch) {
        self.loss_until(self.latest, MaybeNs::NONE, out);
    }
}

/// The range of 32 bits of nanoseconds.
const WRAP: u64 = 1 << 32;
const TIME_OUT_OF_RANGE: Unreadable = Unreadable::Damaged("a line has a time that is out of range");

/// The rest of a line.
struct Fields<'l>(&'l [u8]);

impl Fields<'_> {
    /// Reads a number up to the next colon.
    #[inline]
    fn number(&mut self) -> Result<u64, Unreadable> {
        const BAD: Unreadable = Unreadable::Damaged("a line has numbers that cannot be read");
        let mut value = 0_u64;
        let mut read = 0;
        for byte in self.0 {
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' => byte - b'a' + 10,
                b':' => break,
                _ => return Err(BAD),
            };
            value = value << 4 | u64::from(digit);
            read += 1;
        }
        if read == 0 || read > 16 {
            return Err(BAD);
        }
        self.0 = self.0.get(read + 1..).unwrap_or_default();
        Ok(value)
    }

    fn cpu(&mut self) -> Result<CpuId, Unreadable> {
        let cpu = u32::try_from(self.number()?).ok().filter(|n| *n < MAX_CPUS);
        cpu.map(CpuId).ok_or(Unreadable::Damaged("a CPU number is out of range"))
    }

    fn tid(&mut self) -> Result<Tid, Unreadable> {
        let tid = i32::try_from(self.number()?).ok();
        tid.map(Tid).ok_or(Unreadable::Damaged("a TID is out of range"))
    }
}
