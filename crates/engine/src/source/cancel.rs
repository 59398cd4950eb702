//! A source whose reading another thread can end.

use super::{Identity, Priority, Source};
use crate::EngineError;
use ingest::{Fatal, Ledger, Opened, Reach, Stream};
use model::Batch;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The error of a reading that was ended.
const CANCELLED: &str = "reading was interrupted";

/// A source of which every reading ends with an error soon after a flag is set.
///
/// ```
/// use engine::{CancellableSource, PassOptions, Session, open_source};
/// use std::sync::Arc;
/// use std::sync::atomic::AtomicBool;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/ftrace_text/trace.txt");
/// # let path = std::path::Path::new(path);
/// let cancelled = Arc::new(AtomicBool::new(true));
/// let source = CancellableSource::new(open_source(path)?.into(), cancelled);
/// assert!(Session::of_source(Box::new(source), PassOptions::default()).is_err());
/// # Ok::<(), engine::EngineError>(())
/// ```
pub struct CancellableSource {
    source: Arc<dyn Source>,
    cancelled: Arc<AtomicBool>,
}

impl CancellableSource {
    /// Returns a source that reads another one until the flag is set.
    #[must_use]
    pub fn new(source: Arc<dyn Source>, cancelled: Arc<AtomicBool>) -> Self {
        Self { source, cancelled }
    }
}

impl Source for CancellableSource {
    fn path(&self) -> &Path {
        self.source.path()
    }

    fn format(&self) -> &'static str {
        self.source.format()
    }

    fn parts(&self) -> usize {
        self.source.parts()
    }

    fn open(&self) -> Result<Opened<'static>, Fatal> {
        let opened = self.source.open()?;
        let streams = opened.streams.into_iter().map(|stream| {
            let cancelled = Arc::clone(&self.cancelled);
            Box::new(CancellableStream { stream, cancelled }) as Box<dyn Stream + Send>
        });
        Ok(Opened { facts: opened.facts, streams: streams.collect() })
    }

    fn read_share(&self) -> Option<f64> {
        self.source.read_share()
    }

    fn identity(&self, priority: &Priority) -> Result<Identity, EngineError> {
        self.source.identity(priority)
    }
}

struct CancellableStream {
    stream: Box<dyn Stream + Send>,
    cancelled: Arc<AtomicBool>,
}

impl Stream for CancellableStream {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        // What was read until then is not a result.
        if self.cancelled.load(Ordering::Relaxed) {
            Err(Fatal::in_reader(CANCELLED))
        } else {
            self.stream.next(out, bad)
        }
    }

    fn unwind_by(&mut self, tables: &Arc<dyn unwind::Tables>) {
        self.stream.unwind_by(tables);
    }
}
