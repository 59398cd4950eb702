//! A row of a table: an address, and how to find the caller from there on.
//!
//! ```text
//!  63            32 31     25 24     18 17                3 2    0
//! ┌────────────────┬─────────┬─────────┬───────────────────┬──────┐
//! │       at       │   ra    │   fp    │    CFA offset     │ kind │
//! └────────────────┴─────────┴─────────┴───────────────────┴──────┘
//! ```
//!
//! The CFA (canonical frame address) is the stack pointer of the caller, once the call has returned.

/// How the CFA is found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// There is no rule, or none that a row can express. Ends a function, too.
    None = 0,
    /// CFA = sp + offset.
    Sp = 1,
    /// CFA = fp + offset.
    Fp = 2,
    /// CFA = the word at fp + offset; the caller's fp is the word at fp. A stack that gcc realigned.
    FpDeref = 3,
    /// CFA = sp + 8, and 8 more if the lowest 4 bits of pc are at least `ra`. The return address is at CFA - 8. x86-64's procedure linkage table.
    Plt = 4,
    /// The return from a signal handler: the registers are in the signal frame that the kernel wrote at sp.
    Signal = 5,
    /// There is no caller: the root of the stack.
    End = 6,
    /// CFA = the word at sp + offset.
    SpDeref = 7,
}

impl Kind {
    const ALL: [Self; 8] =
        [Self::None, Self::Sp, Self::Fp, Self::FpDeref, Self::Plt, Self::Signal, Self::End, Self::SpDeref];
}

/// A row: the address where it begins in the high half, the rule in the low half.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(C)]
pub struct Row(pub u64);

/// The bits of the kind.
const KIND_BITS: u32 = 3;
/// The bits of the CFA's offset, in units of 8 bytes, with a sign.
const OFFSET_BITS: u32 = 15;
/// The bits of where the caller's frame pointer is, and of where the return address is.
const SAVED_BITS: u32 = 7;

impl Row {
    /// Makes a row. `offset` is in bytes; `fp` and `ra` are in units of 8 bytes below the CFA. `None`: they do not fit.
    #[must_use]
    pub fn new(at: u32, kind: Kind, offset: i64, fp: u64, ra: u64) -> Option<Self> {
        let limit = 1 << (OFFSET_BITS - 1);
        let words = offset / 8;
        if offset % 8 != 0 || !(-limit..limit).contains(&words) || fp >> SAVED_BITS != 0 || ra >> SAVED_BITS != 0 {
            return None;
        }
        let offset = (words as u64) & ((1 << OFFSET_BITS) - 1);
        let rule = kind as u64
            | offset << KIND_BITS
            | fp << (KIND_BITS + OFFSET_BITS)
            | ra << (KIND_BITS + OFFSET_BITS + SAVED_BITS);
        Some(Self(u64::from(at) << 32 | rule))
    }

    /// Makes a row that has no numbers: [`Kind::None`], [`Kind::Signal`] or [`Kind::End`].
    #[must_use]
    pub const fn plain(at: u32, kind: Kind) -> Self {
        Self((at as u64) << 32 | kind as u64)
    }

    /// Returns the address where the row begins, relative to [`crate::Table::base`].
    #[must_use]
    pub const fn at(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns the row without its address.
    #[must_use]
    pub const fn rule(self) -> u32 {
        self.0 as u32
    }

    /// Returns how the CFA is found.
    #[must_use]
    pub fn kind(self) -> Kind {
        Kind::ALL[(self.0 & 7) as usize]
    }

    /// Returns the CFA's offset, in bytes.
    #[must_use]
    pub const fn offset(self) -> i64 {
        let shift = 32 - KIND_BITS - OFFSET_BITS;
        ((((self.0 as u32) << shift) as i32 >> (shift + KIND_BITS)) as i64) * 8
    }

    /// Returns n, where the caller's frame pointer is saved at CFA - 8 n. 0: it is unchanged.
    #[must_use]
    pub const fn fp(self) -> u64 {
        self.0 >> (KIND_BITS + OFFSET_BITS) & ((1 << SAVED_BITS) - 1)
    }

    /// Returns n, where the return address is at CFA - 8 n. 0: it is in the link register. [`Kind::Plt`]: see there.
    #[must_use]
    pub const fn ra(self) -> u64 {
        self.0 >> (KIND_BITS + OFFSET_BITS + SAVED_BITS) & ((1 << SAVED_BITS) - 1)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_bits_are_those_that_the_walk_in_the_kernel_reads() {
        let row = Row::new(0x1234_5678, Kind::Fp, 16, 2, 1).unwrap();
        assert_eq!(row.0, 0x1234_5678 << 32 | 1 << 25 | 2 << 18 | 2 << 3 | 2);
        let row = Row::new(u32::MAX, Kind::SpDeref, -8, 127, 127).unwrap();
        assert_eq!(row.0, u64::MAX);
        assert_eq!(Row::plain(7, Kind::End).0, 7 << 32 | 6);
    }

    #[test]
    fn what_does_not_fit_is_no_row() {
        for (offset, fp, ra) in
            [(4, 0, 1), (131_072, 0, 1), (-131_080, 0, 1), (8, 128, 1), (8, 0, 128), (i64::MIN, 0, 1)]
        {
            assert_eq!(Row::new(0, Kind::Sp, offset, fp, ra), None, "{offset} {fp} {ra}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_row_keeps_its_numbers(at: u32, kind in 0..8_usize, words in -16_384..16_384_i64, fp in 0..128_u64, ra in 0..128_u64) {
            let kind = Kind::ALL[kind];
            let row = Row::new(at, kind, words * 8, fp, ra).unwrap();
            assert_eq!((row.at(), row.kind(), row.offset(), row.fp(), row.ra()), (at, kind, words * 8, fp, ra));
        }
    }
}
