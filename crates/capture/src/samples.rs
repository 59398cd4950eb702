//! Data that is read once a second (clocks, steal time) and at the start (offline CPUs).

use crate::perf_clock::PerfClock;
use crate::spool::frame;
use crate::wire;
use model::Clock;

fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written to a valid place.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    if failed != 0 {
        return None;
    }
    let seconds = u64::try_from(time.tv_sec).ok()?;
    Some(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?)
}

/// Returns `CLOCK_MONOTONIC`, ns: the trace's clock.
pub fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// Returns the CPU time of the calling thread, ns.
pub fn thread_cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// Returns `CLOCK_REALTIME`, ns since 1970.
pub fn realtime() -> u64 {
    read(libc::CLOCK_REALTIME).unwrap_or(0)
}

#[cfg(target_arch = "x86_64")]
fn tsc() -> Option<u64> {
    // SAFETY: every x86-64 has it; if user space may not read it, the recorder could not have come this far.
    Some(unsafe { core::arch::x86_64::_rdtsc() })
}

#[cfg(not(target_arch = "x86_64"))]
fn tsc() -> Option<u64> {
    None
}

/// The machine's clocks.
#[derive(Default)]
pub struct Clocks {
    /// Opened by the thread that reads it, at the first reading; inner `None`: not available on this machine.
    perf: Option<Option<PerfClock>>,
}

impl Clocks {
    /// Returns a frame with a reading of each clock, stamped with the middle of two readings of the trace's clock.
    pub fn frame(&mut self) -> Vec<u8> {
        let mut payload = vec![frame::CLOCK];
        let mut add = |which: Clock, reading: &mut dyn FnMut() -> Option<u64>| {
            let before = now();
            let Some(value) = reading() else { return };
            let at = before + (now() - before) / 2;
            payload.extend_from_slice(&at.to_ne_bytes());
            payload.push(wire::clock_number(which));
            payload.extend_from_slice(&value.to_ne_bytes());
        };
        add(Clock::Boottime, &mut || read(libc::CLOCK_BOOTTIME));
        add(Clock::Realtime, &mut || read(libc::CLOCK_REALTIME));
        add(Clock::Tsc, &mut tsc);
        if let Some(perf) = self.perf.get_or_insert_with(PerfClock::open) {
            add(Clock::Perf, &mut || perf.read());
        }
        add(Clock::Monotonic, &mut || Some(now()));
        payload
    }
}

/// Returns a frame that states for each CPU of the machine whether it is offline.
pub fn parking_frame() -> Vec<u8> {
    let list = |which: &str| {
        let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/{which}")).unwrap_or_default();
        topology::cpulist::parse(text.trim()).unwrap_or_default()
    };
    let mut payload = vec![frame::PARKING];
    payload.extend_from_slice(&now().to_ne_bytes());
    let online = list("online");
    // This code runs on an online CPU: an empty list means that it is unknown which are online.
    let known = if online.is_empty() { Vec::new() } else { list("present") };
    for cpu in known {
        payload.extend_from_slice(&cpu.0.to_ne_bytes());
        payload.push(u8::from(!online.contains(&cpu)));
    }
    payload
}

/// Returns the steal time of each CPU since boot, ns, from `/proc/stat`.
pub fn steal() -> Vec<(u32, u64)> {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    // SAFETY: no memory is involved.
    let ticks = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).unwrap_or(100).max(1);
    stat.lines()
        .filter_map(|line| {
            let mut words = line.strip_prefix("cpu")?.split(' ');
            let cpu = words.next()?.parse().ok()?;
            let stolen: u64 = words.nth(7)?.parse().ok()?;
            Some((cpu, stolen * (1_000_000_000 / ticks)))
        })
        .collect()
}

/// Returns [`steal`] as a frame.
pub fn steal_frame() -> Vec<u8> {
    let mut payload = vec![frame::STEAL];
    payload.extend_from_slice(&now().to_ne_bytes());
    for (cpu, ns) in steal() {
        payload.extend_from_slice(&cpu.to_ne_bytes());
        payload.extend_from_slice(&ns.to_ne_bytes());
    }
    payload
}
