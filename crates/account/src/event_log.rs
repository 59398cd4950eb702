//! Timeline events in order, in bounded memory: older events are written to a temporary file and read back from there.

use model::TimelineEvent;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::fs::FileExt;

/// The number of events in memory: 1 MB.
const WINDOW: usize = (1 << 20) / size_of::<TimelineEvent>();
/// The number of events that are written and read together.
const BLOCK: usize = 1024;

/// How far the events have been read.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cursor {
    block: usize,
    in_memory: usize,
}

/// Events in the order in which they were added.
#[derive(Default)]
pub(crate) struct EventLog {
    window: Vec<TimelineEvent>,
    file: Option<File>,
    /// The offset and length of each block in the file.
    blocks: Vec<(u64, u32)>,
    /// The first error; reported when the log is read or checked.
    failed: Option<Error>,
}

/// A block to write.
#[derive(Serialize)]
struct Block<'a>(&'a [TimelineEvent]);

/// A block that was read.
#[derive(Deserialize)]
struct ReadBlock(Vec<TimelineEvent>);

impl EventLog {
    #[inline]
    pub(crate) fn push(&mut self, event: TimelineEvent) {
        if self.window.len() == WINDOW {
            self.flush();
        }
        self.window.push(event);
    }

    /// Returns the first error, if there is one.
    pub(crate) fn check(&self) -> Result<()> {
        self.failed.as_ref().map_or(Ok(()), |error| Err(Error::new(error.kind(), error.to_string())))
    }

    #[cold]
    fn flush(&mut self) {
        if let Err(error) = self.write() {
            self.failed.get_or_insert(error);
        }
        self.window.clear();
    }

    fn write(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let mut bytes = Vec::new();
        for block in self.window.chunks(BLOCK) {
            bytes = postcard::to_extend(&Block(block), std::mem::take(&mut bytes)).map_err(Error::other)?;
            let at = self.blocks.last().map_or(0, |(at, length)| at + u64::from(*length));
            let length = u32::try_from(bytes.len()).map_err(Error::other)?;
            file.write_all(&bytes)?;
            self.blocks.push((at, length));
            bytes.clear();
        }
        Ok(())
    }

    /// Adds the next events to `out`, in order; returns `false` if there are no more.
    pub(crate) fn next(&self, cursor: &mut Cursor, bytes: &mut Vec<u8>, out: &mut Vec<TimelineEvent>) -> Result<bool> {
        self.check()?;
        if let (Some(file), Some((at, length))) = (&self.file, self.blocks.get(cursor.block)) {
            bytes.resize(*length as usize, 0);
            file.read_exact_at(bytes, *at)?;
            let ReadBlock(events) =
                postcard::from_bytes(bytes).map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
            out.extend(events);
            cursor.block += 1;
            return Ok(true);
        }
        let rest = &self.window[cursor.in_memory..];
        let some = &rest[..rest.len().min(BLOCK)];
        out.extend_from_slice(some);
        cursor.in_memory += some.len();
        Ok(!some.is_empty())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::{
        BlockOperation, BlockRequest, Change, CpuId, Device, Donor, InheritedPriority, Interrupt, IrqKind, Mark,
        MarkEdge, MaybeNs, NameId, Ns, Pid, Power, Prio, SetTo, StackId, Subject, Tid,
    };

    fn read(log: &EventLog) -> Vec<TimelineEvent> {
        let (mut cursor, mut bytes, mut all) = (Cursor::default(), Vec::new(), Vec::new());
        while log.next(&mut cursor, &mut bytes, &mut all).unwrap() {}
        all
    }

    /// Every kind, with the largest and smallest numbers, enough to fill a file and the memory.
    #[test]
    fn events_round_trip_through_file_and_memory() {
        let interrupt = Interrupt { kind: IrqKind::Ipi, number: i32::MIN, name: NameId(u32::MAX) };
        let mark = Mark { tid: Tid(-1), pid: Pid(7), track: i64::MIN, name: NameId(3), edge: MarkEdge::Instant };
        let (device, operation) = (Device(u32::MAX), BlockOperation::Other);
        let request = BlockRequest { device, sector: u64::MAX, bytes: u64::MAX, operation, done: true };
        let donor = Donor::Thread(Tid(i32::MIN));
        let priority = InheritedPriority { donor, old_prio: Prio::UNKNOWN, prio: Prio::new(i16::MAX) };
        let kinds = [
            (Subject::Thread(Tid(i32::MAX)), Change::Queue(CpuId(u32::MAX))),
            (Subject::Other, Change::Mark(mark)),
            (Subject::Cpu(CpuId(0)), Change::Power(Power::InterruptBegin(interrupt))),
            (Subject::Cpu(CpuId(9)), Change::Power(Power::Parked(true))),
            (Subject::AllThreads, Change::Throttled(false)),
            (Subject::Thread(Tid(5)), Change::BlockedAt(StackId(8))),
            (Subject::Thread(Tid(5)), Change::Setting(SetTo::Policy { policy: None, nice: Some(i8::MIN) })),
            (
                Subject::Other,
                Change::Setting(SetTo::Limits {
                    id: u64::MAX,
                    path: NameId(1),
                    weight: Some(u16::MAX),
                    quota: MaybeNs::new(Ns(7)),
                    period: u32::MAX,
                }),
            ),
            (Subject::Thread(Tid(5)), Change::Affinity(NameId(u32::MAX))),
            (Subject::Other, Change::Block(request)),
            (Subject::Thread(Tid(5)), Change::Inherited(priority)),
        ];
        for count in [0, 5, WINDOW, WINDOW + 1, 3 * WINDOW + 700] {
            let event = |at: usize| {
                let (who, what) = kinds[at % kinds.len()];
                TimelineEvent { at: Ns(at as i64), who, what }
            };
            let all: Vec<_> = (0..count).map(event).collect();
            let mut log = EventLog::default();
            all.iter().for_each(|event| log.push(*event));
            assert_eq!(log.blocks.is_empty(), count <= WINDOW);
            assert!(log.window.capacity() <= 2 * WINDOW);
            assert!(read(&log) == all && read(&log) == all, "{count}");
        }
    }
}
