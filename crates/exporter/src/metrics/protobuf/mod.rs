//! Prometheus' protobuf: a message for each metric, with its length before it.
//!
//! The messages are declared in `metrics.proto`. What prost-build generated from it is kept, so that no build has to compile it.

use super::families::{self, Encoder, Series, Value};
use super::{Definition, histograms};
use crate::view::View;
use bytes::Bytes;
use messages::{Bucket, BucketSpan, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};
use prometheus_client::metrics;
use prost::Message;
use std::fmt;

/// Included, so that rustfmt leaves it as it was generated.
#[allow(dead_code)] // not all that is generated is needed
mod messages {
    include!("io.prometheus.client.rs");
}

/// Writes all metrics of a view.
pub(super) fn write(view: &View) -> Result<Bytes, fmt::Error> {
    let mut to = Protobuf::default();
    families::encode(view, &mut to)?;
    Ok(to.0.into())
}

/// The bytes so far.
#[derive(Default)]
struct Protobuf(Vec<u8>);

impl Encoder for Protobuf {
    fn metric(&mut self, of: &Definition, series: &mut dyn Iterator<Item = Series<'_>>) -> fmt::Result {
        let family = MetricFamily {
            name: of.full_name(),
            help: of.help.to_owned(),
            r#type: type_of(of.kind).into(),
            metric: series.map(|(labels, value)| metric(of, &labels, &value)).collect(),
            unit: of.unit.unwrap_or_default().to_owned(),
        };
        // A vector has room for everything.
        family.encode_length_delimited(&mut self.0).map_err(|_| fmt::Error)
    }
}

fn type_of(kind: metrics::MetricType) -> MetricType {
    match kind {
        metrics::MetricType::Counter => MetricType::Counter,
        metrics::MetricType::Histogram => MetricType::Histogram,
        // Prometheus has no type for facts: they are gauges of 1.
        _ => MetricType::Gauge,
    }
}

fn metric(of: &Definition, labels: &[&str], value: &Value<'_>) -> Metric {
    let pair = |(name, value): (&&str, &&str)| LabelPair { name: (*name).to_owned(), value: (*value).to_owned() };
    let mut metric = Metric { label: of.labels.iter().zip(labels).map(pair).collect(), ..Metric::default() };
    let value = match *value {
        Value::Histogram(of) => {
            metric.histogram = Some(histogram(of));
            return metric;
        }
        Value::Count(count) => count as f64,
        Value::Number(number) => number,
    };
    match type_of(of.kind) {
        MetricType::Counter => metric.counter = Some(Counter { value }),
        _ => metric.gauge = Some(Gauge { value }),
    }
    metric
}

