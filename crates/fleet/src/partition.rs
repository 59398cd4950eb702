//! Partitions of a catalogue: `host=NAME/date=2026-11-27`, as Hive, Spark, DuckDB and pyarrow read them.

use std::fmt::Write as _;

/// What Hive writes for null.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The host and the date of recordings that share files.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Partition {
    /// The host name; `None` if not recorded.
    pub host: Option<String>,
    /// The day in UTC, `2026-11-27`; `None` if not recorded.
    pub date: Option<String>,
}

impl Partition {
    /// The names of its two folders.
    pub(crate) fn folders(&self) -> [String; 2] {
        [name("host", self.host.as_deref()), name("date", self.date.as_deref())]
    }

    /// Reads the names of two folders; `None` if they are no partition.
    pub(crate) fn of_folders(host: &str, date: &str) -> Option<Self> {
        let value = |of: &str, key: &str| {
            let value = of.strip_prefix(key)?.strip_prefix('=')?;
            if value == NULL { Some(None) } else { Some(Some(decoded(value)?)) }
        };
        Some(Self { host: value(host, "host")?, date: value(date, "date")? })
    }
}

/// A folder of a partition. Bytes that a file name, a URL or a pattern may not have are encoded as in URLs.
fn name(key: &str, value: Option<&str>) -> String {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return format!("{key}={NULL}") };
    value.bytes().fold(format!("{key}="), |mut all, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => all.push(byte.into()),
            _ => {
                let _ = write!(all, "%{byte:02X}");
            }
        }
        all
    })
}

fn decoded(value: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), value);
    while let Some(at) = rest.find('%') {
        bytes.extend_from_slice(rest.get(..at)?.as_bytes());
        bytes.push(u8::from_str_radix(rest.get(at + 1..at + 3)?, 16).ok()?);
        rest = rest.get(at + 3..)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for host in [None, Some("a"), Some("büro/../x=1"), Some("100%"), Some("web-01.example.org")] {
            let of = Partition { host: host.map(str::to_owned), date: Some("2026-11-27".to_owned()) };
            let [host, date] = of.folders();
            assert!(!host.contains('/') && date == "date=2026-11-27", "{host}");
            assert_eq!(Partition::of_folders(&host, &date), Some(of));
        }
        assert_eq!(
            Partition::default().folders(),
            ["host=__HIVE_DEFAULT_PARTITION__", "date=__HIVE_DEFAULT_PARTITION__"]
        );
        assert_eq!(Partition::of_folders("host=%", "date=x"), None);
        assert_eq!(Partition::of_folders("x", "date=x"), None);
    }
}
