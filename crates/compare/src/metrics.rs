//! stub
use crate::{Better, Metric, Unit};

/// The metric with this id.
pub(crate) fn metric(id: &str) -> Option<Metric> {
    (id == "elapsed").then(|| Metric { id: id.to_owned(), role: None, title: "time to the end".to_owned(), unit: Unit::Ns, better: Better::Less, per: None })
}
