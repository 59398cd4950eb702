//! The frequency of each CPU, from when it was first told.

use super::{Kind, Lane, Made, Shown};
use crate::ServeError;
use crate::feed::Feed;
use crate::making::To;
use engine::Session;
use levels::Values;
use model::{Event, Power, TimelineEvent};
use std::collections::BTreeMap;

struct Frequency<'a> {
    feed: Feed<'a, Values>,
    /// The most of each CPU, kHz.
    most: BTreeMap<u32, u32>,
}

pub(crate) fn new<'a>(_: &Session, to: To<'a>, name: &'static str) -> Result<Made<'a>, ServeError> {
    Ok(Box::new(Frequency { feed: Feed::new(to, name), most: BTreeMap::new() }))
}

impl Kind for Frequency<'_> {
    fn event(&mut self, event: &Event, _: &[Box<str>]) {
        let Some(event) = TimelineEvent::of(event) else { return };
        let Some((cpu, Power::Frequency(khz))) = event.power() else { return };
        if super::room(&self.most, cpu.0) {
            let most = self.most.entry(cpu.0).or_default();
            *most = khz.max(*most);
            self.feed.change(cpu.0, event.at.0, Some(f64::from(khz)));
        }
    }

    fn finish(self: Box<Self>) -> Result<Option<Shown>, ServeError> {
        let lane =
            |(cpu, most): (&u32, &u32)| Lane { track: *cpu, label: format!("CPU {cpu}"), most: f64::from(*most) };
        let lanes = self.most.iter().map(lane).collect();
        Ok(self.feed.finish()?.then(|| Shown {
            title: "Frequency: mean over the time drawn, lighter up to the most".into(),
            unit: "kHz".into(),
            ..Shown::of_values(lanes)
        }))
    }
}
