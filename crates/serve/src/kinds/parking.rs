//! Whether each CPU is parked or offline, from when it was first told.

use super::{Kind, Lane, Made, Shown};
use crate::ServeError;
use crate::feed::Feed;
use crate::making::To;
use engine::Session;
use levels::States;
use model::{Event, Power, TimelineEvent};
use std::collections::BTreeMap;

struct Parking<'a> {
    feed: Feed<'a, States>,
    told: BTreeMap<u32, ()>,
}

pub(crate) fn new<'a>(_: &Session, to: To<'a>, name: &'static str) -> Result<Made<'a>, ServeError> {
    Ok(Box::new(Parking { feed: Feed::new(to, name), told: BTreeMap::new() }))
}

impl Kind for Parking<'_> {
    fn event(&mut self, event: &Event, _: &[Box<str>]) {
        let Some(event) = TimelineEvent::of(event) else { return };
        let Some((cpu, Power::Parked(parked))) = event.power() else { return };
        if super::room(&self.told, cpu.0) {
            self.told.insert(cpu.0, ());
            self.feed.change(cpu.0, event.at.0, Some((u8::from(parked), -1)));
        }
    }

    fn finish(self: Box<Self>) -> Result<Option<Shown>, ServeError> {
        let lanes = self.told.keys().map(|cpu| Lane { track: *cpu, label: format!("CPU {cpu}"), most: 0.0 }).collect();
        let states = vec!["available".to_owned(), "parked or offline".to_owned()];
        Ok(self.feed.finish()?.then(|| Shown { title: "Parking".into(), ..Shown::of_states(lanes, states) }))
    }
}
