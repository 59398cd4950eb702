//! The options of a file, which have the same form in both versions: (id, size, data).

use super::reader::Reader;
use ingest::Fatal;
use model::{CpuId, Pid, Tid};
use std::io::{Read, Seek};

const DONE: u16 = 0;
const DATE: u16 = 1;
const CPUSTAT: u16 = 2;
const BUFFER: u16 = 3;
const TRACECLOCK: u16 = 4;
const UNAME: u16 = 5;
const OFFSET: u16 = 7;
const CPUCOUNT: u16 = 8;
const VERSION: u16 = 9;
const TIME_SHIFT: u16 = 12;
const TSC2NSEC: u16 = 14;
/// The sections of version 7; the option's number is the section's.
pub(super) const HEADER_INFO: u16 = 16;
pub(super) const FTRACE_EVENTS: u16 = 17;
pub(super) const EVENT_FORMATS: u16 = 18;
pub(super) const KALLSYMS: u16 = 19;
pub(super) const CMDLINES: u16 = 21;
const BUFFER_TEXT: u16 = 22;

/// The maximum size of an option that is read.
const MAX_OPTION: u64 = 2 << 20;
/// The maximum length of the name of an instance or clock.
const MAX_NAME: usize = 4096;
/// The maximum numbers of CPUs and of instances.
const MAX_CPUS: usize = 1 << 16;
const MAX_BUFFERS: usize = 1 << 10;

/// The data of one CPU of one instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CpuData {
    pub(super) cpu: CpuId,
    pub(super) at: u64,
    pub(super) size: u64,
}

/// The events of one instance.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Buffer {
    /// Empty for the top instance.
    pub(super) name: String,
    pub(super) clock: String,
    /// The offset of its section in version 7, of its table of CPUs in version 6.
    pub(super) at: u64,
    /// 0 if the option does not contain it.
    pub(super) page_size: u64,
    pub(super) cpus: Vec<CpuData>,
}

/// The kernel's counters of a CPU's buffer (`per_cpu/cpu*/stats`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stats {
    pub(super) buffer: String,
    pub(super) cpu: CpuId,
    /// Events overwritten before they were read; the page after them contains this.
    pub(super) overrun: u64,
    /// Events never written; no page contains this.
    pub(super) dropped: u64,
}

/// The content of the options.
#[derive(Default)]
pub(super) struct Options {
    /// Nanoseconds to add to every time, and whether that makes them the time of day.
    pub(super) offset: i64,
    pub(super) dated: bool,
    /// The selected entry of `trace_clock`.
    pub(super) clock: String,
    pub(super) uname: String,
    pub(super) version: String,
    pub(super) cpu_count: Option<u32>,
    /// Ticks × first >> second = ns.
    pub(super) tsc: Option<(u32, u32)>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) stats: Vec<Stats>,
    pub(super) tgids: Vec<(Tid, Pid)>,
    /// (id, offset) of version 7's sections.
    pub(super) sections: Vec<(u16, u64)>,
    /// Whether it contains a latency tracer's text.
    pub(super) text: bool,
    /// Whether it is a guest's, with corrections to its host's clock.
    pub(super) shifted: bool,
    /// The instance of the statistics that follow.
    stats_of: String,
}

impl Options {
    /// Reads a list of options; returns the offset of the next one in version 7.
    pub(super) fn read<R: Read + Seek>(&mut self, r: &mut Reader<R>, version: u32) -> Result<u64, Fatal> {
        while version == 6 || r.left() > 0 {
            let id = r.u16()?;
            if id == DONE && version == 6 {
                break;
            }
            let size = u64::from(r.u32()?);
            if !Self::wants(id) {
                r.skip(size)?;
                continue;
            }
            let place = r.place();
            let data = r.take(size, MAX_OPTION)?;
            let mut data = Reader::of_section(std::io::Cursor::new(data.as_slice()), size, place, true, r.order());
            if id == DONE {
                return data.u64();
            }
            self.option(id, &mut data, version)?;
        }
        Ok(0)
    }

    fn wants(id: u16) -> bool {
        const READ: [u16; 17] = [
            DONE,
            DATE,
            CPUSTAT,
            BUFFER,
            TRACECLOCK,
            UNAME,
            OFFSET,
            CPUCOUNT,
            VERSION,
            TIME_SHIFT,
            TSC2NSEC,
            HEADER_INFO,
            FTRACE_EVENTS,
            EVENT_FORMATS,
            KALLSYMS,
            CMDLINES,
            BUFFER_TEXT,
        ];
        READ.contains(&id)
    }

