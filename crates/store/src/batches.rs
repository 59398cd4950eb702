//! The stretches of a folder as Arrow record batches, a row group at a time, without a value for each cell.
//!
//! The parquet crate decodes the columns. Words stay numbers of a dictionary while rows are selected; each distinct word is checked and brought
//! up to date once per row group, as `read.rs` does.

use crate::error::Error;
use crate::read::{Codes, Reader};
use crate::values::NO_WORD;
use crate::words;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, DictionaryArray, Int64Array, RecordBatch, StringArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::filter::FilterBuilder;
use model::{Kind, Storage, TableDef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_schema};
use std::collections::HashMap;
use std::sync::Arc;

/// Returns the Arrow schema of a table. Units and documentation are in the metadata of its fields, as in the Parquet files of a trace folder.
#[must_use]
pub fn schema(def: &TableDef) -> SchemaRef {
    let fields = def.cols.iter().map(|col| {
        let kind = match col.kind {
            Kind::Int => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Text => DataType::Utf8,
            Kind::Bool => DataType::Boolean,
        };
        let mut about = HashMap::from([("doc".to_owned(), col.doc.to_owned())]);
        if !col.unit.is_empty() {
            about.insert("unit".to_owned(), col.unit.to_owned());
        }
        Field::new(col.name, kind, col.nullable).with_metadata(about)
    });
    let about = [("corewise.table", def.name), ("corewise.doc", def.doc)];
    let about = about.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()).with_metadata(HashMap::from(about)))
}

/// Returns a column of texts, which takes just the memory that it needs. `rows` has the place in `texts` of each row's text; `None` there, and a
/// place outside of it, is null.
///
/// # Errors
/// The texts are longer than 2 GB.
pub fn text_array(rows: &[u32], texts: &[Option<&str>]) -> Result<StringArray, ArrowError> {
    let text = |at: &u32| texts.get(*at as usize).copied().flatten();
    let bytes: usize = rows.iter().map(|at| text(at).map_or(0, str::len)).sum();
    i32::try_from(bytes).map_err(|_| ArrowError::OffsetOverflowError(bytes))?;
    let (mut values, mut offsets) = (Vec::with_capacity(bytes), Vec::with_capacity(rows.len() + 1));
    offsets.push(0);
    for at in rows {
        values.extend_from_slice(text(at).unwrap_or_default().as_bytes());
        offsets.push(values.len() as i32);
    }
    let has = BooleanBuffer::collect_bool(rows.len(), |row| text(&rows[row]).is_some());
    let nulls = Some(NullBuffer::new(has)).filter(|nulls| nulls.null_count() > 0);
    StringArray::try_new(OffsetBuffer::new(ScalarBuffer::from(offsets)), Buffer::from_vec(values), nulls)
}

/// The types in which the columns of a file are decoded.
pub(crate) struct Layout(ArrowReaderMetadata);

/// The columns of a row group as they are decoded: 32- and 64-bit numbers, and words as numbers of a dictionary.
pub(crate) struct Decoded {
    rows: usize,
    columns: Vec<(ArrayRef, Storage)>,
}

impl Reader {
    /// Returns the types in which [`Self::decoded`] reads the columns.
    pub(crate) fn layout(&self) -> Result<Layout, Error> {
        self.guarded(|| {
            let metadata = Arc::new(self.metadata().clone());
            let found = parquet_to_arrow_schema(metadata.file_metadata().schema_descr(), None);
            let found = found.map_err(|why| self.damaged(why))?;
            let fields = found.fields().iter().map(|field| match field.data_type() {
                DataType::Utf8 => {
                    let words = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                    Arc::new(Field::new(field.name(), words, field.is_nullable()))
                }
                _ => Arc::clone(field),
            });
            let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true).with_schema(schema);
            Ok(Layout(ArrowReaderMetadata::try_new(metadata, options).map_err(|why| self.damaged(why))?))
        })
    }

    /// Decodes the requested columns of a row group.
    pub(crate) fn decoded(&self, layout: &Layout, group: usize) -> Result<Decoded, Error> {
        self.guarded(|| {
            let place = |why: &dyn std::fmt::Display| self.damaged(format!("row group {group}: {why}"));
            let rows = self.rows(group)?;
            // A batch has the columns in the order of the file.
            let mut in_file: Vec<usize> = self.columns().iter().map(|(at, _)| *at).collect();
            in_file.sort_unstable();
            let mask = ProjectionMask::leaves(layout.0.parquet_schema(), in_file.iter().copied());
            let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(self.descriptor()?, layout.0.clone())
                .with_projection(mask)
                .with_row_groups(vec![group])
                .with_batch_size(rows.max(1))
                .build();
            let batches = reader.map_err(|e| place(&e))?.collect::<Result<Vec<_>, _>>().map_err(|e| place(&e))?;
            let [batch] = batches.as_slice() else { return Err(place(&format!("it lacks some of {rows} rows"))) };
            if batch.num_rows() != rows {
                return Err(place(&format!("it ends after {} of {rows} rows", batch.num_rows())));
            }
            let columns = self.columns().iter().map(|(at, store)| {
                let column = in_file.binary_search(at).ok().and_then(|at| batch.columns().get(at));
                column.map(|column| (Arc::clone(column), *store)).ok_or_else(|| place(&"a column is missing"))
            });
            Ok(Decoded { rows, columns: columns.collect::<Result<_, Error>>()? })
        })
    }
}

