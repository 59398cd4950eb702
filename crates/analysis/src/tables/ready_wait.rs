//! How long each thread ran and waited, and which CPUs were free while it was ready.

use crate::by_thread::{Before, ByThread};
use crate::free::{Availability, Free, FreeTimes, Queue};
use crate::{Analysis, Begins, Context, SetId, World};
use model::{
    CpuId, CpuStretch, Ns, Power, Reason, Rows, ThreadKey, ThreadState, ThreadStretch, Tid, TimelineEvent, Value,
};

pub(crate) struct ReadyWait {
    free: Free,
    threads: ByThread<Thread>,
}

#[derive(Clone, Default)]
struct Thread {
    before: Before,
    running: Sum,
    ready: Sum,
    blocked: Sum,
    unknown: Sum,
    by_reason: [Ns; 8],
    found: FreeTimes,
    /// The time it was ready and throttled.
    throttled: Ns,
    /// The time it was ready with unknown affinity.
    affinity_unknown: Ns,
    open: Option<Open>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    ns: Ns,
    count: i64,
    max: Ns,
}

/// The wait of a ready thread.
#[derive(Clone, Copy)]
struct Open {
    queue: Queue,
    /// Its begin on this queue, and the reading of the clocks; unused while throttled.
    since: Ns,
    showed: Option<FreeTimes>,
}

impl Thread {
    /// Returns the sum of a state; an exited thread has no sum.
    fn sum(&mut self, state: ThreadState) -> Option<&mut Sum> {
        match state {
            ThreadState::Running => Some(&mut self.running),
            ThreadState::Ready => Some(&mut self.ready),
            ThreadState::Blocked => Some(&mut self.blocked),
            ThreadState::Unknown => Some(&mut self.unknown),
            ThreadState::Exited => None,
        }
    }

    /// Takes the thread off its run queue. Returns the queue, if it was on one.
    fn leave_queue(&mut self, free: &mut Free, world: &World) -> Option<Queue> {
        let Open { queue, since, showed } = self.open.take()?;
        match showed {
            Some(showed) => self.found = self.found + (free.leave(queue, world) - showed),
            None => self.throttled += world.now - since,
        }
        if !queue.set.is_known() {
            self.affinity_unknown += world.now - since;
        }
        Some(queue)
    }

    fn enter_queue(&mut self, queue: Queue, throttled: bool, free: &mut Free, world: &World) {
        let showed = if throttled { None } else { Some(free.enter(queue, world)) };
        self.open = Some(Open { queue, since: world.now, showed });
    }

    fn cells(&self, world: &World) -> Vec<Value> {
        let sum = |s: &Sum| [s.ns.into(), s.count.into(), s.max.into()];
        let mut ready: Vec<Value> = sum(&self.ready).into();
        ready.extend(self.by_reason.map(Value::from));
        let FreeTimes { nothing, not_allowed, parked, other_class, same_class, own, unknown } = self.found;
        ready.extend([nothing, other_class, same_class].map(Value::from));
        ready.push(Some(not_allowed).filter(|_| self.affinity_unknown < self.ready.ns).into());
        ready.push(Some(parked).filter(|_| world.parking.is_recorded()).into());
        ready.push(own.into());
        ready.push(Some(self.throttled).filter(|_| world.throttled.is_reported()).into());
        ready.extend([unknown, self.affinity_unknown].map(Value::from));
        let mut cells = vec![self.running.ns.into(), self.running.count.into()];
        cells.extend(ready);
        cells.extend(sum(&self.blocked));
        cells.push(self.unknown.ns.into());
        cells
    }
}

/// Returns the column for the reason why a ready stretch began.
fn column(reason: Reason) -> usize {
    match reason {
        Reason::Preempted => 0,
        Reason::Yielded => 1,
        Reason::Throttled => 2,
        Reason::GaveWay => 3,
        Reason::LeftRunnable => 4,
        Reason::Woken | Reason::WokenBefore | Reason::NeverSlept => 5,
        Reason::New => 6,
        _ => 7,
    }
}

impl Analysis for ReadyWait {
    fn new(context: &Context<'_>) -> Self {
        Self { free: Free::new(context), threads: ByThread::new() }
    }

    fn weight() -> usize {
        6
    }

    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, world: &World) {
        let thread = self.threads.of(stretch.thread);
        thread.leave_queue(&mut self.free, world);
        let changes = thread.before.changes(stretch, begins);
        let time = stretch.span.len();
        if let Some(sum) = thread.sum(stretch.state) {
            sum.ns += time;
            sum.count += i64::from(changes);
            sum.max = sum.max.max(time);
        }
        if stretch.state == ThreadState::Ready {
            let sum = &mut thread.by_reason[column(stretch.reason)];
            *sum += time;
            let place = stretch.cpu.and_then(|c| world.place(c));
            let queue = Queue { place, set: world.allowed(stretch.thread) };
            thread.enter_queue(queue, world.throttled.is(stretch.thread), &mut self.free, world);
        }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        if let Some(place) = world.place(stretch.cpu) {
            self.free.change(place, Availability::of(stretch.state, world.cpus[place].parked), world);
        }
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, _: Begins, world: &World) {
        if let Some((cpu, Power::Parked(parked))) = event.power()
            && let Some(place) = world.place(cpu)
        {
            self.free.change(place, Availability::of(world.cpus[place].state, Some(parked)), world);
        }
    }

    fn moved(&mut self, key: ThreadKey, to: CpuId, world: &World) {
        let thread = self.threads.of(key);
        if let Some(queue) = thread.leave_queue(&mut self.free, world) {
            let queue = Queue { place: world.place(to), ..queue };
            thread.enter_queue(queue, world.throttled.is(key), &mut self.free, world);
        }
    }

    fn allowed(&mut self, key: ThreadKey, set: SetId, world: &World) {
        let thread = self.threads.of(key);
        if let Some(queue) = thread.leave_queue(&mut self.free, world) {
            thread.enter_queue(Queue { set, ..queue }, world.throttled.is(key), &mut self.free, world);
        }
    }

    fn throttled(&mut self, thread: ThreadKey, throttled: bool, world: &World) {
        let thread = self.threads.of(thread);
        if let Some(queue) = thread.leave_queue(&mut self.free, world) {
            thread.enter_queue(queue, throttled, &mut self.free, world);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for (key, thread) in self.threads.iter() {
            thread.leave_queue(&mut self.free, world);
            let lived = thread.running.ns + thread.ready.ns + thread.blocked.ns + thread.unknown.ns;
            if lived > Ns::ZERO {
                let tid = thread.before.tid().unwrap_or(Tid::UNKNOWN);
                let mut row = vec![key.into(), i64::from(tid.0).into()];
                row.extend(thread.cells(world));
                out.row(&row);
            }
        }
    }
}
