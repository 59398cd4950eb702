//! Names of code that programs generate while they run, as they write them: `perf-PID.map` and `jit-PID.dump`.
//!
//! Sources: tools/perf/Documentation/jit-interface.txt and jitdump-specification.txt of Linux. The files are those of the recorded programs,
//! which nothing vouches for: sizes are limited, and what does not parse is passed over.

use crate::lines::Function;
use std::collections::HashMap;
use std::io::{self, BufRead, Read};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The most bytes that are read of a file.
const MAX_BYTES: u64 = 1 << 30;
/// The most bytes of a line or of a record, without the code in it.
const MAX_RECORD: u64 = 1 << 20;
/// The longest name that is kept.
const MAX_NAME: usize = 1 << 12;
/// The most bytes of different names that are kept, and of the names of all addresses.
const MAX_NAMES: usize = 64 << 20;
const MAX_NAMED: usize = 256 << 20;
/// How long a file is read. A name of one that takes longer might not be the last one at its address, so it has none.
const READ_FOR: Duration = Duration::from_secs(30);
/// How many steps are made until the time is checked.
const STEPS: u32 = 4096;

/// What is known of an address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Generated {
    /// The last function that was there.
    pub function: Option<Function>,
    /// Whether several functions with different names were there, one after the other.
    pub several: bool,
}

/// Names, each once.
#[derive(Default)]
struct Names {
    all: Vec<Rc<str>>,
    numbers: HashMap<Rc<str>, usize>,
    bytes: usize,
}

impl Names {
    /// Returns the number of a name.
    fn number(&mut self, name: &str) -> io::Result<usize> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        self.bytes += name.len();
        if self.bytes > MAX_NAMES {
            return Err(io::Error::other("there are more than 64 MB of names"));
        }
        let name: Rc<str> = name.into();
        self.all.push(Rc::clone(&name));
        self.numbers.insert(name, self.all.len() - 1);
        Ok(self.all.len() - 1)
    }
}

/// What is known of an address, with the numbers of names.
#[derive(Clone, Copy, Default)]
struct Known {
    name: Option<usize>,
    source: Option<usize>,
    line: u32,
    several: bool,
}

/// Collects what is known of some addresses.
struct Found<'a> {
    /// In ascending order.
    addresses: &'a [u64],
    all: Vec<Known>,
    names: Names,
    until: Instant,
    steps: u32,
}

impl<'a> Found<'a> {
    fn new(addresses: &'a [u64], until: Instant) -> Self {
        Self { addresses, all: vec![Known::default(); addresses.len()], names: Names::default(), until, steps: 0 }
    }

    /// Returns which addresses are in some code.
    fn within(&self, begin: u64, size: u64) -> std::ops::Range<usize> {
        let end = begin.saturating_add(size);
        self.addresses.partition_point(|at| *at < begin)..self.addresses.partition_point(|at| *at < end)
    }

    /// Counts a step; fails if the time is over.
    fn step(&mut self) -> io::Result<()> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(STEPS) && Instant::now() >= self.until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }

    /// Notes code; `line` returns the source file and the line of an address in it.
    fn code(
        &mut self,
        begin: u64,
        size: u64,
        name: &[u8],
        line: impl Fn(u64) -> Option<(Rc<str>, u32)>,
    ) -> io::Result<()> {
        self.step()?;
        let within = self.within(begin, size);
        if within.is_empty() || name.is_empty() || name.len() > MAX_NAME {
            return Ok(());
        }
        let function = function_of(&String::from_utf8_lossy(name));
        let name = self.names.number(function.name.as_deref().unwrap_or_default())?;
        let mut source = function.source.map(|source| self.names.number(&source)).transpose()?;
        let mut of_line = function.line;
        for at in within {
            self.step()?;
            if let Some((file, line)) = line(self.addresses[at]) {
                (source, of_line) = (Some(self.names.number(&file)?), line);
            }
            let before = self.all[at];
            let several = before.several || before.name.is_some_and(|before| before != name);
            self.all[at] = Known { name: Some(name), source, line: of_line, several };
        }
        Ok(())
    }

    /// Returns what is known of each address.
    fn end(self) -> io::Result<Vec<Generated>> {
        let (all, mut bytes) = (&self.names.all, 0);
        let mut text = |number: usize| {
            bytes += all[number].len();
            if bytes > MAX_NAMED {
                return Err(io::Error::other("the addresses have more than 256 MB of names"));
            }
            Ok(all[number].as_ref().to_owned())
        };
        let generated = self.all.iter().map(|known| {
            let function = known.name.map(|name| {
                let source = known.source.map(&mut text).transpose()?;
                Ok::<_, io::Error>(Function { name: Some(text(name)?), source, line: known.line })
            });
            Ok(Generated { function: function.transpose()?, several: known.several })
        });
        generated.collect()
    }
}

