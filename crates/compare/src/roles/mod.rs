//! Which threads of several runs on two sides are the same: in roles, never by number.
//!
//! A role is what the threads of one process with one name do, whichever their number (`groups`, `names`). Threads that names do not
//! distinguish are split by what wakes them and what they wait for (`split`). Roles of one name are matched; then renamed
//! processes and threads by what they did (`profile`, `alike`), if one candidate is clearly the best (`assign`).

mod alike;
mod assign;
mod groups;
mod map;
mod matching;
mod names;
mod profile;
mod shares;
mod split;

pub use map::MapError;

use crate::Run;
use groups::{Groups, Kind};
use model::ThreadKey;
use profile::median;
use serde::Serialize;
use shares::Labels;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How a role was matched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchedBy {
    /// The names without their numbers are equal.
    Name,
    /// By what wakes the threads, what they wait for, and how they run.
    Wakeups,
    /// The user's `--map`.
    Map,
    /// Only in A: gone, or not recognised in B.
    OnlyA,
    /// Only in B: new, or not recognised in A.
    OnlyB,
}

/// How sure a match is. For roles of one side only: how sure it is that the other side has none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// May be wrong.
    Low,
    /// Probably right.
    Medium,
    /// Sure.
    High,
}

/// Threads with one function, in all runs of both sides.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Role {
    /// For users, unique: `game`, `game/worker`, `game/worker → game/job` if renamed.
    pub name: String,
    /// Its name on each side, as `--map` accepts it; `None` on a side without it.
    pub names: [Option<String>; 2],
    /// The process without numbers: that of A, or of B for a role of B only; `kernel` for kernel threads; empty if unknown.
    pub process: String,
    /// The threads without numbers; empty for main threads and threads without a name of their own.
    pub thread: String,
    /// The threads of a run: the median over the runs of each side, of which some may have none.
    pub threads: [f64; 2],
    /// The keys of its threads, by side and run, in order.
    pub members: [Vec<Vec<ThreadKey>>; 2],
    /// How it was matched.
    pub matched_by: MatchedBy,
    /// How sure that is.
    pub confidence: Confidence,
    /// Whether any of its threads belongs to the recorded program.
    pub is_own: bool,
    /// Whether they are kernel threads.
    pub is_kernel: bool,
}

/// The roles of two sides. Each thread but the idle task is in exactly one.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Roles {
    /// The roles: own ones first, then by name.
    pub roles: Vec<Role>,
    /// What may be wrong, a sentence each.
    pub notes: Vec<String>,
}

impl Roles {
    /// The role of each thread key of one run; side 0 is A.
    #[must_use]
    pub fn of_run(&self, side: usize, run: usize) -> HashMap<ThreadKey, usize> {
        let mut of = HashMap::new();
        for (at, role) in self.roles.iter().enumerate() {
            let keys = role.members.get(side).and_then(|runs| runs.get(run)).into_iter().flatten();
            of.extend(keys.map(|key| (*key, at)));
        }
        of
    }
}

/// Groups the threads of all runs into roles and matches those of A and B. `map` has pairs of names, of A and of B, of roles, threads or
/// processes; a thread can be given with its process, as `process/thread`.
///
/// # Errors
/// An entry of `map` names nothing, or names more than one role.
pub fn roles(runs: [&[Run]; 2], map: &[(String, String)]) -> Result<Roles, MapError> {
    let mut groups = Groups::new(runs);
    split::split(&mut groups);
    let mut labels = Labels::default();
    let profiles = [0, 1].map(|side| profile::profiles(&groups, side, &mut labels));
    let names = display_names(&groups, &profiles);
    let matches = matching::matched(&groups, &profiles, &map::resolve(&groups, &profiles, &names, map)?);
    Ok(assemble(&groups, &profiles, &names, &matches))
}

type Profiles = [BTreeMap<usize, profile::Profile>; 2];

/// A name for each group, unique.
fn display_names(groups: &Groups<'_>, profiles: &Profiles) -> Vec<String> {
    let present: BTreeSet<usize> = profiles.iter().flat_map(|of| of.keys().copied()).collect();
    let unnamed: BTreeSet<&str> = present
        .iter()
        .filter_map(|group| groups.keys.get(*group))
        .filter(|key| key.kind == Kind::Unnamed)
        .map(|key| key.process.as_str())
        .collect();
    let mut seen = HashMap::<String, usize>::new();
    let name = |key: &groups::Key| {
        let process = if key.process.is_empty() { "?" } else { key.process.as_str() };
        let part = key.part.as_deref();
        match (key.kind, part) {
            (Kind::Kernel, _) => key.thread.clone(),
            (Kind::Main, None) if unnamed.contains(key.process.as_str()) => format!("{process} (main thread)"),
            (Kind::Main, None) => process.to_owned(),
            (Kind::Main, Some(part)) => format!("{process} ({part})"),
            (Kind::Unnamed, None) => format!("{process} (other threads)"),
            (Kind::Unnamed, Some(part)) => format!("{process} (other threads, {part})"),
            (Kind::Named, None) => format!("{process}/{}", key.thread),
            (Kind::Named, Some(part)) => format!("{process}/{} ({part})", key.thread),
        }
    };
    let mut order: Vec<usize> = (0..groups.keys.len()).collect();
    order.sort_by(|a, b| groups.keys.get(*a).cmp(&groups.keys.get(*b)));
    let mut names = vec![String::new(); groups.keys.len()];
    for group in order.into_iter().filter(|group| present.contains(group)) {
        let mut text = groups.keys.get(group).map(name).unwrap_or_default();
        let count = seen.entry(text.clone()).or_default();
        *count += 1;
        if *count > 1 {
            text = format!("{text} [{count}]");
        }
        if let Some(name) = names.get_mut(group) {
            *name = text;
        }
    }
    names
}

