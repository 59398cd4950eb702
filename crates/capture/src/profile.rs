//! The clocks that interrupt what each CPU runs, for `--sample`: a software event of the kernel (`cpu-clock`), which counts time on every kind
//! of core alike. The BPF program at it records the callchain (bpf/profile.h).

use crate::options::CaptureError;
use crate::perf_events::{Attr, open_on_cpu};
use crate::procfs;
use std::os::fd::OwnedFd;

const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
/// `period` is a frequency, in Hz.
const FLAG_FREQUENCY: u64 = 1 << 10;

/// The name of the program at the events.
pub const PROGRAM: &str = "cpu_sample";

/// Opens an event on each online CPU that samples at this frequency.
///
/// # Errors
/// Permissions are missing, or the frequency is higher than `kernel.perf_event_max_sample_rate`.
pub fn open(hz: u32) -> Result<Vec<OwnedFd>, CaptureError> {
    let attr = Attr {
        kind: SOFTWARE,
        size: size_of::<Attr>() as u32,
        config: CPU_CLOCK,
        period: u64::from(hz),
        flags: FLAG_FREQUENCY,
        ..Attr::default()
    };
    let max = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate");
    let max = max.ok().and_then(|text| text.trim().parse::<u32>().ok());
    if let Some(max) = max.filter(|max| hz > *max) {
        return Err(CaptureError::Perf(format!(
            "--sample {hz}: this machine allows at most {max} samples per second (sysctl kernel.perf_event_max_sample_rate)"
        )));
    }
    procfs::online().into_iter().map(|cpu| open_on_cpu(&attr, cpu)).collect()
}
