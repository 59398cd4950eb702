//! Analyses: folds over stretches in order of time, each to a table.
//!
//! An analysis sees stretches and the machine, never a file or an event's bytes; one driver ([`Running`]) feeds all that are
//! asked for in one pass. A new one is a file in `tables/`, a line in [`ANALYSES`] and a case.
//!
//! Stretches tile: where a CPU's or a living thread's stretch ends, its next one begins. So a fold is told only of begins, in
//! order, and finds in the [`World`] what everybody did until then. A life that ends in the instant at which its number's next
//! one begins is told of by an empty stretch.

mod allowed;
mod blocked_by;
mod by_thread;
mod clocks;
mod core_times;
pub mod critical;
mod edges;
pub mod frames;
mod free;
mod lengths;
mod lives;
mod marked;
mod parking;
mod shares;
mod tables;
mod throttled;
mod world;

pub use allowed::SetId;
pub use blocked_by::ReasonId;
pub use core_times::capacity_used;
pub use shares::shares;
pub use tables::concurrency_bands::BandSteps;
pub use world::{CoreNow, CpuNow, World};

use blocked_by::Reasons;
use model::{
    Allowed, BlockedAt, CpuId, CpuStretch, Marked, Move, Ns, PowerChange, Rows, SetTo, Setting, Span, Stacks, Table,
    TableDef, ThreadKey, ThreadState, ThreadStretch, Throttle, Tid, Together,
};
use rustc_hash::FxHashMap;
use topology::Machine;

/// What an analysis may know beforehand.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The time that is asked for.
    pub span: Span,
    /// The CPUs of which the source tells what they ran; of the others nobody can say anything.
    pub followed: &'a [CpuId],
    /// The source tells when threads were woken; without, ready time is not known.
    pub ready_known: bool,
}

/// A fold over the stretches of a span. Every stretch is clipped to it.
pub trait Analysis {
    /// Before anything happened.
    fn new(context: &Context<'_>) -> Self
    where
        Self: Sized;

    /// About how long it takes, beside the quickest ones: so they are shared out among threads ([`shares`]).
    fn weight() -> usize
    where
        Self: Sized,
    {
        1
    }

    /// A thread's stretch begins. `world` is as it was until now.
    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, world: &World) {
        _ = (stretch, begins, world);
    }

    /// A CPU's stretch begins.
    fn cpu(&mut self, stretch: &CpuStretch, begins: Begins, world: &World) {
        _ = (stretch, begins, world);
    }

    /// A ready thread is moved to another run queue.
    fn moved(&mut self, thread: ThreadKey, to: CpuId, world: &World) {
        _ = (thread, to, world);
    }

    /// A program marked something; also before the span, since what it marked there may last into it. `thread`: who did.
    fn marked(&mut self, mark: &Marked, thread: ThreadKey, begins: Begins, world: &World) {
        _ = (mark, thread, begins, world);
    }

    /// A CPU's idle state or frequency changes, or whether it is parked; what it was when the span began is told as changes at its begin.
    fn power(&mut self, change: &PowerChange, begins: Begins, world: &World) {
        _ = (change, begins, world);
    }

    /// A thread is allowed on the CPUs of another set from now on. `world` tells the one before.
    fn allowed(&mut self, thread: ThreadKey, set: SetId, world: &World) {
        _ = (thread, set, world);
    }

    /// A thread is throttled from now on, or no longer. `world` tells what it was before.
    fn throttled(&mut self, thread: ThreadKey, throttled: bool, world: &World) {
        _ = (thread, throttled, world);
    }

    /// What a thread waits for, told behind the stretch that begins with it, where a callchain tells.
    fn blocked_by(&mut self, thread: ThreadKey, reason: ReasonId, world: &World) {
        _ = (thread, reason, world);
    }

    /// A thread is set to be scheduled so from now on ([`ThreadKey::UNKNOWN`]: those of a cgroup are); also before the span, as
    /// of its begin.
    fn setting(&mut self, thread: ThreadKey, to: &SetTo, world: &World) {
        _ = (thread, to, world);
    }

    /// Hands on rows that will not change any more, and forgets them: for tables as long as the recording.
    fn drain(&mut self, world: &World, out: &mut dyn Rows) {
        _ = (world, out);
    }

    /// The span is over; the table's rows, but for those that were drained. `world` is as it was until its end.
    fn finish(&mut self, world: &World, out: &mut dyn Rows);
}

