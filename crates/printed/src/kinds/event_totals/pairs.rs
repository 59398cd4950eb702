//! Two runs: the ratio of each value, and what explains a difference in time.

use super::totals::run_named;
use crate::{CheckContext, Measured, Pair, Rule, StatementSink};

const RATIO: Rule =
    Rule { id: "run_ratio", unit: "ratio", formula: "the value of a run / that of the run it is compared with" };
const CHANGE: Rule = Rule {
    id: "run_change",
    unit: "%",
    formula: "the value of a run as a change from that of the run it is compared with: 30 % more is 23 % less the other way round",
};
const FACTOR: Rule = Rule {
    id: "time_factor",
    unit: "ratio",
    formula: "elapsed time = instructions × cycles per instruction / mean frequency / CPUs in use: by what each of them multiplies the time. \
              Their product is the ratio of the times",
};
const BY_PREEMPTION: Rule = Rule {
    id: "preempted_share_of_added_time",
    unit: "%",
    formula: "added preempted time / (added CPU time + added preempted time) of the slower run: what the scheduler can explain directly",
};

/// Values of which the change is shown in percent too.
const CHANGES: &[&str] = &[
    "elapsed",
    "cpu_ns",
    "instructions",
    "energy.core",
    "energy.gpu",
    "energy.package",
    "power.core",
    "power.package",
];

/// The factors of the elapsed time: name, id of the value, and whether time is proportional to it, or inversely so.
const FACTORS: &[(&str, &str, bool)] = &[
    ("instructions", "instructions", true),
    ("cycles per instruction", "cpi", true),
    ("frequency", "frequency", false),
    ("CPUs in use", "cpus_in_use", false),
];

/// Compares the runs of a table with those that the user named.
pub(super) fn compare(runs: &[Measured], ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
    for pair in &ctx.request.compare {
        let over = runs.iter().find(|run| run.run == pair.over);
        if let Some((over, under)) = over.zip(run_named(ctx, &pair.under)) {
            against(over, &under, pair, out);
        }
    }
}

fn against(over: &Measured, under: &Measured, pair: &Pair, out: &mut StatementSink<'_>) {
    let name = format!("{}/{}", pair.over, pair.under);
    let both = |id: &str| over.get(id).zip(under.get(id));
    for id in over.values.keys() {
        if let Some((over, under)) = both(id) {
            out.value(&RATIO, format!("{name} {id}"), over / under);
        }
    }
    for id in CHANGES {
        if let Some((over, under)) = both(id) {
            out.value(&CHANGE, format!("{name} {id}"), 100.0 * (over / under - 1.0));
        }
    }
    let mut with_cpus = [over.clone(), under.clone()];
    for run in &mut with_cpus {
        run.ratio("cpus_in_use", "cpu_ns", "elapsed", 1.0);
    }
    let [over, under] = with_cpus;
    for (factor, id, is_proportional) in FACTORS {
        if let Some((over, under)) = over.get(id).zip(under.get(id)) {
            let ratio = if *is_proportional { over / under } else { under / over };
            out.value(&FACTOR, format!("{name} {factor}"), ratio);
        }
    }
    let added = |id: &str| Some(over.get(id)? - under.get(id)?);
    if let (Some(time), Some(cpu), Some(preempted)) = (added("elapsed"), added("cpu_ns"), added("preempted_ns"))
        && time > 0.0
        && cpu + preempted > 0.0
    {
        out.value(&BY_PREEMPTION, name, 100.0 * preempted / (cpu + preempted));
    }
}
