//! The idle state of each CPU, from its first event on.

use super::{BoxedKind, Kind, KindInfo, Lane};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::Session;
use levels::States;
use model::{Event, Power, TimelineEvent};
use std::collections::BTreeMap;

/// The deepest idle state shown separately; deeper ones are shown as this one.
const DEEPEST: u32 = 31;

struct Idle<'a> {
    feed: Feed<'a, States>,
    /// The deepest state of each CPU.
    deepest: BTreeMap<u32, u32>,
}

pub(crate) fn new<'a>(_: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    Ok(Box::new(Idle { feed: Feed::new(to, name), deepest: BTreeMap::new() }))
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
        let state =
            |state: u32| if state > DEEPEST { format!("{DEEPEST} or deeper") } else { format!("{}", state - 1) };
        let states =
            std::iter::once("awake".to_owned()).chain((1..=deepest).map(|s| format!("idle state {}", state(s))));
        let lane = |cpu: &u32| Lane::new(*cpu, format!("CPU {cpu}"));
        let lanes = self.deepest.keys().map(lane).collect();
        let states = states.collect();
        Ok(self.feed.finish()?.then(|| KindInfo { title: "Idle states".into(), ..KindInfo::of_states(lanes, states) }))
    }
}
