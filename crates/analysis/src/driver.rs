//! The driver: feeds a timeline to all requested analyses.

use crate::allowed::SetId;
use crate::blocked_by::Reasons;
use crate::folded_chains::FoldedChains;
use crate::functions::Functions;
use crate::instances::Instances;
use crate::source_lines::SourceLines;
use crate::thread_groups::ThreadGroups;
use crate::{ANALYSES, Analysis, Begins, Context, World};
use model::{
    Change, CpuId, CpuStretch, NameId, Ns, Rows, SetTo, Span, StackId, Stacks, Subject, Table, TableDef, ThreadKey,
    ThreadState, ThreadStretch, Tid, Timeline, TimelineEvent, tables,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The running analyses.
pub struct Running {
    span: Span,
    /// Moments before this time belong to the span ([`Change::is_moment`]): those at its very end, too, if the recording ends there.
    until: Ns,
    world: World,
    instances: Instances,
    /// Settings of TIDs without a current instance; they apply to the next instance.
    next_settings: FxHashMap<Tid, Vec<SetTo>>,
    analyses: Vec<(&'static TableDef, Box<dyn Analysis>)>,
    hide_marks: bool,
}

/// Returns the first instant that an event is about. A reading of energy is about the time before it, which may begin in a span that has
/// ended.
fn first_instant(event: &TimelineEvent) -> Ns {
    if let Change::Energy(used) = event.what { used.span(event.at).start } else { event.at }
}

impl Running {
    /// Starts the analyses of these tables. `names`: all recorded names; the first is [`model::NameId`] 1.
    #[must_use]
    pub fn start(tables: &[&str], context: &Context<'_>, names: Vec<Box<str>>) -> Self {
        let wanted = ANALYSES.iter().filter(|e| tables.contains(&e.table.name));
        let mut world = World::new(context);
        world.set_names(names);
        Self {
            span: context.span,
            until: if context.to_end { context.span.end + Ns(1) } else { context.span.end },
            world,
            instances: Instances::new(),
            next_settings: FxHashMap::default(),
            analyses: wanted.map(|e| (e.table, (e.start)(context))).collect(),
            hide_marks: false,
        }
    }

    /// Sets the callchains of the switch-outs ([`Change::BlockedAt`]) and of the samples ([`Change::Sampled`]).
    pub fn callchains(&mut self, stacks: &Stacks) {
        self.world.reasons = Reasons::new(stacks);
        self.world.lines = SourceLines::new(stacks);
        self.world.functions = Functions::new(stacks, &self.world.lines);
        if self.analyses.iter().any(|(def, _)| def.name == tables::FOLDED_STACKS.name) {
            self.world.folded = FoldedChains::new(stacks);
        }
    }

    /// Sets the pools and the processes of the threads.
    pub fn groups(&mut self, groups: &Arc<ThreadGroups>) {
        self.world.groups = Arc::clone(groups);
    }

    /// Sets the frame budget, if there is one.
    pub fn budget(&mut self, budget: Option<Ns>) {
        self.world.budget = budget;
    }

    /// Hides all marks from the analyses.
    pub fn hide_marks(&mut self) {
        self.hide_marks = true;
    }

    /// Feeds a batch to all analyses.
    pub fn push(&mut self, batch: &Timeline<'_>) {
        let Timeline { mut threads, mut cpus, mut events } = *batch;
        loop {
            let thread = threads.first().map_or(Ns::MAX, |s| s.span.start);
            let cpu = cpus.first().map_or(Ns::MAX, |s| s.span.start);
            let event = events.first().map_or(Ns::MAX, |e| e.at);
            if thread == Ns::MAX && event == Ns::MAX {
                return cpus.iter().for_each(|stretch| self.cpu(stretch));
            }
            // At one instant, a thread becomes ready before it is moved, and runs before it marks.
            if event < thread && event < cpu {
                let Some((first, rest)) = events.split_first() else { return };
                events = rest;
                self.event(first);
            } else if cpu <= thread {
                let Some((first, rest)) = cpus.split_first() else { return };
                cpus = rest;
                self.cpu(first);
            } else {
                let Some((first, rest)) = threads.split_first() else { return };
                threads = rest;
                self.thread(first);
            }
        }
    }

    fn thread(&mut self, stretch: &ThreadStretch) {
        let over = self.instances.empty_exit(stretch).filter(|o| o.span.start >= self.span.start);
        if let Some(set) = self.world.permissions.begins(stretch) {
            self.allow(stretch.thread, set, stretch.span.start);
        }
        if stretch.state != ThreadState::Exited
            && let Some(settings) = self.next_settings.remove(&stretch.tid)
        {
            settings.iter().for_each(|to| self.set(stretch.thread, to, stretch.span.start));
        }
        if matches!(stretch.state, ThreadState::Running | ThreadState::Exited) {
            // A running thread is not throttled, even if the end of its throttling was not recorded.
            self.hold(stretch.thread, false, stretch.span.start);
        }
        let Some((span, begins)) = self.clip(stretch.span) else { return };
        let stretch = ThreadStretch { span, ..*stretch };
        self.world.now = span.start;
        if let Some(over) = over {
            self.analyses.iter_mut().for_each(|(_, a)| a.thread(&over, Begins::Here, &self.world));
        }
        self.analyses.iter_mut().for_each(|(_, a)| a.thread(&stretch, begins, &self.world));
        self.world.thread(&stretch);
    }

    fn cpu(&mut self, stretch: &CpuStretch) {
        let Some((span, begins)) = self.clip(stretch.span) else { return };
        let stretch = CpuStretch { span, ..*stretch };
        self.world.now = span.start;
        self.analyses.iter_mut().for_each(|(_, a)| a.cpu(&stretch, begins, &self.world));
        self.world.cpu(&stretch);
    }

    fn event(&mut self, event: &TimelineEvent) {
        let TimelineEvent { at, who, what } = *event;
        match (who, what) {
            (Subject::Thread(tid), Change::Queue(to)) => self.moved(at, tid, to),
            (Subject::Thread(tid), Change::Affinity(cpus)) => self.affinity(at, tid, cpus),
            (who, Change::Throttled(begins)) => self.throttled(at, who, begins),
            (Subject::Thread(tid), Change::BlockedAt(stack)) => self.blocked_at(at, tid, stack),
            (who, Change::Setting(to)) => self.setting(at, who, &to),
            _ => self.other(event),
        }
    }

    fn other(&mut self, event: &TimelineEvent) {
        let until = if event.what.is_moment() { self.until } else { self.span.end };
        if first_instant(event) < until && !(self.hide_marks && event.mark().is_some()) {
            self.world.now = self.world.now.max(event.at.min(self.span.end));
            let begins = if event.at < self.span.start { Begins::Before } else { Begins::Here };
            let thread = event.tid().map_or(ThreadKey::UNKNOWN, |tid| self.instances.current(tid));
            self.analyses.iter_mut().for_each(|(_, a)| a.event(event, thread, begins, &self.world));
            if let Some((cpu, to)) = event.power() {
                self.world.power(cpu, to);
            }
        }
    }

    fn moved(&mut self, at: Ns, tid: Tid, to: CpuId) {
        // A move before the span sets the run queue of the thread at the span's begin.
        if at < self.span.end
            && let Some(thread) = self.instances.ready(tid)
        {
            self.world.now = self.world.now.max(at);
            self.analyses.iter_mut().for_each(|(_, a)| a.moved(thread, to, &self.world));
        }
    }

    fn blocked_at(&mut self, at: Ns, tid: Tid, stack: StackId) {
        if at >= self.span.start && at < self.span.end {
            self.world.now = self.world.now.max(at);
            let thread = self.instances.current(tid);
            self.analyses.iter_mut().for_each(|(_, a)| a.blocked_at(thread, stack, &self.world));
            if let Some(reason) = self.world.reasons.of(stack) {
                self.analyses.iter_mut().for_each(|(_, a)| a.blocked_by(thread, reason, &self.world));
            }
        }
    }

    fn affinity(&mut self, at: Ns, tid: Tid, cpus: NameId) {
        let set = self.world.set_of(cpus);
        match self.instances.alive(tid) {
            Some(thread) => self.allow(thread, set, at),
            None => self.world.permissions.set_next(tid, set),
        }
    }

    /// Sets a thread's affinity; also before the span, for the affinity at its begin.
    fn allow(&mut self, thread: ThreadKey, set: SetId, at: Ns) {
        if at < self.span.end && set != self.world.allowed(thread) {
            self.world.now = self.world.now.max(at);
            self.analyses.iter_mut().for_each(|(_, a)| a.allowed(thread, set, &self.world));
            self.world.permissions.put(thread, set);
        }
    }

    fn setting(&mut self, at: Ns, who: Subject, to: &SetTo) {
        let Subject::Thread(tid) = who else {
            return self.set(ThreadKey::UNKNOWN, to, at);
        };
        match self.instances.alive(tid) {
            Some(thread) => self.set(thread, to, at),
            // The last setting of each kind counts.
            None => {
                let kind = std::mem::discriminant(to);
                let next = self.next_settings.entry(tid).or_default();
                next.retain(|to| std::mem::discriminant(to) != kind);
                next.push(*to);
            }
        }
    }

    /// Applies a setting; also before the span, for the settings at its begin.
    fn set(&mut self, thread: ThreadKey, to: &SetTo, at: Ns) {
        if at < self.span.end {
            self.world.now = self.world.now.max(at);
            self.analyses.iter_mut().for_each(|(_, a)| a.setting(thread, to, &self.world));
            if let SetTo::Inner(tid) = to {
                self.world.numbers.inner(thread, self.world.groups.process(thread), *tid);
            }
        }
    }

    fn throttled(&mut self, at: Ns, who: Subject, begins: bool) {
        if at >= self.span.end {
            return;
        }
        match who {
            Subject::AllThreads => {
                for thread in self.world.throttled.report_all() {
                    self.hold(thread, false, at);
                }
            }
            Subject::Thread(tid) if self.world.throttled.is_reported() => {
                if let Some(thread) = self.instances.alive(tid) {
                    self.hold(thread, begins, at);
                }
            }
            _ => {}
        }
    }

    /// Sets whether a thread is throttled; also before the span, for the state at its begin.
    fn hold(&mut self, thread: ThreadKey, throttled: bool, at: Ns) {
        if at < self.span.end && throttled != self.world.throttled.is(thread) {
            self.world.now = self.world.now.max(at);
            self.analyses.iter_mut().for_each(|(_, a)| a.throttled(thread, throttled, &self.world));
            self.world.throttled.put(thread, throttled);
        }
    }

    fn clip(&self, span: Span) -> Option<(Span, Begins)> {
        let begins = if span.start < self.span.start { Begins::Before } else { Begins::Here };
        let cut = Span { start: span.start.max(self.span.start), end: span.end.min(self.span.end) };
        (cut.start < cut.end).then_some((cut, begins))
    }

    /// Writes the rows that will not change any more. Only for a single running analysis; [`Self::finish`] then leaves
    /// them out.
    pub fn drain(&mut self, out: &mut dyn Rows) {
        if let [(_, analysis)] = self.analyses.as_mut_slice() {
            analysis.drain(&self.world, out);
        }
    }

    /// Returns the tables.
    #[must_use]
    pub fn finish(self) -> Vec<Table> {
        self.tables().collect()
    }

    /// Returns the tables one at a time, so that only one is in memory.
    pub fn tables(self) -> impl Iterator<Item = Table> {
        let Self { span, mut world, analyses, .. } = self;
        world.now = span.end;
        analyses.into_iter().map(move |(def, mut analysis)| {
            let mut table = Table::new(def);
            analysis.finish(&world, &mut table);
            table
        })
    }
}
