//! Which package of Debian, Ubuntu and their like has the debug symbols of a file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Where dpkg keeps which files each installed package has: a list a package, a path a line (dpkg(1)).
const LISTS: &str = "/var/lib/dpkg/info";
/// The most bytes of a list that are read; that of the largest packages has a few MB.
const MAX_LIST: u64 = 64 << 20;

/// Returns the packages with the debug symbols of installed files, by file. Empty on a machine without dpkg.
pub(crate) fn with_symbols(files: &[&str]) -> HashMap<String, String> {
    in_lists(Path::new(LISTS), files)
}

fn in_lists(lists: &Path, files: &[&str]) -> HashMap<String, String> {
    let mut found = HashMap::new();
    let wanted: HashMap<&str, &str> = files.iter().map(|file| (merged(file), *file)).collect();
    let lists = if wanted.is_empty() { None } else { std::fs::read_dir(lists).ok() };
    for list in lists.into_iter().flatten().filter_map(Result::ok) {
        let name = list.file_name();
        let Some(package) = name.to_str().and_then(|name| name.strip_suffix(".list")) else { continue };
        let Ok(open) = File::open(list.path()) else { continue };
        // Paths need not be UTF-8.
        for line in BufReader::new(open.take(MAX_LIST)).split(b'\n').map_while(Result::ok) {
            if let Some(file) = std::str::from_utf8(&line).ok().and_then(|line| wanted.get(merged(line))) {
                found.insert((*file).to_owned(), of_package(package));
            }
        }
    }
    found
}

/// A path as it is where `/lib`, `/bin` and `/sbin` are links into `/usr`: lists may have the older one.
fn merged(path: &str) -> &str {
    path.strip_prefix("/usr").unwrap_or(path)
}

/// The package with the debug symbols of a package. `libc6:amd64` has them in `libc6-dbg`; others have had a package that is made automatically
/// since 2015 (<https://wiki.debian.org/AutomaticDebugPackages>).
fn of_package(package: &str) -> String {
    let name = package.split(':').next().unwrap_or(package);
    let suffix = if name == "libc6" { "dbg" } else { "dbgsym" };
    format!("{name}-{suffix}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn packages_are_found_by_their_lists() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).unwrap();
        write("libc6:amd64.list", b"/.\n/lib\n/lib/x86_64-linux-gnu/libc.so.6\n");
        write("game.list", b"/usr/games/\xff\n/usr/games/game\n");
        write("game.md5sums", b"/usr/bin/other\n");
        let of = |files: &[&str]| in_lists(folder.path(), files);
        let found = of(&["/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/games/game", "/usr/bin/other", ""]);
        let expected = [("/usr/lib/x86_64-linux-gnu/libc.so.6", "libc6-dbg"), ("/usr/games/game", "game-dbgsym")];
        assert_eq!(found, expected.map(|(file, package)| (file.to_owned(), package.to_owned())).into());
        assert_eq!(in_lists(Path::new("/no/such/folder"), &["/usr/games/game"]), HashMap::new());
    }
}
