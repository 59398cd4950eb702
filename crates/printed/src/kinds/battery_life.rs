//! How long a battery lasts with a load, by system, and with the totals of runs: how much work that is.

use super::event_totals::run_named;
use crate::{CheckContext, Figure, Head, Kind, Measured, Rule, Sheet, StatementSink};

const BATTERY_RATIO: Rule = Rule {
    id: "battery_life_ratio",
    unit: "ratio",
    formula: "battery life of a system / of the system it is compared with",
};
const CAPACITY: Rule = Rule {
    id: "implied_capacity",
    unit: "Wh",
    formula: "package power of the run × battery life: the package alone cannot use more than the battery holds, which is at most 100 Wh in \
              a portable computer (more is not allowed on board of aircraft without approval)",
};
const ONE_BATTERY: Rule = Rule {
    id: "one_battery",
    unit: "ratio",
    formula: "package power × battery life of a system / the same of another one is 1, if the battery is the same and the package uses the \
              same share of it; within the step of the charge (1 % of those that the measurement took, on both sides)",
};
const WORK: Rule = Rule {
    id: "runs_per_charge",
    unit: "runs",
    formula: "battery life / elapsed time of a run: how often a charge does the same work",
};
const WORK_RATIO: Rule = Rule {
    id: "work_per_charge_ratio",
    unit: "ratio",
    formula: "the same work per charge of a system / of the system it is compared with",
};
const HOUR_OF_WORK: Rule = Rule {
    id: "hour_of_work_takes",
    unit: "min",
    formula: "60 min × elapsed time of a system / of the system it is compared with: how long the work of one hour takes",
};
const SHORT: Rule = Rule {
    id: "hour_of_work_exceeds_battery_life",
    unit: "min",
    formula: "that time − 60 min × the ratio of the battery lives: by how much the longer battery life is too short for the work",
};

/// Watt-hours: the limit for lithium batteries in the cabin of aircraft (IATA, FAA), which makers of portable computers keep.
const MAX_WH: f64 = 100.0;
/// The charge in percent over which it was measured, if the table does not state it.
const SPAN: f64 = 10.0;

/// See [`Kind::doc`].
pub(crate) struct BatteryLife;

/// A system and the run that was measured on it.
struct System<'a> {
    name: &'a str,
    /// Battery life.
    minutes: Figure,
    /// How far they may be wrong by the step of the charge, as a share.
    step: f64,
    run: Option<Measured>,
}

impl System<'_> {
    /// Package energy of a whole battery in Wh.
    fn capacity(&self) -> Option<Figure> {
        Some(self.minutes.scaled(self.run.as_ref()?.get("power.package")? / 60.0))
    }

    fn elapsed_min(&self) -> Option<f64> {
        self.run.as_ref()?.get("elapsed").map(|ns| ns / 60e9).filter(|min| *min > 0.0)
    }

    fn runs_per_charge(&self) -> Option<f64> {
        Some(self.minutes.value / self.elapsed_min()?)
    }
}

fn systems<'a>(sheet: &'a Sheet, ctx: &CheckContext<'_>) -> Vec<System<'a>> {
    let of = |row: usize| {
        let name = sheet.text(row, "os");
        let percent = |col| sheet.count(row, col).map(|f| f.value);
        let span = percent("charge_from_pct").zip(percent("charge_to_pct")).map(|(from, to)| (from - to).abs());
        let mut pairs = ctx.request.compare.iter().filter(|pair| pair.over == name);
        let run = pairs.find_map(|pair| run_named(ctx, &pair.under));
        let step = 1.0 / span.filter(|span| *span >= 1.0).unwrap_or(SPAN);
        Some(System { name, minutes: sheet.figure(row, "battery_life_min")?, step, run })
    };
    (0..sheet.len()).filter_map(of).collect()
}

impl Kind for BatteryLife {
    fn id(&self) -> &'static str {
        "battery_life"
    }

    fn doc(&self) -> &'static str {
        "battery life by system: os (the system), battery_life_min, and charge_from_pct, charge_to_pct; --compare SYSTEM/RUN names the run of \
         a table of totals that was measured on it"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["os", "battery_life_min"])
    }

    fn runs(&self, sheet: &Sheet, _: &CheckContext<'_>) -> Vec<String> {
        (0..sheet.len()).map(|row| sheet.text(row, "os").to_owned()).collect()
    }

    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        let systems = systems(sheet, ctx);
        for system in &systems {
            let Some(run) = &system.run else { continue };
            let of = format!("{}/{}", system.name, run.run);
            if let Some(wh) = system.capacity() {
                out.computed_at_most(&CAPACITY, &of, wh, MAX_WH);
            }
            if let Some(runs) = system.runs_per_charge() {
                out.value(&WORK, of, runs);
            }
        }
        for pair in &ctx.request.compare {
            let named = |name: &str| systems.iter().find(|system| system.name == name);
            if let Some((over, under)) = named(&pair.over).zip(named(&pair.under)) {
                against(&format!("{}/{}", pair.over, pair.under), over, under, out);
            }
        }
    }
}

fn against(of: &str, over: &System<'_>, under: &System<'_>, out: &mut StatementSink<'_>) {
    let ratio = over.minutes / under.minutes;
    out.value(&BATTERY_RATIO, of, ratio.value);
    if let Some((a, b)) = over.capacity().zip(under.capacity()) {
        out.within(&ONE_BATTERY, of, (a / b).value, 1.0, over.step + under.step);
    }
    if let Some((a, b)) = over.runs_per_charge().zip(under.runs_per_charge()) {
        out.value(&WORK_RATIO, of, a / b);
    }
    if let Some((a, b)) = over.elapsed_min().zip(under.elapsed_min()) {
        out.value(&HOUR_OF_WORK, of, 60.0 * a / b);
        out.value(&SHORT, of, 60.0 * (a / b - ratio.value));
    }
}