fn assemble(groups: &Groups<'_>, profiles: &Profiles, names: &[String], matches: &[matching::Match]) -> Roles {
    let mut role_of = [BTreeMap::new(), BTreeMap::new()];
    let mut roles = Vec::with_capacity(matches.len());
    for (at, of) in matches.iter().enumerate() {
        let first = of.groups.into_iter().flatten().next().unwrap_or(0);
        let Some(key) = groups.keys.get(first) else { continue };
        for (to, group) in role_of.iter_mut().zip(of.groups) {
            if let Some(group) = group {
                to.insert(group, at);
            }
        }
        let sides = of.groups.map(|group| group.and_then(|group| names.get(group)).cloned());
        let name = match &sides {
            [Some(a), Some(b)] if a != b => format!("{a} → {b}"),
            [Some(name), _] | [None, Some(name)] => name.clone(),
            [None, None] => continue,
        };
        let mut of_group = profiles.iter().zip(of.groups).filter_map(|(of, group)| of.get(&group?));
        roles.push(Role {
            name,
            names: sides,
            process: key.process.clone(),
            thread: key.thread.clone(),
            threads: [0.0; 2],
            members: groups.runs.map(|side| vec![Vec::new(); side.len()]),
            matched_by: of.matched_by,
            confidence: of.confidence,
            is_own: of_group.any(|profile| profile.is_own),
            is_kernel: key.kind == Kind::Kernel,
        });
    }
    for ((side, run, _), group, thread) in groups.threads() {
        let role = role_of.get(side).and_then(|of| of.get(&group)).and_then(|at| roles.get_mut(*at));
        let keys = role.and_then(|role| role.members.get_mut(side)).and_then(|runs| runs.get_mut(run));
        if let Some(keys) = keys {
            keys.push(thread.thread);
        }
    }
    for role in &mut roles {
        role.members.iter_mut().flatten().for_each(|keys| keys.sort_unstable());
        for (count, runs) in role.threads.iter_mut().zip(&role.members) {
            *count = median(runs.iter().map(|keys| keys.len() as f64).collect());
        }
    }
    roles.sort_by(|a, b| (b.is_own, &a.name).cmp(&(a.is_own, &b.name)));
    Roles { notes: notes(&roles, groups), roles }
}

/// Programs that run other programs' code: what they do is in their arguments, which are not recorded by thread.
const INTERPRETERS: [&str; 12] =
    ["python", "python2", "python3", "java", "node", "ruby", "perl", "php", "sh", "bash", "Rscript", "dotnet"];

fn notes(roles: &[Role], groups: &Groups<'_>) -> Vec<String> {
    let mut pids = BTreeMap::<&str, BTreeMap<(usize, usize), BTreeSet<i64>>>::new();
    for ((side, run, _), group, thread) in groups.threads().filter(|(_, _, thread)| thread.is_own) {
        if let (Some(key), Some(pid)) = (groups.keys.get(group), thread.pid) {
            let is_interpreter = INTERPRETERS.contains(&key.process.as_str());
            if is_interpreter {
                pids.entry(&key.process).or_default().entry((side, run)).or_default().insert(pid);
            }
        }
    }
    let many = |runs: &BTreeMap<(usize, usize), BTreeSet<i64>>| runs.values().any(|pids| pids.len() > 1);
    let mut notes: Vec<String> = pids
        .into_iter()
        .filter(|(_, runs)| many(runs))
        .map(|(process, _)| {
            format!(
                "several processes are named {process}; their threads share roles, as their arguments are not recorded"
            )
        })
        .collect();
    for role in roles.iter().filter(|role| role.is_own && role.matched_by == MatchedBy::Wakeups) {
        if role.names.iter().flatten().collect::<BTreeSet<_>>().len() > 1 && role.confidence != Confidence::High {
            notes.push(format!("{} was matched by its wakeups and waits; if wrong, use --map", role.name));
        }
    }
    notes
}
