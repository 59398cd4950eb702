//! Processes, threads, and threads on one CPU, as a tree of rows.

use crate::{CheckContext, Figure, Head, Kind, Rule, Sheet, StatementSink};
use std::collections::HashMap;

const PART_OF_THREAD: Rule = Rule {
    id: "cpus_part_of_thread",
    unit: "ms",
    formula: "a thread's running time on the listed CPUs is at most its total running time",
};

/// See [`Kind::doc`].
pub(crate) struct ThreadTotals;

pub(crate) const CPU: &[&str] = &["cpu"];

impl Kind for ThreadTotals {
    fn id(&self) -> &'static str {
        "thread_totals"
    }

    fn doc(&self) -> &'static str {
        "processes, threads and threads on a CPU: level, pid_or_tid, cpu, cpu_ms, and switches, ready and wait"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["level", "pid_or_tid", "cpu"]) && head.times(CPU).is_some()
    }

    fn check(&self, sheet: &Sheet, _: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        let mut parts = HashMap::<&str, Vec<Figure>>::new();
        for row in sheet.rows_where("level", "thread_cpu") {
            if let Some(ran) = sheet.ms(row, CPU) {
                parts.entry(sheet.text(row, "pid_or_tid")).or_default().push(ran);
            }
        }
        for row in sheet.rows_where("level", "thread") {
            let tid = sheet.text(row, "pid_or_tid");
            if let (Some(parts), Some(whole)) = (parts.get(tid), sheet.ms(row, CPU)) {
                out.at_most(&PART_OF_THREAD, tid, whole, parts.iter().copied().sum());
            }
        }
    }
}

/// The rows of thread totals in all tables of this kind.
pub(crate) struct Totals<'a>(HashMap<&'a str, Vec<(&'a Sheet, usize)>>);

impl<'a> Totals<'a> {
    pub(crate) fn new(ctx: &CheckContext<'a>) -> Self {
        let mut rows = HashMap::<&str, Vec<_>>::new();
        for sheet in ctx.of_kind("thread_totals") {
            for row in sheet.rows_where("level", "thread") {
                rows.entry(sheet.text(row, "pid_or_tid")).or_default().push((sheet, row));
            }
        }
        Self(rows)
    }

    /// The rows of a thread.
    pub(crate) fn of(&self, tid: &str) -> impl Iterator<Item = (&'a Sheet, usize)> {
        self.0.get(tid).into_iter().flatten().copied()
    }
}
