//! Processes, threads, and threads on one CPU, as a tree of rows.

use crate::{Figure, Given, Head, Kind, Rule, Sheet, Told};

const PART_OF_THREAD: Rule = Rule {
    id: "cpus_part_of_thread",
    unit: "ms",
    formula: "what a thread ran on the CPUs that are listed is at most what it ran",
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

    fn knows(&self, head: &Head) -> bool {
        head.has(&["level", "pid_or_tid", "cpu"]) && head.times(CPU).is_some()
    }

    fn check(&self, sheet: &Sheet, _: &Given<'_>, told: &mut Told<'_>) {
        for row in sheet.rows_where("level", "thread") {
            let tid = sheet.text(row, "pid_or_tid");
            let of_it = sheet.rows_where("level", "thread_cpu").filter(|r| sheet.text(*r, "pid_or_tid") == tid);
            let parts: Vec<Figure> = of_it.filter_map(|r| sheet.ms(r, CPU)).collect();
            if let (false, Some(whole)) = (parts.is_empty(), sheet.ms(row, CPU)) {
                told.at_most(&PART_OF_THREAD, tid, whole, parts.into_iter().sum());
            }
        }
    }
}

/// The rows of a thread's totals, in all tables of this kind.
pub(crate) fn totals_of<'a>(given: &Given<'a>, tid: &'a str) -> impl Iterator<Item = (&'a Sheet, usize)> {
    given.of_kind("thread_totals").flat_map(move |sheet| {
        let threads = sheet.rows_where("level", "thread");
        threads.filter(move |row| sheet.text(*row, "pid_or_tid") == tid).map(move |row| (sheet, row))
    })
}
