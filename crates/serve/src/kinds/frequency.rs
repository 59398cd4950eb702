//! The frequency of each CPU, from its first event on.

use super::{BoxedKind, Kind, KindInfo, Lane};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::Session;
use levels::Values;
use model::{Event, Power, TimelineEvent};
use std::collections::BTreeMap;

struct Frequency<'a> {
    feed: Feed<'a, Values>,
    /// The maximum of each CPU, in kHz.
    most: BTreeMap<u32, u32>,
}

pub(crate) fn new<'a>(_: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    Ok(Box::new(Frequency { feed: Feed::new(to, name), most: BTreeMap::new() }))
}

impl Kind for Frequency<'_> {
    fn event(&mut self, event: &Event, _: &[Box<str>]) {
        let Some(event) = TimelineEvent::from_event(event) else { return };
        let Some((cpu, Power::Frequency(khz))) = event.power() else { return };
        if super::room(&self.most, cpu.0) {
            let most = self.most.entry(cpu.0).or_default();
            *most = khz.max(*most);
            self.feed.change(cpu.0, event.at.0, Some(f64::from(khz)));
        }
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let lane = |(cpu, most): (&u32, &u32)| Lane { most: f64::from(*most), ..Lane::new(*cpu, format!("CPU {cpu}")) };
        let lanes = self.most.iter().map(lane).collect();
        Ok(self.feed.finish()?.then(|| KindInfo {
            title: "Frequency (mean per pixel; lighter: maximum)".into(),
            unit: "kHz".into(),
            ..KindInfo::of_values(lanes)
        }))
    }
}
