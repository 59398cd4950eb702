//! What the pieces of a change are called.

use super::Own;
use super::speed::{Factors, Split};
use crate::Piece;
use crate::show::words::FACTOR;
use model::Ns;
use model::words::{TIE, time};

/// A piece that explains at least this share of the change is named in one line.
const MAIN_SHARE: f64 = 0.5;

/// The cause and title of a time of its own.
pub(super) fn of_own((role, own): &(Option<usize>, Own), names: &[String]) -> (&'static str, String) {
    let name = role.map_or("threads of other programs", |role| names[role].as_str());
    match own {
        Own::Ready(Some(other)) if *role == Some(*other) => ("ready", format!("{name} queued behind each other")),
        Own::Ready(Some(other)) => ("ready", format!("{name} queued behind {}", names[*other])),
        Own::Ready(None) => ("ready", format!("{name} queued behind threads of other programs")),
        Own::WakeupLatency => ("wakeup_latency", format!("wakeup latency of {name}")),
        Own::Throttled => ("throttled", format!("{name} throttled by its CPU quota")),
        Own::Blocked(reason) => ("blocked", format!("{name} waiting for {}", waited_for(reason))),
        Own::Steal => ("steal", format!("time stolen from {name} by the hypervisor or interrupts (estimate)")),
        Own::Unknown => ("unknown", format!("unknown state of {name}")),
    }
}

/// What a thread waits for, by the state letter of the kernel or the name of a function.
fn waited_for(reason: &str) -> String {
    match reason {
        "S" | "I" | "" => "a timer, a device or the network".to_owned(),
        "D" | "D|K" => "a device (state D)".to_owned(),
        other => other.to_owned(),
    }
}

/// The parts of a change of running time, with their titles.
pub(super) fn of_running(
    split: &Split,
    [a, b]: [&Factors; 2],
    name: Option<&str>,
    is_pool: bool,
) -> Vec<(&'static str, f64, String)> {
    let of = name.unwrap_or("threads of other programs");
    let more = |ns: f64| if ns < 0.0 { "less" } else { "more" };
    let work = if a.frequency_known {
        format!("{} work of {of}", more(split.work))
    } else {
        format!("{} running time of {of} (work or speed; frequency not recorded)", more(split.work))
    };
    vec![
        ("work", split.work, work),
        (
            "serial",
            split.serial,
            match (is_pool, split.serial < 0.0) {
                (true, true) => format!("{of} running in parallel instead of one after another"),
                (true, false) => format!("{of} running one after another instead of in parallel"),
                (false, true) => format!("{of} more in parallel with other threads"),
                (false, false) => format!("{of} less in parallel with other threads"),
            },
        ),
        (
            "core_type",
            split.core_type,
            format!("{of} on {} cores", if split.core_type < 0.0 { "faster" } else { "slower" }),
        ),
        (
            "sibling",
            split.sibling,
            format!("{of} with its SMT sibling {} often busy", if split.sibling < 0.0 { "less" } else { "more" }),
        ),
        ("frequency", split.frequency, format!("frequency of {of} {:.2} → {:.2}{TIE}GHz", a.frequency, b.frequency)),
    ]
}

/// The answer in one line: what explains most of the change.
pub(super) fn line(pieces: &[Piece], [a, b]: [f64; 2], frequencies: Option<[Factors; 2]>) -> Option<String> {
    let change = b - a;
    // As in the answer: a share of A, or a factor if it is large.
    let word = if b >= a { "slower" } else { "faster" };
    let how = match b / a {
        ratio if ratio > FACTOR => format!("{ratio:.2} × {word}"),
        ratio => format!("{:.1}{TIE}% {word}", (ratio - 1.0).abs() * 100.0),
    };
    let by_frequency: f64 = pieces.iter().filter(|piece| piece.cause == "frequency").map(|piece| piece.ns).sum();
    if let (Some([of_a, of_b]), true) = (frequencies, by_frequency / change >= MAIN_SHARE) {
        let explains = if b >= a { of_a.frequency / of_b.frequency } else { of_b.frequency / of_a.frequency };
        return Some(format!(
            "{how}: frequency {:.2} → {:.2}{TIE}GHz explains {explains:.3} ×",
            of_a.frequency, of_b.frequency
        ));
    }
    let first = pieces.iter().find(|piece| piece.ns / change >= MAIN_SHARE)?;
    let share = first.ns / change * 100.0;
    Some(format!("{how}: {} explains {} of {} ({share:.0}{TIE}%)", first.title, signed(first.ns), signed(change)))
}

/// A time with its sign.
pub(crate) fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "−" } else { "+" };
    format!("{sign}{}", time(Ns::nearest(ns.abs())))
}
