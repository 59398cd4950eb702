#![allow(clippy::all, clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
use engine::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let s = FileSource::open(a[1].as_ref()).unwrap();
    let _ = std::fs::remove_dir_all(&a[2]);
    let t = std::time::Instant::now();
    let r = import(&s, Target::New(a[2].as_ref()), &PassOptions::default(), &mut |p| {
        if p.stretches {
            eprintln!("stage one {:?}", t.elapsed())
        }
    })
    .unwrap();
    eprintln!("{:?} {}", t.elapsed(), r.totals.events);
}
