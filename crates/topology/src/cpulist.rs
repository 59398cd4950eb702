//! Parses and formats CPU lists in the kernel's format (`0-3,8,10-11`). The input is not trusted.

use model::CpuId;
use std::fmt::Write;

/// CPU numbers from here on are refused: Linux cannot be built for more (the maximum of `CONFIG_NR_CPUS` is 8192).
pub const MAX_CPUS: u32 = 8192;

/// The maximum size of a group that shares a core or cache. It limits the memory for hostile input, since each CPU of a group stores
/// the whole group.
pub(crate) const MAX_GROUP: usize = 2048;

/// Why a text is not a CPU list.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadList {
    /// Not numbers and ranges.
    #[error("`{0}` is not a CPU list such as 0-3,8")]
    Garbage(String),
    /// A number of at least [`MAX_CPUS`].
    #[error("`{0}` names a CPU beyond {last}", last = MAX_CPUS - 1)]
    TooBig(String),
    /// A range that ends before it starts.
    #[error("`{0}` ends before it starts")]
    Backwards(String),
}

/// Parses a list such as `0-3,8`, or with blanks (`0 1 2`, as cpufreq writes it). An empty text is an empty list. The result is
/// sorted and has no duplicates.
///
/// # Errors
/// Returns the invalid part. Each part is checked before it is expanded, so a hostile range costs nothing.
pub fn parse(text: &str) -> Result<Vec<CpuId>, BadList> {
    let mut ids = Vec::new();
    for part in text.split([',', ' ', '\t', '\n']).map(str::trim).filter(|p| !p.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first, part)?, number(last, part)?);
        if last < first {
            return Err(BadList::Backwards(shortened(part)));
        }
        ids.extend((first..=last).map(CpuId));
        // A list may repeat CPUs; limit its memory.
        if ids.len() > 4 * MAX_CPUS as usize {
            ids.sort_unstable();
            ids.dedup();
        }
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

fn number(text: &str, part: &str) -> Result<u32, BadList> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(BadList::Garbage(shortened(part)));
    }
    text.parse().ok().filter(|n| *n < MAX_CPUS).ok_or_else(|| BadList::TooBig(shortened(part)))
}

/// Shortens a text to 40 characters, for messages.
pub(crate) fn shortened(text: &str) -> String {
    let short: String = text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if short.len() < text.len() && text.chars().count() > 40 { format!("{short}...") } else { short }
}

/// Formats CPU numbers as the kernel does; they need not be sorted.
#[must_use]
pub fn format(ids: impl IntoIterator<Item = CpuId>) -> String {
    let mut ids: Vec<u32> = ids.into_iter().map(|id| id.0).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut out = String::new();
    for run in ids.chunk_by(|a, b| b.checked_sub(*a) == Some(1)) {
        let comma = if out.is_empty() { "" } else { "," };
        let _ = match run {
            [one] => write!(out, "{comma}{one}"),
            [first, .., last] => write!(out, "{comma}{first}-{last}"),
            [] => Ok(()),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids(list: &[u32]) -> Vec<CpuId> {
        list.iter().copied().map(CpuId).collect()
    }

    #[test]
    fn lists_of_the_kernel_are_parsed() {
        assert_eq!(parse("0-3,8\n"), Ok(ids(&[0, 1, 2, 3, 8])));
        assert_eq!(parse("0 1 2\n"), Ok(ids(&[0, 1, 2])));
        assert_eq!(parse("\n"), Ok(vec![]));
        assert_eq!(parse("3,1,1-2"), Ok(ids(&[1, 2, 3])));
    }

    #[test]
    fn hostile_lists_are_refused() {
        assert!(matches!(parse("0-4294967295"), Err(BadList::TooBig(_))));
        assert!(matches!(parse("99999999999999999999"), Err(BadList::TooBig(_))));
        assert!(matches!(parse("-1"), Err(BadList::Garbage(_))));
        assert!(matches!(parse("3-1"), Err(BadList::Backwards(_))));
        assert!(matches!(parse("a-b"), Err(BadList::Garbage(_))));
        assert!(matches!(parse("5/2"), Err(BadList::Garbage(_))));
        assert_eq!(parse(&"0-8191,".repeat(20)).unwrap().len(), MAX_CPUS as usize);
    }

    proptest! {
        #![proptest_config(testkit::drawn(256))]
        #[test]
        fn formatted_lists_round_trip(set in proptest::collection::btree_set(0..MAX_CPUS, 0..64)) {
            let list: Vec<CpuId> = set.into_iter().map(CpuId).collect();
            prop_assert_eq!(parse(&format(list.iter().copied())), Ok(list));
        }

        #[test]
        fn no_text_panics(text in "[0-9,/ \\-a\u{e9}]{0,40}") {
            let _ = parse(&text);
        }
    }
}
