//! A thread's name is bytes: one that is no UTF-8 is recorded like every other, by either way to ask the kernel.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod support;

use capture::{Backend, RecordOptions};
use model::What;
use std::sync::mpsc::channel;
use std::time::Duration;
use support::{alone, gettid, read, recorded_while};

/// Lossily, each byte that is none of UTF-8's is U+FFFD.
const NAME: &[u8; 8] = b"\xff\xfe) R\xc3(\0";
const TOLD: &str = "\u{fffd}\u{fffd}) R\u{fffd}(";

#[test]
#[ignore = "needs BPF rights, perf events"]
fn a_thread_whose_name_is_no_utf_8_is_recorded() {
    let _alone = alone();
    for backend in [Backend::Bpf, Backend::Perf] {
        let dir = tempfile::tempdir().unwrap();
        let (tell, hear) = channel();
        let (go, wait) = channel::<()>();
        let sleeper = std::thread::spawn(move || {
            // SAFETY: a text that ends with a zero byte.
            unsafe { libc::prctl(libc::PR_SET_NAME, NAME.as_ptr()) };
            tell.send(gettid()).unwrap();
            // Runs now and then until the recording is over.
            while wait
                .recv_timeout(Duration::from_millis(5))
                .is_err_and(|e| e == std::sync::mpsc::RecvTimeoutError::Timeout)
            {}
        });
        let tid = hear.recv().unwrap();
        let mut options = RecordOptions::new(dir.path().join("run"));
        (options.backend, options.duration) = (backend, Some(Duration::from_millis(300)));
        recorded_while(&options, &mut || ());
        drop(go);
        sleeper.join().unwrap();
        let told = read(&options.dir);
        let name = |id: model::NameId| id.0.checked_sub(1).map_or("", |at| &*told.names[at as usize]);
        let seen = told.events.iter().find_map(|e| match e.what {
            What::Seen(seen) if seen.tid.0 == tid => Some(name(seen.name)),
            _ => None,
        });
        assert_eq!(seen, Some(TOLD), "{backend:?}");
        // Both ends: in a virtual machine that hides switches, perf events may have but one of them.
        let is_its = |e: &&model::Event| matches!(e.what, What::Switch(s) if s.next.0 == tid || s.prev.0 == tid);
        let switches = told.events.iter().filter(is_its).count();
        assert!(switches > 5, "{backend:?}: {switches} switches");
    }
}
