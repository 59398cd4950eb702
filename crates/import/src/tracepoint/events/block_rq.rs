//! A request to a block device is handed to its driver, or is done.

use crate::tracepoint::table::{Added, FieldDef, FieldValues, Meaning, Output, Reader, Tracepoint, field};
use model::{BlockOperation, BlockRequest, Device, Tid, What};

/// Bytes of a sector.
const SECTOR: i64 = 512;

/// `TRACE_FLAG_HARDIRQ` and `TRACE_FLAG_SOFTIRQ`: the task that was current did not ask for it.
const INTERRUPT: i64 = 0x18;

/// LTTng's bits of `rwbs` (its instrumentation/events/block.h), in which letters are told elsewhere.
const WRITE: i64 = 1 << 0;
const DISCARD: i64 = 1 << 1;
const READ: i64 = 1 << 2;
const FLUSH: i64 = 1 << 8;

const NUMBERS: &[FieldDef] = &[
    field("dev").perfetto(1).optional(),
    field("sector").perfetto(2),
    field("nr_sector").perfetto(3),
    // Text has the device's two numbers.
    field("major").not_in_records(),
    field("minor").not_in_records(),
    field("rwbs_bits").lttng("rwbs").not_in_records(),
    field("common_flags").optional(),
];
const DEV: usize = 0;
const SECTOR_NR: usize = 1;
const SECTORS: usize = 2;
const MAJOR: usize = 3;
const MINOR: usize = 4;
const BITS: usize = 5;
const FLAGS: usize = 6;

fn operation(v: &FieldValues<'_>) -> BlockOperation {
    match v.number(BITS) {
        0 => BlockOperation::of_letters(v.text(0)),
        bits if bits & DISCARD != 0 => BlockOperation::Discard,
        bits if bits & WRITE != 0 => BlockOperation::Write,
        bits if bits & READ != 0 => BlockOperation::Read,
        bits if bits & FLUSH != 0 => BlockOperation::Flush,
        _ => BlockOperation::Other,
    }
}

fn add(done: bool, v: &FieldValues<'_>, out: Output<'_>) -> Added {
    let device = match v.number(DEV) {
        0 => Device::new(v.number(MAJOR) as u32, v.number(MINOR) as u32),
        dev => Device(dev as u32),
    };
    let bytes = v.number(SECTORS).max(0).saturating_mul(SECTOR).cast_unsigned();
    // A flush has no place: its issue says 0, its completion (sector_t)-1.
    let sector = v.number(SECTOR_NR).max(0).cast_unsigned();
    let request = BlockRequest { device, sector, bytes, operation: operation(v), done };
    let interrupt = v.number(FLAGS) & INTERRUPT != 0;
    let tid = if done || interrupt { Tid::UNKNOWN } else { v.current };
    out.add(What::Block { tid, request })
}

pub(super) const TRACEPOINTS: &[Tracepoint] = &[
    // 8,0 WS 4096 () 1234 + 8 none,0,0 [fio]
    Tracepoint {
        name: "block_rq_issue",
        numbers: NUMBERS,
        texts: &[field("rwbs").perfetto(5).optional()],
        printed: &["{major},{minor} {rwbs} {#} ({}) {sector} + {nr_sector}"],
        perfetto: 45,
        meaning: Meaning::Of(|v, out| add(false, v, out)),
        not_read_from: &[Reader::SchedViz],
        ..Tracepoint::NEW
    },
    // 8,0 WS () 1234 + 8 none,0,0 [0]
    Tracepoint {
        name: "block_rq_complete",
        numbers: NUMBERS,
        texts: &[field("rwbs").perfetto(5).optional()],
        printed: &["{major},{minor} {rwbs} ({}) {sector} + {nr_sector}"],
        perfetto: 125,
        meaning: Meaning::Of(|v, out| add(true, v, out)),
        not_read_from: &[Reader::SchedViz],
        ..Tracepoint::NEW
    },
];
