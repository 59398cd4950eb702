//! Tools, and what was mapped in a process.

use std::path::Path;
use std::process::Command;

/// Runs a tool and returns what it printed; panics if it fails.
pub fn run(tool: &str, words: &[&str], folder: &Path) -> String {
    let done = Command::new(tool).args(words).current_dir(folder).output().expect(tool);
    assert!(done.status.success(), "{tool} {words:?}: {}: {}", done.status, String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// A mapping of code.
#[derive(Clone, Debug)]
pub struct Mapping {
    pub from: u64,
    pub to: u64,
    pub offset: u64,
    pub path: String,
}

/// Returns the mappings of code in a text like that of /proc/PID/maps.
pub fn mappings(maps: &str) -> Vec<Mapping> {
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let line = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (from, to) = words[0].split_once('-')?;
        let path = words.get(5).copied().unwrap_or_default().to_owned();
        let mapping = Mapping { from: number(from), to: number(to), offset: number(words[2]), path };
        words[1].contains('x').then_some(mapping)
    };
    maps.lines().filter_map(line).collect()
}
