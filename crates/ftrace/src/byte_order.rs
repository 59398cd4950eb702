//! Byte order.

/// The byte order of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteOrder {
    /// The lowest byte first.
    Little,
    /// The highest byte first.
    Big,
}

impl ByteOrder {
    /// Returns a 16-bit number.
    #[must_use]
    pub fn u16(self, b: [u8; 2]) -> u16 {
        if self == Self::Little { u16::from_le_bytes(b) } else { u16::from_be_bytes(b) }
    }
    /// Returns a 32-bit number.
    #[must_use]
    pub fn u32(self, b: [u8; 4]) -> u32 {
        if self == Self::Little { u32::from_le_bytes(b) } else { u32::from_be_bytes(b) }
    }
    /// Returns a 64-bit number.
    #[must_use]
    pub fn u64(self, b: [u8; 8]) -> u64 {
        if self == Self::Little { u64::from_le_bytes(b) } else { u64::from_be_bytes(b) }
    }
    /// Returns the number at an offset; `None` beyond the end.
    #[must_use]
    pub fn u16_at(self, bytes: &[u8], at: usize) -> Option<u16> {
        Some(self.u16(*bytes.get(at..)?.first_chunk()?))
    }
    /// Returns the number at an offset; `None` beyond the end.
    #[must_use]
    pub fn u32_at(self, bytes: &[u8], at: usize) -> Option<u32> {
        Some(self.u32(*bytes.get(at..)?.first_chunk()?))
    }
    /// Returns the number at an offset; `None` beyond the end.
    #[must_use]
    pub fn u64_at(self, bytes: &[u8], at: usize) -> Option<u64> {
        Some(self.u64(*bytes.get(at..)?.first_chunk()?))
    }
}
