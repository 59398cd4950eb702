//! Reads the data before the events: in version 6 in sequence, in version 7 in sections to which the options refer.

use super::options::{self, Buffer, CpuData, Options};
use super::packed::Codec;
use super::reader::{Reader, read_error};
use super::stream::Records;
use crate::tracepoint::{BadPage, ByteOrder, EventFormat, PageLayout};
use ingest::{Fatal, ReadSeek};
use model::CpuId;
use std::io::{Cursor, Read, Seek, SeekFrom};

/// The magic number, and the word after it.
pub(super) const MAGIC: &[u8] = b"\x17\x08\x44tracing";
/// The maximum size of a section other than the events' (all event descriptions of a kernel have about 5 MiB).
const MAX_SECTION: u64 = 64 << 20;
/// The maximum number of option lists in a file; trace-cmd writes three.
const MAX_LISTS: usize = 64;
const MAX_CPUS: u32 = 1 << 16;
/// The maximum size of an event or page description, and the maximum size read of a list of names.
const MAX_FORMAT: u64 = 1 << 20;
const MAX_CMDLINES: u64 = 2 << 20;
/// A section of events, and the flag of a packed one.
const FLYRECORD: u16 = 3;
const PACKED: u16 = 1;

/// The common start of both versions.
#[derive(Clone, Copy)]
pub(super) struct Start {
    version: u32,
    pub(super) order: ByteOrder,
    page_size: u64,
    /// The size of a long in bytes.
    pub(super) long: usize,
    /// The offset of the rest.
    at: u64,
    pub(super) length: u64,
}

/// The data before the events.
pub(super) struct Head {
    pub(super) version: u32,
    pub(super) page_size: u64,
    /// The kernel's symbols.
    pub(super) symbols: Option<SymbolList>,
    pub(super) layout: PageLayout,
    pub(super) codec: Codec,
    pub(super) options: Options,
    /// The names of threads at the end of the recording, one per line.
    pub(super) cmdlines: Vec<u8>,
    /// All instances, the top instance first.
    pub(super) buffers: Vec<Buffer>,
}

/// The place of the kernel's symbols: they are as long as the rest of the head, and rarely needed.
pub(super) struct SymbolList {
    start: Start,
    /// The name of the compression of sections.
    compression: Vec<u8>,
    /// The offset of the symbols; in version 7, of their section.
    at: u64,
}

impl SymbolList {
    /// Reads the symbols, in the form of /proc/kallsyms.
    pub(super) fn read(self, file: &mut dyn ReadSeek) -> Result<Vec<u8>, Fatal> {
        let Self { start, compression, at } = self;
        let Start { order, length, .. } = start;
        if start.version == 6 {
            let mut r = Reader::of_file(file, at, length, order)?;
            let size = u64::from(r.u32()?);
            return r.take(size, MAX_SECTION);
        }
        let codec = Codec::of_name(&compression, at)?;
        let mut r = Sections { file, order, length, codec }.read(options::KALLSYMS, at)?;
        let size = u64::from(r.u32()?);
        r.take(size, MAX_SECTION)
    }
}

/// Reads the first bytes.
pub(super) fn start(file: &mut dyn ReadSeek) -> Result<Start, Fatal> {
    let length = file.seek(SeekFrom::End(0)).map_err(|e| read_error(&e, 0))?;
    let mut r = Reader::of_file(file, 0, length, ByteOrder::Little)?;
    if r.take(MAGIC.len() as u64, 64)? != MAGIC {
        return Err(Fatal::new("this is not a trace.dat file: its magic number is missing", 0));
    }
    let version = match r.text(16)?.as_slice() {
        b"6" => 6,
        b"7" => 7,
        other => {
            let what =
                format!("trace.dat version {} is not supported: only 6 and 7 are", String::from_utf8_lossy(other));
            return Err(Fatal::new(what, MAGIC.len() as u64));
        }
    };
    let order = if r.u8()? == 0 { ByteOrder::Little } else { ByteOrder::Big };
    r.set_order(order);
    let long = if r.u8()? == 4 { 4 } else { 8 };
    let page_size = u64::from(r.u32()?);
    Ok(Start { version, order, page_size, long, at: r.place(), length })
}

/// Reads the rest of the head; `learn` is called with the description of each event whose records are read.
pub(super) fn read(file: &mut dyn ReadSeek, start: Start, learn: &mut dyn FnMut(EventFormat)) -> Result<Head, Fatal> {
    let mut r = Reader::of_file(&mut *file, start.at, start.length, start.order)?;
    if start.version == 6 {
        return version_6(r, start, learn);
    }
    let name = r.text(64)?;
    r.text(64)?; // its version
    let codec = Codec::of_name(&name, start.at)?;
    let at = r.u64()?;
    let sections = Sections { file: r.into_inner(), order: start.order, length: start.length, codec };
    version_7(sections, start, name, at, learn)
}

