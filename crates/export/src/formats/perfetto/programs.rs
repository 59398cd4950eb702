//! Events of programs (marks, values, frames) and losses. Those with a CPU and a thread are written as atrace prints them into the
//! kernel's buffer, others as track events.

use super::Pen;
use super::bundles::FieldValue::Int;
use super::bundles::PACKET;
use super::proto::Proto;
use model::{CpuId, Event, Frame, FrameStretch, LossSpan, Mark, MarkEdge, NameId, Ns, Pid, Tid};
use std::fmt::Write as _;

/// `ftrace/ftrace_event.proto`: `print`.
const PRINT: u32 = 3;

/// `trace_packet.proto`.
pub(super) mod packet {
    pub(crate) const CLOCK_SNAPSHOT: u32 = 6;
    pub(crate) const PROCESS_TREE: u32 = 2;
    pub(crate) const TIMESTAMP: u32 = 8;
    pub(crate) const SEQUENCE: u32 = 10;
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const INTERNED: u32 = 12;
    pub(crate) const SEQUENCE_FLAGS: u32 = 13;
    pub(crate) const SYSTEM_INFO: u32 = 45;
    pub(crate) const TRACK_DESCRIPTOR: u32 = 60;
    pub(crate) const MODULE_SYMBOLS: u32 = 61;
    pub(crate) const SAMPLE: u32 = 66;
    pub(crate) const FRAME: u32 = 76;
}

/// `track_event/track_event.proto`.
pub(super) mod track_event {
    pub(crate) const ANNOTATION: u32 = 4;
    pub(crate) const TYPE: u32 = 9;
    pub(crate) const TRACK: u32 = 11;
    pub(crate) const NAME: u32 = 23;
    pub(crate) const COUNTER: u32 = 44;
    pub(crate) const BEGIN: u64 = 1;
    pub(crate) const END: u64 = 2;
    pub(crate) const INSTANT: u64 = 3;
    pub(crate) const VALUE: u64 = 4;
}

/// `track_event/track_descriptor.proto`.
pub(super) mod track {
    pub(crate) const UUID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const PROCESS: u32 = 3;
    pub(crate) const THREAD: u32 = 4;
    pub(crate) const PARENT: u32 = 5;
    pub(crate) const COUNTER: u32 = 8;
}

/// All of corewise's track events are one sequence.
pub(super) const SEQUENCE: u64 = 0x6377; // "cw"
/// The sequence begins here: no packet depends on an earlier one (`SEQ_INCREMENTAL_STATE_CLEARED`).
const STATE_CLEARED: u64 = 1;
/// The track of corewise's annotations: "corewise" in ASCII.
pub(super) const OWN_TRACK: u64 = 0x636f_7265_7769_7365;
/// The track of losses.
const LOSSES: u64 = OWN_TRACK + 1;
/// Ids of other tracks are hashes of their names; this is the initial value of the 64-bit FNV hash.
const HASH: u64 = 0xcbf2_9ce4_8422_2325;

