//! Samples of a perf.data keep the type of their core, and the times without samples, in a trace folder.

use crate::perf_data::{Bytes, CPU, Order, PerfData, Stamp};
use engine::{PassOptions, Session, Target, import, open_source};
use model::SamplingOff;
use std::path::Path;
use testkit::ByName;

const HARDWARE: u32 = 0;
/// Cycles of the PMUs 4 and 8.
const CYCLES: [(u32, u64); 2] = [(HARDWARE, 4 << 32), (HARDWARE, 8 << 32)];

/// Two samples on fast cores and one on slow ones, without CPUs; for 3 µs the kernel took none.
fn recording() -> Vec<u8> {
    let mut d = PerfData::of_samples(Order::Little, &CYCLES);
    for attr in &mut d.attrs {
        attr.sample_type &= !CPU;
        attr.flags.push(1); // inherit: a thread was recorded
    }
    let pmu = |b: Bytes, number: u32, name: &str| b.u32(number).u32(16).raw(name.as_bytes()).padded(4);
    d.features.push((
        16,
        pmu(pmu(Bytes::new(Order::Little).u32(2), 4, "cpu_core\0\0\0\0\0\0\0\0"), 8, "cpu_atom\0\0\0\0\0\0\0\0").1,
    ));
    d.features.sort();
    let at = |at: u64| Stamp { at, cpu: 0, pid: 11, tid: 11, id: 1 };
    d.sample(0, at(1_000), &[0x10], &[]).sample(1, at(2_000), &[0x10], &[]);
    for (kind, when) in [(5, 3_000), (6, 6_000)] {
        d.other(kind, 0, &Bytes::new(Order::Little).u64(when).u64(1).u64(1).1, at(when));
    }
    d.sample(0, at(7_000), &[0x10], &[]);
    d.file()
}

fn check(path: &Path) {
    let session = Session::open(path, PassOptions::default()).unwrap();
    let samples = session.table("samples").unwrap();
    let row = |row| (samples.text(row, "core_type").unwrap_or_default(), samples.int(row, "self_samples").unwrap());
    let mut rows: Vec<_> = (0..samples.rows.len()).map(row).collect();
    rows.sort_unstable();
    assert_eq!(rows, [("efficient", 1), ("performance", 2)]);
    let event = "cpu_core/cycles/".to_owned();
    let off = SamplingOff { event, tid: Some(11), times: 1, off_ns: 3_000, ..SamplingOff::default() };
    assert_eq!(session.summary().sampling_off, [off]);
}

#[test]
fn a_folder_keeps_core_types_and_times_without_samples() {
    let folder = tempfile::tempdir().unwrap();
    let (file, imported) = (folder.path().join("perf.data"), folder.path().join("run.cw"));
    std::fs::write(&file, recording()).unwrap();
    check(&file);
    let source = open_source(&file).unwrap();
    import(source.as_ref(), Target::New(&imported), &PassOptions::default(), &mut |_| ()).unwrap();
    check(&imported);
}
