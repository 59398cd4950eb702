//! Tables of a catalogue as one file each, in addition to their partitions: opening thousands of files takes seconds, one of them milliseconds.
//!
//! `_packed/TABLE.parquet` has the rows of all partitions, with the columns `host` and `date` before those of the table. It follows from the
//! partitions, which are what counts: before a partition changes, `_packed` is renamed, so that one that is there is up to date, if the catalogue is
//! complete. At its end a run packs again, from the rows of the renamed one that are still so and the partitions that it changed. A run that was killed leaves none, and
//! the next one packs from all partitions. Readers of data sets skip names that begin with `_`.

use crate::catalogue::{Catalogue, CatalogueFile};
use crate::error::FleetError;
use crate::parquet_in::{batches, cell, rows_of};
use crate::partition::Partition;
use crate::tables::{ERRORS, PARTITION, PARTITIONED};
use arrow_array::cast::AsArray as _;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use model::{Kind, TableDef, Value};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use safefs::Dir;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::Arc;

/// The folder of the packed tables.
pub(crate) const PACKED: &str = "_packed";
/// It, while partitions change.
const OLD: &str = "_packed_old";
/// The next one, while it is written.
const NEW: &str = "_packed_new";

/// The path of a packed table in the catalogue.
pub(crate) fn packed_name(def: &TableDef) -> String {
    format!("{PACKED}/{}.parquet", def.name)
}

/// Partitions that this process has changed since the tables were packed.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    partitions: BTreeSet<Partition>,
    /// Whether the old packed tables have all other partitions.
    has_old: bool,
    /// Whether the packed tables are right although the catalogue says that it is incomplete: it was complete before this run, or they were packed since.
    pub(crate) is_packed: bool,
}

impl Catalogue {
    /// The file with all rows of a table, if it is there and up to date: partitions as columns before those of the table.
    #[must_use]
    pub fn packed(&self, def: &TableDef) -> Option<CatalogueFile> {
        let is_trusted = self.about.complete || self.changed().is_packed;
        self.packed_file(def).filter(|_| is_trusted)
    }

    fn packed_file(&self, def: &TableDef) -> Option<CatalogueFile> {
        let path = self.folder().join(packed_name(def));
        path.is_file().then_some(CatalogueFile { path, partition: None })
    }

    /// Passes on all rows of a table, each with its partition; columns that are not wanted are null (`wanted` empty: all).
    ///
    /// # Errors
    /// A file is damaged, or `each` fails.
    pub(crate) fn each(
        &self,
        def: &TableDef,
        wanted: &[&str],
        each: &mut dyn FnMut(&Partition, Vec<Value>),
    ) -> Result<(), FleetError> {
        let Some(packed) = self.packed(def).filter(|_| def.name != ERRORS.name) else {
            for file in self.files(def)? {
                let partition = file.partition.clone().unwrap_or_default();
                self.rows(&file, def, wanted)?.into_iter().for_each(|row| each(&partition, row));
            }
            return Ok(());
        };
        let of_partition = PARTITION.iter().map(|col| col.name).filter(|_| !wanted.is_empty());
        let wanted: Vec<&str> = wanted.iter().copied().chain(of_partition).collect();
        let file = File::open(&packed.path).map_err(FleetError::io(&packed.path, "reading it"))?;
        let mut last = Partition::default();
        batches(&packed.path, file, &wanted, &mut |batch| {
            for (at, row) in rows_of(batch, def).enumerate() {
                if !is_of(batch, at, &last) {
                    last = partition(batch, at);
                }
                each(&last, row);
            }
            Ok(())
        })
    }

    /// Says that a partition is about to change.
    ///
    /// # Errors
    /// The packed tables cannot be renamed.
    pub(crate) fn will_change(&self, partition: &Partition) -> Result<(), FleetError> {
        let mut changed = self.changed();
        if changed.partitions.is_empty() && self.folder().join(PACKED).exists() {
            let io = FleetError::io(self.folder(), "renaming its packed tables");
            let rename = |folder: Dir| folder.remove_all(OLD).and_then(|()| folder.rename(PACKED, &folder, OLD));
            Dir::open_for_writing(self.folder()).and_then(rename).map_err(io)?;
            changed.has_old = self.about.complete || changed.is_packed;
        }
        changed.partitions.insert(partition.clone());
        Ok(())
    }

    /// Packs the tables, if partitions have changed, or they never were packed.
    ///
    /// # Errors
    /// A file is damaged, or the packed tables cannot be written.
    pub(crate) fn pack(&self) -> Result<(), FleetError> {
        let mut changed = self.changed();
        let is_trusted = self.about.complete || changed.is_packed;
        let is_packed = is_trusted && PARTITIONED.iter().all(|def| self.packed_file(def).is_some());
        if is_packed && changed.partitions.is_empty() {
            return Ok(());
        }
        let io = |what| FleetError::io(self.folder(), what);
        let folder = Dir::open_for_writing(self.folder()).map_err(io("opening it"))?;
        let new = folder.remove_all(NEW).and_then(|()| folder.make(NEW)).map_err(io("making its packed tables"))?;
        for def in PARTITIONED {
            self.pack_table(def, &new, &changed)?;
        }
        let swap = || {
            folder.remove_all(PACKED)?;
            folder.rename(NEW, &folder, PACKED)?;
            folder.remove_all(OLD)
        };
        swap().map_err(io("replacing its packed tables"))?;
        PARTITIONED.iter().for_each(|def| self.note(&self.folder().join(packed_name(def))));
        *changed = Changed { is_packed: true, ..Changed::default() };
        Ok(())
    }