/// Returns the functions at some addresses (in ascending order) from a `perf-PID.map`: lines of an address, a size and a name.
///
/// # Errors
/// The file cannot be read, takes too long, or has too many names.
pub fn of_perf_map(map: impl BufRead, addresses: &[u64]) -> io::Result<Vec<Generated>> {
    of_perf_map_until(map, addresses, Instant::now() + READ_FOR)
}

fn of_perf_map_until(map: impl BufRead, addresses: &[u64], until: Instant) -> io::Result<Vec<Generated>> {
    let (mut found, mut map, mut line) = (Found::new(addresses, until), map.take(MAX_BYTES), Vec::new());
    loop {
        line.clear();
        if (&mut map).take(MAX_RECORD).read_until(b'\n', &mut line)? == 0 {
            return found.end();
        }
        found.step()?;
        let mut words = line.trim_ascii_end().splitn(3, |byte| *byte == b' ');
        let mut number = || {
            let word = std::str::from_utf8(words.next()?).ok()?;
            u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
        };
        if let (Some(begin), Some(size)) = (number(), number())
            && let Some(name) = words.next()
        {
            found.code(begin, size, name, |_| None)?;
        }
    }
}

/// Returns the function that a name stands for. Node.js writes `JS:*spin /srv/app.js:3:14`, Python `py::spin:/srv/app.py`.
fn function_of(name: &str) -> Function {
    if let Some((function, source)) = name.strip_prefix("py::").and_then(|rest| rest.split_once(':'))
        && source.starts_with(['/', '<', '.'])
    {
        let source = Some(source.to_owned()).filter(|source| source.starts_with(['/', '.']));
        return Function { name: Some(format!("py::{function}")), source, line: 0 };
    }
    let of_script = ["JS:", "LazyCompile:", "Function:", "Script:", "Eval:"].iter().any(|tag| name.starts_with(tag));
    let place = || {
        let (function, place) = name.split_once(' ')?;
        let mut parts = place.rsplitn(3, ':');
        let (_column, line) = (parts.next()?.parse::<u32>().ok()?, parts.next()?.parse().ok()?);
        Some(Function { name: Some(function.to_owned()), source: parts.next().map(str::to_owned), line })
    };
    of_script.then(place).flatten().unwrap_or_else(|| Function { name: Some(name.to_owned()), ..Function::default() })
}

/// The records of a jitdump file that are read.
const CODE_LOAD: u32 = 0;
const CODE_MOVE: u32 = 1;
const DEBUG_INFO: u32 = 2;
const CODE_CLOSE: u32 = 3;

/// Whether a file begins as jitdump files of this machine's byte order do.
#[must_use]
pub fn is_jitdump(begin: &[u8]) -> bool {
    begin.starts_with(&0x4a69_5444_u32.to_ne_bytes())
}

/// Numbers of a record.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_ne_bytes(*bytes))
    }

    fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*bytes))
    }

    /// Text up to a zero byte.
    fn text(&mut self) -> Option<&[u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let (text, rest) = self.0.split_at(end);
        self.0 = &rest[1..];
        Some(text)
    }
}

/// The lines of code that is loaded next: address, line, and file.
type Lines = Vec<(u64, u32, Rc<str>)>;

