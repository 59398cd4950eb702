//! From a name to what the kernel is asked to count, on each PMU.

use crate::bits::{ConfigField, TermBits};
use crate::event::{Attr, BadEvent, Event, EventName, Term};
use crate::intel;
use crate::names::{HARDWARE, SOFTWARE, TYPE_HARDWARE, TYPE_SOFTWARE};
use crate::parse::number;
use crate::pmu::{Pmu, Pmus, Role};
use model::nearest;

/// How deep an event's terms may name other events. The kernel's own are not nested.
const MAX_DEPTH: u32 = 2;
/// The maximum number of names in a message.
const MAX_NAMES: usize = 3;

/// Why an event is not on a PMU.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Absent {
    /// Cores of this type have no such event.
    #[error("not on that type")]
    NotOnThatType,
    /// corewise has no list of Intel's names for these cores.
    #[error("corewise has no list of Intel's names for these cores")]
    NoList,
    /// The PMU or the kernel has no bits for a term of the event.
    #[error("{0}")]
    NoBits(String),
}

/// An event on one PMU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OnPmu {
    /// The PMU; `software` for events of the kernel.
    pub pmu: String,
    /// Whether it is a core PMU: the event counts on its CPUs only. Otherwise it counts on every CPU.
    pub core: bool,
    /// What the kernel is asked to count, or why it cannot be.
    pub attr: Result<Attr, Absent>,
}

/// An event on all PMUs that it names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolved {
    /// The event.
    pub event: Event,
    /// Its PMUs; at least one of them has it.
    pub on: Vec<OnPmu>,
}

/// Looks up an event on a machine.
///
/// # Errors
/// No PMU has it: says why, and which names are like it.
pub fn resolve(event: &Event, machine: &Pmus) -> Result<Resolved, BadEvent> {
    let mut on = match &event.name {
        EventName::Hardware(hardware) => generic(hardware.number, event, machine)?,
        EventName::Software(software) => {
            let attr = Attr { kind: TYPE_SOFTWARE, config: software.number.into(), ..Attr::default() };
            vec![OnPmu { pmu: "software".into(), core: false, attr: Ok(attr) }]
        }
        EventName::OfPmu { pmu, terms } => vec![of_pmu(pmu, terms, event, machine)?],
        EventName::Named(name) => named(name, event, machine)?,
    };
    if event.user != event.kernel {
        for attr in on.iter_mut().filter_map(|on| on.attr.as_mut().ok()) {
            (attr.exclude_user, attr.exclude_kernel) = (event.kernel, event.user);
        }
    }
    match on.iter().find_map(|on| on.attr.as_ref().err().map(|why| (on, why))) {
        Some((first, why)) if on.iter().all(|on| on.attr.is_err()) => {
            Err(BadEvent::new(event.at, format!("{event} on {}: {why}", first.pmu)))
        }
        _ => Ok(Resolved { event: event.clone(), on }),
    }
}

fn generic(number: u8, event: &Event, machine: &Pmus) -> Result<Vec<OnPmu>, BadEvent> {
    if let Some(why) = machine.why_no_core() {
        let dynamic = machine.all.iter().filter(|pmu| pmu.role == Role::Dynamic);
        let dynamic = dynamic.flat_map(|pmu| pmu.events.keys().map(move |name| format!("{}/{name}/", pmu.name)));
        let still: Vec<String> =
            ["task-clock".into(), "page-faults".into()].into_iter().chain(dynamic).take(8).collect();
        let what = format!("{event}: {why}; still counted: {}", still.join(", "));
        return Err(BadEvent::new(event.at, what));
    }
    let several = machine.core().count() > 1;
    let attr = |pmu: &Pmu| {
        // `linux/perf_event.h`: the PMU in bits 32 to 63.
        let of_pmu = if several { u64::from(pmu.number) << 32 } else { 0 };
        Attr { kind: TYPE_HARDWARE, config: u64::from(number) | of_pmu, ..Attr::default() }
    };
    Ok(machine.core().map(|pmu| OnPmu { pmu: pmu.name.clone(), core: true, attr: Ok(attr(pmu)) }).collect())
}

