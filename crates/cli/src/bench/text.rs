//! The figures as text for a terminal.

use super::groups::{Group, figures, groups};
use super::{Outcome, ProbeRun, about, described, sentences, words};
use engine::{Cost, Estimate};
use model::words::{TIE, grouped, percent, percent_of, untied};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The sentences that say how to read the tables.
pub const LEGEND: [&str; 4] = [
    "value: the median of the runs; the interval holds the true median with a probability of 95 %. `*`: the interval is wider than requested.",
    "±: by how much the method itself may be off, besides: work of known length was added to the step, and came back too long or too short by at \
     most so much. No ±: nothing could be added.",
    "control: the same measurement where nothing can be found (the same thing twice); its interval should hold 0, or 1 of a ratio. `!`: it does not, \
     so that smaller differences than this mean nothing.",
    "runs: repetitions in the value; disturbed: the share that was thrown away because something else used the CPUs.",
];

/// How to read the last column.
pub const NEXT: &str =
    "next: a prediction: the interval in which a further run is expected with a probability of 90 %.";

/// The heads of the columns.
const HEADS: [&str; COLUMNS] = ["", "value", "95 % interval", "control", "runs", "disturbed", "next (90 %)"];
/// The last column is only printed with `--all`.
const COLUMNS: usize = 7;

/// Writes all probes. `all`: also each pair of a class.
pub fn text(of: &Outcome, all: bool, width: usize) -> String {
    let mut out = String::new();
    for warning in &of.warnings {
        wrapped(&mut out, &format!("note: {warning}"), 0, width);
    }
    let _ = writeln!(out, "{}", head(of));
    for probe in of.probes() {
        out.push('\n');
        wrapped(&mut out, &title(probe), 0, width);
        let costs = of.of(probe);
        table(&mut out, probe, &costs, all, width);
        if let Some(run) = of.runs.iter().find(|run| run.name == probe) {
            for sentence in sentences_of_run(run) {
                wrapped(&mut out, &sentence, 2, width);
            }
        }
    }
    let without = of.runs.iter().filter(|run| !of.costs.figures.iter().any(|cost| cost.probe == run.name));
    for run in without {
        out.push('\n');
        wrapped(&mut out, &format!("{}: nothing was measured", run.name), 0, width);
        run.lacks.iter().for_each(|lack| wrapped(&mut out, &model::words::plain(lack), 2, width));
    }
    // Of figures from a file, what is missing is known from there.
    if of.runs.is_empty() {
        for sentence in &of.costs.measured.left_out {
            wrapped(&mut out, &model::words::plain(sentence), 0, width);
        }
    }
    if !of.costs.figures.is_empty() {
        out.push('\n');
        if all {
            wrapped(&mut out, NEXT, 0, width);
        }
        LEGEND.iter().for_each(|line| wrapped(&mut out, line, 0, width));
        let useful = sentences::useful(&of.costs.figures);
        if !useful.is_empty() {
            out.push_str("\nIn short:\n");
            useful.iter().for_each(|sentence| wrapped(&mut out, sentence, 2, width));
        }
    }
    out.replace(TIE, " ")
}

/// The first line: which machine, when, by what.
pub fn head(of: &Outcome) -> String {
    let measured = &of.costs.measured;
    let model = of.machine.model_name.as_deref().map_or_else(|| "this machine".to_owned(), model::words::plain);
    let cpus = untied(&model::words::plural(of.machine.cpus.len() as u64, "CPU"));
    let at = model::words::plain(&measured.at.replace('T', " ").replace('Z', " UTC"));
    format!("Costs of {model} ({cpus}), measured {at} by corewise {}", model::words::plain(&measured.corewise))
}

/// A probe and what it measures.
fn title(probe: &str) -> String {
    match about(probe) {
        "" => words::plain(probe),
        about => format!("{probe}: {about}"),
    }
}

/// The cells of a row.
type Cells = [String; COLUMNS];

