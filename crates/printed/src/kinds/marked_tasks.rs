//! Marked tasks and frames: duration, CPU time and instructions.

use crate::limits::within_turbo;
use crate::{CheckContext, Head, Kind, Rule, Sheet, StatementSink};

const OFF_CPU: Rule = Rule { id: "task_off_cpu", unit: "s", formula: "task time − CPU time: ready or blocked" };
const CLOCK: Rule =
    Rule { id: "task_clock", unit: "GHz", formula: "clocks per instruction × instructions / CPU time" };

/// See [`Kind::doc`].
pub(crate) struct MarkedTasks;

impl Kind for MarkedTasks {
    fn id(&self) -> &'static str {
        "marked_tasks"
    }

    fn doc(&self) -> &'static str {
        "marked tasks and frames: name, cpu_s, instructions, cpi, task_s"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["name", "cpu_s", "instructions", "cpi", "task_s"])
    }

    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        for row in 0..sheet.len() {
            let of = sheet.text(row, "name");
            let (cpu, task) = (sheet.figure(row, "cpu_s"), sheet.figure(row, "task_s"));
            if let (Some(cpu), Some(task)) = (cpu, task) {
                out.value(&OFF_CPU, of, (task - cpu).value);
            }
            if let (Some(cpu), Some(cpi), Some(instructions)) =
                (cpu, sheet.figure(row, "cpi"), sheet.count(row, "instructions"))
            {
                let clock = (cpi * instructions / cpu).scaled(1e-9);
                out.value(&CLOCK, of, clock.value);
                if ctx.has_limit() {
                    within_turbo(ctx, out, of, clock);
                }
            }
        }
    }
}
