//! `corewise diagnose`: what is wrong with a run, and what to do.

use crate::args::Global;
use crate::failure::{FOUND, Failure, OK};
use crate::output::{print, width};
use crate::period::Period;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use diagnose::{Options, RULES, Settings, Severity};
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  corewise diagnose run.cw
  corewise diagnose run.cw --range 1.5s..2s
  corewise diagnose run.cw --only serialised-on-one-cpu,throttled-by-quota
  corewise diagnose run.cw --set severity.high_share=0.1 --set preemption-rate.switch_ns=2000
  corewise diagnose run.cw --format sarif --fail-on high > run.sarif
  corewise diagnose run.cw --format json | jq '.findings[] | {rule, severity, recoverable_ns}'

`corewise explain` lists the rules, `corewise explain RULE` tells of one: what it finds, how sure it is, its thresholds. That \
first whose mending gives most back; what falls away with another finding stands under it. Milliseconds say by how much sooner \
the thread that gains most could be done. What could not be looked for, for want of data, is told at the end.";

/// Tell what is wrong, the evidence, what it costs, and what to do
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace folder, or a file of another tool (see `corewise formats`); - is standard input
    trace: PathBuf,
    #[command(flatten)]
    period: Period,
    /// For people, for scripts (docs/diagnose.md), or for CI (SARIF 2.1.0)
    #[arg(long, default_value = "text")]
    format: Form,
    /// Exit code 4 where a finding is of this severity or a higher one
    #[arg(long, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,
    /// Only these rules
    #[arg(long, value_name = "RULE,…", value_delimiter = ',', value_parser = rules(), hide_possible_values = true)]
    only: Vec<String>,
    /// Not these rules
    #[arg(long, value_name = "RULE,…", value_delimiter = ',', value_parser = rules(), hide_possible_values = true)]
    skip: Vec<String>,
    /// Another figure for a rule to go by, as `corewise explain RULE` names them
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

fn rules() -> PossibleValuesParser {
    PossibleValuesParser::new(RULES.iter().map(|rule| rule.id))
}

/// Diagnoses.
///
/// # Errors
/// The trace cannot be read, or a threshold makes no sense.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    let mut settings = Settings::default();
    args.set.iter().try_for_each(|words| settings.set(words)).map_err(Failure::usage)?;
    let session = global.open_kept(&args.trace)?;
    let part = args.period.span(&session)?;
    let options = Options { part, only: args.only.clone(), skip: args.skip.clone(), settings };
    let said = diagnose::diagnose(&session, &options)?;
    let unwritten = |e: serde_json::Error| Failure::new(format!("cannot write the diagnosis: {e}"));
    let told = match args.format {
        Form::Text => diagnose::text(&said, width()),
        Form::Json => diagnose::json(&session, &said).map_err(unwritten)? + "\n",
        Form::Sarif => diagnose::sarif(&session, &said).map_err(unwritten)? + "\n",
    };
    print(&told)?;
    let fails = args.fail_on.is_some_and(|on| said.findings.iter().any(|f| f.severity >= on.into()));
    Ok(if fails { FOUND } else { OK })
}
