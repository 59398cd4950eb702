//! The default name of a new folder.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns an unused name for a trace folder, `PREFIX-YYYYMMDD-HHMMSS.cw` (UTC), in the working folder.
pub fn new(prefix: &str) -> PathBuf {
    unused(prefix, ".cw")
}

/// Returns an unused `PREFIX-YYYYMMDD-HHMMSSENDING` (UTC) in the working folder, with a number if that name is taken.
pub fn unused(prefix: &str, ending: &str) -> PathBuf {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let stem = format!("{prefix}-{}", stamp(seconds.cast_signed()));
    let name = |n: u32| PathBuf::from(if n == 1 { format!("{stem}{ending}") } else { format!("{stem}-{n}{ending}") });
    (1..).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(1))
}

/// Formats seconds since 1970 as date and time of day.
fn stamp(seconds: i64) -> String {
    // SAFETY: all-zero is a valid tm, and the call writes only to it.
    let tm = unsafe {
        let mut tm: libc::tm = std::mem::zeroed();
        libc::gmtime_r(&raw const seconds, &raw mut tm);
        tm
    };
    let (year, month) = (tm.tm_year + 1900, tm.tm_mon + 1);
    format!("{year:04}{month:02}{:02}-{:02}{:02}{:02}", tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_date_and_time() {
        assert_eq!(stamp(1_795_226_645), "20261121-020405");
        assert!(new("corewise").to_string_lossy().starts_with("corewise-2"));
    }
}
