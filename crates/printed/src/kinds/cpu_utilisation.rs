//! The shares of time that CPUs were busy in the kernel, busy in programs, and idle.

use crate::figure::mean;
use crate::{CheckContext, Figure, Head, Kind, Rule, Sheet, StatementSink};

const MEAN_IS_TOTAL: Rule =
    Rule { id: "cpu_mean_is_total", unit: "%", formula: "the mean over the CPUs equals the row of totals" };
const TO_WHOLE: Rule = Rule {
    id: "busy_and_idle_within_whole",
    unit: "%",
    formula: "busy and idle exclude each other: together at most 100 %",
};
const NODE_BY_NUMBER: Rule = Rule {
    id: "node_not_cpu_modulo_nodes",
    unit: "count",
    formula: "CPUs whose NUMA node is not their number modulo the number of nodes, as with alternating numbering by firmware",
};
const FULLY_BUSY: Rule = Rule {
    id: "fully_busy",
    unit: "%",
    formula: "the work of two runs shows their capacity only if the CPUs were busy throughout in both; otherwise compare the work \
              per second at equal load",
};

const SHARES: [&str; 4] = ["total_busy_pct", "sys_pct", "usr_pct", "idle_pct"];

/// Tools may miss half a percent of a fully busy machine.
const TOLERANCE: f64 = 0.5;

/// If a run is compared with another, its CPUs must have been busy throughout.
pub(crate) fn fully_busy(ctx: &CheckContext<'_>, out: &mut StatementSink<'_>, run: &str, busy: Figure) {
    let pairs = ctx.request.compare.iter().chain(&ctx.request.smt);
    if pairs.into_iter().any(|p| p.over == run || p.under == run) {
        out.within(&FULLY_BUSY, run, busy.value, 100.0, TOLERANCE);
    }
}

/// See [`Kind::doc`].
pub(crate) struct CpuUtilisation;

impl Kind for CpuUtilisation {
    fn id(&self) -> &'static str {
        "cpu_utilisation"
    }

    fn doc(&self) -> &'static str {
        "CPUs and their total, of one run or several: row (cpu, total), total_busy_pct, sys_pct, usr_pct, idle_pct, and run, cpu, \
         numa_node"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["row"]) && head.has(&SHARES)
    }

    fn runs(&self, sheet: &Sheet, _: &CheckContext<'_>) -> Vec<String> {
        let runs = sheet.groups("run").into_iter();
        runs.map(|(run, _)| if run.is_empty() { sheet.name.clone() } else { run.to_owned() }).collect()
    }

    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        for (run, rows) in sheet.groups("run") {
            let run = if run.is_empty() { sheet.name.as_str() } else { run };
            let of = |kind: &'static str| rows.iter().copied().filter(move |r| sheet.text(*r, "row") == kind);
            for row in rows.iter().copied() {
                if let (Some(busy), Some(idle)) = (sheet.figure(row, SHARES[0]), sheet.figure(row, SHARES[3])) {
                    let of = format!("{run} {}{}", sheet.text(row, "row"), sheet.text(row, "cpu"));
                    out.at_most(&TO_WHOLE, of, Figure::exact(100.0), busy + idle);
                }
            }
            for total in of("total") {
                for col in SHARES {
                    let parts: Option<Vec<Figure>> = of("cpu").map(|row| sheet.figure(row, col)).collect();
                    match (parts.as_deref().and_then(mean), sheet.figure(total, col)) {
                        (Some(mean), Some(total)) => out.equal(&MEAN_IS_TOTAL, format!("{run} {col}"), mean, total),
                        _ => out.not_evaluated(
                            &MEAN_IS_TOTAL,
                            format!("{run} {col}"),
                            "a share is not a number, or no CPU is listed",
                        ),
                    }
                }
                if let Some(busy) = sheet.figure(total, SHARES[0]) {
                    fully_busy(ctx, out, run, busy);
                }
            }
            let number = |row, col| sheet.text(row, col).parse::<u32>().ok();
            let nodes: Vec<_> = of("cpu").filter_map(|r| Some((number(r, "cpu")?, number(r, "numa_node")?))).collect();
            let count = nodes.iter().map(|(_, node)| node.saturating_add(1)).max().unwrap_or(0);
            if count > 1 {
                let apart = nodes.iter().filter(|(cpu, node)| cpu % count != *node).count();
                out.value(&NODE_BY_NUMBER, run, apart as f64);
            }
        }
    }
}
