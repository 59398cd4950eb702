//! Stage one: events in, finished stretches and sums out.

use crate::instance::{Instance, ThreadPhase};
use crate::instances::Instances;
use crate::processor::{Processor, Runs};
use crate::recorded::{Recorded, RecordedCpus};
use crate::watch::Watch;
use crate::{LossIndex, Sink, Totals};
use model::{
    Batch, CpuId, CpuState, CpuStretch, Event, EventKind, InferredStretch, InheritedPriority, LossSpan, NameId, Ns,
    Pid, Reason, SnapshotEntry, SnapshotState, Span, Switch, SwitchOut, ThreadKey, ThreadState, ThreadStretch, Tid,
    TimelineEvent, Wake, WakeKind,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// More CPUs than Linux supports. Limits the memory for a damaged file.
const MAX_CPUS: u32 = 1 << 16;
/// The thread that creates all kernel threads.
const KTHREADD_TID: Tid = Tid(2);
const KTHREADD_NAME: &str = "kthreadd";

/// How the accounting interprets the events of a source.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The source has `sched_waking`: `sched_wakeup` then changes no state.
    pub has_waking: bool,
    /// The source has `sched_waking` or `sched_wakeup`: if a blocked thread runs again without one, the wakeup is missing.
    pub has_wakes: bool,
    /// The source has the calls of `sched_yield`: a thread switched out as runnable without one was preempted.
    pub has_yields: bool,
    /// CPUs that get a row even without events.
    pub online: Vec<CpuId>,
    /// CPUs that the source recorded by its own statement. Of all others, only an event of a CPU shows that it was recorded.
    pub recorded: Vec<CpuId>,
    /// The CPUs that were not recorded ([`Totals::unrecorded`]), if known from an earlier pass.
    pub unrecorded: Option<Vec<CpuId>>,
    /// The losses of the recording, if known from an earlier pass.
    pub losses: Option<LossIndex>,
    /// Lossy time counts as unknown (`--strict-loss`).
    pub strict: bool,
    /// Whether to infer which thread ran in time that no chain of switches covers ([`Totals::inferred`]). Nothing else changes.
    pub infer: bool,
    /// Every switch of every CPU was recorded: the thread that a CPU's first switch switches out ran there before.
    pub whole_machine: bool,
    /// Limits the sums to this part of the recording. Stretches, instances and chains cover all of it.
    pub within: Option<Span>,
}

/// Follows the chains of switches of CPUs and threads. Its memory is bounded by the number of CPUs and live threads.
pub struct Accountant {
    pub(crate) rules: Rules,
    pub(crate) instances: Instances,
    /// Names and processes of TIDs that have no instance yet.
    pending: FxHashMap<Tid, (Pid, NameId)>,
    /// Known kernel threads.
    kernel: FxHashSet<Tid>,
    cpus: BTreeMap<CpuId, usize>,
    pub(crate) processors: Vec<Processor>,
    /// The index of each CPU in `processors`.
    cpu_slots: Vec<usize>,
    recorded: RecordedCpus,
    /// A switch was recorded while the current task was not the one switched out: the TIDs are from two namespaces.
    pub(crate) two_namespaces: bool,
    /// The TIDs that were named as current tasks and had no instance then.
    pub(crate) named: FxHashSet<Tid>,
    names: Vec<Arc<str>>,
    losses: Vec<LossSpan>,
    end: Ns,
    events: u64,
    wakes: u64,
    frames: u64,
    marks: u64,
    /// The range of the sums.
    within: Span,
    /// Set if time is to be inferred.
    pub(crate) watch: Option<Watch>,
}