    fn pack_table(&self, def: &TableDef, into: &Dir, changed: &Changed) -> Result<(), FleetError> {
        let name = format!("{}.parquet", def.name);
        let at = into.path().join(&name);
        let damaged = |why: &dyn std::fmt::Display| FleetError::damaged(&at, why);
        let schema = schema(def);
        let file = into.create(&name).map_err(FleetError::io(&at, "creating it"))?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let mut writer = ArrowWriter::try_new(&file, schema.clone(), Some(properties)).map_err(|why| damaged(&why))?;
        let mut old = BTreeMap::<Partition, Vec<RecordBatch>>::new();
        if changed.has_old {
            let path = self.folder().join(OLD).join(&name);
            let open = File::open(&path).map_err(FleetError::io(&path, "reading it"))?;
            batches(&path, open, &[], &mut |batch| {
                let mut row = 0;
                while row < batch.num_rows() {
                    let of = partition(batch, row);
                    let rows = (row..batch.num_rows()).take_while(|at| is_of(batch, *at, &of)).count().max(1);
                    let rows_of = with_partition(&batch.slice(row, rows), def, &schema, None);
                    old.entry(of).or_default().push(rows_of.map_err(|why| damaged(&why))?);
                    row += rows;
                }
                Ok(())
            })?;
        }
        // In order of the partitions: what is packed does not depend on the runs that led to it.
        for file in self.files(def)? {
            let of = file.partition.clone().unwrap_or_default();
            if changed.has_old && !changed.partitions.contains(&of) {
                let rows = old.remove(&of).unwrap_or_default();
                rows.iter().try_for_each(|rows| writer.write(rows)).map_err(|why| damaged(&why))?;
                continue;
            }
            self.ensure(std::slice::from_ref(&file.path))?;
            let open = File::open(&file.path).map_err(FleetError::io(&file.path, "reading it"))?;
            batches(&file.path, open, &[], &mut |batch| {
                let batch = with_partition(batch, def, &schema, Some(&of)).map_err(|why| damaged(&why))?;
                writer.write(&batch).map_err(|why| damaged(&why))
            })?;
        }
        writer.close().map_err(|why| damaged(&why))?;
        file.sync_all().map_err(FleetError::io(&at, "writing it"))
    }
}

/// The columns of a packed table.
fn schema(def: &TableDef) -> SchemaRef {
    let of_partition = PARTITION.iter().map(|col| Field::new(col.name, DataType::Utf8, true));
    let of_table = engine::arrow_schema(def);
    // What an earlier corewise wrote may lack a column.
    let of_table = of_table.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new(of_partition.chain(of_table).collect::<Vec<_>>()))
}

/// A text of a packed table's partition.
fn text(batch: &RecordBatch, name: &str, row: usize) -> Option<String> {
    match batch.column_by_name(name).map(|column| cell(&**column, row)) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

fn partition(batch: &RecordBatch, row: usize) -> Partition {
    Partition { host: text(batch, "host", row), date: text(batch, "date", row) }
}

/// Whether a row is of a partition; asked of each row, so without a copy of the texts.
fn is_of(batch: &RecordBatch, row: usize, partition: &Partition) -> bool {
    let is = |name: &str, value: Option<&String>| {
        let column = batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
        column.is_some_and(|column| {
            let there = (!arrow_array::Array::is_null(column, row)).then(|| column.value(row));
            there == value.map(String::as_str)
        })
    };
    is("host", partition.host.as_ref()) && is("date", partition.date.as_ref())
}

/// Rows of a file with the columns of the packed table; `of`: their partition, if the file has no columns for it.
fn with_partition(
    batch: &RecordBatch,
    def: &TableDef,
    schema: &SchemaRef,
    of: Option<&Partition>,
) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let rows = batch.num_rows();
    let values = of.map(|of| [of.host.as_deref(), of.date.as_deref()]);
    let of_partition = PARTITION.iter().enumerate().map(|(at, col)| match values {
        Some(values) => Arc::new(StringArray::from(vec![values[at]; rows])) as ArrayRef,
        None => column(batch, col.name, Kind::Text, &DataType::Utf8),
    });
    let of_table = def.cols.iter().map(|col| {
        let kind = schema.field_with_name(col.name).map_or(&DataType::Null, |field| field.data_type());
        column(batch, col.name, col.kind, kind)
    });
    RecordBatch::try_new(schema.clone(), of_partition.chain(of_table).collect())
}

/// A column of a file in the type of the packed table; null where the file lacks it.
fn column(batch: &RecordBatch, name: &str, kind: Kind, wanted: &DataType) -> ArrayRef {
    let found = batch.column_by_name(name);
    if let Some(found) = found.filter(|found| found.data_type() == wanted) {
        return found.clone();
    }
    let values = (0..batch.num_rows()).map(|row| found.map_or(Value::Null, |found| cell(&**found, row)));
    match kind {
        Kind::Int => Arc::new(
            values.map(|value| if let Value::Int(value) = value { Some(value) } else { None }).collect::<Int64Array>(),
        ),
        Kind::Float => Arc::new(
            values
                .map(|value| if let Value::Float(value) = value { Some(value) } else { None })
                .collect::<Float64Array>(),
        ),
        Kind::Text => Arc::new(
            values
                .map(|value| if let Value::Text(value) = value { Some(value) } else { None })
                .collect::<StringArray>(),
        ),
        Kind::Bool => Arc::new(
            values
                .map(|value| if let Value::Bool(value) = value { Some(value) } else { None })
                .collect::<BooleanArray>(),
        ),
    }
}
