//! The user's `--map OLD=NEW`.

use super::Profiles;
use super::groups::{Groups, Kind};
use super::names::{base, process_base};
use std::collections::BTreeSet;

/// An entry of `--map` that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct MapError(String);

/// What the user maps.
#[derive(Default, Debug)]
pub(super) struct Mapped {
    /// Groups of A and B.
    pub(super) groups: Vec<(usize, usize)>,
    /// Processes of A and B.
    pub(super) processes: Vec<(String, String)>,
}

enum Named {
    Group(usize),
    /// A process with all its threads, and the group of its main threads.
    Process(String, Option<usize>),
}

/// Finds what the names stand for.
pub(super) fn resolve(
    groups: &Groups<'_>,
    profiles: &Profiles,
    names: &[String],
    map: &[(String, String)],
) -> Result<Mapped, MapError> {
    let mut mapped = Mapped::default();
    let mut used = [BTreeSet::new(), BTreeSet::new()];
    for (old, new) in map {
        let of = [find(groups, profiles, names, 0, old)?, find(groups, profiles, names, 1, new)?];
        let pair = match of {
            [Named::Process(a, main_a), Named::Process(b, main_b)] => {
                mapped.processes.push((a, b));
                main_a.zip(main_b)
            }
            [Named::Group(a) | Named::Process(_, Some(a)), Named::Group(b) | Named::Process(_, Some(b))] => {
                Some((a, b))
            }
            _ => return Err(MapError(format!("--map {old}={new}: a process and a thread cannot be the same"))),
        };
        if let Some((a, b)) = pair {
            for ((used, group), name) in used.iter_mut().zip([a, b]).zip([old, new]) {
                if !used.insert(group) {
                    return Err(MapError(format!("--map {old}={new}: {name} is mapped twice")));
                }
            }
            mapped.groups.push((a, b));
        }
    }
    Ok(mapped)
}

/// The group or process of a side with this name: the name of a role, of a process, or of threads, with or without their numbers.
fn find(
    groups: &Groups<'_>,
    profiles: &Profiles,
    names: &[String],
    side: usize,
    given: &str,
) -> Result<Named, MapError> {
    let present: Vec<usize> = profiles.get(side).into_iter().flat_map(|of| of.keys().copied()).collect();
    let name = |group: &usize| names.get(*group).map_or("", String::as_str);
    let process = process_base(given);
    let keys = || present.iter().filter_map(|group| Some((*group, groups.keys.get(*group)?)));
    let of_process = |(_, key): &(usize, &super::groups::Key)| key.kind != Kind::Kernel && key.process == process;
    if !process.is_empty() && keys().any(|of| of_process(&of)) {
        let mut mains = keys().filter(of_process).filter(|(_, key)| key.kind == Kind::Main && key.part.is_none());
        let main = mains.next().map(|(group, _)| group);
        return Ok(Named::Process(process, main));
    }
    if let Some(group) = present.iter().find(|group| name(group) == given) {
        return Ok(Named::Group(*group));
    }
    let (of, thread) = given.split_once('/').map_or((None, given), |(of, thread)| (Some(process_base(of)), thread));
    let is_thread = |key: &super::groups::Key, of: Option<&String>, thread: &str| {
        !key.thread.is_empty()
            && of.is_none_or(|of| *of == key.process)
            && (key.thread == thread || key.thread == base(thread))
    };
    let found: Vec<usize> = keys()
        .filter(|(_, key)| is_thread(key, of.as_ref(), thread) || is_thread(key, None, given))
        .map(|(group, _)| group)
        .collect();
    let side_name = if side == 0 { "A" } else { "B" };
    match found.as_slice() {
        [group] => Ok(Named::Group(*group)),
        [] => {
            let all: BTreeSet<&str> = present.iter().map(name).collect();
            // A name with a process is like one with a process.
            let is_like = |name: &&str| !given.contains('/') || name.contains('/');
            let known: BTreeSet<&str> = all.into_iter().filter(is_like).collect();
            let meant = engine::did_you_mean(given, known.iter().copied());
            Err(MapError(format!("--map: no thread, role or process of {side_name} is named {given}{meant}")))
        }
        several => {
            let all: Vec<&str> = several.iter().map(name).collect();
            Err(MapError(format!("--map: {given} names several roles of {side_name}: {}", all.join(", "))))
        }
    }
}
