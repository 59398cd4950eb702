//! Threads by `/proc`, in the same rows as the kernel's task iterator gives them: for the perf backend, and for threads that the
//! iterator passes over.

use crate::{samples, wire};
use std::collections::HashSet;

/// The CPUs that are online.
pub fn online() -> Vec<u32> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    crate::record::cpu_numbers(&list).into_iter().map(|c| c.0).collect()
}

struct Thread {
    /// As the kernel keeps it: bytes, of which nobody says that they are UTF-8.
    comm: Vec<u8>,
    letter: u8,
    prio: i32,
    policy: i32,
    nice: i32,
    cpu: u32,
    exec: u64,
    mask: Vec<u64>,
    inner: Vec<(u32, u32)>,
}

fn thread(pid: u32, tid: u32) -> Option<Thread> {
    let base = format!("/proc/{pid}/task/{tid}");
    let read = |file: &str| std::fs::read(format!("{base}/{file}")).ok();
    parsed(&read("stat")?, &read("status")?, read("schedstat").as_deref())
}

/// A thread by its files. Its name stands in two of them, and may hold any byte but NUL.
fn parsed(stat: &[u8], status: &[u8], schedstat: Option<&[u8]>) -> Option<Thread> {
    // The name may hold anything, parentheses too.
    let before = stat.iter().position(|b| *b == b'(')?;
    let after = stat.iter().rposition(|b| *b == b')')?;
    let rest = str::from_utf8(stat.get(after + 2..)?).ok()?;
    let rest: Vec<&str> = rest.trim_end().split(' ').collect();
    let number = |at: usize| rest.get(at).and_then(|w| w.parse::<i32>().ok()).unwrap_or(0);
    let status = String::from_utf8_lossy(status);
    let line = |key: &str| status.lines().find_map(|l| l.strip_prefix(key)).unwrap_or_default().trim();
    let numbers = |key: &str| line(key).split_whitespace().filter_map(|w| w.parse().ok()).collect::<Vec<u32>>();
    let mut words: Vec<u32> =
        line("Cpus_allowed:").split(',').filter_map(|w| u32::from_str_radix(w, 16).ok()).collect();
    words.reverse();
    let exec = schedstat.and_then(|text| str::from_utf8(text).ok()?.split(' ').next()?.parse().ok());
    Some(Thread {
        comm: stat.get(before + 1..after)?.to_owned(),
        letter: rest.first()?.as_bytes().first().copied()?,
        // Field 18 counts from the lowest real-time priority.
        prio: number(15) + 100,
        policy: number(38),
        nice: number(16),
        cpu: number(36).cast_unsigned(),
        exec: exec.unwrap_or(u64::MAX),
        mask: words.chunks(2).map(|w| u64::from(w[0]) | u64::from(w.get(1).copied().unwrap_or(0)) << 32).collect(),
        inner: numbers("NSpid:").into_iter().zip(numbers("NStgid:")).skip(1).collect(),
    })
}

/// All threads, by their process.
fn listed() -> impl Iterator<Item = (u32, u32)> {
    let inside = |dir: &str| -> Vec<u32> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
    };
    let of = move |pid| inside(&format!("/proc/{pid}/task")).into_iter().map(move |tid| (pid, tid));
    inside("/proc").into_iter().flat_map(of)
}

/// A row for every thread, in wire form one behind the other.
pub fn threads() -> Vec<u8> {
    let mut rows = Vec::new();
    for (pid, tid) in listed() {
        let at = samples::now();
        if let Some(t) = thread(pid, tid) {
            row(&t, pid, tid, at, &mut rows);
        }
    }
    rows
}

/// Rows for the threads that these rows lack: some kernels hide a few tasks from their tracers, not from `/proc`. What such a
/// one was charged is not told, since it may run unheard; nor one that runs or is ready, since which is not known.
pub fn unlisted(rows: &[u8]) -> Vec<u8> {
    let there: HashSet<i32> = rows.chunks_exact(wire::ROW).filter_map(|bytes| Some(wire::row(bytes)?.tid)).collect();
    let mut more = Vec::new();
    for (pid, tid) in listed().filter(|(_, tid)| !there.contains(&tid.cast_signed())) {
        let at = samples::now();
        if let Some(t) = thread(pid, tid).filter(|t| t.letter != b'R') {
            row(&Thread { exec: u64::MAX, ..t }, pid, tid, at, &mut more);
        }
    }
    more
}

