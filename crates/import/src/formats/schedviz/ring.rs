//! A CPU's ring-buffer pages as a stream of events.

use crate::tracepoint::table::Reader;
use crate::tracepoint::{ByteOrder, Decoder, EventFormat, Names, PageLayout};
use ingest::{BATCH, Fatal, Ledger, Reach, ReadSeek, Stream, Trouble};
use model::{Batch, CpuId, Event, LossSpan, MaybeCount, MaybeNs, Ns, StackId, Tid, What};
use std::io::{ErrorKind, Read};
use std::sync::Arc;

/// Bytes read at once, by all streams together.
const CHUNKS: usize = 16 << 20;

/// The decoder of the collection's tracepoints.
pub(super) fn decoder(formats: &[EventFormat], order: ByteOrder) -> Decoder {
    let mut decoder = Decoder::new(Reader::SchedViz, order);
    formats.iter().for_each(|f| decoder.learn(f));
    decoder
}

/// A CPU's events.
pub(super) struct RingStream<'a> {
    cpu: CpuId,
    file: Box<dyn ReadSeek + Send + 'a>,
    layout: PageLayout,
    decoder: Arc<Decoder>,
    names: Names,
    /// Whole pages that were read, and where in the file they begin; `taken` bytes of them are done.
    chunk: Vec<u8>,
    taken: usize,
    begin: u64,
    chunk_size: usize,
    /// Time of the last event.
    last: Ns,
    /// Events were lost since: how many, −1 where not counted.
    missed: Option<i64>,
    ended: bool,
}

impl<'a> RingStream<'a> {
    /// `head` was read from the file already; `streams` is how many share the memory.
    pub(super) fn new(
        cpu: CpuId,
        file: Box<dyn ReadSeek + Send + 'a>,
        head: Vec<u8>,
        layout: PageLayout,
        decoder: Arc<Decoder>,
        streams: usize,
    ) -> Self {
        let pages = (CHUNKS / streams.max(1) / layout.size()).clamp(1, 64);
        let chunk_size = pages * layout.size();
        Self {
            cpu,
            file,
            layout,
            decoder,
            names: Names::new(),
            chunk: head,
            taken: 0,
            begin: 0,
            chunk_size,
            last: Ns::MIN,
            missed: None,
            ended: false,
        }
    }

    /// Reads on; what is left of a page at the end of the file is told.
    fn fill(&mut self, bad: &mut dyn Ledger) -> Result<(), Fatal> {
        self.begin += self.taken as u64;
        self.chunk.drain(..self.taken);
        self.taken = 0;
        let mut have = self.chunk.len();
        self.chunk.resize(self.chunk_size.max(have), 0);
        while have < self.chunk.len() {
            match self.file.read(self.chunk.get_mut(have..).unwrap_or_default()) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(n) => have += n,
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => {
                    let what = format!("traces/cpu{}: {why}", self.cpu.0);
                    return Err(Fatal::new(what, self.begin + have as u64));
                }
            }
        }
        let whole = if self.ended { have - have % self.layout.size() } else { have };
        if whole < have {
            bad.trouble("a page cut off by the end of the file", self.begin + whole as u64, Trouble::Odd);
            self.missed = self.missed.or(Some(-1));
        }
        self.chunk.truncate(whole);
        Ok(())
    }

    fn page(&mut self, out: &mut Batch, bad: &mut dyn Ledger) {
        let size = self.layout.size();
        let offset = self.begin + self.taken as u64;
        let Some(page) = self.chunk.get(self.taken..self.taken + size) else { return };
        self.taken += size;
        let mut page = match self.layout.open(page) {
            Ok(page) => page,
            Err(why) => {
                bad.trouble(why.0, offset, Trouble::Odd);
                self.missed = self.missed.or(Some(-1));
                return;
            }
        };
        if let Some(count) = page.missed {
            // What is lost twice in a row is counted together, if it is counted.
            self.missed = Some(match self.missed {
                Some(before) if before >= 0 && count >= 0 => before.saturating_add(count),
                Some(_) => -1,
                None => count,
            });
        }
        for record in page.records.by_ref() {
            let record = match record {
                Ok(record) => record,
                Err(why) => {
                    bad.trouble(why.0, offset, Trouble::Odd);
                    self.missed = self.missed.or(Some(-1));
                    return;
                }
            };
            let offset = offset + (self.layout.data() + record.at) as u64;
            let Ok(at) = i64::try_from(record.time).map(Ns) else {
                bad.trouble("an event at a time beyond all clocks", offset, Trouble::Odd);
                continue;
            };
            if at < self.last {
                bad.trouble("an event earlier than the one before it", offset, Trouble::Odd);
                continue;
            }
            if let Some(events) = self.missed.take() {
                let loss = self.loss(MaybeNs::new(at), events);
                out.events.push(Event { at, offset, cpu: self.cpu, current: Tid::UNKNOWN, what: What::Loss(loss) });
            }
            // `common_pid` stands at the same place in every record since Linux 2.6.31.
            let current = self.layout.order().u32_at(record.raw, 4).map_or(Tid::UNKNOWN, |pid| Tid(pid as i32));
            let event = Event { at, offset, cpu: self.cpu, current, what: What::Sample };
            if self.decoder.decode(record.raw, event, StackId::NONE, &mut self.names, out).is_err() {
                bad.trouble("a record shorter than its tracepoint", offset, Trouble::Odd);
            }
            self.last = at;
        }
    }

    fn loss(&self, to: MaybeNs, events: i64) -> LossSpan {
        LossSpan { from: MaybeNs::new(self.last), to, cpu: Some(self.cpu), events: MaybeCount::new(events) }
    }

    /// What was lost behind the last event.
    fn end(&mut self, out: &mut Batch) {
        if let Some(events) = self.missed.take() {
            let loss = self.loss(MaybeNs::NONE, events);
            out.events.push(Event {
                at: self.last,
                offset: self.begin,
                cpu: self.cpu,
                current: Tid::UNKNOWN,
                what: What::Loss(loss),
            });
        }
    }
}

impl Stream for RingStream<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        while out.events.len() < BATCH {
            if self.taken + self.layout.size() > self.chunk.len() {
                if self.ended {
                    self.end(out);
                    return Ok(Reach::End);
                }
                self.fill(bad)?;
                continue;
            }
            self.page(out, bad);
        }
        Ok(Reach::Until(MaybeNs::new(self.last)))
    }
}
