//! Measures one probe and prints its figures: `cargo run -p corewise-bench --example measure -- PROBE SECONDS [ADDED_NS [MACHINE]]`; 0 adds nothing.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use bench::{Options, Setup, measure, probe};
use std::time::Duration;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap();
    let budget = Duration::from_secs(arguments.next().unwrap().parse().unwrap());
    let added_ns = arguments.next().map(|text| text.parse().unwrap()).filter(|ns| *ns > 0.0);
    let machine =
        arguments.next().map(|path| topology::Machine::from_user(&std::fs::read_to_string(path).unwrap()).unwrap());
    let mut setup = Setup::of(machine.unwrap_or_else(topology::live), None, true, 1).unwrap();
    setup.added_ns = added_ns;
    let plan = probe(&name).unwrap().plan(&setup).unwrap();
    let options = Options { precision: 0.01, budget };
    let done = measure(&name, plan, &setup, &options, None, &|| false, &mut |_| {});
    for cost in &done.costs {
        let estimate = cost.estimate;
        println!(
            "{:12} {:14} {:?} {:?} {:.3} [{:.3}, {:.3}] next {:.3?} n {} d {} m {} control {:.3?} {}",
            cost.figure,
            cost.pair.map_or("", |class| class.as_str()),
            cost.cpus.iter().map(|cpu| cpu.0).collect::<Vec<_>>(),
            cost.parameters,
            estimate.value,
            estimate.low,
            estimate.high,
            cost.next,
            cost.repetitions,
            cost.disturbed,
            cost.misplaced,
            cost.control.map(|of| [of.value, of.low, of.high]),
            cost.precise
        );
    }
    println!(
        "{:#?} {:#?} disturbed {:.3} recording {:?}",
        done.lacks, done.notes, done.disturbed_share, done.recording_ratio
    );
}
