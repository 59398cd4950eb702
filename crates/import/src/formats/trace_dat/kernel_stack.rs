//! The kernel's callchains (`kernel_stack`, which ftrace's stacktrace trigger and option write after an event), and the
//! names of its functions: the file contains /proc/kallsyms of the recorded machine.
//!
//! ```text
//!   int size, unsigned long caller[size]: the return address of each function, the innermost first
//! ```

use super::head::SymbolList;
use crate::callchains::Callchains;
use crate::tracepoint::{ByteOrder, EventFormat, Field, Names};
use ingest::{Anomaly, Ledger, ReadSeek};
use model::{Batch, NameId, StackId};
use rustc_hash::FxHashMap;

/// Older kernels mark the end of a shorter callchain with this value.
const END: u64 = u64::MAX;
/// The maximum number of addresses whose names are remembered; a kernel has few places in which threads wait.
const MAX_ADDRESSES: usize = 1 << 16;

/// The layout of a callchain record.
#[derive(Clone, Copy)]
pub(super) struct StackFormat {
    id: u16,
    size: Field,
    callers: usize,
}

impl StackFormat {
    /// Returns the layout, if the event is `kernel_stack`.
    pub(super) fn of(format: &EventFormat) -> Option<Self> {
        let (size, callers) = (format.field("size")?, format.field("caller")?.offset);
        let id = u16::try_from(format.id).ok().filter(|_| format.name == "kernel_stack")?;
        Some(Self { id, size, callers })
    }

    /// Returns the callers in a record, if it is a callchain, in words of `word` bytes.
    pub(super) fn callers(self, raw: &[u8], order: ByteOrder, word: usize) -> Option<impl Iterator<Item = u64>> {
        if order.u16_at(raw, 0) != Some(self.id) {
            return None;
        }
        let count = self.size.int(raw, order).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let words = raw.get(self.callers..).unwrap_or_default().chunks_exact(word).take(count);
        Some(words.map_while(move |bytes| address(bytes, order)).take_while(|address| *address != END))
    }
}

/// In 32 bits, the upper half of addresses is the kernel's, as in 64 bits.
fn address(bytes: &[u8], order: ByteOrder) -> Option<u64> {
    match bytes.len() {
        4 => Some(i64::from(order.u32_at(bytes, 0)? as i32).cast_unsigned()),
        _ => Some(order.u64(*bytes.first_chunk()?)),
    }
}

/// The kernel's functions by address, from its list of symbols.
#[derive(Default)]
struct Functions {
    text: Vec<u8>,
    /// In order: the address, and the offset of its line in the text.
    at: Vec<(u64, u32)>,
}

impl Functions {
    /// Parses lines `ffffffff821fb600 T schedule`, with the module after a tab; 8 digits are from a 32-bit kernel.
    fn new(text: Vec<u8>) -> Self {
        let (mut at, mut begin) = (Vec::new(), 0);
        for line in text.split(|b| *b == b'\n') {
            let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
            let value = std::str::from_utf8(&line[..digits]).ok().and_then(|hex| u64::from_str_radix(hex, 16).ok());
            let narrow = |v: u64| if digits == 8 { i64::from(v as u32 as i32).cast_unsigned() } else { v };
            // Zero if the recording user was not allowed to see addresses.
            if let (Some(address), Ok(place)) = (value.filter(|a| *a > 0).map(narrow), u32::try_from(begin)) {
                at.push((address, place));
            }
            begin += line.len() + 1;
        }
        // Of several names of an address, the first one listed is used.
        at.sort_by_key(|(address, _)| *address);
        Self { text, at }
    }

    /// Returns the name at an address, if it is a function.
    fn name(&self, address: u64) -> Option<&[u8]> {
        let last = self.at.partition_point(|(at, _)| *at <= address).checked_sub(1)?;
        let first = self.at.partition_point(|(at, _)| *at < self.at[last].0);
        self.at[first..=last].iter().find_map(|(_, place)| {
            let line = self.text[*place as usize..].split(|b| *b == b'\n').next()?;
            let mut words = line.split(|b| matches!(b, b' ' | b'\t'));
            let (kind, name) = (words.nth(1)?, words.next()?);
            matches!(kind, b"t" | b"T" | b"w" | b"W").then_some(name)
        })
    }
}

/// The callchains of a file.
pub(super) struct KernelStacks {
    list: Option<SymbolList>,
    functions: Option<Functions>,
    /// The names of addresses seen so far.
    known: FxHashMap<u64, NameId>,
    callchains: Callchains,
}

impl KernelStacks {
    pub(super) fn new(list: Option<SymbolList>) -> Self {
        Self { list, functions: None, known: FxHashMap::default(), callchains: Callchains::default() }
    }

    /// Whether the names of functions were read, which happens at the first callchain.
    pub(super) fn is_named(&self) -> bool {
        self.functions.is_some()
    }

    /// Reads the names of functions. If they cannot be read, frames have no names.
    pub(super) fn read_names(&mut self, file: &mut dyn ReadSeek, bad: &mut dyn Ledger) {
        let text = self.list.take().map(|list| list.read(file)).transpose();
        let text = text.unwrap_or_else(|fatal| {
            bad.anomaly("the kernel's symbols cannot be read", fatal.offset, Anomaly::Warning);
            None
        });
        self.functions = Some(Functions::new(text.unwrap_or_default()));
    }

    /// Returns the ID of a callchain.
    pub(super) fn id(&mut self, callers: impl Iterator<Item = u64>, names: &mut Names, out: &mut Batch) -> StackId {
        let (functions, known) = (self.functions.as_ref(), &mut self.known);
        for address in callers {
            let mut name = || {
                // A call may be the last instruction of its function.
                let name = functions.and_then(|f| f.name(address.wrapping_sub(1)));
                name.map_or(NameId::NONE, |name| names.id(name, out))
            };
            self.callchains.push(address, || match known.get(&address) {
                Some(name) => *name,
                None if known.len() < MAX_ADDRESSES => *known.entry(address).or_insert_with(name),
                None => name(),
            });
        }
        self.callchains.end(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_address() {
        let list = "ffffffff81000100 T schedule\nffffffff81000100 t alias\nffffffff81000200 D data\nffffffff81000080 t first\n\
            ffffffff81000200 T there_too\nffffffff81000300 d end\n0000000000000000 T hidden\nnonsense\nc0001000 T old\n\
            ffffffffc0000000 t of_module\t[module]\nffffffff81000400 T";
        let functions = Functions::new(list.as_bytes().to_vec());
        let name = |address| functions.name(address).map(|n| String::from_utf8_lossy(n).into_owned());
        let names =
            [0x8100_0080, 0x8100_00ff, 0x8100_0100, 0x8100_0250, 0x8100_0350, 0x8100_0400, 0xc000_1fff, 0xc000_0001];
        let names = names.map(|low: u64| name(0xffff_ffff_0000_0000 | low).unwrap_or_default());
        assert_eq!(names, ["first", "first", "schedule", "there_too", "", "", "old", "of_module"]);
        assert_eq!([0, 0x1000, u64::MAX].map(name), [None, None, Some("old".to_owned())]);
        assert_eq!(Functions::default().name(7), None);
    }
}
