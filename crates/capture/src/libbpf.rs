//! What every user of BPF programs needs of libbpf and the kernel: errors with libbpf's warnings, what the kernel's types have, and
//! running a program on a CPU.

use crate::options::CaptureError;
use libbpf_rs::PrintLevel;
use libbpf_rs::btf::{Btf, types};
use libbpf_rs::libbpf_sys;
use std::os::fd::RawFd;
use std::sync::Mutex;

/// The last warnings of libbpf.
static SAID: Mutex<String> = Mutex::new(String::new());

fn listen(level: PrintLevel, text: String) {
    if level == PrintLevel::Warn
        && let Ok(mut said) = SAID.lock()
        && said.len() < 4096
    {
        said.push_str(text.trim_end());
        said.push_str("; ");
    }
}

/// Keeps libbpf's warnings from now on, for [`why`], instead of printing them.
pub fn keep_warnings() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, listen)));
    if let Ok(mut said) = SAID.lock() {
        said.clear();
    }
}

/// Returns the highest possible CPU number of this machine plus one.
#[must_use]
pub fn possible_cpus() -> u32 {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = list.trim().rsplit([',', '-']).next().and_then(|n| n.parse::<u32>().ok());
    last.map_or(1, |n| n + 1)
}

/// Returns the error for a failed step, with libbpf's last warnings.
#[must_use]
pub fn why(step: &str, error: &libbpf_rs::Error) -> CaptureError {
    let said = SAID.lock().map(|mut s| std::mem::take(&mut *s)).unwrap_or_default();
    if error.kind() == libbpf_rs::ErrorKind::PermissionDenied && !crate::rights::may_load() {
        return CaptureError::Rights;
    }
    CaptureError::Bpf(format!("{step}: {error:#}; {}", said.trim_end_matches("; ")))
}

/// Returns what the kernel knows of a program; `None`: it does not say.
#[must_use]
pub fn info(fd: RawFd) -> Option<libbpf_sys::bpf_prog_info> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut len = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: the kernel writes at most `len` bytes.
    let failed = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(fd, &raw mut info, &raw mut len) };
    (failed == 0).then_some(info)
}

/// Runs a program on a CPU and returns its result.
///
/// # Errors
/// If the CPU is offline, or the program cannot be run there.
pub fn run_on(program: RawFd, cpu: u32) -> std::io::Result<u32> {
    let mut how = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
        cpu,
        flags: libbpf_sys::BPF_F_TEST_RUN_ON_CPU,
        ..Default::default()
    };
    loop {
        // SAFETY: no buffers are passed.
        let failed = unsafe { libbpf_sys::bpf_prog_test_run_opts(program, &raw mut how) };
        let why = std::io::Error::last_os_error();
        match failed {
            0 => return Ok(how.retval),
            _ if why.kind() == std::io::ErrorKind::Interrupted => {}
            _ => return Err(why),
        }
    }
}

/// Whether a struct of the kernel has a field.
#[must_use]
pub fn has_field(btf: &Btf<'_>, of: &str, field: &str) -> bool {
    let found = btf.type_by_name::<types::Struct<'_>>(of);
    found.is_some_and(|s| s.iter().any(|m| m.name.is_some_and(|name| name == field)))
}

/// Whether `sched_switch` has the state as its fourth argument (Linux 5.18 and later).
#[must_use]
pub fn switch_has_state(btf: &Btf<'_>) -> bool {
    use libbpf_rs::btf::ReferencesType;
    let arguments = btf
        .type_by_name::<types::Typedef<'_>>("btf_trace_sched_switch")
        .and_then(|t| types::Ptr::try_from(t.referenced_type()).ok())
        .and_then(|p| types::FuncProto::try_from(p.referenced_type()).ok())
        .map(|f| f.iter().count());
    // The first argument is the tracepoint's own data.
    arguments.is_none_or(|n| n >= 5)
}
