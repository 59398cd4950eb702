//! Reads questions as JSON, one a line, and writes the answers as JSON, one a line: what `acceptance/compare/rank_statistics.py` compares with scipy.
//!
//! | question | answer |
//! | --- | --- |
//! | `{"a": […], "b": […], "paired": false, "scale": "ratio"}` | the effect of runs, with `runs_more` and `at_most` for `margin` (0.01 if not given) |
//! | `{"a": […], "b": […], "statistic": "mean", "scale": "ratio"}` | the effect of series; `statistic` is `mean`, `median` or a quantile (0.99) |
//! | `{"p": […]}` | q-values |
//! | `{"values": […], "q": 0.5}` | a quantile |
//! | `{"series": […]}` | a block length |

use serde_json::{Value, json};
use stats::{Scale, Statistic, at_most, block_length, false_discovery, of_runs, of_series, quantile, runs_needed};
use std::io::{self, BufRead, BufWriter, Write};

fn main() -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        writeln!(out, "{}", answer(&serde_json::from_str(&line?)?))?;
    }
    out.flush()
}

/// The answer; null if there is none.
fn answer(question: &Value) -> Value {
    let numbers = |name: &str| -> Vec<f64> {
        question[name].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    if question["p"].is_array() {
        return json!(false_discovery(&numbers("p")));
    }
    if question["values"].is_array() {
        return json!(question["q"].as_f64().and_then(|q| quantile(&numbers("values"), q)));
    }
    if question["series"].is_array() {
        return json!(block_length(&numbers("series")));
    }
    let (a, b) = (numbers("a"), numbers("b"));
    let scale = if question["scale"] == "difference" { Scale::Difference } else { Scale::Ratio };
    let statistic = match &question["statistic"] {
        Value::Null => {
            let (paired, margin) = (question["paired"] == true, question["margin"].as_f64().unwrap_or(0.01));
            let Some(effect) = of_runs(&a, &b, paired, scale) else { return Value::Null };
            let mut answer = json!(effect);
            answer["runs_more"] = json!(runs_needed(&effect, &a, &b, paired, margin));
            answer["at_most"] = json!(at_most(&effect));
            return answer;
        }
        Value::String(name) if name == "mean" => Statistic::Mean,
        Value::String(_) => Statistic::Median,
        quantile => Statistic::Quantile(quantile.as_f64().unwrap_or(0.5)),
    };
    json!(of_series(&a, &b, statistic, scale))
}
