//! Answers from the sums: reads them when a request needs newer ones, and writes each format once per reading.
//!
//! A reading costs time in the kernel, so any number of requests cause at most one each [`FRESH`]. Connections that receive slowly share
//! the memory of an answer.

use crate::accept::Format;
use crate::metrics;
use crate::now;
use crate::view::{View, Views};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use watch::Snapshot;

/// For how long a reading answers requests.
pub const FRESH: Duration = Duration::from_millis(250);

/// Where snapshots come from.
pub trait Source {
    /// Reads the sums as they are now.
    ///
    /// # Errors
    /// They cannot be read, in a sentence; the next reading may succeed.
    fn read(&mut self) -> Result<Snapshot, String>;
}

/// What a request is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Wanted {
    /// The metrics, in a format.
    Metrics(Format),
    /// The page's data.
    Now,
}

/// Reads and writes.
pub(crate) struct Readings<'a> {
    source: &'a mut dyn Source,
    views: Views,
    last: Option<Reading>,
}

struct Reading {
    at: Instant,
    view: Arc<View>,
    written: HashMap<Wanted, Bytes>,
}

impl<'a> Readings<'a> {
    pub(crate) fn new(source: &'a mut dyn Source, places: usize) -> Self {
        Self { source, views: Views::new(places), last: None }
    }

    /// Returns an answer of a reading that is at most [`FRESH`] old.
    pub(crate) fn answer(&mut self, wanted: Wanted) -> Result<Bytes, String> {
        self.refresh(FRESH)?;
        let Some(last) = &mut self.last else { return Err("nothing was read".to_owned()) };
        if let Some(bytes) = last.written.get(&wanted) {
            return Ok(bytes.clone());
        }
        let bytes = match wanted {
            Wanted::Metrics(format) => metrics::write(&last.view, format)?,
            Wanted::Now => now::write(&last.view)?,
        };
        last.written.insert(wanted, bytes.clone());
        Ok(bytes)
    }

    /// Reads if the last reading is older than that, so that identities are checked and groups chosen without requests too.
    pub(crate) fn refresh(&mut self, older_than: Duration) -> Result<(), String> {
        if self.last.as_ref().is_none_or(|last| last.at.elapsed() >= older_than) {
            // A failed reading leaves nothing that could pass for a new one.
            self.last = None;
            let view = Arc::new(self.views.of(self.source.read()?));
            self.last = Some(Reading { at: Instant::now(), view, written: HashMap::new() });
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use watch::testing::drawn;

    /// Counts readings; the second fails.
    struct Counted(u64);

    impl Source for Counted {
        fn read(&mut self) -> Result<Snapshot, String> {
            self.0 += 1;
            if self.0 == 2 { Err("the sums are gone".to_owned()) } else { Ok(drawn(self.0)) }
        }
    }

    /// The times of readings are set: how long this test itself takes does not matter.
    #[test]
    fn requests_at_the_same_time_share_a_reading_and_a_failed_one_is_not_hidden() {
        let mut source = Counted(0);
        let mut readings = Readings::new(&mut source, 10);
        let first = readings.answer(Wanted::Metrics(Format::Text)).unwrap();
        readings.last.as_mut().unwrap().at = Instant::now() + Duration::from_secs(3600);
        readings.answer(Wanted::Now).unwrap();
        let same = readings.answer(Wanted::Metrics(Format::Text)).unwrap();
        assert_eq!(first.as_ptr(), same.as_ptr(), "written once");
        readings.last.as_mut().unwrap().at = Instant::now().checked_sub(FRESH).unwrap();
        assert_eq!(readings.answer(Wanted::Now).unwrap_err(), "the sums are gone");
        let third = readings.answer(Wanted::Metrics(Format::Text)).unwrap();
        assert_ne!(first, third);
        assert_eq!(source.0, 3);
    }
}
