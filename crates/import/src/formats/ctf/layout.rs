//! The compiled metadata: how packets and events of each kind of stream are read.

use super::clock::Clock;
use super::compile::{BUDGET, Compiled, Compiler};
use super::kinds::{self, Kind, slot};
use super::program::{Program, Slot};
use super::states;
use super::types::{EventDecl, Metadata, StreamDecl};
use super::ust;
use crate::tracepoint::{ByteOrder, States};
use ingest::Fatal;
use model::CpuId;
use rustc_hash::FxHashMap;

/// The first number of each packet.
const MAGIC: u64 = 0xc1fc_1fc1;
/// What LTTng subtracts from the kernel's priorities (`MAX_RT_PRIO`).
const LTTNG_PRIO: i64 = 100;
/// Ids up to which events are found by place.
const DENSE: u64 = 1 << 14;

/// All of it.
#[derive(Debug)]
pub(super) struct Layouts {
    header: PacketHeader,
    classes: FxHashMap<u64, Class>,
    pub(super) states: States,
    /// What a packet begins with, where it has a magic number: that, and the trace's uuid behind it.
    pub(super) begin: Vec<u8>,
    /// Slots that any program needs.
    pub(super) slots: usize,
}

#[derive(Debug)]
struct PacketHeader {
    program: Program,
    magic: Option<Slot>,
    stream: Option<Slot>,
}

/// A kind of stream.
#[derive(Debug)]
pub(super) struct Class {
    packet: PacketContext,
    /// An event's header: leaves the clock's reading and the id.
    pub(super) header: Program,
    pub(super) clock: Clock,
    dense: Vec<Option<Box<EventLayout>>>,
    sparse: FxHashMap<u64, EventLayout>,
}

/// The packet's header and context, read as one.
#[derive(Debug)]
struct PacketContext {
    program: Program,
    begin: Option<Slot>,
    content: Option<Slot>,
    size: Option<Slot>,
    sequence: Option<Slot>,
    /// And how many bits it has before it wraps.
    discarded: Option<(Slot, u32)>,
    cpu: Option<Slot>,
}

/// A kind of event.
#[derive(Debug)]
pub(super) struct EventLayout {
    /// `None`: its types cannot be read.
    pub(super) program: Option<Program>,
    pub(super) kind: Option<Kind>,
    /// What stands beside it: the task that was current, and where it ran.
    pub(super) tid: Option<Slot>,
    pub(super) pid: Option<Slot>,
    pub(super) name: Option<Slot>,
    pub(super) cpu: Option<Slot>,
    pub(super) side_band: bool,
}

/// What a packet says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PacketHead {
    pub(super) stream: u64,
    /// The clock's reading at its begin.
    pub(super) begin: Option<u64>,
    /// Bits that count, and of it all; `None`: up to the end of the file.
    pub(super) sizes: Option<(u64, u64)>,
    pub(super) sequence: Option<u64>,
    pub(super) discarded: Option<(u64, u32)>,
    pub(super) cpu: Option<CpuId>,
    /// Bits of the head itself.
    pub(super) bits: usize,
}

/// Why a packet's head cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoHead {
    /// The bytes end too early.
    Short,
    /// They are none.
    Wrong(&'static str),
}

impl Layouts {
    /// Compiles the metadata.
    pub(super) fn new(told: &Metadata) -> Result<Self, Fatal> {
        let mut budget = BUDGET;
        let mut slots = 0;
        let header = {
            let compiled = packet(told, None, &mut budget)?;
            slots = slots.max(compiled.slots);
            let of = |name| slot(&compiled.found, "packet", name);
            PacketHeader { magic: of("magic"), stream: of("stream_id"), program: compiled.program }
        };
        let mut begin = Vec::new();
        if header.magic.is_some() {
            let magic = MAGIC as u32;
            begin.extend(if told.order == ByteOrder::Little { magic.to_le_bytes() } else { magic.to_be_bytes() });
            begin.extend(told.uuid.iter().flatten());
        }
        // Events may be declared without any stream: then there is one, and it says nothing of its own.
        let alone = [StreamDecl::default()];
        let streams = if told.streams.is_empty() { &alone } else { told.streams.as_slice() };
        let mut classes = FxHashMap::default();
        for stream in streams {
            let class = Class::new(told, stream, &mut budget, &mut slots)?;
            classes.insert(stream.id, class);
        }
        let release = told.env("kernel_release").or_else(|| told.env("release"));
        let nice = if told.env("tracer_name") == Some("lttng-modules") { LTTNG_PRIO } else { 0 };
        for event in &told.events {
            let Some((stream, class)) = told
                .streams
                .iter()
                .find(|s| s.id == event.stream)
                .or(alone.first())
                .and_then(|s| classes.get_mut(&s.id).map(|class| (s, class)))
            else {
                continue;
            };
            let layout = EventLayout::new(told, stream, event, nice, &mut budget, &mut slots);
            class.insert(event.id, layout);
        }
        Ok(Self { header, classes, states: states::of_release(release), begin, slots })
    }

    pub(super) fn class(&self, stream: u64) -> Option<&Class> {
        self.classes.get(&stream)
    }

