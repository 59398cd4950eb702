//! The groups: which slot each has in the kernel's memory, what is listed, and which groups make room for others.
//!
//! A sum that was published must never become smaller. So a group that is listed later begins at 0, what it did before stays a part of
//! all others, and the sums of a group that is listed no longer become a part of them.

use crate::cgroups::Cgroups;
use crate::memory::RawGroup;
use crate::options::GroupBy;
use crate::programs::{Key, Programs, cgroup_key};
use crate::snapshot::{ClassSums, GroupKind, GroupSums};
use crate::sums::add;
use crate::watcher::{Chosen, read_group};
use bytemuck::Zeroable;
use std::collections::HashSet;

/// The time in which the weight of running time halves when groups are ranked, ns: 15 minutes.
const HALVES_IN_NS: f64 = 900e9;
/// A group replaces a listed one if its rank is higher by this factor.
const REPLACES: f64 = 1.5;
/// Groups that did nothing for so many readings may make room.
const IDLE_READINGS: u32 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Free,
    Used,
    /// Its group has no key anymore, but a CPU may still run one of its threads.
    Leaving,
}

#[derive(Default)]
struct Slot {
    state: State,
    key: Key,
    name: String,
    listed: bool,
    rank: f64,
    idle_readings: u32,
    /// Since it was listed, or else since the last snapshot.
    sums: Vec<ClassSums>,
    /// The kernel's sums at the last reading, by CPU; empty: it has done nothing yet.
    last: Vec<RawGroup>,
}

/// The groups of a watcher.
pub struct Slots {
    all: Vec<Slot>,
    others: Vec<ClassSums>,
    total: Vec<ClassSums>,
    classes: usize,
    top: usize,
    /// The chosen groups have the slots from 1 on, and keep them.
    chosen: usize,
    published_ns: Option<u64>,
    /// How many groups have had a slot.
    pub seen: u64,
}

impl Slots {
    /// Gives the chosen groups their slots, and makes the others available.
    pub fn new(programs: &Programs, chosen: Vec<Chosen>, classes: usize, top: usize) -> Self {
        let mut all: Vec<Slot> = Vec::new();
        all.resize_with(programs.slots, Slot::default);
        let count = chosen.len();
        for (slot, group) in (1..).zip(chosen) {
            for key in &group.keys {
                programs.add_key(key, slot as u32);
            }
            let key = group.keys.first().copied().unwrap_or_default();
            let sums = vec![ClassSums::default(); classes];
            all[slot] = Slot { state: State::Used, key, name: group.name, listed: true, sums, ..Slot::default() };
        }
        if count == 0 {
            (1..programs.slots).for_each(|slot| programs.free_slot(slot as u32));
        }
        let none = || vec![ClassSums { migrations_from: vec![0; classes], ..ClassSums::default() }; classes];
        Self { all, others: none(), total: none(), classes, top, chosen: count, published_ns: None, seen: count as u64 }
    }

    /// How many groups have a slot now.
    pub fn kept(&self) -> usize {
        self.all.iter().filter(|slot| slot.state == State::Used).count()
    }

    /// The numbers of the cgroups that have a slot.
    pub fn cgroup_ids(&self) -> HashSet<u64> {
        let used = self.all.iter().filter(|slot| slot.state != State::Free);
        used.map(|slot| u64::from_ne_bytes(slot.key[..8].try_into().unwrap_or_default())).collect()
    }

    /// Whether a group was seen whose name is not known.
    pub fn needs_names(&self, programs: &Programs) -> bool {
        self.chosen > 0
            || self
                .all
                .iter()
                .enumerate()
                .skip(1)
                .any(|(at, slot)| slot.state == State::Free && active(programs, at, slot))
    }

    /// Adds what happened since the last reading. `cpus`: the sibling and the class of each CPU.
    pub fn read(&mut self, programs: &Programs, cpus: &[(i32, usize)], cgroups: Option<&Cgroups>) {
        self.name(programs, cgroups);
        let classes = self.classes;
        for (at, slot) in self.all.iter_mut().enumerate() {
            if !active(programs, at, slot) {
                slot.idle_readings = slot.idle_readings.saturating_add(1);
                continue;
            }
            slot.idle_readings = 0;
            slot.last.resize(programs.possible, RawGroup::zeroed());
            slot.sums.resize_with(classes, ClassSums::default);
            for (cpu, &(sibling, class)) in cpus.iter().enumerate() {
                let now = read_group(&programs.groups, &programs.cpus, cpu, cpu * programs.slots + at);
                let (before, class) = (&mut slot.last[cpu], class.min(classes - 1));
                slot.rank += now.running.wrapping_sub(before.running) as f64;
                add(&mut slot.sums[class], &now, before, sibling, classes);
                add(&mut self.total[class], &now, before, sibling, classes);
                *before = now;
            }
        }
    }

