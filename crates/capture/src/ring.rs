//! The BPF ring buffer and the block map, mapped into this process.
//!
//! The ring is read here rather than through libbpf because the recorder must know when it has read everything that was handed over
//! before a certain time. The producer's position shows this.

use crate::mapped::{Mapped, page};
use libbpf_rs::libbpf_sys::BPF_RINGBUF_BUSY_BIT;
use std::io::Result;
use std::os::fd::RawFd;
use std::sync::atomic::Ordering;

const DISCARD_BIT: u32 = 1 << 30;
const RECORD_HEAD: usize = 8;

/// The consumer's side of a BPF ring buffer.
pub struct Ring {
    consumer: Mapped,
    producer: Mapped,
    size: usize,
    page: usize,
}

impl Ring {
    /// Maps the ring buffer `fd` of `size` bytes.
    ///
    /// # Errors
    /// If mmap fails.
    pub fn new(fd: RawFd, size: usize) -> Result<Self> {
        let page = page();
        Ok(Self {
            consumer: Mapped::new(fd, 0, page, true)?,
            // The data is mapped twice in a row, so that a record that wraps can be read in one piece.
            producer: Mapped::new(fd, page, page + 2 * size, false)?,
            size,
            page,
        })
    }

    /// Passes every finished record to `take`. Returns `true` if everything that was there when the call began was read.
    pub fn drain(&self, take: &mut dyn FnMut(&[u8])) -> bool {
        let goal = self.producer.u64_at(0).load(Ordering::Acquire);
        let mut at = self.consumer.u64_at(0).load(Ordering::Acquire);
        while at < goal {
            let place = self.page + (at as usize & (self.size - 1));
            let head = self.producer.u32_at(place).load(Ordering::Acquire);
            if head & BPF_RINGBUF_BUSY_BIT != 0 {
                return false;
            }
            let length = (head & !DISCARD_BIT) as usize;
            if head & DISCARD_BIT == 0 && place + RECORD_HEAD + length <= self.producer.len() {
                // SAFETY: inside the mapping; the kernel does not touch a finished record before it is consumed.
                let bytes =
                    unsafe { std::slice::from_raw_parts(self.producer.start().add(place + RECORD_HEAD), length) };
                take(bytes);
            }
            at += (length + RECORD_HEAD).next_multiple_of(8) as u64;
            self.consumer.u64_at(0).store(at, Ordering::Release);
        }
        true
    }
}

/// Offset of `tid` in a block (bpf/wire.h).
const RUNNING_TID: usize = 24;
/// Offset of `missing_switches` in a block (bpf/wire.h).
const MISSING_SWITCHES: usize = 108;

/// The blocks of all CPUs. They show which CPU has events to hand over.
pub struct Blocks {
    memory: Mapped,
    value: usize,
    levels: usize,
}

impl Blocks {
    /// Maps the block map `fd`.
    ///
    /// # Errors
    /// If mmap fails.
    pub fn new(fd: RawFd, value: usize, entries: usize, levels: usize) -> Result<Self> {
        let value = value.next_multiple_of(8);
        let len = (value * entries).next_multiple_of(page());
        Ok(Self { memory: Mapped::new(fd, 0, len, false)?, value, levels })
    }

    /// Whether a CPU has events that are not handed over, or is writing one.
    pub fn waits(&self, cpu: u32) -> bool {
        let first = cpu as usize * self.levels;
        // `used` and `busy` in one load.
        (first..first + self.levels).any(|b| self.memory.u64_at(b * self.value).load(Ordering::Acquire) != 0)
    }

    /// Whether a CPU runs a thread, not the idle task, as far as its last switch shows.
    pub fn runs_thread(&self, cpu: u32) -> bool {
        let own = cpu as usize * self.levels * self.value;
        self.memory.u32_at(own + RUNNING_TID).load(Ordering::Relaxed) != 0
    }

    /// The number of events that a CPU lost since its last delivered block.
    pub fn lost(&self, cpu: u32) -> u64 {
        let first = cpu as usize * self.levels;
        (first..first + self.levels).map(|b| self.memory.u64_at(b * self.value + 8).load(Ordering::Acquire)).sum()
    }

    /// The number of a CPU's switches whose previous thread is not the one that was switched in last.
    pub fn missing_switches(&self, cpu: u32) -> u64 {
        let own = cpu as usize * self.levels * self.value;
        u64::from(self.memory.u32_at(own + MISSING_SWITCHES).load(Ordering::Relaxed))
    }

    /// The number of a CPU's inferred switches, and the number of these whose previous thread is unknown.
    pub fn inferred_switches(&self, cpu: u32) -> [u64; 2] {
        let own = cpu as usize * self.levels * self.value;
        [16, 20].map(|at| u64::from(self.memory.u32_at(own + at).load(Ordering::Relaxed)))
    }
}
