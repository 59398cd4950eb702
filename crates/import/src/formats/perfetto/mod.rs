//! Perfetto's protobuf traces (`perfetto -o`, `tracebox`, `record_android_trace`, Chrome and the SDK).
//!
//! Spec: `protos/perfetto/trace/*.proto` of github.com/google/perfetto; each file names the messages and field numbers
//! that it reads. Clock: the trace's primary clock, `CLOCK_BOOTTIME` unless a snapshot states another. Times on other
//! packets' clocks are converted by the last `ClockSnapshot` that contains them; kernel events on another ftrace clock
//! by the first bundle that contains both, so that durations stay as the kernel measured them.
//!
//! What the format does not contain: thread affinity; the previous thread of a compact switch (`compact_sched`), which
//! is assumed to be the thread that the CPU's last switch started, so that inconsistent switches cannot be detected
//! there; the kernel's table of states (the kernel release is used instead); and the time of most losses, unless a
//! bundle or a sequence states it.
//!
//! The trace is one stream, since the bundles of CPUs are interleaved. `reach` determines up to which time it is
//! complete. If the trace may contain marks of programs, which are written whenever their buffers are read, no time is
//! complete before the end: ingest then sorts all events, on disk if there are many.
//!
//! ```text
//!   mod      open                      wire     protobuf            packets  bytes → packets, also compressed ones
//!   preface  facts                     stream   packets → events    clocks   all clocks → the trace's own
//!   bundle   kernel events of a CPU    ftrace   one of them         compact  switches and wakeups as columns
//!   states   prev_state numbers        atrace   trace_marker        reach    the complete time
//!   tracks   owners of marks           marks    programs' events    frames   the compositor's
//!   sample   profilers' samples        profile  their callchains    symbols  functions added later
//! ```

mod atrace;
mod bundle;
mod clocks;
mod compact;
mod frames;
mod ftrace;
mod marks;
mod notes;
mod packets;
mod preface;
mod profile;
mod reach;
mod sample;
mod states;
mod stream;
mod symbols;
mod tracks;
mod wire;

use crate::sampled::select;
use ingest::{Availability, Capability, Facts, Fatal, Importer, Input, Offer, Opened, Sampled, Sniff, StateSource};
use packets::Packets;
use preface::Preface;
use std::io::{Cursor, Read, SeekFrom};
use stream::PerfettoStream;
use symbols::Symbols;
use wire::{Fields, Value, varint};

/// The number of bytes examined before the first event: facts about a trace are in its first packets.
const PREFACE_SIZE: u64 = 8 << 20;
/// The bytes of a `synchronization_marker`, which the service writes periodically.
const MARKER: [u8; 16] =
    [0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba, 0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79];

/// The importer.
pub struct Perfetto;