    /// Names the groups that were seen for the first time, and follows the cgroups below the chosen ones.
    fn name(&mut self, programs: &Programs, cgroups: Option<&Cgroups>) {
        if self.chosen > 0 {
            if let Some(cgroups) = cgroups {
                self.follow_chosen(programs, cgroups);
            }
            return;
        }
        let is_new = |(at, slot): (usize, &Slot)| slot.state == State::Free && active(programs, at, slot);
        if !self.all.iter().enumerate().skip(1).any(is_new) {
            return;
        }
        let mut new = Vec::new();
        for (number, key) in programs.keys() {
            let Some(slot) = self.all.get_mut(number as usize).filter(|slot| slot.state == State::Free) else {
                continue;
            };
            (slot.state, slot.key, slot.rank, slot.listed) = (State::Used, key, 0.0, false);
            self.seen += 1;
            slot.name = match cgroups {
                Some(cgroups) => {
                    let id = u64::from_ne_bytes(key[..8].try_into().unwrap_or_default());
                    cgroups.path(id).map(str::to_owned).unwrap_or_else(|| removed(programs, cgroups, number, id))
                }
                None => {
                    let end = key.iter().position(|byte| *byte == 0).unwrap_or(key.len());
                    String::from_utf8_lossy(&key[..end]).into_owned()
                }
            };
            new.push(number as usize);
        }
        new.into_iter().for_each(|at| self.go_on(at));
    }

    /// Lets a group that has just been named go on with the sums of one of the same name: a cgroup that was removed and made again, such as
    /// that of a service that was restarted.
    fn go_on(&mut self, at: usize) {
        let name = std::mem::take(&mut self.all[at].name);
        let same = |(other, slot): &(usize, &mut Slot)| *other != at && slot.state != State::Free && slot.name == name;
        let before = self.all.iter_mut().enumerate().skip(1).find(same).map(|(_, slot)| {
            // What its threads still do, is a group of its own.
            let id = u64::from_ne_bytes(slot.key[..8].try_into().unwrap_or_default());
            slot.name = unnamed(id);
            (std::mem::take(&mut slot.sums), std::mem::take(&mut slot.listed), std::mem::take(&mut slot.rank))
        });
        let slot = &mut self.all[at];
        slot.name = name;
        if let Some((sums, listed, rank)) = before {
            (slot.sums, slot.listed, slot.rank) = (sums, listed, rank);
        }
    }

    /// Adds the cgroups that were made below the chosen ones since the last reading.
    fn follow_chosen(&mut self, programs: &Programs, cgroups: &Cgroups) {
        let known: HashSet<Key> = programs.keys_of_all();
        let mut added = false;
        for (at, slot) in self.all.iter().enumerate().skip(1).take(self.chosen) {
            for id in cgroups.within(&slot.name) {
                let key = cgroup_key(id);
                if !known.contains(&key) {
                    added |= programs.add_key(&key, at as u32);
                }
            }
        }
        if added {
            // Their threads that run as part of all others look again.
            (0..programs.possible).for_each(|cpu| programs.groups.next_generation(cpu * programs.slots));
        }
    }

