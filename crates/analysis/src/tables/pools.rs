//! Which threads of a pool ran alone, while CPUs were idle.
//!
//! ```text
//!   worker 1   run           │ blocked
//!   worker 2   run                           │      from here on, worker 2 is alone in its pool, and a CPU is idle
//!   CPU 1      worker 1      │ idle          ▲
//! ```

use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, World};
use model::{CpuState, CpuStretch, Ns, Rows, ThreadKey, ThreadState, ThreadStretch, Tid, Value};

pub(crate) struct Pools {
    start: Ns,
    idle: Idle,
    pools: Vec<Pool>,
    threads: ByThread<Thread>,
}

/// How many CPUs are idle, and clocks that run with them.
#[derive(Default)]
struct Idle {
    at: Ns,
    cpus: i64,
    clock: Clock,
}

/// The time with at least one idle CPU, and the idle time summed over CPUs, since the begin of the span.
#[derive(Clone, Copy, Default)]
struct Clock {
    any: Ns,
    cpus: i128,
}

impl Idle {
    fn advance(&mut self, to: Ns) -> Clock {
        if to > self.at {
            let time = to - self.at;
            if self.cpus > 0 {
                self.clock.any += time;
                self.clock.cpus += i128::from(time.0) * i128::from(self.cpus);
            }
            self.at = to;
        }
        self.clock
    }
}

/// The runnable threads of one pool.
#[derive(Clone, Copy, Default)]
struct Pool {
    runnable: i64,
    running: i64,
    /// The sum of the keys of its runnable threads: the only thread, if there is one.
    keys: i64,
    /// The thread that runs alone, and since when.
    alone: Option<(ThreadKey, Clock, Ns)>,
    /// The thread that ran alone last.
    last_alone: ThreadKey,
    /// The time with two or more running threads.
    together: Ns,
    at: Ns,
}

impl Pool {
    fn advance(&mut self, to: Ns) -> Ns {
        if to > self.at {
            if self.running > 1 {
                self.together += to - self.at;
            }
            self.at = to;
        }
        self.together
    }
}

#[derive(Clone, Default)]
struct Thread {
    tid: Tid,
    state: Option<ThreadState>,
    /// At the begin of its current run: the idle CPUs, and the time with others of its pool.
    run: Option<(Ns, Clock, Ns)>,
    sums: Sums,
}

#[derive(Clone, Default)]
struct Sums {
    running: Ns,
    with_idle: Ns,
    idle_cpus: i128,
    together: Ns,
    alone: Ns,
    alone_idle_cpus: i128,
    /// The integral of the time over `alone`, as in `moments`.
    alone_moment: f64,
    turns: i64,
    /// The integrals of the time and of its square over the running time, in ns and with the begin of the span as 0.
    moments: [f64; 2],
}

fn is_runnable(state: Option<ThreadState>) -> bool {
    matches!(state, Some(ThreadState::Running | ThreadState::Ready))
}

impl Pools {
    /// Handles a change of a thread's state.
    fn change(&mut self, thread: ThreadKey, to: Option<ThreadState>, world: &World) {
        let clock = self.idle.advance(world.now);
        let of = world.groups.of(thread);
        if of >= self.pools.len() {
            self.pools.resize(of + 1, Pool { at: self.idle.at, ..Pool::default() });
        }
        let pool = &mut self.pools[of];
        let together = pool.advance(world.now);
        if let Some((alone, since, begin)) = pool.alone.take() {
            let (idle, sums) = (clock.any - since.any, &mut self.threads.of(alone).sums);
            sums.alone += idle;
            sums.alone_idle_cpus += clock.cpus - since.cpus;
            sums.alone_moment += idle.0 as f64 * ((begin - self.start).0 as f64 + (world.now - begin).0 as f64 / 2.0);
        }
        let own = self.threads.of(thread);
        let from = std::mem::replace(&mut own.state, to);
        let running = |state| i64::from(state == Some(ThreadState::Running));
        if let Some((begin, idle, others)) = own.run.take() {
            let (time, sums) = (world.now - begin, &mut own.sums);
            sums.running += time;
            sums.with_idle += clock.any - idle.any;
            sums.idle_cpus += clock.cpus - idle.cpus;
            sums.together += together - others;
            let [from, to] = [begin, world.now].map(|at| (at - self.start).0 as f64);
            sums.moments[0] += (to * to - from * from) / 2.0;
            sums.moments[1] += (to.powi(3) - from.powi(3)) / 3.0;
        }
        if to == Some(ThreadState::Running) {
            own.run = Some((world.now, clock, together));
        }
        pool.running += running(to) - running(from);
        let change = i64::from(is_runnable(to)) - i64::from(is_runnable(from));
        pool.runnable += change;
        pool.keys = pool.keys.wrapping_add(change.wrapping_mul(thread.0));
        if pool.runnable == 1 && pool.running == 1 {
            let alone = ThreadKey(pool.keys);
            if std::mem::replace(&mut pool.last_alone, alone) != alone {
                self.threads.of(alone).sums.turns += 1;
            }
            pool.alone = Some((alone, clock, world.now));
        }
    }
}

impl Analysis for Pools {
    fn new(context: &Context<'_>) -> Self {
        let idle = Idle { at: context.span.start, ..Idle::default() };
        Self { start: context.span.start, idle, pools: Vec::new(), threads: ByThread::new() }
    }

    fn weight() -> usize {
        4
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, world: &World) {
        self.threads.of(stretch.thread).tid = stretch.tid;
        self.change(stretch.thread, Some(stretch.state), world);
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        let Some(before) = world.cpu_now(stretch.cpu).filter(|c| c.followed) else { return };
        self.idle.advance(world.now);
        let is_idle = |state| i64::from(state == CpuState::Idle);
        self.idle.cpus += is_idle(stretch.state) - is_idle(before.state);
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        let running: Vec<ThreadKey> =
            self.threads.iter().filter(|(_, thread)| thread.run.is_some()).map(|(key, _)| key).collect();
        running.into_iter().for_each(|thread| self.change(thread, None, world));
        for (key, Thread { tid, sums, .. }) in self.threads.iter().filter(|(_, thread)| thread.sums.running > Ns::ZERO)
        {
            let [middle, square] = sums.moments.map(|moment| moment / sums.running.0 as f64);
            let spread = (square - middle * middle).max(0.0).sqrt();
            let alone_middle =
                (sums.alone > Ns::ZERO).then(|| Ns((sums.alone_moment / sums.alone.0 as f64).round() as i64));
            out.row(&[
                key.into(),
                i64::from(tid.0).into(),
                world.groups.name(key).into(),
                sums.running.into(),
                (self.start + Ns(middle.round() as i64)).into(),
                Ns(spread.round() as i64).into(),
                sums.with_idle.into(),
                saturated(sums.idle_cpus),
                sums.together.into(),
                sums.alone.into(),
                saturated(sums.alone_idle_cpus),
                alone_middle.map(|middle| self.start + middle).into(),
                sums.turns.into(),
            ]);
        }
    }
}

fn saturated(ns: i128) -> Value {
    Value::Int(i64::try_from(ns).unwrap_or(i64::MAX))
}
