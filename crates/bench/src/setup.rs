//! Where is measured: the CPUs and their pairs, and what stands in the way of measuring.

use crate::thread;
use model::{CoreType, CpuId};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use topology::{Machine, PairClass};

/// The most pairs of a class that are measured.
pub const PAIRS_OF_CLASS: usize = 8;

/// What is measured, and how closely.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The machine.
    pub machine: Machine,
    /// The CPUs that are online and allowed, and chosen by the user.
    pub cpus: Vec<CpuId>,
    /// Fewer values of each parameter, for a first look.
    pub quick: bool,
    /// A time that is added to measured steps on purpose, ns: each figure of one series gets a second one, which must be this much longer.
    pub added_ns: Option<f64>,
    /// The seed of the random order.
    pub seed: u64,
}

/// Why nothing can be measured: a sentence with what would help.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unmeasurable(pub String);

/// Two CPUs to measure, from and to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// How they lie to each other.
    pub class: PairClass,
    /// The first CPU, or where something moves from.
    pub from: CpuId,
    /// The second CPU, or where something moves to.
    pub to: CpuId,
}

impl Pair {
    /// Both CPUs.
    #[must_use]
    pub fn cpus(&self) -> [CpuId; 2] {
        [self.from, self.to]
    }
}

impl Setup {
    /// Returns the setup of this machine: all CPUs that are online and allowed, or those of `chosen`.
    ///
    /// # Errors
    /// A chosen CPU is offline, not allowed or does not exist; or only one CPU is left.
    pub fn of(machine: Machine, chosen: Option<&[CpuId]>, quick: bool, seed: u64) -> Result<Self, Unmeasurable> {
        let allowed = thread::allowed().map_err(|why| Unmeasurable(format!("cannot read the allowed CPUs: {why}")))?;
        let is_online = |cpu: &CpuId| machine.cpu(*cpu).is_some_and(|of| of.online);
        for cpu in chosen.unwrap_or_default() {
            let number = cpu.0;
            let what = match machine.cpu(*cpu) {
                None => format!("there is no CPU {number}; this machine has {}", list(&machine)),
                Some(of) if !of.online => {
                    format!(
                        "CPU {number} is offline: leave it out, or enable it with `echo 1 > /sys/devices/system/cpu/cpu{number}/online`"
                    )
                }
                Some(_) if !allowed.contains(cpu) => {
                    format!(
                        "CPU {number} is not allowed for this process (taskset or cpuset): leave it out, or start corewise without the limit"
                    )
                }
                Some(_) => continue,
            };
            return Err(Unmeasurable(what));
        }
        let all: Vec<CpuId> = allowed.into_iter().filter(is_online).collect();
        let cpus = match chosen {
            Some(chosen) => all.into_iter().filter(|cpu| chosen.contains(cpu)).collect(),
            None => all,
        };
        if cpus.is_empty() {
            return Err(Unmeasurable("no CPU is both online and allowed".to_owned()));
        }
        Ok(Self { machine, cpus, quick, added_ns: None, seed })
    }

    /// Returns the type of a CPU's core.
    #[must_use]
    pub fn core_type(&self, cpu: CpuId) -> CoreType {
        self.machine.core_type(cpu)
    }

    /// Returns the measured CPUs of each class of cores, slowest first.
    #[must_use]
    pub fn by_class(&self) -> Vec<(CoreType, Vec<CpuId>)> {
        let mut classes: BTreeMap<u32, Vec<CpuId>> = BTreeMap::new();
        for cpu in &self.cpus {
            classes.entry(self.machine.core_class(*cpu)).or_default().push(*cpu);
        }
        classes.into_values().filter_map(|cpus| Some((self.core_type(*cpus.first()?), cpus))).collect()
    }

    /// Returns one CPU of each core, the one with the lowest number.
    #[must_use]
    pub fn cores(&self) -> Vec<CpuId> {
        let mut cores: Vec<CpuId> = Vec::new();
        for cpu in &self.cpus {
            let siblings = self.machine.cpu(*cpu).map(|of| of.siblings.as_slice()).unwrap_or_default();
            if !cores.iter().any(|core| siblings.contains(core)) {
                cores.push(*cpu);
            }
        }
        cores
    }

    /// Returns pairs of each class, at most 8 a class, spread over the machine; of one CPU with itself, one of each core type.
    /// Pairs of different core types are there in both directions.
    #[must_use]
    pub fn pairs(&self) -> Vec<Pair> {
        let mut classes: BTreeMap<PairClass, Vec<Pair>> = BTreeMap::new();
        for (_, cpus) in self.by_class() {
            let pair = cpus.first().map(|cpu| Pair { class: PairClass::SameCpu, from: *cpu, to: *cpu });
            classes.entry(PairClass::SameCpu).or_default().extend(pair);
        }
        for from in &self.cpus {
            for to in self.cpus.iter().filter(|to| *to != from) {
                let class = self.machine.pair_class(*from, *to);
                if from < to || class == PairClass::OtherType {
                    classes.entry(class).or_default().push(Pair { class, from: *from, to: *to });
                }
            }
        }
        let most = if self.quick { 2 } else { PAIRS_OF_CLASS };
        classes.into_values().flat_map(|pairs| spread(pairs, most)).collect()
    }

