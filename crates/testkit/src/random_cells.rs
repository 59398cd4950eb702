//! Random events of the kinds that have a table of their own.

use crate::Rng;
use model::{Coded, EventColumn, EventKind, EventTableId, NameId, ReadCells, StackId};

/// Random cells, of which [`EventKind::read_cells`] makes events.
struct RandomCells<'a> {
    rng: &'a mut Rng,
    columns: &'static [EventColumn],
    names: usize,
    stacks: usize,
}

impl RandomCells<'_> {
    /// Returns an id up to `most`, or 0 if the column may be null.
    fn id(&mut self, at: usize, most: usize) -> u32 {
        let first = usize::from(!self.columns[at].col.nullable);
        (first + self.rng.below(most + 1 - first)) as u32
    }
}

impl RandomCells<'_> {
    fn not_negative(&mut self) -> i64 {
        // Some fit into a byte, some need more than 32 bits.
        let bits = self.rng.pick(&[3, 7, 15, 31, 40]).unwrap_or_default();
        self.rng.below(1 << bits) as i64
    }
}

impl ReadCells for RandomCells<'_> {
    fn int(&mut self, _: usize) -> Option<i64> {
        (!self.rng.one_in(4)).then(|| self.not_negative())
    }

    fn number(&mut self, _: usize) -> Option<i64> {
        // Also the numbers that stand for null elsewhere.
        Some(if self.rng.one_in(8) { self.rng.pick(&[-1, i32::MIN.into()])? } else { self.not_negative() })
    }

    fn float(&mut self, _: usize) -> f64 {
        self.not_negative() as f64 / 3.0
    }

    fn text(&mut self, at: usize) -> NameId {
        NameId(self.id(at, self.names))
    }

    fn stack(&mut self, at: usize) -> StackId {
        StackId(self.id(at, self.stacks))
    }

    fn word<T: Coded>(&mut self, _: usize) -> Option<T> {
        self.rng.pick(T::WORDS).map(|(value, _)| value)
    }

    fn flag(&mut self, _: usize, _: u8) -> bool {
        self.rng.one_in(2)
    }
}

/// Returns a random event of a table, with ids of up to so many texts and callchains.
///
/// # Panics
/// The table has facts about threads, switches or wakeups, which are not declared by columns.
#[must_use]
pub fn random_event(table: EventTableId, rng: &mut Rng, names: usize, stacks: usize) -> EventKind {
    let columns = table.table().columns;
    (0..1000)
        .find_map(|_| EventKind::read_cells(table, &mut RandomCells { rng, columns, names, stacks }))
        .unwrap_or_else(|| panic!("no valid cells of {table:?}"))
}
