//! Checks that the README shows only existing commands.

use crate::Found;
use crate::repo::Repo;
use std::collections::BTreeSet;
use std::process::Command;

const PAGES: &[&str] = &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];

pub fn check(repo: &Repo) -> Result<Found, String> {
    let mut shown = BTreeSet::new();
    for page in PAGES {
        shown.extend(commands_shown(&repo.read(page)?).into_iter().map(|command| (command, *page)));
    }
    let binary = repo.corewise()?;
    let out = Command::new(&binary).arg("--help").output().map_err(|why| format!("{}: {why}", binary.display()))?;
    let there = commands_there(&String::from_utf8_lossy(&out.stdout));
    if there.is_empty() {
        return Err(format!("{} --help lists no commands", binary.display()));
    }
    let wrong = shown
        .iter()
        .filter(|(command, _)| !there.contains(command))
        .map(|(command, page)| format!("{page} shows `corewise {command}`, which --help does not list"))
        .collect();
    Ok(Found::of(wrong, format!("{} commands shown, all there", shown.len())))
}

/// Returns the words that follow `corewise` at the beginning of a line of a code block, or of a `code` span.
fn commands_shown(page: &str) -> BTreeSet<String> {
    let mut shown = BTreeSet::new();
    let mut in_block = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if in_block {
            shown.extend(command(line));
        } else {
            shown.extend(line.split('`').skip(1).step_by(2).filter_map(command));
        }
    }
    shown
}

fn command(line: &str) -> Option<String> {
    let line = line.trim_start().trim_start_matches("$ ").trim_start_matches("sudo ");
    let mut words = line.split_whitespace();
    let program = words.next()?;
    if program.rsplit('/').next() != Some("corewise") {
        return None;
    }
    let word = words.next()?;
    word.chars().all(|c| c.is_ascii_lowercase() || c == '-').then_some(word.to_owned()).filter(|w| !w.starts_with('-'))
}

/// Returns the first words of the lines under `Commands:` of the help.
fn commands_there(help: &str) -> BTreeSet<String> {
    let lines = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let block = lines.take_while(|line| line.is_empty() || line.starts_with(' '));
    block.filter_map(|line| line.split_whitespace().next()).map(ToOwned::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_in_blocks_and_spans() {
        let page = "Use `corewise topo --json`, or corewise itself.\n```sh\n$ sudo corewise record -o a.cw -- ls\n\
                    target/release/corewise report a.cw  # why\ncorewise --help\n```\n";
        assert_eq!(commands_shown(page).into_iter().collect::<Vec<_>>(), ["record", "report", "topo"]);
    }

    #[test]
    fn there_by_the_help() {
        let help = "Shows.\n\nUsage: corewise <COMMAND>\n\nCommands:\n  record  Traces\n  report  Tells\n\nOptions:\n  -h  Help\n";
        assert_eq!(commands_there(help).into_iter().collect::<Vec<_>>(), ["record", "report"]);
    }
}
