//! The parts of an ELF file that a table is made of, within limits.

use crate::Machine;
use object::elf;
use object::read::ReadRef;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, LittleEndian};
use std::borrow::Cow;
use std::fmt;
use std::io::Read;

/// The most bytes of call frame information that are read; browsers have 20 MB.
const MAX_SECTION: u64 = 256 << 20;
/// The most sections, and the most program headers.
const MAX_HEADERS: u32 = 1 << 16;
/// The size of a page where images are linked: the smallest of the machines.
const PAGE: u64 = 4096;

/// Why a file has no table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Why {
    /// The file cannot be opened, or is none that can be read twice.
    NotFound,
    /// The recording lacks its build id, so that no file is known to be the same.
    NoBuildId,
    /// It is no ELF file, or a damaged one.
    NotElf,
    /// It is for a machine whose call frame information is not read.
    OtherMachine,
    /// It has neither `.eh_frame` nor `.debug_frame`.
    NoTable,
    /// It exceeds a limit: 256 MB of call frame information, 8 million rows, or 4 GB of addresses.
    TooLarge,
}

impl Why {
    /// Returns the reason, as a part of a sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NotFound => "the file cannot be read",
            Self::NoBuildId => "the recording lacks the file's build id",
            Self::NotElf => "the file is not a readable ELF file",
            Self::OtherMachine => {
                "the file is for a machine whose call frame information is not read (x86-64 and arm64 are)"
            }
            Self::NoTable => "the file has no call frame information (.eh_frame, .debug_frame)",
            Self::TooLarge => {
                "the file's call frame information exceeds a limit (256 MB, 8 million rows, or 4 GB of addresses)"
            }
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// A part of a file that is loaded as code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Where it begins in the file.
    pub offset: u64,
    /// Its size in the file.
    pub size: u64,
    /// The address where it is linked.
    pub vaddr: u64,
}

/// What is read of an ELF file.
#[derive(Debug)]
pub(crate) struct Image<'d> {
    pub(crate) machine: Machine,
    pub(crate) base: u64,
    pub(crate) segments: Vec<Segment>,
    pub(crate) frames: Frames<'d>,
    /// Where a process begins to run this file; `None` if it may be a library, of which some linkers name the first code.
    pub(crate) entry: Option<u64>,
    /// The address of `.text`, to which pointers may be relative.
    pub(crate) text: Option<u64>,
}

/// Call frame information.
#[derive(Debug)]
pub(crate) struct Frames<'d> {
    pub(crate) bytes: Cow<'d, [u8]>,
    /// The address of `.eh_frame`; `None`: it is `.debug_frame`.
    pub(crate) address: Option<u64>,
}

type Header = elf::FileHeader64<Endianness>;
const LE: Endianness = Endianness::Little;

/// Reads what is needed of a file.
pub(crate) fn image<'d, R: ReadRef<'d>>(data: R) -> Result<Image<'d>, Why> {
    let header = Header::parse(data).map_err(|_| Why::NotElf)?;
    if header.endian().map_err(|_| Why::NotElf)? != LE {
        return Err(Why::OtherMachine);
    }
    let machine = match header.e_machine(LE) {
        elf::EM_X86_64 => Machine::X86_64,
        elf::EM_AARCH64 => Machine::Arm64,
        _ => return Err(Why::OtherMachine),
    };
    let few = |count: object::read::Result<u32>| count.is_ok_and(|count| count <= MAX_HEADERS);
    if !few(header.phnum(LE, data)) {
        return Err(Why::NotElf);
    }
    let programs = header.program_headers(LE, data).map_err(|_| Why::NotElf)?;
    let loaded: Vec<_> = programs.iter().filter(|p| p.p_type(LE) == elf::PT_LOAD).collect();
    let base = loaded.iter().map(|p| p.p_vaddr(LE)).min().ok_or(Why::NotElf)? & !(PAGE - 1);
    let segments = loaded
        .iter()
        .filter(|p| p.p_flags(LE) & elf::PF_X != elf::ProgramFlags(0))
        .map(|p| Segment { offset: p.p_offset(LE), size: p.p_filesz(LE), vaddr: p.p_vaddr(LE) })
        .collect();
    // A file without sections, or with damaged ones, may have the segment that the runtime uses.
    let sections = if few(header.shnum(LE, data)) { header.sections(LE, data).ok() } else { None };
    let mut frames = None;
    let mut text = None;
    if let Some(sections) = &sections {
        let by_name = |name: &[u8]| sections.section_by_name(LE, name).map(|(_, section)| section);
        text = by_name(b".text").map(|section| section.sh_addr(LE));
        if let Some(section) = by_name(b".eh_frame")
            && let Some(bytes) = content(section, data)?
            && bytes.len() > 4
        {
            frames = Some(Frames { bytes, address: Some(section.sh_addr(LE)) });
        }
    }
    if frames.is_none() {
        frames = by_segment(programs, data)?;
    }
    if frames.is_none()
        && let Some(sections) = &sections
        && let Some((_, section)) = sections.section_by_name(LE, b".debug_frame")
        && let Some(bytes) = content(section, data)?
    {
        frames = Some(Frames { bytes, address: None });
    }
    let has = |kind| programs.iter().any(|p| p.p_type(LE) == kind);
    let is_library = has(elf::PT_DYNAMIC) && !has(elf::PT_INTERP) && text.is_none_or(|text| text == header.e_entry(LE));
    let entry = Some(header.e_entry(LE)).filter(|_| !is_library);
    Ok(Image { machine, base, segments, entry, frames: frames.ok_or(Why::NoTable)?, text })
}