/// Returns the functions at some addresses (in ascending order) from a `jit-PID.dump`. A file that is cut off, as of a program that runs, is
/// read as far as it goes.
///
/// # Errors
/// The file cannot be read, is no such file, takes too long, or has too many names.
pub fn of_jitdump(dump: impl Read, addresses: &[u64]) -> io::Result<Vec<Generated>> {
    let mut found = Found::new(addresses, Instant::now() + READ_FOR);
    let mut dump = dump.take(MAX_BYTES);
    let mut head = [0; 40];
    dump.read_exact(&mut head)?;
    let head_size = u32::from_ne_bytes([head[8], head[9], head[10], head[11]]);
    if !is_jitdump(&head) || !(40..=4096).contains(&head_size) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    skip(&mut dump, u64::from(head_size) - 40)?;
    let mut lines: Option<(u64, Lines)> = None;
    let mut prefix = [0; 16];
    while dump.read_exact(&mut prefix).is_ok() {
        found.step()?;
        let mut fields = Fields(&prefix);
        let (Some(kind), Some(size)) = (fields.u32(), fields.u32()) else { break };
        let Some(size) = u64::from(size).checked_sub(16) else { break };
        // The code itself follows the name, and is not needed.
        let read = if kind == CODE_LOAD { size.min(40 + MAX_NAME as u64 + 1) } else { size };
        if kind == CODE_CLOSE {
            break;
        }
        if read > MAX_RECORD || !matches!(kind, CODE_LOAD | CODE_MOVE | DEBUG_INFO) {
            skip(&mut dump, size)?;
            continue;
        }
        let mut body = Vec::new();
        (&mut dump).take(read).read_to_end(&mut body)?;
        skip(&mut dump, size - read)?;
        let mut fields = Fields(&body);
        match kind {
            CODE_LOAD => load(&mut fields, lines.take(), &mut found).unwrap_or(Ok(()))?,
            CODE_MOVE => moved(&mut fields, &mut found).unwrap_or(Ok(()))?,
            _ => lines = debug_info(&mut fields, &found),
        }
    }
    found.end()
}

/// Skips bytes, as far as there are any.
fn skip(from: &mut impl Read, bytes: u64) -> io::Result<()> {
    io::copy(&mut from.take(bytes), &mut io::sink()).map(drop)
}

fn load(fields: &mut Fields<'_>, lines: Option<(u64, Lines)>, found: &mut Found<'_>) -> Option<io::Result<()>> {
    let (_pid_tid, _vma) = (fields.u64()?, fields.u64()?);
    let (begin, size, _index) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let name = fields.text()?.to_owned();
    let lines = lines.filter(|(of, _)| *of == begin).map(|(_, lines)| lines).unwrap_or_default();
    Some(found.code(begin, size, &name, |at| {
        // The last entry at or before the address.
        let next = lines.partition_point(|(address, ..)| *address <= at);
        let (_, line, file) = lines.get(next.checked_sub(1)?)?;
        Some((Rc::clone(file), *line))
    }))
}

/// Code that was moved has the name that it had at its old place, which is known only where an address of it was wanted there.
fn moved(fields: &mut Fields<'_>, found: &mut Found<'_>) -> Option<io::Result<()>> {
    let (_pid_tid, _vma) = (fields.u64()?, fields.u64()?);
    let (old, new, size) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let mut name = None;
    for at in found.within(old, size) {
        if let Err(why) = found.step() {
            return Some(Err(why));
        }
        name = found.all[at].name;
        if name.is_some() {
            break;
        }
    }
    let name = name?;
    let name = Rc::clone(&found.names.all[name]);
    Some(found.code(new, size, name.as_bytes(), |_| None))
}

