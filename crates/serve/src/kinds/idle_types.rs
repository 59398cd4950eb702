//! How many CPUs of each core type were in which idle state, stacked: the deepest state at the bottom. The height of a track is the
//! number of CPUs of the type, so what is left above the layers is awake, or not recorded yet.

use super::idle::{DEEPEST, state_name};
use super::{BoxedKind, Kind, KindInfo, Lane, Layer};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::{Machine, Session};
use levels::Values;
use model::{CoreType, CpuId, Event, Power, TimelineEvent};
use std::collections::{BTreeMap, BTreeSet};

/// The number of tracks of a core type: one for each idle state.
const STATES: usize = DEEPEST as usize + 1;

struct IdleTypes<'a> {
    feed: Feed<'a, Values>,
    machine: Machine,
    /// The idle state of each CPU that had an event; `None`: awake.
    cpus: BTreeMap<u32, Option<u32>>,
    /// By core type.
    types: BTreeMap<CoreType, OfType>,
}

struct OfType {
    /// The number of its first track.
    first: u32,
    /// By state: the number of CPUs in it or in a deeper one.
    at_least: [u32; STATES],
    used: BTreeSet<u32>,
}

pub(crate) fn new<'a>(session: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    let machine = session.machine().clone();
    Ok(Box::new(IdleTypes { feed: Feed::new(to, name), machine, cpus: BTreeMap::new(), types: BTreeMap::new() }))
}

impl IdleTypes<'_> {
    fn core_type(&self, cpu: u32) -> CoreType {
        match self.machine.cpu(CpuId(cpu)) {
            Some(_) => self.machine.core_type(CpuId(cpu)),
            None => CoreType::Uniform,
        }
    }
}

impl Kind for IdleTypes<'_> {
    fn event(&mut self, event: &Event, _: &[Box<str>]) {
        let Some(event) = TimelineEvent::from_event(event) else { return };
        let Some((cpu, to)) = event.power() else { return };
        let to = match to {
            Power::Awake => None,
            Power::Idle(state) => Some(state.min(DEEPEST)),
            _ => return,
        };
        if !super::room(&self.cpus, cpu.0) {
            return;
        }
        let core_type = self.core_type(cpu.0);
        let was = self.cpus.insert(cpu.0, to).flatten();
        let next = (self.types.len() * STATES) as u32;
        let of =
            self.types.entry(core_type).or_insert(OfType { first: next, at_least: [0; STATES], used: BTreeSet::new() });
        of.used.extend(to);
        // Up to and including the state that was left or entered.
        let end = |state: Option<u32>| state.map_or(0, |state| state + 1);
        for state in 0..end(was).max(end(to)) {
            let count = &mut of.at_least[state as usize];
            *count = *count + u32::from(state < end(to)) - u32::from(state < end(was));
        }
        // The first event of a type also begins the tracks of all its states.
        for state in 0..STATES as u32 {
            self.feed.change(of.first + state, event.at.0, Some(f64::from(of.at_least[state as usize])));
        }
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let counted = |of: CoreType| self.cpus.keys().filter(|cpu| self.core_type(**cpu) == of).count();
        // Fast types first, as they are ordered.
        let types = self.types.iter().filter(|(_, of)| !of.used.is_empty());
        let lane = |(core_type, of): (&CoreType, &OfType)| {
            let cpus =
                self.machine.cpus.iter().filter(|cpu| cpu.online && self.machine.core_type(cpu.id) == *core_type);
            let count = cpus.clone().count().max(counted(*core_type));
            let layer = |state: &u32| Layer {
                track: of.first + *state,
                label: state_name(cpus.clone(), *state),
                tone: *state + 1,
            };
            let layers: Vec<Layer> = of.used.iter().map(layer).collect();
            let of_type = if *core_type == CoreType::Uniform { "CPUs" } else { core_type.as_str() };
            let track = layers.first().map_or(of.first, |layer| layer.track);
            Lane { most: count as f64, layers, ..Lane::new(track, format!("{of_type} ({count})").replace('_', " ")) }
        };
        let lanes: Vec<Lane> = types.map(lane).collect();
        let any = !lanes.is_empty();
        Ok((self.feed.finish()? && any).then(|| KindInfo {
            title: "Idle states by core type (CPUs in each state; the deepest at the bottom)".into(),
            unit: "CPUs".into(),
            ..KindInfo::of_values(lanes)
        }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    /// State 2 at the bottom, state 0 above it:
    ///
    /// ```text
    ///  ms      0    1    2    3    4
    ///  CPU 0   2─────────awake─────
    ///  CPU 1   .    0─────────awake
    /// ```
    #[test]
    fn cpus_in_each_state_are_stacked_from_the_deepest() {
        let lines = [
            "a-10 (10) [000] 1.000000: sched_switch: a:10 [120] S ==> swapper/0:0 [120]",
            "<idle>-0 (0) [000] 1.000000: cpu_idle: state=2 cpu_id=0",
            "<idle>-0 (0) [001] 1.001000: cpu_idle: state=0 cpu_id=1",
            "<idle>-0 (0) [000] 1.002000: cpu_idle: state=4294967295 cpu_id=0",
            "<idle>-0 (0) [001] 1.003000: cpu_idle: state=4294967295 cpu_id=1",
            "<idle>-0 (0) [000] 1.004000: sched_switch: swapper/0:0 [120] R ==> a:10 [120]",
        ];
        let steps = crate::kinds::tests::steps("idle_types", &lines);
        let of = |track| steps.iter().filter(|s| s.0 == track).map(|s| (s.1, s.2, s.3)).collect::<Vec<_>>();
        assert_eq!(of(0), [(0.0, 1.0, 1.0), (1.0, 2.0, 2.0), (2.0, 3.0, 1.0), (3.0, 4.0, 0.0)]);
        assert_eq!(of(2), [(0.0, 2.0, 1.0), (2.0, 4.0, 0.0)]);
        let info = crate::kinds::tests::info("idle_types", &lines);
        let layers: Vec<_> = info.lanes[0].layers.iter().map(|l| (l.track, l.label.as_str())).collect();
        assert_eq!(layers, [(0, "idle state 0"), (2, "idle state 2")]);
        assert_eq!((info.lanes.len(), info.lanes[0].track, info.lanes[0].most), (1, 0, 2.0));
    }
}
