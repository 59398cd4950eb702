//! Every stay of a CPU in an idle state, and what ended it.

use super::idle_ends::key;
use super::idle_wakeups::interrupt_name;
use crate::idle_ends::{Ended, IdleEnds};
use crate::{Analysis, Begins, Context, World};
use model::{CpuId, CpuStretch, Rows, ThreadKey, ThreadStretch, TimelineEvent, Value};

pub(crate) struct IdleStays {
    ends: IdleEnds,
    over: Vec<Ended>,
}

impl Analysis for IdleStays {
    fn new(_: &Context<'_>) -> Self {
        Self { ends: IdleEnds::default(), over: Vec::new() }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        self.ends.thread(stretch);
    }

    fn cpu(&mut self, stretch: &CpuStretch, begins: Begins, world: &World) {
        self.over.extend(self.ends.cpu(stretch, begins, world));
    }

    fn moved(&mut self, thread: ThreadKey, to: CpuId, world: &World) {
        self.ends.moved(thread, to, world.now);
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        self.over.extend(self.ends.event(event, thread, begins, world));
    }

    fn drain(&mut self, world: &World, out: &mut dyn Rows) {
        for ended in self.over.drain(..) {
            out.row(&[
                i64::from(ended.cpu.0).into(),
                ended.since.into(),
                (ended.since + ended.idle).into(),
                ended.state.map(i64::from).into(),
                ended.stay.into(),
                ended.by.word().into(),
                ended.interrupt.map(|of| interrupt_name(of, world)).into(),
                key(ended.waker),
                key(ended.thread),
                Value::Bool(ended.period),
            ]);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.over.extend(self.ends.finish());
        self.drain(world, out);
    }
}
