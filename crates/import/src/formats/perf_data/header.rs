//! The head of a perf.data file: magic, attributes, and the places of the sections.

use super::frames::Frames;
use super::mappings::{self, Mappings};
use super::reach::Reached;
use crate::tracepoint::ByteOrder;
use ingest::{Fatal, ReadSeek};
use model::{CoreType, CpuId};
use rustc_hash::FxHashMap;
use std::io::{Read, SeekFrom};

// Record types (perf_event.h; those from 64 are perf's own, tools/lib/perf/include/perf/event.h).
pub(super) const MMAP: u32 = 1;
pub(super) const LOST: u32 = 2;
pub(super) const COMM: u32 = 3;
pub(super) const THROTTLE: u32 = 5;
pub(super) const UNTHROTTLE: u32 = 6;
pub(super) const FORK: u32 = 7;
pub(super) const SAMPLE: u32 = 9;
pub(super) const MMAP2: u32 = 10;
pub(super) const LOST_SAMPLES: u32 = 13;
pub(super) const SWITCH: u32 = 14;
pub(super) const SWITCH_CPU_WIDE: u32 = 15;
pub(super) const KSYMBOL: u32 = 17;
pub(super) const LAST_KERNEL_RECORD: u32 = 22;
pub(super) const FIRST_SYNTHETIC: u32 = 64;
pub(super) const HEADER_ATTR: u32 = 64;
pub(super) const TRACING_DATA: u32 = 66;
pub(super) const BUILD_ID: u32 = 67;
pub(super) const FINISHED_ROUND: u32 = 68;
pub(super) const ID_INDEX: u32 = 69;
pub(super) const AUXTRACE: u32 = 71;
pub(super) const CPU_MAP: u32 = 74;
pub(super) const HEADER_FEATURE: u32 = 80;
pub(super) const COMPRESSED: u32 = 81;
pub(super) const COMPRESSED2: u32 = 83;
pub(super) const LAST_SYNTHETIC: u32 = 90;

/// Feature bit of the tracepoint descriptions.
const FEATURE_TRACING_DATA: u32 = 1;
/// Feature bit of the build IDs of the files that samples refer to.
pub(super) const FEATURE_BUILD_ID: u32 = 2;
/// The maximum size of a section of the header; tracepoint descriptions take some hundred KiB.
const MAX_SECTION: u64 = 16 << 20;
/// The maximum number of attributes; perf writes one per event.
const MAX_ATTRS: usize = 1 << 16;
/// The maximum number of IDs: one per event and CPU or thread.
const MAX_IDS: usize = 1 << 20;

/// How one event was recorded (`struct perf_event_attr`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Attr {
    pub(super) kind: u32,
    pub(super) config: u64,
    /// The sampling period, or the frequency.
    period: u64,
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    /// What the samples' records of branches are (`branch_sample_type`).
    pub(super) branches: u64,
    /// Which registers of the program the samples have (`sample_regs_user`).
    pub(super) registers: u64,
    pub(super) sample_id_all: bool,
    pub(super) inherit: bool,
    pub(super) enable_on_exec: bool,
    pub(super) context_switch: bool,
    clockid: Option<i32>,
    pub(super) ids: Vec<u64>,
    /// Whether its samples are the profile ([`super::profile::select`]).
    pub(super) is_profile: bool,
    /// Its name, without modifiers unless it is one of a type of cores, and this type ([`super::profile::select`]).
    pub(super) name: String,
    pub(super) core: CoreType,
}

impl Attr {
    /// Parses the fields that are needed; a short (old) attribute lacks the later ones.
    fn parse(bytes: &[u8], order: ByteOrder) -> Option<Self> {
        let u32_at = |at| order.u32_at(bytes, at);
        let u64_at = |at| order.u64_at(bytes, at);
        // Bit fields are laid out in reverse on machines of the other byte order.
        let raw: [u8; 8] = *bytes.get(40..)?.first_chunk()?;
        let flags = match order {
            ByteOrder::Little => u64::from_le_bytes(raw),
            ByteOrder::Big => u64::from_le_bytes(raw.map(u8::reverse_bits)),
        };
        let bit = |n: u32| flags >> n & 1 == 1;
        Some(Self {
            kind: u32_at(0)?,
            config: u64_at(8)?,
            period: u64_at(16)?,
            sample_type: u64_at(24)?,
            read_format: u64_at(32)?,
            branches: u64_at(72).unwrap_or(0),
            registers: u64_at(80).unwrap_or(0),
            inherit: bit(1),
            enable_on_exec: bit(12),
            sample_id_all: bit(18),
            context_switch: bit(26),
            clockid: if bit(25) { u32_at(92).map(|c| c as i32) } else { None },
            ids: Vec::new(),
            is_profile: false,
            name: String::new(),
            core: CoreType::Uniform,
        })
    }

