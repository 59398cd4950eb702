//! `--cores`: the CPUs to which a command is bound.

use crate::args::Global;
use crate::failure::Failure;
use crate::output::say;
use engine::{Chosen, CpuChoice};
use model::CpuId;
use std::io::{Error, ErrorKind};

/// The largest mask that is passed to the kernel, in words of 64 CPUs: Linux cannot be built for more CPUs.
const MAX_WORDS: usize = 128;

/// The machine of a choice: its description, and the CPUs that this process may use.
pub struct Available {
    machine: engine::Machine,
    /// In order of their numbers.
    pub cpus: Vec<CpuId>,
}

impl Available {
    /// Reads this machine, with the facts of `--machine`.
    ///
    /// # Errors
    /// The machine file or the affinity of this process cannot be read.
    pub fn read(global: &Global) -> Result<Self, Failure> {
        let live = engine::live();
        let machine = match global.machine()? {
            // Which CPUs are online is a fact of this machine, not of the description.
            Some(described) => {
                let mut merged = live.clone().overlay(described);
                for cpu in &mut merged.cpus {
                    cpu.online = live.cpu(cpu.id).is_none_or(|cpu| cpu.online);
                }
                merged
            }
            None => live,
        };
        let cpus = allowed()
            .map_err(|why| Failure::new(format!("--cores: cannot read the CPU affinity of this process: {why}")))?;
        Ok(Self { machine, cpus })
    }

    /// Returns the CPUs of a choice. CPUs that are left out are said.
    ///
    /// # Errors
    /// The machine has none, or none is available.
    pub fn choose(&self, choice: &CpuChoice) -> Result<Chosen, Failure> {
        let chosen = choice.of(&self.machine, &self.cpus).map_err(|why| Failure::usage(why.to_string()))?;
        if let Some(left_out) = chosen.left_out() {
            let cpus = engine::named_cpus(&chosen.cpus);
            say(&format!("note: --cores {choice} is {cpus} here: {left_out}"));
        }
        Ok(chosen)
    }
}

/// Returns the CPUs on which this process may run, in order of their numbers. The kernel leaves out what its cpuset excludes.
fn allowed() -> std::io::Result<Vec<CpuId>> {
    // An own mask, since `cpu_set_t` ends at 1024 CPUs.
    let mut mask = [0u64; MAX_WORDS];
    // SAFETY: the kernel writes at most as many bytes as the mask has.
    let bytes =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, std::mem::size_of_val(&mask), mask.as_mut_ptr()) };
    if bytes < 0 {
        return Err(Error::last_os_error());
    }
    let bits = u64::BITS;
    let is_set = |cpu: &u32| mask[(*cpu / bits) as usize] >> (*cpu % bits) & 1 == 1;
    let cpus: Vec<CpuId> = (0..MAX_WORDS as u32 * bits).filter(is_set).map(CpuId).collect();
    if cpus.is_empty() { Err(ErrorKind::NotFound.into()) } else { Ok(cpus) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_may_use_the_cpus_that_the_kernel_lists() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        let CpuChoice::List(listed) = CpuChoice::parse(list).unwrap() else { panic!("{list} is a list") };
        assert_eq!(allowed().unwrap(), listed);
    }
}
