//! Parked and offline CPUs, from the first event of each CPU on.

use super::{BoxedKind, Kind, KindInfo, Lane};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::Session;
use levels::States;
use model::{Event, Power, TimelineEvent};
use std::collections::BTreeMap;

struct Parking<'a> {
    feed: Feed<'a, States>,
    cpus: BTreeMap<u32, ()>,
}

pub(crate) fn new<'a>(_: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    Ok(Box::new(Parking { feed: Feed::new(to, name), cpus: BTreeMap::new() }))
}

impl Kind for Parking<'_> {
    fn event(&mut self, event: &Event, _: &[Box<str>]) {
        let Some(event) = TimelineEvent::from_event(event) else { return };
        let Some((cpu, Power::Parked(parked))) = event.power() else { return };
        if super::room(&self.cpus, cpu.0) {
            self.cpus.insert(cpu.0, ());
            self.feed.change(cpu.0, event.at.0, Some((u8::from(parked), -1)));
        }
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let lanes = self.cpus.keys().map(|cpu| Lane::new(*cpu, format!("CPU {cpu}"))).collect();
        let states = vec!["available".to_owned(), "parked or offline".to_owned()];
        Ok(self.feed.finish()?.then(|| KindInfo { title: "Parking".into(), ..KindInfo::of_states(lanes, states) }))
    }
}