/// Whether something begins where it is said to begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begins {
    /// It does: something happened.
    Here,
    /// It was under way when the span began; its begin was cut off.
    Before,
}

/// An analysis before it begins.
pub struct Entry {
    /// The table that it makes.
    pub table: &'static TableDef,
    /// Begins.
    pub start: fn(&Context<'_>) -> Box<dyn Analysis>,
    /// [`Analysis::weight`].
    pub weight: fn() -> usize,
}

/// Every analysis: the table that it makes, and what makes it.
pub const ANALYSES: &[Entry] = &[
    entry::<tables::concurrency::Concurrency>(&model::tables::CONCURRENCY),
    entry::<tables::marks::Marks>(&model::tables::MARKS),
    entry::<tables::mark_stretches::MarkStretches>(&model::tables::MARK_STRETCHES),
    entry::<tables::parallel_regions::ParallelRegions>(&model::tables::PARALLEL_REGIONS),
    entry::<tables::migrations::Migrations>(&model::tables::MIGRATIONS),
    entry::<tables::migration_matrix::MigrationMatrix>(&model::tables::MIGRATION_MATRIX),
    entry::<tables::run_lengths::RunLengths>(&model::tables::RUN_LENGTHS),
    entry::<tables::priority_residency::PriorityResidency>(&model::tables::PRIORITY_RESIDENCY),
    entry::<tables::priority_classes::PriorityClasses>(&model::tables::PRIORITY_CLASSES),
    entry::<tables::thread_scheduling::ThreadScheduling>(&model::tables::THREAD_SCHEDULING),
    entry::<tables::ideal_cpu::IdealCpu>(&model::tables::IDEAL_CPU),
    entry::<tables::wakers::Wakers>(&model::tables::WAKERS),
    entry::<tables::idle_periods::IdlePeriods>(&model::tables::IDLE_PERIODS),
    entry::<tables::idle_wakeups::IdleWakeups>(&model::tables::IDLE_WAKEUPS),
    entry::<tables::interrupts::Interrupts>(&model::tables::INTERRUPTS),
    entry::<tables::idle_residency::IdleResidency>(&model::tables::IDLE_RESIDENCY),
    entry::<tables::frequency_residency::FrequencyResidency>(&model::tables::FREQUENCY_RESIDENCY),
    entry::<tables::thread_by_frequency::ThreadByFrequency>(&model::tables::THREAD_BY_FREQUENCY),
    entry::<tables::parking::Parking>(&model::tables::PARKING),
    entry::<tables::parked_together::ParkedTogether>(&model::tables::PARKED_TOGETHER),
    entry::<tables::frames_parked::FramesParked>(&model::tables::FRAMES_PARKED),
    entry::<tables::concurrency_bands::ConcurrencyBands>(&model::tables::CONCURRENCY_BANDS),
    entry::<tables::smt_cores::SmtCores>(&model::tables::SMT_CORES),
    entry::<tables::smt_utilisation::SmtUtilisation>(&model::tables::SMT_UTILISATION),
    entry::<tables::smt_threads::SmtThreads>(&model::tables::SMT_THREADS),
    entry::<tables::smt_beside::SmtBeside>(&model::tables::SMT_BESIDE),
    entry::<tables::cpu_bursts::CpuBursts>(&model::tables::CPU_BURSTS),
    entry::<tables::placement::Placement>(&model::tables::PLACEMENT),
    entry::<tables::slower_cores::SlowerCores>(&model::tables::SLOWER_CORES),
    entry::<tables::ready_wait::ReadyWait>(&model::tables::READY_WAIT),
    entry::<tables::ready_by_thief::ReadyByThief>(&model::tables::READY_BY_THIEF),
    entry::<tables::switch_causes::SwitchCauses>(&model::tables::SWITCH_CAUSES),
    entry::<tables::waits::Waits>(&model::tables::WAITS),
];

const fn entry<A: Analysis + 'static>(table: &'static TableDef) -> Entry {
    Entry { table, start: |context| Box::new(A::new(context)), weight: A::weight }
}

