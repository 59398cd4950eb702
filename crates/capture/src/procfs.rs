//! Reads threads from `/proc`, in the same rows as the kernel's task iterator: for the perf backend, and for threads that the
//! iterator leaves out.

use crate::{samples, wire};
use std::collections::HashSet;

/// Returns the CPUs that are online.
pub fn online() -> Vec<u32> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    crate::record::cpu_numbers(&list).into_iter().map(|c| c.0).collect()
}

struct Thread {
    /// The name as the kernel stores it: bytes that need not be UTF-8.
    comm: Vec<u8>,
    state: u8,
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

/// Parses a thread's files. Its name is in two of them, and may contain any byte except NUL.
fn parsed(stat: &[u8], status: &[u8], schedstat: Option<&[u8]>) -> Option<Thread> {
    // The name may contain parentheses.
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
        state: rest.first()?.as_bytes().first().copied()?,
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

/// Returns all threads as (process, thread).
fn listed() -> impl Iterator<Item = (u32, u32)> {
    let inside = |dir: &str| -> Vec<u32> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
    };
    let of = move |pid| inside(&format!("/proc/{pid}/task")).into_iter().map(move |tid| (pid, tid));
    inside("/proc").into_iter().flat_map(of)
}

/// Returns a row for every thread, concatenated in wire format.
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

/// Returns rows for the threads that `rows` lacks: some kernels hide a few tasks from tracers, but not from `/proc`. The rows have no
/// charged CPU time, since such a thread may run unnoticed. Threads in state R are left out, since it is unknown whether they run or
/// are ready.
pub fn unlisted(rows: &[u8]) -> Vec<u8> {
    let listed_tids: HashSet<i32> =
        rows.chunks_exact(wire::ROW).filter_map(|bytes| Some(wire::row(bytes)?.tid)).collect();
    let mut more = Vec::new();
    for (pid, tid) in listed().filter(|(_, tid)| !listed_tids.contains(&tid.cast_signed())) {
        let at = samples::now();
        if let Some(t) = thread(pid, tid).filter(|t| t.state != b'R') {
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
    // The raw state of a state letter, and its exit state. /proc does not show which runnable thread is on a CPU.
    let (state, exit) = match t.state {
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
    rows.extend_from_slice(&wire::NO_CALL.to_ne_bytes());
    rows.extend_from_slice(&[0; 12]);
    debug_assert_eq!(rows.len() - start, wire::ROW);
}

/// Completes a fork's record: data that perf does not provide is read from `/proc` if the thread still exists.
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

    /// Returns the rows of a thread.
    fn rows_of(tid: i32, rows: &[u8]) -> Vec<wire::Row> {
        let rows = rows.chunks_exact(wire::ROW).filter_map(wire::row);
        rows.filter(|row| row.tid == tid).collect()
    }

    /// A name, as the kernel writes it to both files, that is not UTF-8 and contains the delimiters of the format.
    #[test]
    fn a_name_may_contain_any_bytes() {
        let name = b"\xff\xfe) R\xc3(x";
        let stat = [b"7 (", &name[..], b") S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 -5 1 0 0 0 0 0 0 0 0\n"].concat();
        let status = [b"Name:\t", &name[..], b"\nNSpid:\t7\t3\nNStgid:\t7\t3\nCpus_allowed:\t3\n"].concat();
        let Some(t) = parsed(&stat, &status, Some(b"12 0 1\n")) else { panic!("the files cannot be parsed") };
        assert_eq!((t.comm.as_slice(), t.state, t.prio, t.nice), (&name[..], b'S', 120, -5));
        assert_eq!((t.exec, t.mask, t.inner), (12, vec![3], vec![(3, 3)]));
        let t = parsed(&stat, &status, None);
        let mut rows = Vec::new();
        t.iter().for_each(|t| row(t, 7, 7, 1, &mut rows));
        assert_eq!(
            rows_of(7, &rows).iter().map(|r| r.comm.as_str()).collect::<Vec<_>>(),
            ["\u{fffd}\u{fffd}) R\u{fffd}(x"]
        );
    }

    /// Waits until a thread has left its CPU in `read`, as the kernel says; while it runs or is ready, there is no number.
    fn until_it_reads(tid: i32) {
        let (call, end) = (libc::SYS_read.to_string(), std::time::Instant::now() + std::time::Duration::from_secs(60));
        let reads = || std::fs::read_to_string(format!("/proc/self/task/{tid}/syscall"));
        while !reads().is_ok_and(|text| text.split(' ').next() == Some(call.as_str())) {
            assert!(std::time::Instant::now() < end, "the thread does not read: {:?}", reads());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    #[test]
    fn adds_only_threads_that_are_not_listed() {
        let (send_tid, receive_tid) = std::sync::mpsc::channel();
        let Ok((mut wait, go)) = std::io::pipe() else { panic!("no pipe") };
        let waits = std::thread::spawn(move || {
            // SAFETY: no memory is involved.
            let sent = send_tid.send(unsafe { libc::gettid() });
            sent.is_ok() && std::io::Read::read(&mut wait, &mut [0]).is_ok_and(|length| length == 0)
        });
        let Ok(tid) = receive_tid.recv() else {
            return assert!(waits.join().is_err(), "the thread ended without sending its TID");
        };
        until_it_reads(tid);
        let all = threads();
        assert_eq!(rows_of(tid, &all).iter().map(|row| row.state).collect::<Vec<_>>(), [1]);
        assert!(rows_of(tid, &unlisted(&all)).is_empty());
        let added = rows_of(tid, &unlisted(&[]));
        assert_eq!(added.len(), 1);
        assert_eq!((added[0].pid.cast_unsigned(), added[0].on_rq), (std::process::id(), 0));
        assert_eq!(added[0].exec, model::Ns::MAX, "the charged CPU time must be unknown");
        drop(go);
        assert!(waits.join().is_ok_and(|ended| ended));
    }
}