    fn option<R: Read + Seek>(&mut self, id: u16, data: &mut Reader<R>, version: u32) -> Result<(), Fatal> {
        match id {
            DATE => {
                self.offset = self.offset.saturating_add(number(&text(data)?).unwrap_or(0).saturating_mul(1_000));
                self.dated = true;
            }
            OFFSET => self.offset = self.offset.saturating_add(number(&text(data)?).unwrap_or(0)),
            CPUSTAT => self.statistics(&text(data)?),
            BUFFER => self.buffer(data, version)?,
            TRACECLOCK => self.clock = selected(&text(data)?),
            UNAME => self.uname = text(data)?,
            VERSION => self.version = text(data)?,
            CPUCOUNT if data.left() == 4 => self.cpu_count = Some(data.u32()?),
            // trace-cmd does not record processes; GPUVis's copy of it writes them here, one line per thread.
            CPUCOUNT => self.tgids = text(data)?.lines().filter_map(tid_and_pid).collect(),
            TIME_SHIFT => self.shifted = true,
            TSC2NSEC => self.tsc = Some((data.u32()?, data.u32()?)),
            BUFFER_TEXT => self.text = true,
            section => {
                let at = data.u64()?;
                self.sections.retain(|(known, _)| *known != section);
                self.sections.push((section, at));
            }
        }
        Ok(())
    }

    fn buffer<R: Read + Seek>(&mut self, data: &mut Reader<R>, version: u32) -> Result<(), Fatal> {
        let at = data.u64()?;
        let name = utf8(&data.text(MAX_NAME as u64)?);
        let mut buffer = Buffer { at, name, ..Buffer::default() };
        if version >= 7 {
            buffer.clock = utf8(&data.text(MAX_NAME as u64)?);
            buffer.page_size = u64::from(data.u32()?);
            for _ in 0..data.u32()? {
                let cpu = CpuId(data.u32()?);
                buffer.cpus.push(CpuData { cpu, at: data.u64()?, size: data.u64()? });
            }
        }
        let known: usize = self.buffers.iter().map(|b| b.cpus.len()).sum();
        if self.buffers.len() >= MAX_BUFFERS || known + buffer.cpus.len() > MAX_CPUS {
            return Err(data.fatal("more than 1024 instances or 65536 CPUs: the file is damaged"));
        }
        self.buffers.push(buffer);
        Ok(())
    }

    /// Reads "CPU: 0", followed by a line per counter; or "Buffer: name", the instance of those that follow.
    fn statistics(&mut self, text: &str) {
        let value = |name: &str| text.lines().find_map(|l| l.trim().strip_prefix(name)).map(str::trim);
        if let Some(name) = value("Buffer:").filter(|n| n.len() < 256) {
            name.clone_into(&mut self.stats_of);
        }
        let count = |name: &str| value(name).and_then(|v| v.parse::<u64>().ok()).unwrap_or(0);
        let Some(cpu) = value("CPU:").and_then(|v| v.parse().ok()).map(CpuId) else { return };
        if self.stats.len() < MAX_CPUS {
            let dropped = count("commit overrun:").saturating_add(count("dropped events:"));
            self.stats.push(Stats { buffer: self.stats_of.clone(), cpu, overrun: count("overrun:"), dropped });
        }
    }
}

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Reads the whole option as a text, without the NULs at its end.
fn text<R: Read + Seek>(data: &mut Reader<R>) -> Result<String, Fatal> {
    let bytes = data.take(data.left(), MAX_OPTION)?;
    Ok(utf8(bytes.split(|b| *b == 0).next().unwrap_or_default()).trim().to_owned())
}

/// Parses a number like C's `strtoll`.
fn number(text: &str) -> Option<i64> {
    let (minus, digits) = match text.trim().strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.trim().trim_start_matches('+')),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()? as i64,
        None => digits.parse().ok()?,
    };
    Some(if minus { value.wrapping_neg() } else { value })
}

/// Returns the entry in brackets: `local [global] counter`.
fn selected(clocks: &str) -> String {
    let inner = clocks.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(name, _)| name);
    inner.unwrap_or(clocks).to_owned()
}

fn tid_and_pid(line: &str) -> Option<(Tid, Pid)> {
    let (tid, pid) = line.trim().split_once(' ')?;
    Some((Tid(tid.parse().ok()?), Pid(pid.trim().parse().ok()?)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_and_clocks_written_by_the_kernel_are_read() {
        assert_eq!(number("0x10"), Some(16));
        assert_eq!(number("-5"), Some(-5));
        assert_eq!(number("soon"), None);
        assert_eq!(selected("local global [mono] boot"), "mono");
        assert_eq!(selected("local"), "local");
    }

    #[test]
    fn statistics_belong_to_the_preceding_instance() {
        let mut options = Options::default();
        options.statistics("CPU: 1\nentries: 0\noverrun: 7\ncommit overrun: 2\ndropped events: 3\n");
        options.statistics("\nBuffer: foo\n\n");
        options.statistics("CPU: 0\noverrun: 1\n");
        let stats: Vec<_> = options.stats.iter().map(|s| (s.buffer.as_str(), s.cpu.0, s.overrun, s.dropped)).collect();
        assert_eq!(stats, [("", 1, 7, 5), ("foo", 0, 1, 0)]);
    }
}