/// The table of a probe: its figures, each with what it is, and a row for each class and each value of its parameters.
fn table(out: &mut String, probe: &str, costs: &[&Cost], all: bool, width: usize) {
    let sections: Vec<(String, Vec<Cells>)> = figures(costs)
        .into_iter()
        .map(|figure| {
            let own: Vec<&Cost> = costs.iter().filter(|cost| cost.figure == figure).copied().collect();
            // What all rows have in common is said once.
            let common = common(&own);
            let name = match words::parameters(&common).as_str() {
                "" => words::plain(figure),
                with => format!("{} ({with})", words::plain(figure)),
            };
            let title = match described(probe, figure) {
                "" => name,
                of => format!("{name}: {of}"),
            };
            (title, groups(&own).iter().flat_map(|group| rows(group, &common, all)).collect())
        })
        .collect();
    let heads: Cells =
        std::array::from_fn(|at| if at < COLUMNS - 1 || all { HEADS[at].to_owned() } else { String::new() });
    let rows = || sections.iter().flat_map(|(_, rows)| rows).chain([&heads]);
    let widths: [usize; COLUMNS] =
        std::array::from_fn(|at| rows().map(|row| row[at].chars().count()).max().unwrap_or(0));
    let line = |out: &mut String, cells: &Cells| {
        let mut text = String::from("   ");
        for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
            // Values and counts are right-aligned.
            let _ = match at {
                1 | 4 | 5 => write!(text, " {cell:>width$} "),
                _ => write!(text, " {cell:<width$} "),
            };
        }
        let _ = writeln!(out, "{}", text.trim_end());
    };
    line(out, &heads);
    for (title, rows) in &sections {
        wrapped(out, title, 2, width);
        rows.iter().for_each(|row| line(out, row));
    }
}

/// The parameters that all figures have alike; none of a single figure, whose row names them.
fn common(costs: &[&Cost]) -> BTreeMap<String, String> {
    let [first, rest @ ..] = costs else { return BTreeMap::new() };
    let mut common = first.parameters.clone();
    common.retain(|name, value| !rest.is_empty() && rest.iter().all(|cost| cost.parameters.get(name) == Some(value)));
    common
}

/// The rows of a group: one, and with `all` also each of its figures.
fn rows(group: &Group<'_>, common: &BTreeMap<String, String>, all: bool) -> Vec<Cells> {
    let mut own = group.parameters.clone();
    own.retain(|name, _| !common.contains_key(name));
    let with = words::parameters(&own);
    let place = |class: &str| match with.as_str() {
        "" => class.to_owned(),
        with => format!("{class}, {with}"),
    };
    match group.costs.as_slice() {
        [one] => {
            let cpus = words::cpus(one);
            let class = match (group.pair, words::core_types(one).as_str()) {
                (None, "") => cpus,
                _ if cpus.is_empty() => group.class.clone(),
                _ => format!("{} ({cpus})", group.class),
            };
            vec![cells(place(&class), one, all)]
        }
        many => {
            let [low, high] = group.range();
            let what = if group.pair.is_some() { "pairs" } else { "places" };
            let sum = |count: fn(&Cost) -> u32| many.iter().map(|cost| count(cost)).sum::<u32>();
            let [low, high] = [low, high].map(|x| words::value(group.unit, x));
            let controls = many.iter().filter_map(|cost| words::control_holds(cost));
            let (held, known) = controls.fold((0, 0), |(held, known), holds| (held + u32::from(holds), known + 1));
            let mut rows = vec![[
                place(&format!("{}, {} {what}", group.class, many.len())),
                words::value(group.unit, group.median()),
                format!("{low} to {high}"),
                if known > 0 { format!("{held} of {known} hold") } else { String::new() },
                sum(|cost| cost.repetitions).to_string(),
                disturbed(sum(|cost| cost.disturbed + cost.misplaced), sum(|cost| cost.repetitions)),
                String::new(),
            ]];
            if all {
                rows.extend(many.iter().map(|cost| cells(format!("  {}", words::cpus(cost)), cost, all)));
            }
            rows
        }
    }
}

fn cells(place: String, cost: &Cost, all: bool) -> Cells {
    let shown = words::figure(cost);
    let wide = if cost.precise { "" } else { " *" };
    [
        place,
        shown.value,
        format!("{}{wide}", shown.interval),
        cost.control.map_or_else(String::new, |control| self::control(cost, &control)),
        cost.repetitions.to_string(),
        disturbed(cost.disturbed + cost.misplaced, cost.repetitions),
        if all { super::data::next(cost) } else { String::new() },
    ]
}

/// The null control with its interval, and a mark if it found something.
pub fn control(cost: &Cost, of: &Estimate) -> String {
    let shown = words::estimate(cost.unit, of);
    let mark = if words::control_holds(cost) == Some(false) { " !" } else { "" };
    format!("{} {}{mark}", shown.value, shown.interval)
}

/// The share of repetitions that were thrown away.
pub fn disturbed(thrown_away: u32, kept: u32) -> String {
    if thrown_away == 0 { "-".to_owned() } else { percent(i64::from(thrown_away), i64::from(thrown_away + kept)) }
}

