//! The sums in the kernel's memory, as `bpf/sums.h` declares them.

use bytemuck::{Pod, Zeroable};
use capture::{Mapped, page};
use std::os::fd::RawFd;
use std::sync::atomic::{Ordering, fence};

/// The most classes of cores (`CLASSES`).
pub const CLASSES: usize = 8;
/// Buckets of a histogram in the kernel.
pub const BUCKETS: usize = crate::histogram::BUCKETS;
/// The most idle states of a CPU (`IDLE_STATES`).
pub const IDLE_STATES: usize = 10;

/// What a CPU runs (`RUNS_…`): its idle task; from this value on a thread.
pub const RUNS_THREAD: u32 = 2;

/// A CPU has no sibling, its siblings are not known, or it has several (`NO_SIBLING`, `UNKNOWN_SIBLINGS`, `SEVERAL_SIBLINGS`).
pub const NO_SIBLING: i32 = -1;
pub const UNKNOWN_SIBLINGS: i32 = -2;
pub const SEVERAL_SIBLINGS: i32 = 0x4000_0000;
/// The most hardware threads of a core that its word can count.
pub const MAX_IN_CORE: usize = 15;
/// The bits of a core's word below the number of its busy hardware threads (`CORE_BUSY`).
const CORE_BUSY: u32 = 60;

/// `struct cpu_sums`.
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
#[repr(C)]
pub struct RawCpu {
    pub seq: u32,
    pub sibling: i32,
    pub busy_word: u64,
    pub since: u64,
    pub busy: u64,
    pub idle: u64,
    pub unknown: u64,
    pub kernel: u64,
    pub task: u64,
    pub runs: u32,
    pub tid: u32,
    pub slot: u32,
    pub class: u32,
    pub began: u64,
    pub sibling_read: u64,
    pub with_sibling: u64,
    pub switches: u64,
    pub wakeups: u64,
    pub inconsistent: u64,
    pub forgotten: u64,
    pub overflows: u64,
    pub migrations_from: [u64; CLASSES],
    pub started: u64,
    pub inferred: u64,
    pub rq_switches: u64,
    pub skew: u64,
    pub idle_since: u64,
    pub idle_state: u32,
    pub in_idle_state: u32,
    pub next_sibling: i32,
    pub core: u32,
    pub core_word: u64,
    pub in_core: u32,
    pub unused: u32,
}

/// Returns how long two or more hardware threads of a core have been busy at a time, ns, from its word (`several_busy` in bpf/cores.h).
pub fn several_busy(word: u64, at: u64) -> u64 {
    let time = word & ((1 << CORE_BUSY) - 1);
    if word >> CORE_BUSY < 2 { time } else { at.saturating_sub(time) }
}

/// `struct ready_sums`.
#[derive(Clone, Copy, Pod, Zeroable, Debug, Default)]
#[repr(C)]
pub struct RawReady {
    pub same: u64,
    pub other: u64,
    pub kernel: u64,
    pub idle: u64,
    pub unknown: u64,
}

/// `struct group_sums`.
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
#[repr(C)]
pub struct RawGroup {
    pub generation: u32,
    pub wakeups: u32,
    pub running: u64,
    pub with_sibling: u64,
    pub kernel: u64,
    pub ready: RawReady,
    pub ready_ns: u64,
    pub run_ns: u64,
    pub preemptions: u32,
    pub migrations_from: [u32; CLASSES],
    pub unused: [u32; 3],
    pub moved: RawReady,
    pub ready_counts: [u32; BUCKETS],
    pub run_counts: [u32; BUCKETS],
}

/// `struct idle_sums`.
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
#[repr(C)]
pub struct RawIdle {
    pub break_even: u64,
    pub periods: u64,
    pub ns: u64,
    pub short_periods: u64,
}

/// The bytes of a group on a CPU.
pub const GROUP_BYTES: usize = size_of::<RawGroup>();

/// An array in the kernel's memory.
pub struct Array<T> {
    memory: Mapped,
    entries: usize,
    of: std::marker::PhantomData<T>,
}

