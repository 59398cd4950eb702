#![allow(clippy::all, clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! dump
use account::Collector;
use engine::*;
use model::*;
fn main() {
    let p = std::env::args().nth(1).unwrap();
    let t0 = std::time::Instant::now();
    let s = FileSource::open(p.as_ref()).unwrap();
    let full = std::env::args().nth(2).is_some();
    let a = if full {
        let (a, c) = account_with(&s, &PassOptions::default(), |_| Collector::default(), |_, _| {}).unwrap();
        let mut st = c.finish();
        let followed: Vec<CpuId> = a.totals.cpus.iter().filter(|c| c.followed).map(|c| c.cpu).collect();
        let mut run = analysis::Running::start(
            &["concurrency"],
            &analysis::Context { machine: &a.machine, span: Span::new(Ns(0), a.totals.end), followed: &followed },
        );
        let mut n = 0;
        let mut last = Ns(0);
        st.cpus(|c| run.push(&analysis::Batch { threads: &[], cpus: c })).unwrap();
        st.threads(|c| {
            n += c.len();
            for s in c {
                assert!(s.span.start >= last, "{:?} {:?}", s, last);
                last = s.span.start;
            }
        })
        .unwrap();
        eprintln!("stretches {n}");
        let t = &run.finish()[0];
        print!("{{\"concurrency\":[");
        for (i, r) in t.rows.iter().enumerate() {
            let g = |v: &Value| match v {
                Value::Int(i) => *i,
                _ => 0,
            };
            print!("{}[{},{},{}]", if i > 0 { "," } else { "" }, g(&r[0]), g(&r[1]), g(&r[2]));
        }
        print!("],");
        a
    } else {
        print!("{{");
        account(&s, &PassOptions::default()).unwrap()
    };
    let t = &a.totals;
    eprintln!(
        "{:?} events {} {:?} laws {:?} stopped {:?} late {} troubles {:?} machine {:?}",
        t0.elapsed(),
        t.events,
        t.end,
        a.laws.0.iter().map(|l| l.residual_ns).collect::<Vec<_>>(),
        a.ingested.stopped,
        a.ingested.late,
        a.ingested.troubles,
        a.machine.class_names
    );
    print!(
        "\"broken\":{},\"unwoken\":{},\"end\":{},\"losses\":{},\"threads\":[",
        t.broken(),
        t.unwoken(),
        t.end.0,
        t.losses.len()
    );
    for (i, h) in t.threads.iter().enumerate() {
        if i > 0 {
            print!(",")
        }
        print!(
            "[{},{},{},{},{},{},{},{},{},{},{},{}]",
            h.tid.0,
            h.states[0].0,
            h.states[1].0,
            h.states[2].0,
            h.states[3].0,
            h.states[4].0,
            h.involuntary,
            h.voluntary,
            h.max_ready.0,
            h.migrations,
            h.unwoken,
            h.exec.0
        )
    }
    print!("],\"cpus\":[");
    for (i, c) in t.cpus.iter().enumerate() {
        if i > 0 {
            print!(",")
        }
        print!("[{},{},{},{},{},{}]", c.cpu.0, c.states[0].0, c.states[1].0, c.states[2].0, c.lossy.0, c.followed as u8)
    }
    println!("]}}");
}
