//! Inlined functions and source lines of code, from DWARF.

use crate::NoLines;
use crate::sections::{Budget, content};
use addr2line::{Context, LookupContinuation, LookupResult};
use gimli::{DwarfSections, EndianSlice, RunTimeEndian, SectionId};
use object::read::ReadRef;
use object::{File, Object};
use std::borrow::Cow;
use std::time::Instant;

/// The most inlined functions of an address. Compilers reach a few dozen.
const MAX_INLINED: usize = 128;
/// How deep entries of debug information may be nested: `addr2line` calls itself for each level. Compilers reach a few dozen.
const MAX_DEPTH: isize = 512;
/// The largest table of lines, bytes: rows in memory take 24 times as much.
const MAX_LINES: usize = 128 << 20;
/// The maximum length of a source file's path, and of a function's name.
const MAX_TEXT: usize = 4096;

/// A function at an address.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Function {
    /// The symbol; `None` if unknown.
    pub name: Option<String>,
    /// The path of the source file.
    pub source: Option<String>,
    /// The line in it: of the code, or of the call of the function that was inlined here. 0 if unknown.
    pub line: u32,
}

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// The sections that are read.
const USED: [SectionId; 11] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugAranges,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
    SectionId::DebugTypes,
];

/// Whether a file has debug information.
pub(crate) fn has_lines<'d, R: ReadRef<'d>>(file: &File<'d, R>) -> bool {
    use object::ObjectSection;
    file.section_by_name(".debug_info")
        .is_some_and(|section| section.compressed_file_range().is_ok_and(|r| r.compressed_size > 0))
}

fn sections<'d, R: ReadRef<'d>>(
    file: &File<'d, R>,
    budget: &mut Budget,
) -> Result<DwarfSections<Cow<'d, [u8]>>, NoLines> {
    DwarfSections::load(|id| match USED.contains(&id) {
        true => content(file, id.name(), budget).and_then(|bytes| match id {
            SectionId::DebugLine if bytes.len() > MAX_LINES => Err(NoLines::TooLarge),
            _ => Ok(bytes),
        }),
        false => Ok(Cow::Borrowed(&[][..])),
    })
}

/// Returns the functions at each address, innermost first; the last one is that of the symbol table, the others are inlined into it.
/// Nothing where the debug information has nothing. `common`: what several debug files share.
/// Also returns why some or all of them have nothing.
pub(crate) fn functions<'d, 'c, R: ReadRef<'d>, S: ReadRef<'c>>(
    file: &File<'d, R>,
    common: Option<&File<'c, S>>,
    addresses: &[u64],
    until: Instant,
) -> (Vec<Vec<Function>>, Option<NoLines>) {
    let mut all = vec![Vec::new(); addresses.len()];
    let lacks = fill(file, common, addresses, until, &mut all).unwrap_or_else(Some);
    (all, lacks)
}

fn slice<'a>(section: &'a [u8], endian: RunTimeEndian) -> Slice<'a> {
    EndianSlice::new(section, endian)
}

fn fill<'d, 'c, R: ReadRef<'d>, S: ReadRef<'c>>(
    file: &File<'d, R>,
    common: Option<&File<'c, S>>,
    addresses: &[u64],
    until: Instant,
    all: &mut [Vec<Function>],
) -> Result<Option<NoLines>, NoLines> {
    let mut budget = Budget::OF_LINES;
    let own = sections(file, &mut budget)?;
    let shared = common.map(|file| sections(file, &mut budget)).transpose()?;
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let dwarf = own.borrow_with_sup(shared.as_ref(), |section| slice(section, endian));
    if !is_shallow(&dwarf, until).map_err(|_| NoLines::Unreadable)? {
        return Err(NoLines::Unreadable);
    }
    let context = Context::from_dwarf(dwarf).map_err(|_| NoLines::Unreadable)?;
    let mut lacks = None;
    // At the last address, where only a damaged file has code, `addr2line` would overflow.
    for (address, functions) in addresses.iter().zip(all).filter(|(address, _)| **address != u64::MAX) {
        if Instant::now() > until {
            return Ok(Some(NoLines::TooSlow));
        }
        match at(&context, *address) {
            Ok((found, is_split)) => {
                *functions = found;
                lacks = lacks.or(is_split.then_some(NoLines::Split));
            }
            Err(_) => lacks = lacks.or(Some(NoLines::Unreadable)),
        }
    }
    Ok(lacks)
}

/// Whether no entry is nested deeper than [`MAX_DEPTH`], as far as that is known in time.
fn is_shallow(dwarf: &gimli::Dwarf<Slice<'_>>, until: Instant) -> Result<bool, gimli::Error> {
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        if Instant::now() > until {
            return Ok(false);
        }
        let unit = dwarf.unit(header)?;
        let mut entries = unit.entries_raw(None)?;
        while !entries.is_empty() {
            if entries.next_depth() > MAX_DEPTH {
                return Ok(false);
            }
            if let Some(abbreviation) = entries.read_abbreviation()? {
                entries.skip_attributes(abbreviation.attributes())?;
            }
        }
    }
    Ok(true)
}

/// Returns the functions at an address, and whether they are in other files.
fn at(context: &Context<Slice<'_>>, address: u64) -> Result<(Vec<Function>, bool), gimli::Error> {
    let (mut lookup, mut is_split) = (context.find_frames(address), false);
    let mut frames = loop {
        match lookup {
            LookupResult::Output(frames) => break frames?,
            LookupResult::Load { continuation, .. } => {
                is_split = true;
                lookup = continuation.resume(None);
            }
        }
    };
    let mut found = Vec::new();
    while let Some(frame) = frames.next()? {
        let name = frame.function.as_ref().and_then(|name| name.raw_name().ok()).map(Cow::into_owned);
        let (source, line) = frame.location.map_or((None, None), |at| (at.file, at.line));
        let short = |text: &String| !text.is_empty() && text.len() <= MAX_TEXT;
        found.push(Function {
            name: name.filter(short),
            source: source.map(str::to_owned).filter(short),
            line: line.unwrap_or(0),
        });
        if found.len() > MAX_INLINED {
            found.clear();
            break;
        }
    }
    Ok((found, is_split))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::time::Duration;

    /// Only a damaged file has code there.
    #[test]
    fn the_last_addresses_have_no_functions() {
        let exe = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let file = File::parse(&*exe).unwrap();
        let (found, lacks) =
            functions::<_, &[u8]>(&file, None, &[u64::MAX, u64::MAX - 1], Instant::now() + Duration::from_secs(60));
        assert_eq!((found, lacks), (vec![Vec::new(); 2], None));
    }
}
