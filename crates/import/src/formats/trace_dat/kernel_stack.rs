//! The kernel's callchains (`kernel_stack`, which ftrace's stacktrace trigger and option write behind an event), and the names of
//! its functions: the file holds the /proc/kallsyms of the machine that was recorded.
//!
//! ```text
//!   int size, unsigned long caller[size]: where each function returns to, the innermost first
//! ```

use super::head::SymbolList;
use crate::callchains::Callchains;
use crate::tracepoint::{ByteOrder, EventFormat, Field, Names};
use ingest::{Ledger, ReadSeek, Trouble};
use model::{Batch, NameId, StackId};
use rustc_hash::FxHashMap;

/// Older kernels mark the end of a shorter callchain by this.
const END: u64 = u64::MAX;
/// So many places are remembered with their names; a kernel has not many in which threads wait.
const MOST_PLACES: usize = 1 << 16;

/// How a record of a callchain is laid out.
#[derive(Clone, Copy)]
pub(super) struct StackFormat {
    id: u16,
    size: Field,
    callers: usize,
}

impl StackFormat {
    /// Of an event, if it is that one.
    pub(super) fn of(format: &EventFormat) -> Option<Self> {
        let (size, callers) = (format.field("size")?, format.field("caller")?.offset);
        let id = u16::try_from(format.id).ok().filter(|_| format.name == "kernel_stack")?;
        Some(Self { id, size, callers })
    }

    /// The callers in a record, if it is one, in words of so many bytes.
    pub(super) fn callers(self, raw: &[u8], order: ByteOrder, word: usize) -> Option<impl Iterator<Item = u64>> {
        if order.u16_at(raw, 0) != Some(self.id) {
            return None;
        }
        let count = self.size.int(raw, order).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let words = raw.get(self.callers..).unwrap_or_default().chunks_exact(word).take(count);
        Some(words.map_while(move |bytes| address(bytes, order)).take_while(|address| *address != END))
    }
}

/// Of 32 bits the upper half is the kernel's, as it is of 64.
fn address(bytes: &[u8], order: ByteOrder) -> Option<u64> {
    match bytes.len() {
        4 => Some(i64::from(order.u32_at(bytes, 0)? as i32).cast_unsigned()),
        _ => Some(order.u64(*bytes.first_chunk()?)),
    }
}

/// What stands where in the kernel, by its list of symbols.
#[derive(Default)]
struct Functions {
    text: Vec<u8>,
    /// In order: address, and where in the text its line stands.
    at: Vec<(u64, u32)>,
}

impl Functions {
    /// `ffffffff821fb600 T schedule`, and behind a tab the module; of 8 digits those of a 32-bit kernel.
    fn new(text: Vec<u8>) -> Self {
        let (mut at, mut begin) = (Vec::new(), 0);
        for line in text.split(|b| *b == b'\n') {
            let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
            let told = std::str::from_utf8(&line[..digits]).ok().and_then(|hex| u64::from_str_radix(hex, 16).ok());
            let narrow = |v: u64| if digits == 8 { i64::from(v as u32 as i32).cast_unsigned() } else { v };
            // Zeros: who recorded was not allowed to know.
            if let (Some(address), Ok(place)) = (told.filter(|a| *a > 0).map(narrow), u32::try_from(begin)) {
                at.push((address, place));
            }
            begin += line.len() + 1;
        }
        // Of several names for one place, the first one listed.
        at.sort_by_key(|(address, _)| *address);
        Self { text, at }
    }

    /// What lies at an address, if that is a function.
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

/// A file's callchains.
pub(super) struct KernelStacks {
    list: Option<SymbolList>,
    functions: Option<Functions>,
    /// Of places met before.
    known: FxHashMap<u64, NameId>,
    callchains: Callchains,
}

impl KernelStacks {
    pub(super) fn new(list: Option<SymbolList>) -> Self {
        Self { list, functions: None, known: FxHashMap::default(), callchains: Callchains::default() }
    }

    /// Whether the names of functions were read: not before there is a callchain.
    pub(super) fn is_named(&self) -> bool {
        self.functions.is_some()
    }

    /// Reads the names of functions; where they cannot be read, frames have none.
    pub(super) fn read_names(&mut self, file: &mut dyn ReadSeek, bad: &mut dyn Ledger) {
        let text = self.list.take().map(|list| list.read(file)).transpose();
        let text = text.unwrap_or_else(|fatal| {
            bad.trouble("the kernel's symbols cannot be read", fatal.offset, Trouble::Odd);
            None
        });
        self.functions = Some(Functions::new(text.unwrap_or_default()));
    }

    /// The number of a callchain.
    pub(super) fn id(&mut self, callers: impl Iterator<Item = u64>, names: &mut Names, out: &mut Batch) -> StackId {
        let (functions, known) = (self.functions.as_ref(), &mut self.known);
        for address in callers {
            let mut name = || {
                // A call may be the last thing in its function.
                let name = functions.and_then(|f| f.name(address.wrapping_sub(1)));
                name.map_or(NameId::NONE, |name| names.id(name, out))
            };
            self.callchains.push(address, || match known.get(&address) {
                Some(name) => *name,
                None if known.len() < MOST_PLACES => *known.entry(address).or_insert_with(name),
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
    fn what_lies_at_an_address() {
        let list = "ffffffff81000100 T schedule\nffffffff81000100 t alias\nffffffff81000200 D data\nffffffff81000080 t first\n\
            ffffffff81000200 T there_too\nffffffff81000300 d end\n0000000000000000 T hidden\nnonsense\nc0001000 T old\n\
            ffffffffc0000000 t of_module\t[module]\nffffffff81000400 T";
        let functions = Functions::new(list.as_bytes().to_vec());
        let name = |address| functions.name(address).map(|n| String::from_utf8_lossy(n).into_owned());
        let told =
            [0x8100_0080, 0x8100_00ff, 0x8100_0100, 0x8100_0250, 0x8100_0350, 0x8100_0400, 0xc000_1fff, 0xc000_0001];
        let told = told.map(|low: u64| name(0xffff_ffff_0000_0000 | low).unwrap_or_default());
        assert_eq!(told, ["first", "first", "schedule", "there_too", "", "", "old", "of_module"]);
        assert_eq!([0, 0x1000, u64::MAX].map(name), [None, None, Some("old".to_owned())]);
        assert_eq!(Functions::default().name(7), None);
    }
}
