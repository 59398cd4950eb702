//! Functions at addresses of files, which a trace has apart from its callchains: `ModuleSymbols` (`profiling/profile_common.proto`).
//!
//! ```text
//!   Callstack        frame 7: libgame.so, rel_pc 0x1a40                      among the events
//!   ModuleSymbols    libgame.so, 0x1a40: clip (clip.h:12), draw (draw.c:80)  at the end: clip is inlined into draw
//! ```
//!
//! They are at the end of a trace, where `traceconv symbolize` and `corewise export` append them. So a file that has samples is read twice: first only
//! for these packets.

use super::packets::Packets;
use super::wire::{Fields, Malformed};
use ingest::{Anomalies, Fatal};
use rustc_hash::FxHashMap;
use std::fmt::Write as _;

/// The maximum number of files and lines, and of bytes of all texts, that are kept, so that a hostile file cannot exhaust memory.
const MAX_FILES: usize = 1 << 16;
const MAX_LINES: usize = 4 << 20;
const MAX_TEXT: usize = 64 << 20;

/// A function at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line {
    /// Places in the texts; empty if not known.
    function: u32,
    source: u32,
    /// 0 if not known.
    pub(super) number: u32,
}

/// The functions at addresses of each file.
#[derive(Default)]
pub(super) struct Symbols {
    /// By path and build id (in hexadecimal), the place in `files`.
    modules: FxHashMap<(Box<str>, Box<str>), usize>,
    /// By address, the range of `lines`: innermost function first.
    files: Vec<FxHashMap<u64, (u32, u32)>>,
    lines: Vec<Line>,
    places: FxHashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
    bytes: usize,
    /// The number of lines that exceed the limits.
    pub(super) left_out: u64,
}

impl Symbols {
    /// Reads those of a trace. What is damaged is reported when the events are read.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn read(mut packets: Packets<'_>) -> Result<Self, Fatal> {
        let mut symbols = Self::default();
        let mut ignored = Anomalies::default();
        while let Some(packet) = packets.next(&mut ignored)? {
            let mut fields = Fields::of(packet.body);
            while let Ok(Some((field, value))) = fields.next() {
                if field == MODULE_SYMBOLS {
                    // The parts before a damaged one are valid.
                    let _ = symbols.learn(value.bytes());
                }
            }
        }
        Ok(symbols)
    }

    fn learn(&mut self, message: &[u8]) -> Result<(), Malformed> {
        let (mut path, mut build_id) = (&[][..], &[][..]);
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => path = value.bytes(),
                2 => build_id = value.bytes(),
                _ => {}
            }
        }
        let more = path.len() + 2 * build_id.len();
        if self.files.len() >= MAX_FILES || self.bytes + more > MAX_TEXT {
            self.left_out += 1;
            return Ok(());
        }
        let next = self.files.len();
        let file =
            *self.modules.entry((String::from_utf8_lossy(path).into(), hexadecimal(build_id).into())).or_insert(next);
        if file == next {
            self.bytes += more;
            self.files.push(FxHashMap::default());
        }
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            if field == 3 {
                self.address(file, value.bytes())?;
            }
        }
        Ok(())
    }

    fn address(&mut self, file: usize, message: &[u8]) -> Result<(), Malformed> {
        let (mut address, from) = (0, self.lines.len());
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => address = value.number(),
                2 => self.line(value.bytes())?,
                _ => {}
            }
        }
        let range = (u32::try_from(from).unwrap_or(0), u32::try_from(self.lines.len()).unwrap_or(0));
        if range.0 < range.1 {
            self.files[file].insert(address, range);
        }
        Ok(())
    }

    fn line(&mut self, message: &[u8]) -> Result<(), Malformed> {
        let (mut function, mut source, mut number) = (&[][..], &[][..], 0);
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => function = value.bytes(),
                2 => source = value.bytes(),
                3 => number = u32::try_from(value.number()).unwrap_or(0),
                _ => {}
            }
        }
        if self.lines.len() >= MAX_LINES || self.bytes + function.len() + source.len() > MAX_TEXT {
            self.left_out += 1;
            return Ok(());
        }
        let [function, source] = [function, source].map(|text| self.text(&String::from_utf8_lossy(text)));
        self.lines.push(Line { function, source, number });
        Ok(())
    }

    fn text(&mut self, text: &str) -> u32 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = u32::try_from(self.texts.len()).unwrap_or(0);
        self.bytes += text.len();
        self.texts.push(text.into());
        self.places.insert(text.into(), place);
        place
    }

    /// Returns the number of a mapped file, if there are functions of it.
    pub(super) fn module(&self, path: &str, build_id: &str) -> Option<usize> {
        if self.modules.is_empty() {
            return None;
        }
        self.modules.get(&(path.into(), build_id.into())).copied()
    }

    /// Returns the functions at an address of a file, innermost first.
    pub(super) fn at(&self, module: usize, address: u64) -> &[Line] {
        let range = self.files.get(module).and_then(|file| file.get(&address));
        range.and_then(|(from, to)| self.lines.get(*from as usize..*to as usize)).unwrap_or_default()
    }

    pub(super) fn function(&self, line: &Line) -> &str {
        self.texts.get(line.function as usize).map_or("", AsRef::as_ref)
    }

    pub(super) fn source(&self, line: &Line) -> &str {
        self.texts.get(line.source as usize).map_or("", AsRef::as_ref)
    }
}

/// `TracePacket.module_symbols`.
const MODULE_SYMBOLS: u32 = 61;

/// Returns a build id in hexadecimal.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(2 * bytes.len());
    bytes.iter().for_each(|byte| _ = write!(hex, "{byte:02x}"));
    hex
}
