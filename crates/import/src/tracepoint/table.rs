//! The definition of a kernel tracepoint, made once for all formats that contain it.
//!
//! ```text
//!                  ┌─▶ decode        binary records, by the descriptions in the recording: perf.data, trace.dat, schedviz
//!   events/*.rs ───┼─▶ text          printed arguments: ftrace's text, perf script
//!   TRACEPOINTS    ├─▶ ctf/kinds     fields by name: LTTng's names, or the kernel's
//!                  └─▶ perfetto/…    messages of FtraceEvent, by field numbers
//! ```
//!
//! Each reader compiles the table to offsets, slots or field numbers when it opens a file. [`Meaning::Switch`] and
//! [`Meaning::Wake`] are most of a recording: each reader has a fast path for them, and takes the fields from the
//! table.

use super::decode::Names;
use model::{Batch, CpuId, Event, EventKind, NameId, Tid, WakeKind};

/// The maximum numbers of numeric and text fields of one tracepoint.
pub(crate) const MAX_NUMBERS: usize = 8;
pub(crate) const MAX_TEXTS: usize = 3;

/// A tracepoint, as all formats represent it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tracepoint {
    /// The kernel's name.
    pub(crate) name: &'static str,
    /// LTTng's name if it differs; otherwise empty.
    pub(crate) lttng: &'static str,
    /// The numeric fields that are read, up to [`MAX_NUMBERS`].
    pub(crate) numbers: &'static [FieldDef],
    /// The text fields that are read, up to [`MAX_TEXTS`].
    pub(crate) texts: &'static [FieldDef],
    /// The printed forms; the first pattern that matches is used ([`super::pattern::Pattern`]).
    pub(crate) printed: &'static [&'static str],
    /// Its field in Perfetto's `FtraceEvent`; 0 if it has none.
    pub(crate) perfetto: u32,
    /// The formats from which it is not read. The file that declares the tracepoint explains why.
    pub(crate) not_read_from: &'static [Reader],
    /// The event that it stands for.
    pub(crate) meaning: Meaning,
}

impl Tracepoint {
    /// The defaults of a declaration.
    pub(crate) const NEW: Self = Self {
        name: "",
        lttng: "",
        numbers: &[],
        texts: &[],
        printed: &[],
        perfetto: 0,
        not_read_from: &[],
        meaning: Meaning::Of(|_, out| out.add(EventKind::Sample)),
    };

    pub(crate) fn is_read_from(&self, reader: Reader) -> bool {
        !self.not_read_from.contains(&reader)
    }

    /// Finds a field by its name: returns whether it is a number, and its index among the fields of its kind.
    pub(crate) fn field(&self, name: &str) -> Option<(bool, usize)> {
        let place = |fields: &[FieldDef]| fields.iter().position(|f| f.name == name);
        place(self.numbers).map(|at| (true, at)).or_else(|| place(self.texts).map(|at| (false, at)))
    }
}

/// The meaning of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meaning {
    /// `sched_switch`.
    Switch,
    /// A wakeup of this kind.
    Wake(WakeKind),
    /// The event that this function makes of the fields; [`EventKind::Sample`] if they have no meaning.
    Of(ToEvent),
}

/// Converts fields to an event.
pub(crate) type ToEvent = fn(&FieldValues<'_>, Output<'_>) -> Added;

/// The readers of tracepoints.
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

/// A field of a tracepoint, with its names and numbers in the formats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldDef {
    /// The kernel's name.
    pub(crate) name: &'static str,
    /// The name in other kernel versions; empty if there is none.
    pub(crate) older: &'static str,
    /// LTTng's name; empty if it is the kernel's.
    pub(crate) lttng: &'static str,
    /// Its number in Perfetto's message; 0 if it has none. In Perfetto, an absent field means 0 or empty.
    pub(crate) perfetto: u32,
    /// Whether a record without the field is still useful.
    pub(crate) optional: bool,
    /// Whether the kernel's own records have the field. If not, it exists only in printed text and in formats with
    /// another name for it.
    pub(crate) in_records: bool,
    /// Whether it is a priority, which LTTng counts from a different base.
    pub(crate) priority: bool,
    /// Of an array: which element it is, and of how many.
    pub(crate) element: Option<(usize, usize)>,
}