/// Analyses under way.
pub struct Running {
    span: Span,
    world: World,
    lives: lives::Lives,
    /// Settings of numbers whose life is over or has not begun: they are their next one's.
    untold: FxHashMap<Tid, Vec<SetTo>>,
    analyses: Vec<(&'static TableDef, Box<dyn Analysis>)>,
}

impl Running {
    /// Begins those that make one of these tables. `names`: all that the source tells; the first is [`model::NameId`] 1.
    #[must_use]
    pub fn start(tables: &[&str], context: &Context<'_>, names: Vec<Box<str>>) -> Self {
        let wanted = ANALYSES.iter().filter(|e| tables.contains(&e.table.name));
        let mut world = World::new(context);
        world.told(names);
        Self {
            span: context.span,
            world,
            lives: lives::Lives::new(),
            untold: FxHashMap::default(),
            analyses: wanted.map(|e| (e.table, (e.start)(context))).collect(),
        }
    }

    /// The callchains that threads went to wait with ([`Together::blocked`]).
    pub fn callchains(&mut self, stacks: &Stacks) {
        self.world.reasons = Reasons::new(stacks);
    }

    /// What a frame may take, where it was said.
    pub fn budget(&mut self, budget: Option<Ns>) {
        self.world.budget = budget;
    }