/// Returns the content of a section; `None` if it is not in the file.
fn content<'d, R: ReadRef<'d>>(
    section: &elf::SectionHeader64<Endianness>,
    data: R,
) -> Result<Option<Cow<'d, [u8]>>, Why> {
    let size = section.sh_size(LE);
    if section.sh_type(LE) == elf::SHT_NOBITS || size == 0 {
        return Ok(None);
    }
    if size > MAX_SECTION {
        return Err(Why::TooLarge);
    }
    let bytes = data.read_bytes_at(section.sh_offset(LE), size).map_err(|()| Why::NotElf)?;
    if section.sh_flags(LE) & elf::SHF_COMPRESSED == elf::SectionFlags(0) {
        return Ok(Some(Cow::Borrowed(bytes)));
    }
    let (head, packed) =
        object::pod::from_bytes::<elf::CompressionHeader64<LittleEndian>>(bytes).map_err(|()| Why::NotElf)?;
    let size = head.ch_size.get(LittleEndian);
    if size > MAX_SECTION {
        return Err(Why::TooLarge);
    }
    if head.ch_type.get(LittleEndian) != elf::ELFCOMPRESS_ZLIB {
        return Ok(None);
    }
    // Grows with what is read: a header may claim any size.
    let mut all = Vec::new();
    flate2::read::ZlibDecoder::new(packed).take(size).read_to_end(&mut all).map_err(|_| Why::NotElf)?;
    Ok(Some(Cow::Owned(all)))
}

/// Finds `.eh_frame` through the header that the runtime uses, and takes what follows it in its segment.
fn by_segment<'d, R: ReadRef<'d>>(
    programs: &[elf::ProgramHeader64<Endianness>],
    data: R,
) -> Result<Option<Frames<'d>>, Why> {
    let Some(index) = programs.iter().find(|p| p.p_type(LE) == elf::PT_GNU_EH_FRAME) else { return Ok(None) };
    let address = index.p_vaddr(LE);
    // The version, three encodings, and the pointer to .eh_frame, of at most 8 bytes.
    let Ok(bytes) = data.read_bytes_at(index.p_offset(LE), index.p_filesz(LE).min(12)) else { return Ok(None) };
    let bases = gimli::BaseAddresses::default().set_eh_frame_hdr(address);
    // The table of functions is not needed, and not in these bytes: its encodings are left out.
    let mut head = [0xff; 12];
    for (to, from) in head.iter_mut().zip(bytes) {
        *to = *from;
    }
    (head[2], head[3]) = (0xff, 0xff);
    let parsed = gimli::EhFrameHdr::new(&head, gimli::LittleEndian).parse(&bases, 8);
    let Some(gimli::Pointer::Direct(at)) = parsed.ok().map(|parsed| parsed.eh_frame_ptr()) else { return Ok(None) };
    let segment = programs.iter().filter(|p| p.p_type(LE) == elf::PT_LOAD).find_map(|p| {
        let inside = at.checked_sub(p.p_vaddr(LE)).filter(|inside| *inside < p.p_filesz(LE))?;
        Some((p.p_offset(LE).checked_add(inside)?, p.p_filesz(LE) - inside))
    });
    let Some((offset, size)) = segment else { return Ok(None) };
    // Ends with a length of 0, which need not be the end of the segment.
    let Ok(bytes) = data.read_bytes_at(offset, size.min(MAX_SECTION)) else { return Ok(None) };
    Ok(Some(Frames { bytes: Cow::Borrowed(bytes), address: Some(at) }))
}
