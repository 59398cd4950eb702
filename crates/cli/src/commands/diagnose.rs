//! `corewise diagnose`: finds scheduling problems and suggests fixes.

use crate::args::{Global, Redacted};
use crate::failure::{FOUND, Failure, OK};
use crate::known_names;
use crate::output::{print, width};
use crate::period::Period;
use clap::ValueEnum;
use diagnose::{Options, Settings, Severity, Target};
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  corewise diagnose run.cw
  corewise diagnose run.cw --verbose
  corewise diagnose run.cw --range 1.5s..2s
  corewise diagnose run.cw --objective marks:frame
  corewise diagnose run.cw --only serialised-on-one-cpu,throttled-by-quota
  corewise diagnose run.cw --set severity.high_share=0.1 --set preemption-rate.switch_ns=2000
  corewise diagnose run.cw --format sarif --fail-on high > run.sarif
  corewise diagnose run.cw --format json | jq '.findings[] | {rule, severity, recoverable_ns}'

`corewise explain` lists the rules; `corewise explain RULE` describes one: what it detects, why it matters, confidence and limits, \
how to fix it, and its thresholds. Findings are sorted by potential time saved. A finding that fixing another one resolves is listed \
under that one. The saving, in milliseconds, is how much sooner the thread that gains most could finish. --verbose shows the evidence of \
each finding, and which rules lack the data they need.";

/// Find scheduling problems: evidence, cost, fix
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace folder, or a file of another tool (see `corewise formats`); - is standard input
    trace: PathBuf,
    #[command(flatten)]
    period: Period,
    /// What the program is judged by: command (the end of the recorded one), frames (marked ones), mark:NAME, requests or requests:THREAD,
    /// period:THREAD (lateness of a periodic thread), thread:THREAD or throughput; THREAD is a name or TID. By default, what the trace shows
    #[arg(long, value_name = "OBJECTIVE")]
    objective: Option<Target>,
    /// Output format: text, json for scripts (docs/diagnose.md), or sarif (SARIF 2.1.0) for CI
    #[arg(long, default_value = "text")]
    format: Form,
    /// Also show the evidence and the assumptions of each finding, and which rules were not checked and why
    #[arg(short, long)]
    verbose: bool,
    /// Exit with code 4 if a finding has this severity or a higher one
    #[arg(long, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,
    /// Apply only these rules (comma-separated)
    #[arg(long, value_name = "RULE,…", value_delimiter = ',', value_parser = known_names::rules(), hide_possible_values = true)]
    only: Vec<String>,
    /// Skip these rules (comma-separated)
    #[arg(long, value_name = "RULE,…", value_delimiter = ',', value_parser = known_names::rules(), hide_possible_values = true)]
    skip: Vec<String>,
    /// Leave out paths, command lines, host names, labels and addresses, so that the output can be passed on. --redact=names also replaces names of
    /// threads, processes, functions and marks by others, such as `thread A` (docs/security.md)
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "private", hide_possible_values = true)]
    redact: Option<Redacted>,
    /// Set a threshold of a rule; `corewise explain RULE` lists their names and default values
    #[arg(long, value_name = "RULE.NAME=VALUE")]
    set: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Json,
    Sarif,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Low,
    Medium,
    High,
}

impl From<FailOn> for Severity {
    fn from(on: FailOn) -> Self {
        match on {
            FailOn::Low => Self::Low,
            FailOn::Medium => Self::Medium,
            FailOn::High => Self::High,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// The trace cannot be read, or a threshold is invalid.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    let mut settings = Settings::default();
    args.set.iter().try_for_each(|setting| settings.set(setting)).map_err(Failure::usage)?;
    let mut session = global.open_kept(&args.trace)?;
    if let Some(what) = args.redact {
        session.redact(what.into());
    }
    let part = args.period.span(&session)?;
    let options =
        Options { part, only: args.only.clone(), skip: args.skip.clone(), settings, target: args.objective.clone() };
    let diagnosis = diagnose::diagnose(&session, &options)?;
    let failed = |e: serde_json::Error| Failure::new(format!("cannot write the diagnosis: {e}"));
    let output = match args.format {
        Form::Text => diagnose::text(&diagnosis, width(), args.verbose),
        Form::Json => diagnose::json(&session, &diagnosis).map_err(failed)? + "\n",
        Form::Sarif => diagnose::sarif(&session, &diagnosis).map_err(failed)? + "\n",
    };
    print(&output)?;
    let fails = args.fail_on.is_some_and(|on| diagnosis.findings.iter().any(|f| f.severity >= on.into()));
    Ok(if fails { FOUND } else { OK })
}