impl<T: Pod> Array<T> {
    const WORDS: usize = size_of::<T>() / 8;

    /// Maps an array.
    ///
    /// # Errors
    /// If mmap fails.
    pub fn new(fd: RawFd, entries: usize) -> std::io::Result<Self> {
        let len = (entries * size_of::<T>()).next_multiple_of(page());
        Ok(Self { memory: Mapped::new(fd, 0, len, true)?, entries, of: std::marker::PhantomData })
    }

    /// Returns the bytes in the kernel.
    pub fn bytes(&self) -> u64 {
        self.memory.len() as u64
    }

    /// Reads an entry, whose words may be of different moments; zero if the array has no such entry.
    pub fn read(&self, entry: usize) -> T {
        let mut value = T::zeroed();
        if entry < self.entries {
            let words: &mut [u64] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut value));
            for (at, word) in words.iter_mut().enumerate() {
                *word = self.word(entry, at);
            }
        }
        value
    }

    /// Reads a word of an entry that exists.
    pub fn word(&self, entry: usize, word: usize) -> u64 {
        self.memory.u64_at((entry * Self::WORDS + word) * 8).load(Ordering::Relaxed)
    }
}

/// How often the sums of a CPU are read that change meanwhile, and after how many attempts there is a pause of 1 ms: the host of a virtual
/// machine may stop a CPU within a change.
const ATTEMPTS: u32 = 200_000;
const PAUSES: u32 = 1000;

impl Array<RawCpu> {
    /// Reads a CPU's sums of one moment. Returns `None` if they changed at each attempt.
    pub fn consistent(&self, cpu: usize) -> Option<RawCpu> {
        for attempt in 1..=ATTEMPTS {
            let before = self.word(cpu, 0) as u32;
            fence(Ordering::Acquire);
            let value = self.read(cpu);
            fence(Ordering::Acquire);
            if before & 1 == 0 && before == self.word(cpu, 0) as u32 {
                return Some(value);
            }
            if attempt.is_multiple_of(PAUSES) {
                std::thread::sleep(std::time::Duration::from_millis(1));
            } else {
                std::hint::spin_loop();
            }
        }
        None
    }

    /// Sets the place of a CPU while the programs run: its sibling from its next settling on, the CPU that has the word of its core, and
    /// its class.
    pub fn set_place(&self, cpu: usize, sibling: i32, core: u32, class: u32) {
        if cpu < self.entries {
            let at = |field: usize| self.memory.u32_at(cpu * size_of::<RawCpu>() + field);
            at(std::mem::offset_of!(RawCpu, core)).store(core, Ordering::Relaxed);
            at(std::mem::offset_of!(RawCpu, next_sibling)).store(sibling as u32, Ordering::Relaxed);
            at(std::mem::offset_of!(RawCpu, class)).store(class, Ordering::Relaxed);
        }
    }
}

impl Array<RawIdle> {
    /// Sets the minimum time in a state that saves energy, ns; 0: not known.
    pub fn set_break_even(&self, entry: usize, ns: u64) {
        if entry < self.entries {
            let at = entry * size_of::<RawIdle>() + std::mem::offset_of!(RawIdle, break_even);
            self.memory.u64_at(at).store(ns, Ordering::Relaxed);
        }
    }
}

impl Array<RawGroup> {
    /// Gives a slot to another group: threads look up their group again.
    pub fn next_generation(&self, entry: usize) {
        if entry < self.entries {
            self.memory.u32_at(entry * GROUP_BYTES).fetch_add(1, Ordering::Release);
        }
    }

    /// The sums whose changes show that anything was added.
    pub fn activity(&self, entry: usize) -> [u64; 3] {
        let at = |field: usize| self.word(entry, field / 8);
        [
            at(std::mem::offset_of!(RawGroup, running)),
            at(std::mem::offset_of!(RawGroup, ready_ns)),
            at(std::mem::offset_of!(RawGroup, run_ns)),
        ]
    }
}

/// The same of a reading.
pub fn activity_of(raw: &RawGroup) -> [u64; 3] {
    [raw.running, raw.ready_ns, raw.run_ns]
}
