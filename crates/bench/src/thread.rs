//! Threads that run where they should, and the evidence that they did.

use crate::clock::{clock_ns, now_ns};
use model::CpuId;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a thread did while it measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Evidence {
    /// The thread's id.
    pub tid: i32,
    /// `CLOCK_MONOTONIC` at the begin and end of the measured part, ns.
    pub span_ns: [i64; 2],
    /// The CPUs on which it was allowed to run. Where it is bound to several one after the other, all of them.
    pub expected: Vec<CpuId>,
    /// The CPUs on which it found itself at the begin and the end.
    pub found: [CpuId; 2],
    /// How often a move to another CPU was requested and happened, as the thread itself saw it.
    pub moves: u64,
    /// The time it was ready but did not run, ns (`/proc/thread-self/schedstat`); `None` if the kernel does not count it.
    pub ready_ns: Option<i64>,
    /// Its CPU time, ns.
    pub ran_ns: i64,
    /// How often it was preempted.
    pub preempted: i64,
    /// How often it slept.
    pub slept: i64,
    /// Whether it did what was to be measured. A step that finds that it did not sets this to false.
    pub as_meant: bool,
    /// Whether the step itself found that something else used the CPUs.
    pub disturbed: bool,
}

impl Evidence {
    /// The moves of a thread that may move as often as the scheduler likes: they are not compared with a recording.
    pub const ANY_MOVES: u64 = u64::MAX;

    /// Returns whether it ran where it should and did what was to be measured.
    #[must_use]
    pub fn is_placed(&self) -> bool {
        self.as_meant && self.found.iter().all(|cpu| self.expected.contains(cpu))
    }

    /// The length of the measured part, ns.
    #[must_use]
    pub fn len_ns(&self) -> i64 {
        self.span_ns[1] - self.span_ns[0]
    }
}

/// Binds the calling thread to CPUs.
///
/// # Errors
/// None of the CPUs is allowed or online.
pub fn bind(cpus: &[CpuId]) -> io::Result<()> {
    let set = Mask::of(cpus);
    set.apply()
}

/// A set of CPUs as the kernel takes it. Made before the measurement, so that a step is the system call only.
#[derive(Clone, Debug)]
pub struct Mask(Vec<u64>);

impl Mask {
    /// Returns the set of these CPUs.
    #[must_use]
    pub fn of(cpus: &[CpuId]) -> Self {
        let words = cpus.iter().map(|cpu| cpu.0 as usize / 64 + 1).max().unwrap_or(1);
        let mut bits = vec![0_u64; words];
        for cpu in cpus {
            bits[cpu.0 as usize / 64] |= 1 << (cpu.0 % 64);
        }
        Self(bits)
    }

    /// Binds the calling thread to the set.
    ///
    /// # Errors
    /// None of the CPUs is allowed or online.
    #[inline]
    pub fn apply(&self) -> io::Result<()> {
        // SAFETY: the kernel reads `len * 8` bytes of the vector. The system call itself, since the C library limits sets to 1024 CPUs.
        let done = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, self.0.len() * 8, self.0.as_ptr()) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Returns the CPUs on which the calling thread may run.
///
/// # Errors
/// The kernel does not answer.
pub fn allowed() -> io::Result<Vec<CpuId>> {
    let mut bits = vec![0_u64; 1024];
    // SAFETY: the kernel writes at most `len * 8` bytes to the vector.
    let written = unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, bits.len() * 8, bits.as_mut_ptr()) };
    if written < 0 {
        return Err(io::Error::last_os_error());
    }
    let set = |cpu: &u32| bits[*cpu as usize / 64] >> (cpu % 64) & 1 == 1;
    Ok((0..bits.len() as u32 * 64).filter(set).map(CpuId).collect())
}

/// Returns the CPU that the calling thread runs on.
#[must_use]
#[inline]
pub fn current_cpu() -> CpuId {
    // SAFETY: no arguments.
    CpuId(unsafe { libc::sched_getcpu() }.max(0).cast_unsigned())
}

/// The state of the calling thread's counters.
struct Counted {
    ready_ns: Option<i64>,
    ran_ns: i64,
    preempted: i64,
    slept: i64,
}