fn uuid(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().flat_map(|p| p.iter().chain(std::iter::once(&0xff)));
    bytes.fold(HASH, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

impl Pen<'_> {
    /// Writes a packet of corewise's sequence.
    pub(super) fn packet(&mut self, at: Option<Ns>, field: u32, body: impl FnOnce(&mut Proto)) {
        let p = &mut self.packets;
        let packet = p.begin(PACKET);
        if let Some(at) = at {
            p.uint(packet::TIMESTAMP, at.0.max(0).cast_unsigned());
        }
        p.uint(packet::SEQUENCE, SEQUENCE);
        if !std::mem::replace(&mut self.begun, true) {
            p.uint(packet::SEQUENCE_FLAGS, STATE_CLEARED);
        }
        let inner = p.begin(field);
        body(p);
        p.end(inner);
        p.end(packet);
    }

    fn track_event(&mut self, at: Ns, track: u64, kind: u64, name: Option<&str>, value: Option<f64>) {
        self.packet(Some(at), packet::TRACK_EVENT, |p| {
            p.uint(track_event::TYPE, kind);
            p.uint(track_event::TRACK, track);
            if let Some(name) = name {
                p.text(track_event::NAME, name);
            }
            if let Some(value) = value {
                p.double(track_event::COUNTER, value);
            }
        });
    }

    pub(super) fn mark(&mut self, e: &Event, at: Ns, m: &Mark, name: Option<&str>) {
        if e.cpu == CpuId::UNKNOWN || m.tid == Tid::UNKNOWN || m.track != 0 {
            return self.track_mark(at, m, name);
        }
        let pid = if m.pid == Pid::UNKNOWN { m.tid.0 } else { m.pid.0 };
        let name = name.unwrap_or_default();
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        let _ = match m.edge {
            MarkEdge::Begin => writeln!(words, "B|{pid}|{name}"),
            MarkEdge::End => writeln!(words, "E|{pid}"),
            MarkEdge::Instant => writeln!(words, "I|{pid}|{name}"),
        };
        self.bundles.event(e.cpu, at, Some(m.tid.0), PRINT, |p| p.text(2, &words));
        self.words = words;
    }

    fn track_mark(&mut self, at: Ns, m: &Mark, name: Option<&str>) {
        let id = uuid(&[&m.pid.0.to_le_bytes(), &m.tid.0.to_le_bytes(), &m.track.to_le_bytes()]);
        // A track is declared with its first mark. Tracks of asynchronous stretches are too many to be remembered.
        if m.edge != MarkEdge::End && (m.track != 0 || self.tracks.insert(id)) {
            let thread = uuid(&[&m.pid.0.to_le_bytes(), &m.tid.0.to_le_bytes(), &0i64.to_le_bytes()]);
            self.packet(None, packet::TRACK_DESCRIPTOR, |p| {
                p.uint(track::UUID, id);
                if m.track != 0 {
                    p.text(track::NAME, name.unwrap_or_default());
                    p.uint(track::PARENT, thread);
                } else {
                    describe(p, m.pid, m.tid);
                }
            });
        }
        let kind = match m.edge {
            MarkEdge::Begin => track_event::BEGIN,
            MarkEdge::End => track_event::END,
            MarkEdge::Instant => track_event::INSTANT,
        };
        self.track_event(at, id, kind, name, None);
    }

    pub(super) fn value(&mut self, e: &Event, at: Ns, pid: Pid, id: NameId, name: &str, value: f64) {
        let whole = value.fract() == 0.0 && value.abs() < 9e15;
        if e.cpu != CpuId::UNKNOWN && pid != Pid::UNKNOWN && whole {
            let words = format!("C|{}|{name}|{}\n", pid.0, value as i64);
            return self.bundles.event(e.cpu, at, Some(pid.0), PRINT, |p| p.text(2, &words));
        }
        let track = uuid(&[b"value", &pid.0.to_le_bytes(), &id.0.to_le_bytes()]);
        if self.tracks.insert(track) {
            let process = uuid(&[&pid.0.to_le_bytes(), &pid.0.to_le_bytes(), &0i64.to_le_bytes()]);
            self.packet(None, packet::TRACK_DESCRIPTOR, |p| {
                p.uint(track::UUID, track);
                p.text(track::NAME, name);
                if pid != Pid::UNKNOWN {
                    p.uint(track::PARENT, process);
                }
                p.bytes(track::COUNTER, &[]);
            });
        }
        self.track_event(at, track, track_event::VALUE, None, Some(value));
    }

    /// `frame_timeline_event.proto` (an extension of the packet, field 76).
    pub(super) fn frame(&mut self, at: Ns, f: &Frame, layer: Option<&str>) {
        self.packet(Some(at), packet::FRAME, |p| {
            let field = match (f.begins, f.stretch) {
                (true, FrameStretch::ExpectedDisplay) => 1,
                (true, FrameStretch::ActualDisplay) => 2,
                (true, FrameStretch::ExpectedSurface) => 3,
                (true, FrameStretch::ActualSurface) => 4,
                (false, _) => 5,
            };
            let inner = p.begin(field);
            p.int(1, f.cookie);
            if f.begins {
                if f.token.0 >= 0 {
                    p.int(2, f.token.0);
                }
                let surface = matches!(f.stretch, FrameStretch::ExpectedSurface | FrameStretch::ActualSurface);
                p.int(if surface { 4 } else { 3 }, i64::from(f.pid.0));
                if let (true, Some(layer)) = (surface, layer) {
                    p.text(5, layer);
                }
                match (f.stretch, f.jank) {
                    (FrameStretch::ActualSurface, Some(jank)) => p.int(9, jank.get().into()),
                    (FrameStretch::ActualDisplay, Some(jank)) => p.int(7, jank.get().into()),
                    _ => {}
                }
            }
            p.end(inner);
        });
    }

    /// The note is exact; the slice is for viewers. `lost_events` of the bundle is not set: readers would then leave out the
    /// events before it.
    pub(super) fn loss(&mut self, e: &Event, at: Ns, loss: &LossSpan) {
        let mut fields = vec![("events", Int(loss.events.to_word()))];
        fields.extend(loss.from.get().map(|from| ("from", Int(self.absolute(from).0))));
        fields.extend(loss.to.get().map(|to| ("to", Int(self.absolute(to).0))));
        fields.extend(loss.cpu.map(|c| ("cpu", Int(i64::from(c.0)))));
        self.bundles.note(e.cpu, at, "corewise_loss", &fields);
        let track = loss.cpu.map_or(LOSSES, |c| LOSSES + 1 + u64::from(c.0));
        let name = loss.cpu.map_or_else(|| "lost events".to_owned(), |c| format!("lost events of cpu {}", c.0));
        if self.tracks.insert(track) {
            self.packet(None, packet::TRACK_DESCRIPTOR, |p| {
                p.uint(track::UUID, track);
                p.text(track::NAME, &name);
            });
        }
        let (from, to) = loss.within(Ns::ZERO, self.end);
        let (from, to) = (self.absolute(from), self.absolute(to));
        self.track_event(from, track, track_event::BEGIN, Some("lost"), None);
        self.track_event(to.max(from), track, track_event::END, None, None);
    }
}

/// The owner of a track.
fn describe(p: &mut Proto, pid: Pid, tid: Tid) {
    if tid != Tid::UNKNOWN {
        let thread = p.begin(track::THREAD);
        p.int(1, i64::from(if pid == Pid::UNKNOWN { tid.0 } else { pid.0 }));
        p.int(2, i64::from(tid.0));
        p.end(thread);
    } else if pid != Pid::UNKNOWN {
        let process = p.begin(track::PROCESS);
        p.int(1, i64::from(pid.0));
        p.end(process);
    }
}
