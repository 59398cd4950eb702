//! Prints which threads of two sides are the same: `roles A.cw… -- B.cw… [--json] [--map OLD=NEW] [--rename-seed N] [--rename pools|all]`.
//!
//! `--rename-seed` hides from the matcher what names and numbers say, to measure how often it is right (`acceptance/compare/roles.py`): on side
//! B, keys, TIDs and process IDs are permuted, and pools (or all but main threads) get other names. `--json` prints the names as recorded.

#![allow(clippy::print_stdout)]

use compare::{Run, ThreadFacts, measure, roles};
use engine::{PassOptions, Session};
use model::ThreadKey;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut paths, mut side) = ([Vec::new(), Vec::new()], 0);
    let (mut map, mut is_json, mut seed, mut is_all) = (Vec::new(), false, None, false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--" => side = 1,
            "--json" => is_json = true,
            "--map" => {
                let entry = value()?;
                let (old, new) = entry.split_once('=').ok_or("--map OLD=NEW")?;
                map.push((old.to_owned(), new.to_owned()));
            }
            "--rename-seed" => seed = Some(value()?.parse::<u64>()?),
            "--rename" => is_all = value()? == "all",
            path => paths[side].push(path.to_owned()),
        }
    }
    let mut runs = [Vec::new(), Vec::new()];
    for (runs, paths) in runs.iter_mut().zip(&paths) {
        for path in paths {
            let session = Session::open(Path::new(path), PassOptions::default())?;
            let threads = measure::threads::threads(&session)?;
            runs.push(Run { path: path.clone(), span_ns: session.summary().span_ns, threads, ..Run::default() });
        }
    }
    let recorded = runs.clone();
    if let Some(seed) = seed {
        let mut random = Random(seed);
        let shift = random.below(24);
        let mut hidden = Hidden { random, names: BTreeMap::new(), is_all, shift };
        for run in &mut runs[1] {
            hidden.hide(run);
        }
    }
    let found = roles([&runs[0], &runs[1]], &map)?;
    if !is_json {
        for role in &found.roles {
            let [a, b] = role.threads;
            println!("{:<6} {:<7} {a:>5} {b:>5}  {}", text(role.confidence), text(role.matched_by), role.name);
        }
        found.notes.iter().for_each(|note| println!("Note: {note}"));
        return Ok(());
    }
    let member = |side: usize, run: usize, key: ThreadKey| {
        // Keys are those of the place: hiding shuffles keys, not places.
        let at = runs[side][run].threads.iter().position(|thread| thread.thread == key);
        at.map(|at| {
            let (of, given) = (&recorded[side][run].threads[at], &runs[side][run].threads[at].name);
            json!({"run": run, "process": of.process, "name": of.name, "given": given, "is_main": of.pid == Some(of.tid), "begin_ns": of.begin_ns,
                   "running_ns": of.values.get("running_ns"), "wakings": of.values.get("wakings"), "is_own": of.is_own})
        })
    };
    let role = |role: &compare::Role| {
        let members = [0, 1].map(|side| {
            let runs = role.members[side].iter().enumerate();
            runs.flat_map(|(run, keys)| keys.iter().filter_map(move |key| member(side, run, *key))).collect::<Vec<_>>()
        });
        json!({"name": role.name, "matched_by": role.matched_by, "confidence": role.confidence, "members": members})
    };
    println!("{}", json!({"roles": found.roles.iter().map(role).collect::<Vec<_>>(), "notes": found.notes}));
    Ok(())
}

fn text(of: impl serde::Serialize) -> String {
    json!(of).as_str().unwrap_or_default().to_owned()
}

/// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }

    /// A permutation of some numbers.
    fn permuted<N: Copy + Ord>(&mut self, numbers: BTreeSet<N>) -> BTreeMap<N, N> {
        let mut to: Vec<N> = numbers.iter().copied().collect();
        for at in (1..to.len()).rev() {
            to.swap(at, self.below(at + 1));
        }
        numbers.into_iter().zip(to).collect()
    }
}

/// What names and numbers are replaced by.
struct Hidden {
    random: Random,
    names: BTreeMap<(String, String), String>,
    is_all: bool,
    shift: usize,
}

const WORDS: [&str; 24] = [
    "Thread", "aux", "bgtask", "conv", "drain", "exec", "feeder", "grp", "helper", "io-lane", "job", "karl", "loader",
    "mixer", "net", "ops", "pump", "quux", "runner", "stage", "tick", "unit", "vproc", "xthread",
];

impl Hidden {
    fn hide(&mut self, run: &mut Run) {
        let of = |thread: &ThreadFacts| (thread.process.clone(), pool(&thread.name));
        let mut counts = BTreeMap::<(String, String), usize>::new();
        for thread in &run.threads {
            *counts.entry(of(thread)).or_default() += 1;
        }
        let keys = self.random.permuted(run.threads.iter().map(|thread| thread.thread).collect());
        let tids = self
            .random
            .permuted(run.threads.iter().flat_map(|thread| [Some(thread.tid), thread.pid]).flatten().collect());
        for thread in &mut run.threads {
            let name = of(thread);
            let is_main = thread.pid == Some(thread.tid);
            let is_pool =
                counts.get(&name).is_some_and(|count| *count > 1) || thread.name.bytes().any(|b| b.is_ascii_digit());
            if thread.is_own && !thread.is_kernel && !is_main && (is_pool || self.is_all) {
                let known = self.names.len();
                let word = WORDS[(known * 7 + self.shift) % 24];
                let new = self
                    .names
                    .entry(name)
                    .or_insert_with(|| if known < 24 { word.to_owned() } else { format!("{word}{}", letters(known)) });
                thread.name = format!("{new}-{}", self.random.below(1000));
            }
            thread.thread = keys.get(&thread.thread).copied().unwrap_or(thread.thread);
            thread.tid = tids.get(&thread.tid).copied().unwrap_or(thread.tid);
            thread.pid = thread.pid.and_then(|pid| tids.get(&pid).copied());
            thread.wakers.iter_mut().for_each(|(waker, _)| *waker = keys.get(waker).copied().unwrap_or(*waker));
        }
    }
}

/// What threads of one pool have in common: no digits, but for `C1` and the like at the begin; not what the kernel cuts if the number is longer.
fn pool(name: &str) -> String {
    let kept = if name.chars().take_while(char::is_ascii_alphabetic).count() == 1 { 2 } else { 0 };
    let without = name.chars().enumerate().filter(|(at, c)| *at < kept || !c.is_ascii_digit());
    without.map(|(_, c)| c).take(13).collect()
}

fn letters(number: usize) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}
