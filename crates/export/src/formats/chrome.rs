//! Chrome's trace event JSON (chrome://tracing, Perfetto's viewer, Speedscope), as described in "Trace Event Format" of the Chromium
//! project.
//!
//! ```text
//!   process "CPUs"          one row per CPU ("cpu 3, performance"): complete events (X) named after the running thread
//!   process "game (4711)"   one row per thread: complete events named after its state; running has CPU and core type
//! ```
//!
//! Times are in microseconds from the start of the recording, with three decimals, so that they are exact to the nanosecond. Counters
//! (C) are the CPUs' frequencies and the rates of counted events; an arrow (s, f) leads from a waker to the thread that became ready. The format has no type for lost
//! or unknown time, so an unknown stretch is an event with that name.

use crate::directory::{Directory, Thread};
use crate::stretch::Stretch;
use crate::{ExportError, Exporter, Job, Offer, Outputs, Shape, about, json, stretch};
use engine::Session;
use model::{CpuId, EventKind, MIN_COUNTED_SHARE, NameId, Ns, tables};
use std::collections::BTreeMap;
use std::io::Write;

/// A JSON file of trace events.
pub struct Chrome;

/// The process of the CPUs: no other process has this PID.
const CPUS: i64 = 0;

impl Exporter for Chrome {
    fn id(&self) -> &'static str {
        "chrome"
    }

    fn about(&self) -> &'static str {
        "trace event JSON for chrome://tracing and compatible tools"
    }

    fn shape(&self) -> Shape {
        Shape::File
    }

    fn suffix(&self) -> &'static str {
        ".json"
    }

    fn offer(&self) -> Offer {
        Offer {
            read_by: "chrome://tracing, Perfetto's viewer, Speedscope",
            carries: &[
                "What each CPU ran, and each thread's states with CPU, core type, reason and priority.",
                "Frequencies and rates of counted events as counters; an arrow from the waker to the woken thread.",
            ],
            cannot: &[
                "Marks of programs, interrupts, sums and losses. Viewers hold the whole file in memory: use --range.",
            ],
        }
    }

    fn write(&self, job: &mut Job<'_>, to: &mut dyn Outputs) -> Result<(), ExportError> {
        let directory = Directory::of(job.session)?;
        let mut writer = Writer { out: to.next("trace.json")?, line: Vec::new(), separator: b"", arrows: 0 };
        writer.line.extend_from_slice(b"{\"displayTimeUnit\":\"ns\",\"otherData\":{");
        for (i, (name, value)) in about::facts(job).iter().enumerate() {
            writer.line.extend_from_slice(if i > 0 { b"," } else { b"" });
            json::text(name, &mut writer.line);
            writer.line.push(b':');
            json::text(value, &mut writer.line);
        }
        writer.put(b"},\"traceEvents\":[\n")?;
        writer.separator = b"";
        writer.names(job.session, &directory)?;
        stretch::each(job, |s| writer.stretch(s, &directory))?;
        writer.counters(job)?;
        writer.separator = b"";
        writer.put(b"\n]}\n")
    }
}

struct Writer<'a> {
    out: &'a mut (dyn Write + Send),
    line: Vec<u8>,
    /// Written before the next event.
    separator: &'static [u8],
    arrows: u64,
}

/// The maximum number of counters of events.
const MAX_RATES: usize = 1 << 16;

/// By CPU and event: until when it was written, and the name of the event.
type Rates = BTreeMap<(CpuId, NameId), (Ns, Box<str>)>;

/// A count that was read.
struct Rate {
    event: NameId,
    length: Ns,
    count: i64,
    running: Ns,
}