    /// Returns which classes of pairs this machine does not have, as one sentence; `None` if it has all that are worth naming.
    #[must_use]
    pub fn missing_pairs(&self) -> Option<String> {
        let pairs = self.pairs();
        let named = [PairClass::Sibling, PairClass::OtherType];
        let missing: Vec<&str> = named
            .into_iter()
            .filter(|class| !pairs.iter().any(|pair| pair.class == *class))
            .map(PairClass::words)
            .collect();
        (!missing.is_empty())
            .then(|| format!("left out: no pair of CPUs here is of the class {}", missing.join(" or ")))
    }
}

/// At most `most` of them, evenly spaced.
fn spread(pairs: Vec<Pair>, most: usize) -> Vec<Pair> {
    let len = pairs.len();
    if len <= most {
        return pairs;
    }
    (0..most).filter_map(|i| pairs.get(i * (len - 1) / (most - 1).max(1)).copied()).collect()
}

fn list(machine: &Machine) -> String {
    let ids = machine.cpus.iter().map(|cpu| cpu.id);
    format!("CPUs {}", topology::cpulist::format(ids))
}

/// Returns the CPU quota that limits this process: the smallest of its cgroup and those above, as CPUs; and the cgroup's path.
#[must_use]
pub fn quota() -> Option<(f64, PathBuf)> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut found: Option<(f64, PathBuf)> = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        let root = match controllers {
            "" => Path::new("/sys/fs/cgroup"),
            of if of.split(',').any(|of| of == "cpu") => Path::new("/sys/fs/cgroup/cpu"),
            _ => continue,
        };
        let mut dir = root.join(path);
        while dir.starts_with(root) {
            let number = |name: &str| fs::read_to_string(dir.join(name)).ok()?.trim().parse::<f64>().ok();
            let of_v1 =
                || Some(number("cpu.cfs_quota_us").filter(|quota| *quota > 0.0)? / number("cpu.cfs_period_us")?);
            let cpus = fs::read_to_string(dir.join("cpu.max")).ok().and_then(|text| of_v2(&text)).or_else(of_v1);
            if let Some(cpus) = cpus
                && found.as_ref().is_none_or(|(least, _)| cpus < *least)
            {
                found = Some((cpus, dir.clone()));
            }
            if !dir.pop() {
                break;
            }
        }
    }
    found
}

/// `cpu.max`: the quota and the period, µs; `max` is no quota.
fn of_v2(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

/// CPU time by CPU, in ticks: all of it, of it not idle, and of it taken by the hypervisor.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Ticks(BTreeMap<CpuId, [u64; 3]>);

impl Ticks {
    /// Reads `/proc/stat`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read() -> io::Result<Self> {
        Ok(Self::of(&fs::read_to_string("/proc/stat")?))
    }

    fn of(text: &str) -> Self {
        let lines = text.lines().take_while(|line| line.starts_with("cpu"));
        Self(
            lines
                .filter_map(|line| {
                    let mut fields = line.strip_prefix("cpu")?.split_whitespace();
                    let cpu = CpuId(fields.next()?.parse().ok()?);
                    // user, nice, system, idle, iowait, irq, softirq, steal; guest times are part of user and nice (proc_stat(5)).
                    let times: Vec<u64> = fields.take(8).filter_map(|field| field.parse().ok()).collect();
                    let (all, idle) = (times.iter().sum(), times.get(3)? + times.get(4)?);
                    Some((cpu, [all, all - idle, times.get(7).copied().unwrap_or(0)]))
                })
                .collect(),
        )
    }

    /// Returns how many ticks the hypervisor took from these CPUs since `before`.
    #[must_use]
    pub fn stolen_since(&self, before: &Self, cpus: &[CpuId]) -> u64 {
        self.since(before, cpus)[2]
    }

    /// Returns the share of the time of these CPUs that was not idle since `before`; `None` if no tick passed.
    #[must_use]
    pub fn busy_since(&self, before: &Self, cpus: &[CpuId]) -> Option<f64> {
        let [all, busy, _] = self.since(before, cpus);
        (all > 0).then(|| busy as f64 / all as f64)
    }

    /// Returns the shares of the time of these CPUs since `before` that were not idle, and that the hypervisor took (part of the first);
    /// `None` if no tick passed.
    #[must_use]
    pub fn shares_since(&self, before: &Self, cpus: &[CpuId]) -> Option<[f64; 2]> {
        let [all, busy, stolen] = self.since(before, cpus);
        (all > 0).then(|| [busy, stolen].map(|ticks| ticks as f64 / all as f64))
    }

    fn since(&self, before: &Self, cpus: &[CpuId]) -> [u64; 3] {
        let mut sum = [0_u64; 3];
        for cpu in cpus {
            if let (Some(now), Some(then)) = (self.0.get(cpu), before.0.get(cpu)) {
                for (sum, (now, then)) in sum.iter_mut().zip(now.iter().zip(then)) {
                    *sum += now.saturating_sub(*then);
                }
            }
        }
        sum
    }
}

