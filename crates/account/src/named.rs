//! What follows from events that name the task that their CPU runs (docs/accounting.md, "Threads that events name").

use crate::Sink;
use crate::accountant::Accountant;
use crate::instance::ThreadPhase;
use crate::processor::Runs;
use model::{Event, EventKind, Ns, Reason, Tid};

/// How long after a switch-out the thread that left may still be the current task: until the switch is done, and pending interrupts are
/// handled. 85 µs were seen on a phone of 2012.
const STILL_CURRENT: Ns = Ns(200_000);

impl Accountant {
    /// An event names the task that its CPU runs. A thread that waits by the switches so far runs there, so its switch-in was not recorded:
    /// it is unknown since its last state change, and the CPU since its last switch.
    #[inline]
    pub(crate) fn names_current(&mut self, event: &Event, cpu_slot: usize, sink: &mut impl Sink) {
        let tid = event.current;
        if let EventKind::Switch(switch) = &event.what {
            self.two_namespaces |= tid.0 >= 0 && switch.prev.0 >= 0 && switch.prev != tid;
            return;
        }
        if tid.0 <= 0 || self.two_namespaces {
            return;
        }
        match self.processors[cpu_slot].runs {
            Runs::Thread(at) if self.instances[at].totals.tid == tid => {}
            _ => self.names_other(event.at, tid, cpu_slot, sink),
        }
    }

    /// An event names another task than the CPU's last switch brought in.
    fn names_other(&mut self, now: Ns, tid: Tid, cpu_slot: usize, sink: &mut impl Sink) {
        let Some(at) = self.instances.slot_of(tid) else {
            self.named.insert(tid);
            return;
        };
        let (processor, instance) = (&mut self.processors[cpu_slot], &mut self.instances[at]);
        let cpu = processor.totals.cpu;
        // For a moment after its switch-out, a thread is still the current task.
        let is_leaving = instance.cpu == Some(cpu) && now - processor.since < STILL_CURRENT;
        if is_leaving || !matches!(instance.phase, ThreadPhase::Ready | ThreadPhase::Blocked | ThreadPhase::Undecided) {
            return;
        }
        instance.mark_unknown(Reason::NoSwitchIn);
        if let Runs::Thread(ghost) = processor.runs
            && self.instances[ghost].runs_on(cpu)
        {
            self.instances[ghost].mark_unknown(Reason::InconsistentSwitch);
            self.thread_until(ghost, now, sink);
        }
        let processor = &mut self.processors[cpu_slot];
        if processor.runs != Runs::Unknown {
            processor.runs = Runs::Ended;
        }
    }

    /// At the end: threads that nothing but the heads of events mentions are unknown from the begin to the end.
    pub(crate) fn begin_named(&mut self, sink: &mut impl Sink) {
        if self.two_namespaces {
            return;
        }
        let mut named: Vec<Tid> = std::mem::take(&mut self.named).into_iter().collect();
        named.sort_unstable();
        for tid in named {
            self.instance(tid, sink);
        }
    }
}
