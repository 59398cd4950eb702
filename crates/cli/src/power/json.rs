//! The results for programs: JSON and CSV.

use super::machine::{Machine, Run};
use super::outcome::{Median, Outcome};
use crate::failure::Failure;
use page::csv_line;
use power::{Estimate, Lack, Refused, Span3};
use serde_json::{Map, Value, json};

/// The version of the JSON format. Field names are stable; fields may be added.
const VERSION: u32 = 1;

fn median(median: Option<Median>) -> Value {
    median.map_or(Value::Null, |m| {
        json!({ "median": m.value, "low": m.ends[0], "high": m.ends[1], "is_interval_95": m.is_interval, "values": m.n })
    })
}

fn lacks(lacks: &[Lack]) -> Value {
    lacks.iter().map(|lack| json!({ "source": lack.source, "why": lack.why, "needs_rights": lack.rights })).collect()
}

fn spans(spans: &[(String, Span3)]) -> Value {
    let span = |(name, s): &(String, Span3)| json!({ "name": name, "min": s.min, "mean": s.mean, "max": s.max, "readings": s.readings });
    spans.iter().map(span).collect()
}

fn energy(name: &str, energy: &Result<Estimate, Refused>, work: Option<f64>) -> Value {
    match energy {
        Ok(e) => {
            let unknown = e.unknown.iter();
            let unknown: Vec<Value> = unknown
                .map(|(span, why)| json!({ "begin_ns": span.start.0, "end_ns": span.end.0, "why": why.to_string() }))
                .collect();
            json!({
                "name": name, "joules": e.joules, "low": e.low, "high": e.high, "watts": e.watts,
                "known_s": e.known_ns as f64 * 1e-9, "whole_s": e.whole_ns as f64 * 1e-9,
                "joules_per_unit": work.filter(|_| e.unknown.is_empty()).map(|work| e.joules / work), "unknown": unknown,
            })
        }
        Err(refused) => {
            let needed = match refused {
                Refused::TooShort(Some(ns)) => Some(*ns as f64 * 1e-9),
                _ => None,
            };
            json!({ "name": name, "refused": refused.to_string(), "needed_s": needed })
        }
    }
}

fn run(run: &Run, machine: &Machine) -> Value {
    let domains = machine.meters.domains.iter().zip(&run.energy);
    let wall_us = run.elapsed_s() * 1e6;
    let idle: Vec<Value> = run
        .idle
        .iter()
        .map(|state| {
            json!({
                "state": state.state, "name": state.name, "target_residency_us": state.residency_us, "latency_us": state.latency_us,
                "time_us": state.time_us, "share": state.time_us as f64 / (wall_us * state.cpus.max(1) as f64),
                "entered": state.usage, "above": state.above, "below": state.below, "rejected": state.rejected, "cpus": state.cpus,
            })
        })
        .collect();
    let resident: Vec<Value> = run.resident.iter().map(|r| json!({ "event": r.event, "share": r.share })).collect();
    let throttled: Map<String, Value> =
        run.conditions.throttled.iter().map(|(of, n)| ((*of).to_owned(), json!(n))).collect();
    json!({
        "begin_ns": run.span.start.0, "end_ns": run.span.end.0, "elapsed_s": run.elapsed_s(),
        "user_s": run.cpu_s[0], "system_s": run.cpu_s[1], "exit_code": run.code, "interrupted": run.interrupted, "work": run.work,
        "domains": domains.map(|(metered, e)| energy(&metered.domain.name, e, run.work)).collect::<Vec<_>>(),
        "temperature_c": spans(&run.conditions.temperatures), "frequency_mhz": spans(&run.conditions.frequencies),
        "effective_mhz": run.conditions.effective.iter().map(|(cpu, mhz)| json!({ "cpu": cpu, "mhz": mhz })).collect::<Vec<_>>(),
        "throttled": throttled, "idle_requested": idle, "idle_resident": resident, "corewise_cpu_s": run.own_cpu_s,
    })
}