fn row(t: &Thread, pid: u32, tid: u32, at: u64, rows: &mut Vec<u8>) {
    let start = rows.len();
    rows.extend_from_slice(&[wire::KIND_ROW, 9]);
    rows.extend_from_slice(&(t.cpu as u16).to_ne_bytes());
    rows.extend_from_slice(&tid.to_ne_bytes());
    rows.extend_from_slice(&at.to_ne_bytes());
    let (inner_tid, inner_pid) = t.inner.last().copied().unwrap_or((tid, pid));
    for word in [pid, inner_tid, inner_pid, t.inner.len() as u32] {
        rows.extend_from_slice(&word.to_ne_bytes());
    }
    for word in [t.prio, t.policy, t.nice] {
        rows.extend_from_slice(&word.to_ne_bytes());
    }
    // The raw state of a letter, and whether it is an exit state. /proc does not say which runnable thread is on a CPU.
    let (state, exit) = match t.letter {
        b'R' => (0, 0),
        b'D' => (2, 0),
        b'T' => (4, 0),
        b't' => (8, 0),
        b'X' | b'x' => (0x80, 0x10),
        b'Z' => (0x80, 0x20),
        b'P' => (0x40, 0),
        b'I' => (0x402, 0),
        _ => (1u32, 0u32),
    };
    for word in [0, u32::from(state == 0), 0, state, exit] {
        rows.extend_from_slice(&word.to_ne_bytes());
    }
    rows.extend_from_slice(&t.exec.to_ne_bytes());
    rows.extend_from_slice(&0u64.to_ne_bytes());
    let name = &t.comm;
    let mut comm = [0; 16];
    comm[..name.len().min(15)].copy_from_slice(&name[..name.len().min(15)]);
    rows.extend_from_slice(&comm);
    rows.extend_from_slice(&(t.mask.len().min(16) as u32).to_ne_bytes());
    rows.extend_from_slice(&[0; 4]);
    for n in 0..16 {
        rows.extend_from_slice(&t.mask.get(n).copied().unwrap_or(0).to_ne_bytes());
    }
    debug_assert_eq!(rows.len() - start, wire::ROW);
}

/// The rest of a fork's record: what perf does not tell is read from `/proc`, if the thread is still there.
pub fn fork(mut head: Vec<u8>, parent: u32, pid: u32, tid: u32) -> Vec<u8> {
    let t = thread(pid, tid);
    for word in [parent, pid, tid, pid] {
        head.extend_from_slice(&word.to_ne_bytes());
    }
    let (prio, policy, nice) = t.as_ref().map_or((120, 0, 0), |t| (t.prio, t.policy, t.nice));
    for word in [prio, policy, nice, 0] {
        head.extend_from_slice(&word.to_ne_bytes());
    }
    head.extend_from_slice(&0u64.to_ne_bytes());
    let mut comm = [0; 16];
    if let Some(t) = &t {
        let n = t.comm.len().min(15);
        comm[..n].copy_from_slice(&t.comm[..n]);
    }
    head.extend_from_slice(&comm);
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of a thread that waits.
    fn of(tid: i32, rows: &[u8]) -> Vec<wire::Row> {
        let rows = rows.chunks_exact(wire::ROW).filter_map(wire::row);
        rows.filter(|row| row.tid == tid).collect()
    }

    /// Its name, as the kernel writes it into both files, is no UTF-8, and holds what ends it elsewhere.
    #[test]
    fn a_name_may_be_any_bytes() {
        let name = b"\xff\xfe) R\xc3(x";
        let stat = [b"7 (", &name[..], b") S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 -5 1 0 0 0 0 0 0 0 0\n"].concat();
        let status = [b"Name:\t", &name[..], b"\nNSpid:\t7\t3\nNStgid:\t7\t3\nCpus_allowed:\t3\n"].concat();
        let Some(t) = parsed(&stat, &status, Some(b"12 0 1\n")) else { panic!("it is there") };
        assert_eq!((t.comm.as_slice(), t.letter, t.prio, t.nice), (&name[..], b'S', 120, -5));
        assert_eq!((t.exec, t.mask, t.inner), (12, vec![3], vec![(3, 3)]));
        let t = parsed(&stat, &status, None);
        let mut rows = Vec::new();
        t.iter().for_each(|t| row(t, 7, 7, 1, &mut rows));
        assert_eq!(of(7, &rows).iter().map(|r| r.comm.as_str()).collect::<Vec<_>>(), ["\u{fffd}\u{fffd}) R\u{fffd}(x"]);
    }

    #[test]
    fn only_threads_that_were_passed_over() {
        let (tell, hear) = std::sync::mpsc::channel();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let waits = std::thread::spawn(move || {
            // SAFETY: no memory is involved.
            let told = tell.send(unsafe { libc::gettid() });
            told.is_ok() && wait.recv().is_err()
        });
        let Ok(tid) = hear.recv() else { return assert!(waits.join().is_err(), "it tells its number") };
        let all = loop {
            let all = threads();
            if of(tid, &all).iter().any(|row| row.state == 1) {
                break all;
            }
        };
        assert!(of(tid, &unlisted(&all)).is_empty());
        let told = of(tid, &unlisted(&[]));
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].pid.cast_unsigned(), told[0].on_rq), (std::process::id(), 0));
        assert_eq!(told[0].exec, model::Ns::MAX, "what it was charged is not told");
        drop(go);
        assert!(waits.join().is_ok_and(|ended| ended));
    }
}
