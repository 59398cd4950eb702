//! Metrics of several systems, one per column.

use crate::limits::within_turbo;
use crate::{CheckContext, Head, Kind, Sheet, StatementSink};

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
