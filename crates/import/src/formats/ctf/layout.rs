//! The compiled metadata: how the packets and events of each stream class are read.

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

/// The magic number of each packet.
const MAGIC: u64 = 0xc1fc_1fc1;
/// The value that LTTng subtracts from the kernel's priorities (`MAX_RT_PRIO`).
const LTTNG_PRIO: i64 = 100;
/// Events with a lower ID are found by index.
const DENSE: u64 = 1 << 14;

/// The layouts of all streams.
#[derive(Debug)]
pub(super) struct Layouts {
    header: PacketHeader,
    classes: FxHashMap<u64, Class>,
    pub(super) states: States,
    /// The first bytes of a packet with a magic number: that number, and the trace's UUID after it.
    pub(super) begin: Vec<u8>,
    /// The maximum number of slots that a program needs.
    pub(super) slots: usize,
}

#[derive(Debug)]
struct PacketHeader {
    program: Program,
    magic: Option<Slot>,
    stream: Option<Slot>,
}

/// A stream class.
#[derive(Debug)]
pub(super) struct Class {
    packet: PacketContext,
    /// An event's header: provides the clock's reading and the ID.
    pub(super) header: Program,
    pub(super) clock: Clock,
    dense: Vec<Option<Box<EventLayout>>>,
    sparse: FxHashMap<u64, EventLayout>,
}

/// The packet's header and context, read in one step.
#[derive(Debug)]
struct PacketContext {
    program: Program,
    begin: Option<Slot>,
    content: Option<Slot>,
    size: Option<Slot>,
    sequence: Option<Slot>,
    /// The slot, and the number of bits after which the count wraps.
    discarded: Option<(Slot, u32)>,
    cpu: Option<Slot>,
}

/// An event class.
#[derive(Debug)]
pub(super) struct EventLayout {
    /// `None` if its types cannot be read.
    pub(super) program: Option<Program>,
    pub(super) kind: Option<Kind>,
    /// The context: the task that was current, and its CPU.
    pub(super) tid: Option<Slot>,
    pub(super) pid: Option<Slot>,
    pub(super) name: Option<Slot>,
    pub(super) cpu: Option<Slot>,
    pub(super) side_band: bool,
}

/// What a packet's head states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PacketHead {
    pub(super) stream: u64,
    /// The clock's reading at its start.
    pub(super) begin: Option<u64>,
    /// Bits of content, and of the whole packet; `None` if it extends to the end of the file.
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
    /// The bytes are not a packet's head.
    Wrong(&'static str),
}

impl Layouts {
    /// Compiles the metadata.
    pub(super) fn new(metadata: &Metadata) -> Result<Self, Fatal> {
        let mut budget = BUDGET;
        let mut slots = 0;
        let header = {
            let compiled = packet(metadata, None, &mut budget)?;
            slots = slots.max(compiled.slots);
            let slot_of = |name| slot(&compiled.found, "packet", name);
            PacketHeader { magic: slot_of("magic"), stream: slot_of("stream_id"), program: compiled.program }
        };
        let mut begin = Vec::new();
        if header.magic.is_some() {
            let magic = MAGIC as u32;
            begin.extend(if metadata.order == ByteOrder::Little { magic.to_le_bytes() } else { magic.to_be_bytes() });
            begin.extend(metadata.uuid.iter().flatten());
        }
        // Events may be declared without any stream. There is then one implicit stream without contexts.
        let implicit = [StreamDecl::default()];
        let streams = if metadata.streams.is_empty() { &implicit } else { metadata.streams.as_slice() };
        let mut classes = FxHashMap::default();
        for stream in streams {
            let class = Class::new(metadata, stream, &mut budget, &mut slots)?;
            classes.insert(stream.id, class);
        }
        let release = states::release_of(metadata);
        let nice = if metadata.env("tracer_name") == Some("lttng-modules") { LTTNG_PRIO } else { 0 };
        for event in &metadata.events {
            let Some((stream, class)) = metadata
                .streams
                .iter()
                .find(|s| s.id == event.stream)
                .or(implicit.first())
                .and_then(|s| classes.get_mut(&s.id).map(|class| (s, class)))
            else {
                continue;
            };
            let layout = EventLayout::new(metadata, stream, event, nice, &mut budget, &mut slots);
            class.insert(event.id, layout);
        }
        Ok(Self { header, classes, states: states::of_release(release), begin, slots })
    }

    pub(super) fn class(&self, stream: u64) -> Option<&Class> {
        self.classes.get(&stream)
    }

