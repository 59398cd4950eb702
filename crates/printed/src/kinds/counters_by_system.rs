//! Metrics of several systems, one a column.

use crate::limits::within_turbo;
use crate::{Given, Head, Kind, Sheet, Told};

/// See [`Kind::doc`].
pub(crate) struct CountersBySystem;

impl Kind for CountersBySystem {
    fn id(&self) -> &'static str {
        "counters_by_system"
    }

    fn doc(&self) -> &'static str {
        "metrics of several systems: metric, unit, and a column for each system; frequencies are those with the unit ghz"
    }

    fn knows(&self, head: &Head) -> bool {
        head.has(&["metric", "unit"])
    }

    fn check(&self, sheet: &Sheet, given: &Given<'_>, told: &mut Told<'_>) {
        for row in sheet.rows_where("unit", "ghz") {
            for system in sheet.head.names().filter(|name| !["metric", "unit"].contains(name)) {
                if let Some(ghz) = sheet.figure_alone(row, system) {
                    within_turbo(given, told, &format!("{system} {}", sheet.text(row, "metric")), ghz);
                }
            }
        }
    }
}
