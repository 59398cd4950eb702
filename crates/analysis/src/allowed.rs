//! On which CPUs threads are allowed: the distinct sets, few as they are, by number, and whose is which.
//!
//! What is told of a number whose life is over, or has not begun, is told of its next one: the recorder tells of a new thread
//! when it is forked, before its first waking. With a life its permission is over.

use crate::by_thread::ByThread;
use crate::clocks::Bits;
use model::{NameId, ThreadKey, ThreadState, ThreadStretch, Tid};
use rustc_hash::FxHashMap;

/// Distinct sets kept: one for each CPU (that of its own kernel threads), and what cpusets and programs ask for. Where a thread
/// with a set beyond these is allowed is not known.
const MOST_SETS: usize = 1024;

/// The number of a set of CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct SetId(u16);

impl SetId {
    /// All CPUs, since nobody told where the thread is allowed.
    pub const UNKNOWN: Self = Self(0);

    /// Whether anybody told.
    #[must_use]
    pub fn is_known(self) -> bool {
        self != Self::UNKNOWN
    }
}

/// A set of CPUs.
#[derive(Clone, Debug)]
pub(crate) struct CpuSet {
    /// By their places in [`crate::World::cpus`].
    pub(crate) cpus: Bits,
    /// The cores of these, by their places in [`crate::World::cores`].
    pub(crate) cores: Bits,
}

/// Who is allowed where.
#[derive(Clone, Debug)]
pub(crate) struct Permissions {
    sets: Vec<CpuSet>,
    by_name: FxHashMap<NameId, SetId>,
    of: ByThread<SetId>,
    /// Of numbers whose life is over or has not begun.
    next: FxHashMap<Tid, SetId>,
}

impl Permissions {
    /// With the set of all CPUs.
    pub(crate) fn new(all: CpuSet) -> Self {
        Self { sets: vec![all], by_name: FxHashMap::default(), of: ByThread::new(), next: FxHashMap::default() }
    }

    pub(crate) fn set(&self, set: SetId) -> &CpuSet {
        &self.sets[usize::from(set.0)]
    }

    /// The set that a text tells; `make`: from its text, `None` if that tells none.
    pub(crate) fn named(&mut self, name: NameId, make: impl FnOnce() -> Option<CpuSet>) -> SetId {
        if let Some(known) = self.by_name.get(&name) {
            return *known;
        }
        let set = make().and_then(|set| self.number(set)).unwrap_or(SetId::UNKNOWN);
        if self.by_name.len() < MOST_SETS {
            self.by_name.insert(name, set);
        }
        set
    }

    fn number(&mut self, set: CpuSet) -> Option<SetId> {
        let known = self.sets.iter().skip(1).position(|s| s.cpus == set.cpus);
        let at = known.map_or(self.sets.len(), |at| at + 1);
        if at == self.sets.len() && at <= MOST_SETS {
            self.sets.push(set);
        }
        u16::try_from(at).ok().filter(|_| at < self.sets.len()).map(SetId)
    }

    pub(crate) fn of(&self, thread: ThreadKey) -> SetId {
        self.of.get(thread).copied().unwrap_or_default()
    }

    pub(crate) fn put(&mut self, thread: ThreadKey, set: SetId) {
        *self.of.of(thread) = set;
    }

    /// Told of the next life of a number.
    pub(crate) fn next(&mut self, tid: Tid, set: SetId) {
        self.next.insert(tid, set);
    }

    /// A stretch begins: the set that its thread has from now on, if that changes.
    pub(crate) fn begins(&mut self, stretch: &ThreadStretch) -> Option<SetId> {
        match stretch.state {
            ThreadState::Exited => Some(SetId::UNKNOWN),
            _ if self.next.is_empty() => None,
            _ => self.next.remove(&stretch.tid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_one_number_and_sets_beyond_the_most_are_unknown() {
        let many = 2 * MOST_SETS;
        let set = |places: &[usize]| CpuSet { cpus: Bits::of(places.iter().copied(), many), cores: Bits::none(1) };
        let mut permissions = Permissions::new(set(&[]));
        let mut named = |name, places: &[usize]| permissions.named(NameId(name), || Some(set(places)));
        let first = named(1, &[0, 3]);
        assert_eq!((first.is_known(), named(2, &[0, 3]), named(1, &[])), (true, first, first));
        let numbers: Vec<SetId> = (0..many).map(|at| named(at as u32 + 3, &[at])).collect();
        let (known, beyond) = numbers.split_at(MOST_SETS - 1);
        assert!(known.iter().all(|set| set.is_known()) && beyond.iter().all(|set| !set.is_known()));
        assert_eq!(named(9_999, &[5]), numbers[5]);
        assert_eq!(permissions.set(numbers[5]).cpus, set(&[5]).cpus);
    }
}
