//! Cases in Markdown: prose, a drawn trace, and the expected tables.
//!
//! ~~~markdown
//! # What this shows
//! ```trace
//! cpu0  A A B .
//! ```
//! ```expected
//! …
//! ```
//! ~~~
//!
//! Printed tables are in blocks of `tables`. A file may have several such pairs. `cargo xtask bless` (or the tests with
//! `COREWISE_BLESS=1`) rewrites the `expected` blocks; review the differences.

use std::path::Path;

/// The first lines of input blocks.
const INPUTS: [&str; 2] = ["```trace", "```tables"];

/// Runs every case of a folder: `make` takes each `trace` or `tables` block and returns the content of the `expected` block after it.
///
/// # Panics
/// If the folder has no case, or a case differs; the message has the differences.
pub fn run(folder: &Path, make: impl Fn(&str) -> String) {
    let files = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> =
        files.map(|f| f.unwrap().path()).filter(|p| p.extension().is_some_and(|x| x == "md")).collect();
    files.sort();
    assert!(!files.is_empty(), "{} has no case", folder.display());
    let bless = std::env::var_os("COREWISE_BLESS").is_some_and(|v| !v.is_empty() && v != "0");
    let mut wrong = Vec::new();
    for file in files {
        let before = std::fs::read_to_string(&file).unwrap();
        let after = rewritten(&before, &make);
        if before == after {
            continue;
        }
        if bless {
            std::fs::write(&file, after).unwrap();
        } else {
            wrong.push(format!("{}\n{}", file.display(), difference(&before, &after)));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n`cargo xtask bless` accepts these results", wrong.join("\n"));
}

/// Returns the file with the results of `make` in its expected blocks.
fn rewritten(text: &str, make: &impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut made = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out += &format!("{line}\n");
        let is_input = INPUTS.contains(&line);
        if !is_input && line != "```expected" {
            continue;
        }
        let block: String = lines.by_ref().take_while(|l| *l != "```").map(|l| format!("{l}\n")).collect();
        if is_input {
            out += &block;
            made = Some(make(&block));
        } else {
            out += made.take().expect("an expected block follows its trace").trim_end();
            out += "\n";
        }
        out += "```\n";
    }
    assert!(made.is_none(), "a trace without an expected block:\n{text}");
    out
}

/// Returns the lines that differ.
fn difference(before: &str, after: &str) -> String {
    let (mut old, mut new) = (before.lines(), after.lines());
    let mut lines = String::new();
    loop {
        match (old.next(), new.next()) {
            (None, None) => return lines,
            (a, b) if a == b => {}
            (a, b) => {
                lines += &a.map(|l| format!("  expected  {l}\n")).unwrap_or_default();
                lines += &b.map(|l| format!("  got       {l}\n")).unwrap_or_default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_the_expected_block_changes() {
        let text = "# A\nprose\n```trace\ncpu0 A\n```\nmore\n```expected\nold\nlines\n```\nend\n";
        let got = super::rewritten(text, &|trace: &str| format!("<{}>", trace.trim()));
        assert_eq!(got, "# A\nprose\n```trace\ncpu0 A\n```\nmore\n```expected\n<cpu0 A>\n```\nend\n");
    }
}
