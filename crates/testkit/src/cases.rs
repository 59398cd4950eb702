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

/// Whether the tests are to write their results in place of comparing them: `COREWISE_BLESS` is set, and neither empty nor 0.
#[must_use]
pub fn is_blessing() -> bool {
    std::env::var_os("COREWISE_BLESS").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Compares a generated file with what it should be, or writes it if [`is_blessing`].
///
/// # Panics
/// If it differs; the message has the first line that differs, and how to rewrite the file.
pub fn generated(path: &Path, text: &str) {
    if is_blessing() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    if kept != text {
        let at = kept.lines().zip(text.lines()).take_while(|(a, b)| a == b).count();
        let [old, new] = [&kept[..], text].map(|of| of.lines().nth(at).unwrap_or("(the end)"));
        let (file, line) = (path.display(), at + 1);
        panic!(
            "{file} is out of date, line {line}: {old:?} should be {new:?}. This test with COREWISE_BLESS=1 rewrites it"
        );
    }
}

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
    let bless = is_blessing();
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
            wrong.push(difference(&file, &before, &after));
        }
    }
    let how = "if these results are right: `cargo xtask bless`, or COREWISE_BLESS=1 with this test";
    assert!(wrong.is_empty(), "\n{}\n{how}", wrong.join("\n"));
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
            out += made.take().expect("a `trace` or `tables` block precedes each `expected` block").trim_end();
            out += "\n";
        }
        out += "```\n";
    }
    assert!(
        made.is_none(),
        "a trace without a block of ```expected after it (leave it empty, and bless fills it):\n{text}"
    );
    out
}

/// Returns the expected blocks that differ, each with the number of its line and the lines that are not in the other one.
fn difference(file: &Path, before: &str, after: &str) -> String {
    let mut out = String::new();
    for ((line, old), (_, new)) in expected_blocks(before).zip(expected_blocks(after)).filter(|(a, b)| a.1 != b.1) {
        out += &format!("{}:{line}\n", file.display());
        let same_before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let [old, new] = [&old[same_before..], &new[same_before..]];
        let same_after = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        for (word, lines) in [("expected", old), ("got     ", new)] {
            out.extend(lines[..lines.len() - same_after].iter().map(|l| format!("  {word}  {l}\n")));
        }
    }
    out
}

/// Returns the expected blocks of a file, each with the number of its first line.
fn expected_blocks(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let mut lines = text.lines().enumerate();
    std::iter::from_fn(move || {
        let (at, _) = lines.find(|(_, line)| *line == "```expected")?;
        Some((at + 2, lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect()))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_difference_has_only_the_lines_that_changed() {
        let case = |rows: &str| format!("```trace\ncpu0 A\n```\n```expected\nhead\n{rows}last\n```\n");
        let got = super::difference("a.md".as_ref(), &case("1\n2\n"), &case("1\nnew\n2\n"));
        assert_eq!(got, "a.md:5\n  got       new\n");
    }

    #[test]
    fn only_the_expected_block_changes() {
        let text = "# A\nprose\n```trace\ncpu0 A\n```\nmore\n```expected\nold\nlines\n```\nend\n";
        let got = super::rewritten(text, &|trace: &str| format!("<{}>", trace.trim()));
        assert_eq!(got, "# A\nprose\n```trace\ncpu0 A\n```\nmore\n```expected\n<cpu0 A>\n```\nend\n");
    }
}
