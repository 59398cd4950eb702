//! Nodes of the top-down tree with the share of the time for which their events counted, as toplev prints them (`MUX`).

use crate::running::refused;
use crate::{CheckContext, Figure, Head, Kind, Sheet, StatementSink};

/// See [`Kind::doc`].
pub(crate) struct ToplevNodes;

impl Kind for ToplevNodes {
    fn id(&self) -> &'static str {
        "toplev_nodes"
    }

    fn doc(&self) -> &'static str {
        "nodes of the top-down tree of one or several runs, as printed by toplev: node, unit, value, mux_running_pct, and workload and mode"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["node", "unit", "value", "mux_running_pct"])
    }

    fn check(&self, sheet: &Sheet, _: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        for (workload, rows) in sheet.groups("workload") {
            let mut least: Vec<(&str, Figure)> = Vec::new();
            for row in rows {
                let Some(share) = sheet.figure_alone(row, "mux_running_pct") else { continue };
                let mode = sheet.text(row, "mode");
                match least.iter_mut().find(|(of, _)| *of == mode) {
                    Some((_, least)) if least.value <= share.value => {}
                    Some((_, least)) => *least = share,
                    None => least.push((mode, share)),
                }
            }
            for (mode, share) in least {
                let of = [workload, mode].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
                refused(out, if of.is_empty() { &sheet.name } else { &of }, share);
            }
        }
    }
}
