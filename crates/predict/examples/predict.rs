//! Predicts what changes (`thread(NAME).nice=N`) would have done to a recording: the time of the command, and of each process.

use engine::{PassOptions, Session};
use predict::{Change, Refusal, predict};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("predict RECORDING CHANGE...")?;
    let changes = words.map(|text| Change::parse(&text)).collect::<Result<Vec<_>, _>>()?;
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
        println!(
            "path {which}: running {:.1}, ready {:.1}, fixed {:.1} ms",
            ms(path.running_ns),
            ms(path.ready_ns),
            ms(path.fixed_ns)
        );
    }
    let share = |part: i64, of: i64| 100.0 * part as f64 / of.max(1) as f64;
    let recorded: i64 = found.threads.iter().map(|(of, _)| of.ready_ns).sum();
    let replayed: i64 = found.threads.iter().map(|(_, [before, _])| before.ready_ns).sum();
    let apart: i64 = found.threads.iter().map(|(of, [before, _])| (before.ready_ns - of.ready_ns).abs()).sum();
    println!("ready {:.1} ms, replayed {:.1} ms, apart {:.1} %", ms(recorded), ms(replayed), share(apart, recorded));
    for (of, [before, after]) in found.threads {
        let (Some(was), Some(is)) = (before.took_ns(), after.took_ns()) else { continue };
        if std::env::var("ALL").is_ok_and(|name| of.name == name) {
            println!(
                "  {} {}: {:.1} to {:.1} ms; ran {:.1}, {:.1}; ready {:.1}, {:.1}",
                of.name,
                of.tid,
                ms(was),
                ms(is),
                ms(before.running_ns),
                ms(after.running_ns),
                ms(before.ready_ns),
                ms(after.ready_ns)
            );
        }
        if of.pid == Some(of.tid) && was > found.recorded_ns / 20 && before.running_ns > found.recorded_ns / 50 {
            let change = 100.0 * (is as f64 / was as f64 - 1.0);
            println!("  {} {}: {:.1} to {:.1} ms: {change:+.1} %", of.name, of.tid, ms(was), ms(is));
        }
    }
    Ok(())
}
