//! Tests machine files with costs: what is written is read again, and what no machine has is refused.

use crate::support;
use model::{CoreType, CpuId};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use testkit::corpus;
use topology::{
    Cost, CostUnit, Costs, Estimate, MAX_FIGURES, Machine, Measured, PairClass, draw, is_machine, machine_file,
    machine_text,
};

const MACHINE: &str = "[[cpus]]\nids = \"0-3\"\n";
const MEASURED: &str = "[measured]\nat = \"2026-11-26T16:00:00Z\"\ncorewise = \"0.1.0\"\n";

/// A figure in a file, with one of its lines replaced.
fn figure(replaced: &str) -> String {
    let key = replaced.split(' ').next().unwrap();
    let lines = [
        "probe = \"switch\"",
        "figure = \"pipe\"",
        "pair = \"same_cpu\"",
        "cpus = [0, 0]",
        "unit = \"ns\"",
        "estimate = { value = 2100, low = 2000.5, high = 2200 }",
        "repetitions = 10",
    ];
    let mut out = String::from("[[costs]]\n");
    for line in lines.iter().filter(|line| line.split(' ').next() != Some(key)).chain([&replaced]) {
        out.push_str(line);
        out.push('\n');
    }
    out
}

fn error(text: &str) -> String {
    Machine::from_user(text).unwrap_err().to_string()
}

#[test]
fn a_machine_file_has_costs() {
    let machine = Machine::from_user(&format!("{MACHINE}{MEASURED}{}", figure("precise = true"))).unwrap();
    let costs = machine.costs.unwrap();
    assert_eq!(costs.measured.day(), "2026-11-26");
    let switch = costs.switch_ns().unwrap();
    assert_eq!((switch.value, switch.low, switch.high), (2100.0, 2000.5, 2200.0));
    assert_eq!(Machine::from_user(MACHINE).unwrap().costs, None);
    let empty = Machine::from_user(&format!("{MACHINE}{MEASURED}")).unwrap().costs.unwrap();
    assert!(empty.figures.is_empty());
}

#[test]
fn errors_name_the_line_and_what_to_do() {
    let with = |line: &str| error(&format!("{MACHINE}{MEASURED}{}", figure(line)));
    for (line, number, why) in [
        ("probe = 1", "line 13", "expected a string"),
        ("unit = \"miles\"", "line 13", "unknown variant"),
        ("estimate = { value = nan, low = 1, high = 2 }", "line 6", "not a finite number"),
        ("estimate = { value = 1, low = -inf, high = 2 }", "line 6", "not a finite number"),
        ("estimate = { value = 1e300, low = 1, high = 1e300 }", "line 6", "at most 1e18"),
        ("estimate = { value = 1, low = 3, high = 2 }", "line 6", "a lower end of 3 above its upper end of 2"),
        ("estimate = { value = 1, low = 3 }", "line 13", "missing field"),
        ("cpus = [7]", "line 6", "CPU 7 is in no `ids`"),
        ("core_types = [\"performance\"]", "line 6", "1 core types for 2 CPUs"),
        ("control = { value = nan, low = nan, high = nan }", "line 6", "the control of switch pipe"),
        ("next = [2, 1]", "line 6", "`next` of switch pipe"),
        ("figure = \"\\u001b[31m\"", "line 6", "control character"),
        ("speed = 1", "line 14", "unknown field"),
        ("repetitions = -1", "line 13", "invalid value"),
    ] {
        let error = with(line);
        assert!(error.starts_with(number) && error.contains(why), "{line}: {error}");
    }
    let rate = "estimate = { value = -1, low = -2, high = 2 }\nunit = \"Hz\"";
    let text = format!("{MACHINE}{MEASURED}{}", figure(rate).replace("unit = \"ns\"\n", ""));
    assert!(error(&text).contains("is negative"), "{}", error(&text));
}

