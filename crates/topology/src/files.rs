//! Access to the files of a machine, which the caller provides.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;

/// Text files by absolute path (`/sys/devices/system/cpu/online`).
///
/// `NotFound` is a normal result (virtual machine, container, offline CPU) and is ignored; `PermissionDenied` is recorded in
/// [`crate::Machine::unknown`].
pub trait Files {
    /// Returns the contents of a file.
    ///
    /// # Errors
    /// If the file cannot be read.
    fn read(&self, path: &str) -> io::Result<String>;

    /// Returns the names in a folder, sorted, without their path.
    ///
    /// # Errors
    /// If the folder cannot be read.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;
}

/// A machine's files in memory, for tests and unpacked archives.
impl<K, V> Files for BTreeMap<K, V>
where
    K: Borrow<str> + Ord,
    V: AsRef<str>,
{
    fn read(&self, path: &str) -> io::Result<String> {
        self.get(path).map(|text| text.as_ref().to_owned()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let from = (Bound::Included(folder.as_str()), Bound::Unbounded);
        let below = self.range::<str, _>(from).map_while(|(path, _)| path.borrow().strip_prefix(&folder));
        let mut names: Vec<&str> = below.filter_map(|rest| rest.split('/').next()).filter(|n| !n.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            Err(io::ErrorKind::NotFound.into())
        } else {
            Ok(names.into_iter().map(Into::into).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_works_as_a_file_tree() {
        let files = BTreeMap::from([("/a/b/c", "1\n"), ("/a/b/d/e", "2"), ("/ab", "3")]);
        assert_eq!(files.read("/a/b/c").unwrap(), "1\n");
        assert_eq!(files.read("/a/b").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(files.list("/a/b").unwrap(), ["c", "d"]);
        assert_eq!(files.list("/a/b/").unwrap(), ["c", "d"]);
        assert_eq!(files.list("/x").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
