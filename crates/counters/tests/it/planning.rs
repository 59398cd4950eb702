//! Which events are counted at the same time.

use crate::support::*;
use counters::{Attr, Pmu};

/// Draws a plan: a line for each PMU, sets apart by bars.
fn sets(text: &str, counters: impl Fn(&Pmu) -> usize) -> String {
    let machine = alder_lake().read();
    match planned(text, &machine, counters) {
        Err(why) => why.to_string(),
        Ok(plan) => {
            let name = |at: &usize| plan.events[*at].event.to_string();
            let joined = |of: &[usize]| of.iter().map(name).collect::<Vec<_>>().join(" ");
            let of_core = |core: &counters::CorePlan| {
                let sets: Vec<String> = core.sets.iter().map(|set| joined(set)).collect();
                let absent: Vec<usize> = core.absent.iter().map(|(at, _)| *at).collect();
                let absent =
                    if absent.is_empty() { String::new() } else { format!(" (not on that type: {})", joined(&absent)) };
                format!("{}: {}{absent}\n", core.pmu, sets.join(" | "))
            };
            let cores: String = plan.cores.iter().map(of_core).collect();
            format!("{cores}everywhere: {}", joined(&plan.everywhere))
        }
    }
}

#[test]
fn groups_in_braces_are_sets_and_stay_whole() {
    assert_eq!(
        sets("cycles,{instructions,branches,branch-misses},slots,page-faults,msr/tsc/", |_| 3),
        "cpu_core: cycles | instructions branches branch-misses | slots\n\
         cpu_atom: cycles | instructions branches branch-misses (not on that type: slots)\n\
         everywhere: page-faults msr/tsc/"
    );
}

#[test]
fn a_group_that_is_too_large_says_how_many_fit_on_each_type() {
    assert_eq!(
        sets("cycles,{instructions,branches,branch-misses,bus-cycles}", |pmu| if pmu.name == "cpu_core" {
            3
        } else {
            2
        }),
        "character 9: the group {instructions,branches,branch-misses,bus-cycles} is too large: 3 of its 4 events fit on cpu_core \
         (performance, CPU 0-15), 2 of its 4 events fit on cpu_atom (efficient, CPU 16-23); write it as several groups, which rotate"
    );
}

#[test]
fn what_the_kernel_refuses_alone_is_in_no_set() {
    let machine = alder_lake().read();
    let groups = counters::parse("{cycles,bus-cycles},page-faults,msr/tsc/u").unwrap();
    let plan = counters::plan(&groups, &machine, &mut |pmu, set| {
        let refused = |attr: &Attr| match pmu {
            Some(pmu) => pmu.name == "cpu_atom" && attr.without_pmu().config == 6,
            None => attr.kind == 9,
        };
        !set.iter().any(refused)
    })
    .unwrap();
    let of: Vec<_> = plan.cores.iter().map(|core| (core.sets.clone(), core.refused.clone())).collect();
    assert_eq!(of, [(vec![vec![0, 1]], vec![]), (vec![vec![0]], vec![1])]);
    assert_eq!((plan.everywhere, plan.refused), (vec![2], vec![3]));
}
