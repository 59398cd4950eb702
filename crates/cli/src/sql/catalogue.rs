//! The tables of a fleet's catalogue, and the copies of its files that DuckDB reads.

use super::views::{declared, name, sql_type, text};
use super::words::{lists_tables, names_table};
use crate::failure::Failure;
use fleet::tables::{self, LABELS, PARTITION, RECORDINGS};
use fleet::{Catalogue, CatalogueFile};
use model::TableDef;
use std::collections::BTreeMap;
use std::path::Path;

/// A catalogue, and its tables copied so far.
pub struct CatalogueTables {
    catalogue: Catalogue,
    /// The statements for the tables copied so far.
    made: BTreeMap<&'static str, Vec<String>>,
}

impl CatalogueTables {
    /// Opens a catalogue.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self { catalogue: Catalogue::open(path)?, made: BTreeMap::new() })
    }

    /// Copies the tables that a query names into a folder, and returns the statements that declare all views that it may need.
    ///
    /// # Errors
    /// The catalogue cannot be read, or the folder cannot be written.
    pub fn views(&mut self, query: &str, folder: &Path) -> Result<Vec<String>, Failure> {
        let all = lists_tables(query);
        let mut wanted: Vec<&'static TableDef> =
            tables::ALL.iter().copied().filter(|def| all || names_table(query, def.name)).collect();
        // Its column labels is made from this table.
        if wanted.iter().any(|def| def.name == RECORDINGS.name) && !wanted.iter().any(|def| def.name == LABELS.name) {
            wanted.push(&LABELS);
        }
        for def in &wanted {
            if !self.made.contains_key(def.name) {
                let packed = self.catalogue.packed(def).map(|packed| vec![packed]);
                let is_packed = packed.is_some();
                let files = packed.map_or_else(|| self.catalogue.files(def), Ok)?;
                self.made.insert(def.name, view(def, &copied(def, &files, folder)?, is_packed));
            }
        }
        // The view of recordings reads that of labels.
        wanted.sort_by_key(|def| def.name == RECORDINGS.name);
        Ok(wanted.iter().filter_map(|def| self.made.get(def.name)).flatten().cloned().collect())
    }
}

/// Copies files, because a query could write to what it can read. Returns the copies, each with its host and date as SQL.
fn copied(def: &TableDef, files: &[CatalogueFile], folder: &Path) -> Result<Vec<(String, [String; 2])>, Failure> {
    let copy = |(at, file): (usize, &CatalogueFile)| {
        let to = folder.join(format!("{at}.{}.parquet", def.name));
        std::fs::copy(&file.path, &to).map_err(Failure::at(&file.path))?;
        let sql = |value: Option<&String>| value.map_or_else(|| "NULL".to_owned(), |value| text(value));
        let partition = file.partition.clone().unwrap_or_default();
        Ok((text(&to.display().to_string()), [sql(partition.host.as_ref()), sql(partition.date.as_ref())]))
    };
    files.iter().enumerate().map(copy).collect()
}

/// Declares the view of a table: host and date, its columns, its times in seconds, and for recordings their labels. A packed table has host and date
/// in its one file.
fn view(def: &'static TableDef, files: &[(String, [String; 2])], is_packed: bool) -> Vec<String> {
    let is_partitioned = def.name != tables::ERRORS.name;
    let columns: Vec<String> =
        def.cols.iter().map(|col| format!("s.{0}::{1} AS {0}", name(col.name), sql_type(col.kind))).collect();
    let columns = columns.join(", ");
    let partition = if is_partitioned { "f.host::VARCHAR AS host, f.date::DATE AS date, " } else { "" };
    let rows = if files.is_empty() {
        let none: Vec<String> =
            def.cols.iter().map(|col| format!("NULL::{} AS {}", sql_type(col.kind), name(col.name))).collect();
        let partition = if is_partitioned { "NULL::VARCHAR AS host, NULL::DATE AS date, " } else { "" };
        format!("SELECT {partition}{} WHERE false", none.join(", "))
    } else if is_packed {
        let files: Vec<&str> = files.iter().map(|(file, _)| file.as_str()).collect();
        format!(
            "SELECT s.host::VARCHAR AS host, s.date::DATE AS date, {columns} FROM read_parquet([{}], hive_partitioning = false) AS s",
            files.join(", ")
        )
    } else {
        let list: Vec<&str> = files.iter().map(|(file, _)| file.as_str()).collect();
        let of_files: Vec<String> =
            files.iter().map(|(file, [host, date])| format!("({file}, {host}, {date})")).collect();
        format!(
            "SELECT {partition}{columns} FROM read_parquet([{}], union_by_name = true, filename = true) AS s \
             JOIN (VALUES {}) AS f(filename, host, date) ON s.filename = f.filename",
            list.join(", "),
            of_files.join(", ")
        )
    };
    let of_partition = if is_partitioned { &PARTITION[..] } else { &[] };
    if def.name != RECORDINGS.name {
        return declared(def, of_partition, &rows, None);
    }
    let labels = format!(
        "SELECT r.*, coalesce(l.labels, MAP {{}}) AS labels FROM ({rows}) AS r LEFT JOIN (SELECT path, \
         map_from_entries(list((key, value))) AS labels FROM {} GROUP BY path) AS l ON l.path = r.path",
        LABELS.name
    );
    declared(def, of_partition, &labels, Some(("labels", "The labels: labels['release'].")))
}
