//! Which groups have series of their own, so that counters never fall.
//!
//! A snapshot has the groups with the most running time, and their order changes. If a group left its series and its sums became part of
//! `other`, and came back later, `other` would fall, which Prometheus takes for a restart and a huge rate. So a group's series begin at
//! 0 when it gets a place, and its earlier sums stay in `other`:
//!
//! ```text
//!   sums of a group ───────┬──────────── since it has its place ──▶ its own series
//!                          └──────────── before ──────────────────▶ other = the machine − all own series
//! ```
//!
//! When it loses its place, its own sums become part of `other`, which only grows. Places are bounded: a group gets a free one, or once a
//! minute that of a group that ran less than half as long in this minute.

use std::collections::HashMap;
use watch::histogram::Histogram;
use watch::snapshot::{ClassSums, GroupKind, GroupSums, ReadySums, SiblingSums, Snapshot};

/// The time between two decisions to give places to other groups, ns: short-lived groups do not make series while all places are taken.
const MINUTE_NS: u64 = 60_000_000_000;

type Key = (GroupKind, String);

/// The groups that have series of their own.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    places: usize,
    /// Their sums when they got their places, which stay in `other`.
    own: HashMap<Key, Vec<ClassSums>>,
    /// The running time of all groups at the last decision, ns.
    running_ns: HashMap<Key, u64>,
    decided_ns: Option<u64>,
    /// How often a group lost its place.
    pub(crate) replaced: u64,
}

impl Choice {
    /// Gives at most `places` groups series of their own.
    pub(crate) fn new(places: usize) -> Self {
        Self { places, ..Self::default() }
    }

    /// Returns the number of places.
    pub(crate) fn places(&self) -> usize {
        self.places
    }

    /// Returns the sums of the groups with places, and of all others together as the last one. Empty if nothing was grouped.
    pub(crate) fn choose(&mut self, snapshot: &Snapshot) -> Vec<GroupSums> {
        if snapshot.groups.is_empty() {
            return Vec::new();
        }
        let named = || snapshot.groups.iter().filter(|g| !matches!(g.kind, GroupKind::Other | GroupKind::Machine));
        let now: HashMap<Key, &GroupSums> = named().map(|g| ((g.kind, g.name.clone()), g)).collect();
        let had = self.own.len();
        self.own.retain(|key, _| now.contains_key(key));
        self.replaced += (had - self.own.len()) as u64;
        self.decide(snapshot.at_ns, &now);
        let mut rest = snapshot.total.by_class.clone();
        let mut chosen = Vec::with_capacity(self.own.len() + 1);
        for group in named() {
            let Some(before) = self.own.get(&(group.kind, group.name.clone())) else { continue };
            let mut by_class = group.by_class.clone();
            by_class.iter_mut().zip(before).for_each(|(sums, before)| subtract(sums, before));
            rest.iter_mut().zip(&by_class).for_each(|(rest, sums)| subtract(rest, sums));
            chosen.push(GroupSums { by_class, ..group.clone() });
        }
        chosen.push(GroupSums { kind: GroupKind::Other, name: String::new(), by_class: rest, throttled: None });
        chosen
    }

    fn decide(&mut self, at_ns: u64, now: &HashMap<Key, &GroupSums>) {
        let is_due = self.decided_ns.is_none_or(|decided| at_ns.saturating_sub(decided) >= MINUTE_NS);
        if !is_due && self.own.len() >= self.places {
            return;
        }
        let ran = |key: &Key| {
            let before = self.running_ns.get(key).copied().unwrap_or(0);
            now.get(key).map_or(0, |group| group.running_ns().saturating_sub(before))
        };
        let mut waiting: Vec<(u64, &Key)> =
            now.keys().filter(|k| !self.own.contains_key(*k)).map(|k| (ran(k), k)).collect();
        waiting.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let mut least: Vec<(u64, Key)> = self.own.keys().map(|k| (ran(k), k.clone())).collect();
        least.sort();
        let mut least = least.into_iter();
        for (ran, key) in waiting {
            if self.own.len() >= self.places {
                match least.next() {
                    Some((other, lost)) if is_due && ran / 2 > other => drop(self.own.remove(&lost)),
                    _ => break,
                }
                self.replaced += 1;
            }
            // Of the first choice the sums count from the start of watching on.
            let before = now.get(key).filter(|_| self.decided_ns.is_some()).map(|group| group.by_class.clone());
            self.own.insert(key.clone(), before.unwrap_or_default());
        }
        if is_due {
            self.running_ns = now.iter().map(|(key, group)| (key.clone(), group.running_ns())).collect();
            self.decided_ns = Some(at_ns);
        }
    }
}

