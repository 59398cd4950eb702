//! What a kernel tracepoint is, said once for every format that carries it.
//!
//! ```text
//!                  ┌─▶ decode        binary records, by the descriptions in the recording: perf.data, trace.dat, schedviz
//!   events/*.rs ───┼─▶ text          printed arguments: ftrace's text, perf script
//!   TRACEPOINTS    ├─▶ ctf/kinds     fields by name: LTTng's names, or the kernel's
//!                  └─▶ perfetto/…    messages of FtraceEvent, by field numbers
//! ```
//!
//! Each reader compiles the table to places, slots or field numbers when it opens a file. [`Meaning::Switch`] and
//! [`Meaning::Wake`] are most of a recording: each reader has a path of its own for them, to which the table gives the fields.

use super::decode::Names;
use model::{Batch, CpuId, Event, NameId, Tid, WakeKind, What};

/// Fields that are numbers, and texts, of one tracepoint at most.
pub(crate) const MAX_NUMBERS: usize = 8;
pub(crate) const MAX_TEXTS: usize = 3;

/// A tracepoint, as every format tells it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tracepoint {
    /// The kernel's name.
    pub(crate) name: &'static str,
    /// LTTng's name, where that is another; else empty.
    pub(crate) lttng: &'static str,
    /// The fields that are read and are numbers, up to [`MAX_NUMBERS`].
    pub(crate) numbers: &'static [FieldDef],
    /// And those that are texts, up to [`MAX_TEXTS`].
    pub(crate) texts: &'static [FieldDef],
    /// How it is printed: the first pattern that fits counts ([`super::pattern::Pattern`]).
    pub(crate) printed: &'static [&'static str],
    /// Its field in Perfetto's `FtraceEvent`; 0: it has none.
    pub(crate) perfetto: u32,
    /// The formats of which it is not read; the tracepoint's file says why.
    pub(crate) not_read_from: &'static [Reader],
    /// What it says happened.
    pub(crate) meaning: Meaning,
}

impl Tracepoint {
    /// What most tracepoints have in common: the rest of a declaration.
    pub(crate) const NEW: Self = Self {
        name: "",
        lttng: "",
        numbers: &[],
        texts: &[],
        printed: &[],
        perfetto: 0,
        not_read_from: &[],
        meaning: Meaning::Of(|_, out| out.add(What::Sample)),
    };

    pub(crate) fn is_read_from(&self, reader: Reader) -> bool {
        !self.not_read_from.contains(&reader)
    }

    /// A field by its name: whether it is a number, and its place among those of its kind.
    pub(crate) fn field(&self, name: &str) -> Option<(bool, usize)> {
        let place = |fields: &[FieldDef]| fields.iter().position(|f| f.name == name);
        place(self.numbers).map(|at| (true, at)).or_else(|| place(self.texts).map(|at| (false, at)))
    }
}

/// What a record means.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meaning {
    /// `sched_switch`.
    Switch,
    /// A waking, of this kind.
    Wake(WakeKind),
    /// What this makes of the fields; [`What::Sample`] where they tell nothing.
    Of(ToEvent),
}

/// From fields to what happened.
pub(crate) type ToEvent = fn(&FieldValues<'_>, Output<'_>) -> Added;

/// Who reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reader {
    PerfData,
    TraceDat,
    SchedViz,
    FtraceText,
    PerfScript,
    Ctf,
    Perfetto,
}

/// A field of a tracepoint, by the names and numbers that formats have for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldDef {
    /// The kernel's name.
    pub(crate) name: &'static str,
    /// Other kernels' name; empty: none.
    pub(crate) older: &'static str,
    /// LTTng's name; empty: the kernel's.
    pub(crate) lttng: &'static str,
    /// Its number in Perfetto's message; 0: it has none. There, what is absent is 0, or empty.
    pub(crate) perfetto: u32,
    /// Whether a record without it still tells something.
    pub(crate) optional: bool,
    /// Whether the kernel's own records have it; if not, only the formats do that name it otherwise, and printed text.
    pub(crate) in_records: bool,
    /// Whether it is a priority, which LTTng counts from another begin.
    pub(crate) priority: bool,
}

/// A field that every record must have.
pub(crate) const fn field(name: &'static str) -> FieldDef {
    FieldDef { name, older: "", lttng: "", perfetto: 0, optional: false, in_records: true, priority: false }
}

