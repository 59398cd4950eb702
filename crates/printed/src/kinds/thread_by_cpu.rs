//! Threads by logical processor.

use super::thread_totals::{CPU, Totals};
use crate::sheet::Times;
use crate::{CheckContext, Figure, Head, Kind, Rule, Sheet, StatementSink};
use std::collections::BTreeMap;

const SUM_CPU: Rule =
    Rule { id: "cpus_sum_running", unit: "ms", formula: "a thread's times on all CPUs sum to its CPU time" };
const SUM_WAIT: Rule = Rule {
    id: "cpus_sum_wait",
    unit: "ms",
    formula: "a thread's waits, by the CPU on which it ran next, sum to its wait",
};
const SUM_SWITCHES: Rule =
    Rule { id: "cpus_sum_switches", unit: "count", formula: "a thread's switches on all CPUs sum to its switches" };
const MAX_READY: Rule =
    Rule { id: "cpus_max_ready", unit: "ms", formula: "the longest ready time on any CPU is the thread's longest" };
const ON_TYPE: Rule =
    Rule { id: "running_on_type", unit: "ms", formula: "a thread's running time on the CPUs of one core type" };
const TYPE_SHARE: Rule =
    Rule { id: "share_on_type", unit: "%", formula: "a thread's running time on one core type / all its running time" };

const WAIT: Times = &["wait"];
const LONGEST_READY: Times = &["max ready"];

/// See [`Kind::doc`].
pub(crate) struct ThreadByCpu;

impl Kind for ThreadByCpu {
    fn id(&self) -> &'static str {
        "thread_by_cpu"
    }

    fn doc(&self) -> &'static str {
        "threads by CPU: tid, cpu, cpu_ms, and core_type, switches, max_ready_us, wait_us if known"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["tid", "cpu"]) && head.times(CPU).is_some()
    }

    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        let totals = Totals::new(ctx);
        for (tid, rows) in sheet.groups("tid") {
            let times = |of: Times| rows.iter().map(|r| sheet.ms(*r, of)).collect::<Option<Vec<Figure>>>();
            let Some(running) = times(CPU) else {
                out.not_evaluated(&SUM_CPU, tid, "a time is not a number");
                continue;
            };
            let all: Figure = running.iter().copied().sum();
            let waits = times(WAIT).map(|w| w.into_iter().sum::<Figure>());
            let ready = times(LONGEST_READY).and_then(|r| r.into_iter().max_by(|a, b| a.value.total_cmp(&b.value)));
            let switches: Option<Figure> = rows.iter().map(|r| sheet.count(*r, "switches")).sum();
            for (whole, row) in totals.of(tid) {
                let mut compare = |rule, sum: Option<Figure>, printed: Option<Figure>| {
                    if let (Some(sum), Some(printed)) = (sum, printed) {
                        out.equal(rule, tid, sum, printed);
                    }
                };
                compare(&SUM_CPU, Some(all), whole.ms(row, CPU));
                compare(&SUM_WAIT, waits, whole.ms(row, WAIT));
                compare(&MAX_READY, ready, whole.ms(row, LONGEST_READY));
                compare(&SUM_SWITCHES, switches, whole.count(row, "switches"));
            }
            let mut types = BTreeMap::<&str, Figure>::new();
            for (row, ran) in rows.iter().zip(running) {
                let of = types.entry(sheet.text(*row, "core_type")).or_insert(Figure::exact(0.0));
                *of = *of + ran;
            }
            for (core_type, ran) in types.into_iter().filter(|(name, _)| !name.is_empty()) {
                out.value(&ON_TYPE, format!("{tid} {core_type}"), ran.value);
                out.value(&TYPE_SHARE, format!("{tid} {core_type}"), 100.0 * ran.value / all.value);
            }
        }
    }
}
