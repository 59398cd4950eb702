//! Which class each core is of, from sources that may be absent, partial, or at odds.
//!
//! Each source is asked by itself for an ordered partition of the CPUs. The first in the order of [`Source`] that tells at
//! least two classes apart for every online CPU decides; a source that finds all CPUs equal is silent, because equal
//! numbers are also what a kernel shows that knows nothing (`cpu_capacity` is 1024 everywhere by default). The other
//! sources' partitions are put into the numbering of the one that decided and kept where they differ.
//!
//! ```text
//!   PMU lists     atom atom | core core        decides:  0 0 1 1
//!   cpu_capacity  1024 1024 | 1024 1024        silent
//!   CPPC            20   38 |   60   63        0 | 1 | 2 2, put into 0 0 1 1: agrees, and sees one border more (a note)
//! ```

use crate::cpulist;
use crate::machine::{Claim, Cpu, Judged, Machine, Source};
use model::{CoreType, CpuId};
use std::collections::BTreeSet;

/// More classes than any machine has (4 are known): a source that sees more is not telling types apart.
const MAX_CLASSES: usize = 8;

/// What the hybrid PMUs say of a CPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Pmu {
    LowPower,
    Atom,
    Core,
}

impl Pmu {
    pub(crate) const ALL: [(&'static str, Self); 3] =
        [("cpu_core", Self::Core), ("cpu_atom", Self::Atom), ("cpu_lowpower", Self::LowPower)];

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, pmu)| *pmu)
    }
}

/// One source's partition: for each CPU, by place, its class (0 = slowest) or silence.
struct Partition {
    source: Source,
    class: Vec<Option<u32>>,
    classes: u32,
    /// The class that the source calls low power; always the slowest where there is one.
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

/// Classes by a source that tells kinds of core, and not numbers of each.
pub(crate) struct Ranked {
    /// Whether it knows the kinds, or itself concluded them from numbers: then it is heard behind these.
    pub(crate) known: bool,
    pub(crate) source: Source,
    /// By place; 0 = slowest.
    pub(crate) rank: Vec<Option<u32>>,
    pub(crate) classes: u32,
    /// Whether the slowest class is a low-power one.
    pub(crate) low_power: bool,
}

impl Machine {
    /// Fills `class`, `class_names` and the notes about them from the facts of `cpus`; `pmu` is by place, or empty.
    #[must_use]
    pub(crate) fn judged(self, pmu: &[Option<Pmu>]) -> Self {
        let ranked = by_pmu(&self.cpus, pmu);
        self.judged_by(ranked)
    }

    /// The same, with the ranks that a source tells.
    #[must_use]
    pub(crate) fn judged_by(mut self, ranked: Option<Ranked>) -> Self {
        let mut found: Vec<Partition> = Vec::new();
        let mut concluded = None;
        match ranked {
            Some(told) if told.classes as usize > MAX_CLASSES => {
                let (source, classes) = (told.source.as_str(), told.classes);
                self.notes.push(format!("{source} tells {classes} kinds: too many to be core types, set aside"));
            }
            Some(Ranked { source, rank, classes, low_power, known }) => {
                let told = Partition { source, class: rank, classes, low_power };
                if known { found.push(told) } else { concluded = Some(told) }
            }
            None => {}
        }
        let x86 =
            self.arch.as_deref().is_some_and(|a| a.starts_with("x86") || (a.starts_with('i') && a.ends_with("86")));
        for (source, value) in NUMBERS {
            // On x86 the kernel derives cpu_capacity from CPPC, so that it shows favoured turbo cores as CPPC does.
            let direct = source == Source::CpuCapacity && !x86;
            let values: Vec<Option<u32>> = self.cpus.iter().map(value).collect();
            found.extend(by_numbers(source, &self.cpus, &values, direct, &mut self.notes));
        }
        found.extend(concluded);
        let decides = found.iter().position(|p| p.covers_online(&self.cpus)).or((!found.is_empty()).then_some(0));
        let Some(decides) = decides else {
            let none = Judged { best: Claim { value: 0, source: Source::Assumed }, against: Vec::new() };
            self.class = vec![none; self.cpus.len()];
            self.class_names = vec![CoreType::Uniform];
            return self;
        };
        let best = found.remove(decides);
        if !best.covers_online(&self.cpus) {
            self.notes
                .push(format!("{} decides the core types although it is silent on some CPUs", best.source.as_str()));
        }
        if best.source == Source::MaxFrequency {
            self.notes.push("only the maximum frequency tells core types apart: evidence, not proof".to_owned());
        }
        let others: Vec<(Source, Vec<Option<u32>>)> = found
            .iter()
            .map(|other| {
                note_finer(&self.cpus, &best, other, &mut self.notes);
                (other.source, in_numbering_of(&best, other))
            })
            .collect();
        let mut silent = Vec::new();
        self.class = (0..self.cpus.len())
            .map(|i| {
                let claims = others.iter().filter_map(|(source, class)| {
                    Some(Claim { value: class.get(i).copied().flatten()?, source: *source })
                });
                let own = best.class.get(i).copied().flatten().map(|value| Claim { value, source: best.source });
                let mut all = own.into_iter().chain(claims);
                let first = all.next().unwrap_or_else(|| {
                    silent.extend(self.cpus.get(i).map(|c| c.id));
                    Claim { value: 0, source: Source::Assumed }
                });
                let against = all.filter(|c| c.value != first.value).collect();
                Judged { best: first, against }
            })
            .collect();
        if !silent.is_empty() {
            self.unknown
                .push(format!("core type of CPU {}: no source tells, taken as the slowest", cpulist::format(silent)));
        }
        self.class_names = names(best.classes, best.low_power);
        self
    }
}

/// Names of `classes` classes, slowest first.
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
    Some(Ranked { known: true, source: Source::PmuCpuList, rank, classes, low_power: kinds.contains(&Pmu::LowPower) })
}