fn version_6(
    mut r: Reader<&mut dyn ReadSeek>,
    start: Start,
    learn: &mut dyn FnMut(EventFormat),
) -> Result<Head, Fatal> {
    let layout = header_info(&mut r)?;
    ftrace_formats(&mut r, learn)?;
    event_formats(&mut r, learn)?;
    let symbols = Some(SymbolList { start, compression: Vec::new(), at: r.place() });
    for _ in 0..2 {
        let size = u64::from(r.u32()?); // the kernel's symbols, then its printk formats
        r.skip(size)?;
    }
    let cmdlines = cmdlines(&mut r)?;
    let mut cpus = r.u32()?;
    let mut options = Options::default();
    let mut kind = r.take(10, 10)?;
    if kind.starts_with(b"options") {
        options.read(&mut r, 6)?;
        kind = r.take(10, 10)?;
    }
    if kind.starts_with(b"latency") {
        return Err(text_only(r.place()));
    }
    if !kind.starts_with(b"flyrecord") {
        return Err(r.fatal("expected \"flyrecord\" or \"latency\" here: the file is damaged"));
    }
    cpus = options.cpu_count.unwrap_or(cpus);
    let top = Buffer { clock: options.clock.clone(), cpus: cpu_table(&mut r, cpus)?, ..Buffer::default() };
    let file = r.into_inner();
    let mut buffers = vec![top];
    for mut buffer in std::mem::take(&mut options.buffers) {
        let mut r = Reader::of_file(&mut *file, buffer.at, start.length, start.order)?;
        if !r.take(10, 10)?.starts_with(b"flyrecord") {
            return Err(Fatal::new("expected an instance's events here: the file is damaged", buffer.at));
        }
        buffer.cpus = cpu_table(&mut r, cpus)?;
        buffer.clock.clone_from(&options.clock);
        buffers.push(buffer);
    }
    let codec = Codec::Plain;
    Ok(Head { version: 6, page_size: start.page_size, symbols, layout, codec, options, cmdlines, buffers })
}

/// Reads the places of the CPUs' data in version 6.
fn cpu_table<R: Read + Seek>(r: &mut Reader<R>, cpus: u32) -> Result<Vec<CpuData>, Fatal> {
    if cpus > MAX_CPUS {
        return Err(r.fatal(format!("{cpus} CPUs are more than Linux supports: the file is damaged")));
    }
    (0..cpus).map(|cpu| Ok(CpuData { cpu: CpuId(cpu), at: r.u64()?, size: r.u64()? })).collect()
}

fn text_only(at: u64) -> Fatal {
    let what =
        "a latency tracer's recording contains text, not events: convert it with `trace-cmd report`, import that text";
    Fatal::new(what, at)
}

/// The sections of a file of version 7.
struct Sections<'f> {
    file: &'f mut dyn ReadSeek,
    order: ByteOrder,
    length: u64,
    codec: Codec,
}

impl Sections<'_> {
    /// Returns (id, flags, size) of the section at `at`.
    fn head(&mut self, at: u64) -> Result<(u16, u16, u64), Fatal> {
        if at >= self.length {
            let what = format!("expected a section here, but the file ends at byte {}: it is cut off", self.length);
            return Err(Fatal::new(what, at));
        }
        let mut r = Reader::of_file(&mut *self.file, at, self.length, self.order)?;
        let (id, flags) = (r.u16()?, r.u16()?);
        r.u32()?; // a description for readers
        Ok((id, flags, r.u64()?))
    }

    /// Reads a section and unpacks it.
    fn read(&mut self, id: u16, at: u64) -> Result<Reader<Cursor<Vec<u8>>>, Fatal> {
        let (found, flags, size) = self.head(at)?;
        if found != id {
            return Err(Fatal::new(format!("expected section {id} here, but found {found}: the file is damaged"), at));
        }
        let mut r = Reader::of_file(&mut *self.file, at + 16, self.length, self.order)?;
        if flags & PACKED == 0 {
            let content = r.take(size, MAX_SECTION)?;
            return Ok(Reader::of_section(Cursor::new(content), size, at + 16, false, self.order));
        }
        let (packed, unpacked) = (u64::from(r.u32()?), u64::from(r.u32()?));
        if unpacked > MAX_SECTION {
            return Err(Fatal::new(
                format!("a section of {unpacked} bytes exceeds the limit of 64 MiB: the file is damaged"),
                at,
            ));
        }
        let packed = r.take(packed, MAX_SECTION)?;
        let mut content = Vec::new();
        if !self.codec.unpack(&packed, &mut content, unpacked as usize) {
            return Err(Fatal::new("a packed section cannot be unpacked: the file is damaged", at));
        }
        Ok(Reader::of_section(Cursor::new(content), unpacked, at, true, self.order))
    }
}

