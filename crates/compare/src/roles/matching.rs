//! Matches the groups of two sides.

use super::alike::{Partners, Sum, alike};
use super::assign::assign;
use super::groups::{Groups, Kind};
use super::map::Mapped;
use super::names::is_generic;
use super::{Confidence, MatchedBy, Profiles};
use std::collections::{BTreeMap, BTreeSet};

/// The groups of a process that are compared with those of another, those with the most running time first.
const COMPARED: usize = 256;
/// Threads of a name that says nothing are surely the same if they are this alike,
const SURELY_SAME: f64 = 0.8;
/// and probably if they are this alike.
const PROBABLY_SAME: f64 = 0.6;
/// How often matching is repeated with the neighbours that it found.
const ROUNDS: usize = 4;

/// A role: a group of each side, or of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    pub(super) groups: [Option<usize>; 2],
    pub(super) matched_by: MatchedBy,
    pub(super) confidence: Confidence,
}

struct Matching<'a> {
    groups: &'a Groups<'a>,
    profiles: &'a Profiles,
    matches: Vec<Match>,
    /// The place in `matches` of each group that is matched, by side.
    of: [BTreeMap<usize, usize>; 2],
    /// Matched processes.
    processes: BTreeMap<&'a str, (&'a str, MatchedBy, Confidence)>,
}

impl Partners for Matching<'_> {
    fn pair(&self, side: usize, group: usize) -> Option<usize> {
        self.of.get(side)?.get(&group).copied()
    }
}

/// Matches all groups, those of the user first.
pub(super) fn matched(groups: &Groups<'_>, profiles: &Profiles, mapped: &Mapped) -> Vec<Match> {
    let of = [BTreeMap::new(), BTreeMap::new()];
    let mut matching = Matching { groups, profiles, matches: Vec::new(), of, processes: BTreeMap::new() };
    for (a, b) in &mapped.groups {
        matching.add(*a, *b, MatchedBy::Map, Confidence::High);
    }
    let all = [0, 1].map(|side| matching.processes_of(side));
    for (a, b) in &mapped.processes {
        if let (Some(a), Some(b)) =
            (all.first().and_then(|of| of.get(a.as_str())), all.get(1).and_then(|of| of.get(b.as_str())))
        {
            matching.processes.insert(a, (b, MatchedBy::Map, Confidence::High));
        }
    }
    matching.by_name();
    for name in all.iter().flatten() {
        let is_mapped = mapped.processes.iter().any(|(a, b)| a == name || b == name);
        if all.iter().all(|of| of.contains(name)) && !is_mapped {
            matching.processes.insert(name, (name, MatchedBy::Name, Confidence::High));
        }
    }
    matching.threads_of_renamed_processes();
    matching.renamed_processes();
    matching.release_unlike_generic_names();
    for _ in 0..ROUNDS {
        let before = matching.matches.len();
        matching.renamed_threads();
        if matching.matches.len() == before {
            break;
        }
    }
    matching.doubt_generic_names();
    matching.leave_the_rest();
    matching.matches.retain(|of| of.groups.iter().any(Option::is_some));
    matching.matches
}

