//! Three kinds of problems: [`crate::Fatal`] ends the reading, a loss is an event with a span, other anomalies are counted here. A record
//! that is damaged or cut off is lost; one that is whole, but of a form that is not known, is not understood.

use model::LeftOut;
use std::collections::BTreeMap;

/// An anomaly at a place in a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anomaly {
    /// A record was lost, is damaged or is cut off: its content is missing.
    Lost,
    /// A record is whole, but of a form that is not known, so its content was not used. Nothing was lost when it was recorded.
    NotUnderstood,
    /// Something unexpected without effect: it was read anyway, or is not needed.
    Warning,
}

/// Records anomalies.
///
/// ```
/// use ingest::{Anomaly, Ledger};
///
/// struct Lost(u64);
/// impl Ledger for Lost {
///     fn anomaly(&mut self, _: &'static str, _: u64, what: Anomaly) { self.0 += u64::from(what == Anomaly::Lost); }
/// }
/// let mut lost = Lost(0);
/// lost.anomaly("record cut off by the end of the file", 42, Anomaly::Lost);
/// lost.anomaly("unknown kind of record", 7, Anomaly::Warning);
/// assert_eq!(lost.0, 1);
/// ```
pub trait Ledger {
    /// Records an anomaly. `code` is a short sentence without numbers ("record cut off by the end of the file"), `offset` a byte
    /// offset.
    fn anomaly(&mut self, code: &'static str, offset: u64, what: Anomaly);

    /// Records what was not understood, with its text: a line, or the name of an event. The first one shows the user what the
    /// recording contains.
    fn not_understood(&mut self, code: &'static str, offset: u64, text: &[u8]) {
        let _ = text;
        self.anomaly(code, offset, Anomaly::NotUnderstood);
    }
}

/// The maximum length of the text of an anomaly, in bytes.
const MAX_TEXT: usize = 160;

/// The count of anomalies of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnomalyCount {
    /// Lost, not understood or a warning.
    pub what: Anomaly,
    /// The number of anomalies.
    pub count: u64,
    /// The offset of the first one.
    pub first_offset: u64,
    /// The text of the first one, if it was not understood and has a text: its first 160 bytes, without control characters. It may
    /// contain anything, a path or a command line too.
    pub first_text: Option<String>,
}

impl AnomalyCount {
    fn new(what: Anomaly, first_offset: u64) -> Self {
        Self { what, count: 0, first_offset, first_text: None }
    }
}

/// The ledger of ingest, with one entry per kind of anomaly.
///
/// ```
/// use ingest::{Anomalies, Anomaly, Ledger};
///
/// let mut anomalies = Anomalies::default();
/// for offset in [40, 80] {
///     anomalies.anomaly("unknown kind of record", offset, Anomaly::Warning);
/// }
/// let entry = &anomalies.0["unknown kind of record"];
/// assert_eq!((entry.count, entry.first_offset), (2, 40));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Anomalies(pub BTreeMap<&'static str, AnomalyCount>);

impl Ledger for Anomalies {
    fn anomaly(&mut self, code: &'static str, offset: u64, what: Anomaly) {
        self.0.entry(code).or_insert_with(|| AnomalyCount::new(what, offset)).count += 1;
    }

    fn not_understood(&mut self, code: &'static str, offset: u64, text: &[u8]) {
        let entry = self.0.entry(code).or_insert_with(|| {
            let first_text = Some(readable(text)).filter(|text| !text.is_empty());
            AnomalyCount { first_text, ..AnomalyCount::new(Anomaly::NotUnderstood, offset) }
        });
        entry.count += 1;
    }
}

/// The begin of a text on one line.
fn readable(text: &[u8]) -> String {
    let text = text.trim_ascii();
    let shown = String::from_utf8_lossy(text.get(..MAX_TEXT).unwrap_or(text));
    let cut = if text.len() > MAX_TEXT { "…" } else { "" };
    let shown = shown.trim_end_matches(char::REPLACEMENT_CHARACTER);
    shown.replace(char::is_control, " ") + cut
}

impl Anomalies {
    /// Counts what a reader dropped because it exceeds a limit; `offset`: the begin of the events that were read with it.
    pub fn left_out(&mut self, left_out: LeftOut, offset: u64) {
        let LeftOut { texts, callchains, threads, entries } = left_out;
        for (code, count) in [
            ("too many texts: one was dropped, and what it names has no name", texts),
            ("too many callchains: one was dropped", callchains),
            ("too many threads: the process of one was dropped", threads),
            ("too many entries in a table of the source: one was dropped", entries),
        ] {
            if count > 0 {
                self.anomaly(code, offset, Anomaly::Lost);
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
    fn the_first_text_is_kept() {
        let mut all = Anomalies::default();
        all.not_understood("a line", 3, b"  what\tis this\x1b\r\n");
        all.not_understood("a line", 9, b"another");
        all.not_understood("a record", 9, b"");
        let texts: Vec<_> = all.0.values().map(|t| (t.count, t.first_offset, t.first_text.as_deref())).collect();
        assert_eq!(texts, [(2, 3, Some("what is this ")), (1, 9, None)]);

        // Cut between characters: one of 2 bytes stands at the limit.
        let mut long = vec![b'x'; MAX_TEXT - 1];
        long.extend_from_slice("éé".as_bytes());
        all.not_understood("long", 0, &long);
        assert_eq!(all.0["long"].first_text, Some("x".repeat(MAX_TEXT - 1) + "…"));
    }

    #[test]
    fn dropped_data_is_counted() {
        let mut all = Anomalies::default();
        all.left_out(LeftOut::default(), 1);
        assert!(all.0.is_empty());
        let mut some = LeftOut { texts: 3, threads: 1, ..LeftOut::default() };
        let mut more = LeftOut { texts: 1, ..LeftOut::default() };
        more.take(&mut some);
        assert_eq!((more.texts, some), (4, LeftOut::default()));
        all.left_out(more, 7);
        all.left_out(LeftOut { texts: 2, ..LeftOut::default() }, 9);
        let counts: Vec<_> = all.0.values().map(|t| (t.what, t.count, t.first_offset)).collect();
        assert_eq!(counts, [(Anomaly::Lost, 6, 7), (Anomaly::Lost, 1, 7)]);
    }
}
