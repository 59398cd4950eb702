//! How the accountant feeds [`Watch`](crate::watch::Watch), if time is to be inferred.

use crate::LossIndex;
use crate::accountant::Accountant;
use crate::processor::Runs;
use crate::watch::{StateId, StretchEnd};
use model::{CpuId, Event, EventKind, Ns, Reason, Span, ThreadState, Tid};

/// Returns a function that checks that a CPU's buffer lost no events between two times.
fn lossless(losses: Option<&LossIndex>, cpu: CpuId) -> impl Fn(Ns, Ns) -> bool {
    move |from, to| losses.is_none_or(|l| l.overlap(Some(cpu), Span::new(from, to)) == Ns::ZERO)
}

impl Accountant {
    /// Returns which of its states the current instance of a TID is in.
    fn state_id(&mut self, tid: Tid) -> StateId {
        match self.instances.slot_of(tid).map(|at| &self.instances[at]) {
            Some(instance) if instance.state_changes > 0 => {
                StateId((instance.totals.thread.0 as u64) << 32 | u64::from(instance.state_changes))
            }
            _ => StateId::FIRST,
        }
    }

    /// Takes the current task that an event names.
    #[inline]
    pub(crate) fn watch_named(&mut self, event: &Event, cpu_slot: usize) {
        let (tid, Some(watch)) = (event.current, &self.watch) else { return };
        if tid.0 < 0 || matches!(event.what, EventKind::Switch(_)) {
            return;
        }
        let processor = &mut self.processors[cpu_slot];
        let (cpu, at) = (processor.totals.cpu, event.at.max(Ns::ZERO));
        let as_switched = match processor.runs {
            Runs::Idle => tid == Tid::IDLE,
            Runs::Thread(instance) => {
                let instance = &self.instances[instance];
                instance.totals.tid == tid && instance.runs_on(cpu) && !instance.watched
            }
            Runs::Unknown | Runs::Unnamed | Runs::Ended => false,
        };
        if as_switched
            && watch.is_quiet(cpu_slot)
            && lossless(self.rules.losses.as_ref(), cpu)(processor.last_named, at)
        {
            processor.last_named = at;
            return;
        }
        // The kernel charges a task for the time since it was switched in or charged before.
        let ran = match event.what {
            EventKind::Charge { tid: charged, ns } if charged == tid => ns.max(Ns::ZERO),
            _ => Ns::ZERO,
        };
        self.watch_other((cpu_slot, cpu), tid, at, ran);
    }

    /// Takes a named task that is not the one that the CPU's last switch brought in, or not the only one named since. `ran`: for how
    /// long it has run, as far as known.
    fn watch_other(&mut self, place: (usize, CpuId), tid: Tid, at: Ns, ran: Ns) {
        let state_id = self.state_id(tid);
        let instance = self.instances.slot_of(tid).map(|at| &self.instances[at]);
        let woken = instance.is_some_and(|instance| instance.reason == Reason::NoSwitchIn);
        let since = instance.map_or(Ns::ZERO, |instance| instance.since).max(self.processors[place.0].since);
        let ran = Span::new((at - ran).max(since).max(Ns::ZERO).min(at), at);
        let Some(watch) = &mut self.watch else { return };
        watch.name(place, (tid, state_id), (ran, woken), lossless(self.rules.losses.as_ref(), place.1));
        if let Some(instance) = self.instances.slot_of(tid) {
            self.instances[instance].watched = true;
        }
    }

    /// Ends a stretch of a CPU, with a switch if `prev` is given.
    pub(crate) fn watch_cpu_ends(&mut self, cpu_slot: usize, now: Ns, known: bool, prev: Option<Tid>) {
        if self.watch.is_none() {
            return;
        }
        let processor = &self.processors[cpu_slot];
        let (cpu, runs) = (processor.totals.cpu, processor.runs);
        let first = self.rules.whole_machine && runs == Runs::Unknown && processor.since <= Ns::ZERO;
        if !known {
            match runs {
                Runs::Idle => self.watch_confirmed(cpu_slot, Tid::IDLE),
                Runs::Thread(instance) if self.instances[instance].runs_on(cpu) => {
                    self.watch_confirmed(cpu_slot, self.instances[instance].totals.tid);
                    self.instances[instance].watched = true;
                }
                _ => {}
            }
        }
        if known {
            if let Some(watch) = &mut self.watch {
                watch.cpu_known(cpu_slot);
            }
            return;
        }
        let ending =
            prev.filter(|tid| tid.0 >= 0).map(|tid| StretchEnd { tid, state_id: self.state_id(tid), at: now, first });
        let Some(watch) = &mut self.watch else { return };
        watch.cpu_unknown((cpu_slot, cpu), ending, lossless(self.rules.losses.as_ref(), cpu));
        if let Some(instance) = ending.and_then(|e| self.instances.slot_of(e.tid)) {
            self.instances[instance].watched = true;
        }
    }

    /// The task that a CPU's last switch brought in was there until the last event that named it, before any that names another.
    fn watch_confirmed(&mut self, cpu_slot: usize, tid: Tid) {
        let state_id = self.state_id(tid);
        let processor = &self.processors[cpu_slot];
        let span = Span::new(processor.since.max(Ns::ZERO), processor.last_named.max(Ns::ZERO));
        if let (false, Some(watch)) = (span.is_empty(), &mut self.watch) {
            watch.confirmed(cpu_slot, processor.totals.cpu, (tid, state_id), span);
        }
    }

    /// Ends a stretch of a thread, whose state is now decided.
    #[inline]
    pub(crate) fn watch_thread_ends(&mut self, at: usize) {
        if self.watch.is_none() {
            return;
        }
        let instance = &self.instances[at];
        let (tid, thread, unknown) =
            (instance.totals.tid, instance.totals.thread, instance.state() == ThreadState::Unknown);
        if unknown && let Some(cpu_slot) = instance.cpu.and_then(|cpu| self.slot_of_cpu(cpu)) {
            let processor = &self.processors[cpu_slot];
            // It ran elsewhere while no switch-out was recorded on this CPU.
            if processor.runs == Runs::Thread(at) && processor.since == instance.since {
                self.watch_confirmed(cpu_slot, tid);
                self.instances[at].watched = true;
            }
        }
        let instance = &mut self.instances[at];
        instance.state_changes = instance.state_changes.saturating_add(1);
        if std::mem::take(&mut instance.watched)
            && let Some(watch) = &mut self.watch
        {
            watch.thread_ends(tid, thread, unknown);
        }
    }

    /// An instance begins after the begin of the recording: events that named its TID before meant another instance.
    pub(crate) fn watch_born(&mut self, at: usize) {
        let instance = &mut self.instances[at];
        instance.state_changes = 1;
        if let (true, Some(watch)) = (std::mem::take(&mut instance.watched), &mut self.watch) {
            watch.thread_ends(instance.totals.tid, instance.totals.thread, false);
        }
    }
}
