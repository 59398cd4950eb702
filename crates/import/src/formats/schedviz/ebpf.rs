//! `sched.bt`'s lines as a stream of events.
//!
//! ```text
//!   ST:0:<time>                            the start: all other times count from it
//!   P:<time>:<tid>:<prio>:<name>           a thread, before its first line (and again when it is forgotten)
//!   S:<time>:<cpu>:<prev>:<state>:<next>   sched_switch
//!   M:<time>:<cpu>:<from>:<to>:<tid>       sched_migrate_task
//!   W:<time>:<cpu>:<target>:<tid>          sched_wakeup or sched_wakeup_new
//! ```
//!
//! Numbers are hexadecimal, and bpftrace's `%x` prints the low 32 bits: times begin anew each 4.29 s. A line stands near
//! those printed before it, so the nearest time that it can mean is meant; a machine on which nothing at all happened for two
//! seconds would be misread. Newer versions that print all bits are recognised by that.
//!
//! bpftrace empties the CPUs' buffers in turn, without a mark between the rounds: each CPU's lines are in order, those of two
//! CPUs are not. What lies more than the same two seconds behind the latest line is taken as final. Where all bits are
//! printed that may be wrong, of a bpftrace that was starved: a file is then read again by who asks, and of a pipe nothing is
//! final before the end.

use crate::tracepoint::{Names, States};
use ingest::{Facts, Fatal, Importer, Ledger, Opened, Reach, Stream, Trouble};
use model::{
    Batch, CpuId, Event, LossSpan, MaybeCount, MaybeNs, NameId, Ns, Pid, Prio, StackId, Switch, SwitchOut, Tid, Wake,
    WakeKind, What,
};
use rustc_hash::FxHashMap;
use std::io::{ErrorKind, Read};

/// Bytes read at once; a line that is longer than this is none.
const CHUNK: usize = 256 << 10;
/// Lines read at once, at most.
const LINES: usize = 8192;
/// The kernel's names have 15 bytes.
const LONGEST_NAME: usize = 16;
/// Threads whose names are kept; Linux numbers no more than 4 million.
const MOST_THREADS: usize = 1 << 20;
const MOST_CPUS: u32 = topology::cpulist::MAX_CPUS;
/// State numbers from here on are of kernels before 4.14, whose R+ was the highest bit.
const OLD_KERNELS: u64 = 512;

/// Whether these are the first bytes of `sched.bt`'s output.
pub(super) fn is_output(head: &[u8]) -> bool {
    let mut lines = head.split(|b| *b == b'\n').take(16);
    lines.any(|line| {
        let number = line.strip_prefix(b"ST:0:").unwrap_or_default();
        !number.is_empty() && number.len() <= 16 && number.iter().all(u8::is_ascii_hexdigit)
    })
}

/// `again`: whether it can be read a second time.
pub(super) fn open<'a>(from: Box<dyn Read + Send + 'a>, again: bool) -> Opened<'a> {
    let facts = Facts {
        format: super::SchedViz.id().to_owned(),
        clock: "bpftrace nsecs (CLOCK_MONOTONIC, or CLOCK_BOOTTIME in newer versions)".to_owned(),
        has_waking: Some(false),
        has_wakeup: Some(true),
        whole_machine: true,
        about: vec![("trace_type".to_owned(), "EBPF".to_owned())],
        lacks: vec![
            "Which process a thread belongs to is not in a SchedViz collection.".to_owned(),
            "sched.bt does not say which wakeup was the first of a thread's life.".to_owned(),
            "The kernel's own table of states is not stored: their numbers are read as those of Linux 4.14 and later."
                .to_owned(),
        ],
        ..Facts::default()
    };
    Opened { facts, streams: vec![Box::new(EbpfStream::new(from, again))] }
}

struct EbpfStream<'a> {
    from: Box<dyn Read + Send + 'a>,
    chunk: Vec<u8>,
    /// How far the chunk was read, and where in the source it begins.
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

    /// Reads on behind what is left of the chunk.
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
        for _ in 0..LINES {
            let rest = self.chunk.get(self.taken..).unwrap_or_default();
            let offset = self.begin + self.taken as u64;
            if let Some(end) = rest.iter().position(|b| *b == b'\n') {
                self.taken += end + 1;
                self.lines.read(rest.get(..end).unwrap_or_default(), offset, out, bad);
            } else if self.ended {
                if !rest.is_empty() {
                    bad.trouble("a line cut off by the end of the file", offset, Trouble::Odd);
                }
                self.lines.end(offset, out);
                return Ok(Reach::End);
            } else {
                if rest.len() >= CHUNK {
                    bad.trouble("a line that is too long to be one", offset, Trouble::Odd);
                    self.taken = self.chunk.len();
                }
                self.fill()?;
            }
        }
        Ok(Reach::Until((self.again || !self.lines.wide).then(|| self.lines.horizon()).into()))
    }
}

