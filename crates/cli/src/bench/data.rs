//! The figures as JSON, CSV and Markdown.

use super::groups::figures;
use super::{Outcome, ProbeRun, about, described, sentences, text, words};
use engine::Cost;
use page::{Column, Page, csv_line, push};
use serde_json::{Value, json};

/// Returns everything as JSON. Values are in the unit of their figure.
pub fn json(of: &Outcome) -> Value {
    let probes: Vec<Value> = of
        .probes()
        .into_iter()
        .map(|probe| {
            let costs = of.of(probe);
            let names: serde_json::Map<String, Value> = figures(&costs)
                .into_iter()
                .map(|figure| (figure.to_owned(), described(probe, figure).into()))
                .collect();
            json!({ "probe": probe, "about": about(probe), "figures": names, "costs": costs })
        })
        .collect();
    let runs: Vec<Value> = of.runs.iter().map(run).collect();
    json!({
        "corewise": of.costs.measured.corewise,
        "machine": of.machine.model_name,
        "measured": of.costs.measured,
        "warnings": of.warnings,
        "complete": !of.stopped(),
        "in_short": sentences::useful(&of.costs.figures),
        "probes": probes,
        "runs": runs,
    })
}

/// How a probe was measured.
fn run(of: &ProbeRun) -> Value {
    let verified = of.verified.as_ref().map(|of| {
        json!({
            "threads": of.threads,
            "as_expected": of.as_expected,
            "moves_requested": of.moves_requested,
            "moves_found": of.moves_found,
            "missing": of.missing,
            "differences": of.differences,
        })
    });
    json!({
        "probe": of.name,
        "notes": of.notes,
        "lacks": of.lacks,
        "placement": verified,
        "disturbed_share": of.disturbed_share,
        "recording_ratio": of.recording_ratio,
        "stopped": of.stopped,
    })
}

/// The columns of the CSV.
const COLUMNS: [&str; 22] = [
    "probe",
    "figure",
    "pair",
    "cpus",
    "core_types",
    "parameters",
    "unit",
    "value",
    "low",
    "high",
    "systematic",
    "next_low",
    "next_high",
    "repetitions",
    "disturbed",
    "misplaced",
    "control",
    "control_low",
    "control_high",
    "control_holds",
    "precise",
    "described",
];

/// Returns one line for each figure, after a line of heads.
pub fn csv(of: &Outcome) -> String {
    let mut out = csv_line(COLUMNS);
    for cost in &of.costs.figures {
        let number = |of: Option<f64>| of.map_or_else(String::new, |x| x.to_string());
        let list = |of: Vec<String>| of.join(" ");
        let parameters = cost.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        let control = cost.control;
        let cells = [
            cost.probe.clone(),
            cost.figure.clone(),
            cost.pair.map_or_else(String::new, |pair| pair.as_str().to_owned()),
            list(cost.cpus.iter().map(|cpu| cpu.0.to_string()).collect()),
            list(cost.core_types.iter().map(|kind| kind.as_str().to_owned()).collect()),
            list(parameters.collect()),
            cost.unit.as_str().to_owned(),
            cost.estimate.value.to_string(),
            cost.estimate.low.to_string(),
            cost.estimate.high.to_string(),
            number(cost.systematic),
            number(cost.next.map(|[low, _]| low)),
            number(cost.next.map(|[_, high]| high)),
            cost.repetitions.to_string(),
            cost.disturbed.to_string(),
            cost.misplaced.to_string(),
            number(control.map(|of| of.value)),
            number(control.map(|of| of.low)),
            number(control.map(|of| of.high)),
            words::control_holds(cost).map_or_else(String::new, |holds| holds.to_string()),
            cost.precise.to_string(),
            described(&cost.probe, &cost.figure).to_owned(),
        ];
        out += &csv_line(cells);
    }
    out
}

/// Returns tables for a pull request or a wiki, a row for each figure.
pub fn markdown(of: &Outcome) -> String {
    const HEADS: [(&str, bool); 8] = [
        ("figure", false),
        ("place", false),
        ("value", true),
        ("95 % interval", false),
        ("next (90 %)", false),
        ("control", false),
        ("runs", true),
        ("disturbed", true),
    ];
    let mut page = Page::default();
    of.warnings.iter().for_each(|warning| page.note(&format!("Note: {warning}")));
    for probe in of.probes() {
        page.heading(&format!("{probe}: {}", about(probe)));
        let mut columns =
            HEADS.map(|(head, right)| if right { Column::numbers(head, 0) } else { Column::text(head, 0) });
        of.of(probe).into_iter().for_each(|cost| push(&mut columns, row(cost)));
        page.grid(columns.into(), 0);
        let run = of.runs.iter().find(|run| run.name == probe);
        run.map(text::sentences_of_run).unwrap_or_default().iter().for_each(|sentence| page.item(sentence));
    }
    let useful = sentences::useful(&of.costs.figures);
    if !useful.is_empty() {
        page.heading("In short");
        useful.iter().for_each(|sentence| page.item(sentence));
    }
    page::markdown(&text::head(of), &page.blocks)
}

/// The cells of a figure: name, place, value, interval, the next value, the control, runs, disturbed.
pub fn row(cost: &Cost) -> [String; 8] {
    let shown = words::figure(cost);
    let (class, cpus, with) = (words::class(cost), words::cpus(cost), words::parameters(&cost.parameters));
    let place = [class, cpus, with].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    let wide = if cost.precise { "" } else { " *" };
    [
        words::plain(&cost.figure),
        place,
        shown.value,
        format!("{}{wide}", shown.interval),
        next(cost),
        cost.control.map_or_else(String::new, |control| text::control(cost, &control)),
        cost.repetitions.to_string(),
        text::disturbed(cost.disturbed + cost.misplaced, cost.repetitions),
    ]
}

/// The interval in which another measurement is expected: "2.20 us to 2.41 us".
pub fn next(cost: &Cost) -> String {
    let of = |[low, high]: [f64; 2]| format!("{} to {}", words::value(cost.unit, low), words::value(cost.unit, high));
    cost.next.map_or_else(String::new, of)
}

#[cfg(test)]
mod tests {
    use super::super::groups::tests::cost;
    use super::super::text::tests::outcome;
    use super::*;
    use engine::{CostUnit, PairClass};

    #[test]
    fn each_figure_is_a_line_of_csv() {
        let mut odd = cost("switch", "=1+1", Some(PairClass::OtherCore), &[0, 1], CostUnit::Ns, 2.5);
        odd.parameters.insert("kind".to_owned(), "a,\"b\"".to_owned());
        let text = csv(&outcome(vec![odd]));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(
            lines[1].starts_with("switch,'=1+1,other_core,0 1,uniform uniform,\"kind=a,\"\"b\"\"\",ns,2.5,2.45,2.55,"),
            "{text}"
        );
    }

    #[test]
    fn json_has_every_figure_with_its_interval() {
        let of = outcome(vec![cost("switch", "pipe", Some(PairClass::SameCpu), &[0], CostUnit::Ns, 2300.0)]);
        let json = json(&of);
        let cost = &json["probes"][0]["costs"][0];
        assert_eq!(
            (cost["figure"].as_str(), cost["unit"].as_str(), cost["estimate"]["value"].as_f64()),
            (Some("pipe"), Some("ns"), Some(2300.0))
        );
        assert!(json["probes"][0]["figures"]["pipe"].as_str().is_some_and(|words| words.contains("write")));
        assert!(markdown(&of).contains("| pipe | same CPU, CPU 0 | 2.30 us |"), "{}", markdown(&of));
    }
}
