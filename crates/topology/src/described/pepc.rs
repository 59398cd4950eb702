//! The trees that pepc emulates machines with: `sys/inlinefiles.txt` has a line `mode|path|value` a file, `proc` is a folder.

use std::collections::BTreeMap;

/// Lines of `inlinefiles.txt`; that of a machine of 16 CPUs has 1,600.
const MOST_LINES: usize = 1 << 20;

/// The files by path, as [`crate::Files`].
pub(crate) fn files(inline: &str, cpuinfo: Option<String>) -> BTreeMap<String, String> {
    let of_line = |line: &str| {
        let (path, value) = line.split_once('|')?.1.split_once('|')?;
        path.starts_with("/sys/").then(|| (path.to_owned(), value.to_owned()))
    };
    let mut files: BTreeMap<String, String> = inline.lines().take(MOST_LINES).filter_map(of_line).collect();
    // pepc keeps who shares a cache, but neither its level nor its type. Linux numbers L1d, L1i, L2, L3 on x86, which is
    // all that pepc knows.
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
