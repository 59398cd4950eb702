//! Power by domain: the mean between two readings of its energy. A domain's track is stacked from the parts that it contains; memory is
//! next to its package, so it is above it. Nothing is counted twice: what contains others is never added to them.

use super::{BoxedKind, Kind, KindInfo, Lane, Layer, MAX_LANES};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::Session;
use levels::Values;
use model::{EnergyDomain, EnergyUse, Event, EventKind, NameId};
use std::collections::BTreeMap;

/// The maximum number of readings of all domains; 24 bytes each.
const MAX_READINGS: usize = 1 << 22;
/// The parts from the bottom of a stack up, with the numbers of their colours.
const INSIDE: [(&str, u32); 2] = [("core", 1), ("uncore", 2)];
/// Other parts that are contained, what is left of the whole, and memory.
const OTHER: u32 = 4;
/// See [`OTHER`].
const REST: u32 = 0;
/// See [`OTHER`].
const MEMORY: u32 = 3;

/// A time with known power: begin, end, and W.
type Piece = (i64, i64, f64);

struct Power<'a> {
    feed: Feed<'a, Values>,
    domains: BTreeMap<NameId, Domain>,
    readings: usize,
    /// Domains and readings beyond the limits.
    left_out: u64,
    end: i64,
}

struct Domain {
    name: String,
    part: String,
    parent: NameId,
    same_as: String,
    /// Whether its energy follows from power, which may be 0; a counter that stays the same was not updated.
    from_power: bool,
    pieces: Vec<Piece>,
    /// Since when its counter stayed the same.
    waits_since: Option<i64>,
}

pub(crate) fn new<'a>(_: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    let (feed, domains) = (Feed::new(to, name), BTreeMap::new());
    Ok(Box::new(Power { feed, domains, readings: 0, left_out: 0, end: to.whole }))
}

impl Power<'_> {
    fn describe(&mut self, of: EnergyDomain, names: &[Box<str>]) {
        let text = |id| super::name(names, id).unwrap_or_default().to_owned();
        if self.domains.len() >= MAX_LANES && !self.domains.contains_key(&of.domain) {
            self.left_out += 1;
            return;
        }
        let (name, part, same_as) = (text(of.domain), text(of.part), text(of.same_as));
        let (parent, from_power) = (of.parent, of.from_power);
        let domain = Domain { name, part, parent, same_as, from_power, pieces: Vec::new(), waits_since: None };
        self.domains.entry(of.domain).or_insert(domain);
    }

    fn used(&mut self, at: i64, of: EnergyUse) {
        let Some(domain) = self.domains.get_mut(&of.domain) else { return };
        let Some(nj) = of.nj.get() else {
            domain.waits_since = None;
            return;
        };
        let before = domain.pieces.last().map_or(0, |piece| piece.1);
        let start = domain.waits_since.unwrap_or(at.saturating_sub(of.length.0));
        if nj == 0 && !domain.from_power {
            domain.waits_since = Some(start);
            return;
        }
        domain.waits_since = None;
        // nJ per ns are W.
        let watts = nj as f64 / (at.saturating_sub(start)).max(1) as f64;
        let (start, end) = (start.max(before), at.min(self.end));
        if start >= end {
            return;
        }
        if self.readings >= MAX_READINGS {
            self.left_out += 1;
            return;
        }
        self.readings += 1;
        domain.pieces.push((start, end, watts));
    }
}