impl Importer for Perfetto {
    fn id(&self) -> &'static str {
        "perfetto"
    }

    fn offer(&self) -> Offer {
        Offer {
            made_by: "perfetto, tracebox, record_android_trace, Chrome and the Perfetto SDK; compressed packets or not",
            provides: &[
                (
                    Capability::Switches,
                    Availability::If("with sched/sched_switch in ftrace_config, as events or compact_sched"),
                ),
                (Capability::Waking, Availability::If("with sched/sched_waking")),
                (Capability::Wakeup, Availability::If("with sched/sched_wakeup")),
                (Capability::Processes, Availability::If("with the data source linux.process_stats")),
                (Capability::Priority, Availability::If("with switches")),
                (Capability::Settings, Availability::If("written by corewise export --to perfetto")),
                (Capability::IdealCpu, Availability::If("written by corewise export --to perfetto")),
                (Capability::Idle, Availability::If("with power/cpu_idle")),
                (Capability::Frequency, Availability::If("with power/cpu_frequency")),
                (
                    Capability::Parking,
                    Availability::If("with cpuhp/cpuhp_enter and cpuhp_exit, or sched/sched_cpu_hotplug"),
                ),
                (Capability::Irq, Availability::If("with irq/*")),
                (Capability::Marks, Availability::If("with track events, or ftrace/print (atrace)")),
                (Capability::Frames, Availability::If("with the data source android.surfaceflinger.frametimeline")),
                (
                    Capability::Stacks,
                    Availability::If("of samples, with the data source linux.perf, or Chrome's sampling profiler"),
                ),
                (Capability::Losses, Availability::Yes),
                (
                    Capability::Topology,
                    Availability::If("with the data source linux.system_info (capacities, highest frequencies)"),
                ),
            ],
            cannot: &[
                "thread affinity",
                "the run time that the kernel charged to a thread",
                "callchains of switches; heap profiles",
                "the previous thread of a CPU's first compact switch (compact_sched), also after a loss; inconsistent switches",
            ],
        }
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        if head.windows(MARKER.len()).any(|w| w == MARKER) && head.first() == Some(&0x0a) {
            return Sniff::Yes;
        }
        let mut rest = head;
        let mut packets = 0;
        while !rest.is_empty() {
            if varint(&mut rest) != Some(10) {
                // The last packet may be cut off by the end of the bytes given here.
                return if rest.is_empty() { found(packets) } else { Sniff::No };
            }
            let Some(length) = varint(&mut rest).and_then(|n| usize::try_from(n).ok()) else { return found(packets) };
            let complete = length <= rest.len();
            let (body, next) = rest.split_at(length.min(rest.len()));
            match is_trace_packet(body, complete) {
                Some(true) => packets += 1,
                Some(false) => {}
                None => return Sniff::No,
            }
            rest = next;
        }
        found(packets)
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        match from {
            Input::File(mut file) => {
                let head = head(&mut file)?;
                let preface = Preface::read(Packets::new(Box::new(head.as_slice())));
                let mut symbols = Symbols::default();
                if preface.callchains || preface.sampled {
                    let failed = |error| Fatal::new(format!("cannot read the file: {error}"), 0);
                    file.seek(SeekFrom::Start(0)).map_err(failed)?;
                    symbols = Symbols::read(Packets::new(Box::new(&mut file)))?;
                    file.seek(SeekFrom::Start(head.len() as u64)).map_err(failed)?;
                }
                Ok(opened(head, Box::new(file), &preface, symbols))
            }
            Input::Pipe(mut pipe) => {
                let head = head(&mut pipe)?;
                let preface = Preface::read(Packets::new(Box::new(head.as_slice())));
                Ok(opened(head, pipe, &preface, Symbols::default()))
            }
            Input::Folder(_) => {
                Err(Fatal::new("this is a folder, not a Perfetto trace: give the trace file itself", 0))
            }
        }
    }
}

/// Reads the first packets.
fn head(from: &mut dyn Read) -> Result<Vec<u8>, Fatal> {
    let mut head = Vec::new();
    match from.take(PREFACE_SIZE).read_to_end(&mut head) {
        Ok(_) => Ok(head),
        Err(error) => Err(Fatal::new(format!("cannot read the file: {error}"), head.len() as u64)),
    }
}

/// Opens a trace of which `head` was read.
fn opened<'a>(head: Vec<u8>, rest: Box<dyn Read + Send + 'a>, preface: &Preface, symbols: Symbols) -> Opened<'a> {
    let sampled = preface.sampled.then(|| sampled(preface));
    let selected = sampled.as_ref().filter(|of| !of.others.is_empty()).map(|of| of.event.clone());
    let mut facts = Facts { sampled, ..facts(preface) };
    if let Some(own) = preface.own.clone() {
        own.apply(&mut facts);
    }
    let packets = Packets::new(Box::new(Cursor::new(head).chain(rest)));
    Opened { facts, streams: vec![Box::new(PerfettoStream::new(packets, preface, symbols, selected))] }
}

