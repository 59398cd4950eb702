//! Two threads in a control group that may run 40 ms of each 100 ms: after those, they stand still while the CPUs idle.
//!
//! Mended, the group may run as much as the machine has. Wants the right to make a control group (root).

use pathologies::{Marks, Run, leave, skip, thread, work};
use std::fs;
use std::path::{Path, PathBuf};

/// The file of a group's quota, with what is written there: of cgroup v2, and of v1.
const V2: (&str, &str, &str) = ("cpu.max", "40000 100000", "max 100000");
const V1: (&str, &str, &str) = ("cpu.cfs_quota_us", "40000", "-1");

fn main() {
    let run = Run::from_arguments();
    let frames = run.size(100);
    let group = Group::enter(run.mended);
    let marks = Marks::open();
    run.measure(2 * frames, || {
        for _ in 0..frames {
            marks.around("frame", || {
                std::thread::scope(|s| ["decode", "filter"].map(|name| thread(s, name, || work(10_000))));
            });
        }
    });
    group.leave();
}

/// A group of this process alone.
struct Group {
    parent: PathBuf,
    own: PathBuf,
}

impl Group {
    fn enter(mended: bool) -> Group {
        let parent = home();
        let own = parent.join(format!("corewise-pathology-{}", std::process::id()));
        if let Err(why) = fs::create_dir(&own) {
            skip(&format!("cannot make a control group in {}: {why}", parent.display()));
        }
        let group = Group { parent, own };
        let (file, limited, free) = if group.own.join(V1.0).exists() { V1 } else { V2 };
        let pid = std::process::id().to_string();
        let entered = fs::write(group.own.join(file), if mended { free } else { limited })
            .and_then(|()| fs::write(group.own.join("cgroup.procs"), pid));
        if let Err(why) = entered {
            group.leave();
            skip(&format!("no control group has a quota here: {file}: {why}"));
        }
        group
    }

    /// Goes back, and takes the group away: an empty one can be removed.
    fn leave(&self) {
        let pid = std::process::id().to_string();
        // Not being in it is as good.
        let _ = fs::write(self.parent.join("cgroup.procs"), pid);
        if let Err(why) = fs::remove_dir(&self.own) {
            leave(1, &format!("cannot remove {}: {why}", self.own.display()));
        }
    }
}

/// The folder of groups beside which one with a quota may be made: in v1 our own group, in v2 the root, as a group with
/// processes of its own may not have others with controllers below it.
fn home() -> PathBuf {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let v1 = own.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let cpu = controllers.split(',').any(|c| c == "cpu");
        cpu.then(|| Path::new("/sys/fs/cgroup").join(controllers).join(path.trim_start_matches('/')))
    });
    v1.unwrap_or_else(|| PathBuf::from("/sys/fs/cgroup"))
}
