//! Interrupts, clocks, and requests to block devices.

use serde::{Deserialize, Serialize};

/// Kinds of interrupt handler.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum IrqKind {
    /// A device's or the timer's interrupt.
    Hard,
    /// A softirq vector.
    Soft,
    /// A timer that expired; its name is the function that it calls, if recorded. It has no number.
    Timer,
    /// An inter-processor interrupt; its name is the reason, if recorded. It has no number.
    Ipi,
}

/// The machine's clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Clock {
    /// `CLOCK_MONOTONIC`.
    Monotonic,
    /// `CLOCK_BOOTTIME`.
    Boottime,
    /// `CLOCK_REALTIME`, since 1970.
    Realtime,
    /// The time stamp counter; in ticks, not ns.
    Tsc,
    /// `sched_clock`, the default of perf and ftrace.
    Perf,
}

/// A request to a block device that was issued to its driver or completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BlockRequest {
    /// The device.
    pub device: Device,
    /// Its first sector, of 512 bytes; the rest of a partly completed request begins after the completed part.
    pub sector: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The operation.
    pub operation: BlockOperation,
    /// Whether it was completed; otherwise it was issued.
    pub done: bool,
}

/// A block device, by its number in the kernel.
///
/// ```
/// use model::Device;
///
/// let disk = Device::new(254, 0);
/// assert_eq!((disk.major(), disk.minor(), disk.to_string()), (254, 0, "254:0".to_owned()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Device(pub u32);

impl Device {
    /// The number of bits of the minor number (`MINORBITS`, include/linux/kdev_t.h).
    const MINOR_BITS: u32 = 20;

    /// Returns the device with these numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self(major << Self::MINOR_BITS | minor & ((1 << Self::MINOR_BITS) - 1))
    }

    /// Returns the major number: the kind of device, by its driver.
    #[must_use]
    pub const fn major(self) -> u32 {
        self.0 >> Self::MINOR_BITS
    }

    /// Returns the minor number: the device or partition of that kind.
    #[must_use]
    pub const fn minor(self) -> u32 {
        self.0 & ((1 << Self::MINOR_BITS) - 1)
    }
}

impl std::fmt::Display for Device {
    /// Formats the device as `lsblk` does: `254:0`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major(), self.minor())
    }
}

/// The operation of a request to a block device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum BlockOperation {
    /// Data is read.
    Read,
    /// Data is written.
    Write,
    /// The device's cache is written to its medium.
    Flush,
    /// The device may forget data.
    Discard,
    /// Anything else.
    Other,
}

impl BlockOperation {
    /// All operations.
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Flush, Self::Discard, Self::Other];

    /// Returns the value in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
            Self::Other => "other",
        }
    }

    /// Returns the operation of an `rwbs` field as printed by the kernel (`blk_fill_rwbs`, block/blk-core.c): `WS` is a synchronous
    /// write, `FF` is a flush, `F` before other characters requests a flush as part of that request.
    #[must_use]
    pub fn from_rwbs(rwbs: &[u8]) -> Self {
        let after_flush = rwbs.strip_prefix(b"F").filter(|rest| !rest.is_empty()).unwrap_or(rwbs);
        match after_flush.first() {
            Some(b'R') => Self::Read,
            Some(b'W') => Self::Write,
            Some(b'F') => Self::Flush,
            Some(b'D') => Self::Discard,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BlockOperation;

    #[test]
    fn operations_from_rwbs() {
        let all = [("R", 0), ("RA", 0), ("WS", 1), ("FWFS", 1), ("FF", 2), ("D", 3), ("N", 4), ("", 4)];
        for (rwbs, at) in all {
            assert_eq!(BlockOperation::from_rwbs(rwbs.as_bytes()), BlockOperation::ALL[at], "{rwbs}");
        }
    }
}