/// What the samples are of. If the trace does not say it, they are of the default of `linux.perf`, a clock.
fn sampled(preface: &Preface) -> Sampled {
    let unknown = Sampled { of_time: true, ..Sampled::default() };
    select(preface.events.iter().map(String::as_str)).unwrap_or(unknown)
}

fn found(packets: usize) -> Sniff {
    if packets > 0 { Sniff::Yes } else { Sniff::No }
}

/// Whether a packet has the fields of a `TracePacket`, with their types: `None` if it cannot be one, `false` if that is
/// undecided.
fn is_trace_packet(body: &[u8], complete: bool) -> Option<bool> {
    let mut known = false;
    let mut fields = Fields::of(body);
    loop {
        let cut = fields.peek();
        match fields.next() {
            Ok(None) => return Some(known),
            // The packet is longer than the bytes given, so this field may be cut off.
            Err(_) if !complete => return Some(known || matches!(cut, Some((1 | 2 | 6 | 33 | 45 | 50 | 67, true)))),
            Err(_) => return None,
            // Times, sequences, flags and clocks are numbers; the contents of packets are messages.
            Ok(Some((3 | 8 | 10 | 13 | 41 | 42 | 58 | 79 | 87, Value::Number(_)))) => known = true,
            Ok(Some((1 | 2 | 6 | 11 | 12 | 33..=36 | 45 | 50 | 59 | 60 | 67 | 69, Value::Bytes(_)))) => known = true,
            Ok(Some((1..=3 | 6 | 8 | 10..=13 | 33..=36 | 41 | 42 | 45 | 50 | 58..=60 | 79 | 87, _))) => return None,
            Ok(Some((4..=1000, _))) => {}
            Ok(Some(_)) => return None,
        }
    }
}

fn facts(preface: &Preface) -> Facts {
    let left_out = |name: &str| {
        let requested = preface.requested.as_ref()?;
        let same_name = |n: &String| n == name || n.rsplit('/').next() == Some(name);
        // A requested event is not necessarily enabled: not every kernel has every event.
        (!requested.iter().any(same_name)).then_some(false)
    };
    let (has_waking, has_wakeup) = (left_out("sched_waking"), left_out("sched_wakeup"));
    let mut lacks = vec!["A Perfetto trace does not contain thread affinity.".to_owned()];
    if !preface.kernel && left_out("sched_switch").is_some() {
        lacks.push(
            "No context switches were recorded: add sched/sched_switch and sched/sched_waking to ftrace_config."
                .to_owned(),
        );
    } else if has_waking == Some(false) && has_wakeup == Some(false) {
        lacks.push("Neither sched_waking nor sched_wakeup was recorded.".to_owned());
    }
    if preface.release.is_empty() {
        lacks.push(
            "The kernel release was not recorded: thread states are read as written by Linux 4.14 and later."
                .to_owned(),
        );
    }
    Facts {
        format: Perfetto.id().to_owned(),
        clock: clock_name(preface.clock),
        has_waking,
        has_wakeup,
        whole_machine: true,
        recorded: preface.recorded.clone(),
        states: match () {
            // corewise writes them as it recorded them; of foreign numbers there are none.
            () if preface.own.is_some() || preface.numbering.is_foreign() => StateSource::Certain,
            () if preface.release.is_empty() => StateSource::Assumed,
            () => StateSource::Release,
        },
        machine: preface.machine(),
        about: preface.about.clone(),
        lacks,
        ..Facts::default()
    }
}

fn clock_name(clock: u32) -> String {
    match clock {
        1 => "CLOCK_REALTIME".to_owned(),
        clocks::MONOTONIC => "CLOCK_MONOTONIC".to_owned(),
        5 => "CLOCK_MONOTONIC_RAW".to_owned(),
        clocks::BOOTTIME => "CLOCK_BOOTTIME".to_owned(),
        other => format!("Perfetto clock {other}"),
    }
}
