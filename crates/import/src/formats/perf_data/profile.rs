//! Which of the recorded events is the profile.

use super::features;
use super::header::{Attr, Header};
use crate::sampled;
use ingest::Sampled;
use model::CoreType;
use topology::Machine;

/// Names the events, selects the attributes whose samples are the profile, and returns what these are of; none if the recording has no
/// samples of code.
pub(super) fn select(header: &mut Header, machine: Option<&Machine>) -> Option<Sampled> {
    let (written, pmus) = (features::event_names(header), features::pmus(header));
    // Samples of several events without IDs may be of any.
    let are_distinct = header.attrs.len() == 1 || header.attrs.iter().all(Attr::has_id);
    let plain = |(at, attr): (usize, &Attr)| match (attr.generic_name(), written.get(at)) {
        (Some(name), _) => name.to_owned(),
        (None, Some(name)) => sampled::plain_event(name).to_owned(),
        (None, None) => format!("type {} config {:#x}", attr.kind, attr.config),
    };
    let names: Vec<String> = header.attrs.iter().enumerate().map(plain).collect();
    for (at, (attr, name)) in header.attrs.iter_mut().zip(&names).enumerate() {
        let written = written.get(at).map(String::as_str);
        let numbered = || pmus.iter().find(|(number, _)| Some(*number) == attr.pmu()).map(|(_, name)| name.as_str());
        let named = written.and_then(sampled::pmu);
        let of_pmu = |pmu: &str| match machine {
            Some(machine) => machine.core_type_of_pmu(pmu),
            None => topology::core_type_of_pmu(pmu),
        };
        let core = named.or_else(numbered).and_then(|pmu| Some((pmu, of_pmu(pmu)?)));
        let core = core.filter(|(_, core)| are_distinct && *core != CoreType::Uniform);
        attr.core = core.map_or(CoreType::Uniform, |(_, core)| core);
        attr.name = match (core, written.filter(|_| named.is_some())) {
            (Some(_), Some(written)) => written.to_owned(),
            (Some((pmu, _)), None) => format!("{pmu}/{name}/"),
            (None, _) => name.clone(),
        };
    }
    let of_code = header.attrs.iter().zip(&names).filter(|(attr, _)| attr.samples_code());
    let mut selected = sampled::select(of_code.map(|(_, name)| name.as_str()))?;
    for (attr, name) in header.attrs.iter_mut().zip(&names) {
        attr.is_profile = attr.samples_code() && *name == selected.event;
    }
    let profile = header.attrs.iter().filter(|attr| attr.is_profile);
    selected.by_core = sampled::by_core(profile.map(|attr| (attr.core, attr.name.as_str())));
    Some(selected)
}
