//! The head of a perf.data: magic, attributes, and where the sections lie.

use super::frames::Frames;
use super::mappings::{self, Mappings};
use super::reach::Reached;
use crate::tracepoint::ByteOrder;
use ingest::{Fatal, ReadSeek};
use model::CpuId;
use rustc_hash::FxHashMap;
use std::io::{Read, SeekFrom};

// Record types (perf_event.h; those from 64 on are perf's own, tools/lib/perf/include/perf/event.h).
pub(super) const MMAP: u32 = 1;
pub(super) const LOST: u32 = 2;
pub(super) const COMM: u32 = 3;
pub(super) const FORK: u32 = 7;
pub(super) const SAMPLE: u32 = 9;
pub(super) const MMAP2: u32 = 10;
pub(super) const LOST_SAMPLES: u32 = 13;
pub(super) const SWITCH: u32 = 14;
pub(super) const SWITCH_CPU_WIDE: u32 = 15;
pub(super) const KSYMBOL: u32 = 17;
pub(super) const LAST_OF_KERNEL: u32 = 22;
pub(super) const FIRST_SYNTHETIC: u32 = 64;
pub(super) const HEADER_ATTR: u32 = 64;
pub(super) const TRACING_DATA: u32 = 66;
pub(super) const BUILD_ID: u32 = 67;
pub(super) const FINISHED_ROUND: u32 = 68;
pub(super) const ID_INDEX: u32 = 69;
pub(super) const AUXTRACE: u32 = 71;
pub(super) const HEADER_FEATURE: u32 = 80;
pub(super) const COMPRESSED: u32 = 81;
pub(super) const COMPRESSED2: u32 = 83;
pub(super) const LAST_SYNTHETIC: u32 = 90;

/// Feature bit of the tracepoints' descriptions.
const FEATURE_TRACING_DATA: u32 = 1;
/// Feature bit of the build ids of what samples fell into.
pub(super) const FEATURE_BUILD_ID: u32 = 2;
/// No section of a header is larger: tracepoint descriptions take some hundred KiB.
const LARGEST_SECTION: u64 = 16 << 20;
/// More attributes than any recording needs (perf keeps one for each event).
const MOST_ATTRS: usize = 1 << 16;
/// More ids than any recording needs: one for each event and CPU or thread.
const MOST_IDS: usize = 1 << 20;

/// How one kind of event was recorded (`struct perf_event_attr`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Attr {
    pub(super) kind: u32,
    pub(super) config: u64,
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    pub(super) sample_id_all: bool,
    pub(super) inherit: bool,
    pub(super) enable_on_exec: bool,
    pub(super) context_switch: bool,
    clockid: Option<i32>,
    pub(super) ids: Vec<u64>,
}

impl Attr {
    /// Reads the fields that matter; a short (old) attribute lacks the later ones.
    fn parse(bytes: &[u8], order: ByteOrder) -> Option<Self> {
        let u32_at = |at| order.u32_at(bytes, at);
        let u64_at = |at| order.u64_at(bytes, at);
        // A bit field is laid out from the other end on machines of the other byte order.
        let raw: [u8; 8] = *bytes.get(40..)?.first_chunk()?;
        let flags = match order {
            ByteOrder::Little => u64::from_le_bytes(raw),
            ByteOrder::Big => u64::from_le_bytes(raw.map(u8::reverse_bits)),
        };
        let bit = |n: u32| flags >> n & 1 == 1;
        Some(Self {
            kind: u32_at(0)?,
            config: u64_at(8)?,
            sample_type: u64_at(24)?,
            read_format: u64_at(32)?,
            inherit: bit(1),
            enable_on_exec: bit(12),
            sample_id_all: bit(18),
            context_switch: bit(26),
            clockid: if bit(25) { u32_at(92).map(|c| c as i32) } else { None },
            ids: Vec::new(),
        })
    }

    pub(super) fn is_tracepoint(&self) -> bool {
        self.kind == 2 // PERF_TYPE_TRACEPOINT
    }

    pub(super) fn has_callchains(&self) -> bool {
        self.sample_type & 1 << 5 != 0 // PERF_SAMPLE_CALLCHAIN
    }

    /// The name of the clock that the recording chose.
    pub(super) fn clock(&self) -> Option<&'static str> {
        Some(match self.clockid? {
            0 => "CLOCK_REALTIME",
            1 => "CLOCK_MONOTONIC",
            4 => "CLOCK_MONOTONIC_RAW",
            7 => "CLOCK_BOOTTIME",
            11 => "CLOCK_TAI",
            _ => "a clock chosen with -k",
        })
    }
}

