//! The two text formats, by the library's encoders.

use super::families::{self, Encoder, Series, Value};
use super::{Definition, histograms};
use crate::view::View;
use bytes::Bytes;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabel, EncodeLabelSet, LabelSetEncoder, NoLabelSet, prometheus_text, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::sync::Arc;

/// Writes all metrics of a view as classic text.
pub(super) fn classic(view: &Arc<View>) -> Result<Bytes, fmt::Error> {
    let mut written = String::new();
    prometheus_text::encode(&mut written, &registry(view))?;
    Ok(written.into())
}

/// Writes all metrics of a view as OpenMetrics.
pub(super) fn open_metrics(view: &Arc<View>) -> Result<Bytes, fmt::Error> {
    let mut written = String::new();
    text::encode(&mut written, &registry(view))?;
    Ok(written.into())
}

fn registry(view: &Arc<View>) -> Registry {
    let mut registry = Registry::with_prefix("corewise");
    registry.register_collector(Box::new(ViewMetrics(Arc::clone(view))));
    registry
}

/// Gives a view to the library's encoders.
#[derive(Debug)]
struct ViewMetrics(Arc<View>);

impl Collector for ViewMetrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        families::encode(&self.0, &mut Text(encoder))
    }
}

/// Writes metrics in either format.
struct Text<'a>(DescriptorEncoder<'a>);

impl Encoder for Text<'_> {
    fn metric(&mut self, of: &Definition, series: &mut dyn Iterator<Item = Series<'_>>) -> fmt::Result {
        let unit = of.unit.map(|unit| Unit::Other(unit.to_owned()));
        let mut to = self.0.encode_descriptor(of.name, of.help, unit.as_ref(), of.kind)?;
        for (values, value) in series {
            let labels = Named(of.labels, &values);
            if of.kind == MetricType::Info {
                to.encode_info(&labels)?;
                continue;
            }
            let mut to = to.encode_family(&labels)?;
            match (value, of.kind) {
                (Value::Histogram(histogram), _) => {
                    let (sum, buckets) = (histograms::sum_seconds(histogram), histograms::classic(histogram));
                    to.encode_histogram::<NoLabelSet>(sum, histogram.count(), &buckets, None)?;
                }
                (Value::Count(count), MetricType::Counter) => {
                    to.encode_counter::<NoLabelSet, u64, f64>(&count, None)?;
                }
                (Value::Number(number), MetricType::Counter) => {
                    to.encode_counter::<NoLabelSet, f64, f64>(&number, None)?;
                }
                (Value::Count(count), _) => to.encode_gauge(&(count as f64))?,
                (Value::Number(number), _) => to.encode_gauge(&number)?,
            }
        }
        Ok(())
    }
}

/// The labels of a series.
struct Named<'a>(&'static [&'static str], &'a [&'a str]);

impl EncodeLabelSet for Named<'_> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        self.0.iter().zip(self.1).try_for_each(|(name, value)| (*name, *value).encode(encoder.encode_label()))
    }
}
