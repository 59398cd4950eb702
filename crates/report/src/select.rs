//! Which threads are shown, in which order.

use crate::{Options, Sort, words};
use engine::{EngineError, Session};
use model::Table;
use std::cmp::Reverse;
use std::collections::HashSet;

/// A row of `threads`.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    pub key: i64,
    pub tid: i64,
    pub life: i64,
    pub pid: Option<i64>,
    pub name: String,
    pub running: i64,
    /// Running time that the kernel did not charge: stolen, or spent in interrupts.
    pub stolen: Option<i64>,
    pub ready: Option<i64>,
    pub blocked: i64,
    pub unknown: i64,
    /// Running time that was inferred.
    pub inferred: i64,
    pub exited: i64,
    pub involuntary: i64,
    pub voluntary: i64,
    pub max_ready: Option<i64>,
    pub migrations: i64,
}

impl Thread {
    /// Its number, and which of its lives where it had several.
    pub fn number(&self) -> String {
        if self.life > 0 { format!("{}:{}", self.tid, self.life) } else { self.tid.to_string() }
    }
}

/// All of them in one row. The times of a damaged file may be larger than any sum.
pub fn sum<'a>(name: String, threads: impl Iterator<Item = &'a Thread>) -> Thread {
    let mut all = Thread { name, ..Thread::default() };
    let add = |to: &mut Option<i64>, more: Option<i64>| {
        if let Some(more) = more {
            *to = Some(to.unwrap_or(0).saturating_add(more));
        }
    };
    for t in threads {
        all.running = all.running.saturating_add(t.running);
        add(&mut all.stolen, t.stolen);
        add(&mut all.ready, t.ready);
        all.blocked = all.blocked.saturating_add(t.blocked);
        all.unknown = all.unknown.saturating_add(t.unknown);
        all.inferred = all.inferred.saturating_add(t.inferred);
        all.exited = all.exited.saturating_add(t.exited);
        all.involuntary = all.involuntary.saturating_add(t.involuntary);
        all.voluntary = all.voluntary.saturating_add(t.voluntary);
        all.max_ready = all.max_ready.max(t.max_ready);
        all.migrations = all.migrations.saturating_add(t.migrations);
    }
    all
}

/// The rows of `threads`.
pub fn read(table: &Table) -> Vec<Thread> {
    let row = |i: usize| {
        let int = |name: &str| table.int(i, name);
        let sum = |name: &str| int(name).unwrap_or(0);
        Thread {
            key: sum("thread"),
            tid: sum("tid"),
            life: sum("life"),
            pid: int("pid"),
            name: words::plain(table.text(i, "name").unwrap_or("?")),
            running: sum("running_ns"),
            stolen: int("exec_of_ns").zip(int("exec_ns")).map(|(of, exec)| of.saturating_sub(exec)),
            ready: int("ready_ns"),
            blocked: sum("blocked_ns"),
            unknown: sum("unknown_ns"),
            inferred: sum("inferred_ns"),
            exited: sum("exited_ns"),
            involuntary: sum("involuntary"),
            voluntary: sum("voluntary"),
            max_ready: int("max_ready_ns"),
            migrations: sum("migrations"),
        }
    };
    (0..table.rows.len()).map(row).collect()
}

/// Threads that are shown together.
pub struct Group {
    /// What they have in common.
    pub title: String,
    /// Those shown, in order.
    pub shown: Vec<Thread>,
    /// All others of the group in one row, and how many they are.
    pub others: Option<(usize, Thread)>,
    /// All of the group.
    pub all: Thread,
    /// Whether all are of one process.
    pub one_process: bool,
}

/// The process asked for, or the one that the recording was made for and then all others, or all.
pub fn groups(session: &Session, options: &Options, threads: &[Thread]) -> Result<Vec<Group>, EngineError> {
    if let Some(asked) = &options.process {
        let (title, chosen) = of_process(asked, threads);
        if chosen.is_empty() {
            return Err(EngineError::Other(format!(
                "{}: no thread of a process called {asked}; `corewise report {}` shows all threads",
                session.path().display(),
                session.path().display()
            )));
        }
        return Ok(vec![group(title, chosen, options)]);
    }
    let focus = session.facts().focus.map(i64::from);
    let (inside, outside): (Vec<Thread>, Vec<Thread>) =
        threads.iter().cloned().partition(|t| focus.is_some() && t.pid == focus);
    let mut groups = Vec::new();
    if let Some(pid) = focus.filter(|_| !inside.is_empty()) {
        groups.push(group(of_pid(pid, &inside), inside, options));
    }
    let title = if groups.is_empty() { "Threads" } else { "All other threads" };
    if !outside.is_empty() {
        groups.push(group(title.to_owned(), outside, options));
    }
    Ok(groups)
}