/// Subtracts sums; where a part would fall below 0, it is 0.
fn subtract(from: &mut ClassSums, less: &ClassSums) {
    let ClassSums { running_ns, sibling, ready, ready_latency, run_length, wakeups, preemptions, migrations_from } =
        less;
    let minus = |from: &mut u64, less: &u64| *from = from.saturating_sub(*less);
    let histogram = |from: &mut Histogram, less: &Histogram| {
        from.counts.iter_mut().zip(&less.counts).for_each(|(from, less)| minus(from, less));
        minus(&mut from.sum_ns, &less.sum_ns);
    };
    minus(&mut from.running_ns, running_ns);
    let SiblingSums { busy_ns, idle_ns, none_ns, unknown_ns } = sibling;
    minus(&mut from.sibling.busy_ns, busy_ns);
    minus(&mut from.sibling.idle_ns, idle_ns);
    minus(&mut from.sibling.none_ns, none_ns);
    minus(&mut from.sibling.unknown_ns, unknown_ns);
    let ReadySums { same_group_ns, other_group_ns, kernel_ns, idle_ns, unknown_ns } = ready;
    minus(&mut from.ready.same_group_ns, same_group_ns);
    minus(&mut from.ready.other_group_ns, other_group_ns);
    minus(&mut from.ready.kernel_ns, kernel_ns);
    minus(&mut from.ready.idle_ns, idle_ns);
    minus(&mut from.ready.unknown_ns, unknown_ns);
    histogram(&mut from.ready_latency, ready_latency);
    histogram(&mut from.run_length, run_length);
    minus(&mut from.wakeups, wakeups);
    minus(&mut from.preemptions, preemptions);
    from.migrations_from.iter_mut().zip(migrations_from).for_each(|(from, less)| minus(from, less));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use watch::testing::drawn;

    const S: u64 = 1_000_000_000;

    /// A snapshot at a time in s, of groups with their running times in s.
    fn snapshot(at: u64, groups: &[(&str, u64)]) -> Snapshot {
        let class = |seconds: u64| ClassSums { running_ns: seconds * S, wakeups: seconds, ..ClassSums::default() };
        let group = |&(name, seconds): &(&str, u64)| GroupSums {
            kind: GroupKind::Cgroup,
            name: name.into(),
            by_class: vec![class(seconds)],
            throttled: None,
        };
        let all = groups.iter().map(|(_, seconds)| seconds).sum();
        let base = drawn(1);
        Snapshot {
            at_ns: at * S,
            machine: Arc::clone(&base.machine),
            total: GroupSums {
                kind: GroupKind::Machine,
                name: String::new(),
                by_class: vec![class(all)],
                throttled: None,
            },
            groups: groups.iter().map(group).collect(),
            ..base
        }
    }

    /// The chosen groups as text, with their running times in s; `-` is all others.
    fn chosen(choice: &mut Choice, at: u64, groups: &[(&str, u64)]) -> String {
        let chosen = choice.choose(&snapshot(at, groups));
        let one = |g: &GroupSums| {
            assert_eq!(g.running_ns() / S, g.by_class[0].wakeups, "every sum goes the same way");
            format!("{} {}", if g.kind == GroupKind::Other { "-" } else { &g.name }, g.running_ns() / S)
        };
        chosen.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn no_sum_ever_falls_while_groups_come_and_go() {
        let mut choice = Choice::new(2);
        assert_eq!(chosen(&mut choice, 10, &[("a", 5), ("b", 3), ("c", 1)]), "a 5, b 3, - 1");
        // Within the minute, the order does not matter.
        assert_eq!(chosen(&mut choice, 20, &[("c", 9), ("a", 6), ("b", 3)]), "a 6, b 3, - 9");
        // After it, c has the place of b; its earlier time stays where it was counted, and b's goes there.
        assert_eq!(chosen(&mut choice, 80, &[("c", 49), ("a", 20), ("b", 4)]), "c 0, a 20, - 53");
        assert_eq!(choice.replaced, 1);
        assert_eq!(chosen(&mut choice, 90, &[("c", 50), ("a", 20), ("b", 4)]), "c 1, a 20, - 53");
        // a is gone, its time is now in the machine's only; b has the free place immediately.
        let mut gone = snapshot(95, &[("c", 50), ("b", 5)]);
        gone.total.by_class[0].running_ns += 20 * S;
        let sums: Vec<u64> = choice.choose(&gone).iter().map(|g| g.running_ns() / S).collect();
        assert_eq!(sums, [1, 0, 74]);
    }

    #[test]
    fn a_group_as_busy_as_another_does_not_take_its_place() {
        let mut choice = Choice::new(1);
        assert_eq!(chosen(&mut choice, 10, &[("a", 5), ("b", 1)]), "a 5, - 1");
        assert_eq!(chosen(&mut choice, 80, &[("b", 20), ("a", 15)]), "a 15, - 20");
        assert_eq!(chosen(&mut choice, 150, &[("b", 50), ("a", 15)]), "b 0, - 65");
    }

    #[test]
    fn nothing_grouped_has_no_other() {
        assert!(Choice::new(5).choose(&snapshot(10, &[])).is_empty());
    }
}
