//! Events as notes: generic events of the kernel, whose fields are the cells of the event's table (`model`, `event/kinds.rs`).

use super::Pen;
use super::bundles::FieldValue::{self, Int, Text};
use super::kernel::text;
use model::{Coded, CpuId, EventColumn, EventKind, NameId, Ns, StackId, WriteCells};

/// The fields of a note.
struct Fields<'a> {
    columns: &'static [EventColumn],
    names: &'a [Box<str>],
    stack: StackId,
    fields: Vec<(&'static str, FieldValue<'a>)>,
}

impl<'a> Fields<'a> {
    fn add(&mut self, at: usize, value: FieldValue<'a>) {
        if let Some(column) = self.columns.get(at).filter(|column| !column.note.is_empty()) {
            self.fields.push((column.note, value));
        }
    }
}

impl WriteCells for Fields<'_> {
    fn int(&mut self, at: usize, value: Option<i64>) {
        let absent = || self.columns.get(at).and_then(|column| column.absent);
        if let Some(value) = value.or_else(absent) {
            self.add(at, Int(value));
        }
    }

    fn float(&mut self, at: usize, value: f64) {
        self.add(at, Int(value.to_bits().cast_signed()));
    }

    fn text(&mut self, at: usize, value: NameId) {
        self.add(at, Text(text(self.names, value).unwrap_or_default()));
    }

    fn stack(&mut self, at: usize, value: StackId) {
        if value != StackId::NONE {
            self.stack = value;
            self.add(at, Int(value.0.into()));
        }
    }

    fn word<T: Coded>(&mut self, at: usize, value: T) {
        self.add(at, Text(value.word()));
    }

    fn flag(&mut self, at: usize, value: bool, _: u8) {
        self.add(at, Int(value.into()));
    }
}

impl Pen<'_> {
    /// Writes an event as a note, after the callchain that it is the first to need.
    pub(super) fn note(&mut self, cpu: CpuId, at: Ns, what: &EventKind, names: &[Box<str>]) {
        let table = what.table().table();
        let columns = table.columns;
        let mut of = Fields { columns, names, stack: StackId::NONE, fields: Vec::with_capacity(columns.len()) };
        what.write_cells(&mut of);
        self.chain(of.stack);
        self.bundles.note(cpu, at, table.note, &of.fields);
    }
}