    /// Reads the head of the packet that begins with `bytes`.
    pub(super) fn head(&self, bytes: &[u8], values: &mut [u64]) -> Result<PacketHead, NoHead> {
        let end = bytes.len() * 8;
        self.header.program.run(bytes, 0, end, values).map_err(|_| NoHead::Short)?;
        let value = |values: &[u64], slot: Option<Slot>| slot.and_then(|s| values.get(s).copied());
        if value(values, self.header.magic).is_some_and(|magic| magic != MAGIC) {
            return Err(NoHead::Wrong("a packet without its magic number"));
        }
        let stream = value(values, self.header.stream).or_else(|| self.classes.keys().next().copied()).unwrap_or(0);
        let class = self.class(stream).ok_or(NoHead::Wrong("a packet of a stream that was not declared"))?;
        let context = &class.packet;
        let bits = context.program.run(bytes, 0, end, values).map_err(|_| NoHead::Short)?;
        let of = |slot| value(values, slot);
        let sizes = match (of(context.content), of(context.size)) {
            (Some(content), Some(size)) => Some((content, size)),
            (Some(both), None) | (None, Some(both)) => Some((both, both)),
            (None, None) => None,
        };
        if sizes.is_some_and(|(content, size)| content > size || size % 8 != 0 || content < bits as u64 || size == 0) {
            return Err(NoHead::Wrong("a packet whose sizes contradict each other"));
        }
        Ok(PacketHead {
            stream,
            begin: of(context.begin),
            sizes,
            sequence: of(context.sequence),
            discarded: context.discarded.and_then(|(slot, bits)| Some((of(Some(slot))?, bits))),
            cpu: of(context.cpu).map(|cpu| CpuId(cpu as u32)),
            bits,
        })
    }
}

/// The packet's header, and a stream's context behind it.
fn packet(told: &Metadata, stream: Option<&StreamDecl>, budget: &mut usize) -> Result<Compiled, Fatal> {
    let mut compiler = Compiler::new(told.order, budget);
    let header = compiler.part("packet", told.packet_header.as_ref(), &|name| matches!(name, "magic" | "stream_id"));
    let context = header.and_then(|()| {
        let context = stream.and_then(|s| s.packet_context.as_ref());
        compiler.part("context", context, &|name| {
            matches!(
                name,
                "timestamp_begin" | "content_size" | "packet_size" | "packet_seq_num" | "events_discarded" | "cpu_id"
            )
        })
    });
    context.map_err(|why| Fatal::new(format!("metadata: a packet's head: {}", why.0), 0))?;
    Ok(compiler.finish())
}

impl Class {
    fn new(told: &Metadata, stream: &StreamDecl, budget: &mut usize, slots: &mut usize) -> Result<Self, Fatal> {
        let compiled = packet(told, Some(stream), budget)?;
        *slots = (*slots).max(compiled.slots);
        let of = |name| slot(&compiled.found, "context", name);
        let discarded = compiled.found.iter().find(|f| f.name == "events_discarded").map(|f| (f.slot, f.bits));
        let packet = PacketContext {
            begin: of("timestamp_begin"),
            content: of("content_size"),
            size: of("packet_size"),
            sequence: of("packet_seq_num"),
            discarded,
            cpu: of("cpu_id"),
            program: compiled.program,
        };
        let mut compiler = Compiler::new(told.order, budget);
        let header = compiler.part("header", stream.event_header.as_ref(), &|_| false);
        header.map_err(|why| Fatal::new(format!("metadata: an event's header: {}", why.0), 0))?;
        let header = compiler.finish();
        *slots = (*slots).max(header.slots);
        let name = header.clock.or(compiled.clock);
        let clock = name.map_or(told.clocks.first(), |name| told.clocks.iter().find(|c| c.name == name));
        let clock = clock.map_or(Ok(Clock::PLAIN), Clock::new)?;
        Ok(Self { packet, header: header.program, clock, dense: Vec::new(), sparse: FxHashMap::default() })
    }

    fn insert(&mut self, id: u64, layout: EventLayout) {
        if id < DENSE {
            let at = id as usize;
            if self.dense.len() <= at {
                self.dense.resize_with(at + 1, || None);
            }
            self.dense[at] = Some(Box::new(layout));
        } else {
            self.sparse.insert(id, layout);
        }
    }

    #[inline]
    pub(super) fn event(&self, id: u64) -> Option<&EventLayout> {
        if id < DENSE { self.dense.get(id as usize)?.as_deref() } else { self.sparse.get(&id) }
    }
}

impl EventLayout {
    fn new(
        told: &Metadata,
        stream: &StreamDecl,
        event: &EventDecl,
        nice: i64,
        budget: &mut usize,
        slots: &mut usize,
    ) -> Self {
        let mut compiler = Compiler::new(told.order, budget);
        let parts = [
            ("stream_context", stream.event_context.as_ref()),
            ("context", event.context.as_ref()),
            ("fields", event.fields.as_ref()),
        ];
        for (part, t) in parts {
            if compiler.part(part, t, &|field| kinds::wants(&event.name, part, field)).is_err() {
                return Self {
                    program: None,
                    kind: None,
                    tid: None,
                    pid: None,
                    name: None,
                    cpu: None,
                    side_band: false,
                };
            }
        }
        let compiled = compiler.finish();
        *slots = (*slots).max(compiled.slots);
        let field = |name: &str| slot(&compiled.found, "fields", name);
        let beside = |name: &str| {
            let context = slot(&compiled.found, "context", name);
            context.or_else(|| slot(&compiled.found, "stream_context", name))
        };
        Self {
            kind: if ust::is_ust(told) {
                ust::kind(&event.name, &field, &beside)
            } else {
                Kind::of(&event.name, &field, nice)
            },
            tid: beside("tid").or_else(|| field("perf_tid")),
            pid: beside("pid").or_else(|| field("perf_pid")),
            name: beside("procname"),
            cpu: field("perf_cpu"),
            side_band: kinds::is_side_band(&event.name),
            program: Some(compiled.program),
        }
    }
}
