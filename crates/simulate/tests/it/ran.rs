//! Receives a replay: when which thread ran, was ready, and was at its marks.

use simulate::{Eevdf, Endless, Left, Machine, Output, Program, Settings, Until, Why, replay};

/// From when to when a thread ran on a CPU.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Run {
    pub cpu: usize,
    pub from: i64,
    pub to: i64,
}

#[derive(Default, PartialEq, Debug)]
pub struct Ran {
    /// Of each thread.
    pub runs: Vec<Vec<Run>>,
    /// From when to when a thread was ready.
    pub ready: Vec<(usize, i64, i64)>,
    pub marks: Vec<(i64, usize, usize)>,
    pub switches: usize,
    pub end: i64,
    current: Vec<Option<(usize, i64)>>,
    since: Vec<Option<i64>>,
}

impl Ran {
    pub fn new(program: &Program, machine: &Machine) -> Self {
        let threads = program.threads.len();
        Self {
            runs: vec![Vec::new(); threads],
            current: vec![None; machine.cpus.len()],
            since: vec![None; threads],
            ..Self::default()
        }
    }

    /// For how long a thread ran until a time.
    pub fn time(&self, thread: usize, until: i64) -> i64 {
        self.runs[thread].iter().map(|run| (run.to.min(until) - run.from).max(0)).sum()
    }
}

impl Output for Ran {
    fn switch(&mut self, at: i64, cpu: usize, from: Option<(usize, Left)>, to: Option<usize>) {
        self.switches += 1;
        assert_eq!(
            self.current[cpu].map(|(thread, _)| thread),
            from.map(|(thread, _)| thread),
            "the chain of CPU {cpu} is whole"
        );
        if let Some((thread, left)) = from {
            let (_, since) = self.current[cpu].take().unwrap();
            self.runs[thread].push(Run { cpu, from: since, to: at });
            if left == Left::Ready {
                self.since[thread] = Some(at);
            }
        }
        if let Some(thread) = to {
            let since = self.since[thread].take().expect("only a ready thread is switched in");
            self.ready.push((thread, since, at));
            self.current[cpu] = Some((thread, at));
        }
    }

    fn wake(&mut self, at: i64, _cpu: usize, thread: usize, _waker: Option<usize>, _why: Why) {
        assert_eq!(self.since[thread], None, "a ready thread is not woken");
        self.since[thread] = Some(at);
    }

    fn mark(&mut self, at: i64, thread: usize, mark: usize) {
        self.marks.push((at, thread, mark));
    }
}

/// Replays a program under EEVDF.
pub fn eevdf(program: &Program, machine: &Machine, settings: Settings, until: Until) -> Result<Ran, Endless> {
    let mut policy = Eevdf::new(&program.threads, &program.groups, machine.cpus.len(), settings, 1);
    let mut ran = Ran::new(program, machine);
    ran.end = replay(program, machine, &mut policy, &mut ran, until)?;
    // What runs at the end has run until then.
    for cpu in 0..machine.cpus.len() {
        if let Some((thread, from)) = ran.current[cpu].take() {
            ran.runs[thread].push(Run { cpu, from, to: ran.end });
        }
    }
    Ok(ran)
}