#[test]
fn costs_need_their_time_and_cpus() {
    let unmeasured = error(&format!("{MACHINE}{}", figure("precise = true")));
    assert!(unmeasured.starts_with("line 3: costs without [measured]"), "{unmeasured}");
    let no_cpus = error(&format!("{MEASURED}{}", figure("precise = true")));
    assert!(no_cpus.starts_with("no CPUs: write [[cpus]]"), "{no_cpus}");
    let no_time = error(&format!("{MACHINE}[measured]\nat = \"yesterday\"\ncorewise = \"1\"\n"));
    assert!(no_time.starts_with("line 3: `at` is \"yesterday\": write a time"), "{no_time}");
}

#[test]
fn a_million_figures_are_refused_before_they_are_parsed() {
    let many = format!("{MACHINE}{MEASURED}{}", "[[costs]]\n".repeat(1_000_000));
    assert_eq!(error(&many), "1000000 figures of costs: the maximum is 20000");
    let one = "{ probe = \"p\", figure = \"f\", unit = \"ns\", repetitions = 1, estimate = { value = 1, low = 1, high = 1 } },";
    let in_an_array = format!("costs = [{}]\n{MACHINE}{MEASURED}", one.repeat(MAX_FIGURES + 1));
    assert_eq!(error(&in_an_array), "20001 figures of costs: the maximum is 20000");
}

#[test]
fn json_with_impossible_costs_is_refused() {
    let mut machine = Machine::from_user(&format!("{MACHINE}{MEASURED}{}", figure("precise = true"))).unwrap();
    let json = serde_json::to_string(&machine).unwrap();
    assert_eq!(Machine::from_text(&json).unwrap().costs, machine.costs);
    machine.costs.as_mut().unwrap().figures[0].estimate.low = 9e9;
    let error = Machine::from_text(&serde_json::to_string(&machine).unwrap()).unwrap_err().to_string();
    assert!(error.contains("`costs`: the estimate of switch pipe has a lower end"), "{error}");
}

#[test]
fn the_drawing_says_when_costs_were_measured_and_the_main_ones() {
    let machine = Machine::from_user(&format!("{MACHINE}{MEASURED}{}", figure("precise = true"))).unwrap();
    let drawn = draw(&machine);
    assert!(drawn.contains("costs       measured 2026-11-26 by corewise 0.1.0: 1 figure\n"), "{drawn}");
    assert!(drawn.contains("a switch 2.1 us (2.0 to 2.2)"), "{drawn}");
}

#[test]
fn an_overlay_keeps_the_costs_of_the_one_that_has_them() {
    let with = Machine::from_user(&format!("{MACHINE}{MEASURED}{}", figure("precise = true"))).unwrap();
    let without = Machine::from_user(MACHINE).unwrap();
    assert_eq!(without.clone().overlay(with.clone()).costs, with.costs);
    assert_eq!(with.clone().overlay(without).costs, with.costs);
}

/// What a machine file has of a machine.
fn facts(machine: &Machine) -> impl PartialEq + std::fmt::Debug {
    let cpus = machine.cpus.iter().map(|cpu| {
        let groups = [&cpu.siblings, &cpu.l2, &cpu.l3].map(Clone::clone);
        let numbers = [cpu.package, cpu.die, cpu.cluster, cpu.node, cpu.capacity, cpu.max_khz];
        (cpu.id, groups, numbers, cpu.online, cpu.vendor_type.clone(), machine.core_type(cpu.id))
    });
    let cpus: Vec<_> = cpus.collect();
    let classes: Vec<u32> = machine.class.iter().map(|judged| judged.best.value).collect();
    (
        machine.model_name.clone(),
        machine.arch.clone(),
        cpus,
        classes,
        machine.class_names.clone(),
        machine.costs.clone(),
    )
}

fn check_round_trip(machine: &Machine, of: &Path) {
    let text = machine_text(machine);
    let read = Machine::from_user(&text).unwrap_or_else(|why| panic!("{}: {why}\n{text}", of.display()));
    assert_eq!(facts(&read), facts(machine), "{}\n{text}", of.display());
    assert_eq!(machine_text(&read), text, "{}", of.display());
}

