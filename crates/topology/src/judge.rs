//! Determines the class of each core from sources that may be missing, partial, or contradictory.
//!
//! Each source gives an ordered partition of the CPUs. The first source, in the order of [`Source`], that has at least two classes
//! and covers every online CPU decides. A source in which all CPUs are equal is ignored, because a kernel without information also
//! shows equal numbers (`cpu_capacity` is 1024 everywhere by default). The partitions of the other sources are converted to the
//! numbering of the deciding one, and kept where they differ.
//!
//! ```text
//!   PMU lists     atom atom | core core        decides:  0 0 1 1
//!   cpu_capacity  1024 1024 | 1024 1024        ignored
//!   CPPC            20   38 |   60   63        0 | 1 | 2 2, converted to 0 0 1 1: agrees, with one more class (a note)
//! ```

use crate::cpulist;
use crate::machine::{Claim, Cpu, Judged, Machine, Source};
use model::{CoreType, CpuId};
use std::collections::BTreeSet;

/// The maximum number of classes (machines with 4 are known). A source with more does not describe core types.
const MAX_CLASSES: usize = 8;

/// The hybrid PMU of a CPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Pmu {
    LowPower,
    Atom,
    Core,
}

impl Pmu {
    pub(crate) const ALL: [(&'static str, Self); 3] =
        [("cpu_core", Self::Core), ("cpu_atom", Self::Atom), ("cpu_lowpower", Self::LowPower)];

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, pmu)| *pmu)
    }
}

/// The PMUs of Apple's cores (`drivers/perf/apple_m1_cpu_pmu.c`).
const APPLE: [(&str, CoreType); 4] = [
    ("apple_firestorm_pmu", CoreType::Performance),
    ("apple_avalanche_pmu", CoreType::Performance),
    ("apple_icestorm_pmu", CoreType::Efficient),
    ("apple_blizzard_pmu", CoreType::Efficient),
];

/// Returns the type of the cores of a hybrid PMU, by its name.
///
/// ```
/// use model::CoreType;
/// use topology::core_type_of_pmu;
///
/// assert_eq!(core_type_of_pmu("cpu_atom"), Some(CoreType::Efficient));
/// assert_eq!(core_type_of_pmu("apple_avalanche_pmu"), Some(CoreType::Performance));
/// assert_eq!(core_type_of_pmu("cpu"), None);
/// ```
#[must_use]
pub fn core_type_of_pmu(name: &str) -> Option<CoreType> {
    let of_apple = || APPLE.iter().find(|(of, _)| *of == name).map(|(_, core)| *core);
    let of_intel = |pmu| match pmu {
        Pmu::Core => CoreType::Performance,
        Pmu::Atom => CoreType::Efficient,
        Pmu::LowPower => CoreType::LowPower,
    };
    Pmu::from_name(name).map(of_intel).or_else(of_apple)
}

/// One source's partition: for each CPU, by index, its class (0 = slowest) if known.
struct Partition {
    source: Source,
    class: Vec<Option<u32>>,
    classes: u32,
    /// Whether the slowest class is a low-power class.
    low_power: bool,
}

impl Partition {
    fn covers_online(&self, cpus: &[Cpu]) -> bool {
        cpus.iter().zip(&self.class).all(|(cpu, class)| !cpu.online || class.is_some())
    }

    fn of_class<'a>(&'a self, cpus: &'a [Cpu], class: u32) -> impl Iterator<Item = CpuId> + 'a {
        cpus.iter().zip(&self.class).filter(move |(_, c)| **c == Some(class)).map(|(cpu, _)| cpu.id)
    }
}

/// The classes of a source that lists kinds of core instead of a number per CPU.
pub(crate) struct Ranked {
    /// Whether the source has the kinds from the vendor. If it derived them from numbers, those numbers take precedence.
    pub(crate) from_vendor: bool,
    pub(crate) source: Source,
    /// The class by CPU index; 0 = slowest.
    pub(crate) rank: Vec<Option<u32>>,
    pub(crate) classes: u32,
    /// Whether the slowest class is a low-power class.
    pub(crate) low_power: bool,
}

