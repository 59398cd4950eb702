//! Counts of PMUs outside the cores, by perf_event_open: `power`, `cstate_core`, `cstate_pkg`, `msr`.
//!
//! A tree that was handed in has no events to open. There, the count of an event is the number in
//! `/sys/bus/event_source/devices/PMU/counts/cpuN/EVENT`, a file that only such trees have.

use crate::tree::{Tree, ValueFile};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;

const DEVICES: &str = "/sys/bus/event_source/devices";

/// The beginning of `struct perf_event_attr` (linux/perf_event.h), PERF_ATTR_SIZE_VER0: later fields are 0.
#[repr(C)]
#[derive(Default)]
struct Attr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    config1: u64,
}

/// `PERF_FLAG_FD_CLOEXEC`.
const CLOEXEC: libc::c_ulong = 8;

/// A count.
#[derive(Debug)]
enum Count {
    Opened(File),
    Fed(ValueFile),
}

/// An event of a PMU on a CPU.
#[derive(Debug)]
pub struct PerfCount {
    count: Count,
    /// The unit of a count in the event's own unit (joules).
    scale: f64,
}

impl PerfCount {
    /// Opens an event.
    ///
    /// # Errors
    /// It does not exist, or may not be counted.
    pub fn open(tree: &Tree, pmu: &str, event: &str, cpu: u32) -> io::Result<Self> {
        let dir = format!("{DEVICES}/{pmu}");
        let terms = tree.read(&format!("{dir}/events/{event}"))?;
        let scale = tree.read(&format!("{dir}/events/{event}.scale")).ok().and_then(|text| text.trim().parse().ok());
        let scale = scale.filter(|scale: &f64| scale.is_finite() && *scale > 0.0).unwrap_or(1.0);
        if !tree.is_live() {
            let count = Count::Fed(tree.value(&format!("{dir}/counts/cpu{cpu}/{event}"))?);
            return Ok(Self { count, scale });
        }
        let kind = u32::try_from(tree.number(&format!("{dir}/type"))?).map_err(io::Error::other)?;
        // These PMUs have one term, the number of the event.
        let number = terms.strip_prefix("event=0x").and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
        let config =
            number.ok_or_else(|| io::Error::other(format!("{dir}/events/{event}: {terms} is not event=0x…")))?;
        Ok(Self { count: Count::Opened(opened(kind, config, cpu)?), scale })
    }

    /// Returns the count so far.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self) -> io::Result<u64> {
        match &self.count {
            Count::Opened(file) => {
                let mut bytes = [0; 8];
                let n = (&*file).read(&mut bytes)?;
                if n == 8 { Ok(u64::from_ne_bytes(bytes)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
            }
            Count::Fed(file) => u64::try_from(file.read()?).map_err(io::Error::other),
        }
    }

    /// Returns the count as microjoules.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn microjoules(&self) -> io::Result<f64> {
        Ok(self.read()? as f64 * self.step_uj())
    }

    /// Returns the microjoules of one count.
    #[must_use]
    pub fn step_uj(&self) -> f64 {
        self.scale * 1e6
    }
}

fn opened(kind: u32, config: u64, cpu: u32) -> io::Result<File> {
    let attr = Attr { kind, size: std::mem::size_of::<Attr>() as u32, config, ..Attr::default() };
    let cpu = i32::try_from(cpu).map_err(io::Error::other)?;
    // SAFETY: the kernel reads `size` bytes of the structure and keeps no pointer to it.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attr, -1, cpu, -1, CLOEXEC) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: fresh and ours.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Returns the names of a PMU's events.
///
/// # Errors
/// There is no such PMU.
pub fn events(tree: &Tree, pmu: &str) -> io::Result<Vec<String>> {
    let names = tree.list(&format!("{DEVICES}/{pmu}/events"))?;
    Ok(names.into_iter().filter(|name| !name.contains('.')).collect())
}

/// Returns the CPUs on which a PMU is read: one of each package or core (`cpumask`).
#[must_use]
pub fn readers(tree: &Tree, pmu: &str) -> Vec<u32> {
    tree.read(&format!("{DEVICES}/{pmu}/cpumask")).map(|list| cpu_list(&list)).unwrap_or_default()
}

/// The maximum number of CPUs of a list.
const MAX_CPUS: u32 = 1 << 16;

/// Returns the CPUs of a list in the kernel's format, `0-3,8`; what is not one is left out.
#[must_use]
pub fn cpu_list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (from.trim().parse::<u32>().ok()?, to.trim().parse::<u32>().ok()?);
        (from <= to && to < MAX_CPUS).then_some(from..=to)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read_and_limited() {
        assert_eq!(cpu_list("0-2,8\n"), [0, 1, 2, 8]);
        assert!(cpu_list("").is_empty() && cpu_list("3-1,x,0-4000000000").is_empty());
    }

    #[test]
    fn the_time_stamp_counter_of_this_machine_advances_if_it_may_be_counted() {
        let tree = Tree::live().unwrap();
        match PerfCount::open(&tree, "msr", "tsc", 0) {
            Ok(count) => {
                let first = count.read().unwrap();
                assert!(count.read().unwrap() > first);
            }
            // No such PMU, no rights, or no perf events at all.
            Err(error) => assert!(
                matches!(
                    error.raw_os_error(),
                    Some(libc::ENOENT | libc::EACCES | libc::EPERM | libc::ENOSYS | libc::ENODEV)
                ),
                "{error}"
            ),
        }
    }

    #[test]
    fn the_structure_has_the_size_of_its_first_version() {
        assert_eq!(std::mem::size_of::<Attr>(), 64);
    }
}
