//! Three kinds of bad: [`crate::Fatal`] stops; a loss is an event with a span; what is odd is counted here.

use model::LeftOut;
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

impl Troubles {
    /// Counts what a reader had no room for; `offset`: where the events begin that it was read with.
    pub fn left_out(&mut self, left_out: LeftOut, offset: u64) {
        let LeftOut { texts, callchains, threads, entries } = left_out;
        for (code, count) in [
            ("a text beyond those that are kept: what it names has no name", texts),
            ("a callchain beyond those that are kept", callchains),
            ("a thread beyond those whose process is kept", threads),
            ("an entry beyond those that are kept of the source's tables", entries),
        ] {
            if count > 0 {
                self.trouble(code, offset, Trouble::Lost);
                if let Some(entry) = self.0.get_mut(code) {
                    entry.count += count - 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_adds_up() {
        let mut all = Troubles::default();
        all.left_out(LeftOut::default(), 1);
        assert!(all.0.is_empty());
        let mut some = LeftOut { texts: 3, threads: 1, ..LeftOut::default() };
        let mut more = LeftOut { texts: 1, ..LeftOut::default() };
        more.take(&mut some);
        assert_eq!((more.texts, some), (4, LeftOut::default()));
        all.left_out(more, 7);
        all.left_out(LeftOut { texts: 2, ..LeftOut::default() }, 9);
        let told: Vec<_> = all.0.values().map(|t| (t.what, t.count, t.first_offset)).collect();
        assert_eq!(told, [(Trouble::Lost, 6, 7), (Trouble::Lost, 1, 7)]);
    }
}