impl Machine {
    /// Sets `class`, `class_names` and the notes about them from the facts of `cpus`. `pmu` is by CPU index, or empty.
    #[must_use]
    pub(crate) fn judged(self, pmu: &[Option<Pmu>]) -> Self {
        let ranked = by_pmu(&self.cpus, pmu);
        self.judged_by(ranked)
    }

    /// Like [`Self::judged`], with the ranks of a source.
    #[must_use]
    pub(crate) fn judged_by(mut self, ranked: Option<Ranked>) -> Self {
        let mut found: Vec<Partition> = Vec::new();
        let mut derived = None;
        match ranked {
            Some(ranked) if ranked.classes as usize > MAX_CLASSES => {
                let (source, classes) = (ranked.source.as_str(), ranked.classes);
                self.notes.push(format!("{source} has {classes} kinds of core: too many to be core types, ignored"));
            }
            Some(Ranked { source, rank, classes, low_power, from_vendor }) => {
                let partition = Partition { source, class: rank, classes, low_power };
                if from_vendor { found.push(partition) } else { derived = Some(partition) }
            }
            None => {}
        }
        let x86 =
            self.arch.as_deref().is_some_and(|a| a.starts_with("x86") || (a.starts_with('i') && a.ends_with("86")));
        for (source, value) in NUMBERS {
            // On x86 the kernel derives cpu_capacity from CPPC, so it also shows favoured turbo cores.
            let direct = source == Source::CpuCapacity && !x86;
            let values: Vec<Option<u32>> = self.cpus.iter().map(value).collect();
            found.extend(by_numbers(source, &self.cpus, &values, direct, &mut self.notes));
        }
        found.extend(derived);
        let decides = found.iter().position(|p| p.covers_online(&self.cpus)).or((!found.is_empty()).then_some(0));
        let Some(decides) = decides else {
            let none = Judged { best: Claim { value: 0, source: Source::Assumed }, against: Vec::new() };
            self.class = vec![none; self.cpus.len()];
            self.class_names = vec![CoreType::Uniform];
            return self;
        };
        let best = found.remove(decides);
        if !best.covers_online(&self.cpus) {
            self.notes.push(format!(
                "the core types are from {}, which does not cover all online CPUs",
                best.source.as_str()
            ));
        }
        if best.source == Source::MaxFrequency {
            self.notes.push("the core types are inferred from the maximum frequency only".to_owned());
        }
        let others: Vec<(Source, Vec<Option<u32>>)> = found
            .iter()
            .map(|other| {
                note_finer(&self.cpus, &best, other, &mut self.notes);
                (other.source, in_numbering_of(&best, other))
            })
            .collect();
        let mut without_type = Vec::new();
        self.class = (0..self.cpus.len())
            .map(|i| {
                let claims = others.iter().filter_map(|(source, class)| {
                    Some(Claim { value: class.get(i).copied().flatten()?, source: *source })
                });
                let own = best.class.get(i).copied().flatten().map(|value| Claim { value, source: best.source });
                let mut all = own.into_iter().chain(claims);
                let first = all.next().unwrap_or_else(|| {
                    without_type.extend(self.cpus.get(i).map(|c| c.id));
                    Claim { value: 0, source: Source::Assumed }
                });
                let against = all.filter(|c| c.value != first.value).collect();
                Judged { best: first, against }
            })
            .collect();
        if !without_type.is_empty() {
            self.unknown.push(format!(
                "core type of CPU {}: not recorded, assumed to be the slowest",
                cpulist::format(without_type)
            ));
        }
        self.class_names = names(best.classes, best.low_power);
        self
    }
}

/// Returns the names of `classes` classes, slowest first.
pub(crate) fn names(classes: u32, low_power: bool) -> Vec<CoreType> {
    if classes <= 1 {
        return vec![CoreType::Uniform];
    }
    let slowest = u32::from(low_power);
    let name = |class| match class {
        0 if low_power => CoreType::LowPower,
        c if c + 1 == classes => CoreType::Performance,
        c if c == slowest => CoreType::Efficient,
        _ => CoreType::Middle,
    };
    (0..classes).map(name).collect()
}

