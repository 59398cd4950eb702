//! What the accountant tells [`Watch`](crate::watch::Watch), where something is to be inferred.

use crate::LossIndex;
use crate::accountant::Accountant;
use crate::processor::Runs;
use crate::watch::{Ending, Turn};
use model::{CpuId, Event, Ns, Span, ThreadState, Tid, What};

/// Whether a CPU's buffer lost nothing between two times.
fn unbroken(losses: Option<&LossIndex>, cpu: CpuId) -> impl Fn(Ns, Ns) -> bool {
    move |from, to| losses.is_none_or(|l| l.overlap(Some(cpu), Span::new(from, to)) == Ns::ZERO)
}

impl Accountant {
    /// In which of its states the number's present life is.
    fn turn(&mut self, tid: Tid) -> Turn {
        match self.lives.of(tid).map(|at| &self.lives[at]) {
            Some(life) if life.turns > 0 => Turn((life.totals.thread.0 as u64) << 32 | u64::from(life.turns)),
            _ => Turn::FIRST,
        }
    }

    /// An event tells which task its CPU ran.
    #[inline]
    pub(crate) fn watch_named(&mut self, event: &Event, here: usize) {
        let (tid, Some(watch)) = (event.current, &mut self.watch) else { return };
        if tid.0 < 0 {
            return;
        }
        if let What::Switch(switch) = &event.what {
            if switch.prev.0 >= 0 && switch.prev != tid {
                watch.contradict();
            }
            return;
        }
        let processor = &mut self.processors[here];
        let (cpu, at) = (processor.totals.cpu, event.at.max(Ns::ZERO));
        let as_switched = match processor.runs {
            Runs::Idle => tid == Tid::IDLE,
            Runs::Thread(life) => {
                let life = &self.lives[life];
                life.totals.tid == tid && life.runs_on(cpu) && !life.watched
            }
            Runs::Untold | Runs::Somebody | Runs::Gone => false,
        };
        if as_switched && watch.is_quiet(here) && unbroken(self.rules.losses.as_ref(), cpu)(processor.lead, at) {
            processor.lead = at;
            return;
        }
        self.watch_other((here, cpu), tid, at);
    }

    /// One that is not whom its CPU's last switch brought in, or not him alone.
    fn watch_other(&mut self, place: (usize, CpuId), tid: Tid, at: Ns) {
        let turn = self.turn(tid);
        let Some(watch) = &mut self.watch else { return };
        watch.name(place, (tid, turn), at, unbroken(self.rules.losses.as_ref(), place.1));
        if let Some(life) = self.lives.of(tid) {
            self.lives[life].watched = true;
        }
    }

    /// A CPU's stretch ends, with a switch if one is named.
    pub(crate) fn watch_cpu_ends(&mut self, here: usize, now: Ns, known: bool, prev: Option<Tid>) {
        if self.watch.is_none() {
            return;
        }
        let processor = &self.processors[here];
        let (cpu, runs) = (processor.totals.cpu, processor.runs);
        let first = self.rules.whole && runs == Runs::Untold && processor.since <= Ns::ZERO;
        if !known {
            match runs {
                Runs::Idle => self.watch_lead(here, Tid::IDLE),
                Runs::Thread(life) if self.lives[life].runs_on(cpu) => {
                    self.watch_lead(here, self.lives[life].totals.tid);
                    self.lives[life].watched = true;
                }
                _ => {}
            }
        }
        if known {
            if let Some(watch) = &mut self.watch {
                watch.cpu_known(here);
            }
            return;
        }
        let ending = prev.filter(|tid| tid.0 >= 0).map(|tid| Ending { tid, turn: self.turn(tid), at: now, first });
        let Some(watch) = &mut self.watch else { return };
        watch.cpu_unknown((here, cpu), ending, unbroken(self.rules.losses.as_ref(), cpu));
        if let Some(life) = ending.and_then(|e| self.lives.of(e.tid)) {
            self.lives[life].watched = true;
        }
    }

    /// Whom a CPU's last switch brought in was there until the last event that named him before any other.
    fn watch_lead(&mut self, here: usize, tid: Tid) {
        let turn = self.turn(tid);
        let processor = &self.processors[here];
        let span = Span::new(processor.since.max(Ns::ZERO), processor.lead.max(Ns::ZERO));
        if let (false, Some(watch)) = (span.is_empty(), &mut self.watch) {
            watch.lead(here, processor.totals.cpu, (tid, turn), span);
        }
    }

    /// A thread's stretch ends: it is decided what it was.
    #[inline]
    pub(crate) fn watch_thread_ends(&mut self, at: usize) {
        if self.watch.is_none() {
            return;
        }
        let life = &self.lives[at];
        let (tid, thread, unknown) = (life.totals.tid, life.totals.thread, life.state() == ThreadState::Unknown);
        if unknown && let Some(here) = life.cpu.and_then(|cpu| self.place_of(cpu)) {
            let processor = &self.processors[here];
            // It was seen to run elsewhere while its CPU had not been seen to leave it.
            if processor.runs == Runs::Thread(at) && processor.since == life.since {
                self.watch_lead(here, tid);
                self.lives[at].watched = true;
            }
        }
        let life = &mut self.lives[at];
        life.turns = life.turns.saturating_add(1);
        if std::mem::take(&mut life.watched)
            && let Some(watch) = &mut self.watch
        {
            watch.thread_ends(tid, thread, unknown);
        }
    }

    /// A life begins beside the recording's begin: what named its number before meant another.
    pub(crate) fn watch_born(&mut self, at: usize) {
        let life = &mut self.lives[at];
        life.turns = 1;
        if let (true, Some(watch)) = (std::mem::take(&mut life.watched), &mut self.watch) {
            watch.thread_ends(life.totals.tid, life.totals.thread, false);
        }
    }
}