/// Setups of drawn machines, for the tests of plans.
#[cfg(test)]
pub(crate) mod drawn {
    use super::{Machine, Setup};

    /// Returns the setup of all CPUs of a machine file.
    pub(crate) fn setup(text: &str, quick: bool) -> Setup {
        let machine = Machine::from_user(text).unwrap();
        let cpus = machine.cpus.iter().map(|cpu| cpu.id).collect();
        Setup { machine, cpus, quick, added_ns: None, seed: 1 }
    }

    /// Four performance cores with two threads each, and a cluster of four efficient cores.
    pub(crate) const HYBRID: &str = r#"
        [[cpus]]
        ids = "0-7"
        type = "performance"
        siblings = ["0-1", "2-3", "4-5", "6-7"]
        l3 = ["0-7"]
        package = 0

        [[cpus]]
        ids = "8-11"
        type = "efficient"
        l2 = ["8-11"]
        package = 0
    "#;
}

#[cfg(test)]
mod tests {
    use super::drawn::setup;
    use super::*;

    const HYBRID: &str = r#"
        [[cpus]]
        ids = "0-15"
        type = "performance"
        siblings = ["0-1", "2-3", "4-5", "6-7", "8-9", "10-11", "12-13", "14-15"]
        l3 = ["0-15"]
        package = 0

        [[cpus]]
        ids = "16-19"
        type = "efficient"
        l2 = ["16-19"]
        package = 0
    "#;

    #[test]
    fn each_class_has_pairs_but_not_too_many() {
        let setup = setup(HYBRID, false);
        let pairs = setup.pairs();
        let count = |class| pairs.iter().filter(|pair| pair.class == class).count();
        assert_eq!(count(PairClass::SameCpu), 2, "one of each type");
        assert_eq!(count(PairClass::Sibling), 8);
        assert_eq!(count(PairClass::SameL3), 8, "of 112");
        assert_eq!(count(PairClass::SameCluster), 6);
        let across: Vec<bool> = pairs
            .iter()
            .filter(|pair| pair.class == PairClass::OtherType)
            .map(|pair| pair.from.0 < pair.to.0)
            .collect();
        assert!(across.len() == 8 && across.contains(&true) && across.contains(&false), "both directions: {across:?}");
        assert_eq!(setup.cores().len(), 12);
        assert_eq!(setup.missing_pairs(), None);
    }

    #[test]
    fn what_a_machine_does_not_have_is_said() {
        let missing = setup("[[cpus]]\nids = \"0-1\"\n", false).missing_pairs().unwrap();
        assert!(missing.contains("sibling or other core type"), "{missing}");
    }

    #[test]
    fn cpus_that_cannot_be_used_are_refused_with_what_would_help() {
        let machine =
            || Machine::from_user("[[cpus]]\nids = \"0\"\n\n[[cpus]]\nids = \"1\"\nonline = false\n").unwrap();
        let why = |chosen: &[CpuId]| Setup::of(machine(), Some(chosen), true, 1).unwrap_err().0;
        assert!(why(&[CpuId(1)]).contains("offline"));
        assert!(why(&[CpuId(9)]).contains("no CPU 9"));
    }

    #[test]
    fn quotas_and_ticks_are_read_as_the_kernel_writes_them() {
        assert_eq!(of_v2("42000 100000\n"), Some(0.42));
        assert_eq!(of_v2("max 100000\n"), None);
        let ticks = |text| Ticks::of(text);
        let before = ticks("cpu  9 9 9 9\ncpu0 10 0 10 70 10 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\nintr 5\n");
        let after = ticks("cpu  9 9 9 9\ncpu0 20 0 10 140 10 0 10 10 5 0\ncpu1 1 0 0 0 0 0 0 0 0 0\nintr 5\n");
        assert_eq!(after.stolen_since(&before, &[CpuId(0)]), 10);
        assert_eq!(after.busy_since(&before, &[CpuId(0)]), Some(0.3));
        assert_eq!(after.busy_since(&before, &[CpuId(7)]), None);
    }
}
