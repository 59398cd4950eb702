//! What stands before the events: in version 6 one after the other, in version 7 in sections that the options name.

use super::options::{self, Buffer, CpuData, Options};
use super::packed::Codec;
use super::reader::{Reader, unreadable};
use super::stream::Records;
use crate::tracepoint::{BadPage, ByteOrder, EventFormat, PageLayout};
use ingest::{Fatal, ReadSeek};
use model::CpuId;
use std::io::{Cursor, Read, Seek, SeekFrom};

/// The magic number, and the word behind it.
pub(super) const MAGIC: &[u8] = b"\x17\x08\x44tracing";
/// No section but the events' is larger (all event descriptions of a kernel are about 5 MiB).
const LARGEST_SECTION: u64 = 64 << 20;
/// Lists of options that a file may have; trace-cmd writes three.
const MOST_LISTS: usize = 64;
const MOST_CPUS: u32 = 1 << 16;
/// No description of an event or a page is longer, nor a list of names read further.
const LARGEST_FORMAT: u64 = 1 << 20;
const LARGEST_CMDLINES: u64 = 2 << 20;
/// A section of events, and the flag of one that is packed.
const FLYRECORD: u16 = 3;
const PACKED: u16 = 1;

/// What both versions begin with.
#[derive(Clone, Copy)]
pub(super) struct Start {
    version: u32,
    pub(super) order: ByteOrder,
    page_size: u64,
    /// Bytes of a long.
    pub(super) long: usize,
    /// Where the rest follows.
    at: u64,
    pub(super) length: u64,
}

/// What a file says before its events.
pub(super) struct Head {
    pub(super) version: u32,
    pub(super) page_size: u64,
    /// The kernel's symbols.
    pub(super) symbols: Option<SymbolList>,
    pub(super) layout: PageLayout,
    pub(super) codec: Codec,
    pub(super) options: Options,
    /// The names of threads when recording ended, a line each.
    pub(super) cmdlines: Vec<u8>,
    /// All instances, the top one first.
    pub(super) buffers: Vec<Buffer>,
}

/// Where the kernel's symbols stand: as long as the rest of the head, and seldom asked for.
pub(super) struct SymbolList {
    start: Start,
    /// What sections are packed with.
    packing: Vec<u8>,
    /// Of version 7, their section.
    at: u64,
}

impl SymbolList {
    /// Reads it, as /proc/kallsyms has it.
    pub(super) fn read(self, file: &mut dyn ReadSeek) -> Result<Vec<u8>, Fatal> {
        let Self { start, packing, at } = self;
        let Start { order, length, .. } = start;
        if start.version == 6 {
            let mut r = Reader::of_file(file, at, length, order)?;
            let size = u64::from(r.u32()?);
            return r.take(size, LARGEST_SECTION);
        }
        let codec = Codec::of_name(&packing, at)?;
        let mut r = Sections { file, order, length, codec }.read(options::KALLSYMS, at)?;
        let size = u64::from(r.u32()?);
        r.take(size, LARGEST_SECTION)
    }
}

/// Reads the first bytes.
pub(super) fn start(file: &mut dyn ReadSeek) -> Result<Start, Fatal> {
    let length = file.seek(SeekFrom::End(0)).map_err(|e| unreadable(&e, 0))?;
    let mut r = Reader::of_file(file, 0, length, ByteOrder::Little)?;
    if r.take(MAGIC.len() as u64, 64)? != MAGIC {
        return Err(Fatal::new("not a trace.dat: its magic number is missing", 0));
    }
    let version = match r.text(16)?.as_slice() {
        b"6" => 6,
        b"7" => 7,
        other => {
            let what = format!("version {} of trace.dat: only 6 and 7 are known", String::from_utf8_lossy(other));
            return Err(Fatal::new(what, MAGIC.len() as u64));
        }
    };
    let order = if r.u8()? == 0 { ByteOrder::Little } else { ByteOrder::Big };
    r.set_order(order);
    let long = if r.u8()? == 4 { 4 } else { 8 };
    let page_size = u64::from(r.u32()?);
    Ok(Start { version, order, page_size, long, at: r.place(), length })
}