type Value = fn(&Cpu) -> Option<u32>;
const NUMBERS: [(Source, Value); 3] = [
    (Source::CpuCapacity, |c| c.capacity),
    (Source::CppcHighestPerf, |c| c.highest_perf),
    (Source::MaxFrequency, |c| c.max_khz),
];

/// The share by which the kernel itself calls one capacity greater than another.
fn differs(low: u32, high: u32) -> bool {
    u64::from(high) * 100 > u64::from(low) * 105
}

/// Beyond the reach of favoured turbo cores. The best cores of one type were sold up to 14 % above its others (Turbo Boost
/// Max 3.0: 4.0 against 3.5 GHz), while the types of hybrid machines lie as near as 10 % (Arrow Lake: 4.9 against 4.4 GHz):
/// between 5 % and this, only the shape of the cores tells which it is.
fn differs_widely(low: u32, high: u32) -> bool {
    u64::from(high) * 100 > u64::from(low) * 125
}

/// What tells two types of core apart beside their speed: threads, CPUs that share an L2, and the vendor's word.
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
    // Groups of values with a border between them; the steps within a group are small, however wide the group is:
    // AMD ranks its preferred cores in steps of some per cent each.
    let mut groups: Vec<&[u32]> = distinct.chunk_by(|a, b| !differs(*a, *b)).collect();
    if groups.len() > MAX_CLASSES {
        notes.push(format!("{} shows {} levels: too many to be core types, set aside", source.as_str(), groups.len()));
        return None;
    }
    let members = |group: &[u32]| {
        let (low, high) = (group.first().copied().unwrap_or(0), group.last().copied().unwrap_or(0));
        cpus.iter().zip(values).filter(move |(_, v)| v.is_some_and(|v| v >= low && v <= high)).map(|(cpu, _)| cpu)
    };
    // The top of each class.
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
            let unlike = !ours.contains(&None) && !theirs.contains(&None) && ours.is_disjoint(&theirs);
            if !unlike {
                notes.push(format!(
                    "{}: CPU {} ({}) stand above {} ({}) with nothing else to tell them apart: favoured cores, not a class",
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

/// Another source's classes in the believed one's numbering. As many classes: number for number, so that a source with the
/// order reversed is seen to contradict. Otherwise the order-keeping assignment that agrees on most CPUs: a source that
/// only sees one border more or less does not contradict.
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
    // For each column: the best assignment of the rows so far that ends there.
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

/// A source that splits one believed class has seen something; it is told, not followed.
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
        // Whole classes only: where the other's classes reach over the border it contradicts, and that is kept elsewhere.
        let whole = (0..other.classes).filter(|c| {
            let mut of = other.of_class(cpus, *c).peekable();
            let ours: BTreeSet<CpuId> = best.of_class(cpus, class).collect();
            of.peek().is_some() && of.all(|id| ours.contains(&id))
        });
        if parts.len() > 1 && whole.count() == parts.len() {
            let name = names(best.classes, best.low_power).get(class as usize).map_or("", |n| n.as_str());
            notes.push(format!(
                "{} sees {} kinds within {name}, slowest first: {}",
                other.source.as_str(),
                parts.len(),
                parts.join(" | ")
            ));
        }
    }
}
