//! Concurrency: the number of busy cores of each type, and of busy second SMT siblings, from the table `concurrency_bands`.

use super::{BoxedKind, Kind, KindInfo, Lane};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::{BandSteps, Session};
use levels::Values;
use model::{CpuStretch, Ns};

/// The names of the bands, in the order of the table.
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
    bands: BandFeed<'a>,
}

/// The tracks of the bands.
struct BandFeed<'a> {
    feed: Feed<'a, Values>,
    most: [i64; BANDS.len()],
}

pub(crate) fn new<'a>(session: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    let bands = BandFeed { feed: Feed::new(to, name), most: [0; BANDS.len()] };
    Ok(Box::new(Concurrency { steps: session.band_steps()?, bands }))
}

impl BandFeed<'_> {
    fn step(&mut self, at: Ns, counts: [i64; BANDS.len()]) {
        for ((band, now), most) in (0u32..).zip(counts).zip(&mut self.most) {
            *most = now.max(*most);
            self.feed.change(band, at.0, Some(now as f64));
        }
    }
}

impl Kind for Concurrency<'_> {
    fn cpu(&mut self, stretch: &CpuStretch) {
        self.steps.push(stretch, |at, counts| self.bands.step(at, counts));
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let Self { steps, mut bands } = *self;
        steps.finish(|at, counts| bands.step(at, counts));
        let used = (0u32..).zip(BANDS).zip(bands.most).filter(|(_, most)| *most > 0);
        let lane =
            |((track, label), most): ((u32, &str), i64)| Lane { most: most as f64, ..Lane::new(track, label.into()) };
        let lanes: Vec<Lane> = used.map(lane).collect();
        // A frame log has no CPUs.
        let any = !lanes.is_empty();
        let title = "Concurrency (mean per pixel; lighter: maximum)".into();
        Ok((bands.feed.finish()? && any).then(|| KindInfo { title, ..KindInfo::of_values(lanes) }))
    }
}
