//! Which CPUs a user means by a word or a list: `P`, `E`, `no-siblings`, `all`, `0-3,8`.

use crate::cpulist::{self, BadList};
use crate::machine::{Fact, Machine};
use model::CpuId;
use std::fmt;

/// A choice of CPUs, as the user wrote it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CpuChoice {
    /// All CPUs that are available.
    All,
    /// The CPUs of the fastest class.
    Fastest,
    /// The CPUs of the slowest class.
    Slowest,
    /// One CPU of each core, of all classes.
    NoSiblings,
    /// These CPUs.
    List(Vec<CpuId>),
}

/// The CPUs of a choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// The available ones, in order of their numbers; at least one.
    pub cpus: Vec<CpuId>,
    /// Those that were meant but are offline.
    pub offline: Vec<CpuId>,
    /// Those that were meant but that the process may not use.
    pub not_allowed: Vec<CpuId>,
}

/// Why a choice has no CPUs, in one sentence that says what the machine has and what is possible.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoCpus(String);

impl CpuChoice {
    /// Parses the words `all`, `P`, `E` and `no-siblings` (in upper or lower case), or a list such as `0-3,8`.
    ///
    /// # Errors
    /// The text is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(match text.trim().to_ascii_lowercase().as_str() {
            "all" => Self::All,
            "p" => Self::Fastest,
            "e" => Self::Slowest,
            "no-siblings" => Self::NoSiblings,
            "" => return Err("expected P, E, no-siblings, all, or a list of CPUs such as 0-3,8".to_owned()),
            list => match cpulist::parse(list) {
                Ok(cpus) => Self::List(cpus),
                Err(BadList::Garbage(part)) => {
                    return Err(format!(
                        "`{part}` is not P, E, no-siblings or all, and not a list of CPUs such as 0-3,8"
                    ));
                }
                Err(why) => return Err(why.to_string()),
            },
        })
    }

    /// Returns the CPUs of this choice that are online and among `allowed`, the CPUs that the process may use (in order of their numbers).
    ///
    /// # Errors
    /// The machine has no such CPUs, does not know them, or none of them is available.
    pub fn of(&self, machine: &Machine, allowed: &[CpuId]) -> Result<Chosen, NoCpus> {
        let is_offline = |id: &CpuId| machine.cpu(*id).is_some_and(|cpu| !cpu.online);
        let is_allowed = |id: &CpuId| allowed.binary_search(id).is_ok();
        let is_available = |id: &CpuId| is_allowed(id) && !is_offline(id);
        let available: Vec<CpuId> = allowed.iter().copied().filter(|id| !is_offline(id)).collect();
        let all = || -> Vec<CpuId> {
            let mut all: Vec<CpuId> = machine.cpus.iter().map(|cpu| cpu.id).chain(allowed.iter().copied()).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let of_class = |class: u32| all().into_iter().filter(|id| machine.core_class(*id) == class).collect();
        let fastest = machine.class_names.len().saturating_sub(1) as u32;
        let meant: Vec<CpuId> = match self {
            Self::All => all(),
            Self::Fastest | Self::Slowest if fastest == 0 => {
                return Err(self.refused("all cores of this machine have one type", &available));
            }
            Self::Fastest => of_class(fastest),
            Self::Slowest => of_class(0),
            Self::NoSiblings => {
                let siblings = |id: CpuId| machine.cpu(id).map_or(&[][..], |cpu| &cpu.siblings);
                if !machine.cpus.iter().any(|cpu| cpu.has(Fact::Siblings)) {
                    return Err(self.refused("which CPUs of this machine share a core is unknown", &available));
                }
                let is_first = |id: &CpuId| !siblings(*id).iter().any(|other| other < id && is_available(other));
                let first: Vec<CpuId> = available.iter().copied().filter(is_first).collect();
                if first.len() == available.len() {
                    return Err(self.refused("no two available CPUs of this machine share a core", &available));
                }
                first
            }
            Self::List(list) => list.clone(),
        };
        let (offline, rest): (Vec<CpuId>, Vec<CpuId>) = meant.into_iter().partition(is_offline);
        let (cpus, not_allowed): (Vec<CpuId>, Vec<CpuId>) = rest.into_iter().partition(is_allowed);
        // What the process may not use is no part of "all".
        let not_allowed = if *self == Self::All { Vec::new() } else { not_allowed };
        let chosen = Chosen { cpus, offline, not_allowed };
        if chosen.cpus.is_empty() {
            let why = chosen.left_out().unwrap_or_else(|| "it names no CPU".to_owned());
            return Err(self.refused(&why, &available));
        }
        Ok(chosen)
    }

    /// The error: why, what the machine has, and what is possible.
    fn refused(&self, why: &str, available: &[CpuId]) -> NoCpus {
        let possible = available.first().map_or_else(String::new, |first| {
            format!(": choose among the available {}, for example --cores {}", named(available), first.0)
        });
        NoCpus(format!("--cores {self}: {why}{possible}"))
    }
}

impl fmt::Display for CpuChoice {
    /// Writes what [`CpuChoice::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Fastest => f.write_str("P"),
            Self::Slowest => f.write_str("E"),
            Self::NoSiblings => f.write_str("no-siblings"),
            Self::List(list) => f.write_str(&cpulist::format(list.iter().copied())),
        }
    }
}

impl Chosen {
    /// Returns which CPUs were left out and why, a sentence without its full stop; `None` if none were.
    #[must_use]
    pub fn left_out(&self) -> Option<String> {
        let is = |cpus: &[CpuId]| if cpus.len() == 1 { "is" } else { "are" };
        let mut parts = Vec::new();
        if !self.offline.is_empty() {
            parts.push(format!("{} {} offline", named(&self.offline), is(&self.offline)));
        }
        if !self.not_allowed.is_empty() {
            let of = &self.not_allowed;
            parts.push(format!(
                "{} {} not available to this process (its affinity, cpuset, or machine)",
                named(of),
                is(of)
            ));
        }
        (!parts.is_empty()).then(|| parts.join(" and "))
    }
}

/// Names CPUs: `CPU 0`, `CPUs 0-3,8`.
#[must_use]
pub fn named(cpus: &[CpuId]) -> String {
    format!("CPU{} {}", if cpus.len() == 1 { "" } else { "s" }, cpulist::format(cpus.iter().copied()))
}
