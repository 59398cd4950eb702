//! What a user asks to be counted, and what the kernel is asked to count.

use crate::names::{Hardware, Software};
use std::fmt;

/// The fields of `perf_event_attr` that say what is counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Attr {
    /// `type`: the number of the PMU, or one of the kernel's own types.
    pub kind: u32,
    /// `config`.
    pub config: u64,
    /// `config1`.
    pub config1: u64,
    /// `config2`.
    pub config2: u64,
    /// Not in user mode.
    pub exclude_user: bool,
    /// Not in kernel mode.
    pub exclude_kernel: bool,
}

impl Attr {
    /// Returns a generic hardware event without the PMU in its upper half (other events unchanged). On Arm, kernels before 6.12 do not
    /// accept the PMU; there an event of one CPU means that CPU's PMU. On x86 the PMU is needed: without it the event is one of
    /// `cpu_core`.
    #[must_use]
    pub fn without_pmu(self) -> Self {
        match self.kind {
            crate::names::TYPE_HARDWARE => Self { config: self.config & 0xffff_ffff, ..self },
            _ => self,
        }
    }
}

/// One term between the slashes of `PMU/term=value,…/`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// The name: of bits, of one of the PMU's events, or of Intel's list.
    pub name: String,
    /// The value; without one, an event's name, or 1.
    pub value: Option<u64>,
    /// Where it stands in the text, characters from 0.
    pub at: usize,
}

/// How a user named an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventName {
    /// A generic hardware event: on every core PMU.
    Hardware(&'static Hardware),
    /// A software event.
    Software(&'static Software),
    /// `PMU/term=value,…/`.
    OfPmu {
        /// The PMU's name.
        pmu: String,
        /// At least one.
        terms: Vec<Term>,
    },
    /// Any other name: of a PMU's event or of Intel's list.
    Named(String),
}

/// One event that a user asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Its name.
    pub name: EventName,
    /// Whether only user mode is counted (`:u`). With [`Self::kernel`] too, both are.
    pub user: bool,
    /// Whether only kernel mode is counted (`:k`).
    pub kernel: bool,
    /// Where it stands in the text, characters from 0.
    pub at: usize,
}

impl fmt::Display for Event {
    /// Writes the event so that it can be parsed again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = match &self.name {
            EventName::Hardware(event) => {
                f.write_str(event.name)?;
                ":"
            }
            EventName::Software(event) => {
                f.write_str(event.name)?;
                ":"
            }
            EventName::Named(name) => {
                f.write_str(name)?;
                ":"
            }
            EventName::OfPmu { pmu, terms } => {
                write!(f, "{pmu}/")?;
                for (at, term) in terms.iter().enumerate() {
                    let comma = if at > 0 { "," } else { "" };
                    match term.value {
                        Some(value) => write!(f, "{comma}{}={value:#x}", term.name)?,
                        None => write!(f, "{comma}{}", term.name)?,
                    }
                }
                // As perf writes it: the modifier follows the slash.
                f.write_str("/")?;
                ""
            }
        };
        match (self.user, self.kernel) {
            (false, false) => Ok(()),
            (true, false) => write!(f, "{colon}u"),
            (false, true) => write!(f, "{colon}k"),
            (true, true) => write!(f, "{colon}uk"),
        }
    }
}

/// Events that a user asked for, alone or in braces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedGroup {
    /// Whether they stood in braces: all of them are counted at the same time, or none.
    pub together: bool,
    /// At least one; exactly one without braces.
    pub events: Vec<Event>,
}

impl fmt::Display for AskedGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.together { ("{", "}") } else { ("", "") };
        f.write_str(open)?;
        for (at, event) in self.events.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            write!(f, "{event}")?;
        }
        f.write_str(close)
    }
}

/// Why a text names no event that can be counted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("character {}: {what}", at + 1)]
pub struct BadEvent {
    /// Where in the text, characters from 0.
    pub at: usize,
    /// What is wrong, and what to write.
    pub what: String,
}

impl BadEvent {
    pub(crate) fn new(at: usize, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }
}
