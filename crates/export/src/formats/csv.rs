//! Comma-separated values (RFC 4180), one file per table, as `corewise table --format csv` writes it. The first record has the column
//! names, which include the units (`running_ns`); an empty value is null.

use crate::{ExportError, Exporter, Job, Offer, Outputs, Shape, tables};
use engine::Format;

/// A folder of csv files.
pub struct Csv;

impl Exporter for Csv {
    fn id(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "a folder of CSV files, one per table"
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
            carries: &["Every table in full: the stretches of each thread and CPU, and all sums."],
            cannot: &["Events, the machine and metadata: see `corewise report`."],
        }
    }

    fn write(&self, job: &mut Job<'_>, to: &mut dyn Outputs) -> Result<(), ExportError> {
        tables::files(job, to, Format::Csv, self.suffix())
    }
}
