//! Whether events can be counted together on a CPU: they are opened, counted for a moment, and closed.
//!
//! To open them is not enough. The kernel accepts a group that would fit on an empty PMU, even if the NMI watchdog or a hypervisor has
//! taken a counter; such a group never runs.

use crate::perf_events::{Attr, FLAG_CLOCK, ioctl, open_in_group};
use model::CpuId;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// `perf_event_attr`'s flags for modes that are not counted.
const EXCLUDE_USER: u64 = 1 << 4;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// The first event of a group is disabled until all are open.
const DISABLED: u64 = 1;
/// A group is always on its PMU, or not at all, so that no rotation hides a lack.
const PINNED: u64 = 1 << 2;
/// Reading returns the count, and for how long the event was enabled and running, ns.
const READ_TIMES: u64 = 1 | 2;

/// How long a trial counts. A pinned group is put on its PMU when it is enabled, which interrupts the CPU.
const MOMENT: Duration = Duration::from_millis(2);
/// The maximum number of counters that are tried; no PMU has as many.
const MAX_COUNTERS: usize = 32;

/// What a trial of some events found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trial {
    /// They are counted together.
    Fits,
    /// The kernel refuses one of them on this CPU, even alone.
    NotSupported,
    /// There are too few counters, or others use them.
    TooMany,
}

/// Why nothing could be tried.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Untried {
    /// This process may not count on a whole CPU.
    #[error("only with permission: run as root, with CAP_PERFMON, or with kernel.perf_event_paranoid at most 0")]
    Rights,
    /// The CPU is offline.
    #[error("the CPU is offline")]
    Offline,
    /// The kernel has no perf events, or another failure.
    #[error("perf_event_open: {0}")]
    Other(String),
}

/// Tries to count events together on a CPU.
///
/// # Errors
/// Nothing can be tried: permissions, an offline CPU, or no perf events at all.
pub fn try_counters(events: &[counters::Attr], cpu: CpuId) -> Result<Trial, Untried> {
    let mut open: Vec<OwnedFd> = Vec::new();
    for event in events {
        let leader = open.first().map(AsFd::as_fd);
        let (times, flags) = if leader.is_none() { (READ_TIMES, DISABLED | PINNED) } else { (0, 0) };
        match open_event(event, cpu.0, leader, times, flags) {
            Ok(fd) => open.push(fd),
            Err(why) => return failed(&why, open.is_empty()),
        }
    }
    let Some(leader) = open.first() else { return Ok(Trial::Fits) };
    let other = |why: io::Error| Untried::Other(why.to_string());
    let mut leader = File::from(leader.try_clone().map_err(other)?);
    // The leader was opened disabled, so that the whole group starts here.
    ioctl(&leader, 0x2400, 0).map_err(|why| Untried::Other(why.to_string()))?; // PERF_EVENT_IOC_ENABLE
    std::thread::sleep(MOMENT);
    let mut words = [0_u8; 24];
    // A pinned group that could not be scheduled reads as the end of the file.
    let counted = matches!(leader.read(&mut words), Ok(24));
    Ok(if counted { Trial::Fits } else { Trial::TooMany })
}

/// Returns how many events of a kind are counted at the same time on a CPU: the number of counters that are free for it.
///
/// # Errors
/// As for [`try_counters`].
pub fn counters_that_fit(event: counters::Attr, cpu: CpuId) -> Result<usize, Untried> {
    let mut fit = 0;
    while fit < MAX_COUNTERS && try_counters(&vec![event; fit + 1], cpu)? == Trial::Fits {
        fit += 1;
    }
    Ok(fit)
}

/// Opens an event of a CPU, in the group of `leader`. Kernels that do not accept the PMU of a generic event get it without: there it means
/// the CPU's own. `read_format`: what a read returns in addition to the count. `flags`: those of `perf_event_attr` in addition to the modes; with
/// `FLAG_CLOCK`, the event's clock is that of the trace.
///
/// # Errors
/// That of the system call.
pub fn open_event(
    event: &counters::Attr,
    cpu: u32,
    leader: Option<BorrowedFd<'_>>,
    read_format: u64,
    flags: u64,
) -> io::Result<OwnedFd> {
    let modes = [(event.exclude_user, EXCLUDE_USER), (event.exclude_kernel, EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR)];
    let modes: u64 = modes.iter().filter(|(is, _)| *is).map(|(_, flag)| flag).sum();
    let open = |event: &counters::Attr| {
        let attr = Attr {
            kind: event.kind,
            size: size_of::<Attr>() as u32,
            config: event.config,
            config1: event.config1,
            config2: event.config2,
            read_format,
            flags: flags | modes,
            clock: if flags & FLAG_CLOCK == 0 { 0 } else { libc::CLOCK_MONOTONIC },
            ..Attr::default()
        };
        open_in_group(&attr, cpu, leader)
    };
    let plain = event.without_pmu();
    open(event).or_else(|why| match why.raw_os_error() {
        Some(libc::ENOENT | libc::EINVAL | libc::EOPNOTSUPP) if plain != *event => open(&plain).map_err(|_| why),
        _ => Err(why),
    })
}

fn failed(why: &io::Error, alone: bool) -> Result<Trial, Untried> {
    match why.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => Err(Untried::Rights),
        Some(libc::ENODEV) => Err(Untried::Offline),
        Some(libc::ENOSYS | libc::EMFILE | libc::ENFILE) => Err(Untried::Other(why.to_string())),
        _ if alone => Ok(Trial::NotSupported),
        _ => Ok(Trial::TooMany),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_kernel_have_a_meaning() {
        let of = |errno, alone| failed(&io::Error::from_raw_os_error(errno), alone);
        assert_eq!(of(libc::EACCES, true), Err(Untried::Rights));
        assert_eq!(of(libc::ENODEV, true), Err(Untried::Offline));
        assert_eq!(of(libc::ENOENT, true), Ok(Trial::NotSupported));
        assert_eq!(of(libc::EINVAL, false), Ok(Trial::TooMany));
        assert!(matches!(of(libc::ENOSYS, true), Err(Untried::Other(_))));
    }

    /// Software events always fit, if they may be opened at all.
    #[test]
    fn software_events_fit() {
        let machine = counters::Pmus::live();
        let groups = counters::parse("page-faults,context-switches").unwrap_or_default();
        let events: Vec<counters::Attr> = groups
            .iter()
            .flat_map(|group| &group.events)
            .filter_map(|event| counters::resolve(event, &machine).ok()?.on.first()?.attr.clone().ok())
            .collect();
        assert_eq!(events.len(), 2);
        match try_counters(&events, CpuId(0)) {
            Ok(trial) => assert_eq!(trial, Trial::Fits),
            Err(Untried::Rights | Untried::Other(_)) => {}
            Err(other) => assert_eq!(other, Untried::Rights),
        }
    }
}
