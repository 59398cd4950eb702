//! System calls by what they wait for, as far as their names show it.

/// What a system call waits for, whatever its arguments are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallWaits {
    /// Time.
    Time,
    /// A device: until data is on it.
    Sync,
    /// A device, for any other reason.
    Device,
}

/// A system call, what alone it waits for, and whether it may read from a device.
type Call = (&'static str, Option<CallWaits>, bool);

/// A page fault is among them, as in the columns of system calls.
const CALLS: [Call; 16] = [
    ("nanosleep", Some(CallWaits::Time), false),
    ("clock_nanosleep", Some(CallWaits::Time), false),
    ("fsync", Some(CallWaits::Sync), false),
    ("fdatasync", Some(CallWaits::Sync), false),
    ("sync", Some(CallWaits::Sync), false),
    ("syncfs", Some(CallWaits::Sync), false),
    ("msync", Some(CallWaits::Sync), false),
    ("sync_file_range", Some(CallWaits::Sync), false),
    ("page_fault", Some(CallWaits::Device), true),
    ("io_getevents", Some(CallWaits::Device), true),
    ("io_uring_enter", None, true),
    ("read", None, true),
    ("readv", None, true),
    ("pread64", None, true),
    ("preadv", None, true),
    ("preadv2", None, true),
];

fn known(call: &str) -> Option<&'static Call> {
    CALLS.iter().find(|(name, ..)| *name == call)
}

/// Returns what alone a system call waits for; `None`: the name does not show it.
///
/// ```
/// use model::{CallWaits, call_waits};
///
/// assert_eq!((call_waits("fdatasync"), call_waits("read")), (Some(CallWaits::Sync), None));
/// ```
#[must_use]
pub fn call_waits(call: &str) -> Option<CallWaits> {
    known(call).and_then(|(_, waits, _)| *waits)
}

/// Whether a system call may read from a device.
#[must_use]
pub fn call_reads(call: &str) -> bool {
    known(call).is_some_and(|(.., reads)| *reads)
}
