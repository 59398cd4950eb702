//! A type compiled to the steps that read it, and their execution.
//!
//! Fields at fixed places are combined in a [`Step::Block`], whose bounds are checked once:
//!
//! ```text
//!   string name; u32 tid; u32 prio; u64 xs[n]; u8 c
//!   └─ Text ──┘ └───── Block ────┘ └─Repeat─┘ └Block
//! ```

use crate::tracepoint::ByteOrder;

/// Where a value is put; texts as [`text_value`].
pub(super) type Slot = usize;

/// The bytes end before the event does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Short;

/// The steps that read a type.
#[derive(Clone, Default, Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Aligns to the next multiple of this many bits.
    Align(usize),
    /// Aligns, then reads fields at fixed places; `bits` is their total size.
    Block { align: usize, bits: usize, gets: Vec<Get> },
    /// A text up to its NUL.
    Text { slot: Option<Slot> },
    /// As many elements of a fixed size as a slot's value.
    Run { count: Slot, stride: usize, last: usize, text: Option<Slot> },
    /// A number of elements of variable size.
    Repeat { count: Count, each: Program },
    /// One of several programs, chosen by a slot's value.
    Choice { tag: Slot, signed: bool, options: Vec<Chosen> },
}

/// The program that is run if the tag is in a range, compared by [`ordered`].
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) program: Program,
}

/// Maps a tag's value so that signed values compare correctly as unsigned ones.
#[inline]
pub(super) fn ordered(value: u64, signed: bool) -> u64 {
    if signed { value ^ 1 << 63 } else { value }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Count {
    Always(u64),
    Slot(Slot),
}

/// A field of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Get {
    /// In bits from the start of the block.
    pub(super) at: usize,
    pub(super) encoding: Encoding,
    pub(super) slot: Slot,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Encoding {
    /// An integer of 1 to 64 bits, of whole bytes or not: one code path takes less time than a distinction.
    Int { bits: usize, signed: bool, order: ByteOrder },
    /// A field of this many bytes with a text that may end earlier, at a NUL.
    Text(usize),
    /// Nothing is read: the value is constant.
    Constant(u64),
}

/// Encodes a text's place in the bytes as a slot's value.
fn text_value(at: usize, length: usize) -> u64 {
    (at as u64) << 32 | length as u64 & 0xffff_ffff
}

/// Returns the bytes of a slot's text.
pub(super) fn text(bytes: &[u8], value: u64) -> &[u8] {
    let (at, length) = ((value >> 32) as usize, (value & 0xffff_ffff) as usize);
    bytes.get(at..at + length).unwrap_or_default()
}

/// Rounds `at` up to a multiple of `to`, which is a power of two.
pub(super) fn aligned(at: usize, to: usize) -> usize {
    (at + to - 1) & !(to - 1)
}

impl Program {
    /// Runs the steps from bit `at`, and returns the bit after the end. Nothing at or after bit `end` may be read.
    #[inline]
    pub(super) fn run(&self, bytes: &[u8], mut at: usize, end: usize, values: &mut [u64]) -> Result<usize, Short> {
        for step in &self.steps {
            at = step.run(bytes, at, end, values)?;
            if at > end {
                return Err(Short);
            }
        }
        Ok(at)
    }
}

impl Step {
    #[inline]
    fn run(&self, bytes: &[u8], at: usize, end: usize, values: &mut [u64]) -> Result<usize, Short> {
        match self {
            Self::Align(to) => Ok(aligned(at, *to)),
            Self::Block { align, bits, gets } => {
                let at = aligned(at, *align);
                let after = at + bits;
                if after > end {
                    return Err(Short);
                }
                let Some(block) = bytes.get(at / 8..) else { return Err(Short) };
                for get in gets {
                    let value = get.read(block, at % 8, at / 8).ok_or(Short)?;
                    if let Some(place) = values.get_mut(get.slot) {
                        *place = value;
                    }
                }
                Ok(after)
            }
            Self::Text { slot } => {
                let from = at / 8;
                let rest = bytes.get(from..end / 8).ok_or(Short)?;
                let length = nul(rest).ok_or(Short)?;
                put(values, *slot, text_value(from, length));
                Ok((from + length + 1) * 8)
            }
            Self::Run { count, stride, last, text } => {
                let n = values.get(*count).copied().unwrap_or(0);
                if n == 0 {
                    put(values, *text, 0);
                    return Ok(at);
                }
                let size = usize::try_from(n - 1).ok().and_then(|n| n.checked_mul(*stride)?.checked_add(*last));
                let size = size.filter(|s| *s <= end.saturating_sub(at)).ok_or(Short)?;
                put(values, *text, text_value(at / 8, size / 8));
                Ok(at + size)
            }
            Self::Repeat { count, each } => {
                let n = match count {
                    Count::Always(n) => *n,
                    Count::Slot(slot) => values.get(*slot).copied().unwrap_or(0),
                };
                let mut at = at;
                for _ in 0..n {
                    let after = each.run(bytes, at, end, values)?;
                    if after == at {
                        break; // elements without content, in any number
                    }
                    at = after;
                }
                Ok(at)
            }
            Self::Choice { tag, signed, options } => {
                let value = ordered(values.get(*tag).copied().unwrap_or(0), *signed);
                match options.iter().find(|o| o.from <= value && value <= o.to) {
                    Some(option) => option.program.run(bytes, at, end, values),
                    None => Ok(at),
                }
            }
        }
    }
}

#[inline]
fn put(values: &mut [u64], slot: Option<Slot>, value: u64) {
    if let Some(place) = slot.and_then(|s| values.get_mut(s)) {
        *place = value;
    }
}

/// Returns the place of the first NUL.
#[inline]
fn nul(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|b| *b == 0)
}

