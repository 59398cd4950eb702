//! Which CPUs are parked at an instant, looked up in all that was told.

use super::Analysed;
use model::{CpuId, Ns, Power};

/// `None`: nobody has told until then.
pub fn parked(a: &Analysed, cpu: CpuId, at: Ns) -> Option<bool> {
    let told = |change: &&super::changes::PowerChange| change.cpu == cpu && change.at <= at && change.at < a.span.end;
    let parked = |to: Power| if let Power::Parked(parked) = to { Some(parked) } else { None };
    a.power.iter().filter(told).filter_map(|change| parked(change.to)).next_back()
}

/// Whether anybody tells before the span is over.
pub fn is_told(a: &Analysed) -> bool {
    changes(a).next().is_some()
}

/// When anybody tells.
pub fn changes(a: &Analysed) -> impl Iterator<Item = Ns> {
    let within = a.power.iter().filter(|change| change.at < a.span.end);
    within.filter(|change| matches!(change.to, Power::Parked(_))).map(|change| change.at)
}