    pub(super) fn is_tracepoint(&self) -> bool {
        self.kind == 2 // PERF_TYPE_TRACEPOINT
    }

    /// Whether its samples have the processor's records of the calls that have not returned (`--call-graph lbr`).
    pub(super) fn records_calls(&self) -> bool {
        const BRANCH_STACK: u64 = 1 << 11;
        self.sample_type & BRANCH_STACK != 0 && self.branches & super::user_stack::CALL_STACK != 0
    }

    fn has_callchains(&self) -> bool {
        self.sample_type & 1 << 5 != 0 // PERF_SAMPLE_CALLCHAIN
    }

    /// Whether it samples code, and is not a tracepoint or something that has no code of its own. A member of a group that is only read
    /// with the samples of its leader has no period.
    pub(super) fn samples_code(&self) -> bool {
        const SOFTWARE: u32 = 1;
        let without_code = self.kind == SOFTWARE && [9, 10].contains(&self.config); // dummy, bpf-output
        self.period > 0 && self.sample_type & 1 != 0 && !self.is_tracepoint() && !without_code
    }

    /// Whether its samples have addresses of code that is to be found in mappings.
    pub(super) fn has_code(&self) -> bool {
        self.has_callchains() || self.samples_code()
    }

    /// Whether its samples have the event's ID.
    pub(super) fn has_id(&self) -> bool {
        self.sample_type & (1 << 6 | 1 << 16) != 0 // PERF_SAMPLE_ID, PERF_SAMPLE_IDENTIFIER
    }

    /// Returns the number of the PMU, if it is one of its own: generic events have it in the upper half of `config`.
    pub(super) fn pmu(&self) -> Option<u32> {
        const WITHOUT: [u32; 3] = [1, 2, 5]; // software, tracepoints, breakpoints
        match self.kind {
            0 | 3 => u32::try_from(self.config >> 32).ok().filter(|pmu| *pmu > 0),
            kind => Some(kind).filter(|kind| !WITHOUT.contains(kind)),
        }
    }

    /// Returns the kernel's name of a generic event. The upper half of `config` is the number of a PMU, on hybrid processors.
    pub(super) fn generic_name(&self) -> Option<&'static str> {
        const HARDWARE: [&str; 10] = [
            "cycles",
            "instructions",
            "cache-references",
            "cache-misses",
            "branches",
            "branch-misses",
            "bus-cycles",
            "stalled-cycles-frontend",
            "stalled-cycles-backend",
            "ref-cycles",
        ];
        const SOFTWARE: [&str; 9] = [
            "cpu-clock",
            "task-clock",
            "page-faults",
            "context-switches",
            "cpu-migrations",
            "minor-faults",
            "major-faults",
            "alignment-faults",
            "emulation-faults",
        ];
        let names: &[&str] = match self.kind {
            0 => &HARDWARE,
            1 => &SOFTWARE,
            _ => return None,
        };
        usize::try_from(self.config & 0xffff_ffff).ok().and_then(|at| names.get(at)).copied()
    }

    /// Returns the name of the clock that the recording selected.
    pub(super) fn clock(&self) -> Option<&'static str> {
        Some(match self.clockid? {
            0 => "CLOCK_REALTIME",
            1 => "CLOCK_MONOTONIC",
            4 => "CLOCK_MONOTONIC_RAW",
            7 => "CLOCK_BOOTTIME",
            11 => "CLOCK_TAI",
            _ => "a clock selected with -k",
        })
    }
}