impl Get {
    /// Reads the field from a block that starts at bit `within` of its first byte, which is byte `begin` of the whole.
    #[inline]
    fn read(&self, block: &[u8], within: usize, begin: usize) -> Option<u64> {
        let bit = within + self.at;
        match self.encoding {
            Encoding::Int { bits, signed, order } => bit_field(block.get(bit / 8..)?, bit % 8, bits, signed, order),
            Encoding::Text(length) => {
                let text = block.get(bit / 8..)?.get(..length)?;
                Some(text_value(begin + bit / 8, text.len()))
            }
            Encoding::Constant(value) => Some(value),
        }
    }
}

/// Reads an integer that starts at a bit of the first byte. In little-endian bytes the first bit is the lowest, in
/// big-endian ones the highest.
#[inline]
fn bit_field(from: &[u8], bit: usize, bits: usize, signed: bool, order: ByteOrder) -> Option<u64> {
    if let Some(eight) = from.first_chunk().filter(|_| bit + bits <= 64) {
        let unused = 64 - bits;
        let high = match order {
            ByteOrder::Little => u64::from_le_bytes(*eight) << (unused - bit),
            ByteOrder::Big => u64::from_be_bytes(*eight) << bit,
        };
        return Some(if signed { (high as i64 >> unused) as u64 } else { high >> unused });
    }
    long_bit_field(from, bit, bits, signed, order)
}

/// Reads an integer near the end of the bytes, or one that spans nine bytes.
fn long_bit_field(from: &[u8], bit: usize, bits: usize, signed: bool, order: ByteOrder) -> Option<u64> {
    let bytes = (bit + bits).div_ceil(8);
    let from = from.get(..bytes)?;
    let shifted = match order {
        ByteOrder::Little => from.iter().rev().fold(0_u128, |all, b| all << 8 | u128::from(*b)) >> bit,
        ByteOrder::Big => from.iter().fold(0_u128, |all, b| all << 8 | u128::from(*b)) >> (bytes * 8 - bit - bits),
    };
    let unused = 64 - bits;
    let value = (shifted as u64) << unused;
    Some(if signed { (value as i64 >> unused) as u64 } else { value >> unused })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_fields_of_both_byte_orders() {
        // 5 bits of value 17, then 27 bits of value 0x5abcdef.
        let (id, time) = (17_u32, 0x5ab_cdef_u32);
        let little = (time << 5 | id).to_le_bytes();
        let big = (id << 27 | time).to_be_bytes();
        for (bytes, order) in [(little, ByteOrder::Little), (big, ByteOrder::Big)] {
            let longer = [&bytes[..], &[0xff; 8]].concat();
            for bytes in [&bytes[..], &longer] {
                assert_eq!(bit_field(bytes, 0, 5, false, order), Some(17));
                assert_eq!(bit_field(bytes, 0, 5, true, order), Some(-15_i64 as u64));
                assert_eq!(bit_field(bytes, 5, 27, false, order), Some(0x5ab_cdef));
            }
            assert_eq!(bit_field(&bytes, 5, 28, false, order), None);
        }
        assert_eq!(bit_field(&[0b1111_0110], 1, 3, true, ByteOrder::Little), Some(3));
        assert_eq!(bit_field(&[0b1111_0110], 4, 4, true, ByteOrder::Little), Some(u64::MAX));
        assert_eq!(bit_field(&[0b0111_0110], 1, 3, true, ByteOrder::Big), Some(u64::MAX));
        let wide = [0xff; 9];
        assert_eq!(bit_field(&wide, 7, 64, false, ByteOrder::Big), Some(u64::MAX));
    }
}
