//! Events of the kernel, collected into one bundle per CPU.

use super::proto::{Begun, Proto};
use model::{CpuId, Ns};
use rustc_hash::FxHashMap;

/// `trace.proto`.
pub(crate) const PACKET: u32 = 1;
/// `trace_packet.proto`.
const FTRACE_EVENTS: u32 = 1;
/// `ftrace/ftrace_event_bundle.proto`.
mod bundle {
    pub(super) const CPU: u32 = 1;
    pub(super) const EVENT: u32 = 2;
}
/// `ftrace/ftrace_event.proto`.
mod event {
    pub(super) const TIMESTAMP: u32 = 1;
    pub(super) const PID: u32 = 2;
    pub(super) const GENERIC: u32 = 327;
}
/// `ftrace/generic.proto`.
mod generic {
    pub(super) const NAME: u32 = 1;
    pub(super) const FIELD: u32 = 2;
    pub(super) const FIELD_NAME: u32 = 1;
    pub(super) const TEXT: u32 = 3;
    pub(super) const INT: u32 = 4;
}

/// The value of a note's field.
#[derive(Clone, Copy)]
pub(crate) enum FieldValue<'a> {
    Int(i64),
    Text(&'a str),
}

/// Bundles that are not written yet.
#[derive(Default)]
pub(crate) struct Bundles {
    at: FxHashMap<CpuId, usize>,
    all: Vec<(CpuId, Proto)>,
}

impl Bundles {
    #[inline]
    fn of(&mut self, cpu: CpuId) -> &mut Proto {
        let Self { at, all } = self;
        let place = *at.entry(cpu).or_insert_with(|| {
            all.push((cpu, Proto::default()));
            all.len() - 1
        });
        &mut all[place].1
    }

    /// Begins an event: the thread that was current where it was written (`None`: not recorded), and the field of its kind.
    #[inline]
    pub(crate) fn event(&mut self, cpu: CpuId, at: Ns, current: Option<i32>, kind: u32, body: impl FnOnce(&mut Proto)) {
        let p = self.of(cpu);
        let whole = p.begin(bundle::EVENT);
        p.uint(event::TIMESTAMP, at.0.max(0).cast_unsigned());
        if let Some(pid) = current {
            p.int(event::PID, i64::from(pid));
        }
        let inner: Begun = p.begin(kind);
        body(p);
        p.end(inner);
        p.end(whole);
    }

    /// Writes a note: a generic event of the kernel with a name and fields.
    pub(crate) fn note(&mut self, cpu: CpuId, at: Ns, name: &str, fields: &[(&str, FieldValue<'_>)]) {
        self.event(cpu, at, None, event::GENERIC, |p| {
            p.text(generic::NAME, name);
            for (name, value) in fields {
                let field = p.begin(generic::FIELD);
                p.text(generic::FIELD_NAME, name);
                match value {
                    FieldValue::Int(v) => p.int(generic::INT, *v),
                    FieldValue::Text(v) => p.text(generic::TEXT, v),
                }
                p.end(field);
            }
        });
    }

    /// Writes the bundles as packets, and empties them.
    pub(crate) fn flush(&mut self, to: &mut Proto) {
        for (cpu, events) in self.all.iter_mut().filter(|(_, e)| !e.bytes.is_empty()) {
            let mut head = Proto::default();
            if *cpu != CpuId::UNKNOWN {
                head.uint(bundle::CPU, u64::from(cpu.0));
            }
            to.within(PACKET, FTRACE_EVENTS, &head, events);
            events.bytes.clear();
        }
    }
}