impl Accountant {
    /// Returns an accountant that begins at time 0; earlier events only set the states at the begin.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self {
            watch: rules.infer.then(Watch::default),
            recorded: RecordedCpus::new(&rules.recorded, rules.unrecorded.as_deref()),
            two_namespaces: false,
            named: FxHashSet::default(),
            within: rules.within.unwrap_or(Span { start: Ns::ZERO, end: Ns::MAX }),
            instances: Instances::new(rules.within),
            rules,
            pending: FxHashMap::default(),
            kernel: FxHashSet::default(),
            cpus: BTreeMap::new(),
            processors: Vec::new(),
            cpu_slots: Vec::new(),
            names: vec!["".into()],
            losses: Vec::new(),
            end: Ns::ZERO,
            events: 0,
            wakes: 0,
            frames: 0,
            marks: 0,
        }
    }

    /// Takes the next events, which must be in order.
    pub fn push(&mut self, batch: &Batch, sink: &mut impl Sink) {
        self.names.extend(batch.names.iter().map(|name| Arc::from(&**name)));
        for event in &batch.events {
            self.event(event, sink);
        }
    }

    /// Returns the key of the current instance of a TID, if it has one.
    #[must_use]
    pub fn thread_of(&self, tid: Tid) -> Option<ThreadKey> {
        self.instances.key(tid)
    }

    /// Ends the recording at its last sample.
    pub fn finish(mut self, sink: &mut impl Sink) -> Totals {
        let end = self.end;
        for cpu in std::mem::take(&mut self.rules.online) {
            self.processor(cpu, sink);
        }
        self.begin_named(sink);
        for at in 0..self.processors.len() {
            let is_known = self.is_known(at);
            match &mut self.watch {
                Some(watch) if !self.processors[at].totals.followed => watch.cpu_without_switches(at),
                _ => self.watch_cpu_ends(at, end, is_known, None),
            }
            self.cpu_until(at, end, is_known, sink);
        }
        for at in self.instances.live_threads() {
            if self.instances[at].phase == ThreadPhase::Undecided {
                self.instances[at].mark_unknown(Reason::Undecided);
            }
            self.thread_until(at, end, sink);
            self.instances.end(at);
        }
        for tid in self.instances.archived_tids() {
            if let Some(at) = self.instances.slot_of(tid) {
                self.thread_until(at, end, sink);
                self.instances.end(at);
            }
        }
        let lossy_complete = self.losses.is_empty() || self.rules.losses.is_some();
        let two_namespaces = self.two_namespaces;
        let mut inferred = self.watch.map(|watch| watch.finish(two_namespaces)).unwrap_or_default();
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
        let Recorded { recorded, unrecorded, complete } = self.recorded.finish(&cpus);
        Totals {
            recorded,
            unrecorded,
            unrecorded_complete: complete,
            begin: self.within.start,
            end: end.min(self.within.end).max(self.within.start),
            threads: self.instances.finish(self.names),
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
        self.events += u64::from(event.is_counted() && self.rules.within.is_none_or(|part| part.has(event.at)));
        if event.is_sample() {
            self.end = self.end.max(event.at);
            if event.cpu != CpuId::UNKNOWN {
                let cpu_slot = self.processor(event.cpu, sink);
                self.processors[cpu_slot].totals.has_events = true;
                self.names_current(event, cpu_slot, sink);
                self.watch_named(event, cpu_slot);
            }
        }
        if let Some(event) = TimelineEvent::from_event(event) {
            sink.event(event);
        }
        let at = event.at;
        match &event.what {
            EventKind::Switch(switch) => {
                if event.cpu == CpuId::UNKNOWN {
                    self.switch_without_cpu(at, switch, sink);
                } else {
                    self.switch(at, event.cpu, switch, sink);
                }
            }
            EventKind::Wake(wake) => self.wake(at, wake, sink),
            EventKind::Migrate { tid, to, .. } => self.migrate(at, *tid, *to, sink),
            EventKind::Charge { tid, ns } => {
                if let Some(instance) = self.instances.alive(*tid)
                    && instance.phase == ThreadPhase::Running
                {
                    instance.open_charge = Some(instance.open_charge.unwrap_or(Ns::ZERO) + *ns);
                }
            }
            EventKind::Name { tid, pid, name } => self.set_metadata(*tid, *pid, *name),
            EventKind::Fork { parent, tid, pid, name } => {
                self.fork(*tid, *pid, *name);
                if *parent == KTHREADD_TID && self.is_kthreadd() {
                    self.kernel.insert(*tid);
                } else {
                    self.kernel.remove(tid);
                }
            }
            EventKind::Exec { tid, pid, .. } => {
                self.kernel.remove(tid);
                self.set_metadata(*tid, *pid, NameId::NONE);
            }
            EventKind::Exit { tid, pid } => self.set_metadata(*tid, *pid, NameId::NONE),
            EventKind::Yield { tid, begins } => {
                // From now on it is known that calls are recorded.
                self.rules.has_yields = true;
                if let Some(instance) = self.caller(*tid, event.cpu) {
                    instance.yields = begins.then_some(at);
                }
            }
            EventKind::Priority { tid, prio, .. }
            | EventKind::Inherit { tid, priority: InheritedPriority { prio, .. } } => {
                if let Some(at) = self.instances.slot_of(*tid) {
                    self.instances[at].prio = *prio;
                }
            }
            EventKind::Snapshot(entry) => self.snapshot_entry(at, entry, sink),
            EventKind::Current { tid } => self.current_task(at, event.cpu, *tid, sink),
            EventKind::CpuSample { tid, name, .. } if tid.0 > 0 => {
                // A thread may be known from its samples alone.
                let slot = self.instance(*tid, sink);
                if *name != NameId::NONE {
                    self.instances[slot].name = *name;
                }
            }
            EventKind::Loss(loss) => self.losses.push(*loss),
            EventKind::Mark(_) => self.marks += 1,
            EventKind::Present(_) => self.frames += u64::from(self.rules.within.is_none_or(|part| part.has(at))),
            _ => {}
        }
    }

    // ---- CPUs and thread instances

    /// Whether a CPU is recorded, as far as this is known by now.
    #[inline]
    fn is_recorded(&mut self, cpu: CpuId) -> bool {
        let has_events = self.slot_of_cpu(cpu).is_some_and(|at| self.processors[at].totals.has_events);
        has_events || self.recorded.name(cpu)
    }

    #[inline]
    fn processor(&mut self, cpu: CpuId, sink: &mut impl Sink) -> usize {
        match self.slot_of_cpu(cpu) {
            Some(at) => at,
            None => self.begin_processor(cpu, sink),
        }
    }

    #[cold]
    fn begin_processor(&mut self, cpu: CpuId, sink: &mut impl Sink) -> usize {
        let number = if cpu.0 < MAX_CPUS { cpu } else { CpuId(MAX_CPUS) };
        let next = self.processors.len();
        let at = *self.cpus.entry(number).or_insert(next);
        if at == next {
            self.processors.push(Processor::new(number, sink.begin_cpu()));
        }
        if self.cpu_slots.len() <= number.0 as usize {
            self.cpu_slots.resize(number.0 as usize + 1, usize::MAX);
        }
        self.cpu_slots[number.0 as usize] = at;
        at
    }

    /// Returns the slot of the current instance of a TID; its first one begins with the recording.
    #[inline]
    pub(crate) fn instance(&mut self, tid: Tid, sink: &mut impl Sink) -> usize {
        match self.instances.slot_of(tid) {
            Some(at) => at,
            None => self.begin_instance(tid, Ns::ZERO, sink),
        }
    }

    /// Returns the slot of a CPU, if it has one.
    #[inline]
    pub(crate) fn slot_of_cpu(&self, cpu: CpuId) -> Option<usize> {
        self.cpu_slots.get(cpu.0 as usize).copied().filter(|at| *at != usize::MAX)
    }

    fn begin_instance(&mut self, tid: Tid, begin: Ns, sink: &mut impl Sink) -> usize {
        if let Some(former) = self.instances.slot_of(tid) {
            self.detach(former);
        }
        let at = self.instances.begin(tid, begin.max(Ns::ZERO), sink.begin_thread());
        let (pid, name) = self.pending.remove(&tid).unwrap_or((Pid::UNKNOWN, NameId::NONE));
        let instance = &mut self.instances[at];
        instance.totals.begin = instance.totals.begin.max(self.within.start);
        (instance.totals.pid, instance.name) = (pid, name);
        instance.watched = self.watch.as_ref().is_some_and(|w| w.waits_for(tid));
        at
    }

    /// Detaches CPUs from an instance that leaves its slot, which another instance may take.
    fn detach(&mut self, at: usize) {
        for processor in self.processors.iter_mut().filter(|p| p.runs == Runs::Thread(at)) {
            processor.runs = Runs::Ended;
        }
    }

    fn set_metadata(&mut self, tid: Tid, pid: Pid, name: NameId) {
        if tid.0 <= 0 {
            return;
        }
        // If the current instance has exited, the metadata belongs to the next one.
        let (known_pid, known_name) = match self.instances.alive(tid) {
            Some(instance) => (&mut instance.totals.pid, &mut instance.name),
            None => {
                let pending = self.pending.entry(tid).or_insert((Pid::UNKNOWN, NameId::NONE));
                (&mut pending.0, &mut pending.1)
            }
        };
        if pid != Pid::UNKNOWN {
            *known_pid = pid;
        }
        if name != NameId::NONE {
            *known_name = name;
        }
    }

    /// Returns the instance that makes a system call; if not recorded, the one that runs on its CPU.
    fn caller(&mut self, tid: Tid, cpu: CpuId) -> Option<&mut Instance> {
        if tid != Tid::UNKNOWN {
            return self.instances.alive(tid);
        }
        match self.processors[self.slot_of_cpu(cpu)?].runs {
            Runs::Thread(at) => Some(&mut self.instances[at]),
            _ => None,
        }
    }

    /// Whether TID 2 is kthreadd: in a container it may be any process.
    fn is_kthreadd(&mut self) -> bool {
        let name = match self.instances.alive(KTHREADD_TID) {
            Some(instance) => instance.name,
            None => self.pending.get(&KTHREADD_TID).map_or(NameId::NONE, |pending| pending.1),
        };
        self.names.get(name.0 as usize).is_some_and(|name| **name == *KTHREADD_NAME)
    }

    /// Keeps the metadata of a new thread, whose instance begins later, at its first wakeup.
    fn fork(&mut self, tid: Tid, pid: Pid, name: NameId) {
        if tid.0 > 0 {
            self.pending.insert(tid, (pid, name));
        }
    }

    // ---- time

    /// Ends a thread's open stretch.
    pub(crate) fn thread_until(&mut self, at: usize, now: Ns, sink: &mut impl Sink) {
        self.watch_thread_ends(at);
        let within = self.within;
        let instance = &mut self.instances[at];
        let span = Span::new(instance.since.max(Ns::ZERO), now.max(Ns::ZERO));
        let (began_before, state) = (instance.since < Ns::ZERO, instance.state());
        instance.since = now;
        instance.totals.end = span.end.min(within.end);
        let charge = instance.open_charge.take();
        if span.is_empty() {
            return; // the reserved place is used for the stretch that begins now
        }
        let place = std::mem::replace(&mut instance.place, sink.begin_thread());
        let running_on = if state == ThreadState::Running { instance.cpu } else { None };
        let losses = self.rules.losses.as_ref().filter(|_| state != ThreadState::Exited);
        let of_cpu = running_on.filter(|c| *c != CpuId::UNKNOWN);
        let lossy_in = |of| losses.map_or(Ns::ZERO, |l| l.overlap(of_cpu, of));
        let has_loss = self.rules.strict && lossy_in(span) > Ns::ZERO;
        let charge = charge.filter(|_| running_on.is_some() && !began_before && !has_loss);
        let stretch = ThreadStretch {
            span,
            thread: instance.totals.thread,
            tid: instance.totals.tid,
            state,
            reason: instance.reason,
            cpu: if state == ThreadState::Ready { instance.queue.or(instance.cpu) } else { instance.cpu }
                .filter(|c| *c != CpuId::UNKNOWN),
            waker_thread: if state == ThreadState::Ready { instance.waker_thread } else { ThreadKey::UNKNOWN },
            exec: charge.into(),
            prio: instance.prio,
        };
        sink.thread(place, &stretch);
        let Some(summed) = span.overlap(within) else { return };
        let (lossy, time) = (lossy_in(summed), summed.len());
        let unknown_time = if self.rules.strict { lossy } else { Ns::ZERO };
        let totals = &mut instance.totals;
        totals.lossy += lossy;
        for (state, time) in [(state, time - unknown_time), (ThreadState::Unknown, unknown_time)] {
            totals.states[state as usize] += time;
        }
        // For a stretch that the range cuts, the time of the charge is unknown.
        if let Some(charge) = charge.filter(|_| summed == span) {
            totals.exec += charge;
            totals.exec_of += time;
        }
        if state == ThreadState::Ready {
            let longest = match losses.filter(|_| unknown_time > Ns::ZERO) {
                Some(losses) => losses.longest_without(None, summed),
                None => time,
            };
            totals.max_ready = totals.max_ready.max(longest);
        }
        if let Some(cpu) = running_on {
            instance.add_running_time(cpu, time - unknown_time);
        }
    }

    /// Ends a CPU's open stretch.
    fn cpu_until(&mut self, at: usize, now: Ns, is_known: bool, sink: &mut impl Sink) {
        let processor = &mut self.processors[at];
        let span = Span::new(processor.since.max(Ns::ZERO), now.max(Ns::ZERO));
        processor.since = now;
        processor.last_named = now;
        if span.is_empty() {
            return;
        }
        let state = Processor::state_of(processor.runs, is_known);
        let thread = match (state, processor.runs) {
            (CpuState::Idle, _) => ThreadKey::IDLE,
            (CpuState::Busy, Runs::Thread(instance)) => self.instances[instance].totals.thread,
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
            totals.lossy += lossy;
            if self.rules.strict {
                known -= lossy;
                let unknown = &mut totals.states[CpuState::Unknown as usize];
                *unknown += lossy;
            }
        }
        let sum = &mut totals.states[state as usize];
        *sum += known;
    }

    /// Whether the thread that a CPU's last switch brought in is still known to run there.
    fn is_known(&self, at: usize) -> bool {
        let processor = &self.processors[at];
        match processor.runs {
            Runs::Idle => true,
            Runs::Thread(instance) => self.instances[instance].runs_on(processor.totals.cpu),
            Runs::Unknown | Runs::Unnamed | Runs::Ended => false,
        }
    }

    // ---- events

    fn switch(&mut self, now: Ns, cpu: CpuId, switch: &Switch, sink: &mut impl Sink) {
        let cpu_slot = self.processor(cpu, sink);
        let in_range = self.within.has(now);
        let cpu = self.processors[cpu_slot].totals.cpu;
        let prev = if switch.prev.0 > 0 { Some(self.instance(switch.prev, sink)) } else { None };
        let runs = self.processors[cpu_slot].runs;
        // If only one side of a switch is recorded, the other side cannot be checked.
        let named = switch.prev != Tid::UNKNOWN;
        let linked = match runs {
            Runs::Unknown | Runs::Ended => false,
            Runs::Idle => switch.prev == Tid::IDLE,
            Runs::Thread(instance) => prev == Some(instance) && self.instances[instance].runs_on(cpu),
            Runs::Unnamed => !named,
        };
        self.watch_cpu_ends(cpu_slot, now, linked, Some(switch.prev));
        self.cpu_until(cpu_slot, now, linked, sink);
        let first = !self.processors[cpu_slot].switched;
        self.processors[cpu_slot].switched |= now >= Ns::ZERO;
        let totals = &mut self.processors[cpu_slot].totals;
        totals.followed = true;
        if in_range {
            totals.switches += 1;
            // A CPU's first switch has no previous one to compare with.
            let nothing_before = first || runs == Runs::Unknown;
            totals.inconsistent_switches += u64::from(!linked && !nothing_before);
        }
        if !linked && let Runs::Thread(ghost) = runs {
            // The thread that was switched in here left without a recorded switch.
            if self.instances[ghost].runs_on(cpu) {
                self.instances[ghost].mark_unknown(Reason::InconsistentSwitch);
                self.thread_until(ghost, now, sink);
            }
        }
        if let Some(prev) = prev {
            self.switch_out(now, cpu, prev, switch, in_range, sink);
        }
        let next = if switch.next.0 > 0 { Some(self.instance(switch.next, sink)) } else { None };
        self.processors[cpu_slot].runs = match next {
            Some(instance) => Runs::Thread(instance),
            None if switch.next == Tid::IDLE => Runs::Idle,
            None => Runs::Unnamed,
        };
        if let Some(next) = next {
            self.switch_in(now, cpu, next, switch, in_range, sink);
        }
    }

    /// A switch without a recorded CPU: it affects its threads, but no CPU.
    fn switch_without_cpu(&mut self, now: Ns, switch: &Switch, sink: &mut impl Sink) {
        if switch.prev.0 > 0 {
            let prev = self.instance(switch.prev, sink);
            self.switch_out(now, CpuId::UNKNOWN, prev, switch, self.within.has(now), sink);
        }
        if switch.next.0 > 0 {
            let next = self.instance(switch.next, sink);
            self.switch_in(now, CpuId::UNKNOWN, next, switch, self.within.has(now), sink);
        }
    }

    fn switch_out(&mut self, now: Ns, cpu: CpuId, at: usize, switch: &Switch, in_range: bool, sink: &mut impl Sink) {
        let instance = &mut self.instances[at];
        if !instance.runs_on(cpu) {
            instance.mark_unknown(Reason::InconsistentSwitch);
        }
        if switch.prev_name != NameId::NONE {
            instance.name = switch.prev_name;
        }
        instance.prio = switch.prev_prio.or(instance.prio);
        if in_range {
            let voluntary = !switch.out.is_runnable();
            instance.totals.voluntary += u64::from(voluntary);
            instance.totals.involuntary += u64::from(!voluntary);
        }
        if let Some(charged) = switch.prev_exec.get() {
            if instance.phase == ThreadPhase::Running {
                instance.open_charge = instance.charged.map(|before| charged - before);
            }
            instance.charged = Some(charged);
        }
        // Its next event shows whether the earlier wakeup cancelled this switch-out.
        let early = instance.woken && instance.phase == ThreadPhase::Running;
        self.thread_until(at, now, sink);
        let (has_yields, kernel) = (self.rules.has_yields, &self.kernel);
        let instance = &mut self.instances[at];
        (instance.phase, instance.reason) = match switch.out {
            SwitchOut::Preempted | SwitchOut::PreemptedToUser => (ThreadPhase::Ready, Reason::Preempted),
            SwitchOut::Yielded => (ThreadPhase::Ready, Reason::Yielded),
            SwitchOut::Throttled => (ThreadPhase::Ready, Reason::Throttled),
            SwitchOut::Runnable | SwitchOut::GaveWay => {
                let of_kernel = switch.out == SwitchOut::GaveWay || kernel.contains(&switch.prev);
                (ThreadPhase::Ready, instance.why_runnable(now, of_kernel, has_yields))
            }
            SwitchOut::Exited => (ThreadPhase::Exited, Reason::State(switch.state_letter)),
            SwitchOut::Blocked if early => (ThreadPhase::Undecided, Reason::State(switch.state_letter)),
            SwitchOut::Blocked => (ThreadPhase::Blocked, Reason::State(switch.state_letter)),
            SwitchOut::NotRecorded => (ThreadPhase::Unknown, Reason::NotRecorded),
        };
        instance.cpu = Some(cpu);
        instance.queue = Some(cpu);
        instance.woken = false;
        instance.yields = None;
        instance.snapshot = false;
        if instance.phase != ThreadPhase::Undecided {
            instance.waker_thread = ThreadKey::UNKNOWN;
        }
        if instance.can_be_archived() {
            self.detach(at);
            self.instances.archive(at);
        }
    }

    fn switch_in(&mut self, now: Ns, cpu: CpuId, at: usize, switch: &Switch, in_range: bool, sink: &mut impl Sink) {
        let has_wakes = self.rules.has_wakes;
        let instance = &mut self.instances[at];
        if switch.next_name != NameId::NONE {
            instance.name = switch.next_name;
        }
        match instance.phase {
            ThreadPhase::Running => instance.mark_unknown(Reason::InconsistentSwitch), // its switch-out was not recorded
            ThreadPhase::Blocked if has_wakes => {
                instance.mark_unknown(Reason::NoWaking);
                instance.totals.missing_wakeups += u64::from(in_range);
            }
            ThreadPhase::Undecided => (instance.phase, instance.reason) = (ThreadPhase::Ready, Reason::WokenBefore),
            _ => {}
        }
        if in_range && instance.cpu.is_some_and(|c| c != cpu) {
            instance.totals.migrations += 1;
        }
        self.thread_until(at, now, sink);
        let instance = &mut self.instances[at];
        (instance.phase, instance.reason) = (ThreadPhase::Running, Reason::None);
        instance.prio = switch.next_prio.or(instance.prio);
        (instance.cpu, instance.queue) = (Some(cpu), Some(cpu));
        instance.woken = false;
        instance.yields = None;
        instance.snapshot = false;
    }

    fn wake(&mut self, now: Ns, wake: &Wake, sink: &mut impl Sink) {
        if wake.tid.0 <= 0 {
            return;
        }
        let in_range = self.rules.within.is_none_or(|part| part.has(now));
        self.wakes += u64::from(in_range && wake.kind != WakeKind::WakeupAtSwitchIn);
        let changes = match wake.kind {
            WakeKind::Waking | WakeKind::New => true,
            WakeKind::Wakeup => !self.rules.has_waking,
            WakeKind::WakeupAtSwitchIn => false,
        };
        if !changes {
            // The run queue that the kernel chose. If the event is late, the thread may have run since, and waits where it was
            // switched out.
            if let Some(at) = self.instances.slot_of(wake.tid)
                && !self.instances[at].reason.left_runnable()
            {
                let is_recorded = wake.target.is_none_or(|cpu| self.is_recorded(cpu));
                let instance = &mut self.instances[at];
                instance.queue = wake.target.or(instance.queue);
                if !is_recorded && instance.phase == ThreadPhase::Ready {
                    instance.mark_unknown(Reason::CpuNotRecorded);
                }
            }
            return;
        }
        let at = match wake.kind {
            WakeKind::New => self.new_instance(now, wake.tid, sink),
            _ => self.instance(wake.tid, sink),
        };
        // A wakeup issued while the idle task is current comes from an interrupt.
        let idle = if wake.waker == Tid::IDLE { ThreadKey::IDLE } else { ThreadKey::UNKNOWN };
        let waker_thread = self.thread_of(wake.waker).unwrap_or(idle);
        let instance = &mut self.instances[at];
        if wake.name != NameId::NONE {
            instance.name = wake.name;
        }
        if instance.phase == ThreadPhase::Undecided {
            instance.phase = ThreadPhase::Blocked; // another wakeup: it was blocked until now
        }
        if instance.phase == ThreadPhase::Running {
            instance.woken = true;
            instance.woken_at = now;
            instance.waker_thread = waker_thread;
            return;
        }
        if instance.phase == ThreadPhase::Ready {
            if !matches!(instance.reason, Reason::Woken | Reason::New) {
                return; // it was about to sleep when it left its CPU, and is still runnable
            }
            // Only a thread that sleeps is woken: it ran since it was woken before.
            instance.mark_unknown(Reason::NoSwitchIn);
        }
        self.thread_until(at, now, sink);
        let is_recorded = wake.target.is_none_or(|cpu| self.is_recorded(cpu));
        let instance = &mut self.instances[at];
        instance.phase = ThreadPhase::Ready;
        instance.reason = if wake.kind == WakeKind::New { Reason::New } else { Reason::Woken };
        instance.waker_thread = waker_thread;
        instance.queue = wake.target.or(instance.cpu);
        instance.prio = wake.prio.or(instance.prio);
        instance.snapshot = false;
        if !is_recorded {
            instance.mark_unknown(Reason::CpuNotRecorded);
        }
    }

    /// A thread that is not running moves to the run queue of another CPU.
    fn migrate(&mut self, now: Ns, tid: Tid, to: CpuId, sink: &mut impl Sink) {
        let is_recorded = self.is_recorded(to);
        let Some(at) = self.instances.slot_of(tid) else { return };
        if self.instances[at].phase != ThreadPhase::Ready {
            self.instances[at].queue = Some(to);
        } else if !is_recorded {
            self.thread_until(at, now, sink);
            self.instances[at].mark_unknown(Reason::CpuNotRecorded);
        }
    }

    /// Begins an instance at a `sched_wakeup_new`; a previous one without a recorded exit ends here.
    fn new_instance(&mut self, now: Ns, tid: Tid, sink: &mut impl Sink) -> usize {
        if let Some(former) = self.instances.slot_of(tid) {
            if self.instances[former].phase != ThreadPhase::Exited {
                self.instances[former].mark_unknown(Reason::InstanceLost);
            }
            self.thread_until(former, now, sink);
        }
        let at = self.begin_instance(tid, now, sink);
        self.watch_born(at);
        let instance = &mut self.instances[at];
        instance.since = now;
        instance.charged = Some(Ns::ZERO); // the kernel counts from its creation
        at
    }

    // ---- snapshots: only for threads and CPUs whose state no event has set

    fn snapshot_entry(&mut self, now: Ns, entry: &SnapshotEntry, sink: &mut impl Sink) {
        if entry.tid.0 <= 0 {
            return;
        }
        self.set_metadata(entry.tid, entry.pid, entry.name);
        let at = self.instance(entry.tid, sink);
        if self.instances[at].phase != ThreadPhase::Unknown || self.instances[at].reason != Reason::BeforeFirst {
            return;
        }
        if entry.state == SnapshotState::Running {
            // The states of the CPU and the thread must agree: a CPU runs only one thread.
            return self.current_task(now, entry.cpu, entry.tid, sink);
        }
        self.instances[at].reason = Reason::BeforeSnapshot;
        self.thread_until(at, now, sink);
        let instance = &mut self.instances[at];
        (instance.phase, instance.reason) = match entry.state {
            SnapshotState::Ready | SnapshotState::Running => (ThreadPhase::Ready, Reason::Snapshot),
            SnapshotState::Blocked => (ThreadPhase::Blocked, Reason::State(entry.state_letter)),
            SnapshotState::Exited => (ThreadPhase::Exited, Reason::State(entry.state_letter)),
        };
        (instance.cpu, instance.queue) = (Some(entry.cpu), Some(entry.cpu));
        instance.snapshot = true;
        instance.charged = entry.exec.get();
    }

    fn current_task(&mut self, now: Ns, cpu: CpuId, tid: Tid, sink: &mut impl Sink) {
        let cpu_slot = self.processor(cpu, sink);
        if self.processors[cpu_slot].runs != Runs::Unknown || tid.0 < 0 {
            return;
        }
        let cpu = self.processors[cpu_slot].totals.cpu;
        self.watch_cpu_ends(cpu_slot, now, false, None);
        self.cpu_until(cpu_slot, now, false, sink);
        let runs = if tid == Tid::IDLE { Runs::Idle } else { Runs::Thread(self.instance(tid, sink)) };
        if let Runs::Thread(at) = runs
            && !self.instances[at].runs_on(cpu)
        {
            if !(self.instances[at].snapshot || self.instances[at].reason == Reason::BeforeFirst) {
                return; // an event has set another state
            }
            match self.instances[at].phase {
                // Its switch-out was not recorded.
                ThreadPhase::Running => self.instances[at].mark_unknown(Reason::InconsistentSwitch),
                ThreadPhase::Unknown => self.instances[at].reason = Reason::BeforeSnapshot,
                _ => {}
            }
            self.thread_until(at, now, sink);
            let instance = &mut self.instances[at];
            // The kernel has not yet charged a running thread for the time since its last tick.
            (instance.phase, instance.reason, instance.cpu, instance.charged) =
                (ThreadPhase::Running, Reason::Snapshot, Some(cpu), None);
            instance.snapshot = true;
        }
        let processor = &mut self.processors[cpu_slot];
        processor.runs = runs;
        processor.totals.followed = true;
    }
}