/// What stands before the events, or behind them.
pub(super) struct Header {
    pub(super) order: ByteOrder,
    pub(super) attrs: Vec<Attr>,
    /// How many ids the attributes of a pipe have in all.
    ids: usize,
    /// (feature bit, its section).
    pub(super) features: Vec<(u32, Vec<u8>)>,
    /// The tracepoints' descriptions.
    pub(super) tracing: Vec<u8>,
    /// How long they are, where a pipe announced them.
    pub(super) tracing_size: usize,
    pub(super) cpu_of_id: FxHashMap<u64, CpuId>,
    /// Whether there are ids of which it is not known.
    ids_without_cpu: bool,
    /// What was mapped where, for callchains; of a pipe nothing.
    pub(super) mappings: Mappings,
}

/// The byte order that a magic number shows; `None` where it is not perf's.
pub(super) fn byte_order(magic: [u8; 8]) -> Option<ByteOrder> {
    match &magic {
        b"PERFILE2" => Some(ByteOrder::Little),
        b"2ELIFREP" => Some(ByteOrder::Big),
        _ => None,
    }
}

/// An attribute told as a record: the attribute, whose own size field says where the ids begin.
pub(super) fn attr_of_record(body: &[u8], order: ByteOrder) -> Option<Attr> {
    let mut attr = Attr::parse(body, order)?;
    let size = order.u32_at(body, 4)? as usize;
    attr.ids = ids(body.get(size..)?, order);
    Some(attr)
}

fn ids(bytes: &[u8], order: ByteOrder) -> Vec<u64> {
    bytes.chunks_exact(8).filter_map(|b| order.u64_at(b, 0)).collect()
}

/// Reads the head of a pipe; its attributes come as records.
pub(super) fn read_pipe<'a>(mut pipe: Box<dyn Read + Send + 'a>) -> Result<(Header, Frames<'a>), Fatal> {
    let mut head = [0; 16];
    pipe.read_exact(&mut head).map_err(|e| failed("cannot read perf.data", &e, 0))?;
    let (order, size) = magic_and_size(&head)?;
    if size != 16 {
        let what = "this perf.data was written as a file, which cannot be read through a pipe: name the file itself";
        return Err(Fatal::new(what, 8));
    }
    Ok((Header::new(order), Frames::new(pipe, order, 16, None)))
}

/// Reads the head of a file, and its features, which stand behind the events.
pub(super) fn read_file<'a>(mut file: Box<dyn ReadSeek + Send + 'a>) -> Result<(Header, Frames<'a>), Fatal> {
    let length = file.seek(SeekFrom::End(0)).map_err(|e| failed("cannot read perf.data", &e, 0))?;
    let head = section(&mut *file, 0, 16, length)?;
    let (order, size) = magic_and_size(&head)?;
    let mut header = Header::new(order);
    if size == 16 {
        // What a pipe carried, kept in a file.
        header.mappings = mappings(&mut *file, &header, 16, length)?;
        file.seek(SeekFrom::Start(16)).map_err(|e| failed("cannot read perf.data", &e, 16))?;
        return Ok((header, Frames::new(file, order, 16, Some(length))));
    }
    let head = section(&mut *file, 0, 104, length)?;
    let word = |at: usize| order.u64_at(&head, at).unwrap_or(0);
    let (attr_size, attrs_at, attrs_size, data_at, data_size) = (word(16), word(24), word(32), word(40), word(48));
    // Each attribute is followed by the place of its ids: (offset, size).
    if !(64 + 16..=4096).contains(&attr_size) {
        return Err(Fatal::new(format!("perf.data says its event descriptions are {attr_size} bytes each"), 16));
    }
    let attrs = section(&mut *file, attrs_at, attrs_size, length)?;
    let mut room = MOST_IDS as u64 * 8;
    for entry in attrs.chunks_exact(attr_size as usize).take(MOST_ATTRS) {
        let Some(mut attr) = Attr::parse(entry, order) else { continue };
        let place = attr_size as usize - 16;
        let at = order.u64_at(entry, place).unwrap_or(0);
        let size = order.u64_at(entry, place + 8).unwrap_or(0);
        // Hostile attributes may all name the same large section.
        room = room.checked_sub(size).ok_or_else(|| Fatal::new("more event ids than any recording has", at))?;
        attr.ids = ids(&section(&mut *file, at, size, length)?, order);
        header.attrs.push(attr);
    }
    let data_end = data_at.saturating_add(data_size);
    if data_at > length || data_size > 0 && data_end > length {
        let missing = data_end.saturating_sub(length);
        return Err(Fatal::new(
            format!("the file is cut off: {missing} bytes of events and the descriptions behind them are missing"),
            length,
        ));
    }
    header.read_features(&mut *file, &head, data_end, length)?;
    // A recorder that was killed leaves a size of 0: the events then go on to the end of the file.
    let end = if data_size == 0 { length } else { data_end };
    if header.attrs.iter().any(Attr::has_callchains) {
        header.mappings = mappings(&mut *file, &header, data_at, end)?;
    }
    file.seek(SeekFrom::Start(data_at)).map_err(|e| failed("cannot read perf.data", &e, data_at))?;
    Ok((header, Frames::new(file, order, data_at, Some(end))))
}

