//! Writes a machine file: what [`Machine::from_user`] reads.

use crate::costs::{Cost, Costs, Estimate};
use crate::cpulist;
use crate::machine::{Cpu, Machine, Source};
use model::{CoreType, CpuId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use toml::Value;

/// Returns a machine as a machine file, with its costs. [`Machine::from_user`] reads the same machine from it, except for what the file does
/// not have: numbers of cores (siblings say which CPUs are one), the firmware's performance numbers, idle states, sources, notes and
/// differing claims. Core types without a source are left out, so that they remain unknown.
///
/// ```
/// let machine = topology::Machine::of_cpus([model::CpuId(0), model::CpuId(1)]);
/// assert_eq!(topology::machine_text(&machine), "[[cpus]]\nids = \"0-1\"\n");
/// ```
#[must_use]
pub fn machine_text(machine: &Machine) -> String {
    let mut out = String::new();
    for (key, value) in [("model", &machine.model_name), ("arch", &machine.arch)] {
        if let Some(value) = value {
            let _ = writeln!(out, "{key} = {}", quoted(value));
        }
    }
    for (key, of) in
        [("siblings", (|cpu| &cpu.siblings) as fn(&Cpu) -> &Vec<CpuId>), ("l2", |cpu| &cpu.l2), ("l3", |cpu| &cpu.l3)]
    {
        let groups = groups(machine, of);
        if !groups.is_empty() {
            let groups: Vec<String> = groups.into_iter().map(|of| quoted(&cpulist::format(of))).collect();
            let _ = writeln!(out, "{key} = [{}]", groups.join(", "));
        }
    }
    let mut alike: BTreeMap<Alike<'_>, Vec<CpuId>> = BTreeMap::new();
    for cpu in &machine.cpus {
        alike.entry(Alike::of(machine, cpu)).or_default().push(cpu.id);
    }
    let mut alike: Vec<(Alike<'_>, Vec<CpuId>)> = alike.into_iter().collect();
    alike.sort_by_key(|(_, ids)| ids.first().copied());
    for (of, ids) in alike {
        if !out.is_empty() {
            out.push('\n');
        }
        let _ = writeln!(out, "[[cpus]]\nids = {}", quoted(&cpulist::format(ids)));
        of.write(&mut out);
    }
    if let Some(costs) = &machine.costs {
        write_costs(&mut out, costs);
    }
    out
}

/// Returns the groups that share something, each CPU in one of them, and only CPUs that the machine has.
fn groups(machine: &Machine, of: fn(&Cpu) -> &Vec<CpuId>) -> Vec<Vec<CpuId>> {
    let mut seen: BTreeSet<CpuId> = BTreeSet::new();
    let mut all = Vec::new();
    for cpu in &machine.cpus {
        if of(cpu).is_empty() || seen.contains(&cpu.id) {
            continue;
        }
        let is_free = |id: &&CpuId| machine.cpu(**id).is_some() && !seen.contains(id);
        let group: BTreeSet<CpuId> = of(cpu).iter().filter(is_free).copied().collect();
        if group.contains(&cpu.id) && group.len() <= cpulist::MAX_GROUP {
            seen.extend(&group);
            all.push(group.into_iter().collect());
        }
    }
    all
}

/// What CPUs of one `[[cpus]]` have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Alike<'a> {
    kind: Option<CoreType>,
    numbers: [Option<u32>; 6],
    vendor: Option<&'a str>,
    online: bool,
}

impl<'a> Alike<'a> {
    const NUMBERS: [&'static str; 6] = ["package", "die", "cluster", "node", "capacity", "max_khz"];

    fn of(machine: &Machine, cpu: &'a Cpu) -> Self {
        // A type by its name says less than numbers do if two classes have one name.
        let names: BTreeSet<CoreType> = machine.class_names.iter().copied().collect();
        let is_known = machine.class.iter().any(|judged| judged.best.source != Source::Assumed);
        let kind = (is_known && names.len() == machine.class_names.len()).then(|| machine.core_type(cpu.id));
        let capacity = cpu.capacity.filter(|of| *of <= 1024);
        let numbers = [cpu.package, cpu.die, cpu.cluster, cpu.node, capacity, cpu.max_khz];
        Self { kind, numbers, vendor: cpu.vendor_type.as_deref(), online: cpu.online }
    }

    fn write(&self, out: &mut String) {
        if let Some(kind) = self.kind {
            let _ = writeln!(out, "type = {}", quoted(kind.as_str()));
        }
        for (key, number) in Self::NUMBERS.iter().zip(self.numbers) {
            if let Some(number) = number {
                let _ = writeln!(out, "{key} = {number}");
            }
        }
        if let Some(vendor) = self.vendor {
            let _ = writeln!(out, "vendor = {}", quoted(vendor));
        }
        if !self.online {
            out.push_str("online = false\n");
        }
    }
}

fn write_costs(out: &mut String, costs: &Costs) {
    let measured = &costs.measured;
    let _ = writeln!(out, "\n[measured]\nat = {}\ncorewise = {}", quoted(&measured.at), quoted(&measured.corewise));
    if !measured.left_out.is_empty() {
        let sentences: Vec<String> =
            measured.left_out.iter().map(|sentence| format!("    {},\n", quoted(sentence))).collect();
        let _ = writeln!(out, "left_out = [\n{}]", sentences.concat());
    }
    if !measured.conditions.is_empty() {
        out.push_str("\n[measured.conditions]\n");
        for (name, value) in &measured.conditions {
            let _ = writeln!(out, "{} = {}", quoted(name), quoted(value));
        }
    }
    for figure in &costs.figures {
        out.push('\n');
        write_figure(out, figure);
    }
}

fn write_figure(out: &mut String, cost: &Cost) {
    let _ = writeln!(out, "[[costs]]\nprobe = {}\nfigure = {}", quoted(&cost.probe), quoted(&cost.figure));
    if let Some(pair) = cost.pair {
        let _ = writeln!(out, "pair = {}", quoted(pair.as_str()));
    }
    let listed = |all: Vec<String>| all.join(", ");
    if !cost.cpus.is_empty() {
        let _ = writeln!(out, "cpus = [{}]", listed(cost.cpus.iter().map(|cpu| cpu.0.to_string()).collect()));
    }
    if !cost.core_types.is_empty() {
        let types = cost.core_types.iter().map(|of| quoted(of.as_str())).collect();
        let _ = writeln!(out, "core_types = [{}]", listed(types));
    }
    if !cost.parameters.is_empty() {
        let parameters = cost.parameters.iter().map(|(name, value)| format!("{} = {}", quoted(name), quoted(value)));
        let _ = writeln!(out, "parameters = {{ {} }}", listed(parameters.collect()));
    }
    let _ = writeln!(out, "unit = {}\nestimate = {}", quoted(cost.unit.as_str()), estimate(&cost.estimate));
    if let Some(systematic) = cost.systematic {
        let _ = writeln!(out, "systematic = {}", number(systematic));
    }
    if let Some(next) = cost.next {
        let _ = writeln!(out, "next = [{}]", listed(next.map(number).to_vec()));
    }
    let _ = writeln!(out, "repetitions = {}", cost.repetitions);
    for (key, count) in [("disturbed", cost.disturbed), ("misplaced", cost.misplaced)] {
        if count > 0 {
            let _ = writeln!(out, "{key} = {count}");
        }
    }
    if let Some(control) = &cost.control {
        let _ = writeln!(out, "control = {}", estimate(control));
    }
    if cost.precise {
        out.push_str("precise = true\n");
    }
}

fn estimate(of: &Estimate) -> String {
    format!("{{ value = {}, low = {}, high = {} }}", number(of.value), number(of.low), number(of.high))
}

/// A basic string of TOML, which may also be a key.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn number(value: f64) -> String {
    Value::Float(value).to_string()
}
