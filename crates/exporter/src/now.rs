//! The data of the page: the sums of a snapshot, from which the page takes differences. JSON.

use crate::view::View;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value as Json, json};
use watch::histogram::{BUCKETS, Histogram, bound_seconds};
use watch::snapshot::{ClassSums, GroupSums};

/// Writes the page's data.
pub(crate) fn write(view: &View) -> Result<Bytes, String> {
    let snapshot = &view.snapshot;
    let health = &snapshot.health;
    let identities = snapshot.identities.iter();
    let identities = identities.map(|i| json!({ "name": i.name, "meaning": i.meaning, "holds": i.holds }));
    let document = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "at_ns": snapshot.at_ns,
        "started_ns": snapshot.started_ns,
        "model_name": snapshot.machine.model_name,
        "core_types": view.class_names,
        "bounds_seconds": (0..BUCKETS - 1).map(bound_seconds).collect::<Vec<_>>(),
        "cpus": cpus(view),
        "cores_ns": view.cores,
        "total": group(&snapshot.total),
        "groups": view.groups.iter().map(group).collect::<Vec<_>>(),
        "groups_limit": view.places,
        "energy": snapshot.energy,
        "counters": snapshot.counters,
        "lacks": snapshot.lacks,
        "health": {
            "groups_seen": health.groups_seen,
            "overflows": health.overflows,
            "missed_events": health.missed_events,
            "inconsistent_switches": health.inconsistent_switches,
            "bpf_ns": health.bpf_ns,
        },
        "identities": identities.collect::<Vec<_>>(),
    });
    serde_json::to_vec(&document).map(Bytes::from).map_err(|e| e.to_string())
}

/// The CPUs with their places, the fastest cores first.
fn cpus(view: &View) -> Vec<Json> {
    let machine = &view.snapshot.machine;
    let mut cpus: Vec<_> = view.snapshot.cpus.iter().map(|sums| (machine.cpu(model::CpuId(sums.cpu)), sums)).collect();
    cpus.sort_by_key(|(known, sums)| {
        let place = known.map(|c| (c.package, c.die, c.cluster, c.core));
        (known.and_then(|c| c.package), std::cmp::Reverse(sums.class), place, sums.cpu)
    });
    let one = |(known, sums): (Option<&topology::Cpu>, &watch::snapshot::CpuSums)| {
        json!({
            "cpu": sums.cpu,
            "core_type": view.class_names.get(sums.class),
            "vendor_type": known.and_then(|c| c.vendor_type.as_deref()),
            "package": known.and_then(|c| c.package),
            "die": known.and_then(|c| c.die),
            "cluster": known.and_then(|c| c.cluster),
            "core": known.and_then(|c| c.core),
            "siblings": known.map_or_else(Vec::new, |c| c.siblings.iter().map(|s| s.0).collect()),
            "online": sums.online,
            "busy_ns": sums.busy_ns,
            "idle_ns": sums.idle_ns,
            "unknown_ns": sums.unknown_ns,
            "sibling": sums.sibling,
            "switches": sums.switches,
            "current": sums.current,
        })
    };
    cpus.into_iter().map(one).collect()
}

/// A group's sums: times by type of core, the rest of all types together.
fn group(of: &GroupSums) -> Json {
    #[derive(Serialize)]
    struct Type {
        running_ns: u64,
        sibling: watch::snapshot::SiblingSums,
        ready: watch::snapshot::ReadySums,
    }
    let all: ClassSums = of.all_classes();
    let by_type = |sums: &ClassSums| Type { running_ns: sums.running_ns, sibling: sums.sibling, ready: sums.ready };
    json!({
        "kind": of.kind.as_str(),
        "name": of.name,
        "by_type": of.by_class.iter().map(by_type).collect::<Vec<_>>(),
        "ready_latency": counts(&all.ready_latency),
        "run_length": counts(&all.run_length),
        "wakeups": all.wakeups,
        "preemptions": all.preemptions,
        "throttled_ns": of.throttled.map(|t| t.ns),
    })
}

/// The buckets with counts: `[[number, count], …]`.
fn counts(histogram: &Histogram) -> Vec<(usize, u64)> {
    histogram.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::view::Views;
    use std::path::Path;
    use watch::testing::drawn;

    /// The tests of the page read these answers, so that both sides agree; `COREWISE_BLESS=1` rewrites them.
    #[test]
    fn answers_are_as_the_tests_of_the_page_have_them() {
        let mut views = Views::new(50);
        let answers = (1..=4).map(|factor| write(&views.of(drawn(factor))).unwrap());
        let text: Vec<String> = answers.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).collect();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../viewer/test/watch_now.json");
        testkit::cases::generated(&file, &format!("[\n{}\n]\n", text.join(",\n")));
    }
}
