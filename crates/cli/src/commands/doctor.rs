//! `corewise doctor`: checks what can be recorded on this machine.

use crate::args::Global;
use crate::built;
use crate::failure::{ERROR, Failure, OK};
use crate::output::print;
use capture::{Finding, Verdict};
use std::fmt::Write;
use trial::Rights;

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
    print(&(build_note() + &format_findings(&findings, &[trials(), object_stores()], global.color.wanted())))?;
    Ok(if findings.iter().any(|f| f.verdict == Verdict::Bad) { ERROR } else { OK })
}

/// Says that this is another build than the installed one; empty if it is not.
fn build_note() -> String {
    if !built::is_demo() {
        return String::new();
    }
    let profile = built::profile();
    format!(
        "note: this is a build of the {profile}: recording costs more than with the installed one (make install)\n\n"
    )
}

/// Which fixes `corewise try` can apply here.
fn trials() -> Finding {
    let of = Rights::of_this_process();
    let left = trial::journals().unwrap_or_default().into_iter().any(|(_, runs)| !runs);
    let (verdict, detail, remedy) = match (left, of.raises_priorities && of.writes_kernel_files) {
        (true, _) => (Verdict::Partial, "a killed trial left changes".to_owned(), Some("corewise try --undo")),
        (false, true) => {
            let cgroups = of.cgroups.map_or_else(String::new, |version| format!(", cgroups (version {version})"));
            (Verdict::Good, format!("settings of threads{cgroups}, settings of the kernel"), None)
        }
        (false, false) => {
            let detail = "only lower priorities, CPU affinity, and options and variables of commands";
            (Verdict::Partial, detail.to_owned(), Some("run as root for the others"))
        }
    };
    Finding { name: "trials of fixes", verdict, detail, remedy: remedy.map(str::to_owned) }
}

/// Whether this build reads recordings in object stores.
fn object_stores() -> Finding {
    let (verdict, detail, remedy) = if stores::are_built() {
        (Verdict::Good, "in this build: s3://, gs://, az:// and https://", None)
    } else {
        (Verdict::Partial, "not in this build", Some("build with `--features stores`, or install the package"))
    };
    Finding { name: "object stores", verdict, detail: detail.to_owned(), remedy: remedy.map(str::to_owned) }
}

/// Writes the findings, of which those of `build` are not about recording.
fn format_findings(findings: &[Finding], build: &[Finding], color: bool) -> String {
    let mut out = String::new();
    let all = || findings.iter().chain(build);
    let width = all().map(|f| f.name.chars().count()).max().unwrap_or(0);
    for f in all() {
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
        let out = format_findings(&[finding(Verdict::Bad)], &[], false);
        assert!(out.starts_with("NO    kernel  Linux 4.4\n              -> a newer one\n"), "{out}");
        assert!(out.contains("Recording is not possible"));
        assert!(
            format_findings(&[finding(Verdict::Good)], &[], false).contains("Recording is possible on this machine.")
        );
    }

    #[test]
    fn what_the_build_lacks_is_not_about_recording() {
        let out = format_findings(&[finding(Verdict::Good)], &[finding(Verdict::Partial)], false);
        assert!(out.contains("part  kernel") && out.contains("Recording is possible on this machine.\n"), "{out}");
        assert_eq!(object_stores().verdict == Verdict::Good, stores::are_built());
    }
}
