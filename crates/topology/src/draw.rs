//! What `corewise topo` prints: the machine as a tree, and beneath it who says so.
//!
//! ```text
//! package 0, node 0
//! `-- L3 0-19
//!     |-- performance  cppc 64-67  5000-5200 MHz  [0+1] [2+3] [4+5] [6+7] [8+9] [10+11]
//!     `-- efficient    cppc 39     3900 MHz       [12 13 14 15] [16 17 18 19]
//! ```

mod cells;
mod words;

use crate::cpulist;
use crate::machine::{Cpu, Machine};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A branch: its label, and what hangs below. A leaf has lines instead of branches.
struct Branch {
    label: String,
    below: Vec<Branch>,
}

/// Where a tree may branch, outermost first.
#[derive(Clone, Copy)]
enum Level {
    Package,
    Die,
    Node,
    L3,
    Cluster,
}

impl Level {
    const ALL: [Self; 5] = [Self::Package, Self::Die, Self::Node, Self::L3, Self::Cluster];
    /// Old Arm kernels call each cluster a package, though they share an L3.
    const ARM: [Self; 5] = [Self::L3, Self::Package, Self::Die, Self::Node, Self::Cluster];

    /// What CPUs of one branch have in common, and its label.
    fn of(self, cpu: &Cpu) -> Option<(u32, String)> {
        let numbered = |word: &str, n: Option<u32>| n.map(|n| (n, format!("{word} {n}")));
        match self {
            Self::Package => numbered("package", cpu.package),
            Self::Die => numbered("die", cpu.die),
            Self::Node => numbered("node", cpu.node),
            Self::L3 => {
                cpu.l3.first().map(|first| (first.0, format!("L3 {}", cpulist::format(cpu.l3.iter().copied()))))
            }
            Self::Cluster => numbered("cluster", cpu.cluster),
        }
    }

    /// Whether a branch that has no fellow is worth a line.
    fn shown_alone(self) -> bool {
        matches!(self, Self::Package | Self::L3)
    }

    /// Clusters that are just the CPUs of one core or L2 are drawn as such already.
    fn drawn_anyway(self, group: &[&Cpu]) -> bool {
        let first = group.first();
        let all_of = |list: &[model::CpuId]| group.iter().all(|c| list.contains(&c.id));
        matches!(self, Self::Cluster) && first.is_some_and(|c| all_of(&c.siblings) || all_of(&c.l2))
    }
}

/// Draws a machine for a terminal of 100 columns, in plain ASCII.
#[must_use]
pub fn draw(machine: &Machine) -> String {
    let mut out = words::head(machine);
    let online: Vec<&Cpu> = machine.cpus.iter().filter(|c| c.online).collect();
    out.push('\n');
    let package = |id: &model::CpuId| machine.cpu(*id).and_then(|c| c.package);
    let spans = |c: &&Cpu| c.l3.iter().any(|id| package(id) != c.package);
    let levels = if online.iter().any(spans) { Level::ARM } else { Level::ALL };
    for root in branches(machine, &online, &levels) {
        for line in cells::wrapped(&root.label, 0) {
            let _ = writeln!(out, "{line}");
        }
        hang(&mut out, &root.below, "");
    }
    out.push_str(&words::legend(&online));
    out.push('\n');
    out.push_str(&words::foot(machine));
    out
}

fn branches(machine: &Machine, cpus: &[&Cpu], levels: &[Level]) -> Vec<Branch> {
    let Some((level, inner)) = levels.split_first() else {
        return cells::lines(machine, cpus).into_iter().map(|label| Branch { label, below: Vec::new() }).collect();
    };
    let mut groups: BTreeMap<Option<(u32, String)>, Vec<&Cpu>> = BTreeMap::new();
    for cpu in cpus {
        groups.entry(level.of(cpu)).or_default().push(cpu);
    }
    let worth = if groups.len() == 1 { level.shown_alone() } else { !groups.values().all(|g| level.drawn_anyway(g)) };
    let told = groups.keys().any(Option::is_some);
    if !(worth && told) {
        return branches(machine, cpus, inner);
    }
    let mut all = Vec::new();
    let nowhere = groups.remove_entry(&None);
    for (key, group) in groups.into_iter().chain(nowhere) {
        let below = branches(machine, &group, inner);
        match (key, level) {
            (Some((_, mut label)), _) => {
                let node = |c: &&Cpu| c.node;
                let first = group.first().and_then(node);
                if let (Level::Package, Some(n)) = (level, first)
                    && group.iter().all(|c| c.node == first)
                {
                    let _ = write!(label, ", node {n}");
                }
                all.push(Branch { label, below });
            }
            // CPUs without an L3 hang where the L3s do (the low-power cores of Meteor Lake).
            (None, Level::L3 | Level::Cluster) => all.extend(below),
            (None, _) => all.push(Branch { label: "place unknown".to_owned(), below }),
        }
    }
    if matches!(level, Level::L3 | Level::Cluster) {
        join(&mut all);
    }
    all
}

/// A cache with one type of core is one line, not two: a server has dozens.
fn join(all: &mut [Branch]) {
    let only = |b: &Branch| matches!(b.below.as_slice(), [leaf] if leaf.below.is_empty());
    let width = all.iter().filter(|b| only(b)).map(|b| b.label.len()).max().unwrap_or(0);
    for branch in all.iter_mut().filter(|b| only(b)) {
        if let Some(leaf) = branch.below.pop() {
            branch.label = format!("{:width$}  {}", branch.label, leaf.label);
        }
    }
}

fn hang(out: &mut String, below: &[Branch], indent: &str) {
    for (i, branch) in below.iter().enumerate() {
        let last = i + 1 == below.len();
        let (mark, next) = if last { ("`-- ", "    ") } else { ("|-- ", "|   ") };
        let next = format!("{indent}{next}");
        for (n, line) in cells::wrapped(&branch.label, indent.len() + mark.len()).iter().enumerate() {
            let start = if n == 0 { format!("{indent}{mark}") } else { next.clone() };
            let _ = writeln!(out, "{start}{line}");
        }
        hang(out, &branch.below, &next);
    }
}
