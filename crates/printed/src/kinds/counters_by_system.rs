//! Metrics of several systems, one per column.

use crate::limits::within_turbo;
use crate::{CheckContext, Head, Kind, Measured, Sheet, StatementSink};

/// See [`Kind::doc`].
pub(crate) struct CountersBySystem;

impl Kind for CountersBySystem {
    fn id(&self) -> &'static str {
        "counters_by_system"
    }

    fn doc(&self) -> &'static str {
        "metrics of several systems: metric, unit, and a column per system; frequencies are those with the unit ghz"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["metric", "unit"])
    }

    fn measured(&self, sheet: &Sheet) -> Option<Vec<Measured>> {
        let run = |system: &str| {
            let mut out = Measured::of(system);
            for row in 0..sheet.len() {
                let value = sheet.figure_alone(row, system).map(|f| f.value);
                let (id, factor) = match (sheet.text(row, "metric"), sheet.text(row, "unit")) {
                    ("cpu_operating_frequency", "ghz") => ("frequency", 1e6),
                    (metric, "ghz") => (metric, 1e6),
                    (metric, "pct") => (metric, 0.01),
                    (metric, _) => (metric, 1.0),
                };
                out.set(id, value.map(|value| value * factor));
            }
            out
        };
        Some(sheet.head.names().filter(|name| !["metric", "unit"].contains(name)).map(run).collect())
    }

    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        for row in sheet.rows_where("unit", "ghz") {
            for system in sheet.head.names().filter(|name| !["metric", "unit"].contains(name)) {
                if let Some(ghz) = sheet.figure_alone(row, system) {
                    within_turbo(ctx, out, &format!("{system} {}", sheet.text(row, "metric")), ghz);
                }
            }
        }
    }
}
