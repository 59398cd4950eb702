//! Texts and callchains go by number in events. Each stream numbers its own; the recording has one number for each, whoever told it. With one
//! stream its numbers are used as they are.

use model::{Batch, Event, NameId, StackFrame, StackId, What};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// The recording's numbers.
#[derive(Default)]
pub(crate) struct Numbers {
    names: Interner<Box<str>>,
    stacks: Interner<Box<[StackFrame]>>,
}

/// By a stream's own number of a text or callchain, the recording's. 0 is none's.
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
    /// Takes what a stream told anew, hands on to `out` what the recording had not, and gives the events the recording's numbers.
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
    for id in [&mut frame.function, &mut frame.file, &mut frame.build_id] {
        rename(id, names);
    }
}

fn renumber(event: &mut Event, own: &OwnNumbers) {
    let name = |id: &mut NameId| rename(id, &own.names);
    match &mut event.what {
        What::Switch(s) => {
            name(&mut s.prev_name);
            name(&mut s.next_name);
            s.stack = StackId(own.stacks.get(s.stack.0 as usize).copied().unwrap_or(0));
        }
        What::Wake(w) => name(&mut w.name),
        What::Fork { name: n, .. } | What::Name { name: n, .. } | What::Irq { name: n, .. } => name(n),
        What::Exec { file: n, .. } | What::Affinity { cpus: n, .. } | What::Cgroup { path: n, .. } => name(n),
        What::CgroupLimits { path, cpus, .. } => {
            name(path);
            name(cpus);
        }
        What::Seen(seen) => name(&mut seen.name),
        What::Mark(mark) => name(&mut mark.name),
        What::Value { name: n, .. } => name(n),
        What::Frame(frame) => name(&mut frame.layer),
        What::Present(present) => {
            name(&mut present.application);
            name(&mut present.mode);
        }
        _ => {}
    }
}