fn of_pid(pid: i64, threads: &[Thread]) -> String {
    let name = threads.iter().find(|t| t.tid == pid).map(|t| format!(" ({})", t.name)).unwrap_or_default();
    format!("Threads of process {pid}{name}")
}

fn of_process(asked: &str, threads: &[Thread]) -> (String, Vec<Thread>) {
    if let Ok(pid) = asked.parse::<i64>() {
        let of: Vec<Thread> = threads.iter().filter(|t| t.pid == Some(pid) || t.tid == pid).cloned().collect();
        return (of_pid(pid, &of), of);
    }
    let pids: HashSet<i64> =
        threads.iter().filter(|t| t.name == asked && t.pid == Some(t.tid)).map(|t| t.tid).collect();
    let of = |t: &&Thread| t.name == asked || t.pid.is_some_and(|p| pids.contains(&p));
    (format!("Threads of {asked}"), threads.iter().filter(of).cloned().collect())
}

fn group(title: String, mut threads: Vec<Thread>, options: &Options) -> Group {
    sort(&mut threads, options.sort);
    let all = sum(format!("all {}", threads.len()), threads.iter());
    let one_process = threads.first().is_some_and(|f| f.pid.is_some() && threads.iter().all(|t| t.pid == f.pid));
    let rest = threads.split_off(options.top.min(threads.len()));
    let others = (!rest.is_empty()).then(|| (rest.len(), sum(words::plural(rest.len() as u64, "other"), rest.iter())));
    Group { title, shown: threads, others, all, one_process }
}

fn sort(threads: &mut [Thread], by: Sort) {
    let largest = |t: &Thread| match by {
        Sort::Running => t.running,
        Sort::Ready => t.ready.unwrap_or(0),
        Sort::MaxReady => t.max_ready.unwrap_or(0),
        Sort::Blocked => t.blocked,
        Sort::Unknown => t.unknown,
        Sort::Switches => t.involuntary.saturating_add(t.voluntary),
        Sort::Migrations => t.migrations,
        Sort::Name => 0,
    };
    match by {
        Sort::Name => threads.sort_by(|a, b| (&a.name, a.key).cmp(&(&b.name, b.key))),
        _ => threads.sort_by_key(|t| (Reverse(largest(t)), t.key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(key: i64, pid: i64, name: &str, running: i64) -> Thread {
        Thread { key, tid: key, pid: Some(pid), name: name.to_owned(), running, ready: Some(1), ..Thread::default() }
    }

    #[test]
    fn a_process_is_found_by_number_by_its_first_threads_name_or_by_a_threads() {
        let all = [thread(10, 10, "game", 1), thread(11, 10, "Render", 5), thread(12, 12, "hog", 9)];
        let keys = |asked| of_process(asked, &all).1.iter().map(|t| t.key).collect::<Vec<_>>();
        assert_eq!(keys("10"), [10, 11]);
        assert_eq!(keys("game"), [10, 11]);
        assert_eq!(keys("Render"), [11]);
        assert!(keys("nobody").is_empty());
        assert_eq!(of_process("10", &all).0, "Threads of process 10 (game)");
    }

    #[test]
    fn what_is_not_shown_is_summed() {
        let all = vec![thread(1, 1, "a", 1), thread(2, 1, "b", 5), thread(3, 1, "c", 9)];
        let group = group("Threads".to_owned(), all, &Options { top: 1, ..Options::default() });
        assert_eq!(group.shown[0].name, "c");
        let (count, others) = group.others.unwrap();
        assert_eq!((count, others.running, others.ready), (2, 6, Some(2)));
        assert_eq!(group.all.running, 15);
        assert!(group.one_process);
    }

    #[test]
    fn sorted_by_name() {
        let mut all = vec![thread(1, 1, "b", 1), thread(2, 1, "a", 0)];
        sort(&mut all, Sort::Name);
        assert_eq!(all[0].name, "a");
    }
}
