//! The columns of a row group as bytes. Those of a large one are encoded by threads of their own, while who fills the next row
//! group goes on: a writing thread that waited for them would keep who reads the source waiting too.

use crate::chunk::{Chunk, Chunker};
use crate::values::Values;
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescPtr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// Fewer rows are not worth a thread.
const LARGE: usize = 1 << 14;
/// More threads than this wait for who fills the columns.
const THREADS: usize = 4;

/// What columns are encoded with; kept from row group to row group for its memory.
pub(crate) struct Encoder {
    own: Chunker,
    /// Jobs for the threads, which end with it; `None` until the first large row group comes.
    threads: Option<Sender<Job>>,
}

/// A row group's columns, as they are handed over.
pub(crate) struct Columns<'a> {
    pub(crate) descr: &'a [ColumnDescPtr],
    pub(crate) values: Vec<Values>,
    pub(crate) rows: usize,
    /// The texts that [`Values::Text`] names, the first of them number 1.
    pub(crate) names: &'a [Box<str>],
    /// Of each column whether to try zstd on it.
    pub(crate) zstd: &'a [bool],
}

/// A column to be encoded by a thread beside.
struct Job {
    at: usize,
    descr: ColumnDescPtr,
    values: Values,
    rows: usize,
    zstd: bool,
    reply: Sender<(usize, Encoded)>,
}

/// A column's values, to be filled again, and what they have become.
type Encoded = (Values, Result<Chunk>);

/// A row group whose columns are being encoded.
pub(crate) struct UnderWay {
    columns: Vec<Option<Encoded>>,
    replies: Receiver<(usize, Encoded)>,
}

impl Encoder {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { own: Chunker::new()?, threads: None })
    }

    /// Begins to encode a row group; of a small one all is done at once.
    pub(crate) fn begin(&mut self, group: Columns<'_>) -> UnderWay {
        let (reply, replies) = channel();
        let mut columns: Vec<Option<Encoded>> = Vec::new();
        if group.rows >= LARGE && self.threads.is_none() {
            self.threads = start();
        }
        for (at, (values, descr)) in group.values.into_iter().zip(group.descr).enumerate() {
            let zstd = group.zstd.get(at).is_none_or(|zstd| *zstd);
            let mut job = Job { at, descr: descr.clone(), values, rows: group.rows, zstd, reply: reply.clone() };
            // Texts are encoded here, since they go on being told while a thread would read them.
            let beside =
                self.threads.as_ref().filter(|_| group.rows >= LARGE && !matches!(job.values, Values::Text(_)));
            if let Some(threads) = beside {
                match threads.send(job) {
                    Ok(()) => {
                        columns.push(None);
                        continue;
                    }
                    Err(back) => job = back.0,
                }
            }
            let chunk = self.own.chunk(job.descr, &job.values, job.rows, group.names, zstd);
            columns.push(Some((job.values, chunk)));
        }
        UnderWay { columns, replies }
    }
}

impl UnderWay {
    /// Waits until all columns are encoded; gives their memory back beside.
    pub(crate) fn finish(mut self) -> Result<(Vec<Chunk>, Vec<Values>)> {
        while self.columns.iter().any(Option::is_none) {
            // All who could reply are gone.
            let panicked = |_| ParquetError::General("encoding a column panicked".to_owned());
            let (at, encoded) = self.replies.recv().map_err(panicked)?;
            if let Some(column) = self.columns.get_mut(at) {
                *column = Some(encoded);
            }
        }
        let done = self.columns.into_iter().flatten().map(|(values, chunk)| Ok((chunk?, values)));
        Ok(done.collect::<Result<Vec<_>>>()?.into_iter().unzip())
    }
}

/// The threads that encode, as many as there are CPUs; `None` where none can be had.
fn start() -> Option<Sender<Job>> {
    let (jobs, todo) = channel::<Job>();
    let todo = Arc::new(Mutex::new(todo));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(THREADS));
    let started = (0..threads).filter(|_| {
        let todo = Arc::clone(&todo);
        let work = move |mut with: Chunker| {
            // Whoever waits for the next job holds the lock; the others wait for that.
            while let Some(job) = todo.lock().ok().and_then(|todo| todo.recv().ok()) {
                let chunk = with.chunk(job.descr, &job.values, job.rows, &[], job.zstd);
                let _ = job.reply.send((job.at, (job.values, chunk)));
            }
        };
        let thread = std::thread::Builder::new().name("columns".into());
        Chunker::new().is_ok_and(|with| thread.spawn(move || work(with)).is_ok())
    });
    (started.count() > 0).then_some(jobs)
}
