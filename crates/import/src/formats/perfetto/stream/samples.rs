//! Turns samples of profilers into events.

use super::super::profile::{Form, Maker};
use super::super::sample::{self, ELAPSED, Kind, Sample};
use super::super::wire::Malformed;
use super::{Reader, Reading};
use ingest::{Anomaly, Ledger};
use model::{Batch, CoreType, Event, EventKind, NameId, Ns, Pid, StackId, Tid};

/// An anomaly. Samples of two events do not add up.
const OTHER_EVENT: &str = "a sample of another event is not part of the profile";

impl Reading<'_, '_> {
    pub(super) fn sample(&mut self, body: &[u8], out: &mut Batch, bad: &mut dyn Ledger) -> Result<(), Malformed> {
        let offset = self.packet.offset;
        let Sample { cpu, pid, tid, callstack, ended } = match Sample::of(body)? {
            Kind::Sample(sample) => sample,
            Kind::Lost => {
                bad.anomaly("the kernel had no room for samples", offset, Anomaly::Lost);
                return Ok(());
            }
            Kind::Stopped => {
                bad.anomaly(
                    "the profiler reached its limit and stopped: later samples are missing",
                    offset,
                    Anomaly::Lost,
                );
                return Ok(());
            }
            Kind::Other => return Ok(()),
        };
        if !self.is_of_profile(self.sequence.event.as_deref()) {
            bad.anomaly(OTHER_EVENT, offset, Anomaly::Warning);
            return Ok(());
        }
        let Some(at) = self.at() else {
            bad.anomaly("a sample has an unknown clock", offset, Anomaly::Lost);
            return Ok(());
        };
        let own = self.reader.is_own;
        let form = if own { Form::default() } else { Form { back: self.reader.back, unmarked: true, ended } };
        if !own {
            self.check_late(at, bad);
            self.process(at, tid, pid, out);
        }
        let stack = self.stack(callstack, form, out);
        let what = EventKind::CpuSample { tid, stack, name: NameId::NONE, core: CoreType::Uniform };
        out.events.push(Event { at, offset, cpu, current: tid, what });
        Ok(())
    }

    /// Whether the samples of an event are the profile.
    fn is_of_profile(&self, event: Option<&str>) -> bool {
        event.zip(self.reader.sampled.as_deref()).is_none_or(|(event, sampled)| event == sampled)
    }

    fn stack(&mut self, iid: u64, form: Form, out: &mut Batch) -> StackId {
        let Reader { symbols, chains, names, .. } = &mut *self.reader;
        self.sequence.profile.stack(iid, form, &mut Maker { symbols, chains, names }, out)
    }

    /// Adds the process of a sampled thread, unless it is known.
    fn process(&mut self, at: Ns, tid: Tid, pid: Pid, out: &mut Batch) {
        let kernel = &mut self.reader.bundles.kernel;
        if pid.0 > 0 && kernel.process(tid) != pid {
            kernel.set_process(tid, pid, &mut out.left_out);
            if kernel.process(tid) == pid {
                self.add_event(Some(at), EventKind::Name { tid, pid, name: NameId::NONE }, out);
            }
        }
    }

    /// Samples of the thread of a sequence. They have no CPU, and the thread need not have run.
    pub(super) fn streaming(&mut self, body: &[u8], out: &mut Batch, bad: &mut dyn Ledger) -> Result<(), Malformed> {
        let offset = self.packet.offset;
        let (callstacks, steps) = sample::streaming(body)?;
        let is_of_profile = self.is_of_profile(Some(ELAPSED));
        for (at, us) in steps.iter().enumerate() {
            let defaults = &mut self.sequence.defaults;
            defaults.reference_us = defaults.reference_us.saturating_add(*us);
            let (thread, micros) = (defaults.thread, defaults.reference_us);
            // Times without a callchain only advance the sequence's time.
            let Some(callstack) = callstacks.get(at) else { continue };
            let Some((tid, pid)) = thread.filter(|(tid, _)| tid.0 > 0) else {
                bad.anomaly("samples have an unknown thread", offset, Anomaly::Lost);
                continue;
            };
            if !is_of_profile {
                bad.anomaly(OTHER_EVENT, offset, Anomaly::Warning);
                continue;
            }
            let Some(at) = self.at_micros(micros) else {
                bad.anomaly("a sample has an unknown clock", offset, Anomaly::Lost);
                continue;
            };
            self.check_late(at, bad);
            self.process(at, tid, pid, out);
            let stack = self.stack(*callstack, Form::default(), out);
            self.add_event(
                Some(at),
                EventKind::CpuSample { tid, stack, name: NameId::NONE, core: CoreType::Uniform },
                out,
            );
        }
        if callstacks.len() > steps.len() {
            bad.anomaly("samples have no time", offset, Anomaly::Lost);
        }
        Ok(())
    }
}
