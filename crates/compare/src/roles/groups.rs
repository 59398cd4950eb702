//! Threads of all runs by name: the first step to roles. Linear in the number of threads.

use super::names::{CUT, base, kernel_base, process_base};
use crate::{Run, ThreadFacts};
use model::ThreadKey;
use std::collections::{BTreeMap, HashMap};

/// A shorter name is not taken for the begin of another one that is cut.
const MIN_PREFIX: usize = 8;

/// How a group of threads differs from others of its process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    /// A kernel thread.
    Kernel,
    /// The main threads of processes: TID and process ID are equal.
    Main,
    /// Other threads with the name of their process: the program did not name them.
    Unnamed,
    /// Threads with a name of their own.
    Named,
}

/// Which threads are of one group, whichever run and side.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Key {
    /// The process, see [`process_base`]; `kernel` for kernel threads; empty if unknown.
    pub(super) process: String,
    /// The thread, see [`base`]; empty for main threads and unnamed ones.
    pub(super) thread: String,
    pub(super) kind: Kind,
    /// Which part of threads of one name, see the module `split`.
    pub(super) part: Option<String>,
}

/// The threads of all runs in groups.
pub(super) struct Groups<'a> {
    pub(super) runs: [&'a [Run]; 2],
    pub(super) keys: Vec<Key>,
    /// The group of each thread: by side, run and place in the run's threads. `None`: the idle task.
    pub(super) of: [Vec<Vec<Option<usize>>>; 2],
}

/// Where a thread is: side, run and place in the run's threads.
pub(super) type Place = (usize, usize, usize);

impl<'a> Groups<'a> {
    pub(super) fn new(runs: [&'a [Run]; 2]) -> Self {
        let mut ids = HashMap::<Key, usize>::new();
        let (mut keys, mut longest) = (Vec::<Key>::new(), Vec::<usize>::new());
        let of = runs.map(|side| {
            let of_run = |run: &Run| -> Vec<Option<usize>> {
                let group = |thread: &ThreadFacts| {
                    if thread.thread == ThreadKey::IDLE {
                        return None;
                    }
                    let key = key_of(thread);
                    let id = ids.get(&key).copied().unwrap_or_else(|| {
                        ids.insert(key.clone(), keys.len());
                        keys.push(key);
                        longest.push(0);
                        keys.len() - 1
                    });
                    if let Some(longest) = longest.get_mut(id) {
                        *longest = (*longest).max(thread.name.len());
                    }
                    Some(id)
                };
                run.threads.iter().map(group).collect()
            };
            side.iter().map(of_run).collect()
        });
        let mut groups = Self { runs, keys, of };
        groups.join_cut_names(&longest);
        groups
    }

    /// Joins names that are equal up to where the kernel cut them: `9_dirty_io_sche` and `10_dirty_io_sch`.
    fn join_cut_names(&mut self, longest: &[usize]) {
        let mut by_name: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for (id, key) in self.keys.iter().enumerate().filter(|(_, key)| key.kind == Kind::Named) {
            by_name.insert((&key.process, &key.thread), id);
        }
        let mut joined: Vec<usize> = (0..self.keys.len()).collect();
        let mut root: Option<(&str, &str, usize)> = None;
        let length = |id: usize| longest.get(id).copied().unwrap_or(0);
        for ((process, name), id) in by_name {
            match root {
                Some((of, begin, to)) if of == process && name.starts_with(begin) && length(id) >= CUT => {
                    if let Some(joined) = joined.get_mut(id) {
                        *joined = to;
                    }
                }
                _ => root = (name.len() >= MIN_PREFIX && length(id) == CUT).then_some((process, name, id)),
            }
        }
        let all = self.of.iter_mut().flatten().flatten();
        all.for_each(|id| *id = id.and_then(|id| joined.get(id).copied()));
    }

    /// All threads with their groups.
    pub(super) fn threads(&self) -> impl Iterator<Item = (Place, usize, &'a ThreadFacts)> {
        self.runs.into_iter().zip(&self.of).enumerate().flat_map(|(side, (runs, of))| {
            runs.iter().zip(of).enumerate().flat_map(move |(run, (facts, of))| {
                let threads = facts.threads.iter().zip(of).enumerate();
                threads.filter_map(move |(at, (thread, group))| Some(((side, run, at), (*group)?, thread)))
            })
        })
    }

    /// Moves a thread to another group.
    pub(super) fn set(&mut self, (side, run, at): Place, group: usize) {
        let of = self.of.get_mut(side).and_then(|runs| runs.get_mut(run)).and_then(|threads| threads.get_mut(at));
        if let Some(of) = of {
            *of = Some(group);
        }
    }
}

fn key_of(thread: &ThreadFacts) -> Key {
    if thread.is_kernel {
        let (process, name) = ("kernel".to_owned(), kernel_base(&thread.name));
        return Key { process, thread: name, kind: Kind::Kernel, part: None };
    }
    let process = process_base(&thread.process);
    let kind = match thread.pid {
        Some(pid) if pid == thread.tid => Kind::Main,
        Some(_) if thread.name == thread.process || process_base(&thread.name) == process => Kind::Unnamed,
        _ => Kind::Named,
    };
    let name = if kind == Kind::Named { base(&thread.name) } else { String::new() };
    Key { process, thread: name, kind, part: None }
}
