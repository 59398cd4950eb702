//! What threads wait for, exported and read back.

use crate::support::{exported, rows, session};
use engine::{PassOptions, Session};
use export::Options;
use export::formats::perfetto::Perfetto;
use std::path::Path;

/// A waits for a mutex and for a lock of the kernel, which B holds, for a pipe, for a connection, and for an epoll set in which another connection
/// becomes ready.
const DRAWN: &str = "
cpu0    As .  .  A  As .  .  A  As .  .  A  As .  .  A  As .  .  A
cpu1    .  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B
waking  .  .  A<B@1 . . . A<B@1 . . . A<B@1 . . . A<B@1 . . . A<B@1 .
futex   .  A=m1<B . . . . . . . . . . . . . . . . . .
object  .  .  .  . . A=pipe7 . . . A=kernel_mutex3<B . . . A=socket5:10.0.0.1:80 . . . A=epoll1 . .
readied .  .  .  . . . . . . . . . . . . . . . A=socket9:10.0.0.1:81 .
process A  B<A . . . . . . . . . . . . . . . . . .
";

/// A and C wait for a mutex: B, which the memory names, wakes C, which wakes A. Later, D is throttled from 12 to 15 ms.
const LOCKED: &str = "
cpu0     As .  .  .  .  .  .  .  A  As D  Dr .  .  .  D  D  D
cpu1     .  B  Bs .  B  B  .  .  .  .  .  .  .  .  .  .  .  .
cpu2     Cs Cs .  .  .  .  C  C  C  .  .  .  .  .  .  .  .  .
waking   .  .  .  .  B<.@1 C<B@1 . A<C@2 . . . . . . . . . .
futex    .  A=m1<B C=m1<B . . . . . . . . . . . . . . .
throttle .  .  .  .  .  .  .  .  .  .  .  .  D( .  .  D) .  .
process  A  B<A C<A D<A .  .  .  .  .  .  .  .  .  .  .  .  .  .
";

fn drawn() -> Session {
    drawn_from(DRAWN)
}

fn drawn_from(text: &str) -> Session {
    let trace = testkit::trace(text);
    session(trace.facts, trace.batch)
}

/// A fixture of the viewer is this drawing.
#[test]
fn the_fixture_of_the_viewer_has_these_waits() {
    is_fixture("waits.pftrace", &drawn());
}

/// So is this one.
#[test]
fn the_fixture_of_the_viewer_has_this_lock() {
    is_fixture("locks.pftrace", &drawn_from(LOCKED));
}

fn is_fixture(name: &str, before: &Session) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../viewer/test/browser").join(name);
    if testkit::cases::is_blessing() {
        std::fs::write(&fixture, exported(&Perfetto, before, &Options::default())).unwrap();
    }
    let after = Session::open(&fixture, PassOptions::default()).unwrap();
    for table in ["object_waits", "lock_waits", "throttled", "thread_state"] {
        assert_eq!(rows(before, table), rows(&after, table), "{table}");
    }
}

/// Paths and addresses are left out; what kind of object it was is not.
#[test]
fn names_of_objects_are_left_out_with_redact() {
    let of = |redact: bool| {
        let mut session = drawn();
        if redact {
            session.redact(engine::Redact::Private);
        }
        exported(&Perfetto, &session, &Options::default())
    };
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    let [open, redacted] = [false, true].map(of);
    assert!(has(&open, "10.0.0.1:80") && has(&open, "10.0.0.1:81") && !has(&redacted, "10.0.0.1"));
    assert!(has(&redacted, "socket"));
}
