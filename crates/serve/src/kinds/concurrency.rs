//! How many cores of each type, and how many CPUs beside the first on them, are busy at once: as the table `concurrency_bands` counts.

use super::{Kind, Lane, Made, Shown};
use crate::ServeError;
use crate::feed::Feed;
use crate::making::To;
use engine::Session;
use levels::Values;
use model::{CoreType, CpuId, CpuState, CpuStretch, Row, tables};
use std::collections::BTreeMap;

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
const SECOND: usize = 5;
const UNKNOWN: usize = 6;

struct Concurrency<'a> {
    feed: Feed<'a, Values>,
    /// The CPUs that the table follows: the first of each one's core, and what it does.
    cpus: BTreeMap<CpuId, (CpuId, CpuState)>,
    /// By the first CPU of each core: its band, and how many of its CPUs are busy.
    cores: BTreeMap<CpuId, (usize, i64)>,
    now: [i64; 7],
    most: [i64; 7],
    at: i64,
}

fn band(core_type: CoreType) -> usize {
    match core_type {
        CoreType::Performance => 0,
        CoreType::Middle => 1,
        CoreType::Efficient => 2,
        CoreType::LowPower => 3,
        CoreType::Uniform => 4,
    }
}

pub(crate) fn new<'a>(session: &Session, to: To<'a>, name: &'static str) -> Result<Made<'a>, ServeError> {
    let mut followed = Vec::new();
    session.rows(tables::CPUS.name, &mut |rows| {
        for cells in rows {
            let row = Row::new(&tables::CPUS, cells);
            if ["switches", "busy_ns", "idle_ns"].iter().any(|col| row.sum(col) > 0) {
                followed.extend(u32::try_from(row.sum("cpu")).map(CpuId));
            }
        }
        Ok(())
    })?;
    followed.sort_unstable();
    let machine = session.machine();
    let (mut cpus, mut cores) = (BTreeMap::new(), BTreeMap::new());
    for cpu in &followed {
        let siblings = machine.cpus.iter().find(|c| c.id == *cpu).map_or(&[][..], |c| &c.siblings);
        let first = siblings.iter().copied().filter(|s| followed.binary_search(s).is_ok()).min().unwrap_or(*cpu);
        cpus.insert(*cpu, (first, CpuState::Unknown));
        cores.insert(first, (band(machine.core_type(first)), 0));
    }
    let now = std::array::from_fn(|band| if band == UNKNOWN { followed.len() as i64 } else { 0 });
    Ok(Box::new(Concurrency { feed: Feed::new(to, name), cpus, cores, now, most: [0; 7], at: 0 }))
}

impl Concurrency<'_> {
    /// Tells what was until now.
    fn tell(&mut self) {
        for (band, now) in self.now.iter().enumerate() {
            self.most[band] = self.most[band].max(*now);
            self.feed.change(band as u32, self.at, Some(*now as f64));
        }
    }
}

impl Kind for Concurrency<'_> {
    fn cpu(&mut self, stretch: &CpuStretch) {
        // Of what changes in one instant, only what it came to is told.
        if self.cpus.contains_key(&stretch.cpu) && stretch.span.start.0 > self.at {
            self.tell();
            self.at = stretch.span.start.0;
        }
        let Some((first, state)) = self.cpus.get_mut(&stretch.cpu) else { return };
        let Some((of_type, busy)) = self.cores.get_mut(first) else { return };
        let before = std::mem::replace(state, stretch.state);
        *busy -= i64::from(before == CpuState::Busy);
        let counted = |state| match state {
            CpuState::Busy if *busy > 0 => Some(SECOND),
            CpuState::Busy => Some(*of_type),
            CpuState::Unknown => Some(UNKNOWN),
            CpuState::Idle => None,
        };
        for (state, by) in [(before, -1), (stretch.state, 1)] {
            if let Some(band) = counted(state) {
                self.now[band] += by;
            }
        }
        *busy += i64::from(stretch.state == CpuState::Busy);
    }

    fn finish(mut self: Box<Self>) -> Result<Option<Shown>, ServeError> {
        self.tell();
        let Self { feed, most, .. } = *self;
        let there = (0u32..).zip(BANDS).zip(most).filter(|(_, most)| *most > 0);
        let lane = |((track, label), most): ((u32, &str), i64)| Lane { track, label: label.into(), most: most as f64 };
        let lanes = there.map(lane).collect();
        let title = "Busy at once: mean over the time drawn, lighter up to the most".into();
        Ok(feed.finish()?.then(|| Shown { title, ..Shown::of_values(lanes) }))
    }
}
