//! What `corewise ab --cores` prints: what binding did to the time to the end.

use compare::ab::{Binding, Cores, ELSEWHERE_SHARE, Manifest, SideOf};
use model::words::{percent_of, untied};

/// The fewest decimals of a ratio.
const DECIMALS: usize = 2;
/// A ratio is shown as exactly as its interval has two digits, up to so many decimals.
const MAX_DECIMALS: usize = 4;

/// How a side is named in the sentence: what it is bound to.
fn subject(cores: &Cores) -> String {
    let plural = if cores.cpus.parse::<u32>().is_ok() { "CPU" } else { "CPUs" };
    match (cores.is_bound, cores.choice == cores.cpus) {
        (false, _) => format!("on all {plural} ({})", cores.cpus),
        (true, true) => format!("bound to {plural} {}", cores.cpus),
        (true, false) => format!("bound to {} ({plural} {})", cores.choice, cores.cpus),
    }
}

/// Says what binding did, with the interval; `None` if the sides do not differ in their CPUs.
pub fn binding(manifest: &Manifest) -> Option<String> {
    let of = Binding::of(manifest)?;
    let [a, b] = manifest.sides.each_ref().map(|side| side.cores.as_ref());
    let (a, b) = (a?, b?);
    let against = format!("that it takes {}", subject(a));
    let mut text = match of.effect {
        Some(effect) => {
            let [low, high] = effect.interval.unwrap_or([effect.estimate; 2]);
            let decimals = decimals(high - low);
            let ratio = |of: f64| format!("{of:.decimals$}");
            let what = match effect.interval {
                None => "too few pairs for an interval",
                Some([low, _]) if low > 1.0 => "slower",
                Some([_, high]) if high < 1.0 => "faster",
                Some(_) => "no difference found",
            };
            let interval = effect.interval.map_or_else(String::new, |_| format!(" [{}, {}]", ratio(low), ratio(high)));
            format!("{}: {what}: {} times the time{interval} {against}", subject(b), ratio(effect.estimate))
        }
        None => format!("{}: unknown, as no pair is complete", subject(b)),
    };
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text.push('\n');
    for (side, share) in manifest.sides.iter().zip(of.elsewhere) {
        text.push_str(&elsewhere(side, share).unwrap_or_default());
    }
    Some(text)
}

/// The sentence about a side that did not stay on its CPUs; `None` if it did.
fn elsewhere(side: &SideOf, share: Option<f64>) -> Option<String> {
    let share = share.filter(|share| *share > ELSEWHERE_SHARE)?;
    let of_time = untied(&percent_of(share));
    let cpus = &side.cores.as_ref()?.cpus;
    Some(format!(
        "  note: {} ran up to {of_time} of its time outside CPUs {cpus}: the command sets its own CPU affinity, so this result does not show \
         what binding does\n",
        side.name
    ))
}

/// The number of decimals that shows two digits of a width.
fn decimals(width: f64) -> usize {
    let digits = if width > 0.0 && width < 1.0 { (1.0 - width.log10().floor()) as usize } else { DECIMALS };
    digits.clamp(DECIMALS, MAX_DECIMALS)
}