/// Reads the mappings that the records from here on tell.
fn mappings(file: &mut (dyn ReadSeek + Send), header: &Header, at: u64, end: u64) -> Result<Mappings, Fatal> {
    file.seek(SeekFrom::Start(at)).map_err(|e| failed("cannot read perf.data", &e, at))?;
    Ok(mappings::scan(Frames::new(Box::new(file), header.order, at, Some(end)), header))
}

impl Header {
    /// Takes an attribute that was told as a record.
    pub(super) fn add_attr(&mut self, attr: Attr) {
        self.ids += attr.ids.len();
        if self.attrs.len() < MOST_ATTRS && self.ids <= MOST_IDS {
            self.attrs.push(attr);
        }
    }

    /// Takes a feature that was told as a record: each once, as perf writes it.
    pub(super) fn add_feature(&mut self, bit: u32, bytes: &[u8]) {
        if super::features::is_read(bit) && self.features.iter().all(|(b, _)| *b != bit) {
            self.features.push((bit, bytes.to_vec()));
        }
    }

    /// Takes the CPU of an id; none where it is of a thread, wherever that runs.
    pub(super) fn add_id(&mut self, id: u64, cpu: Option<CpuId>) {
        match cpu {
            Some(cpu) if self.cpu_of_id.len() < MOST_IDS => {
                self.cpu_of_id.insert(id, cpu);
            }
            _ => self.ids_without_cpu = true,
        }
    }

    /// Nothing reached yet, of the buffers that this recording has.
    pub(super) fn reached(&self) -> Reached {
        Reached::new(self.cpu_of_id.values().copied().filter(|_| !self.ids_without_cpu))
    }

    fn new(order: ByteOrder) -> Self {
        Self {
            order,
            attrs: Vec::new(),
            ids: 0,
            features: Vec::new(),
            tracing: Vec::new(),
            tracing_size: 0,
            cpu_of_id: FxHashMap::default(),
            ids_without_cpu: false,
            mappings: Mappings::default(),
        }
    }

    /// A bit for each feature; behind the events stands a table (offset, size) of those whose bit is set.
    fn read_features(&mut self, file: &mut dyn ReadSeek, head: &[u8], table: u64, length: u64) -> Result<(), Fatal> {
        let order = self.order;
        let bits: Vec<u32> = (0..256)
            .filter(|n| order.u64_at(head, 72 + n / 64 * 8).unwrap_or(0) >> (n % 64) & 1 == 1)
            .map(|n| n as u32)
            .collect();
        if table >= length {
            return if bits.is_empty() {
                Ok(())
            } else {
                Err(Fatal::new("the file is cut off behind its events", length))
            };
        }
        let places = section(file, table, bits.len() as u64 * 16, length)?;
        for (bit, place) in bits.into_iter().zip(places.chunks_exact(16)) {
            let at = order.u64_at(place, 0).unwrap_or(0);
            let size = order.u64_at(place, 8).unwrap_or(0);
            if bit != FEATURE_TRACING_DATA && !super::features::is_read(bit) {
                continue;
            }
            match section(file, at, size, length) {
                Ok(bytes) if bit == FEATURE_TRACING_DATA => self.tracing = bytes,
                Ok(bytes) => self.features.push((bit, bytes)),
                // Without the tracepoints' descriptions no sample can be read; the others only describe the machine.
                Err(error) if bit == FEATURE_TRACING_DATA => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }
}

fn magic_and_size(head: &[u8]) -> Result<(ByteOrder, u64), Fatal> {
    let magic = head.first_chunk::<8>().copied().unwrap_or_default();
    let order = byte_order(magic).ok_or_else(|| Fatal::new("not a perf.data: its magic number is missing", 0))?;
    Ok((order, order.u64_at(head, 8).unwrap_or(0)))
}

/// A section of the file, checked against its length before memory is taken.
fn section(file: &mut dyn ReadSeek, at: u64, size: u64, length: u64) -> Result<Vec<u8>, Fatal> {
    if at.checked_add(size).is_none_or(|end| end > length) {
        return Err(Fatal::new(
            format!("a section of {size} bytes should stand here, but the file ends at byte {length}"),
            at,
        ));
    }
    if size > LARGEST_SECTION {
        return Err(Fatal::new(format!("a section of {size} bytes is larger than any that perf writes"), at));
    }
    let mut bytes = vec![0; size as usize];
    file.seek(SeekFrom::Start(at))
        .and_then(|_| file.read_exact(&mut bytes))
        .map_err(|e| failed("cannot read perf.data", &e, at))?;
    Ok(bytes)
}

pub(super) fn failed(what: &str, error: &std::io::Error, at: u64) -> Fatal {
    Fatal::new(format!("{what}: {error}"), at)
}
