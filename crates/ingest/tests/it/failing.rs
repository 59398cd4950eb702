//! Failing readings: a panic on any thread is an error, and the consumer of the events can end a reading.

use ingest::{Facts, Fatal, Fault, Ledger, Limits, Opened, Reach, Reading, RunError, Stream, run};
use model::{Batch, CpuId, Event, EventKind, MaybeNs, Ns, Tid};
use std::ops::ControlFlow;

/// How a stream ends after some batches.
#[derive(Clone, Copy)]
enum Ends {
    Well,
    CutOff,
    ByPanic,
}

struct Some {
    batches: i64,
    at: i64,
    cpu: u32,
    ends: Ends,
}

impl Stream for Some {
    fn next(&mut self, out: &mut Batch, _: &mut dyn Ledger) -> Result<Reach, Fatal> {
        if self.at == self.batches {
            return match self.ends {
                Ends::Well => Ok(Reach::End),
                Ends::CutOff => Err(Fatal::new("cut off", 7)),
                Ends::ByPanic => panic!("injected panic in the reader"),
            };
        }
        let event = |i| Event {
            at: Ns(self.at * 1000 + i),
            offset: 0,
            cpu: CpuId(self.cpu),
            current: Tid::UNKNOWN,
            what: EventKind::Sample,
        };
        out.events.extend((0..1000).map(event));
        self.at += 1;
        Ok(Reach::Until(MaybeNs::new(Ns(self.at * 1000))))
    }
}

fn streams(ends: &[Ends], batches: i64) -> Opened<'static> {
    let stream = |(cpu, ends): (u32, &Ends)| Some { batches, at: 0, cpu, ends: *ends };
    let streams = (0..).zip(ends).map(stream).map(|s| Box::new(s) as Box<dyn Stream + Send>).collect();
    Opened { facts: Facts::default(), streams }
}

#[derive(Debug, PartialEq)]
struct Full;

/// One stream with and without reading ahead, and two streams.
fn ways() -> [(usize, Limits); 3] {
    let limits = |ahead| Limits { ahead, ..Limits::default() };
    [(1, limits(true)), (1, limits(false)), (2, limits(true))]
}

#[test]
fn a_panic_in_a_reader_is_an_error_on_any_thread() {
    for (count, limits) in ways() {
        let mut ends = vec![Ends::Well; count];
        ends[count - 1] = Ends::ByPanic;
        let read = run(streams(&ends, 5), Reading::default(), limits, |_| Ok::<_, Full>(ControlFlow::Continue(())));
        let Err(RunError::Reader(fatal)) = read else { panic!("{read:?}") };
        assert_eq!(fatal.fault, Fault::Reader);
        assert!(fatal.to_string().contains("please report it"), "{fatal}");
    }
}

#[test]
fn a_source_that_is_cut_off_returns_its_events_and_the_error() {
    for (count, limits) in ways() {
        let mut seen = 0;
        let read = run(streams(&vec![Ends::CutOff; count], 5), Reading::default(), limits, |batch| {
            seen += batch.events.len();
            Ok::<_, Full>(ControlFlow::Continue(()))
        });
        let ending = read.unwrap().ending;
        assert_eq!((seen, ending.events), (5000 * count, 5000 * count as u64));
        assert_eq!(ending.stopped.map(|fatal| fatal.to_string()).as_deref(), Some("cut off at byte 7"));
    }
}

#[test]
fn the_consumer_can_end_the_reading() {
    // So many batches that reading all of them would take minutes.
    let endless = 10_000_000;
    for (count, limits) in ways() {
        let ends = vec![Ends::Well; count];
        let mut taken = 0;
        let mut take = |answer: Result<ControlFlow<()>, Full>| {
            taken += 1;
            if taken % 3 == 0 { answer } else { Ok(ControlFlow::Continue(())) }
        };
        let read = run(streams(&ends, endless), Reading::default(), limits, |_| take(Err(Full)));
        assert!(matches!(read, Err(RunError::Consumer(Full))), "{read:?}");
        let read = run(streams(&ends, endless), Reading::default(), limits, |_| take(Ok(ControlFlow::Break(()))));
        assert!(read.unwrap().ending.stopped_by_caller);
        assert_eq!(taken, 6, "no batch was passed on afterwards");
    }
}
