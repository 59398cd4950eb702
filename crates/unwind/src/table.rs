//! A file's table: its call frame information as rows in order of address.

use crate::cfi::{self, Bytes, Storage};
use crate::elf::{self, Frames, Segment, Why};
use crate::{Kind, Machine, Row};
use gimli::{BaseAddresses, CieOrFde, LittleEndian, UnwindContext, UnwindSection, Vendor};
use object::read::{ReadCache, ReadRef};
use std::io::BufReader;
use std::path::Path;

/// The most rows of a table: 64 MB of them.
const MAX_ROWS: usize = 8 << 20;
/// The most bytes of instructions that are evaluated, those of a shared entry once for each function that uses it.
const MAX_EVALUATED: u64 = 256 << 20;
/// The most bytes of code that belong to the entry of a file: it prepares the arguments and calls the first function.
const ENTRY: u32 = 64;
/// The most functions.
const MAX_FUNCTIONS: usize = 8 << 20;

/// The call frame information of a program or library.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// The instruction set.
    pub machine: Machine,
    /// The address to which the rows' addresses are relative: the lowest at which a part of the file is linked, rounded down to a page.
    pub base: u64,
    /// The parts of the file that are loaded as code.
    pub segments: Vec<Segment>,
    /// The rows, in ascending order of address.
    pub rows: Vec<Row>,
    /// The number of functions.
    pub functions: usize,
    /// The number of rules, of all that the file has, that a row cannot express. Their rows have [`Kind::None`].
    pub without: usize,
}

/// A function's rows before they are put into order.
struct Function {
    from: u32,
    to: u32,
    first: usize,
    end: usize,
}

impl Table {
    /// Reads the table of a file.
    ///
    /// # Errors
    /// The file cannot be read, is no ELF file for a known machine, has no call frame information, or exceeds a limit.
    pub fn of_file(path: &Path) -> Result<Self, Why> {
        use std::os::unix::fs::OpenOptionsExt;
        // A pipe would wait for its writer, and a device might be endless.
        let file =
            std::fs::OpenOptions::new().read(true).custom_flags(NONBLOCK).open(path).map_err(|_| Why::NotFound)?;
        file.metadata().ok().filter(std::fs::Metadata::is_file).ok_or(Why::NotFound)?;
        Self::of_data(&ReadCache::new(BufReader::new(file)))
    }

    /// Reads the table of an open file.
    ///
    /// # Errors
    /// As [`Table::of_file`].
    pub fn of_open(file: std::fs::File) -> Result<Self, Why> {
        file.metadata().ok().filter(std::fs::Metadata::is_file).ok_or(Why::NotFound)?;
        Self::of_data(&ReadCache::new(BufReader::new(file)))
    }

    /// Reads the table of a file that is in memory (the vDSO).
    ///
    /// # Errors
    /// As [`Table::of_file`].
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, Why> {
        Self::of_data(bytes)
    }

    fn of_data<'d, R: ReadRef<'d>>(data: R) -> Result<Self, Why> {
        let image = elf::image(data)?;
        let vendor = match image.machine {
            Machine::X86_64 => Vendor::Default,
            Machine::Arm64 => Vendor::AArch64,
        };
        let mut bases = BaseAddresses::default();
        if let Some(text) = image.text {
            bases = bases.set_text(text);
        }
        let mut table = Self {
            machine: image.machine,
            base: image.base,
            segments: image.segments,
            rows: Vec::new(),
            functions: 0,
            without: 0,
        };
        let Frames { bytes, address } = &image.frames;
        if let Some(address) = address {
            let mut section = gimli::EhFrame::new(bytes, LittleEndian);
            section.set_address_size(8);
            section.set_vendor(vendor);
            table.read(&section, &bases.set_eh_frame(*address), image.entry)?;
        } else {
            let mut section = gimli::DebugFrame::new(bytes, LittleEndian);
            section.set_address_size(8);
            section.set_vendor(vendor);
            table.read(&section, &bases, image.entry)?;
        }
        Ok(table)
    }

