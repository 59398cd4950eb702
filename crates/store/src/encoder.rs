//! The columns of a row group as bytes; those of a large one are encoded by two threads, since who waits for the folder's
//! writing thread mostly leaves a core to it.

use crate::chunk::{Chunk, Chunker, Values};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescPtr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Fewer rows are not worth a thread.
const LARGE: usize = 1 << 14;

/// What columns are encoded with; kept from row group to row group for its memory.
pub(crate) struct Encoder {
    own: Chunker,
    /// The other thread's.
    beside: Option<Chunker>,
}

impl Encoder {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { own: Chunker::new()?, beside: None })
    }

    /// Encodes columns of `rows` rows; `names` are the texts that [`Values::Text`] names, the first of them number 1. `zstd` says of
    /// each column whether to try that on it.
    pub(crate) fn columns(
        &mut self,
        descr: &[ColumnDescPtr],
        values: &[Values],
        rows: usize,
        names: &[Box<str>],
        zstd: &[bool],
    ) -> Result<Vec<Chunk>> {
        let next = AtomicUsize::new(0);
        let some = |with: &mut Chunker| -> Result<Vec<(usize, Chunk)>> {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let (Some(descr), Some(values)) = (descr.get(at), values.get(at)) else { return Ok(done) };
                let zstd = zstd.get(at).is_none_or(|zstd| *zstd);
                done.push((at, with.chunk(descr.clone(), values, rows, names, zstd)?));
            }
        };
        let mut all = if rows < LARGE {
            some(&mut self.own)?
        } else {
            let beside = match &mut self.beside {
                Some(beside) => beside,
                none => none.insert(Chunker::new()?),
            };
            std::thread::scope(|scope| -> Result<_> {
                // Where no thread can be had, this one encodes all.
                let other = std::thread::Builder::new().name("columns".into()).spawn_scoped(scope, || some(beside));
                let mut all = some(&mut self.own)?;
                if let Ok(other) = other {
                    let panicked = |_| ParquetError::General("encoding a column panicked".to_owned());
                    all.extend(other.join().map_err(panicked)??);
                }
                Ok(all)
            })?
        };
        all.sort_unstable_by_key(|(at, _)| *at);
        Ok(all.into_iter().map(|(_, chunk)| chunk).collect())
    }
}
