//! `corewise doctor`: what this machine lets corewise record, and what to do about the rest.

use crate::args::Global;
use crate::failure::{ERROR, Failure, OK};
use crate::output::print;
use capture::{Finding, Verdict};
use std::fmt::Write;

const AFTER: &str = "\
Examples:
  sudo corewise doctor

Loads and attaches the recorder's programs for a moment, where that is permitted; changes nothing. Exit code 1 where this \
machine cannot be recorded as you are.";

/// Tell what this machine lets corewise record, and what to do about the rest
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {}

/// Tells.
///
/// # Errors
/// It cannot be written.
pub fn run(_: &Args, global: &Global) -> Result<u8, Failure> {
    let findings = capture::doctor();
    print(&tell(&findings, global.color.wanted()))?;
    Ok(if findings.iter().any(|f| f.verdict == Verdict::Bad) { ERROR } else { OK })
}

fn tell(findings: &[Finding], color: bool) -> String {
    let mut out = String::new();
    let width = findings.iter().map(|f| f.name.chars().count()).max().unwrap_or(0);
    for f in findings {
        let (word, code) = match f.verdict {
            Verdict::Good => ("yes", "32"),
            Verdict::Partial => ("part", "33"),
            Verdict::Bad => ("NO", "31"),
        };
        let word = format!("{word:4}");
        let word = if color { format!("\u{1b}[{code}m{word}\u{1b}[0m") } else { word };
        let _ = writeln!(out, "{word}  {:width$}  {}", f.name, f.detail);
        if let Some(remedy) = &f.remedy {
            let _ = writeln!(out, "      {:width$}  -> {remedy}", "");
        }
    }
    let bad = findings.iter().any(|f| f.verdict == Verdict::Bad);
    let partial = findings.iter().any(|f| f.verdict == Verdict::Partial);
    out.push_str(match (bad, partial) {
        (true, _) => "\nThis machine cannot be recorded now: see the lines with NO.\n",
        (false, true) => {
            "\nThis machine can be recorded; lines with part say what is not told.\nnext: corewise record -o run.cw -- COMMAND\n"
        }
        (false, false) => "\nThis machine can be recorded.\nnext: corewise record -o run.cw -- COMMAND\n",
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(verdict: Verdict) -> Finding {
        Finding { name: "kernel", verdict, detail: "Linux 4.4".into(), remedy: Some("a newer one".into()) }
    }

    #[test]
    fn what_is_missing_has_a_remedy() {
        let out = tell(&[finding(Verdict::Bad)], false);
        assert!(out.starts_with("NO    kernel  Linux 4.4\n              -> a newer one\n"), "{out}");
        assert!(out.contains("cannot be recorded"));
        assert!(tell(&[finding(Verdict::Good)], false).contains("can be recorded."));
    }
}