    /// Reads all functions. Damaged ones are left out; what follows an entry of a damaged length cannot be found.
    fn read<'d, S>(&mut self, section: &S, bases: &BaseAddresses, entry: Option<u64>) -> Result<(), Why>
    where
        S: UnwindSection<Bytes<'d>>,
        S::Offset: Copy + PartialEq,
    {
        let mut context = UnwindContext::<usize, Storage>::new_in();
        let (mut functions, mut rows) = (Vec::new(), Vec::new());
        let (mut evaluated, mut last_shared) = (0_u64, None);
        let mut entries = section.entries(bases);
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let parsed = partial.parse(|section, bases, offset| match &last_shared {
                Some((at, shared)) if *at == offset => Ok(gimli::CommonInformationEntry::clone(shared)),
                _ => {
                    let shared = section.cie_from_offset(bases, offset)?;
                    last_shared = Some((offset, shared.clone()));
                    Ok(shared)
                }
            });
            let Ok(function) = parsed else { continue };
            let Some((from, to)) = self.range(function.initial_address(), function.end_address()) else { continue };
            evaluated += function.entry_len() as u64 + function.cie().entry_len() as u64;
            if evaluated > MAX_EVALUATED || rows.len() > MAX_ROWS || functions.len() >= MAX_FUNCTIONS {
                return Err(Why::TooLarge);
            }
            let first = rows.len();
            self.evaluate(&function, section, bases, &mut context, (from, to), &mut rows);
            functions.push(Function { from, to, first, end: rows.len() });
        }
        self.functions = functions.len();
        functions.sort_by_key(|f| f.from);
        if let Some((from, to)) = entry.and_then(|entry| self.range(entry, entry.saturating_add(ENTRY.into()))) {
            add_entry(&mut functions, &mut rows, from, to);
        }
        self.put_in_order(&functions, &rows)
    }

    /// Returns the range of a function relative to the base; `None` if it is not in code, as of functions that the linker removed.
    fn range(&self, from: u64, to: u64) -> Option<(u32, u32)> {
        let code = |s: &&Segment| from.checked_sub(s.vaddr).is_some_and(|inside| inside < s.size);
        self.segments.iter().find(code)?;
        let relative = |address: u64| u32::try_from(address.checked_sub(self.base)?).ok();
        Some((relative(from)?, relative(to)?)).filter(|(from, to)| from < to)
    }

    fn evaluate<'d, S: UnwindSection<Bytes<'d>>>(
        &mut self,
        function: &gimli::FrameDescriptionEntry<Bytes<'d>>,
        section: &S,
        bases: &BaseAddresses,
        context: &mut UnwindContext<usize, Storage>,
        (from, to): (u32, u32),
        rows: &mut Vec<Row>,
    ) {
        let (signal, ra) = (function.is_signal_trampoline(), function.cie().return_address_register());
        let first = rows.len();
        let mut reached = from;
        if let Ok(mut all) = function.rows(section, bases, context) {
            let damaged = loop {
                let row = match all.next_row() {
                    Ok(Some(row)) => row,
                    Ok(None) => break false,
                    Err(_) => break true,
                };
                let relative = |address: u64| address.checked_sub(self.base).and_then(|at| u32::try_from(at).ok());
                let Some(at) = relative(row.start_address()) else { break true };
                let end = relative(row.end_address()).unwrap_or(to).min(to);
                if at >= to {
                    break false;
                }
                if at < end {
                    let found = cfi::row(self.machine, ra, signal, at, row, section);
                    self.without += usize::from(found.is_none());
                    push(rows, first, found.unwrap_or(Row::plain(at, Kind::None)));
                    reached = end;
                }
                if rows.len() > MAX_ROWS {
                    return;
                }
            };
            if !damaged {
                return;
            }
        }
        self.without += 1;
        if reached < to {
            push(rows, first, Row::plain(reached, Kind::None));
        }
    }

    /// Puts the rows of the functions, which are in order, one after the other. Where two functions overlap, the one that begins later is used from there on.
    fn put_in_order(&mut self, functions: &[Function], rows: &[Row]) -> Result<(), Why> {
        let mut out = Vec::with_capacity(rows.len() + functions.len() / 8);
        for (n, function) in functions.iter().enumerate() {
            let next = functions.get(n + 1).map(|f| f.from);
            let end = next.map_or(function.to, |next| next.min(function.to));
            for row in rows.get(function.first..function.end).unwrap_or_default() {
                if row.at() < end {
                    push(&mut out, 0, *row);
                }
            }
            if next.is_none_or(|next| end < next) && end > function.from {
                push(&mut out, 0, Row::plain(end, Kind::None));
            }
            if out.len() > MAX_ROWS {
                return Err(Why::TooLarge);
            }
        }
        out.shrink_to_fit();
        self.rows = out;
        Ok(())
    }

    /// Returns the row for an address relative to the base; `None` if there is no rule.
    #[must_use]
    pub fn find(&self, relative: u32) -> Option<Row> {
        let after = self.rows.partition_point(|row| row.at() <= relative);
        self.rows.get(after.checked_sub(1)?).copied().filter(|row| row.kind() != Kind::None)
    }

    /// Returns the address where a byte of the file is linked, if it is loaded as code.
    #[must_use]
    pub fn vaddr(&self, file_offset: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let inside = file_offset.checked_sub(segment.offset).filter(|inside| *inside < segment.size)?;
            segment.vaddr.checked_add(inside)
        })
    }

    /// Returns the address of a byte of the file relative to the base, as the rows have it, if it is loaded as code.
    #[must_use]
    pub fn relative(&self, file_offset: u64) -> Option<u32> {
        u32::try_from(self.vaddr(file_offset)?.checked_sub(self.base)?).ok()
    }
}

/// Adds the entry as the root, if it has no call frame information: that of the dynamic linker, and of some C libraries.
fn add_entry(functions: &mut Vec<Function>, rows: &mut Vec<Row>, from: u32, to: u32) {
    let at = functions.partition_point(|f| f.from <= from);
    let is_covered = at.checked_sub(1).and_then(|before| functions.get(before)).is_some_and(|f| f.to > from);
    if !is_covered {
        let first = rows.len();
        rows.push(Row::plain(from, Kind::End));
        functions.insert(at, Function { from, to, first, end: rows.len() });
    }
}

/// `O_NONBLOCK` of Linux on x86-64 and arm64.
const NONBLOCK: i32 = 0o4000;

/// Adds a row, if it differs from the one before; `from`: where the rows begin that may be compared.
fn push(rows: &mut Vec<Row>, from: usize, row: Row) {
    if rows.get(from..).and_then(<[Row]>::last).is_none_or(|last| last.rule() != row.rule()) {
        rows.push(row);
    }
}
