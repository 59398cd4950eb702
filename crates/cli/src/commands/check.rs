//! `corewise check`: the laws that every trace is held against, and the rules of printed tables.

use super::check_printed::{self, Beside, is_printed};
use crate::args::Global;
use crate::failure::{Failure, INCOMPLETE, OK};
use crate::output::print;
use clap::ValueEnum;
use engine::Summary;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  corewise check run.cw
  corewise check perf.data --format json
  corewise check counts.csv                  what perf stat -x, or perf stat itself printed
  corewise check counts.csv --span 5s        the same of perf stat -I 5000
  corewise check on.csv off.csv --smt on/off
  corewise check counters.csv processors.csv --processor i9-12900K
  corewise check grid.csv claims.csv         what a document says of values that follow

Exit code 3 where a law is broken, or a printed figure contradicts the others. Broken links, unwoken threads, lossy and unknown time are no broken laws: they say what \
the source did not deliver. The kernel's charges are held against the trace's clock, which may differ; that law is printed, \
but does not count.

Tables that other tools printed are known by their heads (`corewise formats` lists them), and may be several. Each rule says \
what follows from a table's own figures, what the table prints, and whether they agree within what rounding to the printed \
digits can do. What cannot be told says why. A table of claims has the columns rule, of, claimed, and tolerance.";

/// Hold a trace's accounts against their laws, or tables that other tools printed against their rules
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace folder, or a file of another tool (see `corewise formats`); - is standard input. Or printed tables
    #[arg(required = true)]
    trace: Vec<PathBuf>,
    /// For people or for scripts
    #[arg(long, default_value = "text")]
    format: Form,
    #[command(flatten)]
    beside: Beside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Json,
}

/// Checks.
///
/// # Errors
/// The trace or a table cannot be read.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    if args.trace.iter().any(|path| is_printed(path)) {
        return check_printed::run(&args.trace, &args.beside, args.format == Form::Json, global);
    }
    let [trace] = args.trace.as_slice() else {
        return Err(Failure::usage(
            "several files are checked together only where they are printed tables: none of these is",
        ));
    };
    if !args.beside.is_empty() {
        let why = format!(
            "{}: is no printed table, and --span, --processor, --compare, --smt and --all are for these",
            trace.display()
        );
        return Err(Failure::usage(why));
    }
    let session = global.open(trace)?;
    let summary = session.summary();
    if args.format == Form::Json {
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
        "broken": s.broken,
        "unwoken": s.unwoken,
        "losses": s.losses,
        "lost_events": s.lost_events,
        "troubles": s.troubles.iter().map(|t| json!({
            "what": t.what, "lost": t.lost, "count": t.count, "first_offset": t.first_offset,
        })).collect::<Vec<_>>(),
        "stopped": s.stopped,
    });
    if let Some(inferred) = s.inferred_ns {
        all["inferred_ns"] = inferred.into();
    }
    if s.frames > 0 {
        all["frames"] = s.frames.into();
    }
    all
}

fn as_text(s: &Summary) -> String {
    let mut out = String::from("residual ns  law\n");
    for law in &s.laws {
        let note = if law.exact { "" } else { " (two clocks compared)" };
        let _ = writeln!(out, "{:>11}  {}{note}", law.residual_ns, law.law);
    }
    let _ = writeln!(out, "\n{:>11}  events", s.events);
    if s.frames > 0 {
        let _ =
            writeln!(out, "{:>11}  frames of frame logs; what does not hold between their columns is odd", s.frames);
    }
    let _ = writeln!(out, "{:>11}  broken: switches that do not link to the one before on their CPU", s.broken);
    let _ = writeln!(out, "{:>11}  unwoken: blocked threads switched in without a waking seen", s.unwoken);
    let _ = writeln!(out, "{:>11}  losses that the source reports ({} events)", s.losses, s.lost_events);
    let whole = s.cpu_time_ns().max(1) as f64;
    let share = |ns: i64| format!("{:.3} %", ns as f64 * 100.0 / whole);
    let _ = writeln!(out, "{:>11}  of CPU time unknown", share(s.unknown_ns));
    let _ = writeln!(out, "{:>11}  of CPU time lossy", share(s.lossy_ns));
    if let Some(inferred) = s.inferred_ns {
        let _ = writeln!(out, "{:>11}  of CPU time inferred", share(inferred));
    }
    for t in &s.troubles {
        let kind = if t.lost { "lost" } else { "odd" };
        let _ = writeln!(out, "{:>11}  {kind}: {} (first at byte {})", t.count, t.what, t.first_offset);
    }
    if let Some(stopped) = &s.stopped {
        let _ = writeln!(out, "reading stopped early: {stopped}");
    }
    out.push_str(if s.laws_hold() { "\nall laws hold\n" } else { "\nA LAW IS BROKEN\n" });
    out
}
