//! Converts the output of `perf stat`, as text or with `-x`, to rows of one table.
//!
//! Layout: perf-stat(1), "CSV FORMAT" (time if there are intervals, the CPU or core if counts are not summed, value, unit,
//! event, run time, its share, metric, metric unit); text as printed by `perf stat` 6.1. Missing values stay empty.

use crate::{Figure, MAX_BYTES, ReadError};

/// The columns of the table.
const HEAD: [&str; 10] = [
    "run",
    "interval_end_s",
    "event",
    "status",
    "value",
    "unit",
    "printed_ratio",
    "printed_ratio_unit",
    "running_pct",
    "elapsed_s",
];
const RUN: usize = 0;
const EVENT: usize = 2;
const ELAPSED: usize = 9;

/// perf prints at most: time, core, number of CPUs, and the seven cells of a count.
const MAX_CELLS_PER_LINE: usize = 12;

/// The table of counts in a text, with its head; `None` if the text is not from perf stat.
///
/// # Errors
/// The text is too long.
pub(crate) fn lines(text: &str) -> Result<Option<Vec<Vec<String>>>, ReadError> {
    if text.len() > MAX_BYTES {
        return Err(ReadError::Long(MAX_BYTES >> 20));
    }
    let data = || text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    let Some(first) = data().next() else { return Ok(None) };
    let mut out = vec![HEAD.map(String::from).to_vec()];
    let by = [',', ';', '\t'].into_iter().find(|by| of_csv(first, *by).is_some());
    if let Some(by) = by {
        out.extend(data().map(|line| of_csv(line, by).unwrap_or_else(|| not_understood(line))));
    } else if first.contains("Performance counter stats for") || of_text(first).is_some_and(|row| !row[1].is_empty()) {
        of_blocks(data(), &mut out);
    } else {
        return Ok(None);
    }
    Ok(Some(out))
}

/// Each output of perf in a text is a run, from its title to the next one.
fn of_blocks<'t>(data: impl Iterator<Item = &'t str>, out: &mut Vec<Vec<String>>) {
    let (mut runs, mut begin) = (0, out.len());
    for line in data {
        if line.contains("Performance counter stats for") {
            (runs, begin) = (runs + 1, out.len());
        } else if let Some(elapsed) = line.split("seconds time elapsed").next().filter(|l| l.len() < line.len()) {
            let elapsed = elapsed.split_whitespace().next().unwrap_or_default();
            for row in &mut out[begin..] {
                elapsed.clone_into(&mut row[ELAPSED]);
            }
            begin = out.len();
        } else if !line.contains("seconds user") && !line.contains("seconds sys") {
            let mut row = of_text(line).unwrap_or_else(|| not_understood(line));
            if runs > 1 {
                row[RUN] = format!("{} {runs}", row[RUN]).trim_start().to_owned();
            }
            out.push(row);
        }
    }
}

fn row(prefix: &[&str], cells: [&str; 7]) -> Vec<String> {
    let (end, cpu) = match prefix.split_first() {
        Some((first, rest)) if number(first).is_some() => (*first, rest),
        _ => ("", prefix),
    };
    // The number of summed CPUs follows the CPU or core.
    let cpu = cpu.first().copied().unwrap_or_default();
    let clean = |cell: &str| cell.replace(char::is_control, "\u{fffd}");
    let before = [cpu, end].into_iter().map(clean);
    before.chain(cells.into_iter().map(clean)).chain([String::new()]).collect()
}

fn not_understood(line: &str) -> Vec<String> {
    let mut row = row(&[], [""; 7]);
    row[EVENT] = line.trim().chars().take(60).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    "not_understood".clone_into(&mut row[EVENT + 1]);
    row
}

/// Parses a number as printed by perf; in text, with commas between thousands.
fn number(cell: &str) -> Option<String> {
    let plain = cell.trim().replace(',', "");
    Figure::parse(&plain).filter(|_| plain.starts_with(|c: char| c.is_ascii_digit() || c == '-')).map(|_| plain)
}

fn status(value: &str) -> Option<&'static str> {
    match value.trim() {
        "<not counted>" => Some("not_counted"),
        "<not supported>" => Some("not_supported"),
        value => number(value).map(|_| "counted"),
    }
}

fn of_csv(line: &str, by: char) -> Option<Vec<String>> {
    let cells: Vec<&str> = line.split(by).take(MAX_CELLS_PER_LINE).map(str::trim).collect();
    let is_number = |at: usize| cells.get(at).is_some_and(|c| number(c).is_some());
    let value = (0..4).find(|at| {
        let event = cells.get(at + 2).is_some_and(|c| !c.is_empty() && number(c).is_none());
        event && is_number(at + 3) && is_number(at + 4) && status(cells[*at]).is_some()
    })?;
    let cell = |at: usize| cells.get(value + at).copied().unwrap_or_default();
    let counted = status(cell(0))?;
    let count = if counted == "counted" { cell(0) } else { "" };
    Some(row(&cells[..value], [cell(2), counted, count, cell(1), cell(5), unit_of(cell(6)), cell(4)]))
}

fn of_text(line: &str) -> Option<Vec<String>> {
    let (mut line, mut running) = (line.trim_end(), "");
    // The line ends with the share of time for which it was counted, and the variation of several runs.
    while let Some((before, last)) = line.strip_suffix(')').and_then(|l| l.rsplit_once('(')) {
        line = before.trim_end();
        if !last.contains("+-") {
            running = last.trim().trim_end_matches('%');
        }
    }
    let (counts, metric) = line.split_once('#').unwrap_or((line, ""));
    let counts = counts.replace("<not counted>", "<not_counted>").replace("<not supported>", "<not_supported>");
    let words: Vec<&str> = counts.split_whitespace().collect();
    let spaced = |word: &str| word.replace("<not_", "<not ");
    let value = words.iter().rposition(|w| status(&spaced(w)).is_some())?;
    let (unit, event) = match words[value + 1..] {
        [event] => ("", event),
        [unit, event] => (unit, event),
        _ => return None,
    };
    let counted = status(&spaced(words[value]))?;
    let count = if counted == "counted" { number(words[value])? } else { String::new() };
    let metric = metric.trim();
    let (ratio, of) = metric.split_once(char::is_whitespace).unwrap_or((metric, ""));
    let ratio = number(ratio.trim_end_matches('%')).unwrap_or_default();
    Some(row(&words[..value], [event, counted, &count, unit, &ratio, unit_of(of.trim()), running]))
}

/// Maps perf's description of a ratio to a unit.
fn unit_of(words: &str) -> &'static str {
    match words.trim() {
        "CPUs utilized" => "cpus",
        "insn per cycle" => "ipc",
        "GHz" => "ghz",
        "/sec" => "per_s",
        "K/sec" => "thousand_per_s",
        "M/sec" => "million_per_s",
        "G/sec" => "billion_per_s",
        words if words.starts_with("of all") => "pct",
        _ => "",
    }
}
