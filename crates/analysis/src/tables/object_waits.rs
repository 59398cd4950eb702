//! Each wait, with what it was for and the thread that ended it.

use super::wait_objects::of_call;
use crate::World;
use crate::waited_for::{EachWait, OfWaits, Ready, Wait};
use model::{Coded, NameId, Rows, StackId, ThreadKey, Value, WaitKind};

pub(crate) type ObjectWaits = EachWait<Table>;

#[derive(Default)]
pub(crate) struct Table(Vec<Wait>);

impl OfWaits for Table {
    fn wait(&mut self, wait: &Wait, _: &World) {
        self.0.push(*wait);
    }

    fn drain(&mut self, world: &World, out: &mut dyn Rows) {
        for wait in self.0.drain(..) {
            let (source, line) = world.lines.of_site(world.functions.call_site(wait.stack));
            let reason = wait.reason.and_then(|by| world.reason(by));
            let kind = wait.object.map_or_else(|| of_call(reason), |(_, kind)| WaitKind::word(kind));
            out.row(&[
                wait.thread.into(),
                i64::from(wait.tid.0).into(),
                wait.span.start.into(),
                wait.span.end.into(),
                wait.span.len().into(),
                Value::Bool(wait.is_whole),
                reason.into(),
                kind.into(),
                wait.object.map(|(object, _)| object.text()).into(),
                Some(wait.name).filter(|name| *name != NameId::NONE).and_then(|name| world.name(name)).into(),
                wait.ready.map(|ready| ready.kind.word()).into(),
                wait.ready.map(Ready::text).into(),
                wait.ready.and_then(|ready| world.name(ready.name)).into(),
                wait.holder.into(),
                wait.released_by.filter(|by| *by >= ThreadKey::IDLE).into(),
                Some(i64::from(wait.stack.0)).filter(|_| wait.stack != StackId::NONE).into(),
                source.into(),
                line.into(),
            ]);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.drain(world, out);
    }
}
