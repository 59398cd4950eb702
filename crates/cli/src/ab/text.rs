//! What is printed while commands are recorded, and at the end.

use super::binding::binding;
use compare::ab::{Decision, Ended, MIN_PAIRS, Manifest, MeasuredRun, Side, SideOf, Status, Stop};
use model::Ns;
use model::words::{self, percent_of, time, untied};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// A command that ends sooner is mostly its own start, ns.
const SHORT_NS: i64 = 20_000_000;
/// The number of characters of a command that are shown.
const COMMAND_CHARS: usize = 60;

fn seconds(ns: Option<i64>) -> String {
    ns.map_or_else(|| "unknown time".to_owned(), |ns| untied(&time(Ns(ns))))
}

fn share(of: f64) -> String {
    untied(&percent_of(of))
}

fn plural(n: usize, word: &str) -> String {
    untied(&words::plural(n as u64, word))
}

/// The name and the command of a side.
fn named(side: &SideOf) -> String {
    format!("{} ({})", side.name, words::short(&side.command, COMMAND_CHARS))
}

/// The first line: what is done.
pub fn start(manifest: &Manifest, dir: &Path) -> String {
    let [a, b] = &manifest.sides;
    let pairs = match manifest.stop {
        Stop::Runs(n) => plural(n, "pair"),
        Stop::Until { half_width, max_runs } => {
            let min = MIN_PAIRS.min(max_runs);
            format!("{min} to {max_runs} pairs, until the 95 % interval extends {} to either side", share(half_width))
        }
    };
    let warm_up = match manifest.warm_up {
        0 => "no warm-up".to_owned(),
        n => format!("{} of each", plural(n, "warm-up")),
    };
    let (dir, seed) = (dir.display(), manifest.seed);
    format!("{dir}: {} and {}; {warm_up}, {pairs}; seed {seed}", named(a), named(b))
}

/// The progress line while a pair is recorded.
pub fn progress(manifest: &Manifest, pair: usize, pairs: usize, left: Option<Duration>) -> String {
    let mut text = format!("Pair {pair} of {pairs}");
    if let Some(last) = manifest.pairs().last() {
        let [a, b] = last.runs.map(|run| seconds(run.wall_ns));
        let [of_a, of_b] = &manifest.sides;
        let _ = write!(text, ", last {} {a}, {} {b}", of_a.name, of_b.name);
    }
    match left.map(|left| left.as_secs_f64()) {
        None => {}
        Some(left) if left >= 90.0 => drop(write!(text, ", about {:.0} min left", left / 60.0)),
        Some(left) => drop(write!(text, ", about {left:.0} s left")),
    }
    text
}

/// The line of a pair that was recorded: the last two runs, in the order in which they ran.
pub fn pair(manifest: &Manifest, decision: Decision) -> String {
    let [.., first, second] = manifest.runs.as_slice() else { return String::new() };
    let of = |run: &MeasuredRun| {
        let code = if run.exit_code == 0 { String::new() } else { format!(" (exit code {})", run.exit_code) };
        format!("{} {}{code}", manifest.sides[run.side.index()].name, seconds(run.wall_ns))
    };
    let again = if first.attempt > 1 { format!(", attempt {}", first.attempt) } else { String::new() };
    let mut text = format!("Pair {}{again}: {}, {}", first.pair, of(first), of(second));
    let what = match decision {
        Decision::Keep => return text,
        Decision::Repeat => "disturbed, recorded again",
        Decision::KeepDisturbed => "disturbed, no repeats left",
    };
    let reasons = [first, second].into_iter().filter_map(|run| {
        let reason = run.reason.as_ref()?;
        Some(format!("during {}, {reason}", manifest.sides[run.side.index()].name))
    });
    let _ = write!(text, ": {what}: {}", reasons.collect::<Vec<_>>().join("; "));
    text
}

/// The note about a command that ends soon; `None` if it does not, or if it failed.
pub fn short(side: &SideOf, run: &MeasuredRun) -> Option<String> {
    let ns = run.wall_ns.filter(|ns| *ns < SHORT_NS && run.exit_code == 0)?;
    Some(format!(
        "note: {} ends after {}: mostly the start of a process. Let the command repeat its work for at least 20 ms.",
        named(side),
        seconds(Some(ns))
    ))
}

