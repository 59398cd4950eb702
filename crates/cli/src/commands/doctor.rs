//! `corewise doctor`: checks what can be recorded on this machine.

use crate::args::Global;
use crate::failure::{ERROR, Failure, OK};
use crate::output::print;
use capture::{Finding, Verdict};
use std::fmt::Write;

const AFTER: &str = "\
Examples:
  sudo corewise doctor

Loads and attaches the recorder's BPF programs briefly, if that is permitted, and changes nothing. Exit code 1 if corewise \
cannot record on this machine with your current permissions.";

/// Check what can be recorded on this machine, and how to fix what is missing
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// The output cannot be written.
pub fn run(_: &Args, global: &Global) -> Result<u8, Failure> {
    let findings = capture::doctor();
    print(&format_findings(&findings, global.color.wanted()))?;
    Ok(if findings.iter().any(|f| f.verdict == Verdict::Bad) { ERROR } else { OK })
}

fn format_findings(findings: &[Finding], color: bool) -> String {
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
        (true, _) => "\nRecording is not possible on this machine now: see the lines marked NO.\n",
        (false, true) => {
            "\nRecording is possible on this machine; the lines marked part show what will be missing.\nnext: corewise record -o run.cw -- COMMAND\n"
        }
        (false, false) => "\nRecording is possible on this machine.\nnext: corewise record -o run.cw -- COMMAND\n",
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
    fn missing_features_have_a_remedy() {
        let out = format_findings(&[finding(Verdict::Bad)], false);
        assert!(out.starts_with("NO    kernel  Linux 4.4\n              -> a newer one\n"), "{out}");
        assert!(out.contains("Recording is not possible"));
        assert!(format_findings(&[finding(Verdict::Good)], false).contains("Recording is possible on this machine."));
    }
}
