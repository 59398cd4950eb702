//! Draws the output of `corewise topo`: the machine as a tree, followed by the sources of the facts.
//!
//! ```text
//! package 0, node 0
//! `-- L3 0-19
//!     |-- performance  cppc 64-67  5000-5200 MHz  [0+1] [2+3] [4+5] [6+7] [8+9] [10+11]
//!     `-- efficient    cppc 39     3900 MHz       [12 13 14 15] [16 17 18 19]
//! ```

mod cells;
mod text;

use crate::cpulist;
use crate::machine::{Cpu, Machine};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A branch of the tree: its label and the branches below. A leaf has none.
struct Branch {
    label: String,
    below: Vec<Branch>,
}

/// The levels of the tree, outermost first.
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
    /// The order for old Arm kernels, which report each cluster as a package although they share an L3.
    const ARM: [Self; 5] = [Self::L3, Self::Package, Self::Die, Self::Node, Self::Cluster];

    /// Returns the key of a CPU's branch, and its label.
    fn key(self, cpu: &Cpu) -> Option<(u32, String)> {
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

    /// Returns whether a level with only one branch is drawn.
    fn shown_alone(self) -> bool {
        matches!(self, Self::Package | Self::L3)
    }

    /// Returns whether the group is already visible as the CPUs of one core or L2, as a cluster may be.
    fn drawn_anyway(self, group: &[&Cpu]) -> bool {
        let first = group.first();
        let all_of = |list: &[model::CpuId]| group.iter().all(|c| list.contains(&c.id));
        matches!(self, Self::Cluster) && first.is_some_and(|c| all_of(&c.siblings) || all_of(&c.l2))
    }
}

/// Draws a machine for a terminal of 100 columns, in plain ASCII.
#[must_use]
pub fn draw(machine: &Machine) -> String {
    let mut out = text::head(machine);
    let online: Vec<&Cpu> = machine.cpus.iter().filter(|c| c.online).collect();
    out.push('\n');
    let package = |id: &model::CpuId| machine.cpu(*id).and_then(|c| c.package);
    let spans = |c: &&Cpu| c.l3.iter().any(|id| package(id) != c.package);
    let levels = if online.iter().any(spans) { Level::ARM } else { Level::ALL };
    for root in branches(machine, &online, &levels) {
        for line in cells::wrapped(&root.label, 0) {
            let _ = writeln!(out, "{line}");
        }
        write_branches(&mut out, &root.below, "");
    }
    out.push_str(&text::legend(&online));
    out.push('\n');
    out.push_str(&text::sources(machine));
    out
}

fn branches(machine: &Machine, cpus: &[&Cpu], levels: &[Level]) -> Vec<Branch> {
    let Some((level, inner)) = levels.split_first() else {
        return cells::lines(machine, cpus).into_iter().map(|label| Branch { label, below: Vec::new() }).collect();
    };
    let mut groups: BTreeMap<Option<(u32, String)>, Vec<&Cpu>> = BTreeMap::new();
    for cpu in cpus {
        groups.entry(level.key(cpu)).or_default().push(cpu);
    }
    let useful = if groups.len() == 1 { level.shown_alone() } else { !groups.values().all(|g| level.drawn_anyway(g)) };
    let known = groups.keys().any(Option::is_some);
    if !(useful && known) {
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
            // CPUs without an L3 are drawn next to the L3s (the low-power cores of Meteor Lake).
            (None, Level::L3 | Level::Cluster) => all.extend(below),
            (None, _) => all.push(Branch { label: "position unknown".to_owned(), below }),
        }
    }
    if matches!(level, Level::L3 | Level::Cluster) {
        join_single_leaves(&mut all);
    }
    all
}

/// Puts a branch with a single leaf on one line: a server has dozens of caches with one type of core.
fn join_single_leaves(all: &mut [Branch]) {
    let only = |b: &Branch| matches!(b.below.as_slice(), [leaf] if leaf.below.is_empty());
    let width = all.iter().filter(|b| only(b)).map(|b| b.label.len()).max().unwrap_or(0);
    for branch in all.iter_mut().filter(|b| only(b)) {
        if let Some(leaf) = branch.below.pop() {
            branch.label = format!("{:width$}  {}", branch.label, leaf.label);
        }
    }
}

fn write_branches(out: &mut String, below: &[Branch], indent: &str) {
    for (i, branch) in below.iter().enumerate() {
        let last = i + 1 == below.len();
        let (mark, next) = if last { ("`-- ", "    ") } else { ("|-- ", "|   ") };
        let next = format!("{indent}{next}");
        for (n, line) in cells::wrapped(&branch.label, indent.len() + mark.len()).iter().enumerate() {
            let start = if n == 0 { format!("{indent}{mark}") } else { next.clone() };
            let _ = writeln!(out, "{start}{line}");
        }
        write_branches(out, &branch.below, &next);
    }
}
