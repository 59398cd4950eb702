//! Thread names are bytes: a name that is not UTF-8 is recorded by both backends.

use crate::support::{Over, alone, gettid, read, recorded_while, until, wait_once, waits};
use capture::{Backend, RecordOptions};
use model::EventKind;
use std::sync::mpsc::channel;

/// [`NAME`] decoded lossily: each byte that is not UTF-8 becomes U+FFFD.
const NAME: &[u8; 8] = b"\xff\xfe) R\xc3(\0";
const EXPECTED: &str = "\u{fffd}\u{fffd}) R\u{fffd}(";

#[test]
#[ignore = "needs BPF rights, perf events"]
fn a_thread_name_that_is_not_utf_8_is_recorded() {
    let _alone = alone();
    for backend in [Backend::Bpf, Backend::Perf] {
        let dir = tempfile::tempdir().unwrap();
        let over = dir.path().join("over");
        let (send_tid, receive_tid) = channel();
        let (begun, begin) = channel::<()>();
        let (go, wait) = channel::<()>();
        let of_sleeper = Over(over.clone());
        let sleeper = std::thread::spawn(move || {
            // SAFETY: a text that ends with a zero byte.
            unsafe { libc::prctl(libc::PR_SET_NAME, NAME.as_ptr()) };
            send_tid.send(gettid()).unwrap();
            // Leaves its CPU a known number of times during the recording, and exists until that has ended.
            begin.recv().unwrap();
            let before = waits();
            (0..10).for_each(|_| wait_once());
            let waited = waits() - before;
            drop(of_sleeper);
            let _ = wait.recv();
            waited
        });
        let tid = receive_tid.recv().unwrap();
        let mut options = RecordOptions::new(dir.path().join("run"));
        (options.backend, options.target) = (backend, until(&over));
        recorded_while(&options, &mut || {
            let _ = begun.send(());
        });
        drop(go);
        let waited = sleeper.join().unwrap();
        let trace = read(&options.dir);
        let name = |id: model::NameId| id.0.checked_sub(1).map_or("", |at| &*trace.names[at as usize]);
        let seen = trace.events.iter().find_map(|e| match e.what {
            EventKind::Snapshot(seen) if seen.tid.0 == tid => Some(name(seen.name)),
            _ => None,
        });
        assert_eq!(seen, Some(EXPECTED), "{backend:?}");
        // It leaves its CPU as itself. In a virtual machine that hides switches, its switch-ins may be missing with perf events.
        let outs = trace.events.iter().filter(|e| matches!(e.what, EventKind::Switch(s) if s.prev.0 == tid)).count();
        assert!(outs as u64 >= waited && waited >= 10, "{backend:?}: {outs} switches, {waited} waits");
    }
}
