//! Each wait for a lock, with the thread that held it and the one that released it.

use crate::World;
use crate::waited_for::{Basis, EachWait, OfWaits, Wait};
use model::{Coded, Ns, Rows, StackId, ThreadKey, Value, WaitKind};

pub(crate) type LockWaits = EachWait<Table>;

#[derive(Default)]
pub(crate) struct Table(Vec<Wait>);

/// Returns the cell of a callchain's number.
fn number(stack: StackId) -> Value {
    Some(i64::from(stack.0)).filter(|_| stack != StackId::NONE).into()
}

impl OfWaits for Table {
    fn wait(&mut self, wait: &Wait, _: &World) {
        if wait.object.is_some_and(|(_, kind)| kind.is_lock()) {
            self.0.push(*wait);
        }
    }

    fn drain(&mut self, world: &World, out: &mut dyn Rows) {
        for wait in self.0.drain(..) {
            let Some((object, kind)) = wait.object else { continue };
            let [running, preempted, ready, blocked] = wait.holder_times;
            let (source, line) = world.lines.of_site(world.functions.call_site(wait.stack));
            let of_holder = |ns: Ns| Value::from(wait.holder.map(|_| ns));
            out.row(&[
                wait.thread.into(),
                i64::from(wait.tid.0).into(),
                wait.span.start.into(),
                wait.span.end.into(),
                wait.span.len().into(),
                Value::Bool(wait.is_whole),
                object.process(),
                object.text().into(),
                WaitKind::word(kind).into(),
                wait.holder.into(),
                wait.basis.map(Basis::word).into(),
                wait.named.into(),
                of_holder(wait.held),
                of_holder(running),
                of_holder(preempted + ready),
                of_holder(blocked),
                wait.holder_reason.and_then(|by| world.reason(by)).into(),
                wait.holders.into(),
                wait.released_by.filter(|by| *by >= ThreadKey::IDLE).into(),
                number(wait.stack),
                world.functions.of_site(world.functions.call_site(wait.stack)),
                number(wait.holder_stack),
                world.functions.of_site(world.functions.call_site(wait.holder_stack)),
                source.into(),
                line.into(),
            ]);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.drain(world, out);
    }
}
