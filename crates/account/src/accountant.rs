//! Stage one: events in, finished stretches and sums out.

use crate::life::{Doing, Life};
use crate::lives::Lives;
use crate::processor::{Processor, Runs};
use crate::watch::Watch;
use crate::{LossIndex, Sink, Totals};
use model::{
    Batch, CpuId, CpuState, CpuStretch, Event, InferredStretch, InheritedPriority, LossSpan, NameId, Ns, Pid, Reason,
    Seen, SeenState, Span, Switch, SwitchOut, ThreadKey, ThreadState, ThreadStretch, Tid, TimelineEvent, Wake,
    WakeKind, What,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// More CPUs than Linux can have: a damaged file must not fill the memory.
const MOST_CPUS: u32 = 1 << 16;
/// Who makes the kernel's threads, and what it is called.
const KTHREADD: (Tid, &str) = (Tid(2), "kthreadd");

/// What the source's own words mean for the accounting.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The source has `sched_waking`: `sched_wakeup` then changes no state.
    pub has_waking: bool,
    /// The source has wakings or wakeups: a blocked thread that runs again without one has lost it.
    pub has_wakes: bool,
    /// The source has the calls of `sched_yield`: who left runnable without one was preempted.
    pub has_yields: bool,
    /// CPUs that are rows even if no event names them.
    pub online: Vec<CpuId>,
    /// The losses of the recording, where they are known from an earlier pass.
    pub losses: Option<LossIndex>,
    /// Lossy time counts as unknown (`--strict-loss`).
    pub strict: bool,
    /// Whether to find out who ran where no chain tells it ([`Totals::inferred`]). Of all else nothing changes.
    pub infer: bool,
    /// Every switch of every CPU was recorded: who a CPU's first switch takes out was there before.
    pub whole: bool,
    /// Only of this part of the recording are sums made. Stretches, lives and chains are those of all of it.
    pub within: Option<Span>,
}

/// Follows the chains of CPUs and threads. Memory: what there is of CPUs and of threads that live.
pub struct Accountant {
    pub(crate) rules: Rules,
    pub(crate) lives: Lives,
    /// Names and processes told of threads that have done nothing yet.
    told: FxHashMap<Tid, (Pid, NameId)>,
    /// Those known to be the kernel's own threads.
    kernel: FxHashSet<Tid>,
    cpus: BTreeMap<CpuId, usize>,
    pub(crate) processors: Vec<Processor>,
    /// Place of a CPU in `processors`, for small numbers.
    near: Vec<usize>,
    names: Vec<Arc<str>>,
    losses: Vec<LossSpan>,
    end: Ns,
    events: u64,
    wakes: u64,
    frames: u64,
    marks: u64,
    /// What is summed.
    within: Span,
    /// Where something is to be inferred.
    pub(crate) watch: Option<Watch>,
}

