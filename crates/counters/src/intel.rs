//! Intel's names of events (`INST_RETIRED.ANY`), by processor and kind of core. The table is generated from intel/perfmon; it has the
//! lists that were at hand when it was made, not those of every processor.

use crate::pmu::{Pmu, Processor};
use std::sync::OnceLock;

const TEXT: &str = include_str!("../data/intel_core.tsv");

/// An event of Intel's list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntelEvent {
    /// The name, in capitals.
    pub name: &'static str,
    /// The terms, as perf writes them.
    pub terms: &'static str,
    /// Whether Intel advises against it.
    pub deprecated: bool,
    /// What is counted.
    pub doc: &'static str,
    /// The keys of the lists that have it.
    lists: &'static str,
}

/// A list of Intel's: the events of one kind of core of one family of processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct List {
    key: char,
    /// The name (`alderlake_goldencove`).
    pub name: &'static str,
    /// Intel's version of the list.
    pub version: &'static str,
}

struct Table {
    lists: Vec<List>,
    /// Processor, kind of core, key.
    models: Vec<(&'static str, &'static str, char)>,
    /// In order of names.
    events: Vec<IntelEvent>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Table { lists: Vec::new(), models: Vec::new(), events: Vec::new() };
        let key = |text: &str| text.chars().next();
        for line in TEXT.lines() {
            let fields: Vec<&'static str> = line.split('\t').collect();
            match fields.as_slice() {
                ["list", of, name, version] => {
                    table.lists.extend(key(of).map(|key| List { key, name, version }));
                }
                ["model", model, role, of] => table.models.extend(key(of).map(|key| (*model, *role, key))),
                ["event", name, lists, terms, deprecated, doc] => {
                    let deprecated = !deprecated.is_empty();
                    table.events.push(IntelEvent { name, terms, deprecated, doc, lists });
                }
                _ => {}
            }
        }
        table
    })
}

/// Returns whether a processor is of a model such as `6-55-[01234]`: family, model and steppings, written as in Intel's map file.
fn is_model(model: &str, processor: &Processor) -> bool {
    let mut parts = model.splitn(3, '-');
    let family = parts.next().and_then(|text| text.parse::<u32>().ok());
    let number = parts.next().and_then(|text| u32::from_str_radix(text, 16).ok());
    let steppings = parts.next();
    let stepping = char::from_digit(processor.stepping, 16).map(|c| c.to_ascii_uppercase());
    family == Some(processor.family)
        && number == Some(processor.model)
        && steppings.is_none_or(|all| stepping.is_some_and(|c| all.contains(c)))
}

/// Returns Intel's list for a core PMU of a processor.
#[must_use]
pub fn list_of(processor: &Processor, pmu: &Pmu) -> Option<List> {
    if processor.vendor != "GenuineIntel" {
        return None;
    }
    // A hybrid processor whose efficient cores are disabled has one PMU, `cpu`.
    let roles: &[&str] = match pmu.name.as_str() {
        "cpu" => &["core", "cpu_core"],
        "cpu_core" => &["cpu_core"],
        "cpu_atom" => &["cpu_atom"],
        "cpu_lowpower" => &["cpu_lowpower"],
        _ => return None,
    };
    let table = table();
    let of = |role: &str| table.models.iter().find(|(model, r, _)| *r == role && is_model(model, processor));
    let (_, _, key) = roles.iter().find_map(|role| of(role))?;
    table.lists.iter().find(|list| list.key == *key).copied()
}

impl List {
    /// Returns its event of a name, in capitals or not.
    #[must_use]
    pub fn event(self, name: &str) -> Option<IntelEvent> {
        named(name).find(|event| event.lists.contains(self.key)).copied()
    }

    /// Returns its events, in order of names.
    pub fn events(self) -> impl Iterator<Item = IntelEvent> {
        table().events.iter().filter(move |event| event.lists.contains(self.key)).copied()
    }
}

fn named(name: &str) -> impl Iterator<Item = &'static IntelEvent> {
    let name = name.to_ascii_uppercase();
    let events = &table().events;
    // The table is in order of names.
    let from = events.partition_point(|event| event.name < name.as_str());
    events.iter().skip(from).take_while(move |event| event.name == name)
}

/// Returns the lists that have an event of a name.
#[must_use]
pub fn lists_with(name: &str) -> Vec<List> {
    let keys: String = named(name).map(|event| event.lists).collect();
    table().lists.iter().filter(|list| keys.contains(list.key)).copied().collect()
}

/// Returns all lists.
#[must_use]
pub fn lists() -> &'static [List] {
    &table().lists
}
