//! The CPU controller's settings of each cgroup, and the kernel's statistics of cgroups with a quota.
//!
//! The kernel does not notify of changes, so the settings are polled: all when the recording begins, then some folders each second, in
//! rounds, since a machine may have thousands. `cpu.stat` of cgroups with a quota is read each second.

use crate::spool::frame;
use std::collections::BTreeMap;
use std::fs::{read_dir, read_to_string};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Folders read per second.
const FOLDERS_PER_SECOND: usize = 32;
/// Maximum number of cgroups whose settings are recorded.
const MAX_CGROUPS: usize = 4096;

/// Maximum length of a list of CPUs; longer ones are not recorded.
const MAX_LIST: usize = 4096;

/// A mounted cgroup hierarchy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hierarchy {
    /// Where it is mounted.
    pub root: PathBuf,
    /// Whether it is cgroup v2, with all controllers; else it is the CPU controller's hierarchy of v1.
    pub unified: bool,
}

impl Hierarchy {
    /// Returns the path of a cgroup by its folder: `/docker/1f`; in v1 `cpu:/docker/1f`.
    #[must_use]
    pub fn path_of(&self, folder: &Path) -> String {
        let prefix = if self.unified { "/" } else { "cpu:/" };
        format!("{prefix}{}", folder.strip_prefix(&self.root).unwrap_or(Path::new("")).display())
    }
}

/// A cgroup's settings.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Limits {
    /// `u64::MAX`: none.
    quota_ns: u64,
    period_ns: u64,
    /// 0: not recorded.
    weight: u16,
    /// Empty: not recorded.
    cpus: String,
}

struct Known {
    folder: PathBuf,
    limits: Limits,
    /// The round in which it was last read.
    round: u64,
}

/// The cgroups of the hierarchy that has the CPU controller.
#[derive(Default)]
pub struct Cgroups {
    hierarchy: Option<Hierarchy>,
    known: BTreeMap<u64, Known>,
    /// Folders still to be read in this round.
    left: Vec<PathBuf>,
    round: u64,
    /// Cgroups of this round beyond the limit, and the maximum of all rounds.
    left_out: usize,
    max_left_out: usize,
}