    /// Feeds all of them.
    pub fn push(&mut self, batch: &Together<'_>) {
        let Together {
            mut threads,
            mut cpus,
            mut moves,
            mut marks,
            mut power,
            mut allowed,
            mut throttles,
            mut blocked,
            mut settings,
        } = *batch;
        loop {
            let thread = threads.first().map_or(Ns::MAX, |s| s.span.start);
            let cpu = cpus.first().map_or(Ns::MAX, |s| s.span.start);
            let moved = moves.first().map_or(Ns::MAX, |m| m.at);
            let marked = marks.first().map_or(Ns::MAX, |m| m.at);
            let powered = power.first().map_or(Ns::MAX, |p| p.at);
            let told = allowed.first().map_or(Ns::MAX, |a| a.at);
            let throttled = throttles.first().map_or(Ns::MAX, |t| t.at);
            let left = blocked.first().map_or(Ns::MAX, |b| b.at);
            let set = settings.first().map_or(Ns::MAX, |s| s.at);
            let next = moved.min(marked).min(powered).min(told).min(throttled).min(left).min(set);
            if thread == Ns::MAX && next == Ns::MAX {
                return cpus.iter().for_each(|stretch| self.cpu(stretch));
            }
            // Who is moved at the instant at which it becomes ready is ready first; who marks, runs first.
            if next < thread && next < cpu {
                if moved == next {
                    let Some((first, rest)) = moves.split_first() else { return };
                    moves = rest;
                    self.moved(first);
                } else if marked == next {
                    let Some((first, rest)) = marks.split_first() else { return };
                    marks = rest;
                    self.marked(first);
                } else if powered == next {
                    let Some((first, rest)) = power.split_first() else { return };
                    power = rest;
                    self.power(first);
                } else if told == next {
                    let Some((first, rest)) = allowed.split_first() else { return };
                    allowed = rest;
                    self.told(first);
                } else if throttled == next {
                    let Some((first, rest)) = throttles.split_first() else { return };
                    throttles = rest;
                    self.throttle(first);
                } else if left == next {
                    let Some((first, rest)) = blocked.split_first() else { return };
                    blocked = rest;
                    self.blocked_at(first);
                } else {
                    let Some((first, rest)) = settings.split_first() else { return };
                    settings = rest;
                    self.setting(first);
                }
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
        let over = self.lives.over(stretch).filter(|o| o.span.start >= self.span.start);
        if let Some(set) = self.world.permissions.begins(stretch) {
            self.allow(stretch.thread, set, stretch.span.start);
        }
        if stretch.state != ThreadState::Exited
            && let Some(settings) = self.untold.remove(&stretch.tid)
        {
            settings.iter().for_each(|to| self.set(stretch.thread, to, stretch.span.start));
        }
        if matches!(stretch.state, ThreadState::Running | ThreadState::Exited) {
            // Whoever runs is not held, even where nobody told that it was let go.
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

    fn moved(&mut self, moved: &Move) {
        // A move before the span says on whose queue the thread is when it begins.
        if moved.at < self.span.end
            && let Some(thread) = self.lives.ready(moved.tid)
        {
            self.world.now = self.world.now.max(moved.at);
            self.analyses.iter_mut().for_each(|(_, a)| a.moved(thread, moved.to, &self.world));
        }
    }

    fn marked(&mut self, mark: &Marked) {
        if mark.at < self.span.end {
            self.world.now = self.world.now.max(mark.at);
            let begins = if mark.at < self.span.start { Begins::Before } else { Begins::Here };
            let thread = self.lives.of(mark.mark.tid);
            self.analyses.iter_mut().for_each(|(_, a)| a.marked(mark, thread, begins, &self.world));
        }
    }

    fn blocked_at(&mut self, blocked: &BlockedAt) {
        if blocked.at >= self.span.start && blocked.at < self.span.end {
            self.world.now = self.world.now.max(blocked.at);
            let thread = self.lives.of(blocked.tid);
            if let Some(reason) = self.world.reasons.of(blocked.stack) {
                self.analyses.iter_mut().for_each(|(_, a)| a.blocked_by(thread, reason, &self.world));
            }
        }
    }

    fn power(&mut self, change: &PowerChange) {
        if change.at < self.span.end {
            self.world.now = self.world.now.max(change.at);
            let begins = if change.at < self.span.start { Begins::Before } else { Begins::Here };
            self.analyses.iter_mut().for_each(|(_, a)| a.power(change, begins, &self.world));
            self.world.power(change);
        }
    }

    fn told(&mut self, allowed: &Allowed) {
        let set = self.world.set_of(allowed.cpus);
        match self.lives.alive(allowed.tid) {
            Some(thread) => self.allow(thread, set, allowed.at),
            None => self.world.permissions.next(allowed.tid, set),
        }
    }

    /// Also before the span: where a thread is allowed when that begins.
    fn allow(&mut self, thread: ThreadKey, set: SetId, at: Ns) {
        if at < self.span.end && set != self.world.allowed(thread) {
            self.world.now = self.world.now.max(at);
            self.analyses.iter_mut().for_each(|(_, a)| a.allowed(thread, set, &self.world));
            self.world.permissions.put(thread, set);
        }
    }

    fn setting(&mut self, setting: &Setting) {
        if setting.tid == Tid::UNKNOWN {
            return self.set(ThreadKey::UNKNOWN, &setting.to, setting.at);
        }
        match self.lives.alive(setting.tid) {
            Some(thread) => self.set(thread, &setting.to, setting.at),
            // Of each kind the last one counts.
            None => {
                let kind = std::mem::discriminant(&setting.to);
                let untold = self.untold.entry(setting.tid).or_default();
                untold.retain(|to| std::mem::discriminant(to) != kind);
                untold.push(setting.to);
            }
        }
    }

    /// Also before the span: how threads are set when that begins.
    fn set(&mut self, thread: ThreadKey, to: &SetTo, at: Ns) {
        if at < self.span.end {
            self.world.now = self.world.now.max(at);
            self.analyses.iter_mut().for_each(|(_, a)| a.setting(thread, to, &self.world));
        }
    }

    fn throttle(&mut self, told: &Throttle) {
        if told.at >= self.span.end {
            return;
        }
        if told.tid == Tid::IDLE {
            for thread in self.world.throttled.tell() {
                self.hold(thread, false, told.at);
            }
        } else if self.world.throttled.is_told()
            && let Some(thread) = self.lives.alive(told.tid)
        {
            self.hold(thread, told.begins, told.at);
        }
    }

    /// Also before the span: who is throttled when that begins.
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

    /// Hands on rows that will not change any more, of the only one that runs; [`Self::finish`] then leaves them out.
    pub fn drain(&mut self, out: &mut dyn Rows) {
        if let [(_, analysis)] = self.analyses.as_mut_slice() {
            analysis.drain(&self.world, out);
        }
    }

    /// Their tables.
    #[must_use]
    pub fn finish(self) -> Vec<Table> {
        self.tables().collect()
    }

    /// The same, each made when it is asked for, so that none need be held beside another.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn tables_declared_as_analyses_are_those_listed() {
        let declared = |def: &&&model::TableDef| def.made_from == model::MadeFrom::Analysis;
        let mut declared: Vec<&str> = model::tables::ALL.iter().filter(declared).map(|def| def.name).collect();
        let mut listed: Vec<&str> = super::ANALYSES.iter().map(|entry| entry.table.name).collect();
        declared.sort_unstable();
        listed.sort_unstable();
        assert_eq!(declared, listed);
    }

    #[test]
    fn every_analysis_file_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tables");
        let files = std::fs::read_dir(folder).unwrap().filter(|f| f.as_ref().unwrap().file_name() != "mod.rs").count();
        assert_eq!(super::ANALYSES.len(), files);
    }
}