impl<'a> Matching<'a> {
    fn key(&self, group: usize) -> Option<&'a super::groups::Key> {
        self.groups.keys.get(group)
    }

    fn add(&mut self, a: usize, b: usize, matched_by: MatchedBy, confidence: Confidence) {
        for (of, group) in self.of.iter_mut().zip([a, b]) {
            of.insert(group, self.matches.len());
        }
        self.matches.push(Match { groups: [Some(a), Some(b)], matched_by, confidence });
    }

    fn is_free(&self, side: usize, group: usize) -> bool {
        self.pair(side, group).is_none()
    }

    /// The groups of a side that are not matched.
    fn free(&self, side: usize) -> impl Iterator<Item = usize> {
        let all = self.profiles.get(side).into_iter().flat_map(|of| of.keys().copied());
        all.filter(move |group| self.is_free(side, *group))
    }

    fn processes_of(&self, side: usize) -> BTreeSet<&'a str> {
        let all = self.profiles.get(side).into_iter().flat_map(|of| of.keys());
        let keys = all.filter_map(|group| self.key(*group)).filter(|key| key.kind != Kind::Kernel);
        keys.map(|key| key.process.as_str()).collect()
    }

    /// Groups of both sides have one name. Those that were split differ by their wakeups, of which a number that changed is a doubt.
    fn by_name(&mut self) {
        let both: Vec<usize> = self.free(0).filter(|group| self.is_free(1, *group) && self.has(1, *group)).collect();
        for group in both {
            let is_part = self.key(group).is_some_and(|key| key.part.is_some());
            let counts = self.profiles.each_ref().map(|of| of.get(&group).map_or(0.0, |profile| profile.threads));
            let is_doubtful = is_part && counts.first() != counts.last();
            let matched_by = if is_part { MatchedBy::Wakeups } else { MatchedBy::Name };
            self.add(group, group, matched_by, if is_doubtful { Confidence::Medium } else { Confidence::High });
        }
    }

    fn has(&self, side: usize, group: usize) -> bool {
        self.profiles.get(side).is_some_and(|of| of.contains_key(&group))
    }

    /// Within processes of different names: threads of the same name, and main threads.
    fn threads_of_renamed_processes(&mut self) {
        let mut of_b = BTreeMap::new();
        for group in self.free(1) {
            if let Some(key) = self.key(group) {
                of_b.insert((key.process.as_str(), key.kind, key.thread.as_str(), key.part.as_deref()), group);
            }
        }
        let free: Vec<usize> = self.free(0).collect();
        for a in free {
            let Some(key) = self.key(a) else { continue };
            let Some((process, matched_by, confidence)) = self.processes.get(key.process.as_str()).copied() else {
                continue;
            };
            let of = (process, key.kind, key.thread.as_str(), key.part.as_deref());
            if process != key.process
                && let Some(b) = of_b.remove(&of)
            {
                self.add(a, b, matched_by, confidence);
            }
        }
    }

    /// Processes of the program that only one side has: by the names of their threads and what their main threads did.
    fn renamed_processes(&mut self) {
        let taken: BTreeSet<&str> = self.processes.values().map(|(b, ..)| *b).collect();
        let shapes = [0, 1].map(|side| {
            let mut all: Vec<Shape<'_>> = self.shapes(side).into_values().collect();
            all.retain(|shape| {
                let is_taken =
                    if side == 0 { self.processes.contains_key(shape.name) } else { taken.contains(shape.name) };
                !is_taken && !shape.name.is_empty()
            });
            all.sort_by(|a, b| b.running.total_cmp(&a.running));
            all.truncate(COMPARED);
            all
        });
        let [a, b] = &shapes;
        let matrix: Vec<Vec<f64>> = a.iter().map(|a| b.iter().map(|b| self.alike_shapes(a, b)).collect()).collect();
        for found in assign(&matrix) {
            if let (Some(a), Some(b)) = (a.get(found.row), b.get(found.column)) {
                self.processes.insert(a.name, (b.name, MatchedBy::Wakeups, found.confidence));
            }
        }
        self.threads_of_renamed_processes();
    }

    fn shapes(&self, side: usize) -> BTreeMap<&'a str, Shape<'a>> {
        let mut shapes = BTreeMap::<&str, Shape<'_>>::new();
        for (group, profile) in self.profiles.get(side).into_iter().flatten() {
            let Some(key) = self.key(*group).filter(|key| key.kind != Kind::Kernel && profile.is_own) else { continue };
            let shape = shapes.entry(&key.process).or_insert_with(|| Shape { name: &key.process, ..Shape::default() });
            shape.running += profile.of_all;
            shape.is_focus |= profile.is_focus;
            match key.kind {
                Kind::Main => shape.main = shape.main.or(Some(*group)),
                Kind::Named if !is_generic(&key.thread) => _ = shape.threads.insert(&key.thread),
                _ => shape.others += profile.threads,
            }
        }
        shapes
    }

    fn alike_shapes(&self, a: &Shape<'_>, b: &Shape<'_>) -> f64 {
        let mut sum = Sum::default();
        let all = a.threads.union(&b.threads).count() as f64;
        let common = a.threads.intersection(&b.threads).count() as f64;
        sum.add(3.0, (all > 0.0).then(|| common / all));
        sum.add(2.0, (a.is_focus || b.is_focus).then(|| f64::from(u8::from(a.is_focus == b.is_focus))));
        sum.add(1.0, Some(a.running.max(1e-3).min(b.running.max(1e-3)) / a.running.max(b.running).max(1e-3)));
        sum.add(1.0, Some((1.0 + a.others.min(b.others)) / (1.0 + a.others.max(b.others))));
        let profiles = a.main.zip(b.main).and_then(|(a, b)| Some(([a, b], [self.profile(0, a)?, self.profile(1, b)?])));
        sum.add(3.0, profiles.map(|(groups, of)| alike(groups, of, self)));
        sum.of()
    }

    fn profile(&self, side: usize, group: usize) -> Option<&'a super::profile::Profile> {
        self.profiles.get(side)?.get(&group)
    }

    /// Within matched processes: threads that only one side has by name.
    fn renamed_threads(&mut self) {
        let mut free = BTreeMap::<&str, [Vec<usize>; 2]>::new();
        let to_a: BTreeMap<&str, &str> = self.processes.iter().map(|(a, (b, ..))| (*b, *a)).collect();
        for side in [0, 1] {
            for group in self.free(side) {
                let Some(key) = self.key(group).filter(|key| matches!(key.kind, Kind::Unnamed | Kind::Named)) else {
                    continue;
                };
                let name = key.process.as_str();
                let process =
                    if side == 0 { self.processes.contains_key(name).then_some(name) } else { to_a.get(name).copied() };
                if let Some(of) = process.and_then(|process| free.entry(process).or_default().get_mut(side)) {
                    of.push(group);
                }
            }
        }
        for (process, mut sides) in free {
            for (side, of) in sides.iter_mut().enumerate() {
                let ran = |group: &usize| self.profile(side, *group).map_or(0.0, |profile| profile.share);
                of.sort_by(|a, b| ran(b).total_cmp(&ran(a)).then(self.key(*a).cmp(&self.key(*b))));
                of.truncate(COMPARED);
            }
            let [a, b] = &sides;
            let matrix: Vec<Vec<f64>> = a.iter().map(|a| b.iter().map(|b| self.alike(*a, *b)).collect()).collect();
            let limit = self.processes.get(process).map_or(Confidence::Low, |(.., confidence)| *confidence);
            for found in assign(&matrix) {
                if let (Some(a), Some(b)) = (a.get(found.row), b.get(found.column)) {
                    let confidence = found.confidence.min(limit).min(self.evidence(*a, *b));
                    self.add(*a, *b, MatchedBy::Wakeups, confidence);
                }
            }
        }
    }

    fn alike(&self, a: usize, b: usize) -> f64 {
        self.profile(0, a).zip(self.profile(1, b)).map_or(0.0, |(of_a, of_b)| alike([a, b], [of_a, of_b], self))
    }

    /// How sure a match by behaviour can be: threads that hardly ran show nothing.
    fn evidence(&self, a: usize, b: usize) -> Confidence {
        let of = |side, group| self.profile(side, group).map_or(0.0, |profile| profile.evidence);
        match of(0, a).min(of(1, b)) {
            few if few < 10.0 => Confidence::Low,
            few if few < 50.0 => Confidence::Medium,
            _ => Confidence::High,
        }
    }

    /// The matches by a name that says nothing: `Thread`, or that of the process. How alike they are.
    fn generic_matches(&self) -> Vec<(usize, f64)> {
        let alike = |(at, of): (usize, &Match)| {
            let [Some(a), Some(b)] = of.groups else { return None };
            let key = self.key(a).filter(|_| of.matched_by == MatchedBy::Name)?;
            let is_generic = key.kind == Kind::Unnamed || key.kind == Kind::Named && is_generic(&key.thread);
            is_generic.then(|| (at, self.alike(a, b)))
        };
        self.matches.iter().enumerate().filter_map(alike).collect()
    }

    /// Undoes matches of generic names that are unlike, if another thread of the process has no match: it may be the one.
    fn release_unlike_generic_names(&mut self) {
        let free = [0, 1].map(|side| {
            let keys = self.free(side).filter_map(|group| self.key(group));
            keys.map(|key| key.process.as_str()).collect::<BTreeSet<_>>()
        });
        for (at, _) in self.generic_matches().into_iter().filter(|(_, alike)| *alike < PROBABLY_SAME) {
            let Some(of) = self.matches.get_mut(at) else { continue };
            let process = of.groups.first().copied().flatten().and_then(|group| self.groups.keys.get(group));
            if process.is_some_and(|key| free.iter().any(|of| of.contains(key.process.as_str()))) {
                for (to, group) in self.of.iter_mut().zip(std::mem::take(&mut of.groups)) {
                    group.map(|group| to.remove(&group));
                }
            }
        }
    }

    /// Two threads named `Thread` may have nothing in common.
    fn doubt_generic_names(&mut self) {
        for (at, alike) in self.generic_matches() {
            if let Some(of) = self.matches.get_mut(at).filter(|_| alike < SURELY_SAME) {
                of.confidence = if alike < PROBABLY_SAME { Confidence::Low } else { Confidence::Medium };
            }
        }
    }

    /// What is left is on one side only: surely, unless the other side's process has something left too.
    fn leave_the_rest(&mut self) {
        let left = [0, 1].map(|side| {
            let groups = self.free(side).filter_map(|group| self.key(group));
            groups.filter(|key| key.kind != Kind::Kernel).map(|key| key.process.as_str()).collect::<BTreeSet<_>>()
        });
        let [of_a, of_b] = left;
        let to_a: BTreeMap<&str, &str> = self.processes.iter().map(|(a, (b, ..))| (*b, *a)).collect();
        for (side, matched_by) in [MatchedBy::OnlyA, MatchedBy::OnlyB].into_iter().enumerate() {
            let free: Vec<usize> = self.free(side).collect();
            for group in free {
                let process = self.key(group).map_or("", |key| key.process.as_str());
                let has_rivals = match side {
                    0 => self.processes.get(process).is_some_and(|(b, ..)| of_b.contains(b)),
                    _ => to_a.get(process).is_some_and(|a| of_a.contains(a)),
                };
                let confidence = if has_rivals { Confidence::Low } else { Confidence::High };
                let groups = if side == 0 { [Some(group), None] } else { [None, Some(group)] };
                self.matches.push(Match { groups, matched_by, confidence });
            }
        }
    }
}

/// What is known about a process.
#[derive(Default)]
struct Shape<'a> {
    name: &'a str,
    running: f64,
    is_focus: bool,
    main: Option<usize>,
    threads: BTreeSet<&'a str>,
    others: f64,
}