impl Accountant {
    /// Begins at time 0; earlier events only tell the states at the begin.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self {
            watch: rules.infer.then(Watch::default),
            within: rules.within.unwrap_or(Span { start: Ns::ZERO, end: Ns::MAX }),
            lives: Lives::new(rules.within),
            rules,
            told: FxHashMap::default(),
            kernel: FxHashSet::default(),
            cpus: BTreeMap::new(),
            processors: Vec::new(),
            near: Vec::new(),
            names: vec!["".into()],
            losses: Vec::new(),
            end: Ns::ZERO,
            events: 0,
            wakes: 0,
            frames: 0,
            marks: 0,
        }
    }

    /// Takes the next events; they must be in order.
    pub fn push(&mut self, batch: &Batch, sink: &mut impl Sink) {
        self.names.extend(batch.names.iter().map(|name| Arc::from(&**name)));
        for event in &batch.events {
            self.event(event, sink);
        }
    }

    /// The key of the present life of a thread number, if it has one.
    #[must_use]
    pub fn thread_of(&self, tid: Tid) -> Option<ThreadKey> {
        self.lives.key(tid)
    }

    /// Ends the recording at its last sample.
    pub fn finish(mut self, sink: &mut impl Sink) -> Totals {
        let end = self.end;
        for cpu in std::mem::take(&mut self.rules.online) {
            self.processor(cpu, sink);
        }
        for at in 0..self.processors.len() {
            let certain = self.certain(at);
            self.watch_cpu_ends(at, end, certain || !self.processors[at].totals.followed, None);
            self.cpu_until(at, end, certain, sink);
        }
        for at in self.lives.here() {
            if self.lives[at].doing == Doing::Either {
                self.lives[at].doubt(Reason::Undecided);
            }
            self.thread_until(at, end, sink);
            self.lives.end(at);
        }
        for tid in self.lives.resting() {
            if let Some(at) = self.lives.of(tid) {
                self.thread_until(at, end, sink);
                self.lives.end(at);
            }
        }
        let lossy_complete = self.losses.is_empty() || self.rules.losses.is_some();
        let mut inferred = self.watch.map(Watch::finish).unwrap_or_default();
        if let Some(within) = self.rules.within {
            let overlaps = |l: &LossSpan| {
                let begins = l.from.get().is_none_or(|from| from < within.end);
                begins && l.to.get().is_none_or(|to| to > within.start)
            };
            self.losses.retain(overlaps);
            inferred = inferred
                .into_iter()
                .filter_map(|s| Some(InferredStretch { span: s.span.overlap(within)?, ..s }))
                .collect();
        }
        let mut cpus: Vec<_> = self.processors.into_iter().map(|p| p.totals).collect();
        cpus.sort_unstable_by_key(|c| c.cpu);
        Totals {
            begin: self.within.start,
            end: end.min(self.within.end).max(self.within.start),
            threads: self.lives.finish(self.names),
            cpus,
            losses: self.losses,
            ready_known: self.rules.has_wakes,
            events: self.events,
            wakes: self.wakes,
            frames: self.frames,
            marks: self.marks,
            lossy_complete,
            inferred,
            filled: false,
        }
    }

    fn event(&mut self, event: &Event, sink: &mut impl Sink) {
        self.events += u64::from(self.rules.within.is_none_or(|part| part.has(event.at)));
        if event.is_sample() {
            self.end = self.end.max(event.at);
            if event.cpu != CpuId::UNKNOWN {
                let here = self.processor(event.cpu, sink);
                self.watch_named(event, here);
            }
        }
        if let Some(event) = TimelineEvent::of(event) {
            sink.event(event);
        }
        let at = event.at;
        match &event.what {
            What::Switch(switch) => {
                if event.cpu == CpuId::UNKNOWN {
                    self.switch_nowhere(at, switch, sink);
                } else {
                    self.switch(at, event.cpu, switch, sink);
                }
            }
            What::Wake(wake) => self.wake(at, wake, sink),
            What::Migrate { tid, to, .. } => {
                if let Some(at_life) = self.lives.of(*tid) {
                    let life = &mut self.lives[at_life];
                    if life.doing != Doing::Ready {
                        life.queue = Some(*to);
                    }
                }
            }
            What::Charge { tid, ns } => {
                if let Some(life) = self.lives.alive(*tid)
                    && life.doing == Doing::Running
                {
                    life.open_charge = Some(life.open_charge.unwrap_or(Ns::ZERO) + *ns);
                }
            }
            What::Name { tid, pid, name } => self.tell(*tid, *pid, *name),
            What::Fork { parent, tid, pid, name } => {
                self.fork(*tid, *pid, *name);
                if *parent == KTHREADD.0 && self.is_kthreadd() {
                    self.kernel.insert(*tid);
                } else {
                    self.kernel.remove(tid);
                }
            }
            What::Exec { tid, pid, .. } => {
                self.kernel.remove(tid);
                self.tell(*tid, *pid, NameId::NONE);
            }
            What::Exit { tid, pid } => self.tell(*tid, *pid, NameId::NONE),
            What::Yield { tid, begins } => {
                // From here on it is known that calls are recorded.
                self.rules.has_yields = true;
                if let Some(life) = self.caller(*tid, event.cpu) {
                    life.yields = begins.then_some(at);
                }
            }
            What::Priority { tid, prio, .. } | What::Inherit { tid, priority: InheritedPriority { prio, .. } } => {
                if let Some(at) = self.lives.of(*tid) {
                    self.lives[at].prio = *prio;
                }
            }
            What::Seen(seen) => self.seen(at, seen, sink),
            What::Current { tid } => self.current(at, event.cpu, *tid, sink),
            What::Loss(loss) => self.losses.push(*loss),
            What::Mark(_) => self.marks += 1,
            What::Present(_) => self.frames += u64::from(self.rules.within.is_none_or(|part| part.has(at))),
            _ => {}
        }
    }

    // ---- who is who

    #[inline]
    fn processor(&mut self, cpu: CpuId, sink: &mut impl Sink) -> usize {
        match self.place_of(cpu) {
            Some(at) => at,
            None => self.begin_processor(cpu, sink),
        }
    }

    #[cold]
    fn begin_processor(&mut self, cpu: CpuId, sink: &mut impl Sink) -> usize {
        let number = if cpu.0 < MOST_CPUS { cpu } else { CpuId(MOST_CPUS) };
        let next = self.processors.len();
        let at = *self.cpus.entry(number).or_insert(next);
        if at == next {
            self.processors.push(Processor::new(number, sink.begin_cpu()));
        }
        if self.near.len() <= number.0 as usize {
            self.near.resize(number.0 as usize + 1, usize::MAX);
        }
        self.near[number.0 as usize] = at;
        at
    }

    /// The present life of a number; its first one begins with the recording.
    #[inline]
    fn life(&mut self, tid: Tid, sink: &mut impl Sink) -> usize {
        match self.lives.of(tid) {
            Some(at) => at,
            None => self.begin_life(tid, Ns::ZERO, sink),
        }
    }

    /// Where a CPU's place is, if it has one.
    #[inline]
    pub(crate) fn place_of(&self, cpu: CpuId) -> Option<usize> {
        self.near.get(cpu.0 as usize).copied().filter(|at| *at != usize::MAX)
    }

    fn begin_life(&mut self, tid: Tid, begin: Ns, sink: &mut impl Sink) -> usize {
        if let Some(former) = self.lives.of(tid) {
            self.left_by(former);
        }
        let at = self.lives.begin(tid, begin.max(Ns::ZERO), sink.begin_thread());
        let (pid, name) = self.told.remove(&tid).unwrap_or((Pid::UNKNOWN, NameId::NONE));
        let life = &mut self.lives[at];
        life.totals.begin = life.totals.begin.max(self.within.start);
        (life.totals.pid, life.name) = (pid, name);
        life.watched = self.watch.as_ref().is_some_and(|w| w.waits_for(tid));
        at
    }

    /// A life leaves its place, which another may take.
    fn left_by(&mut self, at: usize) {
        for processor in self.processors.iter_mut().filter(|p| p.runs == Runs::Thread(at)) {
            processor.runs = Runs::Gone;
        }
    }

    fn tell(&mut self, tid: Tid, pid: Pid, name: NameId) {
        if tid.0 <= 0 {
            return;
        }
        // What is told of a number whose life is over is told of its next one.
        let (known_pid, known_name) = match self.lives.alive(tid) {
            Some(life) => (&mut life.totals.pid, &mut life.name),
            None => {
                let told = self.told.entry(tid).or_insert((Pid::UNKNOWN, NameId::NONE));
                (&mut told.0, &mut told.1)
            }
        };
        if pid != Pid::UNKNOWN {
            *known_pid = pid;
        }
        if name != NameId::NONE {
            *known_name = name;
        }
    }

    /// The life of who makes a system call; where that is not told, of who runs on its CPU.
    fn caller(&mut self, tid: Tid, cpu: CpuId) -> Option<&mut Life> {
        if tid != Tid::UNKNOWN {
            return self.lives.alive(tid);
        }
        match self.processors[self.place_of(cpu)?].runs {
            Runs::Thread(at) => Some(&mut self.lives[at]),
            _ => None,
        }
    }

    /// Whether the number of who makes the kernel's threads is its own: in a container it may be anybody's.
    fn is_kthreadd(&mut self) -> bool {
        let name = match self.lives.alive(KTHREADD.0) {
            Some(life) => life.name,
            None => self.told.get(&KTHREADD.0).map_or(NameId::NONE, |told| told.1),
        };
        self.names.get(name.0 as usize).is_some_and(|name| **name == *KTHREADD.1)
    }

    /// The new thread's life begins at its first waking, which follows: what is told here is kept for it.
    fn fork(&mut self, tid: Tid, pid: Pid, name: NameId) {
        if tid.0 > 0 {
            self.told.insert(tid, (pid, name));
        }
    }

    // ---- time

    /// Ends a thread's open stretch.
    fn thread_until(&mut self, at: usize, now: Ns, sink: &mut impl Sink) {
        self.watch_thread_ends(at);
        let within = self.within;
        let life = &mut self.lives[at];
        let span = Span::new(life.since.max(Ns::ZERO), now.max(Ns::ZERO));
        let (began_before, state) = (life.since < Ns::ZERO, life.state());
        life.since = now;
        life.totals.end = span.end.min(within.end);
        let charge = life.open_charge.take();
        if span.is_empty() {
            return; // the place that was asked for serves the stretch that begins now
        }
        let place = std::mem::replace(&mut life.place, sink.begin_thread());
        let running_on = if state == ThreadState::Running { life.cpu } else { None };
        let losses = self.rules.losses.as_ref().filter(|_| state != ThreadState::Exited);
        let of_cpu = running_on.filter(|c| *c != CpuId::UNKNOWN);
        let lossy_in = |of| losses.map_or(Ns::ZERO, |l| l.overlap(of_cpu, of));
        let doubted = self.rules.strict && lossy_in(span) > Ns::ZERO;
        let charge = charge.filter(|_| running_on.is_some() && !began_before && !doubted);
        let stretch = ThreadStretch {
            span,
            thread: life.totals.thread,
            tid: life.totals.tid,
            state,
            reason: life.reason,
            cpu: if state == ThreadState::Ready { life.queue.or(life.cpu) } else { life.cpu }
                .filter(|c| *c != CpuId::UNKNOWN),
            waker_thread: if state == ThreadState::Ready { life.waker_thread } else { ThreadKey::UNKNOWN },
            exec: charge.into(),
            prio: life.prio,
        };
        sink.thread(place, &stretch);
        let Some(summed) = span.overlap(within) else { return };
        let (lossy, time) = (lossy_in(summed), summed.len());
        let doubted = if self.rules.strict { lossy } else { Ns::ZERO };
        let totals = &mut life.totals;
        totals.lossy = totals.lossy + lossy;
        for (state, time) in [(state, time - doubted), (ThreadState::Unknown, doubted)] {
            totals.states[state as usize] = totals.states[state as usize] + time;
        }
        // Of a stretch that the part cuts, nobody knows when it was charged.
        if let Some(charge) = charge.filter(|_| summed == span) {
            totals.exec = totals.exec + charge;
            totals.exec_of = totals.exec_of + time;
        }
        if state == ThreadState::Ready {
            let longest = match losses.filter(|_| doubted > Ns::ZERO) {
                Some(losses) => losses.longest_without(None, summed),
                None => time,
            };
            totals.max_ready = totals.max_ready.max(longest);
        }
        if let Some(cpu) = running_on {
            life.ran(cpu, time - doubted);
        }
    }

    /// Ends a CPU's open stretch.
    fn cpu_until(&mut self, at: usize, now: Ns, certain: bool, sink: &mut impl Sink) {
        let processor = &mut self.processors[at];
        let span = Span::new(processor.since.max(Ns::ZERO), now.max(Ns::ZERO));
        processor.since = now;
        processor.lead = now;
        if span.is_empty() {
            return;
        }
        let state = Processor::state_of(processor.runs, certain);
        let thread = match (state, processor.runs) {
            (CpuState::Idle, _) => ThreadKey::IDLE,
            (CpuState::Busy, Runs::Thread(life)) => self.lives[life].totals.thread,
            _ => ThreadKey::UNKNOWN,
        };
        let stretch = CpuStretch { span, cpu: processor.totals.cpu, state, thread };
        let place = std::mem::replace(&mut processor.place, sink.begin_cpu());
        sink.cpu(place, &stretch);
        let totals = &mut processor.totals;
        let Some(summed) = span.overlap(self.within) else { return };
        let mut known = summed.len();
        if let Some(losses) = &self.rules.losses {
            let lossy = losses.overlap(Some(stretch.cpu), summed);
            totals.lossy = totals.lossy + lossy;
            if self.rules.strict {
                known = known - lossy;
                let unknown = &mut totals.states[CpuState::Unknown as usize];
                *unknown = *unknown + lossy;
            }
        }
        let sum = &mut totals.states[state as usize];
        *sum = *sum + known;
    }

    /// Whether the thread that a CPU's last switch brought in is still there as far as anybody knows.
    fn certain(&self, at: usize) -> bool {
        let processor = &self.processors[at];
        match processor.runs {
            Runs::Idle => true,
            Runs::Thread(life) => self.lives[life].runs_on(processor.totals.cpu),
            Runs::Untold | Runs::Somebody | Runs::Gone => false,
        }
    }

    // ---- what happens

    fn switch(&mut self, now: Ns, cpu: CpuId, switch: &Switch, sink: &mut impl Sink) {
        let here = self.processor(cpu, sink);
        let counted = self.within.has(now);
        let cpu = self.processors[here].totals.cpu;
        let prev = if switch.prev.0 > 0 { Some(self.life(switch.prev, sink)) } else { None };
        let runs = self.processors[here].runs;
        // One side of a switch told: the other side is neither right nor wrong.
        let named = switch.prev != Tid::UNKNOWN;
        let linked = match runs {
            Runs::Untold | Runs::Gone => false,
            Runs::Idle => switch.prev == Tid::IDLE,
            Runs::Thread(life) => prev == Some(life) && self.lives[life].runs_on(cpu),
            Runs::Somebody => !named,
        };
        self.watch_cpu_ends(here, now, linked, Some(switch.prev));
        self.cpu_until(here, now, linked, sink);
        let first = !self.processors[here].switched;
        self.processors[here].switched |= now >= Ns::ZERO;
        let totals = &mut self.processors[here].totals;
        totals.followed = true;
        if counted {
            totals.switches += 1;
            // A CPU's first switch has nothing to link to.
            let nothing_before = first || runs == Runs::Untold;
            totals.broken += u64::from(!linked && !nothing_before);
        }
        if !linked && let Runs::Thread(ghost) = runs {
            // Who was seen to come in here left unseen.
            if self.lives[ghost].runs_on(cpu) {
                self.lives[ghost].doubt(Reason::Broken);
                self.thread_until(ghost, now, sink);
            }
        }
        if let Some(prev) = prev {
            self.switch_out(now, cpu, prev, switch, counted, sink);
        }
        let next = if switch.next.0 > 0 { Some(self.life(switch.next, sink)) } else { None };
        self.processors[here].runs = match next {
            Some(life) => Runs::Thread(life),
            None if switch.next == Tid::IDLE => Runs::Idle,
            None => Runs::Somebody,
        };
        if let Some(next) = next {
            self.switch_in(now, cpu, next, switch, counted, sink);
        }
    }

    /// A switch of which the source does not say where: it tells of its threads, and of no CPU.
    fn switch_nowhere(&mut self, now: Ns, switch: &Switch, sink: &mut impl Sink) {
        if switch.prev.0 > 0 {
            let prev = self.life(switch.prev, sink);
            self.switch_out(now, CpuId::UNKNOWN, prev, switch, self.within.has(now), sink);
        }
        if switch.next.0 > 0 {
            let next = self.life(switch.next, sink);
            self.switch_in(now, CpuId::UNKNOWN, next, switch, self.within.has(now), sink);
        }
    }

    fn switch_out(&mut self, now: Ns, cpu: CpuId, at: usize, switch: &Switch, counted: bool, sink: &mut impl Sink) {
        let life = &mut self.lives[at];
        if !life.runs_on(cpu) {
            life.doubt(Reason::Broken);
        }
        if switch.prev_name != NameId::NONE {
            life.name = switch.prev_name;
        }
        life.prio = switch.prev_prio.or(life.prio);
        if counted {
            let voluntary = !switch.out.is_runnable();
            life.totals.voluntary += u64::from(voluntary);
            life.totals.involuntary += u64::from(!voluntary);
        }
        if let Some(charged) = switch.prev_exec.get() {
            if life.doing == Doing::Running {
                life.open_charge = life.charged.map(|before| charged - before);
            }
            life.charged = Some(charged);
        }
        // Its next event will tell whether the waking that came before undid this switch-out.
        let early = life.woken && life.doing == Doing::Running;
        self.thread_until(at, now, sink);
        let (has_yields, kernel) = (self.rules.has_yields, &self.kernel);
        let life = &mut self.lives[at];
        (life.doing, life.reason) = match switch.out {
            SwitchOut::Preempted | SwitchOut::PreemptedToUser => (Doing::Ready, Reason::Preempted),
            SwitchOut::Yielded => (Doing::Ready, Reason::Yielded),
            SwitchOut::Throttled => (Doing::Ready, Reason::Throttled),
            SwitchOut::Runnable | SwitchOut::GaveWay => {
                let of_kernel = switch.out == SwitchOut::GaveWay || kernel.contains(&switch.prev);
                (Doing::Ready, life.why_runnable(now, of_kernel, has_yields))
            }
            SwitchOut::Exited => (Doing::Exited, Reason::State(switch.letter)),
            SwitchOut::Blocked if early => (Doing::Either, Reason::State(switch.letter)),
            SwitchOut::Blocked => (Doing::Blocked, Reason::State(switch.letter)),
            SwitchOut::Untold => (Doing::Unknown, Reason::Untold),
        };
        life.cpu = Some(cpu);
        life.queue = Some(cpu);
        life.woken = false;
        life.yields = None;
        life.snapshot = false;
        if life.doing != Doing::Either {
            life.waker_thread = ThreadKey::UNKNOWN;
        }
        if life.can_rest() {
            self.left_by(at);
            self.lives.rest(at);
        }
    }

    fn switch_in(&mut self, now: Ns, cpu: CpuId, at: usize, switch: &Switch, counted: bool, sink: &mut impl Sink) {
        let has_wakes = self.rules.has_wakes;
        let life = &mut self.lives[at];
        if switch.next_name != NameId::NONE {
            life.name = switch.next_name;
        }
        match life.doing {
            Doing::Running => life.doubt(Reason::Broken), // it left its CPU unseen
            Doing::Blocked if has_wakes => {
                life.doubt(Reason::NoWaking);
                life.totals.unwoken += u64::from(counted);
            }
            Doing::Either => (life.doing, life.reason) = (Doing::Ready, Reason::WokenBefore),
            _ => {}
        }
        if counted && life.cpu.is_some_and(|c| c != cpu) {
            life.totals.migrations += 1;
        }
        self.thread_until(at, now, sink);
        let life = &mut self.lives[at];
        (life.doing, life.reason) = (Doing::Running, Reason::None);
        life.prio = switch.next_prio.or(life.prio);
        (life.cpu, life.queue) = (Some(cpu), Some(cpu));
        life.woken = false;
        life.yields = None;
        life.snapshot = false;
    }

    fn wake(&mut self, now: Ns, wake: &Wake, sink: &mut impl Sink) {
        if wake.tid.0 <= 0 {
            return;
        }
        let counted = self.rules.within.is_none_or(|part| part.has(now));
        self.wakes += u64::from(counted && wake.kind != WakeKind::WakeupTold);
        let changes = match wake.kind {
            WakeKind::Waking | WakeKind::New => true,
            WakeKind::Wakeup => !self.rules.has_waking,
            WakeKind::WakeupTold => false,
        };
        if !changes {
            // Where the kernel put it in the end; told late, it may have run and left since, and waits where it left.
            if let Some(at) = self.lives.of(wake.tid) {
                let life = &mut self.lives[at];
                if !life.reason.left_runnable() {
                    life.queue = wake.target.or(life.queue);
                }
            }
            return;
        }
        let at = match wake.kind {
            WakeKind::New => self.new_life(now, wake.tid, sink),
            _ => self.life(wake.tid, sink),
        };
        // From a CPU's idle task an interrupt woke it.
        let idle = if wake.waker == Tid::IDLE { ThreadKey::IDLE } else { ThreadKey::UNKNOWN };
        let waker_thread = self.thread_of(wake.waker).unwrap_or(idle);
        let life = &mut self.lives[at];
        if wake.name != NameId::NONE {
            life.name = wake.name;
        }
        if life.doing == Doing::Either {
            life.doing = Doing::Blocked; // another waking between: it was blocked until this one
        }
        if life.doing == Doing::Running {
            life.woken = true;
            life.woken_at = now;
            life.waker_thread = waker_thread;
            return;
        }
        if life.doing == Doing::Ready {
            return; // who woke it first is its waker
        }
        self.thread_until(at, now, sink);
        let life = &mut self.lives[at];
        life.doing = Doing::Ready;
        life.reason = if wake.kind == WakeKind::New { Reason::New } else { Reason::Woken };
        life.waker_thread = waker_thread;
        life.queue = wake.target.or(life.cpu);
        life.prio = wake.prio.or(life.prio);
        life.snapshot = false;
    }

    /// A `sched_wakeup_new` always begins a life; a former one that was not seen to exit ends here.
    fn new_life(&mut self, now: Ns, tid: Tid, sink: &mut impl Sink) -> usize {
        if let Some(former) = self.lives.of(tid) {
            if self.lives[former].doing != Doing::Exited {
                self.lives[former].doubt(Reason::LifeLost);
            }
            self.thread_until(former, now, sink);
        }
        let at = self.begin_life(tid, now, sink);
        self.watch_born(at);
        let life = &mut self.lives[at];
        life.since = now;
        life.charged = Some(Ns::ZERO); // the kernel begins to count at its birth
        at
    }

    // ---- what a snapshot shows: seen, but only of threads and CPUs of which no event has told more

    fn seen(&mut self, now: Ns, seen: &Seen, sink: &mut impl Sink) {
        if seen.tid.0 <= 0 {
            return;
        }
        self.tell(seen.tid, seen.pid, seen.name);
        let at = self.life(seen.tid, sink);
        if self.lives[at].doing != Doing::Unknown || self.lives[at].reason != Reason::BeforeFirst {
            return;
        }
        if seen.state == SeenState::Running {
            // The CPU's word and the thread's must agree: nobody runs where another does.
            return self.current(now, seen.cpu, seen.tid, sink);
        }
        self.thread_until(at, now, sink);
        let life = &mut self.lives[at];
        (life.doing, life.reason) = match seen.state {
            SeenState::Ready | SeenState::Running => (Doing::Ready, Reason::Snapshot),
            SeenState::Blocked => (Doing::Blocked, Reason::State(seen.letter)),
            SeenState::Exited => (Doing::Exited, Reason::State(seen.letter)),
        };
        (life.cpu, life.queue) = (Some(seen.cpu), Some(seen.cpu));
        life.snapshot = true;
        life.charged = seen.exec.get();
    }

    fn current(&mut self, now: Ns, cpu: CpuId, tid: Tid, sink: &mut impl Sink) {
        let here = self.processor(cpu, sink);
        if self.processors[here].runs != Runs::Untold || tid.0 < 0 {
            return;
        }
        let cpu = self.processors[here].totals.cpu;
        self.watch_cpu_ends(here, now, false, None);
        self.cpu_until(here, now, false, sink);
        let runs = if tid == Tid::IDLE { Runs::Idle } else { Runs::Thread(self.life(tid, sink)) };
        if let Runs::Thread(at) = runs
            && !self.lives[at].runs_on(cpu)
        {
            if !(self.lives[at].snapshot || self.lives[at].reason == Reason::BeforeFirst) {
                return; // an event has told something else of it
            }
            if self.lives[at].doing == Doing::Running {
                self.lives[at].doubt(Reason::Broken); // it left its CPU unseen
            }
            self.thread_until(at, now, sink);
            let life = &mut self.lives[at];
            // Of a thread that runs, the kernel has not charged the time since its last tick.
            (life.doing, life.reason, life.cpu, life.charged) = (Doing::Running, Reason::Snapshot, Some(cpu), None);
            life.snapshot = true;
        }
        let processor = &mut self.processors[here];
        processor.runs = runs;
        processor.totals.followed = true;
    }
}