/// Declares a required field.
pub(crate) const fn field(name: &'static str) -> FieldDef {
    FieldDef {
        name,
        older: "",
        lttng: "",
        perfetto: 0,
        optional: false,
        in_records: true,
        priority: false,
        element: None,
    }
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

    pub(crate) const fn element(self, at: usize, of: usize) -> Self {
        Self { element: Some((at, of)), ..self }
    }

    /// Looks up the field in the kernel's own records with `find`, by its current and its older name.
    pub(crate) fn in_record<T>(&self, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        let kernel = |name: &str| Some(name).filter(|n| self.in_records && !n.is_empty()).and_then(&find);
        kernel(self.name).or_else(|| kernel(self.older))
    }
}

/// The values of a record's fields, in the order of the declaration.
pub(crate) struct FieldValues<'r> {
    numbers: [i64; MAX_NUMBERS],
    /// A bit per number: whether it was recorded.
    recorded: u8,
    texts: [&'r [u8]; MAX_TEXTS],
    /// The current task, if the record itself contains it.
    pub(crate) current: Tid,
    /// What the numbers of system calls mean.
    pub(crate) calls: Calls,
}

/// The numbers of the system calls that are read, where records have numbers and no names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Calls {
    /// They mean nothing: the recorded machine's architecture is not known, or has other numbers.
    #[default]
    Unknown,
    X86,
    Arm64,
}

/// A system call that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Call {
    Futex,
    Yield,
}

impl Calls {
    /// Those of an architecture, as `uname` names it.
    pub(crate) fn of(machine: Option<&str>) -> Self {
        match machine {
            Some("x86_64") => Self::X86,
            Some("aarch64" | "arm64") => Self::Arm64,
            _ => Self::Unknown,
        }
    }

    /// What a number means (`asm/unistd_64.h`, `asm-generic/unistd.h`).
    pub(crate) fn call(self, number: i64) -> Option<Call> {
        match (self, number) {
            (Self::X86, 202) | (Self::Arm64, 98) => Some(Call::Futex),
            (Self::X86, 24) | (Self::Arm64, 124) => Some(Call::Yield),
            _ => None,
        }
    }
}

impl<'r> FieldValues<'r> {
    #[inline]
    pub(crate) fn new(current: Tid) -> Self {
        Self { numbers: [0; MAX_NUMBERS], recorded: 0, texts: [&[]; MAX_TEXTS], current, calls: Calls::Unknown }
    }

    #[inline]
    pub(crate) fn set_number(&mut self, at: usize, value: i64) {
        if let Some(place) = self.numbers.get_mut(at) {
            *place = value;
            self.recorded |= 1 << at;
        }
    }

    /// Sets all numbers of a record at the same time, if it is known in advance which it has ([`recorded`]).
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

    /// Returns a number, or 0 if it was not recorded.
    #[inline]
    pub(crate) fn number(&self, at: usize) -> i64 {
        self.numbers.get(at).copied().unwrap_or(0)
    }

    /// Returns a number if it was recorded.
    pub(crate) fn recorded(&self, at: usize) -> Option<i64> {
        (at < MAX_NUMBERS && self.recorded & 1 << at != 0).then(|| self.number(at))
    }

    /// Returns a text, or an empty one if it was not recorded.
    pub(crate) fn text(&self, at: usize) -> &'r [u8] {
        self.texts.get(at).copied().unwrap_or_default()
    }

    /// Returns a number as a TID.
    #[inline]
    pub(crate) fn tid(&self, at: usize) -> Tid {
        Tid(self.number(at) as i32)
    }

    /// Returns a number as a CPU.
    #[inline]
    pub(crate) fn cpu(&self, at: usize) -> CpuId {
        CpuId(self.number(at) as u32)
    }
}

/// Returns which numbers a record has, one bit per index in the declaration.
pub(crate) fn recorded(numbers: impl Iterator<Item = usize>) -> u8 {
    numbers.filter(|at| *at < MAX_NUMBERS).fold(0, |all, at| all | 1 << at)
}

/// The destination of an event. The event is built in its final place: returning an [`EventKind`] would read back as a
/// whole what was just written field by field, and stall on that each time.
pub(crate) struct Output<'a> {
    pub(crate) names: &'a mut Names,
    pub(crate) out: &'a mut Batch,
    /// The event to add; its `what` is replaced.
    pub(crate) event: &'a Event,
}

impl Output<'_> {
    /// Returns the ID of a text.
    #[inline]
    pub(crate) fn name(&mut self, text: &[u8]) -> NameId {
        if text.is_empty() { NameId::NONE } else { self.names.id(text, self.out) }
    }

    /// Adds the event.
    #[inline(always)]
    pub(crate) fn add(self, what: EventKind) -> Added {
        self.out.events.push(Event { what, ..*self.event });
        Added(())
    }
}

/// Proof that one event was added.
pub(crate) struct Added(());