fn of_pmu(name: &str, terms: &[Term], event: &Event, machine: &Pmus) -> Result<OnPmu, BadEvent> {
    let Some(pmu) = machine.named(name) else {
        let names = machine.all.iter().map(|pmu| pmu.name.as_str());
        let mut meant = nearest(name, names, MAX_NAMES);
        if name == "cpu" && meant.is_empty() {
            meant = machine.core().map(|pmu| pmu.name.as_str()).take(MAX_NAMES).collect();
        }
        return Err(BadEvent::new(event.at, format!("this machine has no PMU {name}{}", did_you_mean(&meant))));
    };
    countable(pmu, event)?;
    let mut attr = Attr { kind: pmu.number, ..Attr::default() };
    for term in terms {
        set(term, pmu, machine, &mut attr, 0).map_err(|wrong| BadEvent::new(term.at, wrong.what(pmu)))?;
    }
    Ok(OnPmu { pmu: pmu.name.clone(), core: pmu.role == Role::Core, attr: Ok(attr) })
}

fn named(name: &str, event: &Event, machine: &Pmus) -> Result<Vec<OnPmu>, BadEvent> {
    let on = |pmu: &Pmu, terms: Option<&str>, otherwise: Absent| OnPmu {
        pmu: pmu.name.clone(),
        core: pmu.role == Role::Core,
        attr: terms.map_or(Err(otherwise), |terms| coded(terms, pmu, machine)),
    };
    // An event that the kernel itself names.
    if machine.core().any(|pmu| pmu.events.contains_key(name)) {
        let of = |pmu: &Pmu| on(pmu, pmu.events.get(name).map(String::as_str), Absent::NotOnThatType);
        return Ok(machine.core().map(of).collect());
    }
    let others: Vec<&Pmu> =
        machine.all.iter().filter(|pmu| pmu.role != Role::Core && pmu.events.contains_key(name)).collect();
    match others.as_slice() {
        [] => {}
        [pmu] => {
            countable(pmu, event)?;
            return Ok(vec![on(pmu, pmu.events.get(name).map(String::as_str), Absent::NotOnThatType)]);
        }
        [first, ..] => {
            let what = format!("{name}: {} PMUs have this event: write {}/{name}/", others.len(), first.name);
            return Err(BadEvent::new(event.at, what));
        }
    }
    // One of Intel's list.
    let listed: Vec<(&Pmu, Option<intel::List>)> = machine
        .core()
        .map(|pmu| (pmu, machine.processor.as_ref().and_then(|processor| intel::list_of(processor, pmu))))
        .collect();
    if listed.iter().any(|(_, list)| list.is_some_and(|list| list.event(name).is_some())) {
        let of = |(pmu, list): &(&Pmu, Option<intel::List>)| match list {
            Some(list) => on(pmu, list.event(name).map(|event| event.terms), Absent::NotOnThatType),
            None => on(pmu, None, Absent::NoList),
        };
        return Ok(listed.iter().map(of).collect());
    }
    Err(BadEvent::new(event.at, unknown(name, machine, &listed)))
}

/// Returns the sentence about a name that no PMU has.
fn unknown(name: &str, machine: &Pmus, listed: &[(&Pmu, Option<intel::List>)]) -> String {
    let elsewhere = intel::lists_with(name);
    if let Some(first) = elsewhere.first() {
        let more = if elsewhere.len() > 1 { format!(" and {} more", elsewhere.len() - 1) } else { String::new() };
        return match machine.why_no_core() {
            Some(why) => format!("{name}: {why}"),
            None => format!("{name} is an event of Intel's list {}{more}, not of this processor", first.name),
        };
    }
    let generic = HARDWARE.iter().flat_map(|e| [Some(e.name), e.alias]).flatten();
    let software = SOFTWARE.iter().flat_map(|e| [Some(e.name), e.alias]).flatten();
    let of_pmus = machine.all.iter().flat_map(|pmu| pmu.events.keys().map(String::as_str));
    let lower = name.to_ascii_lowercase();
    let mut meant = nearest(&lower, generic.chain(software).chain(of_pmus), MAX_NAMES);
    if meant.is_empty() {
        meant = nearest(&lower, crate::GROUPS.iter().map(|group| group.name), MAX_NAMES);
    }
    let lists = listed.iter().filter_map(|(_, list)| *list);
    let intel: Vec<&str> = lists.flat_map(intel::List::events).map(|event| event.name).collect();
    // Names of Intel's list have a dot or capitals.
    let looks_intel = name.contains('.') || name.chars().any(|c| c.is_ascii_uppercase());
    if looks_intel || meant.is_empty() {
        let mut of_intel = nearest(&name.to_ascii_uppercase(), intel, MAX_NAMES);
        of_intel.append(&mut meant);
        meant = of_intel;
    }
    meant.truncate(MAX_NAMES);
    format!("there is no event {name}{}", did_you_mean(&meant))
}

