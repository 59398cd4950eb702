//! Two threads in a control group that may run for 40 ms of each 100 ms: after that they are stopped while the CPUs are idle.
//!
//! Fixed: the group has no quota. Needs root to create a control group.

use pathologies::{Group, Marks, Run, skip, thread, work};

/// The file of a group's quota, with the values for a quota and for no quota: of cgroup v2, and of v1.
const V2: (&str, &str, &str) = ("cpu.max", "40000 100000", "max 100000");
const V1: (&str, &str, &str) = ("cpu.cfs_quota_us", "40000", "-1");

fn main() {
    let run = Run::from_arguments();
    let frames = run.size(100);
    let group = entered(run.fixed);
    let marks = Marks::open();
    run.measure(2 * frames, || {
        for _ in 0..frames {
            marks.around("frame", || {
                std::thread::scope(|s| ["decode", "filter"].map(|name| thread(s, name, || work(10_000))));
            });
        }
    });
    group.remove();
}

/// Creates a group with its quota, and moves this process into it.
fn entered(fixed: bool) -> Group {
    let group = Group::new();
    let (file, limited, free) = if group.has(V1.0) { V1 } else { V2 };
    let quota = group.set(file, if fixed { free } else { limited });
    if let Err(why) = quota.and_then(|()| group.take(std::process::id())) {
        group.remove();
        skip(&format!("cannot set a CPU quota here: {file}: {why}"));
    }
    group
}
