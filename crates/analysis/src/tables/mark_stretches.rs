//! Every marked stretch and the state times of its thread. If a program marks its frames, each frame is one.

use crate::marked::{Stretch, Tracks, thread_cells, time_cells};
use crate::{Analysis, Begins, Context, World};
use model::{Rows, ThreadKey, ThreadStretch, TimelineEvent, Value};

pub(crate) struct MarkStretches {
    tracks: Tracks,
    /// The stretches that ended and were not written yet.
    over: Vec<Stretch>,
}

impl Analysis for MarkStretches {
    fn new(_: &Context<'_>) -> Self {
        Self { tracks: Tracks::default(), over: Vec::new() }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, world: &World) {
        self.tracks.thread(stretch, world);
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        self.over.extend(event.mark().and_then(|mark| self.tracks.marked(mark, thread, begins, world)));
    }

    fn drain(&mut self, world: &World, out: &mut dyn Rows) {
        for stretch in self.over.drain(..) {
            let [thread, pid] = thread_cells(stretch.thread, stretch.pid);
            let [running, ready, blocked, unknown] = time_cells(stretch.thread, &stretch.clocks);
            out.row(&[
                thread,
                pid,
                world.name(stretch.name).into(),
                stretch.start.into(),
                stretch.end.into(),
                Value::Bool(stretch.ended),
                (stretch.end - stretch.start).into(),
                running,
                ready,
                blocked,
                unknown,
            ]);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.over.extend(self.tracks.rest(world));
        self.drain(world, out);
    }
}
