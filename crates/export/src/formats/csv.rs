//! Comma-separated values (RFC 4180), a file a table, as `corewise table --format csv` writes it: the column names, which
//! carry the units (`running_ns`), stand in the first record; nothing between commas is a value that is not known.

use crate::{ExportError, Exporter, Job, Offer, Outputs, Shape, tables};
use engine::Format;

/// A folder of csv files.
pub struct Csv;

impl Exporter for Csv {
    fn id(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "a folder of comma-separated files, one a table"
    }

    fn shape(&self) -> Shape {
        Shape::Folder
    }

    fn suffix(&self) -> &'static str {
        ".csv"
    }

    fn offer(&self) -> Offer {
        Offer {
            read_by: "spreadsheets, R, pandas, awk",
            carries: &["Every table, whole: each thread's and CPU's stretches and all sums."],
            cannot: &["Events, the machine, and what the trace says of itself: see `corewise report`."],
        }
    }

    fn write(&self, job: &mut Job<'_>, to: &mut dyn Outputs) -> Result<(), ExportError> {
        tables::files(job, to, Format::Csv, self.suffix())
    }
}