impl Kind for Power<'_> {
    fn event(&mut self, event: &Event, names: &[Box<str>]) {
        match event.what {
            EventKind::EnergyDomain(of) => self.describe(of, names),
            EventKind::Energy(of) => self.used(event.at.0, of),
            _ => {}
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let mut changes: Vec<(i64, u32, Option<f64>)> = Vec::new();
        let mut lanes = Vec::new();
        let mut next = 0;
        for (id, domain) in &self.domains {
            let parts = parts_of(&self.domains, *id);
            // A part of another one, with no parts of its own, is only a layer there.
            let is_layer =
                self.domains.get(&domain.parent).is_some_and(|of| of.same_as.is_empty() && !of.pieces.is_empty());
            if domain.pieces.is_empty() || is_layer && parts.len() == 1 && domain.same_as.is_empty() {
                continue;
            }
            let (mut layers, mut most) = (Vec::new(), 0.0_f64);
            for (tone, label, of) in &parts {
                let pieces = sum(of);
                most = pieces.iter().fold(most, |most: f64, piece| most.max(piece.2));
                for (at, piece) in pieces.iter().enumerate() {
                    changes.push((piece.0, next, Some(piece.2)));
                    if pieces.get(at + 1).is_none_or(|later| later.0 > piece.1) {
                        changes.push((piece.1, next, None));
                    }
                }
                layers.push(Layer { track: next, label: label.clone(), tone: *tone });
                next += 1;
            }
            let first = layers.first().map_or(next, |layer| layer.track);
            let same = if domain.same_as.is_empty() { String::new() } else { format!(", same as {}", domain.same_as) };
            let label = format!("{} (up to {} W{same})", domain.name, (most * 10.0).round() / 10.0);
            lanes.push(Lane { most, layers, ..Lane::new(first, label) });
        }
        changes.sort_by_key(|(at, ..)| *at);
        changes.into_iter().for_each(|(at, track, watts)| self.feed.change(track, at, watts));
        let title = title(&lanes);
        let left_out = self.left_out;
        let note =
            if left_out > 0 { format!("{left_out} readings beyond the limits are not shown") } else { String::new() };
        Ok(self.feed.finish()?.then(|| KindInfo { title, unit: "W".into(), note, ..KindInfo::of_values(lanes) }))
    }
}

/// Names the layers that there are, from the bottom.
fn title(lanes: &[Lane]) -> String {
    let is_there =
        |tone: u32| lanes.iter().any(|lane| lane.layers.len() > 1 && lane.layers.iter().any(|of| of.tone == tone));
    let named = [(1, "core"), (2, "uncore"), (OTHER, "other parts"), (REST, "rest"), (MEMORY, "memory")];
    let words: Vec<&str> = named.into_iter().filter(|(tone, _)| is_there(*tone)).map(|(_, words)| words).collect();
    match words[..] {
        [] => "Power by domain (mean between readings)".to_owned(),
        _ => format!("Power by domain (mean between readings; from the bottom: {})", words.join(", ")),
    }
}

/// The layers of a domain from the top: the number of the colour, the label, and the domains whose sum it reaches up to.
fn parts_of(domains: &BTreeMap<NameId, Domain>, id: NameId) -> Vec<(u32, String, Vec<&[Piece]>)> {
    let Some(whole) = domains.get(&id) else { return Vec::new() };
    let of = domains.iter().filter(|(of, child)| child.parent == id && **of != id && child.same_as.is_empty());
    let children = of.map(|(_, child)| child).filter(|child| !child.pieces.is_empty());
    let tone = |of: &Domain| INSIDE.iter().find(|(part, _)| *part == of.part).map_or(OTHER, |(_, tone)| *tone);
    let own = |of: &Domain| of.name.rsplit('/').next().unwrap_or_default().to_owned();
    // Memory is not a part of the energy of its package, although its name says so.
    let (memory, mut inside): (Vec<&Domain>, Vec<&Domain>) = children.partition(|of| of.part == "dram");
    inside.sort_by_key(|of| tone(of));
    let mut layers = Vec::new();
    let mut below: Vec<&[Piece]> = Vec::new();
    for of in &inside {
        below.push(of.pieces.as_slice());
        layers.push((tone(of), own(of), below.clone()));
    }
    let rest = if inside.is_empty() { whole.name.clone() } else { format!("rest of {}", whole.name) };
    let mut up_to: Vec<&[Piece]> = vec![whole.pieces.as_slice()];
    layers.push((REST, rest, up_to.clone()));
    for of in memory {
        up_to.push(of.pieces.as_slice());
        layers.push((MEMORY, own(of), up_to.clone()));
    }
    layers.reverse();
    layers
}