/// Returns the hierarchy that has the CPU controller: the unified one, or that of v1.
#[must_use]
pub fn cpu_hierarchy() -> Option<Hierarchy> {
    cpu_hierarchy_of(&read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

fn cpu_hierarchy_of(mounts: &str) -> Option<Hierarchy> {
    let has_cpu = |h: &Hierarchy| {
        let controllers = read_to_string(h.root.join("cgroup.controllers")).unwrap_or_default();
        controllers.split_whitespace().any(|c| c == "cpu")
    };
    let own = || hierarchy(mounts, |kind, options| kind == "cgroup" && options.split(',').any(|o| o == "cpu"));
    unified_of(mounts).filter(has_cpu).or_else(own)
}

/// Returns the unified hierarchy if it is mounted.
#[must_use]
pub fn unified() -> Option<Hierarchy> {
    unified_of(&read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

fn unified_of(mounts: &str) -> Option<Hierarchy> {
    hierarchy(mounts, |kind, _| kind == "cgroup2")
}

/// Returns the first mount whose type and options match.
fn hierarchy(mounts: &str, of: impl Fn(&str, &str) -> bool) -> Option<Hierarchy> {
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut words = after.split(' ');
        let (kind, options) = (words.next()?, words.nth(1)?);
        let root = PathBuf::from(before.split(' ').nth(4)?);
        of(kind, options).then(|| Hierarchy { root, unified: kind == "cgroup2" })
    })
}

impl Cgroups {
    /// Finds the hierarchy of the CPU controller.
    pub fn find() -> Self {
        Self::of(cpu_hierarchy())
    }

    fn of(hierarchy: Option<Hierarchy>) -> Self {
        Self { hierarchy, ..Self::default() }
    }

    /// Reads all cgroups and returns frames with their settings.
    pub fn all(&mut self, at: u64) -> Vec<Vec<u8>> {
        self.left.clear();
        self.read(usize::MAX, at);
        self.known.iter().map(|(id, known)| self.frame(*id, known, at)).collect()
    }

    /// Reads some cgroups, and the statistics of those with a quota. Returns frames with changed settings and the statistics.
    pub fn each_second(&mut self, at: u64) -> Vec<Vec<u8>> {
        let mut frames = self.read(FOLDERS_PER_SECOND, at);
        let unified = self.hierarchy.as_ref().is_some_and(|h| h.unified);
        let mut stats = vec![frame::CGROUP_STAT];
        stats.extend_from_slice(&at.to_ne_bytes());
        let head = stats.len();
        for (id, known) in self.known.iter().filter(|(_, known)| known.limits.quota_ns != u64::MAX) {
            let text = read_to_string(known.folder.join("cpu.stat")).unwrap_or_default();
            if let Some(counts) = statistics(&text, unified) {
                stats.extend([*id].iter().chain(&counts).flat_map(|n| n.to_ne_bytes()));
            }
        }
        if stats.len() > head {
            frames.push(stats);
        }
        frames
    }

    /// Reads up to `max` folders, no further than the end of the round. Returns frames for new and changed cgroups.
    fn read(&mut self, max: usize, at: u64) -> Vec<Vec<u8>> {
        let Some(hierarchy) = self.hierarchy.clone() else { return Vec::new() };
        if self.left.is_empty() {
            self.round += 1;
            self.left_out = 0;
            self.left.push(hierarchy.root.clone());
        }
        let mut frames = Vec::new();
        for _ in 0..max {
            let Some(folder) = self.left.pop() else { break };
            let inside = read_dir(&folder).into_iter().flatten().flatten();
            let folders = inside.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path());
            for folder in folders {
                if self.left.len() < MAX_CGROUPS { self.left.push(folder) } else { self.left_out += 1 }
            }
            let Ok(id) = std::fs::metadata(&folder).map(|m| m.ino()) else { continue };
            let Some(limits) = limits(&folder, hierarchy.unified) else { continue };
            let before = self.known.get(&id).map(|k| &k.limits);
            let changed = before != Some(&limits);
            if before.is_none() && self.known.len() >= MAX_CGROUPS {
                self.left_out += 1;
                continue;
            }
            let known = Known { folder, limits, round: self.round };
            if changed {
                frames.push(self.frame(id, &known, at));
            }
            self.known.insert(id, known);
        }
        self.max_left_out = self.max_left_out.max(self.left_out);
        if self.left.is_empty() {
            let round = self.round;
            self.known.retain(|_, known| known.round == round);
        }
        frames
    }

    /// A sentence on the cgroups that exceeded the limit, if any.
    pub fn lacks(&self) -> Option<String> {
        let more = self.max_left_out;
        (more > 0).then(|| {
            format!("The settings of at least {more} cgroups are not recorded: the limit of {MAX_CGROUPS} was reached.")
        })
    }

    fn frame(&self, id: u64, known: &Known, at: u64) -> Vec<u8> {
        let Limits { quota_ns, period_ns, weight, cpus } = &known.limits;
        let path = self.hierarchy.as_ref().map_or_else(String::new, |hierarchy| hierarchy.path_of(&known.folder));
        let mut payload = vec![frame::CGROUP_LIMITS];
        payload.extend([at, id, *quota_ns, *period_ns].iter().flat_map(|n| n.to_ne_bytes()));
        payload.extend_from_slice(&weight.to_ne_bytes());
        payload.extend_from_slice(&(cpus.len() as u16).to_ne_bytes());
        payload.extend_from_slice(cpus.as_bytes());
        payload.extend_from_slice(path.as_bytes());
        payload
    }
}

/// Reads the settings in a cgroup's folder; `None`: it has no CPU controller, or no longer exists.
fn limits(folder: &Path, unified: bool) -> Option<Limits> {
    let text = |file: &str| Some(read_to_string(folder.join(file)).ok()?.trim().to_owned());
    let (quota, period) = if unified {
        let max = text("cpu.max")?;
        let (quota, period) = max.split_once(' ')?;
        (quota.to_owned(), period.to_owned())
    } else {
        (text("cpu.cfs_quota_us")?, text("cpu.cfs_period_us")?)
    };
    let ns = |us: u64| us.saturating_mul(1000);
    // No quota is `max` (v2) or -1 (v1).
    let (quota_ns, period_ns) = (quota.parse().map_or(u64::MAX, ns), ns(period.parse().ok()?));
    // In v1 the CPU controller has shares on another scale, and cpusets have a separate hierarchy.
    let weight = text("cpu.weight").and_then(|w| w.parse().ok()).unwrap_or(0);
    let cpus = text("cpuset.cpus.effective").filter(|list| list.len() <= MAX_LIST).unwrap_or_default();
    Some(Limits { quota_ns, period_ns, weight, cpus })
}

/// Parses `cpu.stat`: the number of periods, the number of throttled periods, and the throttled time, ns.
#[must_use]
pub fn statistics(text: &str, unified: bool) -> Option<[u64; 3]> {
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse::<u64>().ok()
    };
    let time = if unified { number("throttled_usec")?.saturating_mul(1000) } else { number("throttled_time")? };
    Some([number("nr_periods")?, number("nr_throttled")?, time])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs::{create_dir, remove_dir_all, write};

    /// Decodes the frames of settings: quota, period, weight, CPUs and path.
    fn decoded(frames: &[Vec<u8>]) -> Vec<(u64, u64, u16, String, String)> {
        let read = |f: &Vec<u8>| {
            let number = |at: usize| u64::from_ne_bytes(f[at..at + 8].try_into().unwrap());
            let short = |at: usize| u16::from_ne_bytes(f[at..at + 2].try_into().unwrap());
            let (cpus, path) = f[37..].split_at(short(35).into());
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            (number(17), number(25), short(33), text(cpus), text(path))
        };
        let mut all: Vec<_> = frames.iter().filter(|f| f[0] == frame::CGROUP_LIMITS).map(read).collect();
        all.sort();
        all
    }

    fn group(folder: &Path, max: &str) {
        create_dir(folder).unwrap();
        for (file, text) in [
            ("cpu.max", max),
            ("cpu.weight", "100\n"),
            ("cpuset.cpus.effective", "0-3\n"),
            ("cpu.stat", "usage_usec 9\nnr_periods 5\nnr_throttled 3\nthrottled_usec 7\n"),
        ] {
            write(folder.join(file), text).unwrap();
        }
    }

    #[test]
    fn records_changes_and_statistics_of_cgroups_with_a_quota() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_owned();
        group(&root.join("a"), "max 100000\n");
        group(&root.join("a/b"), "20000 100000\n");
        let mut cgroups = Cgroups::of(Some(Hierarchy { root: root.clone(), unified: true }));
        let free = |path: &str| (u64::MAX, 100_000_000, 100, "0-3".to_owned(), path.to_owned());
        let limited = |path: &str| (20_000_000, 100_000_000, 100, "0-3".to_owned(), path.to_owned());
        assert_eq!(decoded(&cgroups.all(1)), [limited("/a/b"), free("/a")]);
        let frames = cgroups.each_second(2);
        assert_eq!(decoded(&frames), []);
        let stat = frames.last().unwrap();
        let numbers: Vec<u64> = stat[1..].as_chunks::<8>().0.iter().map(|n| u64::from_ne_bytes(*n)).collect();
        let id = std::fs::metadata(root.join("a/b")).unwrap().ino();
        assert_eq!((stat[0], numbers), (frame::CGROUP_STAT, vec![2, id, 5, 3, 7000]));
        write(root.join("a/cpu.max"), "20000 100000\n").unwrap();
        remove_dir_all(root.join("a/b")).unwrap();
        assert_eq!(decoded(&cgroups.each_second(3)), [limited("/a")]);
        assert_eq!(decoded(&cgroups.all(4)), [limited("/a")]);
    }

    #[test]
    fn the_hierarchy_with_the_cpu_controller_is_chosen_where_both_versions_are_mounted() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().display();
        let v1 = "32 31 0:29 / /cg/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
                  40 31 0:37 / /cg/systemd rw,relatime - cgroup cgroup rw,name=systemd\n";
        let v2 = format!("41 31 0:38 / {root} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
        let chosen = |mounts: &str, controllers: &str| {
            write(dir.path().join("cgroup.controllers"), controllers).unwrap();
            cpu_hierarchy_of(mounts).map(|h| (h.root.display().to_string(), h.unified))
        };
        let of_v1 = Some(("/cg/cpu,cpuacct".to_owned(), false));
        let of_v2 = Some((root.to_string(), true));
        let mixed = format!("{v1}{v2}");
        assert_eq!(chosen(&mixed, "memory hugetlb\n"), of_v1, "systemd's hybrid layout");
        assert_eq!(chosen(&mixed, "cpuset cpu memory\n"), of_v2, "v1 is mounted, and does not have it");
        assert_eq!(chosen(&v2, "cpuset cpu\n"), of_v2);
        assert_eq!(chosen(&v2, "memory\n"), None);
        assert_eq!(chosen(v1, ""), of_v1);
        assert_eq!(unified_of(&v2).map(|h| h.unified), Some(true));
    }

    #[test]
    fn many_cgroups_are_read_in_rounds() {
        let dir = tempfile::tempdir().unwrap();
        let many = 3 * FOLDERS_PER_SECOND;
        (0..many).for_each(|n| group(&dir.path().join(n.to_string()), "max 100000"));
        let mut cgroups = Cgroups::of(Some(Hierarchy { root: dir.path().to_owned(), unified: true }));
        assert_eq!(cgroups.all(1).len(), many);
        (0..many).for_each(|n| write(dir.path().join(n.to_string()).join("cpu.max"), "1000 100000").unwrap());
        // The root is a folder too.
        let changed: Vec<usize> = (0..4).map(|at| decoded(&cgroups.each_second(at)).len()).collect();
        assert_eq!(changed, [FOLDERS_PER_SECOND - 1, FOLDERS_PER_SECOND, FOLDERS_PER_SECOND, 1]);
    }

    #[test]
    fn finds_the_cpu_controllers_v1_hierarchy() {
        let mounts = "30 24 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
            31 24 0:27 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n";
        let own = hierarchy(mounts, |kind, options| kind == "cgroup" && options.split(',').any(|o| o == "cpu"));
        assert_eq!(own, Some(Hierarchy { root: "/sys/fs/cgroup/cpu".into(), unified: false }));
        assert_eq!(hierarchy(mounts, |kind, _| kind == "cgroup2"), None);
        let dir = tempfile::tempdir().unwrap();
        for (file, text) in [("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")] {
            write(dir.path().join(file), text).unwrap();
        }
        let none = Limits { quota_ns: u64::MAX, period_ns: 100_000_000, weight: 0, cpus: String::new() };
        assert_eq!(limits(dir.path(), false), Some(none));
        assert_eq!(limits(dir.path(), true), None);
        assert_eq!(statistics("nr_periods 2\nnr_throttled 1\nthrottled_time 33\n", false), Some([2, 1, 33]));
        assert_eq!(statistics("usage_usec 2\n", true), None);
    }
}