/// Returns everything as one JSON object.
///
/// # Errors
/// It cannot be written as JSON.
pub fn json(outcome: &Outcome, machine: &Machine) -> Result<String, Failure> {
    let sources: Vec<Value> = machine
        .meters
        .domains
        .iter()
        .map(|metered| {
            let (domain, meter) = (&metered.domain, &metered.meter);
            json!({
                "name": domain.name, "part": domain.part.as_str(), "parent": domain.parent, "same_as": domain.same_as,
                "interface": domain.interface.as_str(), "place": domain.place, "duplicates": domain.duplicates,
                "range_uj": domain.range_uj, "limit_w": domain.limit.as_ref().map(|(uw, _)| uw * 1e-6),
                "step": domain.step, "least_change": meter.least_change(),
                "update_s": meter.spec().update_ns.map(|ns| ns as f64 * 1e-9), "missed_updates": metered.missed,
                "wraps": meter.wraps(),
            })
        })
        .collect();
    let summary: Vec<Value> = machine
        .meters
        .domains
        .iter()
        .enumerate()
        .map(|(at, metered)| {
            let of = outcome.summary(at);
            json!({
                "name": metered.domain.name, "joules": median(of.joules), "watts": median(of.watts),
                "joules_per_unit": median(of.per_unit), "uncertain_share": of.uncertain, "why": of.why,
            })
        })
        .collect();
    let battery = outcome.drain.as_ref().map(|drain| {
        json!({
            "name": drain.name, "from": drain.percents.high, "to": drain.percents.low, "complete": drain.is_complete(),
            "changes": drain.changes.iter().map(|(at, percent)| json!({ "at_ns": at.0, "percent": percent })).collect::<Vec<_>>(),
            "seconds_of_a_percent": median(Median::of(&drain.seconds_of_a_percent())), "whole_s": drain.whole_s(),
        })
    });
    let labels: Map<String, Value> = outcome.labels.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
    let condition: Vec<Lack> = machine.condition.lacks.iter().chain(&machine.idle.lacks).cloned().collect();
    let whole = json!({
        "format": "corewise-power", "version": VERSION, "command": outcome.command, "labels": labels,
        "clock": "CLOCK_MONOTONIC", "interval_s": machine.interval.as_secs_f64(), "cpus": machine.cpus,
        "idle_driver": machine.idle.driver, "sources": sources, "lacks": lacks(&machine.lacks), "condition_lacks": lacks(&condition),
        "notes": machine.notes, "doubts": outcome.doubts, "battery": battery,
        "runs": outcome.runs.iter().map(|one| run(one, machine)).collect::<Vec<_>>(),
        "summary": {
            "elapsed_s": median(outcome.median(|run| Some(run.elapsed_s()))),
            "cpu_s": median(outcome.median(|run| Some(run.cpu_s.iter().sum()))),
            "domains": summary,
        },
    });
    let text = serde_json::to_string_pretty(&whole).map_err(|why| Failure::new(format!("cannot write JSON: {why}")))?;
    Ok(text + "\n")
}

/// Returns a row for each run and domain; a machine without one has a row for each run.
pub fn csv(outcome: &Outcome, machine: &Machine) -> String {
    const HEADS: [&str; 16] = [
        "run",
        "elapsed_s",
        "user_s",
        "system_s",
        "exit_code",
        "interrupted",
        "work",
        "domain",
        "part",
        "joules",
        "low",
        "high",
        "watts",
        "known_s",
        "joules_per_unit",
        "why",
    ];
    let [names, values]: [Vec<String>; 2] = [
        outcome.labels.iter().map(|of| of.0.clone()).collect(),
        outcome.labels.iter().map(|of| of.1.clone()).collect(),
    ];
    let mut out = csv_line(HEADS.map(str::to_owned).iter().chain(&names));
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.6}"));
    for (n, run) in (1..).zip(&outcome.runs) {
        let head = || {
            let [elapsed, user, system] = [run.elapsed_s(), run.cpu_s[0], run.cpu_s[1]].map(|s| format!("{s:.6}"));
            [n.to_string(), elapsed, user, system, run.code.to_string(), run.interrupted.to_string(), number(run.work)]
        };
        let mut line = |domain: [String; 2], figures: [Option<f64>; 6], why: String| {
            let cells = head().into_iter().chain(domain).chain(figures.map(number)).chain([why]);
            out += &csv_line(cells.chain(values.iter().cloned()));
        };
        if run.energy.is_empty() {
            line([String::new(), String::new()], [None; 6], "no source of energy".to_owned());
        }
        for (metered, energy) in machine.meters.domains.iter().zip(&run.energy) {
            let domain = &metered.domain;
            let e = energy.as_ref().ok();
            let why = match energy {
                Err(refused) => refused.to_string(),
                Ok(e) => e.unknown.first().map_or_else(String::new, |(_, why)| why.to_string()),
            };
            let figures = [
                e.map(|e| e.joules),
                e.map(|e| e.low),
                e.map(|e| e.high),
                e.map(|e| e.watts),
                e.map(|e| e.known_ns as f64 * 1e-9),
                e.filter(|e| e.unknown.is_empty()).zip(run.work).map(|(e, work)| e.joules / work),
            ];
            line([domain.name.clone(), domain.part.as_str().to_owned()], figures, why);
        }
    }
    out
}