impl Writer<'_> {
    /// Writes the line and its end.
    fn put(&mut self, end: &[u8]) -> Result<(), ExportError> {
        self.line.extend_from_slice(end);
        self.out.write_all(self.separator)?;
        self.out.write_all(&self.line)?;
        self.separator = b",\n";
        self.line.clear();
        Ok(())
    }

    fn meta(&mut self, what: &str, pid: i64, tid: Option<i64>, name: &str) -> Result<(), ExportError> {
        write!(self.line, "{{\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{pid}")?;
        if let Some(tid) = tid {
            write!(self.line, ",\"tid\":{tid}")?;
        }
        self.line.extend_from_slice(b",\"args\":{\"name\":");
        json::text(name, &mut self.line);
        self.put(b"}}")
    }

    fn names(&mut self, session: &Session, directory: &Directory) -> Result<(), ExportError> {
        self.meta("process_name", CPUS, None, "CPUs")?;
        let cpus = session.table(tables::CPUS.name)?;
        for row in cpus.rows_of(tables::cpus::Table) {
            let (cpu, kind) = (row.get(tables::cpus::CPU), row.get(tables::cpus::CORE_TYPE));
            self.meta("thread_name", CPUS, Some(cpu), &format!("cpu {cpu}, {kind}"))?;
        }
        for (pid, name) in directory.processes() {
            self.meta("process_name", pid, None, &name)?;
        }
        for (_, thread) in &directory.threads {
            self.meta("thread_name", thread.process(), Some(thread.tid), &thread.shown())?;
        }
        Ok(())
    }

    /// Begins an event.
    fn event(&mut self, phase: char, pid: i64, tid: i64, at_ns: i64) -> Result<(), ExportError> {
        write!(self.line, "{{\"ph\":\"{phase}\",\"pid\":{pid},\"tid\":{tid},\"ts\":")?;
        json::micros(at_ns, &mut self.line);
        Ok(())
    }

    fn stretch(&mut self, s: &Stretch<'_>, directory: &Directory) -> Result<(), ExportError> {
        let thread = directory.get(s.thread);
        let pid = thread.map_or(s.tid, Thread::process);
        if let (Some(cpu), "running") = (s.cpu, s.state) {
            self.event('X', CPUS, cpu, s.start_ns)?;
            self.duration(s);
            self.line.extend_from_slice(b",\"cat\":\"cpu\",\"name\":");
            json::text(&thread.map(Thread::shown).unwrap_or_default(), &mut self.line);
            write!(self.line, ",\"args\":{{\"tid\":{},\"pid\":{pid}}}", s.tid)?;
            self.put(b"}")?;
        }
        self.event('X', pid, s.tid, s.start_ns)?;
        self.duration(s);
        self.line.extend_from_slice(b",\"cat\":\"state\",\"name\":");
        json::text(s.state, &mut self.line);
        write!(self.line, ",\"args\":{{\"thread\":{}", s.thread.0)?;
        let ints = [("cpu", s.cpu), ("waker", s.waker.map(|waker| waker.0)), ("exec_ns", s.exec_ns), ("prio", s.prio)];
        for (name, value) in ints.into_iter().filter_map(|(n, v)| Some((n, v?))) {
            write!(self.line, ",\"{name}\":{value}")?;
        }
        for (name, value) in [("core_type", s.core_type), ("reason", s.reason)] {
            if let Some(value) = value {
                write!(self.line, ",\"{name}\":")?;
                json::text(value, &mut self.line);
            }
        }
        self.put(b"}}")?;
        match s.waker.and_then(|w| directory.get(w)) {
            Some(waker) => self.arrow((waker.process(), waker.tid), (pid, s.tid), s.start_ns),
            None => Ok(()),
        }
    }

    fn duration(&mut self, s: &Stretch<'_>) {
        self.line.extend_from_slice(b",\"dur\":");
        json::micros(s.end_ns - s.start_ns, &mut self.line);
    }

    /// Writes an arrow from one row to another at an instant.
    fn arrow(&mut self, from: (i64, i64), to: (i64, i64), at_ns: i64) -> Result<(), ExportError> {
        self.arrows += 1;
        let id = self.arrows;
        for (phase, (pid, tid)) in [('s', from), ('f', to)] {
            self.event(phase, pid, tid, at_ns)?;
            write!(self.line, ",\"cat\":\"wake\",\"name\":\"wakes\",\"id\":{id},\"bp\":\"e\"")?;
            self.put(b"}")?;
        }
        Ok(())
    }

    /// Writes frequencies and rates of counted events, if the events are available.
    fn counters(&mut self, job: &mut Job<'_>) -> Result<(), ExportError> {
        let (mut failed, mut rates) = (Ok(()), Rates::new());
        let read = job.session.events(&mut |events, names| {
            for event in events.iter().filter(|e| job.has(e.at)) {
                if failed.is_err() {
                    break;
                }
                failed = match event.what {
                    EventKind::Frequency { of, khz } => self.frequency(event.at.0, of, khz),
                    EventKind::Count { event: of, length, count, running, .. } if job.has(event.at - length) => {
                        let of = Rate { event: of, length, count, running };
                        self.count(event.at, event.cpu, &of, names, &mut rates)
                    }
                    _ => Ok(()),
                };
            }
            if failed.is_ok() { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
        });
        failed?;
        read?;
        rates.iter().try_for_each(|((cpu, _), (end, name))| self.rate(end.0, *cpu, name, 0.0))
    }

    /// Writes the rate of a count from the reading before on. Where nothing was counted it is 0, as a counter has no gaps.
    fn count(
        &mut self,
        at: Ns,
        cpu: CpuId,
        of: &Rate,
        names: &[Box<str>],
        rates: &mut Rates,
    ) -> Result<(), ExportError> {
        let (start, key) = (at - of.length, (cpu, of.event));
        let is_counted = of.running > Ns::ZERO && of.running.0 as f64 >= MIN_COUNTED_SHARE * of.length.0 as f64;
        if !is_counted || (rates.len() >= MAX_RATES && !rates.contains_key(&key)) {
            return Ok(());
        }
        let name = || (of.event.0 as usize).checked_sub(1).and_then(|at| names.get(at)).cloned().unwrap_or_default();
        let (end, name) = rates.entry(key).or_insert_with(|| (start, name()));
        let before = std::mem::replace(end, at);
        let name = name.clone();
        if before < start {
            self.rate(before.0, cpu, &name, 0.0)?;
        }
        self.rate(start.0, cpu, &name, of.count as f64 * 1e9 / of.running.0 as f64)
    }

    fn rate(&mut self, at_ns: i64, cpu: CpuId, name: &str, rate: f64) -> Result<(), ExportError> {
        self.event('C', CPUS, i64::from(cpu.0), at_ns)?;
        self.line.extend_from_slice(b",\"name\":");
        json::text(&format!("cpu {} {name} [1/s]", cpu.0), &mut self.line);
        write!(self.line, ",\"args\":{{\"rate\":{rate:.0}}}")?;
        self.put(b"}")
    }

    fn frequency(&mut self, at_ns: i64, of: CpuId, khz: u32) -> Result<(), ExportError> {
        self.event('C', CPUS, i64::from(of.0), at_ns)?;
        write!(self.line, ",\"name\":\"cpu {} frequency [kHz]\",\"args\":{{\"kHz\":{khz}}}", of.0)?;
        self.put(b"}")
    }
}
