//! How many cores of each type, and how many CPUs beside the first on them, are busy at once: the steps of the table `concurrency_bands`.

use super::{Kind, Lane, Made, Shown};
use crate::ServeError;
use crate::feed::Feed;
use crate::making::To;
use engine::{BandSteps, Session};
use levels::Values;
use model::{CpuStretch, Ns};

/// The bands in the order of the table, and what they are called here.
const BANDS: [&str; 7] = [
    "performance cores",
    "middle cores",
    "efficient cores",
    "low-power cores",
    "cores",
    "second siblings",
    "unknown CPUs",
];

struct Concurrency<'a> {
    steps: BandSteps,
    told: Told<'a>,
}

/// What was drawn of the steps.
struct Told<'a> {
    feed: Feed<'a, Values>,
    most: [i64; BANDS.len()],
}

pub(crate) fn new<'a>(session: &Session, to: To<'a>, name: &'static str) -> Result<Made<'a>, ServeError> {
    let told = Told { feed: Feed::new(to, name), most: [0; BANDS.len()] };
    Ok(Box::new(Concurrency { steps: session.band_steps()?, told }))
}

impl Told<'_> {
    fn step(&mut self, at: Ns, bands: [i64; BANDS.len()]) {
        for ((band, now), most) in (0u32..).zip(bands).zip(&mut self.most) {
            *most = now.max(*most);
            self.feed.change(band, at.0, Some(now as f64));
        }
    }
}

impl Kind for Concurrency<'_> {
    fn cpu(&mut self, stretch: &CpuStretch) {
        self.steps.push(stretch, |at, bands| self.told.step(at, bands));
    }

    fn finish(self: Box<Self>) -> Result<Option<Shown>, ServeError> {
        let Self { steps, mut told } = *self;
        steps.finish(|at, bands| told.step(at, bands));
        let there = (0u32..).zip(BANDS).zip(told.most).filter(|(_, most)| *most > 0);
        let lane = |((track, label), most): ((u32, &str), i64)| Lane { track, label: label.into(), most: most as f64 };
        let lanes: Vec<Lane> = there.map(lane).collect();
        // Of a frame log alone there are no CPUs.
        let any = !lanes.is_empty();
        let title = "Busy at once: mean over the time drawn, lighter up to the most".into();
        Ok((told.feed.finish()? && any).then(|| Shown { title, ..Shown::of_values(lanes) }))
    }
}