fn version_7(
    mut file: Sections<'_>,
    start: Start,
    compression: Vec<u8>,
    first: u64,
    learn: &mut dyn FnMut(EventFormat),
) -> Result<Head, Fatal> {
    let mut options = Options::default();
    let mut next = first;
    for list in 0.. {
        if list == MAX_LISTS {
            return Err(Fatal::new("more than 64 lists of options: the file is damaged", next));
        }
        let mut r = file.read(0, next)?;
        next = options.read(&mut r, 7)?;
        if next == 0 {
            break;
        }
    }
    let sections = options.sections.clone();
    let place = |id| sections.iter().find(|(known, _)| *known == id).map(|(_, at)| *at);
    let symbols = place(options::KALLSYMS).map(|at| SymbolList { start, compression, at });
    let mut read = |id| place(id).map(|at| file.read(id, at)).transpose();
    let Some(mut info) = read(options::HEADER_INFO)? else {
        return Err(Fatal::new("the layout of pages (HEADER_INFO) is missing: the file is damaged", first));
    };
    let layout = header_info(&mut info)?;
    if let Some(mut r) = read(options::FTRACE_EVENTS)? {
        ftrace_formats(&mut r, learn)?;
    }
    if let Some(mut r) = read(options::EVENT_FORMATS)? {
        event_formats(&mut r, learn)?;
    }
    let cmdlines = match read(options::CMDLINES)? {
        Some(mut r) => cmdlines(&mut r)?,
        None => Vec::new(),
    };
    let mut buffers = std::mem::take(&mut options.buffers);
    if buffers.is_empty() && options.text {
        return Err(text_only(first));
    }
    let mut is_packed = Vec::new();
    for buffer in &buffers {
        let (id, flags, _) = file.head(buffer.at)?;
        if id != FLYRECORD {
            return Err(Fatal::new(
                format!("expected an instance's events here, but found section {id}: the file is damaged"),
                buffer.at,
            ));
        }
        is_packed.push(flags & PACKED != 0);
    }
    let codec = if is_packed.contains(&true) { file.codec } else { Codec::Plain };
    if is_packed.contains(&false) && is_packed.contains(&true) {
        return Err(Fatal::new("some instances' events are packed and some are not, which is not supported", first));
    }
    buffers.sort_by_key(|b| !b.name.is_empty());
    Ok(Head { version: 7, page_size: start.page_size, symbols, layout, codec, options, cmdlines, buffers })
}

/// Reads "header_page" with the kernel's description of a page, and "header_event", which never changed.
fn header_info<R: Read + Seek>(r: &mut Reader<R>) -> Result<PageLayout, Fatal> {
    let mut layout = None;
    for name in ["header_page", "header_event"] {
        let place = r.place();
        if r.text(16)? != name.as_bytes() {
            return Err(Fatal::new(format!("expected \"{name}\" here: the file is damaged"), place));
        }
        let size = r.u64()?;
        let text = r.take(size, MAX_FORMAT)?;
        if name == "header_page" {
            let unknown = |why: BadPage| Fatal::new(why.0, place);
            layout = Some(PageLayout::parse(&String::from_utf8_lossy(&text), r.order).map_err(unknown)?);
        }
    }
    layout.ok_or_else(|| r.fatal("there is no description of pages: the file is damaged"))
}

fn format<R: Read + Seek>(r: &mut Reader<R>, learn: &mut dyn FnMut(EventFormat)) -> Result<(), Fatal> {
    let size = r.u64()?;
    let text = r.take(size, MAX_FORMAT)?;
    // A kernel has thousands of events, of which only a few are needed: parsing all would take longer than a small
    // recording.
    if EventFormat::name_of(&text).is_some_and(|name| !Records::reads(name)) {
        return Ok(());
    }
    // If a description cannot be read, the event's records count as plain samples.
    EventFormat::parse(&String::from_utf8_lossy(&text)).into_iter().for_each(learn);
    Ok(())
}

fn ftrace_formats<R: Read + Seek>(r: &mut Reader<R>, learn: &mut dyn FnMut(EventFormat)) -> Result<(), Fatal> {
    (0..r.u32()?).try_for_each(|_| format(r, learn))
}

fn event_formats<R: Read + Seek>(r: &mut Reader<R>, learn: &mut dyn FnMut(EventFormat)) -> Result<(), Fatal> {
    for _ in 0..r.u32()? {
        r.text(4096)?; // the subsystem's name
        ftrace_formats(r, learn)?;
    }
    Ok(())
}

fn cmdlines<R: Read + Seek>(r: &mut Reader<R>) -> Result<Vec<u8>, Fatal> {
    let size = r.u64()?;
    let text = r.take(size.min(MAX_CMDLINES), MAX_CMDLINES)?;
    r.skip(size.saturating_sub(MAX_CMDLINES))?;
    Ok(text)
}