/// What precedes or follows the events.
pub(super) struct Header {
    pub(super) order: ByteOrder,
    pub(super) attrs: Vec<Attr>,
    /// The total number of IDs of a pipe's attributes.
    ids: usize,
    /// (feature bit, its section).
    pub(super) features: Vec<(u32, Vec<u8>)>,
    /// The tracepoint descriptions.
    pub(super) tracing: Vec<u8>,
    pub(super) cpu_of_id: FxHashMap<u64, CpuId>,
    /// Whether there are IDs without a CPU.
    ids_without_cpu: bool,
    /// The memory mappings, for callchains; empty for a pipe.
    pub(super) mappings: Mappings,
}

/// Returns the byte order of a magic number; `None` if it is not perf's.
pub(super) fn byte_order(magic: [u8; 8]) -> Option<ByteOrder> {
    match &magic {
        b"PERFILE2" => Some(ByteOrder::Little),
        b"2ELIFREP" => Some(ByteOrder::Big),
        _ => None,
    }
}

/// Where the tracepoint descriptions of a record are.
pub(super) enum TracingData<'a> {
    /// Within the record, as simpleperf writes them.
    Within(&'a [u8]),
    /// That many bytes after the record, as perf writes them.
    After(usize),
}

/// Finds the tracepoint descriptions of a record for them, which begins with their size.
pub(super) fn tracing_data(body: &[u8], order: ByteOrder) -> TracingData<'_> {
    let size = order.u32_at(body, 0).and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
    let within = body.get(4..).filter(|rest| !rest.is_empty() && size > 0);
    match within.and_then(|rest| rest.get(..size)) {
        Some(bytes) => TracingData::Within(bytes),
        None => TracingData::After(size),
    }
}

/// Parses an attribute stored as a record: the attribute, whose own size field contains the offset of the IDs.
pub(super) fn attr_of_record(body: &[u8], order: ByteOrder) -> Option<Attr> {
    let mut attr = Attr::parse(body, order)?;
    let size = order.u32_at(body, 4)? as usize;
    attr.ids = ids(body.get(size..)?, order);
    Some(attr)
}

fn ids(bytes: &[u8], order: ByteOrder) -> Vec<u64> {
    bytes.chunks_exact(8).filter_map(|b| order.u64_at(b, 0)).collect()
}

/// Reads the head of a pipe, whose attributes follow as records.
pub(super) fn read_pipe<'a>(mut pipe: Box<dyn Read + Send + 'a>) -> Result<(Header, Frames<'a>), Fatal> {
    let mut head = [0; 16];
    pipe.read_exact(&mut head).map_err(|e| failed("cannot read perf.data", &e, 0))?;
    let (order, size) = magic_and_size(&head)?;
    if size != 16 {
        let what = "this perf.data was written to a file and cannot be read through a pipe: give the file itself";
        return Err(Fatal::new(what, 8));
    }
    Ok((Header::new(order), Frames::new(pipe, order, 16, None)))
}

/// Reads the head of a file, and its features, which follow the events.
pub(super) fn read_file<'a>(mut file: Box<dyn ReadSeek + Send + 'a>) -> Result<(Header, Frames<'a>), Fatal> {
    let length = file.seek(SeekFrom::End(0)).map_err(|e| failed("cannot read perf.data", &e, 0))?;
    let head = section(&mut *file, 0, 16, length)?;
    let (order, size) = magic_and_size(&head)?;
    let mut header = Header::new(order);
    if size == 16 {
        // The output of a pipe, saved to a file.
        header.mappings = mappings(&mut *file, &header, 16, length)?;
        file.seek(SeekFrom::Start(16)).map_err(|e| failed("cannot read perf.data", &e, 16))?;
        return Ok((header, Frames::new(file, order, 16, Some(length))));
    }
    let head = section(&mut *file, 0, 104, length)?;
    let word = |at: usize| order.u64_at(&head, at).unwrap_or(0);
    let (attr_size, attrs_at, attrs_size, data_at, data_size) = (word(16), word(24), word(32), word(40), word(48));
    // Each attribute is followed by the place of its IDs: (offset, size).
    if !(64 + 16..=4096).contains(&attr_size) {
        return Err(Fatal::new(
            format!("event descriptions of {attr_size} bytes are invalid: the file is damaged"),
            16,
        ));
    }
    let attrs = section(&mut *file, attrs_at, attrs_size, length)?;
    let mut room = MAX_IDS as u64 * 8;
    for entry in attrs.chunks_exact(attr_size as usize).take(MAX_ATTRS) {
        let Some(mut attr) = Attr::parse(entry, order) else { continue };
        let place = attr_size as usize - 16;
        let at = order.u64_at(entry, place).unwrap_or(0);
        let size = order.u64_at(entry, place + 8).unwrap_or(0);
        // Several hostile attributes may refer to the same large section.
        room =
            room.checked_sub(size).ok_or_else(|| Fatal::new("more than 1048576 event IDs: the file is damaged", at))?;
        attr.ids = ids(&section(&mut *file, at, size, length)?, order);
        header.attrs.push(attr);
    }
    let data_end = data_at.saturating_add(data_size);
    if data_at > length || data_size > 0 && data_end > length {
        let missing = data_end.saturating_sub(length);
        return Err(Fatal::new(
            format!("the file is cut off: {missing} bytes of events and the descriptions after them are missing"),
            length,
        ));
    }
    header.read_features(&mut *file, &head, data_end, length)?;
    // If the recorder was killed, the size is 0 and the events extend to the end of the file.
    let end = if data_size == 0 { length } else { data_end };
    if header.attrs.iter().any(Attr::has_code) {
        header.mappings = mappings(&mut *file, &header, data_at, end)?;
    }
    file.seek(SeekFrom::Start(data_at)).map_err(|e| failed("cannot read perf.data", &e, data_at))?;
    Ok((header, Frames::new(file, order, data_at, Some(end))))
}

