//! Reads a CPU's ring-buffer pages as a stream of events.

use crate::tracepoint::table::Reader;
use crate::tracepoint::{ByteOrder, Decoder, EventFormat, Names, PageLayout};
use ingest::{Anomaly, BATCH, Fatal, Ledger, Reach, ReadSeek, Stream};
use model::{Batch, CpuId, Event, EventKind, LossSpan, MaybeCount, MaybeNs, Ns, StackId, Tid};
use std::io::{ErrorKind, Read};
use std::sync::Arc;

/// The number of bytes read in one call, for all streams together.
const TOTAL_CHUNKS: usize = 16 << 20;

/// Creates the decoder of the collection's tracepoints.
pub(super) fn decoder(formats: &[EventFormat], order: ByteOrder) -> Decoder {
    let mut decoder = Decoder::new(Reader::SchedViz, order);
    formats.iter().for_each(|f| decoder.learn(f));
    decoder
}

/// The events of a CPU.
pub(super) struct RingStream<'a> {
    cpu: CpuId,
    file: Box<dyn ReadSeek + Send + 'a>,
    layout: PageLayout,
    decoder: Arc<Decoder>,
    names: Names,
    /// Complete pages that were read, the number of their bytes consumed, and the offset of their start in the file.
    chunk: Vec<u8>,
    taken: usize,
    begin: u64,
    chunk_size: usize,
    /// The time of the last event.
    last: Ns,
    /// The number of events lost since the last event; −1 if unknown.
    missed: Option<i64>,
    ended: bool,
}

impl<'a> RingStream<'a> {
    /// `head` was already read from the file; `streams` is the number of streams that share the memory.
    pub(super) fn new(
        cpu: CpuId,
        file: Box<dyn ReadSeek + Send + 'a>,
        head: Vec<u8>,
        layout: PageLayout,
        decoder: Arc<Decoder>,
        streams: usize,
    ) -> Self {
        let pages = (TOTAL_CHUNKS / streams.max(1) / layout.size()).clamp(1, 64);
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

    /// Reads more pages. An incomplete page at the end of the file is reported.
    fn fill(&mut self, bad: &mut dyn Ledger) -> Result<(), Fatal> {
        self.begin += self.taken as u64;
        self.chunk.drain(..self.taken);
        self.taken = 0;
        let mut length = self.chunk.len();
        self.chunk.resize(self.chunk_size.max(length), 0);
        while length < self.chunk.len() {
            match self.file.read(self.chunk.get_mut(length..).unwrap_or_default()) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(n) => length += n,
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => {
                    let what = format!("traces/cpu{}: {why}", self.cpu.0);
                    return Err(Fatal::new(what, self.begin + length as u64));
                }
            }
        }
        let complete = if self.ended { length - length % self.layout.size() } else { length };
        if complete < length {
            bad.anomaly("a page is cut off by the end of the file", self.begin + complete as u64, Anomaly::Warning);
            self.missed = self.missed.or(Some(-1));
        }
        self.chunk.truncate(complete);
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
                bad.anomaly(why.0, offset, Anomaly::Lost);
                self.missed = self.missed.or(Some(-1));
                return;
            }
        };
        if let Some(count) = page.missed {
            // Consecutive losses are added if both are counted.
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
                    bad.anomaly(why.0, offset, Anomaly::Lost);
                    self.missed = self.missed.or(Some(-1));
                    return;
                }
            };
            let offset = offset + (self.layout.data() + record.at) as u64;
            let Ok(at) = i64::try_from(record.time).map(Ns) else {
                bad.anomaly("an event has a time that is out of range", offset, Anomaly::Lost);
                continue;
            };
            if at < self.last {
                bad.anomaly("an event is earlier than the previous one", offset, Anomaly::Lost);
                continue;
            }
            if let Some(events) = self.missed.take() {
                let loss = self.loss(MaybeNs::new(at), events);
                out.events.push(Event {
                    at,
                    offset,
                    cpu: self.cpu,
                    current: Tid::UNKNOWN,
                    what: EventKind::Loss(loss),
                });
            }
            // `common_pid` is at the same place in every record since Linux 2.6.31.
            let current = self.layout.order().u32_at(record.raw, 4).map_or(Tid::UNKNOWN, |pid| Tid(pid as i32));
            let event = Event { at, offset, cpu: self.cpu, current, what: EventKind::Sample };
            if self.decoder.decode(record.raw, event, StackId::NONE, &mut self.names, out).is_err() {
                bad.anomaly("a record is shorter than its tracepoint", offset, Anomaly::Lost);
            }
            self.last = at;
        }
    }

    fn loss(&self, to: MaybeNs, events: i64) -> LossSpan {
        LossSpan { from: MaybeNs::new(self.last), to, cpu: Some(self.cpu), events: MaybeCount::new(events) }
    }

    /// Adds the loss after the last event.
    fn end(&mut self, out: &mut Batch) {
        if let Some(events) = self.missed.take() {
            let loss = self.loss(MaybeNs::NONE, events);
            out.events.push(Event {
                at: self.last,
                offset: self.begin,
                cpu: self.cpu,
                current: Tid::UNKNOWN,
                what: EventKind::Loss(loss),
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