fn counted() -> Counted {
    let ready = std::fs::read_to_string("/proc/thread-self/schedstat");
    let ready_ns = ready.ok().and_then(|text| text.split_whitespace().nth(1)?.parse().ok());
    // SAFETY: all-zero is a valid rusage, and it is written to.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    Counted {
        ready_ns,
        ran_ns: clock_ns(libc::CLOCK_THREAD_CPUTIME_ID),
        preempted: usage.ru_nivcsw,
        slept: usage.ru_nvcsw,
    }
}

/// The start of several threads at one time.
///
/// The threads that wait for each other spin, so that none begins later because it has to wake up. On one CPU they give way.
#[derive(Debug)]
pub struct Gate {
    of: u32,
    arrived: AtomicU32,
}

impl Gate {
    /// Returns a gate for this many threads.
    #[must_use]
    pub fn new(of: usize) -> Self {
        Self { of: of as u32, arrived: AtomicU32::new(0) }
    }

    /// Waits for the others.
    pub fn pass(&self) {
        self.arrived.fetch_add(1, Ordering::AcqRel);
        let mut spins = 0_u32;
        while self.arrived.load(Ordering::Acquire) < self.of {
            spins += 1;
            if spins.is_multiple_of(1000) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

/// Measures within the calling thread, which is bound to the first of `cpus`. Work that shall run on others of them moves itself there. It
/// returns what it measured and how often it moved.
///
/// # Errors
/// The CPUs are not allowed.
pub fn measured<T>(cpus: &[CpuId], gate: Option<&Gate>, work: impl FnOnce() -> (T, u64)) -> io::Result<(T, Evidence)> {
    // To the first of them only: the scheduler's own moves would be counted.
    bind(cpus.get(..1).unwrap_or_default())?;
    let before = counted();
    if let Some(gate) = gate {
        gate.pass();
    }
    let (first, start) = (current_cpu(), now_ns());
    let (value, moves) = work();
    let (end, last) = (now_ns(), current_cpu());
    let after = counted();
    // SAFETY: no arguments.
    let tid = unsafe { libc::gettid() };
    let evidence = Evidence {
        tid,
        span_ns: [start, end],
        expected: cpus.to_vec(),
        found: [first, last],
        moves,
        ready_ns: after.ready_ns.zip(before.ready_ns).map(|(after, before)| after - before),
        ran_ns: after.ran_ns - before.ran_ns,
        preempted: after.preempted - before.preempted,
        slept: after.slept - before.slept,
        as_meant: true,
        disturbed: false,
    };
    Ok((value, evidence))
}

/// One thread of a measurement: its CPUs and its work.
pub type Part<'a, T> = (Vec<CpuId>, Box<dyn FnOnce() -> (T, u64) + Send + 'a>);

/// Measures in new threads that begin at one time, each bound to the first of its CPUs ([`measured`]). Returns what each measured, in their order.
///
/// # Errors
/// CPUs are not allowed, or a thread cannot be started.
pub fn together<'a, T: Send>(parts: Vec<Part<'a, T>>) -> io::Result<Vec<(T, Evidence)>> {
    let gate = Gate::new(parts.len());
    // A thread that cannot be bound must not leave the others waiting: binding is tried first.
    for (cpus, _) in &parts {
        let of = cpus.clone();
        std::thread::scope(|scope| scope.spawn(move || bind(&of)).join()).map_err(|_| died())??;
    }
    std::thread::scope(|scope| {
        let gate = &gate;
        let threads: Vec<_> =
            parts.into_iter().map(|(cpus, work)| scope.spawn(move || measured(&cpus, Some(gate), work))).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| died())?).collect()
    })
}

fn died() -> io::Error {
    io::Error::other("a measuring thread ended early")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_where_they_are_bound() {
        let all = allowed().unwrap();
        let part = |cpu: &CpuId| -> Part<'_, u64> { (vec![*cpu], Box::new(|| (7, 0))) };
        let parts = all.iter().map(part).collect();
        let found = together(parts).unwrap();
        assert_eq!(found.len(), all.len());
        for ((value, evidence), cpu) in found.iter().zip(&all) {
            assert_eq!((*value, evidence.found), (7, [*cpu; 2]));
            assert!(evidence.is_placed());
        }
    }

    #[test]
    fn a_thread_elsewhere_is_misplaced() {
        let cpu = allowed().unwrap()[0];
        let (_, mut evidence) = measured(&[cpu], None, || ((), 0)).unwrap();
        evidence.expected = vec![CpuId(cpu.0 + 1)];
        assert!(!evidence.is_placed());
        assert!(bind(&[CpuId(60_000)]).is_err(), "no such CPU");
    }
}