impl Decoded {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Returns a column of 64-bit numbers.
    pub(crate) fn longs(&self, at: usize) -> Option<&Int64Array> {
        self.columns.get(at)?.0.as_primitive_opt::<Int64Type>()
    }

    /// Removes and returns the last column.
    pub(crate) fn pop(&mut self) -> Option<ArrayRef> {
        self.columns.pop().map(|column| column.0)
    }

    /// Keeps the rows that are true.
    pub(crate) fn select(&mut self, keep: &BooleanArray) -> Result<(), Error> {
        let kept = keep.true_count();
        if kept == self.rows {
            return Ok(());
        }
        let filter = FilterBuilder::new(keep).optimize().build();
        for (column, _) in &mut self.columns {
            *column = filter.filter(column).map_err(|why| Error::Bug(why.to_string()))?;
        }
        self.rows = kept;
        Ok(())
    }

    /// Returns the columns with the types of a table: 64-bit numbers and texts. `false_yields`: the column whose reasons are corrected
    /// ([`words::without_false_yields`]).
    pub(crate) fn into_batch(
        self,
        schema: &SchemaRef,
        false_yields: Option<usize>,
        reader: &Reader,
    ) -> Result<RecordBatch, Error> {
        let columns = self.columns.into_iter().enumerate().map(|(at, (column, store))| {
            if let Some(narrow) = column.as_primitive_opt::<Int32Type>() {
                return Ok(Arc::new(narrow.unary::<_, Int64Type>(i64::from)) as ArrayRef);
            }
            match (column.as_dictionary_opt::<Int32Type>(), store) {
                (Some(column), Storage::Word(word)) => words_of(column, word, false_yields == Some(at), reader),
                // A column of another type is refused below.
                _ => Ok(column),
            }
        });
        let columns = columns.collect::<Result<Vec<_>, Error>>()?;
        RecordBatch::try_new(Arc::clone(schema), columns).map_err(|why| reader.damaged(why))
    }
}

/// Writes out the words of a column.
fn words_of(
    column: &DictionaryArray<Int32Type>,
    word: fn(u8) -> String,
    false_yields: bool,
    reader: &Reader,
) -> Result<ArrayRef, Error> {
    let entries = column.values().as_string_opt::<i32>();
    let entries = entries.ok_or_else(|| reader.damaged("a column of words has no texts"))?;
    let known = Codes::of(word);
    let current = entries.iter().map(|text| {
        let Some(text) = text else { return Ok(None) };
        let unknown = || reader.damaged(format!("unknown word {text:?}"));
        let code = known.code(text.as_bytes()).ok_or_else(unknown)?;
        let code = if false_yields { words::without_false_yields(code) } else { code };
        Ok((code != NO_WORD).then(|| word(code)))
    });
    let current = current.collect::<Result<Vec<Option<String>>, Error>>()?;
    let texts: Vec<Option<&str>> = current.iter().map(Option::as_deref).collect();
    let keys = column.keys();
    // A place outside of the list is null.
    let place = |row| if keys.is_null(row) { u32::MAX } else { keys.value(row) as u32 };
    let rows: Vec<u32> = (0..keys.len()).map(place).collect();
    Ok(Arc::new(text_array(&rows, &texts).map_err(|why| reader.damaged(why))?))
}
