//! Encodes the columns of a row group. Separate threads encode a large row group while the caller fills the next one; otherwise the
//! thread that reads the source would wait as well.

use crate::chunk::{Chunk, Chunker};
use crate::values::Values;
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescPtr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// The minimum number of rows of a row group that is encoded by separate threads.
const LARGE_ROWS: usize = 1 << 14;
/// The maximum number of encoding threads; more would wait for the thread that fills the columns.
const MAX_THREADS: usize = 4;

/// Encodes columns; its memory is reused from row group to row group.
pub(crate) struct Encoder {
    own: Chunker,
    /// The queue of the threads, which end with it; `None` before the first large row group.
    threads: Option<Sender<Job>>,
}

/// The columns of a row group to encode.
pub(crate) struct Columns<'a> {
    pub(crate) descr: &'a [ColumnDescPtr],
    pub(crate) values: Vec<Values>,
    pub(crate) rows: usize,
    /// The texts that [`Values::Text`] refers to; the first has number 1.
    pub(crate) names: &'a [Box<str>],
    /// For each column, whether to try zstd.
    pub(crate) zstd: &'a [bool],
}

/// A column to be encoded by a separate thread.
struct Job {
    at: usize,
    descr: ColumnDescPtr,
    values: Values,
    rows: usize,
    zstd: bool,
    reply: Sender<(usize, Encoded)>,
}

/// A column's values, whose memory is reused, and their encoded form.
type Encoded = (Values, Result<Chunk>);

/// A row group whose columns are being encoded.
pub(crate) struct PendingGroup {
    columns: Vec<Option<Encoded>>,
    replies: Receiver<(usize, Encoded)>,
}

impl Encoder {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { own: Chunker::new()?, threads: None })
    }

    /// Starts to encode a row group; a small one is encoded immediately.
    pub(crate) fn begin(&mut self, group: Columns<'_>) -> PendingGroup {
        let (reply, replies) = channel();
        let mut columns: Vec<Option<Encoded>> = Vec::new();
        if group.rows >= LARGE_ROWS && self.threads.is_none() {
            self.threads = start();
        }
        for (at, (values, descr)) in group.values.into_iter().zip(group.descr).enumerate() {
            let zstd = group.zstd.get(at).is_none_or(|zstd| *zstd);
            let mut job = Job { at, descr: descr.clone(), values, rows: group.rows, zstd, reply: reply.clone() };
            // Texts are encoded here, because texts can be added while a thread would read them.
            let threads =
                self.threads.as_ref().filter(|_| group.rows >= LARGE_ROWS && !matches!(job.values, Values::Text(_)));
            if let Some(threads) = threads {
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
        PendingGroup { columns, replies }
    }
}

impl PendingGroup {
    /// Waits until all columns are encoded, and returns them with the memory of their values.
    pub(crate) fn finish(mut self) -> Result<(Vec<Chunk>, Vec<Values>)> {
        while self.columns.iter().any(Option::is_none) {
            // If all senders are gone, a thread panicked.
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

/// Starts encoding threads, as many as there are CPUs; `None` if none can be started.
fn start() -> Option<Sender<Job>> {
    let (jobs, todo) = channel::<Job>();
    let todo = Arc::new(Mutex::new(todo));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS));
    let started = (0..threads).filter(|_| {
        let todo = Arc::clone(&todo);
        let work = move |mut with: Chunker| {
            // The thread that waits for the next job holds the lock; the others wait for the lock.
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
