//! Parquet, one file per table, as in the trace folder: signed integers; units and documentation in the Arrow schema's field
//! metadata; the trace's id in each file's metadata (`corewise.trace`).

use crate::{ExportError, Exporter, Job, Offer, Outputs, Shape, tables};
use engine::Format;

/// A folder of Parquet files.
pub struct Parquet;

impl Exporter for Parquet {
    fn id(&self) -> &'static str {
        "parquet"
    }

    fn about(&self) -> &'static str {
        "a folder of Parquet files, one per table"
    }

    fn shape(&self) -> Shape {
        Shape::Folder
    }

    fn suffix(&self) -> &'static str {
        ".parquet"
    }

    fn offer(&self) -> Offer {
        Offer {
            read_by: "DuckDB, pandas, Polars, Spark",
            carries: &["Every table in full, with types, units and documentation."],
            cannot: &["Events and the manifest: a trace folder (`corewise import`) has them, also as Parquet."],
        }
    }

    fn write(&self, job: &mut Job<'_>, to: &mut dyn Outputs) -> Result<(), ExportError> {
        tables::files(job, to, Format::Parquet, self.suffix())
    }
}
