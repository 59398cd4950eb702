//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)] // tests fail by panicking

mod ctf;
mod firefox;
mod frame_logs;
mod perf_data;
mod perfetto;
mod schedviz;
mod states;
mod text;
mod trace_dat;

use account::{Accountant, Rules, Totals};
use model::{Batch, Event};

/// Accounts for events, a second time if a thread waits for a CPU without events, as the engine does.
pub(crate) fn accounted(rules: Rules, events: &[Event]) -> Totals {
    let mut accountant = Accountant::new(rules.clone());
    accountant.push(&Batch { events: events.to_vec(), ..Batch::default() }, &mut ());
    let totals = accountant.finish(&mut ());
    if totals.unrecorded_complete {
        return totals;
    }
    accounted(Rules { unrecorded: Some(totals.unrecorded), ..rules }, events)
}
