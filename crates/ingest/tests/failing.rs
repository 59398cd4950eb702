//! Readings that fail: a panic is an error on whichever thread, and what takes the events can end them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use ingest::{Facts, Fatal, Fault, Ledger, Limits, Opened, Reach, RunError, Stream, run};
use model::{Batch, CpuId, Event, MaybeNs, Ns, Tid, What};
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
                Ends::ByPanic => panic!("a fault of the reader, made on purpose"),
            };
        }
        let event = |i| Event {
            at: Ns(self.at * 1000 + i),
            offset: 0,
            cpu: CpuId(self.cpu),
            current: Tid::UNKNOWN,
            what: What::Sample,
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

/// One stream read ahead on a thread of its own, one read in turn, and two.
fn ways() -> [(usize, Limits); 3] {
    let limits = |ahead| Limits { ahead, ..Limits::default() };
    [(1, limits(true)), (1, limits(false)), (2, limits(true))]
}

#[test]
fn a_readers_panic_is_an_error_on_any_thread() {
    for (count, limits) in ways() {
        let mut ends = vec![Ends::Well; count];
        ends[count - 1] = Ends::ByPanic;
        let read = run(streams(&ends, 5), false, limits, |_| Ok::<_, Full>(ControlFlow::Continue(())));
        let Err(RunError::Reader(fatal)) = read else { panic!("{read:?}") };
        assert_eq!(fatal.fault, Fault::Reader);
        assert!(fatal.to_string().contains("please report it"), "{fatal}");
    }
}

#[test]
fn a_source_that_is_cut_off_gives_what_it_holds_and_says_so() {
    for (count, limits) in ways() {
        let mut seen = 0;
        let read = run(streams(&vec![Ends::CutOff; count], 5), false, limits, |batch| {
            seen += batch.events.len();
            Ok::<_, Full>(ControlFlow::Continue(()))
        });
        let ending = read.unwrap().ending;
        assert_eq!((seen, ending.events), (5000 * count, 5000 * count as u64));
        assert_eq!(ending.stopped.map(|fatal| fatal.to_string()).as_deref(), Some("cut off at byte 7"));
    }
}

#[test]
fn who_takes_the_events_ends_the_reading() {
    // So many that reading on to the end would take minutes.
    let endless = 10_000_000;
    for (count, limits) in ways() {
        let ends = vec![Ends::Well; count];
        let mut taken = 0;
        let mut take = |answer: Result<ControlFlow<()>, Full>| {
            taken += 1;
            if taken % 3 == 0 { answer } else { Ok(ControlFlow::Continue(())) }
        };
        let read = run(streams(&ends, endless), false, limits, |_| take(Err(Full)));
        assert!(matches!(read, Err(RunError::Taker(Full))), "{read:?}");
        let read = run(streams(&ends, endless), false, limits, |_| take(Ok(ControlFlow::Break(()))));
        assert!(read.unwrap().ending.broken_off);
        assert_eq!(taken, 6, "none was handed over afterwards");
    }
}
