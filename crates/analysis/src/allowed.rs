//! The CPUs on which each thread is allowed. Distinct sets are few, so each is stored once and numbered.
//!
//! A setting recorded for a TID with no current thread instance applies to its next instance: the recorder writes a new
//! thread's affinity at its fork, before its first wakeup. The setting ends with the instance.

use crate::by_thread::ByThread;
use crate::clocks::Bits;
use model::{NameId, ThreadKey, ThreadState, ThreadStretch, Tid};
use rustc_hash::FxHashMap;

/// The maximum number of distinct sets: one for each CPU (for its own kernel threads), plus those of cpusets and
/// programs. Threads with further sets get [`SetId::UNKNOWN`].
const MAX_SETS: usize = 1024;

/// The number of a set of CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct SetId(u16);

impl SetId {
    /// All CPUs: the thread's affinity was not recorded.
    pub const UNKNOWN: Self = Self(0);

    /// Whether the affinity was recorded.
    #[must_use]
    pub fn is_known(self) -> bool {
        self != Self::UNKNOWN
    }
}

/// A set of CPUs.
#[derive(Clone, Debug)]
pub(crate) struct CpuSet {
    /// Indices into [`crate::World::cpus`].
    pub(crate) cpus: Bits,
    /// The cores of these CPUs: indices into [`crate::World::cores`].
    pub(crate) cores: Bits,
}

/// The affinity of every thread.
#[derive(Clone, Debug)]
pub(crate) struct Permissions {
    sets: Vec<CpuSet>,
    by_name: FxHashMap<NameId, SetId>,
    by_thread: ByThread<SetId>,
    /// The sets of TIDs without a current instance.
    next: FxHashMap<Tid, SetId>,
}

impl Permissions {
    /// Starts with the set of all CPUs.
    pub(crate) fn new(all: CpuSet) -> Self {
        Self { sets: vec![all], by_name: FxHashMap::default(), by_thread: ByThread::new(), next: FxHashMap::default() }
    }

    pub(crate) fn set(&self, set: SetId) -> &CpuSet {
        &self.sets[usize::from(set.0)]
    }

    /// Returns the set that a CPU list describes. `make` builds it from the text, or returns `None` if the text is not
    /// usable.
    pub(crate) fn named(&mut self, name: NameId, make: impl FnOnce() -> Option<CpuSet>) -> SetId {
        if let Some(known) = self.by_name.get(&name) {
            return *known;
        }
        let set = make().and_then(|set| self.number(set)).unwrap_or(SetId::UNKNOWN);
        if self.by_name.len() < MAX_SETS {
            self.by_name.insert(name, set);
        }
        set
    }

    fn number(&mut self, set: CpuSet) -> Option<SetId> {
        let known = self.sets.iter().skip(1).position(|s| s.cpus == set.cpus);
        let at = known.map_or(self.sets.len(), |at| at + 1);
        if at == self.sets.len() && at <= MAX_SETS {
            self.sets.push(set);
        }
        u16::try_from(at).ok().filter(|_| at < self.sets.len()).map(SetId)
    }

    pub(crate) fn of_thread(&self, thread: ThreadKey) -> SetId {
        self.by_thread.get(thread).copied().unwrap_or_default()
    }

    pub(crate) fn put(&mut self, thread: ThreadKey, set: SetId) {
        *self.by_thread.of(thread) = set;
    }

    /// Sets the affinity of the next instance of a TID.
    pub(crate) fn set_next(&mut self, tid: Tid, set: SetId) {
        self.next.insert(tid, set);
    }

    /// Handles the begin of a stretch. Returns the new set of its thread, if that changes.
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
    fn equal_sets_share_a_number_and_sets_over_the_limit_are_unknown() {
        let many = 2 * MAX_SETS;
        let set = |places: &[usize]| CpuSet { cpus: Bits::of(places.iter().copied(), many), cores: Bits::none(1) };
        let mut permissions = Permissions::new(set(&[]));
        let mut named = |name, places: &[usize]| permissions.named(NameId(name), || Some(set(places)));
        let first = named(1, &[0, 3]);
        assert_eq!((first.is_known(), named(2, &[0, 3]), named(1, &[])), (true, first, first));
        let numbers: Vec<SetId> = (0..many).map(|at| named(at as u32 + 3, &[at])).collect();
        let (known, beyond) = numbers.split_at(MAX_SETS - 1);
        assert!(known.iter().all(|set| set.is_known()) && beyond.iter().all(|set| !set.is_known()));
        assert_eq!(named(9_999, &[5]), numbers[5]);
        assert_eq!(permissions.set(numbers[5]).cpus, set(&[5]).cpus);
    }
}
