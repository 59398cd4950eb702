//! The idle state of each CPU, from its first event on.

use super::{BoxedKind, Kind, KindInfo, Lane};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::{Cpu, Session};
use levels::States;
use model::{Event, Power, TimelineEvent};
use std::collections::BTreeMap;

/// The deepest idle state shown separately; deeper ones are shown as this one.
pub(super) const DEEPEST: u32 = 31;

/// Names an idle state: `idle state 1 (C1E)`. Its driver's name is used if all CPUs of `cpus` that are described have the same.
pub(super) fn state_name<'a>(cpus: impl Iterator<Item = &'a Cpu>, state: u32) -> String {
    let mut names: Vec<&str> =
        cpus.filter_map(|cpu| cpu.idle_states.get(state as usize)).map(|of| of.name.as_str()).collect();
    names.dedup();
    match names[..] {
        [name] if !name.is_empty() => format!("idle state {state} ({name})"),
        _ => format!("idle state {state}"),
    }
}

struct Idle<'a> {
    feed: Feed<'a, States>,
    /// The deepest state of each CPU.
    deepest: BTreeMap<u32, u32>,
    cpus: Vec<Cpu>,
}

pub(crate) fn new<'a>(session: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    let cpus = session.machine().cpus.clone();
    Ok(Box::new(Idle { feed: Feed::new(to, name), deepest: BTreeMap::new(), cpus }))
}

impl Kind for Idle<'_> {
    fn event(&mut self, event: &Event, _: &[Box<str>]) {
        let Some(event) = TimelineEvent::from_event(event) else { return };
        let Some((cpu, to)) = event.power() else { return };
        // 0 is awake; else the state's number plus one.
        let state = match to {
            Power::Awake => 0,
            Power::Idle(state) => state.min(DEEPEST) + 1,
            _ => return,
        };
        let cpu = cpu.0;
        if super::room(&self.deepest, cpu) {
            let deepest = self.deepest.entry(cpu).or_default();
            *deepest = state.max(*deepest);
            self.feed.change(cpu, event.at.0, Some((state as u8, -1)));
        }
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let deepest = self.deepest.values().max().copied().unwrap_or(0);
        let state = |state: u32| match state {
            DEEPEST.. => format!("idle state {DEEPEST} or deeper"),
            state => state_name(self.cpus.iter(), state),
        };
        let states = std::iter::once("awake".to_owned()).chain((0..deepest).map(state));
        let lane = |cpu: &u32| Lane::new(*cpu, format!("CPU {cpu}"));
        let lanes = self.deepest.keys().map(lane).collect();
        let states = states.collect();
        Ok(self.feed.finish()?.then(|| KindInfo { title: "Idle states".into(), ..KindInfo::of_states(lanes, states) }))
    }
}
