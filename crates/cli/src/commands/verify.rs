//! `corewise verify`: verifies the time accounting of a trace.

use crate::args::{Global, Redacted};
use crate::failure::{Failure, INCOMPLETE, OK};
use crate::output::print;
use clap::ValueEnum;
use engine::Summary;
use model::words::noun;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const AFTER: &str = "\
Examples:
  corewise verify run.cw
  corewise verify perf.data --format json

The checks verify that the times of a trace add up: a thread's states cover the time it existed, CPUs' busy time equals threads' \
running time, and so on. Of a trace folder, all stretches and events are read: a damaged file is an error. Exit code 3 if a check fails. Inconsistent switches, missing wakeups, lossy and unknown time do not \
fail a check: they count what the source did not record. The kernel's own run times are compared with the trace's clock as well; \
the clocks may differ, so that check is printed but does not count.";

/// The version of the JSON: it increases when a name is removed or changes its meaning (docs/renamed.md).
const VERSION: u32 = 2;

/// Verify a trace's time accounting
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace folder, or a file of another tool (see `corewise formats`); - is standard input
    trace: PathBuf,
    /// Output format
    #[arg(long, default_value = "text")]
    format: Form,
    /// Leave out lines of the source that were not understood, so that the output can be passed on
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "private", hide_possible_values = true)]
    redact: Option<Redacted>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    Text,
    Json,
}

/// Runs the command.
///
/// # Errors
/// The trace cannot be read.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    verify(&args.trace, args.format, args.redact, global)
}

/// Verifies a trace and prints the result.
///
/// # Errors
/// The trace cannot be read.
pub fn verify(trace: &Path, format: Form, redact: Option<Redacted>, global: &Global) -> Result<u8, Failure> {
    let mut session = global.open(trace)?;
    // Its sums are stored: they would be right although what they are sums of is damaged.
    session.check_files()?;
    if let Some(what) = redact {
        session.redact(what.into());
    }
    let summary = session.summary();
    if format == Form::Json {
        let text = serde_json::to_string_pretty(&as_json(summary)).map_err(|e| Failure::new(e.to_string()))?;
        print(&format!("{text}\n"))?;
    } else {
        print(&as_text(summary))?;
    }
    Ok(if summary.laws_hold() { OK } else { INCOMPLETE })
}

fn as_json(s: &Summary) -> Value {
    let of = |exact: bool| -> Map<String, Value> {
        s.laws.iter().filter(|l| l.exact == exact).map(|l| (l.law.clone(), l.residual_ns.into())).collect()
    };
    let mut all = json!({
        "version": VERSION,
        "holds": s.laws_hold(),
        "residuals": of(true),
        "between_clocks": of(false),
        "events": s.events,
        "switches": s.switches,
        "wakes": s.wakes,
        "threads": s.threads,
        "cpus": s.cpus,
        "span_ns": s.span_ns,
        "busy_ns": s.busy_ns,
        "idle_ns": s.idle_ns,
        "unknown_ns": s.unknown_ns,
        "lossy_ns": s.lossy_ns,
        "broken": s.inconsistent_switches,
        "unwoken": s.missing_wakeups,
        "losses": s.losses,
        "lost_events": s.lost_events,
        "anomalies": s.anomalies.iter().map(|t| json!({
            "what": t.what, "lost": t.lost, "not_understood": t.not_understood, "count": t.count,
            "first_offset": t.first_offset, "first_text": t.first_text,
        })).collect::<Vec<_>>(),
        "stopped": s.stopped,
    });
    if let Some(inferred) = s.inferred_ns {
        all["inferred_ns"] = inferred.into();
    }
    if s.frames > 0 {
        all["frames"] = s.frames.into();
    }
    if !s.sampling_off.is_empty() {
        let off = s.sampling_off.iter().map(|off| {
            json!({
                "event": off.event, "cpu": off.cpu, "tid": off.tid, "times": off.times, "off_ns": off.off_ns, "until_end": off.until_end,
            })
        });
        all["sampling_off"] = off.collect::<Vec<_>>().into();
    }
    all
}

fn as_text(s: &Summary) -> String {
    let mut out = String::from("residual ns  check\n");
    for law in &s.laws {
        let note = if law.exact { "" } else { " (compares two clocks)" };
        let _ = writeln!(out, "{:>11}  {}{note}", law.residual_ns, law.law);
    }
    let _ = writeln!(out, "\n{:>11}  events", s.events);
    if s.frames > 0 {
        let _ =
            writeln!(out, "{:>11}  frames in frame logs; contradictions between their columns are warnings", s.frames);
    }
    let _ = writeln!(
        out,
        "{:>11}  inconsistent switches: the thread switched out is not the one that was running on that CPU",
        s.inconsistent_switches
    );
    let _ = writeln!(
        out,
        "{:>11}  missing wakeups: blocked threads switched in without a recorded wakeup",
        s.missing_wakeups
    );
    let _ = writeln!(out, "{:>11}  losses: times at which events were lost, damaged or cut off", s.losses);
    if s.lost_events > 0 {
        let _ = writeln!(out, "{:>11}  lost events, as counted by the source", s.lost_events);
    }
    let total = s.cpu_time_ns().max(1) as f64;
    let share = |ns: i64| format!("{:.3} %", ns as f64 * 100.0 / total);
    let _ = writeln!(out, "{:>11}  of CPU time unknown", share(s.unknown_ns));
    let _ = writeln!(out, "{:>11}  of CPU time lossy", share(s.lossy_ns));
    if let Some(inferred) = s.inferred_ns {
        let _ = writeln!(out, "{:>11}  of CPU time inferred", share(inferred));
    }
    let throttled: u64 = s.sampling_off.iter().map(|off| off.times).sum();
    if throttled > 0 {
        let ms = s.sampling_off.iter().map(|off| off.off_ns).fold(0, i64::saturating_add) as f64 / 1e6;
        let _ = writeln!(
            out,
            "{throttled:>11}  {} that the kernel throttled sampling, for at most {ms:.3} ms in all",
            noun(throttled, "time")
        );
    }
    for t in &s.anomalies {
        let kind = match () {
            () if t.lost => "lost",
            () if t.not_understood => "not understood",
            () => "warning",
        };
        let first = t.first_text.as_ref().map_or_else(String::new, |text| format!(": {text}"));
        let _ = writeln!(out, "{:>11}  {kind}: {} (first at byte {}{first})", t.count, t.what, t.first_offset);
    }
    if let Some(stopped) = &s.stopped {
        let _ = writeln!(out, "reading stopped early: {stopped}");
    }
    let _ = writeln!(out, "\n{}", report::accounting_line(s));
    out
}
