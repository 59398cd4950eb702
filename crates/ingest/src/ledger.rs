//! Three kinds of bad: [`crate::Fatal`] stops; a loss is an event with a span; what is odd is counted here.

use std::collections::BTreeMap;

/// What is told of a place in a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// A record was lost or could not be read: its content is missing.
    Lost,
    /// Something unexpected that costs nothing: it was read anyway, or is of no use here.
    Odd,
}

/// Takes note of trouble.
pub trait Ledger {
    /// `code` is a short sentence without numbers ("record cut off by the end of the file"), `offset` a byte offset.
    fn trouble(&mut self, code: &'static str, offset: u64, what: Trouble);
}

/// All trouble of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TroubleCount {
    /// Lost or odd.
    pub what: Trouble,
    /// How often.
    pub count: u64,
    /// Where first.
    pub first_offset: u64,
}

/// The ledger that ingest keeps: bounded by the kinds of trouble.
#[derive(Clone, Debug, Default)]
pub struct Troubles(pub BTreeMap<&'static str, TroubleCount>);

impl Ledger for Troubles {
    fn trouble(&mut self, code: &'static str, offset: u64, what: Trouble) {
        let entry = self.0.entry(code).or_insert(TroubleCount { what, count: 0, first_offset: offset });
        entry.count += 1;
    }
}
