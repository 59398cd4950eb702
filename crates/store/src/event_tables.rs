//! The tables of `events/`: writes the cells of an event to the file of its table, and reads them. The tables are declared in `model`
//! (`event/kinds.rs`).

use crate::events_in::Cursor;
use crate::sheet::{Column, Disk, Sheet};
use model::{Coded, Col, EventColumn, EventTable, Kind, NameId, ReadCells, STACKS, StackId, Storage, WriteCells};

/// Returns the columns for the place of an event in its source; only imported traces have them.
pub(crate) const fn origin(sources: usize) -> [Column; 2] {
    let source = Col::new("source", Kind::Int, "", "Index of the source in the manifest, from 0.");
    let offset = Col::new(
        "offset",
        Kind::Int,
        "byte",
        "Position of the event in that source; if the source is a folder, in the file of the CPU.",
    );
    let store = if sources > 1 { Storage::Int } else { Storage::Key };
    [Column { col: source, store }, Column { col: offset, store: Storage::Long }]
}

/// The number of columns of a table, without the place in the source.
pub(crate) fn width(table: &EventTable) -> usize {
    EventTable::COMMON + table.columns.len()
}

/// Returns how many columns a file of this version has, without the place in the source: each version has one more.
pub(crate) fn width_in(table: &EventTable, version: u32) -> usize {
    let missing = table.def.version.saturating_sub(version.max(1));
    width(table).saturating_sub(missing as usize)
}

/// Returns the columns of a table, without the place in the source.
pub(crate) fn columns(table: &EventTable) -> impl Iterator<Item = Column> + use<> {
    let common = table.def.cols.iter().zip(EventTable::COMMON_STORAGE).map(|(col, store)| Column { col: *col, store });
    common.chain(table.columns.iter().map(|column| Column { col: column.col, store: column.storage }))
}

/// How the table of callchains ([`STACKS`]) is stored.
pub(crate) const STACK_STORES: &[Storage] = &[
    Storage::Long,
    Storage::Int,
    Storage::Key,
    Storage::Text,
    Storage::Text,
    Storage::Text,
    Storage::Key,
    Storage::Text,
    Storage::Int,
    Storage::Bool,
];
const _: () = assert!(STACK_STORES.len() == STACKS.cols.len());

/// The value that stands for null.
pub(crate) const NONE: i32 = i32::MIN;

/// Adds the cells of an event to the columns of a file.
pub(crate) struct Cells<'a> {
    pub(crate) sheet: &'a mut Sheet<Disk>,
    pub(crate) columns: &'static [EventColumn],
}

impl WriteCells for Cells<'_> {
    fn int(&mut self, at: usize, value: Option<i64>) {
        self.sheet.number(EventTable::COMMON + at, value);
    }

    fn float(&mut self, at: usize, value: f64) {
        self.sheet.floats(EventTable::COMMON + at, std::iter::once(value));
    }

    fn text(&mut self, at: usize, value: NameId) {
        self.sheet.texts(EventTable::COMMON + at, std::iter::once(value.0));
    }

    fn stack(&mut self, at: usize, value: StackId) {
        let is_null = value == StackId::NONE && self.columns.get(at).is_some_and(|column| column.col.nullable);
        let number = (!is_null).then_some(value.0.cast_signed().into());
        self.sheet.number(EventTable::COMMON + at, number);
    }

    fn word<T: Coded>(&mut self, at: usize, value: T) {
        self.sheet.words(EventTable::COMMON + at, std::iter::once(value.code()));
    }

    fn flag(&mut self, at: usize, _: bool, code: u8) {
        self.sheet.words(EventTable::COMMON + at, std::iter::once(code));
    }
}

impl ReadCells for &Cursor {
    fn int(&mut self, at: usize) -> Option<i64> {
        self.number_at(EventTable::COMMON + at)
    }

    fn number(&mut self, at: usize) -> Option<i64> {
        Some(self.whole_number_at(EventTable::COMMON + at))
    }

    fn float(&mut self, at: usize) -> f64 {
        self.float_at(EventTable::COMMON + at)
    }

    fn text(&mut self, at: usize) -> NameId {
        self.name(EventTable::COMMON + at)
    }

    fn stack(&mut self, at: usize) -> StackId {
        StackId(self.number_at(EventTable::COMMON + at).map_or(0, |number| number as u32))
    }

    fn word<T: Coded>(&mut self, at: usize) -> Option<T> {
        T::of_code(self.code(EventTable::COMMON + at))
    }

    fn flag(&mut self, at: usize, code: u8) -> bool {
        self.code(EventTable::COMMON + at) == code
    }
}