/// What is known while lines are read.
struct Lines {
    start: Option<i64>,
    /// Times are printed with all their bits.
    wide: bool,
    /// The latest time met, since the start.
    since: u64,
    states: States,
    names: Names,
    threads: FxHashMap<Tid, (NameId, Prio)>,
    /// The time of each CPU's last line.
    last: Vec<Ns>,
    latest: Ns,
    /// Events that were lost since, and the place where that is said.
    lost: Option<(i64, u64)>,
}

/// A line that cannot be read, and why.
struct Odd(&'static str);

impl Lines {
    fn read(&mut self, line: &[u8], offset: u64, out: &mut Batch, bad: &mut dyn Ledger) {
        let done = match line {
            [b'S', b':', rest @ ..] => self.event(rest, offset, out, Self::switch),
            [b'W', b':', rest @ ..] => self.event(rest, offset, out, Self::wake),
            [b'M', b':', rest @ ..] => self.event(rest, offset, out, Self::migrate),
            [b'P', b':', rest @ ..] => self.thread(rest, offset, out),
            [b'S', b'T', b':', rest @ ..] => self.begins(rest),
            [b'L', b'o', b's', b't', b' ', rest @ ..] => self.losses(rest, offset),
            // bpftrace's own words, and its blank lines.
            _ if line.is_empty() || line.starts_with(b"Attaching ") => Ok(()),
            _ => Err(Odd("a line that sched.bt does not write")),
        };
        if let Err(Odd(why)) = done {
            bad.trouble(why, offset, Trouble::Odd);
        }
    }

    fn begins(&mut self, rest: &[u8]) -> Result<(), Odd> {
        let mut fields = Fields(rest);
        let (zero, start) = (fields.number()?, fields.number()?);
        if zero != 0 || !fields.0.is_empty() {
            return Err(Odd("a start that sched.bt does not write"));
        }
        if self.start.is_some() {
            return Err(Odd("a second start: two recordings in one text, of which the first is read"));
        }
        self.start = Some(i64::try_from(start).map_err(|_| BEYOND)?);
        Ok(())
    }

    /// Nothing earlier will come.
    fn horizon(&self) -> Ns {
        let since = self.since.checked_sub(TURN / 2).and_then(|t| i64::try_from(t).ok());
        since.zip(self.start).and_then(|(since, start)| start.checked_add(since)).map_or(Ns::MIN, Ns)
    }

    fn time(&mut self, fields: &mut Fields<'_>) -> Result<Ns, Odd> {
        let since = self.unwrapped(fields.number()?);
        self.since = self.since.max(since);
        let since = i64::try_from(since).map_err(|_| BEYOND)?;
        let start = self.start.ok_or(Odd("a line before the start"))?;
        start.checked_add(since).map(Ns).ok_or(BEYOND)
    }

    /// The time that the low bits of one mean: the nearest to those met.
    #[inline]
    fn unwrapped(&mut self, low: u64) -> u64 {
        self.wide |= low >= TURN;
        if self.wide {
            return low;
        }
        let near = (self.since & !(TURN - 1)) | low;
        if near + TURN / 2 < self.since {
            near + TURN
        } else if near > self.since + TURN / 2 && near >= TURN {
            near - TURN
        } else {
            near
        }
    }

    /// A line of a CPU.
    #[inline]
    fn event(
        &mut self,
        rest: &[u8],
        offset: u64,
        out: &mut Batch,
        what: fn(&Self, &mut Fields<'_>, Ns) -> Result<What, Odd>,
    ) -> Result<(), Odd> {
        let mut fields = Fields(rest);
        let at = self.time(&mut fields)?;
        let cpu = fields.cpu()?;
        let what = what(self, &mut fields, at)?;
        if !fields.0.is_empty() {
            return Err(Odd("a line with more numbers than sched.bt writes"));
        }
        let slot = cpu.0 as usize;
        if self.last.len() <= slot {
            self.last.resize(slot + 1, Ns::MIN);
        }
        if let Some(last) = self.last.get_mut(slot) {
            if at < *last {
                return Err(Odd("a line earlier than the one before it on its CPU"));
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

    fn switch(&self, fields: &mut Fields<'_>, _at: Ns) -> Result<What, Odd> {
        let (prev, state, next) = (fields.tid()?, fields.number()?, fields.tid()?);
        let (out, letter) =
            if state >= OLD_KERNELS { (SwitchOut::Preempted, b'R') } else { self.states.meaning(state) };
        let (prev_name, prev_prio) = self.known(prev);
        let (next_name, next_prio) = self.known(next);
        Ok(What::Switch(Switch {
            prev,
            next,
            prev_name,
            next_name,
            stack: StackId::NONE,
            prev_state: state as u32,
            prev_prio,
            next_prio,
            out,
            letter,
            prev_exec: MaybeNs::NONE,
        }))
    }

    fn wake(&self, fields: &mut Fields<'_>, at: Ns) -> Result<What, Odd> {
        let (target, tid) = (fields.cpu()?, fields.tid()?);
        let (name, prio) = self.known(tid);
        let (kind, target, waker) = (WakeKind::Wakeup, Some(target), Tid::UNKNOWN);
        Ok(What::Wake(Wake { tid, name, kind, target, waker, prio, stamp: at }))
    }

    fn migrate(&self, fields: &mut Fields<'_>, _at: Ns) -> Result<What, Odd> {
        let (from, to, tid) = (fields.cpu()?, fields.cpu()?, fields.tid()?);
        Ok(What::Migrate { tid, from, to })
    }

    fn known(&self, tid: Tid) -> (NameId, Prio) {
        self.threads.get(&tid).copied().unwrap_or((NameId::NONE, Prio::UNKNOWN))
    }

    fn thread(&mut self, rest: &[u8], offset: u64, out: &mut Batch) -> Result<(), Odd> {
        let mut fields = Fields(rest);
        let at = self.time(&mut fields)?;
        let (tid, prio) = (fields.tid()?, fields.number()?);
        // The kernel's numbers are signed; bpftrace prints a deadline thread's −1 as 32 or 64 bits.
        let prio = i16::try_from(prio as i32).map_err(|_| Odd("a priority that is none"))?;
        let prio = Prio::new(prio);
        let name = self.names.id(fields.0.get(..LONGEST_NAME).unwrap_or(fields.0), out);
        if self.threads.len() < MOST_THREADS || self.threads.contains_key(&tid) {
            self.threads.insert(tid, (name, prio));
        } else {
            out.left_out.threads += 1;
        }
        let what = What::Name { tid, pid: Pid::UNKNOWN, name };
        out.events.push(Event { at, offset, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what });
        Ok(())
    }

    /// `Lost 17 events`: bpftrace's reader was too slow, on a CPU that it does not name.
    fn losses(&mut self, rest: &[u8], offset: u64) -> Result<(), Odd> {
        let text = rest.strip_suffix(b" events").and_then(|n| std::str::from_utf8(n).ok());
        let count: i64 = text.and_then(|n| n.parse().ok()).ok_or(Odd("a line that sched.bt does not write"))?;
        let before = self.lost.map_or(0, |(n, _)| n);
        self.lost = Some((before.saturating_add(count), offset));
        Ok(())
    }

    /// Tells a loss: since the last line of the CPU that has been silent for longest, as it may have been that one.
    fn loss_until(&mut self, at: Ns, to: MaybeNs, out: &mut Batch) {
        if let Some((events, offset)) = self.lost.take() {
            let before = |t: &Ns| *t != Ns::MIN && to.get().is_none_or(|to| *t < to);
            let from = self.last.iter().copied().filter(before).min().into();
            let what = What::Loss(LossSpan { from, to, cpu: None, events: MaybeCount::new(events) });
            out.events.push(Event { at, offset, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what });
        }
    }

    fn end(&mut self, _offset: u64, out: &mut Batch) {
        self.loss_until(self.latest, MaybeNs::NONE, out);
    }
}

/// What 32 bits of nanoseconds hold.
const TURN: u64 = 1 << 32;
const BEYOND: Odd = Odd("a line at a time beyond all clocks");

/// The rest of a line.
struct Fields<'l>(&'l [u8]);

impl Fields<'_> {
    /// Up to the next colon.
    #[inline]
    fn number(&mut self) -> Result<u64, Odd> {
        const BAD: Odd = Odd("a line whose numbers cannot be read");
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

    fn cpu(&mut self) -> Result<CpuId, Odd> {
        let cpu = u32::try_from(self.number()?).ok().filter(|n| *n < MOST_CPUS);
        cpu.map(CpuId).ok_or(Odd("a CPU beyond all machines"))
    }

    fn tid(&mut self) -> Result<Tid, Odd> {
        let tid = i32::try_from(self.number()?).ok();
        tid.map(Tid).ok_or(Odd("a thread number that is none"))
    }
}
