//! Thread names are bytes: a name that is not UTF-8 is recorded by both backends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod support;

use capture::{Backend, RecordOptions};
use model::EventKind;
use std::sync::mpsc::channel;
use std::time::Duration;
use support::{alone, gettid, read, recorded_while};

/// [`NAME`] decoded lossily: each byte that is not UTF-8 becomes U+FFFD.
const NAME: &[u8; 8] = b"\xff\xfe) R\xc3(\0";
const EXPECTED: &str = "\u{fffd}\u{fffd}) R\u{fffd}(";

#[test]
#[ignore = "needs BPF rights, perf events"]
fn a_thread_name_that_is_not_utf_8_is_recorded() {
    let _alone = alone();
    for backend in [Backend::Bpf, Backend::Perf] {
        let dir = tempfile::tempdir().unwrap();
        let (send_tid, receive_tid) = channel();
        let (go, wait) = channel::<()>();
        let sleeper = std::thread::spawn(move || {
            // SAFETY: a text that ends with a zero byte.
            unsafe { libc::prctl(libc::PR_SET_NAME, NAME.as_ptr()) };
            send_tid.send(gettid()).unwrap();
            // Runs from time to time until the recording has ended.
            while wait
                .recv_timeout(Duration::from_millis(5))
                .is_err_and(|e| e == std::sync::mpsc::RecvTimeoutError::Timeout)
            {}
        });
        let tid = receive_tid.recv().unwrap();
        let mut options = RecordOptions::new(dir.path().join("run"));
        (options.backend, options.duration) = (backend, Some(Duration::from_millis(300)));
        recorded_while(&options, &mut || ());
        drop(go);
        sleeper.join().unwrap();
        let trace = read(&options.dir);
        let name = |id: model::NameId| id.0.checked_sub(1).map_or("", |at| &*trace.names[at as usize]);
        let seen = trace.events.iter().find_map(|e| match e.what {
            EventKind::Snapshot(seen) if seen.tid.0 == tid => Some(name(seen.name)),
            _ => None,
        });
        assert_eq!(seen, Some(EXPECTED), "{backend:?}");
        // Switch-ins and switch-outs: in a virtual machine that hides switches, perf events may contain only one of them.
        let is_its = |e: &&model::Event| matches!(e.what, EventKind::Switch(s) if s.next.0 == tid || s.prev.0 == tid);
        let switches = trace.events.iter().filter(is_its).count();
        assert!(switches > 5, "{backend:?}: {switches} switches");
    }
}