    /// Reads the head of the packet that `bytes` start with.
    pub(super) fn head(&self, bytes: &[u8], values: &mut [u64]) -> Result<PacketHead, NoHead> {
        let end = bytes.len() * 8;
        self.header.program.run(bytes, 0, end, values).map_err(|_| NoHead::Short)?;
        let value = |values: &[u64], slot: Option<Slot>| slot.and_then(|s| values.get(s).copied());
        if value(values, self.header.magic).is_some_and(|magic| magic != MAGIC) {
            return Err(NoHead::Wrong("a packet has no magic number"));
        }
        let stream = value(values, self.header.stream).or_else(|| self.classes.keys().next().copied()).unwrap_or(0);
        let class = self
            .class(stream)
            .ok_or(NoHead::Wrong("a packet belongs to a stream that the metadata does not declare"))?;
        let context = &class.packet;
        let bits = context.program.run(bytes, 0, end, values).map_err(|_| NoHead::Short)?;
        let get = |slot| value(values, slot);
        let sizes = match (get(context.content), get(context.size)) {
            (Some(content), Some(size)) => Some((content, size)),
            (Some(both), None) | (None, Some(both)) => Some((both, both)),
            (None, None) => None,
        };
        if sizes.is_some_and(|(content, size)| content > size || size % 8 != 0 || content < bits as u64 || size == 0) {
            return Err(NoHead::Wrong("a packet's sizes contradict each other"));
        }
        Ok(PacketHead {
            stream,
            begin: get(context.begin),
            sizes,
            sequence: get(context.sequence),
            discarded: context.discarded.and_then(|(slot, bits)| Some((get(Some(slot))?, bits))),
            cpu: get(context.cpu).map(|cpu| CpuId(cpu as u32)),
            bits,
        })
    }
}

/// Compiles the packet's header and the packet context of a stream.
fn packet(metadata: &Metadata, stream: Option<&StreamDecl>, budget: &mut usize) -> Result<Compiled, Fatal> {
    let mut compiler = Compiler::new(metadata.order, budget);
    let header =
        compiler.part("packet", metadata.packet_header.as_ref(), &|name| matches!(name, "magic" | "stream_id"));
    let context = header.and_then(|()| {
        let context = stream.and_then(|s| s.packet_context.as_ref());
        compiler.part("context", context, &|name| {
            matches!(
                name,
                "timestamp_begin" | "content_size" | "packet_size" | "packet_seq_num" | "events_discarded" | "cpu_id"
            )
        })
    });
    context.map_err(|why| Fatal::new(format!("metadata: cannot read the packet header or context: {}", why.0), 0))?;
    Ok(compiler.finish())
}

impl Class {
    fn new(metadata: &Metadata, stream: &StreamDecl, budget: &mut usize, slots: &mut usize) -> Result<Self, Fatal> {
        let compiled = packet(metadata, Some(stream), budget)?;
        *slots = (*slots).max(compiled.slots);
        let slot_of = |name| slot(&compiled.found, "context", name);
        let discarded = compiled.found.iter().find(|f| f.name == "events_discarded").map(|f| (f.slot, f.bits));
        let packet = PacketContext {
            begin: slot_of("timestamp_begin"),
            content: slot_of("content_size"),
            size: slot_of("packet_size"),
            sequence: slot_of("packet_seq_num"),
            discarded,
            cpu: slot_of("cpu_id"),
            program: compiled.program,
        };
        let mut compiler = Compiler::new(metadata.order, budget);
        let header = compiler.part("header", stream.event_header.as_ref(), &|_| false);
        header.map_err(|why| Fatal::new(format!("metadata: cannot read the event header: {}", why.0), 0))?;
        let header = compiler.finish();
        *slots = (*slots).max(header.slots);
        let name = header.clock.or(compiled.clock);
        let clock = name.map_or(metadata.clocks.first(), |name| metadata.clocks.iter().find(|c| c.name == name));
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
        metadata: &Metadata,
        stream: &StreamDecl,
        event: &EventDecl,
        nice: i64,
        budget: &mut usize,
        slots: &mut usize,
    ) -> Self {
        let mut compiler = Compiler::new(metadata.order, budget);
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
        let context_slot = |name: &str| {
            let found = slot(&compiled.found, "context", name);
            found.or_else(|| slot(&compiled.found, "stream_context", name))
        };
        Self {
            kind: if ust::is_ust(metadata) {
                ust::kind(&event.name, &field, &context_slot)
            } else {
                Kind::of(&event.name, &field, nice)
            },
            tid: context_slot("tid").or_else(|| field("perf_tid")),
            pid: context_slot("pid").or_else(|| field("perf_pid")),
            name: context_slot("procname"),
            cpu: field("perf_cpu"),
            side_band: kinds::is_side_band(&event.name),
            program: Some(compiled.program),
        }
    }
}
