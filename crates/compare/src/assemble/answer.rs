//! The answer in one sentence, and how it was found.

use crate::show::words::{change_words, estimate, interval, more_runs, value};
use crate::{Comparison, Run, Verdict};
use model::words::{TIE, percent_of, plural};
use stats::Method;

/// The first line of every output.
pub(super) fn answer(of: &Comparison) -> String {
    let [a, b] = [&of.sides[0].name, &of.sides[1].name];
    let objective = &of.objective;
    let metric = &objective.metric;
    let from_to = match objective.middle {
        [Some(from), Some(to)] => format!("{} {} → {}", metric.title, value(metric.unit, from), value(metric.unit, to)),
        _ => metric.title.clone(),
    };
    let effect = objective.effect;
    let begin = if effect.is_some_and(|effect| effect.method == Method::Blocks) {
        "Of these two runs only (variation between runs is unknown): "
    } else {
        ""
    };
    let words = match objective.verdict {
        Verdict::Changed => {
            let words = change_words(objective);
            let (change, range) = words.split_at(words.find(" (95").unwrap_or(words.len()));
            if metric.id == "elapsed" {
                format!("{b} is {change} than {a}{range}: {from_to}")
            } else {
                format!("{from_to}: {change} on {b} than on {a}{range}")
            }
        }
        Verdict::Same => {
            let most = percent_of(objective.at_most.unwrap_or(of.margin));
            format!(
                "{a} and {b} are the same within {}: {from_to}, no change larger than {most}",
                percent_of(of.margin)
            )
        }
        Verdict::Unknown if is_single(of) => {
            let change = effect.map_or_else(String::new, |effect| format!(", {}", estimate(metric, &effect)));
            format!("{from_to}{change} in these two; how much runs vary is unknown")
        }
        Verdict::Unknown => {
            let change = effect.map_or_else(String::new, |effect| {
                let range = interval(metric, &effect).map_or_else(String::new, |range| format!(" ({range})"));
                format!(", {}{range}", estimate(metric, &effect))
            });
            let why = match (&objective.reason, objective.runs_more) {
                (Some(reason), _) => format!("; {reason}"),
                (None, Some(runs)) => format!("; about {} a side would settle it", more_runs(runs)),
                (None, None) => String::new(),
            };
            format!("Unknown whether {b} differs from {a}: {from_to}{change}{why}")
        }
    };
    upper(&format!("{begin}{words} ({}).", runs(of)))
}

/// The words with a capital at their begin.
fn upper(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Whether each side has a single run.
fn is_single(of: &Comparison) -> bool {
    of.sides.iter().all(|side| side.runs.len() == 1)
}

/// The number of runs in words.
fn runs(of: &Comparison) -> String {
    let [a, b] = [&of.sides[0].runs, &of.sides[1].runs].map(Vec::len);
    match (a == b, of.paired) {
        (true, true) => format!("{} a side, in pairs", plural(a as u64, "run")),
        (true, false) => format!("{} a side", plural(a as u64, "run")),
        (false, _) => format!("{a} runs of A and {b} of B"),
    }
}

/// How the numbers were found.
pub(super) fn methods(of: &Comparison, sides: [&[Run]; 2]) -> Vec<String> {
    let mut all = Vec::new();
    let method = of.objective.effect.map_or(Method::None, |effect| effect.method);
    all.push(
        match method {
            Method::RankSum => {
                "The change is the Hodges-Lehmann shift; its interval and p-value are from the exact distribution of Mann and Whitney's U. They assume \
                 nothing about how runs are distributed."
            }
            Method::SignedRank => {
                "Runs are compared as pairs: the change is the median of the pairs' Walsh averages; its interval and p-value are from the exact \
                 distribution of Wilcoxon's signed rank."
            }
            Method::Student => "With two or three runs a side, the interval is Student's t, which assumes normally distributed runs.",
            Method::Blocks => {
                "One run a side: the interval is from a block bootstrap over the frames, periods or requests within the runs. It says nothing about \
                 variation between runs."
            }
            Method::None => "There is no interval: too few runs, or values that do not vary.",
        }
        .to_owned(),
    );
    all.push(format!(
        "Changes of times are ratios. The same within {:.0}{TIE}%: the 90{TIE}% interval lies within that margin (two one-sided tests at 5{TIE}%). Other metrics \
         than the objective are called changed at a false discovery rate of 5{TIE}% over all of them.",
        of.margin * 100.0
    ));
    let runs = || sides.iter().flat_map(|runs| runs.iter());
    if of.why.is_some() {
        all.push(
            "Causes: the critical path of each run, cause by cause, in means over the runs; they sum to the change of the means exactly. Running \
             time is divided among its factors by their logarithms (LMDI)."
                .to_owned(),
        );
        if of.why.iter().flat_map(|why| &why.pieces).any(|piece| piece.cause == "core_type")
            && let Some(words) = core_speed_words(runs())
        {
            all.push(words);
        }
        if of.why.iter().flat_map(|why| &why.pieces).any(|piece| piece.cause == "sibling") {
            all.push(match crate::why::measured_sibling(runs()) {
                Some(speed) => format!(
                    "A thread whose SMT sibling is busy has {speed:.3} of its speed alone (measured on this machine: half the gain of `corewise bench`)."
                ),
                None => format!(
                    "A thread whose SMT sibling is busy is assumed to have {} of its speed alone (measured on servers: 0.645 to 0.665).",
                    crate::why::BUSY_SIBLING
                ),
            });
        }
    }
    all
}

/// Whose the speeds of slower cores are; `None` if they are the kernel's capacities.
fn core_speed_words<'a>(mut runs: impl Iterator<Item = &'a Run>) -> Option<String> {
    let Some(run) = runs.find(|run| !run.core_speeds.is_empty()) else {
        return Some(format!(
            "An efficient core is assumed to have {} of the speed of a performance core (measured for threads of a game: 0.32 to 0.87).",
            crate::why::SLOWER_CORE
        ));
    };
    let speeds = || run.core_speeds.iter().map(|(of, speed)| format!("{of} {speed:.3}")).collect::<Vec<_>>().join(", ");
    run.core_speeds_measured.then(|| {
        format!(
            "Speeds of the core types relative to the fastest, measured on this machine by `corewise bench`: {}.",
            speeds()
        )
    })
}
