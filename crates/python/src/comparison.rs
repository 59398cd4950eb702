//! Comparisons of runs.

use crate::errors::error;
use crate::trace::options;
use crate::work::wait;
use compare::{CompareOptions, MeasureOptions};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Compares runs of two sides. Returns the comparison as JSON, as text and as a page.
///
/// # Errors
/// Nothing can be compared.
#[pyfunction]
#[pyo3(name = "compare", signature = (a, b, objective=None, process=None, paired=None, across=false, machine=None, width=100))]
#[allow(clippy::too_many_arguments)] // keyword arguments in Python
pub fn compare_runs(
    py: Python<'_>,
    a: Vec<PathBuf>,
    b: Vec<PathBuf>,
    objective: Option<String>,
    process: Option<String>,
    paired: Option<bool>,
    across: bool,
    machine: Option<PathBuf>,
    width: usize,
) -> PyResult<(String, String, String)> {
    let pass = options(machine.as_deref(), false, false, false)?;
    if paired == Some(true) && a.len() != b.len() {
        return Err(error(format!("paired runs: A has {} and B has {}", a.len(), b.len())));
    }
    // As on the command line: what `diagnose` takes also selects the critical path; any other objective is a metric.
    let target = objective.as_deref().and_then(|of| of.parse().ok());
    let objective = objective.filter(|_| target.is_none());
    let work = move || {
        let measured = MeasureOptions { target, process, ..MeasureOptions::default() };
        let mut sides = compare::measure([&a, &b], &pass, &measured, paired == Some(true), &|_| {})
            .map_err(|why| why.to_string())?;
        let found_pairs = paired.is_none() && compare::pair_in_turn(&mut sides.runs);
        let options = CompareOptions {
            objective,
            across,
            paired: found_pairs || paired == Some(true),
            ..CompareOptions::default()
        };
        let mut found = compare::compare([&sides.runs[0], &sides.runs[1]], &options).map_err(|why| why.to_string())?;
        if found_pairs {
            found.methods.insert(0, compare::FOUND_PAIRS.to_owned());
        }
        found.cautions.splice(0..0, sides.left_out);
        let json = compare::json(&found).map_err(|why| why.to_string())?;
        Ok((json, compare::text(&found, width), compare::html(&found, None)))
    };
    wait(py, &Arc::new(AtomicBool::new(false)), work, || Ok(()))
}
