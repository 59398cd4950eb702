//! Reads the trees of pepc's emulated machines: `sys/inlinefiles.txt` has a line `mode|path|value` per file, `proc` is a folder.

use std::collections::BTreeMap;

/// The maximum number of lines of `inlinefiles.txt`; a machine with 16 CPUs has 1,600.
const MAX_LINES: usize = 1 << 20;

/// Returns the files by path, as [`crate::Files`].
pub(super) fn files(inline: &str, cpuinfo: Option<String>) -> BTreeMap<String, String> {
    let of_line = |line: &str| {
        let (path, value) = line.split_once('|')?.1.split_once('|')?;
        path.starts_with("/sys/").then(|| (path.to_owned(), value.to_owned()))
    };
    let mut files: BTreeMap<String, String> = inline.lines().take(MAX_LINES).filter_map(of_line).collect();
    // pepc stores the CPUs that share a cache, but neither its level nor its type. On x86, the only architecture that pepc supports,
    // Linux numbers the caches L1d, L1i, L2, L3.
    let shared = files.keys().filter_map(|path| path.strip_suffix("shared_cpu_list"));
    let levels: Vec<(String, &str)> = shared
        .filter_map(|at| {
            let level =
                at.strip_suffix("/cache/index2/").map(|_| "2").or(at.strip_suffix("/cache/index3/").map(|_| "3"))?;
            Some((format!("{at}level"), level))
        })
        .collect();
    for (path, level) in levels {
        files.entry(path).or_insert_with(|| level.to_owned());
    }
    files.extend(cpuinfo.map(|text| ("/proc/cpuinfo".to_owned(), text)));
    files
}
