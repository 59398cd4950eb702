//! Block device requests: issued to the driver, and completed.

use crate::tracepoint::table::{Added, FieldDef, FieldValues, Meaning, Output, Reader, Tracepoint, field};
use model::{BlockOperation, BlockRequest, Device, EventKind, Tid};

/// Bytes per sector.
const SECTOR: i64 = 512;

/// `TRACE_FLAG_HARDIRQ` and `TRACE_FLAG_SOFTIRQ`: the current task did not issue the request.
const INTERRUPT: i64 = 0x18;

/// LTTng's bits of `rwbs` (its instrumentation/events/block.h); other formats record `rwbs` as text.
const WRITE: i64 = 1 << 0;
const DISCARD: i64 = 1 << 1;
const READ: i64 = 1 << 2;
const FLUSH: i64 = 1 << 8;

const NUMBERS: &[FieldDef] = &[
    field("dev").optional(),
    field("sector").perfetto(2),
    field("nr_sector").perfetto(3),
    // Printed text contains the device's major and minor numbers.
    field("major").not_in_records(),
    field("minor").not_in_records(),
    field("rwbs_bits").lttng("rwbs").not_in_records(),
    field("common_flags").optional(),
    // Perfetto records the device number of user space, not the kernel's.
    field("dev_of_user_space").perfetto(1).not_in_records(),
];
const DEV: usize = 0;
const SECTOR_NR: usize = 1;
const SECTORS: usize = 2;
const MAJOR: usize = 3;
const MINOR: usize = 4;
const BITS: usize = 5;
const FLAGS: usize = 6;
const DEV_OF_USER_SPACE: usize = 7;

fn operation(v: &FieldValues<'_>, bytes: u64) -> BlockOperation {
    match v.recorded(BITS) {
        // Before Linux 4.8, a flush was an empty write with a request to flush (`FWS`).
        None if bytes == 0 && v.text(0).starts_with(b"F") => BlockOperation::Flush,
        None => BlockOperation::from_rwbs(v.text(0)),
        Some(bits) if bits & DISCARD != 0 => BlockOperation::Discard,
        Some(bits) if bits & WRITE != 0 => BlockOperation::Write,
        Some(bits) if bits & READ != 0 => BlockOperation::Read,
        Some(bits) if bits & FLUSH != 0 => BlockOperation::Flush,
        Some(_) => BlockOperation::Other,
    }
}

/// Returns the device of a number that `makedev(3)` composed.
fn from_user_space(dev: u64) -> Device {
    let major = dev >> 8 & 0xfff | dev >> 32 & 0xffff_f000;
    let minor = dev & 0xff | dev >> 12 & 0xffff_ff00;
    Device::new(major as u32, minor as u32)
}

fn add(done: bool, v: &FieldValues<'_>, out: Output<'_>) -> Added {
    let device = match (v.number(DEV), v.recorded(DEV_OF_USER_SPACE)) {
        (_, Some(dev)) => from_user_space(dev.cast_unsigned()),
        (0, None) => Device::new(v.number(MAJOR) as u32, v.number(MINOR) as u32),
        (dev, None) => Device(dev as u32),
    };
    let bytes = v.number(SECTORS).max(0).saturating_mul(SECTOR).cast_unsigned();
    // A flush has no sector: its issue records 0, its completion (sector_t)-1.
    let sector = v.number(SECTOR_NR).max(0).cast_unsigned();
    let request = BlockRequest { device, sector, bytes, operation: operation(v, bytes), done };
    let interrupt = v.number(FLAGS) & INTERRUPT != 0;
    let tid = if done || interrupt { Tid::UNKNOWN } else { v.current };
    out.add(EventKind::Block { tid, request })
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::tracepoint::{Arguments, Names, Place};
    use model::{Batch, Ns, StackId};

    /// Texts as the `print fmt` of each tracepoint prints them.
    #[test]
    fn texts_of_the_kernel_are_read() {
        for (name, args, expected) in [
            ("block_rq_issue", "8,0 WS 4096 () 1234 + 8 none,0,0 [fio]", (3, 1234, 4096, BlockOperation::Write, false)),
            ("block_rq_issue", "8,0 FF 0 () 0 + 0 [kworker/0:1H]", (3, 0, 0, BlockOperation::Flush, false)),
            ("block_rq_issue", "8,0 FWS 0 () 18446744073709551615 + 0 [a]", (3, 0, 0, BlockOperation::Flush, false)),
            ("block_rq_complete", "8,0 RA () 1234 + 8 none,0,0 [0]", (-1, 1234, 4096, BlockOperation::Read, true)),
            ("block_rq_complete", "8,0 FF () 18446744073709551615 + 0 [0]", (-1, 0, 0, BlockOperation::Flush, true)),
        ] {
            let place = Place { at: Ns(5), current: Tid(3), stack: StackId::NONE };
            let (mut names, mut out) = (Names::new(), Batch::default());
            let mut arguments = Arguments::new(Reader::FtraceText);
            let what = arguments.decode(name.as_bytes(), args.as_bytes(), place, &mut names, &mut out).unwrap();
            let EventKind::Block { tid, request } = what else { panic!("{what:?}") };
            let BlockRequest { device, sector, bytes, operation, done } = request;
            assert_eq!((device, (tid.0, sector, bytes, operation, done)), (Device::new(8, 0), expected), "{args}");
        }
    }
}