/// Adds up power over time, where all of it is known.
fn sum(of: &[&[Piece]]) -> Vec<Piece> {
    let [first, rest @ ..] = of else { return Vec::new() };
    rest.iter().fold(first.to_vec(), |sum, more| both(&sum, more))
}

fn both(a: &[Piece], b: &[Piece]) -> Vec<Piece> {
    let (mut sum, mut i, mut j) = (Vec::new(), 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let (start, end) = (x.0.max(y.0), x.1.min(y.1));
        if start < end {
            sum.push((start, end, x.2 + y.2));
        }
        if x.1 <= y.1 {
            i += 1;
        } else {
            j += 1;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(to: Target<'_>) -> BoxedKind<'_> {
        let feed = Feed::new(to, "power");
        Box::new(Power { feed, domains: BTreeMap::new(), readings: 0, left_out: 0, end: to.whole })
    }

    fn domain(name: &str, part: &str, parent: u32, pieces: &[Piece]) -> Domain {
        let (name, part) = (name.to_owned(), part.to_owned());
        let (same_as, pieces, parent) = (String::new(), pieces.to_vec(), NameId(parent));
        Domain { name, part, parent, same_as, from_power: false, pieces, waits_since: None }
    }

    #[test]
    fn power_is_added_up_where_all_of_it_is_known() {
        assert_eq!(both(&[(0, 10, 1.0), (12, 20, 2.0)], &[(5, 15, 0.5)]), [(5, 10, 1.5), (12, 15, 2.5)]);
        assert!(sum(&[]).is_empty());
    }

    #[test]
    fn a_package_contains_its_cores_and_memory_is_above_it() {
        let of = |name, part, parent, watts| domain(name, part, parent, &[(0, 10, watts)]);
        let domains = BTreeMap::from([
            (NameId(1), of("package-0", "package", 0, 20.0)),
            (NameId(2), of("package-0/dram", "dram", 1, 3.0)),
            (NameId(3), of("package-0/uncore", "uncore", 1, 4.0)),
            (NameId(4), of("package-0/core", "core", 1, 10.0)),
            (NameId(5), of("package-1", "package", 0, 7.0)),
        ]);
        let layers: Vec<(String, f64)> =
            parts_of(&domains, NameId(1)).into_iter().map(|(_, label, of)| (label, sum(&of)[0].2)).collect();
        let expected = [("dram", 23.0), ("rest of package-0", 20.0), ("uncore", 14.0), ("core", 10.0)];
        assert_eq!(layers, expected.map(|(label, watts)| (label.to_owned(), watts)));
        assert_eq!(parts_of(&domains, NameId(5)).len(), 1);
    }

    #[test]
    fn power_is_that_of_the_time_before_a_reading_and_unknown_energy_has_none() {
        let domain = EnergyDomain {
            domain: NameId(1),
            part: NameId(2),
            parent: NameId::NONE,
            same_as: NameId::NONE,
            source: NameId::NONE,
            from_power: false,
            update: model::MaybeNs::NONE,
        };
        let used = |length, nj: Option<i64>| {
            let nj = nj.map_or(model::MaybeCount::UNKNOWN, model::MaybeCount::new);
            let (domain, length) = (NameId(1), model::Ns(length));
            EventKind::Energy(EnergyUse { domain, unknown: NameId::NONE, length, nj, spread_nj: 0 })
        };
        // At 100 ns, a reading after 50 ns; at 200 ns, it went back; at 300 ns, it was not updated; at 400 ns, another one.
        let events = [
            EventKind::EnergyDomain(domain),
            used(50, Some(100)),
            used(100, None),
            used(100, Some(0)),
            used(100, Some(1400)),
        ];
        let (info, steps) = crate::kinds::tests::fed("power", kind, &events, &["package-0", "package"]);
        assert_eq!(steps, [(0, 50, 100, 2.0), (0, 200, 400, 7.0)]);
        assert_eq!((info.lanes[0].label.as_str(), info.lanes[0].most), ("package-0 (up to 7 W)", 7.0));
    }
}
