//! If the kernel provides capacities, the cost of a slower core is derived from them. The drawn machines of the cases have none.

use crate::support;
use diagnose::{Finding, Options};
use engine::{PassOptions, Session};
use model::Ns;

/// The only finding of a rule on a machine whose CPU 0 has the capacity 1024 and CPU 1 half of it.
fn found(rule: &str, drawn: &str) -> Finding {
    let mut machine = testkit::machine(drawn);
    machine.cpus.iter_mut().zip([1024, 512]).for_each(|(cpu, capacity)| cpu.capacity = Some(capacity));
    let options = PassOptions { machine: Some(machine), ..PassOptions::default() };
    let session = Session::of_source(support::source_of(testkit::trace(drawn).batch), options).unwrap();
    let options = Options { only: vec![rule.to_owned()], ..Options::default() };
    let mut diagnosis = diagnose::diagnose(&session, &options).unwrap();
    assert_eq!(diagnosis.findings.len(), 1, "{diagnosis:#?}");
    diagnosis.findings.remove(0)
}

/// Of 4 ms at half the speed, 2 ms are saved; the range is that of the threads for which the core type matters least and most.
#[test]
fn half_the_capacity_costs_half_the_time() {
    let alone = "cpu0 P0  B . . . .
                 cpu1 E1  . A A A A
                 waking   . A@1 . . .";
    let rules = [
        ("critical-thread-on-efficient-core", format!("{alone}\nallowed A=0-1,B=0-1 . . . .")),
        ("pinned-away-from-idle-faster-core", format!("{alone}\nallowed A=1,B=0-1 . . . .")),
        (
            "high-priority-woke-to-efficient-core-behind-low",
            "cpu0 P0  B B B B B B
             cpu1 E1  . w A A A A
             prio     B=139 . . . . .
             allowed  A=0-1,B=0-1 . . . . ."
                .to_owned(),
        ),
    ];
    for (rule, drawn) in rules {
        let finding = found(rule, &drawn);
        assert_eq!((finding.recoverable_ns, finding.range_ns[1]), (Ns(2_000_000), Ns(2_720_000)), "{rule}");
        assert!(finding.assumptions[0].contains("the kernel's capacities (the range"), "{:?}", finding.assumptions);
    }
}
