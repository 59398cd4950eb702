//! A snapshot as metrics, in any of the three formats.

mod definitions;
mod families;
mod histograms;
mod protobuf;
mod text;

use crate::accept::Format;
use crate::view::View;
use bytes::Bytes;
use std::sync::Arc;

pub use definitions::{DEFINITIONS, Definition};

/// Writes all metrics of a view.
pub(crate) fn write(view: &Arc<View>, format: Format) -> Result<Bytes, String> {
    let written = match format {
        Format::Text => text::classic(view),
        Format::OpenMetrics => text::open_metrics(view),
        Format::Protobuf => protobuf::write(view),
    };
    written.map_err(|why| why.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::view::Views;
    use std::collections::BTreeSet;
    use std::io::Write;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use watch::testing::drawn;

    fn written(format: Format) -> Bytes {
        write(&Arc::new(Views::new(10).of(drawn(1))), format).unwrap()
    }

    fn repository(path: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
    }

    fn text(format: Format) -> String {
        String::from_utf8(written(format).to_vec()).unwrap()
    }

    /// The lines of classic text that are not buckets; `COREWISE_BLESS=1` rewrites them.
    #[test]
    fn the_drawn_snapshot_is_written_as_expected() {
        let written = text(Format::Text);
        let lines: String =
            written.lines().filter(|line| !line.contains("_bucket{")).map(|l| format!("{l}\n")).collect();
        testkit::cases::generated(&repository("crates/exporter/src/metrics/drawn.txt"), &lines);
        // The two text formats have the same samples, in another order; OpenMetrics writes bounds as 1.0 where the classic text has 1.
        let samples = |text: &str| -> BTreeSet<String> {
            text.lines().filter(|l| !l.starts_with('#') && !l.contains("_bucket{")).map(str::to_owned).collect()
        };
        assert_eq!(samples(&written), samples(&text(Format::OpenMetrics)));
    }

    /// `docs/watch/metrics.md` is made from the list; `COREWISE_BLESS=1` rewrites it.
    #[test]
    fn the_page_of_metrics_matches_the_list() {
        let mut page = String::from(PAGE);
        for of in DEFINITIONS.iter().copied().flatten() {
            let labels: Vec<String> = of.labels.iter().map(|label| format!("`{label}`")).collect();
            let kind = of.kind.as_str();
            page += &format!("| `{}` | {kind} | {} | {} |\n", of.full_name(), labels.join(", "), of.help);
        }
        testkit::cases::generated(&repository("docs/watch/metrics.md"), &page);
    }

    const PAGE: &str = "\
# The metrics of corewise watch

All sums are since watching began. Histograms have the suffixes `_bucket`, `_sum` and `_count`. The labels of groups are `kind` (`cgroup`,
`process`, `other`) and `group` (the cgroup's path, the process's name). This page is made from the list in `crates/exporter`.

| metric | type | labels | meaning |
| --- | --- | --- | --- |
";

    #[test]
    fn the_number_of_series_is_bounded_as_the_page_says() {
        // docs/watch/prometheus.md: groups x classes x (2 histograms x 28 + 11) + groups x (classes^2 + 2), with all others as one.
        let (groups, classes) = (3, 2);
        let limit = groups * classes * (2 * (histograms::CLASSIC + 2) + 11) + groups * (classes * classes + 2);
        let count = text(Format::Text).lines().filter(|line| line.starts_with("corewise_group_")).count();
        assert!(count <= limit && count > limit / 2, "{count} of {limit}");
    }

    #[test]
    #[ignore = "needs promtool"]
    fn classic_text_is_clean_under_promtool_check_metrics() {
        let mut promtool = Command::new("promtool")
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        promtool.stdin.take().unwrap().write_all(&written(Format::Text)).unwrap();
        let output = promtool.wait_with_output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success() && said.is_empty(), "{}", String::from_utf8_lossy(&said));
    }
}
