//! The parking of CPUs at an instant, looked up in all records.

use super::Analysed;
use model::{CpuId, Ns, Power};

/// `None`: not recorded until then.
pub fn parked(a: &Analysed, cpu: CpuId, at: Ns) -> Option<bool> {
    let is_record =
        |change: &&super::changes::PowerChange| change.cpu == cpu && change.at <= at && change.at < a.span.end;
    let parked = |to: Power| if let Power::Parked(parked) = to { Some(parked) } else { None };
    a.power.iter().filter(is_record).filter_map(|change| parked(change.to)).next_back()
}

/// Whether parking is recorded before the end of the span.
pub fn is_recorded(a: &Analysed) -> bool {
    changes(a).next().is_some()
}

/// The times of all parking records.
pub fn changes(a: &Analysed) -> impl Iterator<Item = Ns> {
    let within = a.power.iter().filter(|change| change.at < a.span.end);
    within.filter(|change| matches!(change.to, Power::Parked(_))).map(|change| change.at)
}
