//! Samples of profilers: `PerfSample` (data source `linux.perf`) and Chrome's `StreamingProfilePacket`, of
//! `profiling/profile_packet.proto`, and what they are of, `common/perf_events.proto`.

use super::marks::for_each_number;
use super::wire::{Fields, Malformed};
use model::{CallchainEnd, CpuId, Pid, Tid};

/// The maximum number of samples in a packet of several; Chrome writes some dozens.
const MAX_SAMPLES: usize = 1 << 16;

/// A `PerfSample`.
pub(super) struct Sample {
    pub(super) cpu: CpuId,
    pub(super) pid: Pid,
    pub(super) tid: Tid,
    /// The `iid` of its callchain; 0 if it has none.
    pub(super) callstack: u64,
    /// How the callchain ended, if something is missing.
    pub(super) ended: Option<CallchainEnd>,
}

/// What a `PerfSample` is.
pub(super) enum Kind {
    Sample(Sample),
    /// The kernel had no room for records.
    Lost,
    /// The profiler reached its limit of memory or CPU time, and stopped.
    Stopped,
    Other,
}

impl Sample {
    pub(super) fn of(message: &[u8]) -> Result<Kind, Malformed> {
        let mut sample = Self { cpu: CpuId::UNKNOWN, pid: Pid::UNKNOWN, tid: Tid::UNKNOWN, callstack: 0, ended: None };
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => sample.cpu = CpuId(value.number() as u32),
                2 => sample.pid = Pid(value.int()),
                3 => sample.tid = Tid(value.int()),
                4 => sample.callstack = value.number(),
                16 => sample.ended = ended(value.number()),
                17 if value.number() > 0 => return Ok(Kind::Lost),
                19 => return stopped(value.bytes()),
                _ => {}
            }
        }
        Ok(if sample.tid.0 > 0 { Kind::Sample(sample) } else { Kind::Other })
    }
}

/// `PerfSample.ProducerEvent`.
fn stopped(message: &[u8]) -> Result<Kind, Malformed> {
    let mut fields = Fields::of(message);
    while let Some((field, value)) = fields.next()? {
        if field == 1 && value.number() == GUARDRAIL {
            return Ok(Kind::Stopped);
        }
    }
    Ok(Kind::Other)
}

/// `PROFILER_STOP_GUARDRAIL`.
const GUARDRAIL: u64 = 1;

/// Returns how unwinding ended (`Profiling.StackUnwindError`); `None`: at the root, or for a reason of libunwindstack's own.
fn ended(error: u64) -> Option<CallchainEnd> {
    Some(match error {
        // MEMORY_INVALID
        2 => CallchainEnd::Unreadable,
        // UNWIND_INFO, UNSUPPORTED
        3 | 4 => CallchainEnd::NoTable,
        // INVALID_MAP, INVALID_ELF
        5 | 8 => CallchainEnd::NotCode,
        // MAX_FRAMES_EXCEEDED
        6 => CallchainEnd::Depth,
        _ => return None,
    })
}

/// Reads a `StreamingProfilePacket`: of each sample, the `iid` of its callchain, and the time in µs since the one before on its sequence.
pub(super) fn streaming(message: &[u8]) -> Result<(Vec<u64>, Vec<i64>), Malformed> {
    let (mut callstacks, mut steps) = (Vec::new(), Vec::new());
    let mut fields = Fields::of(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => for_each_number(value, |iid| callstacks.extend((callstacks.len() < MAX_SAMPLES).then_some(iid))),
            2 => for_each_number(value, |us| steps.extend((steps.len() < MAX_SAMPLES).then_some(us as i64))),
            _ => {}
        }
    }
    Ok((callstacks, steps))
}

/// The event of Chrome's samples: it stops each thread at intervals, also one that waits.
pub(super) const ELAPSED: &str = "elapsed time";

/// The maximum length of the name of an event, in bytes.
const MAX_NAME: usize = 256;

/// Returns the event of a sequence's samples from its defaults (`TracePacketDefaults`).
pub(super) fn of_defaults(defaults: &[u8]) -> Result<Option<String>, Malformed> {
    let mut fields = Fields::of(defaults);
    while let Some((field, value)) = fields.next()? {
        if field == PERF_SAMPLE_DEFAULTS {
            return event(value.bytes());
        }
    }
    Ok(None)
}

/// `TracePacketDefaults.perf_sample_defaults`.
const PERF_SAMPLE_DEFAULTS: u32 = 12;

/// Returns the event whose counts samples are of (`PerfSampleDefaults.timebase`), by perf's name; empty if it has none.
pub(super) fn event(defaults: &[u8]) -> Result<Option<String>, Malformed> {
    let mut fields = Fields::of(defaults);
    while let Some((field, value)) = fields.next()? {
        if field == 1 {
            return timebase(value.bytes()).map(Some);
        }
    }
    Ok(None)
}

/// `PerfEvents.Timebase`: the name that the user gave is not that of an event.
fn timebase(message: &[u8]) -> Result<String, Malformed> {
    // The default of the format.
    let mut event = "cpu-clock".to_owned();
    let mut fields = Fields::of(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            3 => event = tracepoint(value.bytes())?,
            4 => event = counter(value.number()).to_owned(),
            5 => event = raw(value.bytes())?,
            _ => {}
        }
    }
    Ok(event)
}

fn tracepoint(message: &[u8]) -> Result<String, Malformed> {
    let mut fields = Fields::of(message);
    while let Some((field, value)) = fields.next()? {
        if field == 1 {
            let name = value.bytes();
            return Ok(String::from_utf8_lossy(name.get(..MAX_NAME).unwrap_or(name)).replace('/', ":"));
        }
    }
    Ok(String::new())
}

/// `PerfEvents.RawEvent`, as perf writes it.
fn raw(message: &[u8]) -> Result<String, Malformed> {
    let (mut config, mut pmu) = (0, String::new());
    let mut fields = Fields::of(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            2 => config = value.number(),
            5 => pmu = String::from_utf8_lossy(value.bytes().get(..MAX_NAME).unwrap_or(value.bytes())).into_owned(),
            _ => {}
        }
    }
    Ok(if pmu.is_empty() { format!("r{config:x}") } else { format!("{pmu}/config={config:#x}/") })
}

/// `PerfEvents.Counter`.
fn counter(number: u64) -> &'static str {
    match number {
        1 => "cpu-clock",
        2 => "page-faults",
        3 => "task-clock",
        4 => "context-switches",
        5 => "cpu-migrations",
        6 => "minor-faults",
        7 => "major-faults",
        8 => "alignment-faults",
        9 => "emulation-faults",
        10 => "cycles",
        11 => "instructions",
        12 => "cache-references",
        13 => "cache-misses",
        14 => "branches",
        15 => "branch-misses",
        16 => "bus-cycles",
        17 => "stalled-cycles-frontend",
        18 => "stalled-cycles-backend",
        19 => "ref-cycles",
        _ => "",
    }
}
