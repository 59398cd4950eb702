//! Perfetto's protobuf traces (`perfetto -o`, `tracebox`, `record_android_trace`, Chrome's and the SDK's own).
//!
//! Spec: `protos/perfetto/trace/*.proto` of github.com/google/perfetto; the fields read here are named by their messages and
//! numbers in each file. Clock: the trace's primary one, `CLOCK_BOOTTIME` unless a snapshot says otherwise. Other packets'
//! clocks are brought to it by the last `ClockSnapshot` that knows them; kernel events of another ftrace clock by the first
//! bundle that tells both, so that durations stay the kernel's own.
//!
//! What the format cannot tell: which CPUs a thread may use; whom a packed switch (`compact_sched`) left: it is taken to be
//! whom the CPU's last switch brought in, so that a link that the kernel broke without saying so cannot be seen there; the kernel's table of states (the kernel's release decides); where in time most losses were,
//! unless a bundle or a sequence says so.
//!
//! The trace is one stream, since CPUs' bundles come in turns; `reach` says how far it has told everything. Where programs
//! may have marks in it nothing is promised before the end, because they come as late as their buffers are read: ingest then
//! sorts all, on disk where it is large.
//!
//! ```text
//!   mod      open                      wire     protobuf            packets  bytes → packets, also compressed ones
//!   preface  facts                     stream   packets → events    clocks   all clocks → the trace's own
//!   bundle   kernel events of a CPU    ftrace   one of them         compact  switches and wakings as columns
//!   states   prev_state numbers        atrace   trace_marker        reach    what is final
//!   tracks   whose                     marks    programs' events    frames   the compositor's
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
mod reach;
mod states;
mod stream;
mod tracks;
mod wire;

use ingest::{Facts, Fatal, Importer, Input, Offer, Opened, Sniff, Tells};
use packets::Packets;
use preface::Preface;
use std::io::{Cursor, Read};
use stream::PerfettoStream;
use wire::{Fields, Value, varint};

/// How much is looked at before the first event: what a trace says of itself stands among its first packets.
const AHEAD: u64 = 8 << 20;
/// The bytes of a `synchronization_marker`, which the service writes now and then.
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
            switches: Tells::If("with sched/sched_switch in ftrace_config, as events or compact_sched"),
            waking: Tells::If("with sched/sched_waking"),
            wakeup: Tells::If("with sched/sched_wakeup"),
            processes: Tells::If("with the data source linux.process_stats"),
            priority: Tells::If("with switches"),
            settings: Tells::If("with what corewise export --to perfetto adds"),
            ideal_cpu: Tells::If("with what corewise export --to perfetto adds"),
            idle: Tells::If("with power/cpu_idle"),
            frequency: Tells::If("with power/cpu_frequency"),
            parking: Tells::If("with cpuhp/cpuhp_enter and cpuhp_exit, or sched/sched_cpu_hotplug"),
            irq: Tells::If("with irq/*"),
            charges: Tells::No,
            marks: Tells::If("with track events, or ftrace/print (atrace)"),
            frames: Tells::If("with the data source android.surfaceflinger.frametimeline"),
            stacks: Tells::No,
            yields: Tells::No,
            losses: Tells::Yes,
            topology: Tells::If("with the data source linux.system_info (capacities, highest frequencies)"),
            cannot: &[
                "which CPUs a thread may use",
                "what the kernel charged a thread for running",
                "callchains: perf samples and heap profiles are left out",
                "whom a packed switch (compact_sched) left, at a CPU's first one and after a loss; broken links between them",
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
                // The last one may be cut by the end of what is seen here.
                return if rest.is_empty() { found(packets) } else { Sniff::No };
            }
            let Some(length) = varint(&mut rest).and_then(|n| usize::try_from(n).ok()) else { return found(packets) };
            let whole = length <= rest.len();
            let (body, behind) = rest.split_at(length.min(rest.len()));
            match plausible(body, whole) {
                Some(true) => packets += 1,
                Some(false) => {}
                None => return Sniff::No,
            }
            rest = behind;
        }
        found(packets)
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        let mut from: Box<dyn Read + Send + 'a> = match from {
            Input::File(file) => Box::new(file),
            Input::Pipe(pipe) => pipe,
            Input::Folder(_) => return Err(Fatal::new("a folder is no Perfetto trace", 0)),
        };
        let mut head = Vec::new();
        if let Err(error) = from.by_ref().take(AHEAD).read_to_end(&mut head) {
            return Err(Fatal::new(format!("cannot read: {error}"), head.len() as u64));
        }
        let preface = Preface::read(Packets::new(Box::new(head.as_slice())));
        let mut facts = facts(&preface);
        if let Some(own) = preface.own.clone() {
            own.put(&mut facts);
        }
        let packets = Packets::new(Box::new(Cursor::new(head).chain(from)));
        Ok(Opened { facts, streams: vec![Box::new(PerfettoStream::new(packets, &preface))] })
    }
}

fn found(packets: usize) -> Sniff {
    if packets > 0 { Sniff::Yes } else { Sniff::No }
}

/// Whether a packet has the fields of a `TracePacket`, each of its kind: `None` where it cannot be one, false where it
/// says nothing either way.
fn plausible(body: &[u8], whole: bool) -> Option<bool> {
    let mut known = false;
    let mut fields = Fields::of(body);
    loop {
        let cut = fields.peek();
        match fields.next() {
            Ok(None) => return Some(known),
            // The packet is longer than what is seen of it, and so may this field be.
            Err(_) if !whole => return Some(known || matches!(cut, Some((1 | 2 | 6 | 33 | 45 | 50 | 67, true)))),
            Err(_) => return None,
            // Times, sequences, flags and clocks are numbers; all that a packet carries are messages.
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
        let asked = preface.asked.as_ref()?;
        let named = |n: &String| n == name || n.rsplit('/').next() == Some(name);
        // Asked for is not yet enabled: not every kernel has every event.
        (!asked.iter().any(named)).then_some(false)
    };
    let (has_waking, has_wakeup) = (left_out("sched_waking"), left_out("sched_wakeup"));
    let mut lacks = vec!["Which CPUs a thread may use is not in a Perfetto trace.".to_owned()];
    if !preface.kernel && left_out("sched_switch").is_some() {
        lacks.push(
            "No context switches were recorded: add sched/sched_switch and sched/sched_waking to ftrace_config."
                .to_owned(),
        );
    } else if has_waking == Some(false) && has_wakeup == Some(false) {
        lacks
            .push("Neither sched_waking nor sched_wakeup was recorded: ready time after a wait is unknown.".to_owned());
    }
    if preface.release.is_empty() {
        lacks.push(
            "The kernel's release is not told: state numbers are read as those of Linux 4.14 and later.".to_owned(),
        );
    }
    Facts {
        format: Perfetto.id().to_owned(),
        clock: clock_name(preface.clock),
        has_waking,
        has_wakeup,
        whole_machine: true,
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
        other => format!("Perfetto's clock {other}"),
    }
}
