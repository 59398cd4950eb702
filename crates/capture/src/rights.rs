//! Reads the capabilities of this process, and drops those that recording no longer needs.

use safefs::Dir;

const CHOWN: u32 = 0;
const DAC_OVERRIDE: u32 = 1;
const DAC_READ_SEARCH: u32 = 2;
const SYS_PTRACE: u32 = 19;
const SYS_ADMIN: u32 = 21;
const IPC_LOCK: u32 = 14;
const PERFMON: u32 = 38;
const BPF: u32 = 39;

/// Returns the effective capabilities as bits.
pub fn effective() -> u64 {
    effective_of("/proc/thread-self/status")
}

fn effective_of(status: impl AsRef<std::path::Path>) -> u64 {
    let status = std::fs::read_to_string(status).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}

/// Whether the effective user is root.
pub fn is_root() -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::geteuid() == 0 }
}

fn has(bit: u32) -> bool {
    effective() >> bit & 1 == 1
}

/// Whether this process may load BPF programs for tracing.
pub fn may_load() -> bool {
    has(SYS_ADMIN) || (has(BPF) && has(PERFMON))
}

/// Whether this process may open system-wide perf events.
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

/// Drops all capabilities of this thread, and so of threads that it starts later, except those for reading the sums of BPF programs that
/// are loaded (before Linux 6, each such call needs them). No program that it runs can gain more.
///
/// # Errors
/// If the kernel refuses the change.
pub fn drop_all_but_bpf() -> std::io::Result<()> {
    keep_only(1 << BPF | 1 << PERFMON).map(drop)
}

/// Drops all capabilities of this thread.
///
/// # Errors
/// If the kernel refuses the change.
pub fn drop_all() -> std::io::Result<()> {
    keep_only(0).map(drop)
}

/// Drops all other capabilities; returns those that are left.
fn keep_only(keep: u64) -> std::io::Result<u64> {
    let left = effective() & keep;
    let data = [left, left >> 32].map(|half| Data { effective: half as u32, permitted: half as u32, inheritable: 0 });
    let header = Header { version: 0x2008_0522, pid: 0 };
    // SAFETY: header and data have the layout of version 3 of the call.
    let failed = unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) };
    if failed != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: no memory is involved.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(left)
}

/// Drops the capabilities of this thread, and so of threads that it starts later. Keeps those for reading other processes' names and
/// programs, for writing to `dir` and changing its owner if that needs a capability and, if `opens_events`, for opening perf events
/// (and locking their buffers in memory), if `makes_maps`, for creating BPF maps. Attached BPF programs stay attached. Returns how many other threads of this process keep
/// more capabilities: `corewise` has started none by then, but another user of this library may have.
///
/// # Errors
/// If the kernel refuses the change.
pub fn drop_capabilities(dir: &Dir, opens_events: bool, makes_maps: bool) -> std::io::Result<usize> {
    let mut keep: u64 = 1 << SYS_PTRACE | 1 << DAC_READ_SEARCH;
    if dir.is_foreign() {
        keep |= 1 << DAC_OVERRIDE;
    }
    if opens_events {
        keep |= 1 << PERFMON | 1 << IPC_LOCK;
    }
    if makes_maps {
        keep |= 1 << BPF;
    }
    if dir.has_new_owner() {
        keep |= 1 << CHOWN;
    }
    let left = keep_only(keep)?;
    let threads = std::fs::read_dir("/proc/self/task")?.flatten();
    Ok(threads.filter(|thread| effective_of(thread.path().join("status")) & !left != 0).count())
}
