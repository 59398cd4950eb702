//! Every analysis as a drawing and the resulting table: crates/analysis/cases.

use crate::support::{Analysed, critical, drawn, text};
use model::{Span, Table};
use std::fmt::Write;
use std::path::Path;
use topology::Machine;

/// A case shows the table that its folder is named after.
#[test]
fn cases() {
    for analysis in analysis::ANALYSES {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cases")).join(analysis.table.name);
        assert!(folder.is_dir(), "{}: no case", folder.display());
        testkit::cases::run(&folder, |block| print(&table(block, analysis.table.name)));
    }
}

/// The tables of the critical path; a line `thread A` sets the thread at its end.
#[test]
fn critical_cases() {
    for (at, def) in [model::tables::CRITICAL_PATH, model::tables::CRITICAL_BY_THREAD, model::tables::OBJECTIVE_TIME]
        .iter()
        .enumerate()
    {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cases")).join(def.name);
        testkit::cases::run(&folder, |block| {
            let (thread, drawing): (Vec<&str>, Vec<&str>) = block.lines().partition(|l| l.starts_with("thread "));
            let ends = thread.first().map(|l| testkit::tid(l.chars().nth("thread ".len()).unwrap()));
            print(&critical(&analysed(&drawing.join("\n")), ends).unwrap()[at])
        });
    }
}

/// Returns a table for the drawing of a block.
fn table(block: &str, name: &str) -> Table {
    analysed(block).tables.remove(name).unwrap()
}

/// Analyses the drawing of a block; a line `range FROM TO` (ms) selects a part, a line `gain TYPE GAIN` is a measured gain of a core type,
/// and a line `states NAME=US …` describes the idle states of the drawn CPUs with their target residencies.
fn analysed(block: &str) -> Analysed {
    let (gain, block): (Vec<&str>, Vec<&str>) = block.lines().partition(|l| l.starts_with("gain "));
    let (states, block): (Vec<&str>, Vec<&str>) = block.into_iter().partition(|l| l.starts_with("states "));
    let (range, drawing): (Vec<&str>, Vec<&str>) = block.into_iter().partition(|l| l.starts_with("range "));
    let ms: Vec<i64> = range.iter().flat_map(|l| l.split(' ').skip(1)).map(|w| w.parse().unwrap()).collect();
    let drawing = drawing.join("\n");
    let part = |whole| match ms[..] {
        [from, to] => Span::new(testkit::ms(from), testkit::ms(to)),
        _ => whole,
    };
    let mut machine = machine(&drawing);
    let states = states.iter().flat_map(|line| line.split(' ').skip(1)).map(|word| word.split_once('=').unwrap());
    let state = |(name, us): (&str, &str)| topology::IdleState {
        name: name.to_owned(),
        target_residency_us: Some(us.parse().unwrap()),
        ..topology::IdleState::default()
    };
    let states: Vec<topology::IdleState> = states.map(state).collect();
    machine.cpus.iter_mut().for_each(|cpu| cpu.idle_states.clone_from(&states));
    machine.costs = (!gain.is_empty()).then(|| measured(&gain));
    drawn(&drawing, machine, part)
}

/// Costs with a gain for each core type.
fn measured(lines: &[&str]) -> topology::Costs {
    let mut text = "[[cpus]]\nids = \"0\"\n[measured]\nat = \"2026-11-26T16:00:00Z\"\ncorewise = \"0\"\n".to_owned();
    for line in lines {
        let [_, of, gain] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let estimate = format!("{{ value = {gain}, low = {gain}, high = {gain} }}");
        let _ = writeln!(
            text,
            "[[costs]]\nprobe = \"smt\"\nfigure = \"gain\"\nunit = \"ratio\"\nrepetitions = 9\nestimate = {estimate}"
        );
        let _ = writeln!(text, "cpus = [0]\ncore_types = [\"{of}\"]");
    }
    Machine::from_user(&text).unwrap().costs.unwrap()
}

/// The machine that is drawn next to the CPUs, if any.
fn machine(drawing: &str) -> Machine {
    let is_core = |word: &str| word.starts_with(char::is_alphabetic) && word.ends_with(|c: char| c.is_ascii_digit());
    let has_core = |line: &str| line.starts_with("cpu") && line.split_whitespace().nth(1).is_some_and(is_core);
    if drawing.lines().any(has_core) { testkit::machine(drawing) } else { Machine::default() }
}

/// Prints a table as text: its name, its columns, its rows.
fn print(table: &Table) -> String {
    let cells: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(text).collect()).collect();
    let wide = |at: usize| {
        let longest = cells.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        longest.max(table.def.cols[at].name.len())
    };
    let line = |row: Vec<&str>| {
        let cells: Vec<String> = row.iter().enumerate().map(|(at, v)| format!("{v:>w$}", w = wide(at))).collect();
        cells.join("  ")
    };
    let mut out = format!("{}\n", table.def.name);
    let _ = writeln!(out, "{}", line(table.def.cols.iter().map(|c| c.name).collect()));
    for row in &cells {
        let _ = writeln!(out, "{}", line(row.iter().map(String::as_str).collect()));
    }
    out
}