fn histogram(of: &watch::histogram::Histogram) -> Histogram {
    let classic = histograms::classic(of);
    let native = histograms::native(&classic);
    let mut cumulative_count = 0;
    let bucket = |(upper_bound, count): (f64, u64)| {
        cumulative_count += count;
        Bucket { cumulative_count, upper_bound }
    };
    Histogram {
        sample_count: of.count(),
        sample_sum: histograms::sum_seconds(of),
        bucket: classic.into_iter().map(bucket).collect(),
        schema: native.schema,
        zero_threshold: native.zero_threshold,
        zero_count: native.zero_count,
        positive_span: native.spans.into_iter().map(|(offset, length)| BucketSpan { offset, length }).collect(),
        positive_delta: native.deltas,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::accept::Format;
    use crate::view::Views;
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use watch::histogram::BUCKETS;
    use watch::testing::drawn;

    fn written(of: &Definition, series: Vec<Series<'_>>) -> Vec<u8> {
        let mut to = Protobuf::default();
        to.metric(of, &mut series.into_iter()).unwrap();
        to.0
    }

    const ONE_AND_A_HALF: &[u8] = b"\0\0\0\0\0\0\xf8\x3f";

    #[test]
    fn a_counter_is_written_as_the_proto_file_says() {
        let of = Definition {
            name: "a",
            unit: Some("seconds"),
            kind: metrics::MetricType::Counter,
            labels: &["k"],
            help: "H",
        };
        let series = vec![(vec!["v"], Value::Number(1.5)), (vec!["w"], Value::Count(0))];
        let expected = [
            b"\x47" as &[u8],                      // MetricFamily, 71 bytes
            b"\x0a\x18corewise_a_seconds_total",   // name
            b"\x12\x01H",                          // help; the type is 0, which is not written
            b"\x22\x13\x0a\x06\x0a\x01k\x12\x01v", // metric, label, its name and value
            b"\x1a\x09\x09",                       // counter, value
            ONE_AND_A_HALF,                        // 1.5
            b"\x22\x0a\x0a\x06\x0a\x01k\x12\x01w", // another metric, its label
            b"\x1a\x00",                           // a counter of 0 is there, and empty
            b"\x2a\x07seconds",                    // unit
        ];
        assert_eq!(written(&of, series), expected.concat());
    }

    #[test]
    fn a_gauge_is_written_as_the_proto_file_says() {
        let of = Definition { name: "g", unit: None, kind: metrics::MetricType::Gauge, labels: &[], help: "H" };
        let expected = [
            b"\x1e\x0a\x0acorewise_g\x12\x01H" as &[u8],
            b"\x18\x01",             // type
            b"\x22\x0b\x12\x09\x09", // metric, gauge, value
            ONE_AND_A_HALF,          // there is no unit
        ];
        assert_eq!(written(&of, vec![(vec![], Value::Number(1.5))]), expected.concat());
    }

    #[test]
    fn a_native_histogram_is_written_as_the_proto_file_says() {
        let of = Definition {
            name: "h",
            unit: Some("seconds"),
            kind: metrics::MetricType::Histogram,
            labels: &[],
            help: "H",
        };
        let mut histogram = watch::histogram::Histogram { counts: [0; BUCKETS], sum_ns: 1_500_000_000 };
        // Two up to 2^-20 s, one up to 2^-19 s, three up to 2^-17 s.
        for (bucket, count) in [(0, 2), (1, 1), (9, 1), (12, 2)] {
            histogram.counts[bucket] = count;
        }
        let mut expected = [
            b"\x9b\x03\x0a\x12corewise_h_seconds\x12\x01H" as &[u8], // MetricFamily, 411 bytes
            b"\x18\x04",                                             // type
            b"\x22\xf6\x02\x3a\xf3\x02",                             // metric, 374 bytes; histogram, 371 bytes
            b"\x08\x06\x11",                                         // sample_count, sample_sum
            ONE_AND_A_HALF,
        ]
        .concat();
        for bucket in 0..26 {
            let cumulative_count = [2, 3, 3].get(bucket).copied().unwrap_or(6);
            let upper_bound = if bucket < 25 { f64::exp2(bucket as f64 - 20.0) } else { f64::INFINITY };
            expected.extend_from_slice(&[0x1a, 0x0b, 0x08, cumulative_count, 0x11]);
            expected.extend(upper_bound.to_le_bytes());
        }
        expected.extend(b"\x31\0\0\0\0\0\0\xb0\x3e"); // the schema is 0, which is not written; zero_threshold: 2^-20
        expected.extend(b"\x38\x02"); // zero_count
        expected.extend(b"\x62\x04\x08\x25\x10\x03"); // positive_span: offset -19 (as zigzag 37), length 3
        expected.extend(b"\x6a\x03\x02\x01\x06"); // positive_delta: 1, -1, 3 (as zigzag 2, 1, 6)
        expected.extend(b"\x2a\x07seconds"); // unit
        assert_eq!(written(&of, vec![(vec![], Value::Histogram(&histogram))]), expected);
    }

    /// The native form of an empty histogram has no buckets, and is known as native by its threshold.
    #[test]
    fn an_empty_histogram_is_native_too() {
        let empty = super::histogram(&watch::histogram::Histogram::default());
        assert_eq!(
            (empty.zero_threshold, empty.positive_span, empty.positive_delta),
            (f64::exp2(-20.0), vec![], vec![])
        );
    }

    #[test]
    fn the_messages_have_the_samples_of_the_text() {
        let view = Arc::new(Views::new(10).of(drawn(1)));
        let text = crate::metrics::write(&view, Format::Text).unwrap();
        let text = std::str::from_utf8(&text).unwrap();
        // "# TYPE name gauge" or "name{label="value"} 1".
        let lines = text.lines().filter(|line| !line.starts_with("# HELP") && !line.contains("_bucket{"));
        let expected: BTreeMap<String, String> = lines
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(series, value)| (series.to_owned(), value.parse::<f64>().map_or_else(|_| value.to_owned(), number)))
            .collect();
        let mut bytes = write(&view).unwrap();
        let mut found = BTreeMap::new();
        while !bytes.is_empty() {
            let family = MetricFamily::decode_length_delimited(&mut bytes).unwrap();
            let name = &family.name;
            found.insert(format!("# TYPE {name}"), family.r#type().as_str_name().to_lowercase());
            for metric in &family.metric {
                let pairs: Vec<String> = metric.label.iter().map(|l| format!("{}=\"{}\"", l.name, l.value)).collect();
                let labels = if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) };
                let values = [metric.counter.map(|counter| counter.value), metric.gauge.map(|gauge| gauge.value)];
                for value in values.into_iter().flatten() {
                    found.insert(format!("{name}{labels}"), number(value));
                }
                if let Some(histogram) = &metric.histogram {
                    found.insert(format!("{name}_sum{labels}"), number(histogram.sample_sum));
                    found.insert(format!("{name}_count{labels}"), number(histogram.sample_count as f64));
                }
            }
        }
        assert_eq!(found, expected);
    }

    fn number(value: f64) -> String {
        value.to_string()
    }
}