/// Reads the lines of the code that is loaded next, if an address in it is wanted.
fn debug_info(fields: &mut Fields<'_>, found: &Found<'_>) -> Option<(u64, Lines)> {
    let (begin, entries) = (fields.u64()?, fields.u64()?);
    let mut lines = Lines::new();
    for _ in 0..entries {
        let (Some(address), Some(line), Some(_)) = (fields.u64(), fields.u32(), fields.u32()) else { break };
        let Some(name) = fields.text() else { break };
        // The same file as before.
        let file = match name {
            [0xff, ..] => lines.last().map(|(.., file)| Rc::clone(file))?,
            name if name.len() > MAX_NAME => break,
            name => String::from_utf8_lossy(name).into(),
        };
        lines.push((address, line, file));
    }
    let last = lines.iter().map(|(address, ..)| *address).max()?;
    // The size of the code comes later.
    let near = found.within(begin.min(last), last.saturating_sub(begin).saturating_add(MAX_RECORD));
    lines.sort_by_key(|(address, ..)| *address);
    (!near.is_empty()).then_some((begin, lines))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn text(of: &Generated) -> String {
        let Some(function) = &of.function else { return "-".into() };
        let source = function.source.as_deref().unwrap_or("-");
        let several = if of.several { " (several)" } else { "" };
        format!("{} {source}:{}{several}", function.name.as_deref().unwrap(), function.line)
    }

    #[test]
    fn the_lines_of_a_map_are_read() {
        let map = "1000 100 JS:*spin /srv/my app.js:3:14\n1100 10 LazyCompile:~work app.js:1:2\n\
                   0x2000 0x10 py::spin:/srv/app.py\n2010 10 py::<module>:<string>\n3000 8 stub one\n\
                   nonsense\n4000 zz name\n5000 10 \n3004 4 other\nffffffffffffffff ffffffffffffffff last";
        let addresses = [0xfff, 0x1000, 0x10ff, 0x1105, 0x200f, 0x2010, 0x3003, 0x3004, 0x3008, 0x5000, u64::MAX];
        let found = of_perf_map(map.as_bytes(), &addresses).unwrap();
        let spin = "JS:*spin /srv/my app.js:3";
        let of_python = ["py::spin /srv/app.py:0", "py::<module> -:0"];
        let work = "LazyCompile:~work app.js:1";
        let expected =
            ["-", spin, spin, work, of_python[0], of_python[1], "stub one -:0", "other -:0 (several)", "-", "-", "-"];
        assert_eq!(found.iter().map(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_file_that_takes_too_long_gives_no_names() {
        let addresses: Vec<u64> = (0..4000).collect();
        let map = "0 ffff name\n".repeat(10);
        let found = of_perf_map_until(map.as_bytes(), &addresses, Instant::now());
        assert_eq!(found.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn names_are_limited() {
        let map: String = (0..17_000).map(|n| format!("{n:x} 1 {n:04000}\n")).collect();
        let addresses: Vec<u64> = (0..17_000).collect();
        assert!(of_perf_map(map.as_bytes(), &addresses).is_err(), "68 MB of different names");
        // The same name for many addresses is kept once, but its copies are limited.
        let map = format!("0 ffffff {}\n", "n".repeat(MAX_NAME));
        let addresses: Vec<u64> = (0..70_000).collect();
        assert!(of_perf_map(map.as_bytes(), &addresses).is_err(), "286 MB of copies");
        assert_eq!(of_perf_map(map.as_bytes(), &addresses[..100]).unwrap().len(), 100);
    }

    fn record(kind: u32, body: &[&[u8]]) -> Vec<u8> {
        let body = body.concat();
        [&kind.to_ne_bytes()[..], &(body.len() as u32 + 16).to_ne_bytes(), &7_u64.to_ne_bytes(), &body].concat()
    }

    fn loaded(begin: u64, size: u64, name: &str) -> Vec<u8> {
        let numbers = [0, begin, begin, size, 1].map(u64::to_ne_bytes).concat();
        record(CODE_LOAD, &[&numbers, name.as_bytes(), b"\0", &vec![0x90; size as usize]])
    }

    fn dump(records: &[Vec<u8>]) -> Vec<u8> {
        let head = [0x4a69_5444_u32, 1, 40, 62, 0, 9].map(u32::to_ne_bytes).concat();
        [&head[..], &[0; 16], &records.concat()].concat()
    }

    #[test]
    fn the_records_of_a_dump_are_read() {
        let entry = |address: u64, line: u32, name: &[u8]| {
            [&address.to_ne_bytes()[..], &line.to_ne_bytes(), &0_u32.to_ne_bytes(), name, b"\0"].concat()
        };
        let lines = [entry(0x1000, 5, b"/srv/A.java"), entry(0x1010, 6, b"\xff")].concat();
        let debug = record(DEBUG_INFO, &[&0x1000_u64.to_ne_bytes(), &2_u64.to_ne_bytes(), &lines]);
        let moved = record(CODE_MOVE, &[&[0, 0x6000, 0x2000, 0x6000, 0x100, 2].map(u64::to_ne_bytes).concat()]);
        let records = [
            debug,
            loaded(0x1000, 0x20, "A.run"),
            record(9, &[&[1; 77]]),
            loaded(0x2000, 0x100, "B.run"),
            moved,
            loaded(0x1000, 8, "C"),
        ];
        let addresses = [0x1004, 0x100f, 0x101f, 0x1020, 0x2000, 0x6000];
        let whole = dump(&records);
        let found = of_jitdump(&*whole, &addresses).unwrap();
        let expected = ["C -:0 (several)", "A.run /srv/A.java:5", "A.run /srv/A.java:6", "-", "B.run -:0", "B.run -:0"];
        assert_eq!(found.iter().map(text).collect::<Vec<_>>(), expected);
        // Cut off anywhere, and with any byte changed.
        for at in 0..whole.len() {
            let _ = of_jitdump(&whole[..at], &addresses);
            let mut changed = whole.clone();
            changed[at] ^= 0xff;
            let _ = of_jitdump(&*changed, &addresses);
        }
        assert!(of_jitdump(&b"\x7fELF"[..], &addresses).is_err());
    }
}