/// Reads the rest of the head; `learn` gets the description of every event whose records are read.
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
    let symbols = Some(SymbolList { start, packing: Vec::new(), at: r.place() });
    for _ in 0..2 {
        let size = u64::from(r.u32()?); // the kernel's symbols, then its formats of printk
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
        return Err(r.fatal("neither \"flyrecord\" nor \"latency\" stands here: damaged"));
    }
    cpus = options.cpu_count.unwrap_or(cpus);
    let top = Buffer { clock: options.clock.clone(), cpus: cpu_table(&mut r, cpus)?, ..Buffer::default() };
    let file = r.into_inner();
    let mut buffers = vec![top];
    for mut buffer in std::mem::take(&mut options.buffers) {
        let mut r = Reader::of_file(&mut *file, buffer.at, start.length, start.order)?;
        if !r.take(10, 10)?.starts_with(b"flyrecord") {
            return Err(Fatal::new("an instance's events should stand here", buffer.at));
        }
        buffer.cpus = cpu_table(&mut r, cpus)?;
        buffer.clock.clone_from(&options.clock);
        buffers.push(buffer);
    }
    let codec = Codec::Plain;
    Ok(Head { version: 6, page_size: start.page_size, symbols, layout, codec, options, cmdlines, buffers })
}

/// Where version 6 has each CPU's data.
fn cpu_table<R: Read + Seek>(r: &mut Reader<R>, cpus: u32) -> Result<Vec<CpuData>, Fatal> {
    if cpus > MOST_CPUS {
        return Err(r.fatal(format!("{cpus} CPUs: more than there can be")));
    }
    (0..cpus).map(|cpu| Ok(CpuData { cpu: CpuId(cpu), at: r.u64()?, size: r.u64()? })).collect()
}

fn text_only(at: u64) -> Fatal {
    let what =
        "a latency tracer's recording holds text, not events: write it out with `trace-cmd report` and import that";
    Fatal::new(what, at)
}

/// A file of version 7, by its sections.
struct Sections<'f> {
    file: &'f mut dyn ReadSeek,
    order: ByteOrder,
    length: u64,
    codec: Codec,
}

impl Sections<'_> {
    /// (id, flags, size) of the section at `at`.
    fn head(&mut self, at: u64) -> Result<(u16, u16, u64), Fatal> {
        if at >= self.length {
            let what = format!("a section should stand here, but the file ends at byte {}", self.length);
            return Err(Fatal::new(what, at));
        }
        let mut r = Reader::of_file(&mut *self.file, at, self.length, self.order)?;
        let (id, flags) = (r.u16()?, r.u16()?);
        r.u32()?; // its description, for people
        Ok((id, flags, r.u64()?))
    }

    /// Reads a section, unpacked.
    fn read(&mut self, id: u16, at: u64) -> Result<Reader<Cursor<Vec<u8>>>, Fatal> {
        let (found, flags, size) = self.head(at)?;
        if found != id {
            return Err(Fatal::new(format!("section {id} should stand here, but {found} does"), at));
        }
        let mut r = Reader::of_file(&mut *self.file, at + 16, self.length, self.order)?;
        if flags & PACKED == 0 {
            let content = r.take(size, LARGEST_SECTION)?;
            return Ok(Reader::of_section(Cursor::new(content), size, at + 16, false, self.order));
        }
        let (packed, unpacked) = (u64::from(r.u32()?), u64::from(r.u32()?));
        if unpacked > LARGEST_SECTION {
            return Err(Fatal::new(format!("a section of {unpacked} bytes is larger than any recorder writes"), at));
        }
        let packed = r.take(packed, LARGEST_SECTION)?;
        let mut content = Vec::new();
        if !self.codec.unpack(&packed, &mut content, unpacked as usize) {
            return Err(Fatal::new("a packed section cannot be unpacked: damaged", at));
        }
        Ok(Reader::of_section(Cursor::new(content), unpacked, at, true, self.order))
    }
}

