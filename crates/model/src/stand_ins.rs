//! Numbers and names that stand for what must not be shown.

use crate::pool_name;
use crate::redact::{frame_words, public_name};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// How many values get a number of their own; it bounds the memory that a hostile recording can take.
const MOST: usize = 1 << 20;

/// The numbers that stand for private values, such as addresses: equal values have the same number.
///
/// ```
/// let mut of = model::StandIns::default();
/// assert_eq!([0x5000, 0x7000, 0x5000].map(|address| of.number(&address)), [1, 2, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct StandIns<K>(HashMap<K, u64>);

impl<K> Default for StandIns<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Hash + Eq> StandIns<K> {
    /// Returns the number of a value: 1 for the first one. All values after the first 1,048,576 have the number 0.
    pub fn number<Q>(&mut self, value: &Q) -> u64
    where
        K: std::borrow::Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(number) = self.0.get(value) {
            return *number;
        }
        if self.0.len() >= MOST {
            return 0;
        }
        let number = self.0.len() as u64 + 1;
        self.0.insert(value.to_owned(), number);
        number
    }
}

/// The names that stand for private names: equal names have the same one. Threads of a pool stay one, and what the kernel or a public run time named
/// keeps that name, so that whatever is judged by names is judged the same.
///
/// ```
/// let mut of = model::NameStandIns::default();
/// let shown = ["io-7", "main", "io-9", "kworker/0:1", "io-7"].map(|name| of.name("thread", name));
/// assert_eq!(shown, ["thread A-1", "thread B", "thread A-2", "kworker/0:1", "thread A-1"]);
/// assert_eq!(of.name("thread", "thread A-2"), "thread A-2", "a name that stands for another one stays");
/// ```
#[derive(Clone, Debug, Default)]
pub struct NameStandIns {
    /// By kind: names without their numbers.
    stems: HashMap<&'static str, StandIns<String>>,
    /// By kind and by the number of what is before it: names with numbers.
    numbers: HashMap<(&'static str, u64), StandIns<String>>,
    issued: HashSet<String>,
}

impl NameStandIns {
    /// Returns what stands for a name of a kind (`thread`, `function`, …), as in `thread A`, `thread B-1`. A capital stands for the name, so that its own
    /// number can follow.
    pub fn name(&mut self, kind: &'static str, name: &str) -> String {
        if self.issued.contains(name) {
            return name.to_owned();
        }
        let shown = public_name(kind, name).map_or_else(|| self.made(kind, name), std::borrow::Cow::into_owned);
        if self.issued.len() < MOST {
            self.issued.insert(shown.clone());
        }
        shown
    }

    fn made(&mut self, kind: &'static str, name: &str) -> String {
        let frame = if kind == "mark" { frame_words(name) } else { None };
        let stem = frame.as_ref().map_or_else(|| pool_name(name), |(before, _)| before);
        let of_stem = self.stem(kind, stem);
        if let Some((before, after)) = frame {
            return match before.as_str() {
                "" => format!("{}{after}", capitals(self.stem(kind, name))),
                _ => format!("{before}{}", self.number((kind, of_stem), name)),
            };
        }
        let capitals = capitals(of_stem);
        match name[stem.len()..].trim_end_matches(|c: char| c.is_ascii_digit()) {
            _ if stem.len() == name.len() => format!("{kind} {capitals}"),
            between => format!("{kind} {capitals}{between}{}", self.number((kind, of_stem), name)),
        }
    }

    fn stem(&mut self, kind: &'static str, stem: &str) -> u64 {
        self.stems.entry(kind).or_default().number(stem)
    }

    fn number(&mut self, stem: (&'static str, u64), name: &str) -> u64 {
        self.numbers.entry(stem).or_default().number(name)
    }
}

/// Returns a number in capitals: A is 1, Z is 26, AA is 27; `?` for 0, which stands for all that are too many.
fn capitals(mut number: u64) -> String {
    let mut capitals = Vec::new();
    while number > 0 {
        capitals.push(b'A' + ((number - 1) % 26) as u8);
        number = (number - 1) / 26;
    }
    capitals.reverse();
    if capitals.is_empty() { "?".to_owned() } else { capitals.into_iter().map(char::from).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{frame_mark, is_kernel_thread_of_cpu};

    #[test]
    fn capitals_count_as_columns_of_a_sheet_do() {
        assert_eq!(
            [1, 2, 26, 27, 52, 53, 702, 703, 0].map(capitals),
            ["A", "B", "Z", "AA", "AZ", "BA", "ZZ", "AAA", "?"]
        );
    }

    /// What is judged by names is judged the same by those that stand for them.
    #[test]
    fn pools_and_kernel_threads_stay_what_they_are() {
        let mut of = NameStandIns::default();
        let names = ["worker 3", "worker 12", "worker", "io_thread2", "io_thread3", "7042", "own/1", "own/2", "main"];
        let shown: Vec<String> = names.iter().map(|name| of.name("thread", name)).collect();
        for (a, shown_a) in names.iter().zip(&shown) {
            assert_eq!(is_kernel_thread_of_cpu(a), is_kernel_thread_of_cpu(shown_a), "{a}: {shown_a}");
            for (b, shown_b) in names.iter().zip(&shown) {
                assert_eq!(a == b, shown_a == shown_b, "{shown_a} {shown_b}");
                assert_eq!(
                    pool_name(a) == pool_name(b),
                    pool_name(shown_a) == pool_name(shown_b),
                    "{shown_a} {shown_b}"
                );
            }
        }
        // The name of a pool stands in a column of its own.
        assert_eq!(of.name("thread", "worker"), pool_name(&shown[0]));
    }

    /// Marks that look like frames still do, for the same reason, and have the same pattern if they had.
    #[test]
    fn marks_of_frames_stay_frames() {
        let mut of = NameStandIns::default();
        let names = [
            "frame",
            "Frame 12",
            "frame: 7 of own",
            "Choreographer#doFrame",
            "Choreographer#doFrame 3 own",
            "DrawOwnFrame",
        ];
        for name in names.into_iter().chain(["own vsync 3", "ownPresent", "performTraversals", "own", "own 3"]) {
            let shown = of.name("mark", name);
            let kind = |name: &str| frame_mark(name).map(|(kind, _)| kind);
            assert_eq!(kind(name), kind(&shown), "{name}: {shown}");
            assert!(!shown.contains("own"), "{shown}");
        }
        let [a, b] = ["frame: 7 of own", "frame: 8 of own"].map(|name| of.name("mark", name));
        assert_eq!((a.as_str(), b.as_str()), ("frame: 1", "frame: 2"));
    }
}