/// Returns what the command printed to its log: without the recorder's summary, which begins with the folder's name.
pub fn of_command(log: &str) -> &str {
    let end = log.lines().find(|line| line.contains(".cw: ") && line.contains(" events in "));
    end.and_then(|line| log.find(line)).map_or(log, |at| &log[..at])
}

fn median(sorted: &[i64]) -> Option<i64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => sorted.get(middle).copied(),
        _ => Some(i64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The summary at the end: what was recorded, and how long the commands took.
pub fn summary(manifest: &Manifest, dir: &Path) -> String {
    let pairs = manifest.pairs();
    let repeats = manifest.runs.iter().filter(|run| run.status == Status::Repeated).count() / 2;
    let disturbed = pairs.iter().filter(|pair| pair.is_disturbed()).count();
    let mut text = format!("{}: {}", dir.display(), plural(pairs.len(), "pair"));
    let _ = match (repeats, disturbed) {
        (0, 0) => write!(text, ", none disturbed"),
        (n, 0) => write!(text, ", none disturbed after {}", plural(n, "repeat")),
        (n, d) => write!(text, ", {d} disturbed after {}", plural(n, "repeat")),
    };
    text.push_str(match manifest.ended {
        Ended::Interrupted => "; stopped by the user\n",
        Ended::Failed => "; a command failed\n",
        _ => "\n",
    });
    for side in Side::BOTH {
        let mut times: Vec<i64> = pairs.iter().filter_map(|pair| pair.runs[side.index()].wall_ns).collect();
        times.sort_unstable();
        let name = named(&manifest.sides[side.index()]);
        if let (Some(median), Some(min), Some(max)) = (median(&times), times.first(), times.last()) {
            let [median, min, max] = [median, *min, *max].map(|ns| seconds(Some(ns)));
            let _ = writeln!(text, "  {name}: median {median}, from {min} to {max}");
        }
    }
    if let Some(of) = binding(manifest) {
        let _ = write!(text, "  {of}");
    }
    if let (Stop::Until { half_width: wanted, .. }, Some(width)) = (manifest.stop, manifest.half_width) {
        let enough = if width <= wanted { "" } else { ", wider than requested" };
        let _ = writeln!(text, "  The 95 % interval of the change extends {} to either side{enough}.", share(width));
    }
    let throttled: u64 = pairs.iter().flat_map(|pair| pair.runs).filter_map(|run| run.throttled).sum();
    if throttled > 0 {
        let _ = writeln!(text, "  note: the processor throttled itself because of its temperature during these runs");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3]), Some(3));
        assert_eq!(median(&[1, 4]), Some(2));
        assert_eq!(median(&[1, 2, 9]), Some(2));
    }

    fn run(wall_ns: Option<i64>, exit_code: i32) -> MeasuredRun {
        MeasuredRun {
            folder: None,
            log: None,
            side: Side::A,
            pair: 1,
            attempt: 1,
            order: 1,
            status: Status::Compared,
            start_unix_ns: 0,
            wall_ns,
            exit_code,
            steal_share: None,
            other_share: None,
            most_of_other: String::new(),
            frequency_khz: None,
            throttled: None,
            cpu_pressure: None,
            load_average: None,
            elsewhere_share: None,
            disturbed: false,
            reason: None,
        }
    }

    #[test]
    fn a_command_that_ends_within_20_ms_has_a_note() {
        let side = SideOf { name: "A".to_owned(), command: "true".to_owned(), cores: None };
        let note = short(&side, &run(Some(SHORT_NS - 1), 0)).expect("a note");
        assert!(note.starts_with("note: A (true) ends after 20.000 ms"), "{note}");
        assert_eq!(short(&side, &run(Some(SHORT_NS), 0)), None);
        assert_eq!(short(&side, &run(Some(1), 7)), None, "it failed");
        assert_eq!(short(&side, &run(None, 0)), None);
    }

    #[test]
    fn the_summary_of_the_recorder_is_not_the_commands() {
        let log =
            "one\ntwo\n/tmp/x/a-01.cw: 5 events in 0.1 s (target process ended), 0 lost, by bpf\nnext: corewise\n";
        assert_eq!(of_command(log), "one\ntwo\n");
        assert_eq!(of_command("one\n"), "one\n");
    }
}