fn version_7(
    mut file: Sections<'_>,
    start: Start,
    packing: Vec<u8>,
    first: u64,
    learn: &mut dyn FnMut(EventFormat),
) -> Result<Head, Fatal> {
    let mut options = Options::default();
    let mut next = first;
    for list in 0.. {
        if list == MOST_LISTS {
            return Err(Fatal::new("more lists of options than any recording has", next));
        }
        let mut r = file.read(0, next)?;
        next = options.read(&mut r, 7)?;
        if next == 0 {
            break;
        }
    }
    let sections = options.sections.clone();
    let place = |id| sections.iter().find(|(known, _)| *known == id).map(|(_, at)| *at);
    let symbols = place(options::KALLSYMS).map(|at| SymbolList { start, packing, at });
    let mut read = |id| place(id).map(|at| file.read(id, at)).transpose();
    let Some(mut info) = read(options::HEADER_INFO)? else {
        return Err(Fatal::new("the file does not say how its pages are laid out (no HEADER_INFO)", first));
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
                format!("an instance's events should stand here, but section {id} does"),
                buffer.at,
            ));
        }
        is_packed.push(flags & PACKED != 0);
    }
    let codec = if is_packed.contains(&true) { file.codec } else { Codec::Plain };
    if is_packed.contains(&false) && is_packed.contains(&true) {
        return Err(Fatal::new("of the instances' events some are packed and some are not", first));
    }
    buffers.sort_by_key(|b| !b.name.is_empty());
    Ok(Head { version: 7, page_size: start.page_size, symbols, layout, codec, options, cmdlines, buffers })
}

/// "header_page", then how the kernel describes a page; the same for "header_event", which never changed.
fn header_info<R: Read + Seek>(r: &mut Reader<R>) -> Result<PageLayout, Fatal> {
    let mut layout = None;
    for name in ["header_page", "header_event"] {
        let place = r.place();
        if r.text(16)? != name.as_bytes() {
            return Err(Fatal::new(format!("\"{name}\" should stand here: damaged"), place));
        }
        let size = r.u64()?;
        let text = r.take(size, LARGEST_FORMAT)?;
        if name == "header_page" {
            let unknown = |why: BadPage| Fatal::new(why.0, place);
            layout = Some(PageLayout::parse(&String::from_utf8_lossy(&text), r.order).map_err(unknown)?);
        }
    }
    layout.ok_or_else(|| r.fatal("no description of pages"))
}

fn format<R: Read + Seek>(r: &mut Reader<R>, learn: &mut dyn FnMut(EventFormat)) -> Result<(), Fatal> {
    let size = r.u64()?;
    let text = r.take(size, LARGEST_FORMAT)?;
    // A kernel has thousands of events, of which a few tell anything: to read all would take longer than a small recording.
    if EventFormat::name_of(&text).is_some_and(|name| !Records::reads(name)) {
        return Ok(());
    }
    // One that cannot be read is one event less; its records count as plain samples.
    EventFormat::parse(&String::from_utf8_lossy(&text)).into_iter().for_each(learn);
    Ok(())
}

fn ftrace_formats<R: Read + Seek>(r: &mut Reader<R>, learn: &mut dyn FnMut(EventFormat)) -> Result<(), Fatal> {
    (0..r.u32()?).try_for_each(|_| format(r, learn))
}

fn event_formats<R: Read + Seek>(r: &mut Reader<R>, learn: &mut dyn FnMut(EventFormat)) -> Result<(), Fatal> {
    for _ in 0..r.u32()? {
        r.text(4096)?; // the system's name
        ftrace_formats(r, learn)?;
    }
    Ok(())
}

fn cmdlines<R: Read + Seek>(r: &mut Reader<R>) -> Result<Vec<u8>, Fatal> {
    let size = r.u64()?;
    let text = r.take(size.min(LARGEST_CMDLINES), LARGEST_CMDLINES)?;
    r.skip(size.saturating_sub(LARGEST_CMDLINES))?;
    Ok(text)
}