/// Reads the mappings from the records that start here.
fn mappings(file: &mut (dyn ReadSeek + Send), header: &Header, at: u64, end: u64) -> Result<Mappings, Fatal> {
    file.seek(SeekFrom::Start(at)).map_err(|e| failed("cannot read perf.data", &e, at))?;
    Ok(mappings::scan(Frames::new(Box::new(file), header.order, at, Some(end)), header))
}

impl Header {
    /// Adds an attribute stored as a record.
    pub(super) fn add_attr(&mut self, attr: Attr) {
        self.ids += attr.ids.len();
        if self.attrs.len() < MAX_ATTRS && self.ids <= MAX_IDS {
            self.attrs.push(attr);
        }
    }

    /// Adds a feature stored as a record. perf writes each once.
    pub(super) fn add_feature(&mut self, bit: u32, bytes: &[u8]) {
        if super::features::is_read(bit) && self.features.iter().all(|(b, _)| *b != bit) {
            self.features.push((bit, bytes.to_vec()));
        }
    }

    /// Adds the CPU of an ID; none if the ID is of a thread on any CPU.
    pub(super) fn add_id(&mut self, id: u64, cpu: Option<CpuId>) {
        match cpu {
            Some(cpu) if self.cpu_of_id.len() < MAX_IDS => {
                self.cpu_of_id.insert(id, cpu);
            }
            _ => self.ids_without_cpu = true,
        }
    }

    /// Returns the tracker of this recording's buffers, at its start.
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
            cpu_of_id: FxHashMap::default(),
            ids_without_cpu: false,
            mappings: Mappings::default(),
        }
    }

    /// Reads the features: a bit for each, and, after the events, a table (offset, size) of those whose bit is set.
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
                Err(Fatal::new("the file is cut off after its events", length))
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
                // No sample can be read without the tracepoint descriptions. The other features only describe the
                // machine.
                Err(error) if bit == FEATURE_TRACING_DATA => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }
}

fn magic_and_size(head: &[u8]) -> Result<(ByteOrder, u64), Fatal> {
    let magic = head.first_chunk::<8>().copied().unwrap_or_default();
    let order =
        byte_order(magic).ok_or_else(|| Fatal::new("this is not a perf.data file: its magic number is missing", 0))?;
    Ok((order, order.u64_at(head, 8).unwrap_or(0)))
}

/// Reads a section of the file. Its size is checked against the file's before memory is allocated.
fn section(file: &mut dyn ReadSeek, at: u64, size: u64, length: u64) -> Result<Vec<u8>, Fatal> {
    if at.checked_add(size).is_none_or(|end| end > length) {
        return Err(Fatal::new(
            format!("a section of {size} bytes is expected here, but the file ends at byte {length}: it is cut off"),
            at,
        ));
    }
    if size > MAX_SECTION {
        return Err(Fatal::new(
            format!("a section of {size} bytes exceeds the limit of 16 MiB: the file is damaged"),
            at,
        ));
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
