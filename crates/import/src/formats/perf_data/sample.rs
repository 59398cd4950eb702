//! Locates the fields of a record: an attribute's `sample_type` determines which fields there are, in a fixed order
//! (`perf_event.h`, PERF_RECORD_SAMPLE and `struct sample_id`).

use super::header::Attr;
use super::user_stack::{self, Parts, UserStack};
use crate::tracepoint::ByteOrder;
use model::{CoreType, CpuId, Ns, Pid, Tid};

const IP: u64 = 1;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
const IDENTIFIER: u64 = 1 << 16;

/// More CPUs than Linux supports.
pub(super) const MAX_CPUS: u32 = 1 << 16;

const TOTAL_TIME_ENABLED: u64 = 1;
const TOTAL_TIME_RUNNING: u64 = 1 << 1;
const READ_ID: u64 = 1 << 2;
const READ_GROUP: u64 = 1 << 3;
const READ_LOST: u64 = 1 << 4;

/// The fields of one attribute's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Offsets in a sample's body; `None` if not recorded.
    ip: Option<usize>,
    tid: Option<usize>,
    time: Option<usize>,
    cpu: Option<usize>,
    /// The offset of the fields of variable length.
    fixed: usize,
    read: Option<u64>,
    callchain: bool,
    /// Whether a record follows the callchain, and whether it is that of a tracepoint.
    has_raw: bool,
    raw: bool,
    user: Parts,
    /// Whether the samples are those of a profiler.
    profile: bool,
    /// The type of the cores that the event counts on, if its PMU says it.
    pub(super) core: CoreType,
    /// Offsets from the end of another record's body (`sample_id_all`).
    id_tid: Option<usize>,
    id_time: Option<usize>,
    id_cpu: Option<usize>,
    /// The length of the `sample_id`.
    pub(super) id_size: usize,
}

/// The process, thread, time and CPU of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) pid: Pid,
    pub(super) tid: Tid,
    pub(super) at: Ns,
    pub(super) cpu: CpuId,
}

/// The parts of a sample that are read.
pub(super) struct Sample<'b> {
    pub(super) stamp: Stamp,
    /// The callchain's addresses, as bytes.
    pub(super) chain: &'b [u8],
    /// The tracepoint's record.
    pub(super) raw: Option<&'b [u8]>,
    /// The address at which a profiler found the thread. The callchain contains it too, if there is one.
    pub(super) ip: Option<u64>,
    pub(super) core: CoreType,
    /// What the sample has of the program's stack, other than its callchain.
    pub(super) user: UserStack<'b>,
}

impl Layout {
    pub(super) fn of(attr: &Attr) -> Self {
        let has = |bit| attr.sample_type & bit != 0;
        let mut at = 0;
        let mut place = |bit| {
            let offset = has(bit).then_some(at);
            at += if has(bit) { 8 } else { 0 };
            offset
        };
        place(IDENTIFIER);
        let ip = place(IP);
        let tid = place(TID);
        let time = place(TIME);
        for bit in [ADDR, ID, STREAM_ID] {
            place(bit);
        }
        let cpu = place(CPU);
        place(PERIOD);
        let fixed = at;
        // After other records: tid, time, id, stream id, cpu, identifier; counted from the end.
        let mut from_end = 0;
        let mut back = |bit| {
            from_end += if has(bit) && attr.sample_id_all { 8 } else { 0 };
            (has(bit) && attr.sample_id_all).then_some(from_end)
        };
        back(IDENTIFIER);
        let id_cpu = back(CPU);
        back(STREAM_ID);
        back(ID);
        let id_time = back(TIME);
        let id_tid = back(TID);
        Self {
            ip,
            tid,
            time,
            cpu,
            fixed,
            read: has(READ).then_some(attr.read_format),
            callchain: has(CALLCHAIN),
            // Some tools request it for all events. Only tracepoints have a record of their own there.
            has_raw: has(RAW),
            raw: has(RAW) && attr.is_tracepoint(),
            user: Parts::of(attr),
            profile: attr.is_profile,
            core: attr.core,
            id_tid,
            id_time,
            id_cpu,
            id_size: from_end,
        }
    }

    /// Whether samples contain a time.
    pub(super) fn has_time(&self) -> bool {
        self.time.is_some()
    }

    /// Whether samples contain a CPU.
    pub(super) fn has_cpu(&self) -> bool {
        self.cpu.is_some()
    }

    /// Splits a sample into its parts; `None` if the record is too short.
    #[inline]
    pub(super) fn sample<'b>(&self, body: &'b [u8], order: ByteOrder) -> Option<Sample<'b>> {
        let stamp = stamp(body, order, self.tid, self.time, self.cpu)?;
        let mut at = self.fixed;
        if let Some(format) = self.read {
            at = at.checked_add(read_size(format, body.get(at..)?, order)?)?;
        }
        let mut chain: &[u8] = &[];
        if self.callchain {
            let count = usize::try_from(order.u64_at(body, at)?).ok()?;
            chain = body.get(at + 8..)?.get(..count.checked_mul(8)?)?;
            at += 8 + chain.len();
        }
        let raw = if self.raw || self.has_raw && self.user.any() {
            let size = order.u32_at(body, at)? as usize;
            let raw = body.get(at + 4..)?.get(..size)?;
            at += 4 + size;
            Some(raw).filter(|_| self.raw)
        } else {
            None
        };
        // A damaged one leaves the rest of the sample as it is.
        let user = if self.user.any() { user_stack::read(self.user, body.get(at..)?, order) } else { None };
        let ip = self.ip.filter(|_| self.profile).and_then(|at| order.u64_at(body, at));
        Some(Sample { stamp, chain, raw, ip, core: self.core, user: user.unwrap_or_default() })
    }

    /// Returns the stamp at the end of a record that is not a sample; `None` if there is none.
    pub(super) fn trailing_stamp(&self, body: &[u8], order: ByteOrder) -> Option<Stamp> {
        let from_start = |back: usize| body.len().checked_sub(back);
        let tid = self.id_tid.and_then(from_start);
        stamp(body, order, tid, Some(from_start(self.id_time?)?), self.id_cpu.and_then(from_start))
    }
}

#[inline]
fn stamp(body: &[u8], order: ByteOrder, tid: Option<usize>, time: Option<usize>, cpu: Option<usize>) -> Option<Stamp> {
    let (pid, tid) = match tid {
        Some(at) => (Pid(order.u32_at(body, at)? as i32), Tid(order.u32_at(body, at + 4)? as i32)),
        None => (Pid::UNKNOWN, Tid::UNKNOWN),
    };
    let cpu = match cpu {
        Some(at) => Some(CpuId(order.u32_at(body, at)?)).filter(|c| c.0 < MAX_CPUS || *c == CpuId::UNKNOWN)?,
        None => CpuId::UNKNOWN,
    };
    // A time beyond 292 years, or a CPU number that Linux does not support: the record is damaged.
    let at = Ns(i64::try_from(order.u64_at(body, time?)?).ok()?);
    Some(Stamp { pid, tid, at, cpu })
}

/// Returns the size of the counter readings in a sample.
fn read_size(format: u64, bytes: &[u8], order: ByteOrder) -> Option<usize> {
    let words = |bits: u64| (format & bits).count_ones() as usize;
    let times = words(TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING);
    let each = 1 + words(READ_ID | READ_LOST);
    let count = if format & READ_GROUP == 0 {
        times + each
    } else {
        let members = usize::try_from(order.u64_at(bytes, 0)?).ok()?;
        members.checked_mul(each)?.checked_add(1 + times)?
    };
    count.checked_mul(8)
}
