//! Paths of cgroups by their number, and the kernel's statistics of throttling.

use crate::snapshot::Throttled;
use capture::Hierarchy;
use std::collections::{HashMap, HashSet};
use std::fs::{metadata, read_dir, read_to_string};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The most folders that are read at a time.
const MAX_FOLDERS: usize = 1 << 16;

/// The cgroups of one hierarchy.
pub struct Cgroups {
    /// The hierarchy.
    pub hierarchy: Hierarchy,
    paths: HashMap<u64, String>,
    /// Throttling before watching began.
    before: HashMap<u64, Throttled>,
}

impl Cgroups {
    /// Reads all cgroups of a hierarchy.
    pub fn read(hierarchy: Hierarchy) -> Self {
        let mut all = Self { hierarchy, paths: HashMap::new(), before: HashMap::new() };
        all.update();
        let known: Vec<(u64, String)> = all.paths.iter().map(|(id, path)| (*id, path.clone())).collect();
        all.before = known.into_iter().filter_map(|(id, path)| Some((id, all.statistics(&path)?))).collect();
        all
    }

    /// Reads the tree again. The paths of cgroups that no longer exist are kept as long as `names` may ask for them: until
    /// [`Self::forget`].
    pub fn update(&mut self) {
        let root = self.hierarchy.root.clone();
        let mut left = vec![(root.clone(), String::from("/"))];
        let mut seen = 0;
        while let Some((folder, path)) = left.pop() {
            seen += 1;
            let inside = read_dir(&folder).into_iter().flatten().flatten();
            for entry in inside.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())) {
                let name = entry.file_name().to_string_lossy().into_owned();
                let base = if path == "/" { "" } else { path.as_str() };
                if left.len() + seen < MAX_FOLDERS {
                    left.push((entry.path(), format!("{base}/{name}")));
                }
            }
            if let Ok(found) = metadata(&folder) {
                self.paths.insert(found.ino(), path);
            }
        }
    }

    /// Removes the paths of cgroups that no longer exist and are not among `used`.
    pub fn forget(&mut self, used: &HashSet<u64>) {
        let root = self.hierarchy.root.clone();
        let exists = |path: &String| folder_of(&root, path).is_dir();
        self.paths.retain(|id, path| used.contains(id) || exists(path));
        self.before.retain(|id, _| self.paths.contains_key(id));
    }

    /// Returns the path of a cgroup.
    pub fn path(&self, id: u64) -> Option<&str> {
        self.paths.get(&id).map(String::as_str)
    }

    /// Returns the numbers of a cgroup and of all below it.
    pub fn within(&self, path: &str) -> Vec<u64> {
        let below =
            |p: &str| path == "/" || p.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.paths.iter().filter(|(_, p)| below(p)).map(|(id, _)| *id).collect()
    }

    /// Returns the path of the cgroup that the user means: a path within the hierarchy, with or without its mount point, or the
    /// name of one cgroup only.
    pub fn named(&self, name: &str) -> Option<String> {
        let trimmed = name.trim_end_matches('/');
        let root = self.hierarchy.root.to_string_lossy().into_owned();
        let path = trimmed.strip_prefix(root.as_str()).unwrap_or(trimmed);
        let full = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        if self.paths.values().any(|p| *p == full) || full == "/" {
            return Some(full);
        }
        let mut last = self.paths.values().filter(|p| p.rsplit('/').next() == Some(path));
        last.next().filter(|_| last.next().is_none()).cloned()
    }

    /// Returns all paths.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.values().map(String::as_str)
    }

    /// Returns the throttling of a cgroup since watching began; `None`: it has had no quota.
    pub fn throttled(&self, id: u64) -> Option<Throttled> {
        let now = self.statistics(self.paths.get(&id)?)?;
        let before = self.before.get(&id).copied().unwrap_or_default();
        Some(Throttled { ns: now.ns.saturating_sub(before.ns), periods: now.periods.saturating_sub(before.periods) })
    }

    /// `None`: there is no CPU controller, or no period of a quota has passed.
    fn statistics(&self, path: &str) -> Option<Throttled> {
        let text = read_to_string(folder_of(&self.hierarchy.root, path).join("cpu.stat")).ok()?;
        let [periods, throttled, ns] = capture::cgroup_statistics(&text, self.hierarchy.unified)?;
        (periods > 0).then_some(Throttled { ns, periods: throttled })
    }
}

fn folder_of(root: &std::path::Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs::{create_dir_all, write};

    #[test]
    fn cgroups_are_found_by_path_name_and_number() {
        let dir = tempfile::tempdir().unwrap();
        create_dir_all(dir.path().join("a/b")).unwrap();
        create_dir_all(dir.path().join("ab/b")).unwrap();
        create_dir_all(dir.path().join("c/only")).unwrap();
        let stat = |throttled: u64| format!("nr_periods 9\nnr_throttled {throttled}\nthrottled_usec 5\n");
        write(dir.path().join("a/cpu.stat"), stat(3)).unwrap();
        let mut all = Cgroups::read(Hierarchy { root: dir.path().to_owned(), unified: true });
        let id = metadata(dir.path().join("a")).unwrap().ino();
        assert_eq!(all.path(id), Some("/a"));
        assert_eq!(all.within("/a").len(), 2, "/ab is not within /a");
        assert_eq!(all.named("a/b/").as_deref(), Some("/a/b"));
        assert_eq!(all.named(&format!("{}/ab", dir.path().display())).as_deref(), Some("/ab"));
        assert_eq!(all.named("only").as_deref(), Some("/c/only"));
        assert_eq!(all.named("b"), None, "two have that name");
        write(dir.path().join("a/cpu.stat"), stat(7)).unwrap();
        assert_eq!(all.throttled(id), Some(Throttled { ns: 0, periods: 4 }));
        std::fs::remove_dir_all(dir.path().join("a")).unwrap();
        all.update();
        assert_eq!(all.path(id), Some("/a"), "its sums may still be listed");
        all.forget(&HashSet::new());
        assert_eq!(all.path(id), None);
    }
}
