//! Which of the recorded events is the profile.

use super::features;
use super::header::{Attr, Header};
use crate::sampled;
use ingest::Sampled;

/// Selects the attributes whose samples are the profile, and returns what these are of; none if the recording has no samples of code.
pub(super) fn select(header: &mut Header) -> Option<Sampled> {
    let written = features::event_names(header);
    let name = |(at, attr): (usize, &Attr)| match (attr.generic_name(), written.get(at)) {
        (Some(name), _) => name.to_owned(),
        (None, Some(name)) => sampled::plain_event(name).to_owned(),
        (None, None) => format!("type {} config {:#x}", attr.kind, attr.config),
    };
    let names: Vec<String> = header.attrs.iter().enumerate().map(name).collect();
    let of_code = header.attrs.iter().zip(&names).filter(|(attr, _)| attr.samples_code());
    let selected = sampled::select(of_code.map(|(_, name)| name.as_str()))?;
    for (attr, name) in header.attrs.iter_mut().zip(&names) {
        attr.is_profile = attr.samples_code() && *name == selected.event;
    }
    Some(selected)
}
