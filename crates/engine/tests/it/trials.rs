//! The table of trials that are kept with a recording.

use engine::{PassOptions, Session};
use model::tables::{TRIALS, trials};
use model::{Ns, TrialVerdict, Tried};

const RECORDING: &str = "\
# tracer: nop
#
<idle>-0 [000] d... 100.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=10 next_prio=120
a-10 [000] d... 100.010000: sched_switch: prev_comm=a prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

#[test]
fn trials_are_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.txt");
    std::fs::write(&path, RECORDING).unwrap();
    for (change, verdict) in [(Some(-0.25), TrialVerdict::Helped), (None, TrialVerdict::NotApplied)] {
        let tried = Tried {
            rule: "throttled-by-quota".to_owned(),
            thread: "render".to_owned(),
            fix: "quota".to_owned(),
            verdict,
            pairs: 10,
            change,
            interval: change.map(|_| [-0.5, -0.125]),
            predicted_ns: Ns(100),
            predicted_range_ns: [Ns(50), Ns(150)],
            saved_ns: None,
            saved_range_ns: None,
            found: [10, 0],
            at_unix_s: 1_700_000_000,
            corewise: "0.2.0".to_owned(),
        };
        store::add_trial(&path, tried).unwrap();
    }
    let session = Session::open(&path, PassOptions::default()).unwrap();
    assert!(session.is_quick(&TRIALS));
    let table = session.table("trials").unwrap();
    let rows: Vec<_> = table
        .rows_of(trials::Table)
        .map(|row| (row.get(trials::VERDICT), row.get(trials::CHANGE), row.get(trials::CHANGE_LOW)))
        .collect();
    assert_eq!(rows, [("helped", Some(-0.25), Some(-0.5)), ("not applied", None, None)]);
}
