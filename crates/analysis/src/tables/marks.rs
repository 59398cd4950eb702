//! How long marked stretches took, and the state times of their threads.

use crate::marked::{Clocks, Stretch, Tracks, thread_cells, time_cells};
use crate::{Analysis, Begins, Context, World};
use model::{MarkEdge, NameId, Ns, Pid, Rows, ThreadKey, ThreadStretch, TimelineEvent};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Default)]
struct Sums {
    count: i64,
    open: i64,
    duration: Ns,
    longest: Ns,
    clocks: Clocks,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.open += other.open;
        self.duration += other.duration;
        self.longest = self.longest.max(other.longest);
        self.clocks.iter_mut().zip(other.clocks).for_each(|(sum, more)| *sum += more);
    }
}

pub(crate) struct Marks {
    tracks: Tracks,
    sums: BTreeMap<(ThreadKey, Pid, NameId), Sums>,
}

impl Marks {
    fn end(&mut self, stretch: &Stretch) {
        let length = stretch.end - stretch.start;
        let one = Sums {
            count: i64::from(stretch.ended),
            open: i64::from(!stretch.ended),
            duration: length,
            longest: length,
            clocks: stretch.clocks,
        };
        self.sums.entry((stretch.thread, stretch.pid, stretch.name)).or_default().add(&one);
    }
}

impl Analysis for Marks {
    fn new(_: &Context<'_>) -> Self {
        Self { tracks: Tracks::default(), sums: BTreeMap::new() }
    }

    fn weight() -> usize {
        3
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, world: &World) {
        self.tracks.thread(stretch, world);
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        let Some(mark) = event.mark() else { return };
        if let Some(stretch) = self.tracks.marked(mark, thread, begins, world) {
            self.end(&stretch);
        } else if mark.edge == MarkEdge::Instant && begins == Begins::Here {
            self.sums.entry((thread, mark.pid, mark.name)).or_default().count += 1;
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for stretch in self.tracks.rest(world) {
            self.end(&stretch);
        }
        // The same text may have several name numbers.
        let mut by_text: BTreeMap<_, Sums> = BTreeMap::new();
        for ((thread, pid, name), sums) in &self.sums {
            by_text.entry((*thread, *pid, world.name(*name))).or_default().add(sums);
        }
        for ((thread, pid, name), sums) in by_text {
            let [key, pid] = thread_cells(thread, pid);
            let [running, ready, blocked, unknown] = time_cells(thread, &sums.clocks);
            let (duration, longest) = (sums.duration.into(), sums.longest.into());
            out.row(&[
                key,
                pid,
                name.into(),
                sums.count.into(),
                sums.open.into(),
                duration,
                longest,
                running,
                ready,
                blocked,
                unknown,
            ]);
        }
    }
}