fn by_pmu(cpus: &[Cpu], pmu: &[Option<Pmu>]) -> Option<Ranked> {
    let kinds: Vec<Pmu> = pmu.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let rank = |p: Pmu| kinds.iter().position(|k| *k == p).and_then(|r| u32::try_from(r).ok());
    let rank = (0..cpus.len()).map(|i| rank(pmu.get(i).copied().flatten()?)).collect();
    let classes = u32::try_from(kinds.len()).ok().filter(|n| *n > 1)?;
    Some(Ranked {
        from_vendor: true,
        source: Source::PmuCpuList,
        rank,
        classes,
        low_power: kinds.contains(&Pmu::LowPower),
    })
}

type Value = fn(&Cpu) -> Option<u32>;
const NUMBERS: [(Source, Value); 3] = [
    (Source::CpuCapacity, |c| c.capacity),
    (Source::CppcHighestPerf, |c| c.highest_perf),
    (Source::MaxFrequency, |c| c.max_khz),
];

/// Returns whether two capacities differ by more than 5 %, the margin at which the kernel treats one as greater.
pub(crate) fn differs(low: u32, high: u32) -> bool {
    u64::from(high) * 100 > u64::from(low) * 105
}

/// Returns whether two values differ by more than favoured turbo cores can explain. The best cores of one type are up to 14 % above
/// the others (Turbo Boost Max 3.0: 4.0 GHz and 3.5 GHz), while the core types of hybrid machines may differ by only 10 % (Arrow Lake:
/// 4.9 GHz and 4.4 GHz). Between 5 % and this limit, the shape of the cores decides.
fn differs_widely(low: u32, high: u32) -> bool {
    u64::from(high) * 100 > u64::from(low) * 125
}

/// Returns the properties, other than speed, that distinguish core types: number of threads, number of CPUs that share the L2, and
/// the vendor's name.
fn shape(cpu: &Cpu) -> Option<(usize, usize, Option<&str>)> {
    let known = !cpu.siblings.is_empty() || cpu.vendor_type.is_some();
    known.then_some((cpu.siblings.len(), cpu.l2.len(), cpu.vendor_type.as_deref()))
}

fn by_numbers(
    source: Source,
    cpus: &[Cpu],
    values: &[Option<u32>],
    direct: bool,
    notes: &mut Vec<String>,
) -> Option<Partition> {
    let distinct: BTreeSet<u32> = values.iter().flatten().copied().filter(|v| *v > 0).collect();
    let distinct: Vec<u32> = distinct.into_iter().collect();
    // Split the values where neighbours differ. The steps within a group are small, but the group may be wide: AMD ranks its
    // preferred cores in steps of a few per cent.
    let mut groups: Vec<&[u32]> = distinct.chunk_by(|a, b| !differs(*a, *b)).collect();
    if groups.len() > MAX_CLASSES {
        notes.push(format!("{} has {} levels: too many to be core types, ignored", source.as_str(), groups.len()));
        return None;
    }
    let members = |group: &[u32]| {
        let (low, high) = (group.first().copied().unwrap_or(0), group.last().copied().unwrap_or(0));
        cpus.iter().zip(values).filter(move |(_, v)| v.is_some_and(|v| v >= low && v <= high)).map(|(cpu, _)| cpu)
    };
    // The highest value of each class.
    let mut tops: Vec<u32> = Vec::new();
    while let Some(group) = groups.first().copied() {
        groups.remove(0);
        let top = group.last().copied()?;
        if let Some(above) = groups.first()
            && !direct
            && above.first().is_some_and(|next| !differs_widely(top, *next))
        {
            let ours: BTreeSet<_> = members(group).map(shape).collect();
            let theirs: BTreeSet<_> = members(above).map(shape).collect();
            let different = !ours.contains(&None) && !theirs.contains(&None) && ours.is_disjoint(&theirs);
            if !different {
                notes.push(format!(
                    "{}: CPU {} ({}) higher than {} ({}) but otherwise equal: treated as favoured cores, not as a core type",
                    source.as_str(),
                    cpulist::format(members(above).map(|c| c.id)),
                    range(above),
                    cpulist::format(members(group).map(|c| c.id)),
                    range(group),
                ));
                continue;
            }
        }
        tops.push(top);
    }
    let classes = u32::try_from(tops.len()).ok().filter(|n| *n > 1)?;
    let class_of = |v: u32| u32::try_from(tops.partition_point(|top| *top < v)).ok();
    let class = values.iter().map(|v| v.filter(|v| *v > 0).and_then(class_of)).collect();
    Some(Partition { source, class, classes, low_power: false })
}

