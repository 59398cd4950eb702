//! The events of a profiler's samples, by the names that perf and simpleperf give them.

use ingest::Sampled;
use model::CoreType;

/// An anomaly. The idle task is no thread, so its samples are those of none.
pub(crate) const IDLE_SAMPLE: &str = "a sample of the idle task is not part of the profile";

/// Characters that perf adds to the name of an event: levels of privilege, precision, and how it is scheduled (`perf-list`, "EVENT MODIFIERS").
const MODIFIERS: &str = "ukhIpPGHSDWbeR";
/// Events that count time or cycles. The samples of a thread then estimate its running time.
const OF_TIME: [&str; 6] = ["cycles", "cpu-cycles", "cpu_cycles", "ref-cycles", "cpu-clock", "task-clock"];
/// Events that have no samples of code.
const WITHOUT_CODE: [&str; 2] = ["dummy", "bpf-output"];
/// PMUs that write a trace instead of samples.
const TRACING: [&str; 4] = ["intel_pt", "intel_bts", "cs_etm", "arm_spe"];

/// Returns the name of an event without its PMU and its modifiers: `cycles:ppp` and `cpu_core/cycles/u` are both `cycles`.
pub(crate) fn plain_event(name: &str) -> &str {
    let are_modifiers = |text: &str| text.chars().all(|c| MODIFIERS.contains(c));
    let name = name.strip_suffix(':').unwrap_or(name);
    let name = name.rsplit_once(':').filter(|(_, last)| are_modifiers(last)).map_or(name, |(name, _)| name);
    match name.split_once('/').and_then(|(pmu, rest)| Some((pmu, rest.rsplit_once('/')?))) {
        Some((_, (event, last))) if are_modifiers(last) && !event.is_empty() && !event.contains(['=', ',']) => event,
        _ => name,
    }
}

/// Returns the PMU in the name of an event: `cpu_core` of `cpu_core/cycles/u`.
pub(crate) fn pmu(name: &str) -> Option<&str> {
    name.split_once('/').filter(|(pmu, rest)| !pmu.is_empty() && rest.contains('/')).map(|(pmu, _)| pmu)
}

/// The event of each type of cores, of those that are the profile: types that are not known have none.
pub(crate) fn by_core<'n>(events: impl Iterator<Item = (CoreType, &'n str)>) -> Vec<(CoreType, String)> {
    let mut all: Vec<(CoreType, String)> = Vec::new();
    for (core, name) in events.filter(|(core, _)| *core != CoreType::Uniform) {
        if all.iter().all(|(of, _)| *of != core) {
            all.push((core, name.to_owned()));
        }
    }
    all.sort();
    all
}

/// Whether an event writes a trace of the hardware (`intel_pt//`, `arm_spe_0/ts_enable=1/`) instead of samples.
pub(crate) fn is_hardware_trace(name: &str) -> bool {
    name.split_once('/').is_some_and(|(pmu, _)| TRACING.iter().any(|of| pmu.starts_with(of)))
}

/// Whether the samples of an event ([`plain_event`]) estimate running time.
pub(crate) fn is_of_time(event: &str) -> bool {
    OF_TIME.contains(&event)
}

/// Selects the event whose samples are the profile, of the names ([`plain_event`]) of all events that have samples: the first one of time
/// or cycles, or else the first one. Samples of two events do not add up. Those of one event by several PMUs, as on a machine with several
/// types of cores, are the profile together, each with the type of its core ([`by_core`]).
pub(crate) fn select<'n>(events: impl Iterator<Item = &'n str>) -> Option<Sampled> {
    let mut all: Vec<&str> = Vec::new();
    for event in events.filter(|event| !WITHOUT_CODE.contains(event) && !is_hardware_trace(event)) {
        if !all.contains(&event) {
            all.push(event);
        }
    }
    let selected = all.iter().position(|event| is_of_time(event)).or((!all.is_empty()).then_some(0))?;
    let event = all.remove(selected);
    let others = all.into_iter().map(str::to_owned).collect();
    Some(Sampled { event: event.to_owned(), of_time: is_of_time(event), others, ..Sampled::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_named_without_pmu_and_modifiers() {
        for (name, plain) in [
            ("cycles", "cycles"),
            ("cycles:", "cycles"),
            ("cycles:u:", "cycles"),
            ("cpu-clock:pppH", "cpu-clock"),
            ("cpu_core/cycles/P", "cycles"),
            ("cpu_atom/cycles/:u", "cycles"),
            ("cpu/event=0x3c,umask=0x1/u", "cpu/event=0x3c,umask=0x1/u"),
            ("intel_pt//", "intel_pt//"),
            ("sched:sched_switch", "sched:sched_switch"),
            ("r003c:pp", "r003c"),
            ("", ""),
        ] {
            assert_eq!(plain_event(name), plain, "{name}");
        }
    }

    #[test]
    fn the_pmu_is_what_precedes_the_event() {
        for (name, of) in [("cpu_core/cycles/P", Some("cpu_core")), ("cycles:u", None), ("a/b", None), ("/x/", None)] {
            assert_eq!(pmu(name), of, "{name}");
        }
    }

    #[test]
    fn one_event_is_the_profile() {
        let sampled = |event: &str, of_time, others: &[&str]| {
            let others = others.iter().map(|other| (*other).to_owned()).collect();
            Some(Sampled { event: event.to_owned(), of_time, others, ..Sampled::default() })
        };
        let of = |events: &[&'static str]| select(events.iter().copied());
        assert_eq!(
            of(&["page-faults", "cycles", "cpu-clock", "cycles"]),
            sampled("cycles", true, &["page-faults", "cpu-clock"])
        );
        assert_eq!(of(&["dummy", "page-faults", "instructions"]), sampled("page-faults", false, &["instructions"]));
        assert_eq!(of(&["intel_pt//", "cycles"]), sampled("cycles", true, &[]), "a trace has no samples");
        assert_eq!(of(&["dummy"]), None);
    }
}