/// What must be known about the measurement of a probe: its notes, its placement, what is missing.
pub fn sentences_of_run(run: &ProbeRun) -> Vec<String> {
    let mut all: Vec<String> = run.notes.iter().map(|note| model::words::plain(note)).collect();
    if run.stopped {
        all.insert(0, "stopped by the user: these figures are not complete, and are not stored".to_owned());
    }
    if let Some(verified) = &run.verified {
        let of = |part: u64, whole: u64| format!("{} of {}", count(part), count(whole));
        let mut text = format!(
            "placement: {} threads ran where they should and moved as often as they should",
            of(verified.as_expected, verified.threads)
        );
        if verified.moves_requested > 0 {
            let _ =
                write!(text, "; {} moves found in the recording", of(verified.moves_found, verified.moves_requested));
        }
        if verified.missing > 0 {
            let _ = write!(text, "; {} threads are not in it", count(verified.missing));
        }
        all.push(text);
        all.extend(verified.differences.iter().map(|difference| format!("difference: {difference}")));
    }
    if let Some([median, low, high]) = run.recording_ratio {
        all.push(format!(
            "recording makes a step {median:.2} times as long (by series from {low:.2} to {high:.2}): values are from rounds without it"
        ));
    }
    if run.disturbed_share > 0.0 {
        let share = percent_of(run.disturbed_share);
        all.push(format!("{share} of all repetitions were disturbed, and measured again"));
    }
    all.extend(run.lacks.iter().map(|lack| model::words::plain(lack)));
    all
}

fn count(of: u64) -> String {
    grouped(of.cast_signed())
}

/// Writes a text in lines of at most `width`, indented; further lines are indented by two more.
pub fn wrapped(out: &mut String, text: &str, indent: usize, width: usize) {
    let [first, rest] = [indent, indent + 2].map(|spaces| " ".repeat(spaces));
    page::wrapped(text, width, &first, &rest).iter().for_each(|line| {
        let _ = writeln!(out, "{line}");
    });
}

#[cfg(test)]
pub mod tests {
    use super::super::groups::tests::cost;
    use super::*;
    use bench::Verified;
    use engine::{CostUnit, Costs, Machine, PairClass};

    pub fn outcome(figures: Vec<Cost>) -> Outcome {
        let mut costs = Costs { figures, ..Costs::default() };
        costs.measured.at = "2026-11-26T16:00:00Z".to_owned();
        let machine = Machine::of_cpus([0, 1].map(model::CpuId));
        Outcome { machine, costs, runs: Vec::new(), warnings: Vec::new() }
    }

    #[test]
    fn classes_are_summed_and_their_pairs_shown_on_request() {
        let pipe = |pair, cpus: &[u32], value| cost("switch", "pipe", Some(pair), cpus, CostUnit::Ns, value);
        let mut same = pipe(PairClass::SameCpu, &[0], 2280.0);
        same.control = Some(Estimate { value: 90.0, low: 40.0, high: 140.0 });
        same.precise = false;
        same.systematic = Some(41.0);
        let of = outcome(vec![
            pipe(PairClass::SameL3, &[0, 2], 15_000.0),
            pipe(PairClass::SameL3, &[0, 4], 16_000.0),
            pipe(PairClass::SameL3, &[2, 4], 18_000.0),
            same,
        ]);
        let short = text(&of, false, 100);
        let row = |text: &str, of: &str| text.lines().find(|line| line.contains(of)).unwrap_or_default().to_owned();
        let same = row(&short, "same CPU (CPU 0)");
        assert!(
            same.contains("2.28 us")
                && same.contains("[2.23, 2.33] ±0.04 *")
                && same.contains("90.0 ns [40.0, 140.0] !"),
            "{short}"
        );
        let l3 = row(&short, "same L3, 3 pairs");
        assert!(l3.contains("16.0 us") && l3.contains("15.0 us to 18.0 us") && l3.contains("120"), "{short}");
        assert!(!short.contains("CPU 2 to 4") && text(&of, true, 100).contains("CPU 2 to 4"), "{short}");
        assert!(short.lines().all(|line| line.chars().count() <= 110), "{short}");
        let (near, far) = (short.find("same CPU").unwrap(), short.find("same L3").unwrap());
        assert!(near < far, "near pairs first");
    }

    #[test]
    fn the_placement_is_printed_with_what_recording_costs() {
        let verified = Verified {
            threads: 1234,
            as_expected: 1233,
            moves_requested: 48_000,
            moves_found: 47_999,
            missing: 0,
            differences: vec!["move 0-1: 200 moves were requested, 199 recorded".to_owned()],
        };
        let run = ProbeRun {
            name: "migrate",
            notes: Vec::new(),
            lacks: vec!["left out: no sibling".to_owned()],
            verified: Some(verified),
            disturbed_share: 0.031,
            recording_ratio: Some([1.08, 1.02, 1.3]),
            stopped: false,
        };
        let text = sentences_of_run(&run).join("\n").replace(TIE, " ");
        for part in
            ["1 233 of 1 234", "47 999 of 48 000 moves", "difference: move 0-1", "1.08 times", "3.1 %", "no sibling"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