fn range(values: &[u32]) -> String {
    match values {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    }
}

/// Converts another source's classes to the numbering of the deciding one. With the same number of classes, the numbers are kept, so
/// that a source with reversed order contradicts. Otherwise the order-preserving assignment that agrees on most CPUs is used, so that
/// a source with one class more or less does not contradict.
fn in_numbering_of(best: &Partition, other: &Partition) -> Vec<Option<u32>> {
    if best.classes == other.classes {
        return other.class.clone();
    }
    let (rows, columns) = (other.classes as usize, best.classes as usize);
    let mut agree = vec![vec![0_usize; columns]; rows];
    for (theirs, ours) in other.class.iter().zip(&best.class) {
        if let (Some(theirs), Some(ours)) = (theirs, ours)
            && let Some(n) = agree.get_mut(*theirs as usize).and_then(|row| row.get_mut(*ours as usize))
        {
            *n += 1;
        }
    }
    // For each column, the best assignment of the rows so far that ends in it.
    let mut ways: Vec<(usize, Vec<u32>)> = vec![(0, Vec::new()); columns];
    for row in &agree {
        let mut upto: Option<(usize, Vec<u32>)> = None;
        let mut next = Vec::with_capacity(columns);
        for (column, (way, n)) in (0_u32..).zip(ways.into_iter().zip(row)) {
            let better = upto.take().filter(|u| u.0 >= way.0).unwrap_or(way);
            let mut path = better.1.clone();
            path.push(column);
            next.push((better.0 + n, path));
            upto = Some(better);
        }
        ways = next;
    }
    let map = ways.into_iter().rev().max_by_key(|(agreed, _)| *agreed).map(|(_, path)| path).unwrap_or_default();
    other.class.iter().map(|c| c.and_then(|c| map.get(c as usize).copied())).collect()
}

/// Adds a note if another source splits one class of the deciding source.
fn note_finer(cpus: &[Cpu], best: &Partition, other: &Partition, notes: &mut Vec<String>) {
    for class in 0..best.classes {
        let inside = |c: u32| {
            let of: Vec<CpuId> = cpus
                .iter()
                .zip(best.class.iter().zip(&other.class))
                .filter(|(_, (ours, theirs))| **ours == Some(class) && **theirs == Some(c))
                .map(|(cpu, _)| cpu.id)
                .collect();
            (!of.is_empty()).then(|| cpulist::format(of))
        };
        let parts: Vec<String> = (0..other.classes).filter_map(inside).collect();
        // Only if the other's classes are within this one; otherwise it contradicts, which `against` records.
        let inner = (0..other.classes).filter(|c| {
            let mut of = other.of_class(cpus, *c).peekable();
            let ours: BTreeSet<CpuId> = best.of_class(cpus, class).collect();
            of.peek().is_some() && of.all(|id| ours.contains(&id))
        });
        if parts.len() > 1 && inner.count() == parts.len() {
            let name = names(best.classes, best.low_power).get(class as usize).map_or("", |n| n.as_str());
            notes.push(format!(
                "{} splits {name} into {} kinds, slowest first: {}",
                other.source.as_str(),
                parts.len(),
                parts.join(" | ")
            ));
        }
    }
}