/// Refuses PMUs whose counts belong to no thread.
fn countable(pmu: &Pmu, event: &Event) -> Result<(), BadEvent> {
    match pmu.role {
        Role::Shared => {
            let what = format!(
                "{event}: {} counts for several CPUs together (it is read on CPU {}), so its counts belong to no thread",
                pmu.name,
                pmu.cpu_list()
            );
            Err(BadEvent::new(event.at, what))
        }
        _ => Ok(()),
    }
}

/// Returns the sentence's end with names that may have been meant.
fn did_you_mean(names: &[&str]) -> String {
    match names {
        [] => "; `corewise counters` lists what there is".to_owned(),
        [one] => format!(", did you mean {one}?"),
        [most @ .., last] => format!(", did you mean {} or {last}?", most.join(", ")),
    }
}

/// What is wrong with a term.
enum Wrong {
    Unknown(String),
    TooBig { term: String, value: u64, bits: TermBits },
    NeedsValue(String),
    Nested(String),
}

impl Wrong {
    fn what(&self, pmu: &Pmu) -> String {
        match self {
            Self::Unknown(term) => {
                let names = pmu.formats.keys().chain(pmu.events.keys()).map(String::as_str);
                let meant = nearest(term, names.chain(["config", "config1", "config2"]), MAX_NAMES);
                let meant = if meant.is_empty() {
                    let all: Vec<&str> = pmu.formats.keys().map(String::as_str).take(12).collect();
                    format!("; its terms: {}", if all.is_empty() { "config".to_owned() } else { all.join(", ") })
                } else {
                    did_you_mean(&meant)
                };
                format!("PMU {} has no term {term}{meant}", pmu.name)
            }
            Self::TooBig { term, value, bits } => {
                format!("{term}={value:#x} does not fit: PMU {} has {bits} for it, at most {:#x}", pmu.name, bits.max())
            }
            Self::NeedsValue(term) => format!("{term} of PMU {} needs a value: {term}=0x1", pmu.name),
            Self::Nested(term) => format!("{term} of PMU {} is defined by itself", pmu.name),
        }
    }
}

/// Returns an event whose terms are given as a text (of the kernel or of Intel's table).
fn coded(terms: &str, pmu: &Pmu, machine: &Pmus) -> Result<Attr, Absent> {
    let mut attr = Attr { kind: pmu.number, ..Attr::default() };
    match set_all(terms, "", pmu, machine, &mut attr, 0) {
        Ok(()) => Ok(attr),
        Err(wrong) => Err(Absent::NoBits(wrong.what(pmu))),
    }
}

fn set_all(terms: &str, name: &str, pmu: &Pmu, machine: &Pmus, attr: &mut Attr, depth: u32) -> Result<(), Wrong> {
    for text in terms.split(',').map(str::trim).filter(|t| !t.is_empty()) {
        let (name, value) = match text.split_once('=') {
            // The user has to fill it in.
            Some((term, "?")) => return Err(Wrong::NeedsValue(term.to_owned())),
            Some((term, value)) => match number(value.trim()) {
                Some(value) => (term.trim(), Some(value)),
                None => return Err(Wrong::NeedsValue(term.to_owned())),
            },
            None if text == name => return Err(Wrong::Nested(name.to_owned())),
            None => (text, None),
        };
        set(&Term { name: name.to_owned(), value, at: 0 }, pmu, machine, attr, depth)?;
    }
    Ok(())
}

/// Sets what a term says. The later of two terms for the same bits prevails.
fn set(term: &Term, pmu: &Pmu, machine: &Pmus, attr: &mut Attr, depth: u32) -> Result<(), Wrong> {
    let name = term.name.as_str();
    if term.value.is_none() {
        if depth >= MAX_DEPTH {
            return Err(Wrong::Nested(name.to_owned()));
        }
        if let Some(terms) = pmu.events.get(name) {
            return set_all(terms, name, pmu, machine, attr, depth + 1);
        }
    }
    let fields = [ConfigField::Config, ConfigField::Config1, ConfigField::Config2];
    let whole = fields.into_iter().find(|f| f.as_str() == name).map(TermBits::whole);
    if let Some(bits) = pmu.formats.get(name).cloned().or(whole) {
        let value = term.value.unwrap_or(1);
        return match bits.place(value, attr) {
            true => Ok(()),
            false => Err(Wrong::TooBig { term: name.to_owned(), value, bits }),
        };
    }
    let list = machine.processor.as_ref().and_then(|processor| intel::list_of(processor, pmu));
    match list.and_then(|list| list.event(name)).filter(|_| term.value.is_none()) {
        Some(event) => set_all(event.terms, name, pmu, machine, attr, depth + 1),
        None => Err(Wrong::Unknown(name.to_owned())),
    }
}
