//! Which rights this process has, and giving up those that recording no longer needs.

use std::path::Path;

const DAC_OVERRIDE: u32 = 1;
const DAC_READ_SEARCH: u32 = 2;
const SYS_PTRACE: u32 = 19;
const SYS_ADMIN: u32 = 21;
const IPC_LOCK: u32 = 14;
const PERFMON: u32 = 38;
const BPF: u32 = 39;

/// The effective capabilities, as bits.
pub fn effective() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}

/// Whether this is root.
pub fn is_root() -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::geteuid() == 0 }
}

fn has(bit: u32) -> bool {
    effective() >> bit & 1 == 1
}

/// Whether BPF programs for tracing may be loaded.
pub fn may_load() -> bool {
    has(SYS_ADMIN) || (has(BPF) && has(PERFMON))
}

/// Whether perf events of the whole machine may be opened.
pub fn may_perf() -> bool {
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    has(SYS_ADMIN) || has(PERFMON) || paranoid.is_ok_and(|p| p.trim().parse::<i32>().is_ok_and(|p| p < 0))
}

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Data {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Gives up, for this thread, everything but reading other processes' names and programs, writing into `dir` where
/// that needs a capability and, where `opens_events`, opening perf events (and locking their buffers in memory). Programs that are
/// attached stay attached.
///
/// # Errors
/// As the kernel says.
pub fn drop_all_but_reading(dir: &Path, opens_events: bool) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: no memory is involved.
    let me = unsafe { libc::geteuid() };
    let foreign = std::fs::metadata(dir).map_or(true, |m| m.uid() != me);
    let mut keep: u64 = 1 << SYS_PTRACE | 1 << DAC_READ_SEARCH;
    if foreign {
        keep |= 1 << DAC_OVERRIDE;
    }
    if opens_events {
        keep |= 1 << PERFMON | 1 << IPC_LOCK;
    }
    let left = effective() & keep;
    let data = [left, left >> 32].map(|half| Data { effective: half as u32, permitted: half as u32, inheritable: 0 });
    let header = Header { version: 0x2008_0522, pid: 0 };
    // SAFETY: header and data are what version 3 of the call wants.
    let failed = unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) };
    if failed != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: no memory is involved.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}
