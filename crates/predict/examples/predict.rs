//! Predicts what changes (`thread(NAME).nice=N`) would have done to a recording: its time, and that of each process.
#![allow(clippy::print_stdout)] // its result

use engine::{PassOptions, Session};
use predict::{Refusal, Setting, predict};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("predict RECORDING CHANGE...")?;
    let changes = words.map(|text| Setting::parse(&text)).collect::<Result<Vec<_>, _>>()?;
    let session = Session::open(path.as_ref(), PassOptions::default())?;
    let found = match predict(&session, &changes, 1) {
        Ok(found) => found,
        Err(Refusal::Why(why)) => return Err(why.into()),
        Err(Refusal::Engine(error)) => return Err(error.into()),
    };
    let ms = |ns: i64| ns as f64 / 1e6;
    println!("recorded {:.1} ms, replayed {:.1} ms", ms(found.recorded_ns), ms(found.replayed_ns));
    let [low, high] = found.range_ns.map(ms);
    println!("predicted {:.1} ms ({low:.1} to {high:.1}): {:+.1} %", ms(found.predicted_ns), 100.0 * found.change());
    for (path, which) in found.paths.iter().zip(["without", "with"]) {
        let [running, ready, fixed] = [path.running_ns, path.ready_ns, path.fixed_ns].map(ms);
        println!(
            "critical path {which}: running {running:.1} ms, ready {ready:.1} ms, timers and devices {fixed:.1} ms"
        );
    }
    let apart: i64 = found.threads.iter().map(|(of, [before, _])| (before.ready_ns - of.ready_ns).abs()).sum();
    let recorded: i64 = found.threads.iter().map(|(of, _)| of.ready_ns).sum();
    println!("threads were ready for {:.1} ms; replayed, {:.1} ms of it differ", ms(recorded), ms(apart));
    for (of, [before, after]) in found.threads {
        let (Some(was), Some(is)) = (before.took_ns(), after.took_ns()) else { continue };
        if of.pid == Some(of.tid) && before.running_ns > found.recorded_ns / 50 {
            let change = 100.0 * (is as f64 / was as f64 - 1.0);
            println!("  {} {}: {:.1} to {:.1} ms: {change:+.1} %", of.name, of.tid, ms(was), ms(is));
        }
    }
    Ok(())
}
