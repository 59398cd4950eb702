//! Two threads do a little work each millisecond, the second one half a millisecond after the first.
//!
//! Fixed: the second one lets the kernel delay its timer until that of the first expires.

use pathologies::{Run, every, pin, thread, work};
use std::sync::Barrier;
use std::time::Duration;

const PERIOD: Duration = Duration::from_millis(1);
/// How much later the second thread begins.
const LATER: Duration = Duration::from_micros(450);

fn main() {
    let run = Run::from_arguments();
    let periods = run.size(3000);
    // The kernel lets the timers of one CPU expire together.
    pin(0);
    let begin = Barrier::new(2);
    run.measure(2 * periods, || {
        std::thread::scope(|s| {
            thread(s, "sound", || {
                begin.wait();
                every(PERIOD, periods, Duration::from_nanos(1), || work(10));
            });
            thread(s, "sensor", || {
                begin.wait();
                std::thread::sleep(LATER);
                every(PERIOD, periods, if run.fixed { PERIOD } else { Duration::from_nanos(1) }, || work(10));
            });
        });
    });
}