    /// Returns the sums of the machine and of what is listed.
    pub fn publish(&mut self, by: GroupBy, at: u64, cgroups: Option<&Cgroups>) -> (GroupSums, Vec<GroupSums>) {
        let group = |kind, name: &str, sums: &[ClassSums]| GroupSums {
            kind,
            name: name.to_owned(),
            by_class: sums.to_vec(),
            throttled: None,
        };
        let total = group(GroupKind::Machine, "", &self.total);
        let since = self.published_ns.replace(at).map_or(0, |before| at.saturating_sub(before));
        if by == GroupBy::None {
            return (total, Vec::new());
        }
        if self.chosen == 0 {
            self.choose(since);
        }
        for slot in self.all.iter_mut().filter(|slot| !slot.listed) {
            for (others, sums) in self.others.iter_mut().zip(&mut slot.sums) {
                others.add_all(&std::mem::take(sums));
            }
        }
        let mut listed: Vec<&Slot> = self.all.iter().filter(|slot| slot.listed).collect();
        let running = |slot: &Slot| slot.sums.iter().map(|class| class.running_ns).sum::<u64>();
        listed.sort_by(|a, b| running(b).cmp(&running(a)).then_with(|| a.name.cmp(&b.name)));
        let kind = if by == GroupBy::Cgroup { GroupKind::Cgroup } else { GroupKind::Process };
        let mut groups: Vec<GroupSums> = listed
            .into_iter()
            .map(|slot| {
                let id = u64::from_ne_bytes(slot.key[..8].try_into().unwrap_or_default());
                let throttled = cgroups.and_then(|cgroups| cgroups.throttled(id));
                GroupSums { throttled, ..group(kind, &slot.name, &slot.sums) }
            })
            .collect();
        groups.push(group(GroupKind::Other, "", &self.others));
        (total, groups)
    }

    /// Chooses which groups are listed. `since`: the time since the last choice, ns; 0: there was none.
    fn choose(&mut self, since: u64) {
        let weight = 0.5f64.powf(since as f64 / HALVES_IN_NS);
        let mut used: Vec<&mut Slot> = self.all.iter_mut().skip(1).filter(|slot| slot.state != State::Free).collect();
        used.iter_mut().for_each(|slot| slot.rank *= weight);
        // A listed group counts more, so that two that do the same do not replace each other at each reading.
        let rank = |slot: &Slot| slot.rank * if slot.listed { REPLACES } else { 1.0 };
        used.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
        for (place, slot) in used.into_iter().enumerate() {
            slot.listed = place < self.top && slot.state == State::Used && (slot.listed || slot.rank > 0.0);
        }
    }

    /// Takes the slots of groups that did nothing lately, if few are free. `current`: the slots of threads that run.
    pub fn make_room(&mut self, programs: &Programs, current: &[u32]) {
        if self.chosen > 0 {
            return;
        }
        for (at, slot) in self.all.iter_mut().enumerate().skip(1) {
            let ended = slot.idle_readings > 0 && !current.contains(&(at as u32));
            if slot.state == State::Leaving && ended && !slot.listed {
                slot.state = State::Free;
                programs.free_slot(at as u32);
            }
        }
        let (slots, free) = (self.all.len(), self.all.iter().filter(|slot| slot.state == State::Free).count());
        if free >= slots / 4 {
            return;
        }
        let idle = |slot: &Slot| slot.state == State::Used && slot.idle_readings >= IDLE_READINGS;
        let mut idle: Vec<(usize, &mut Slot)> =
            self.all.iter_mut().enumerate().skip(1).filter(|(_, slot)| idle(slot)).collect();
        idle.sort_by(|(_, a), (_, b)| a.rank.total_cmp(&b.rank));
        for (at, slot) in idle.into_iter().take(slots / 2 - free) {
            programs.remove_key(&slot.key);
            (0..programs.possible).for_each(|cpu| programs.groups.next_generation(cpu * programs.slots + at));
            slot.state = State::Leaving;
        }
    }
}

/// The name of a cgroup that was removed before its path was read: what the kernel had of it at its first thread.
fn removed(programs: &Programs, cgroups: &Cgroups, slot: u32, id: u64) -> String {
    match programs.cgroup_name(slot, id) {
        Some((parent, name)) => match cgroups.path(parent) {
            Some("/") => format!("/{name}"),
            Some(path) => format!("{path}/{name}"),
            None => format!("…/{name}"),
        },
        None => unnamed(id),
    }
}

fn unnamed(id: u64) -> String {
    format!("cgroup {id}")
}

/// Whether a slot's sums have changed since the last reading.
fn active(programs: &Programs, at: usize, slot: &Slot) -> bool {
    (0..programs.possible).any(|cpu| {
        let now = programs.groups.activity(cpu * programs.slots + at);
        let before = slot.last.get(cpu).map_or([0; 3], crate::memory::activity_of);
        now != before
    })
}
