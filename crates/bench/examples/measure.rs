//! Measures one probe and prints its figures: `cargo run -p corewise-bench --example measure -- PROBE SECONDS [ADDED_NS]`.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use bench::{Options, Setup, measure, probe};
use std::time::Duration;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap();
    let budget = Duration::from_secs(arguments.next().unwrap().parse().unwrap());
    let mut setup = Setup::of(topology::live(), None, true, 1).unwrap();
    setup.added_ns = arguments.next().map(|text| text.parse().unwrap());
    let plan = probe(&name).unwrap().plan(&setup).unwrap();
    let options = Options { precision: 0.01, budget };
    let done = measure(&name, plan, &setup, &options, None, &|| false, &mut |_| {});
    for cost in &done.costs {
        let estimate = cost.estimate;
        println!(
            "{:12} {:14} {:?} {:?} {:.1} [{:.1}, {:.1}] next {:.1?} n {} d {} m {} control {:.1?} {}",
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