#[test]
fn fixtures_are_written_and_read_again() {
    let all = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures")).unwrap();
    let all: Vec<PathBuf> = all.map(|entry| entry.unwrap().path()).filter(|path| is_machine(path)).collect();
    assert!(all.len() > 10, "{}", all.len());
    for path in all {
        check_round_trip(&machine_file(&path).unwrap(), &path);
    }
}

#[test]
#[ignore = "needs ../shared"]
fn collected_machines_are_written_and_read_again() {
    let folders = ["cpuinfo", "hwloc", "lscpu", "pepc"].map(|name| format!("topology/{name}"));
    let mut left: Vec<PathBuf> = folders.iter().flat_map(|name| corpus::list(name)).collect();
    let mut read = 0;
    while let Some(path) = left.pop() {
        if let Ok(machine) = machine_file(&path) {
            check_round_trip(&machine, &path);
            read += 1;
        } else if path.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    for name in [
        "hwloc/hwloc__20em64t-hybrid-1p6c2t+2ca4co1t.tar.bz2",
        "lscpu/util-linux__arm-A510-A710-A715-X3.tar.gz",
        "lscpu/util-linux__x86_64-epyc_7451.tar.gz",
    ] {
        let path = corpus::path(&format!("topology/{name}"));
        check_round_trip(&support::unpacked(&path).1, &path);
        read += 1;
    }
    assert!(read > 10, "{read}");
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![r#"[a-z_"'\\ #=é\[\]]{0,12}"#, Just(String::new())]
}

fn estimate() -> impl Strategy<Value = Estimate> {
    [-1e18..1e18, -1e3..1e3, 0.0..1e-9].prop_map(|[a, b, c]| {
        let mut all = [a, b, c];
        all.sort_by(f64::total_cmp);
        Estimate { low: all[0], value: all[1], high: all[2] }
    })
}

fn cost() -> impl Strategy<Value = Cost> {
    let units = [CostUnit::Ns, CostUnit::Ratio, CostUnit::Share];
    let types = prop_oneof![Just(CoreType::Performance), Just(CoreType::LowPower), Just(CoreType::Uniform)];
    (
        (text(), text(), option::of(0..PairClass::ALL.len()), vec((0_u32..4, types), 0..4), any::<bool>()),
        (btree_map(text(), text(), 0..4), 0..units.len(), estimate(), option::of(estimate()), option::of(estimate())),
        (any::<u32>(), any::<u32>(), 0_u32..3, any::<bool>()),
    )
        .prop_map(
            move |((probe, figure, pair, cpus, typed), (parameters, unit, estimate, next, control), rest)| {
                let (repetitions, disturbed, misplaced, precise) = rest;
                Cost {
                    probe,
                    figure,
                    pair: pair.map(|at| PairClass::ALL[at]),
                    core_types: if typed { cpus.iter().map(|(_, of)| *of).collect() } else { Vec::new() },
                    cpus: cpus.into_iter().map(|(cpu, _)| CpuId(cpu)).collect(),
                    parameters,
                    unit: units[unit],
                    estimate,
                    systematic: control.map(|of: Estimate| of.high.abs()),
                    next: next.map(|of| [of.low, of.high]),
                    repetitions,
                    disturbed,
                    misplaced,
                    control,
                    precise,
                }
            },
        )
}

proptest! {
    #[test]
    fn all_costs_are_written_and_read_again(
        figures in vec(cost(), 0..6),
        conditions in btree_map(text(), text(), 0..4),
        left_out in vec(text(), 0..3),
    ) {
        let mut machine = Machine::from_user(MACHINE).unwrap();
        let measured = Measured { at: "2026-11-26T16:00:00Z".into(), corewise: "0.1.0".into(), conditions, left_out };
        machine.costs = Some(Costs { measured, figures });
        let read = Machine::from_user(&machine_text(&machine)).unwrap();
        prop_assert_eq!(read.costs, machine.costs);
    }
}
