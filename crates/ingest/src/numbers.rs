//! Renumbers texts and callchains, which events reference by id. Each stream has its own ids; the recording has one id for each text
//! and callchain, from whichever stream. With a single stream, its ids are used unchanged.

use model::{Batch, Event, NameId, StackFrame, StackId};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// The ids of the recording.
#[derive(Default)]
pub(crate) struct Numbers {
    names: Interner<Box<str>>,
    stacks: Interner<Box<[StackFrame]>>,
}

/// Maps a stream's own ids of texts and callchains to those of the recording. 0 means none.
pub(crate) struct OwnNumbers {
    names: Vec<u32>,
    stacks: Vec<u32>,
}

impl Default for OwnNumbers {
    fn default() -> Self {
        Self { names: vec![0], stacks: vec![0] }
    }
}

impl Numbers {
    /// Takes new texts and callchains of a stream, adds those that are new in the recording to `out`, and renumbers the events.
    pub(crate) fn renumber(&mut self, incoming: &mut Batch, own: &mut OwnNumbers, out: &mut Batch) {
        for name in incoming.names.drain(..) {
            own.names.push(self.names.intern(name, &mut out.names));
        }
        for mut stack in incoming.stacks.drain(..) {
            stack.iter_mut().for_each(|frame| renumber_frame(frame, &own.names));
            own.stacks.push(self.stacks.intern(stack, &mut out.stacks));
        }
        for event in &mut incoming.events {
            renumber(event, own);
        }
    }
}

struct Interner<T> {
    ids: FxHashMap<T, u32>,
    count: u32,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { ids: FxHashMap::default(), count: 0 }
    }
}

impl<T: Hash + Eq + Clone> Interner<T> {
    fn intern(&mut self, item: T, fresh: &mut Vec<T>) -> u32 {
        *self.ids.entry(item).or_insert_with_key(|item| {
            self.count += 1;
            fresh.push(item.clone());
            self.count
        })
    }
}

fn rename(id: &mut NameId, names: &[u32]) {
    id.0 = names.get(id.0 as usize).copied().unwrap_or(0);
}

fn renumber_frame(frame: &mut StackFrame, names: &[u32]) {
    for id in [&mut frame.function, &mut frame.file, &mut frame.build_id, &mut frame.source] {
        rename(id, names);
    }
}

fn renumber(event: &mut Event, own: &OwnNumbers) {
    let mut stack = |id: &mut StackId| id.0 = own.stacks.get(id.0 as usize).copied().unwrap_or(0);
    event.what.ids(&mut |id, _| rename(id, &own.names), &mut stack);
}