impl FieldDef {
    pub(crate) const fn older(self, older: &'static str) -> Self {
        Self { older, ..self }
    }

    pub(crate) const fn lttng(self, lttng: &'static str) -> Self {
        Self { lttng, ..self }
    }

    pub(crate) const fn perfetto(self, perfetto: u32) -> Self {
        Self { perfetto, ..self }
    }

    pub(crate) const fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    pub(crate) const fn not_in_records(self) -> Self {
        Self { optional: true, in_records: false, ..self }
    }

    pub(crate) const fn priority(self) -> Self {
        Self { priority: true, ..self }
    }

    /// What `find` knows of the field in the kernel's own records.
    pub(crate) fn in_record<T>(&self, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        let kernel = |name: &str| Some(name).filter(|n| self.in_records && !n.is_empty()).and_then(&find);
        kernel(self.name).or_else(|| kernel(self.older))
    }
}

/// What a record's fields hold, in the order of the declaration.
pub(crate) struct FieldValues<'r> {
    numbers: [i64; MAX_NUMBERS],
    /// A bit each.
    recorded: u8,
    texts: [&'r [u8]; MAX_TEXTS],
    /// The task that was current, where the record itself says.
    pub(crate) current: Tid,
}

impl<'r> FieldValues<'r> {
    #[inline]
    pub(crate) fn new(current: Tid) -> Self {
        Self { numbers: [0; MAX_NUMBERS], recorded: 0, texts: [&[]; MAX_TEXTS], current }
    }

    #[inline]
    pub(crate) fn set_number(&mut self, at: usize, value: i64) {
        if let Some(place) = self.numbers.get_mut(at) {
            *place = value;
            self.recorded |= 1 << at;
        }
    }

    /// The same for all numbers of a record, where it is known before which it has ([`recorded`]).
    #[inline]
    pub(crate) fn set_numbers<E>(
        &mut self,
        recorded: u8,
        numbers: impl Iterator<Item = Result<(usize, i64), E>>,
    ) -> Result<(), E> {
        self.recorded = recorded;
        for number in numbers {
            let (at, value) = number?;
            if let Some(place) = self.numbers.get_mut(at) {
                *place = value;
            }
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn set_text(&mut self, at: usize, text: &'r [u8]) {
        if let Some(place) = self.texts.get_mut(at) {
            *place = text;
        }
    }

    /// A number; 0 where it was not recorded.
    #[inline]
    pub(crate) fn number(&self, at: usize) -> i64 {
        self.numbers.get(at).copied().unwrap_or(0)
    }

    /// A number, where it was recorded.
    pub(crate) fn recorded(&self, at: usize) -> Option<i64> {
        (at < MAX_NUMBERS && self.recorded & 1 << at != 0).then(|| self.number(at))
    }

    /// A text; empty where it was not recorded.
    pub(crate) fn text(&self, at: usize) -> &'r [u8] {
        self.texts.get(at).copied().unwrap_or_default()
    }

    /// A number that is a thread's.
    #[inline]
    pub(crate) fn tid(&self, at: usize) -> Tid {
        Tid(self.number(at) as i32)
    }

    /// A number that is a CPU's.
    #[inline]
    pub(crate) fn cpu(&self, at: usize) -> CpuId {
        CpuId(self.number(at) as u32)
    }
}

/// Which numbers a record has, a bit each, of their places in the declaration.
pub(crate) fn recorded(numbers: impl Iterator<Item = usize>) -> u8 {
    numbers.filter(|at| *at < MAX_NUMBERS).fold(0, |all, at| all | 1 << at)
}

/// Where the event goes. It is made in its place: to hand a [`What`] back would read as a whole what was just written field by
/// field, and wait for that each time.
pub(crate) struct Output<'a> {
    pub(crate) names: &'a mut Names,
    pub(crate) out: &'a mut Batch,
    /// With anything as its `what`.
    pub(crate) event: &'a Event,
}

impl Output<'_> {
    /// The number of a text.
    #[inline]
    pub(crate) fn name(&mut self, text: &[u8]) -> NameId {
        if text.is_empty() { NameId::NONE } else { self.names.id(text, self.out) }
    }

    /// Adds the event.
    #[inline(always)]
    pub(crate) fn add(self, what: What) -> Added {
        self.out.events.push(Event { what, ..*self.event });
        Added(())
    }
}

/// One event was added.
pub(crate) struct Added(());
