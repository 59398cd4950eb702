//! Which counters make instructions per cycle, by their names, and from which part of the time.

/// What an event counts, as far as instructions per cycle need it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IpcPart {
    /// Cycles of the core.
    Cycles,
    /// Instructions that retired.
    Instructions,
}

/// A value from counts is refused if the event counted for less than this share of the time.
pub const MIN_COUNTED_SHARE: f64 = 0.05;

/// Returns what an event counts, by its name: the kernel's generic one, of a PMU or of all, or Intel's.
///
/// ```
/// use model::{IpcPart, ipc_part};
///
/// assert_eq!(ipc_part("cpu_atom/cycles/"), Some(IpcPart::Cycles));
/// assert_eq!(ipc_part("INST_RETIRED.ANY"), Some(IpcPart::Instructions));
/// assert_eq!(ipc_part("ref-cycles"), None, "of another clock");
/// ```
#[must_use]
pub fn ipc_part(name: &str) -> Option<IpcPart> {
    let name = name.trim_end_matches('/').rsplit('/').next().unwrap_or(name);
    match name.to_ascii_lowercase().as_str() {
        "cycles" | "cpu-cycles" | "cpu_cycles" | "cpu_clk_unhalted.thread" | "cpu_clk_unhalted.core" => {
            Some(IpcPart::Cycles)
        }
        "instructions" | "inst_retired" | "inst_retired.any" => Some(IpcPart::Instructions),
        _ => None,
    }
}
