//! How long CPUs were idle between two threads.

use crate::lengths::Lengths;
use crate::{Analysis, Begins, Context, World};
use model::{CpuId, CpuState, CpuStretch, Ns, Rows, Span, Value};
use topology::Machine;

pub(crate) struct IdlePeriods {
    span: Span,
    machine: Vec<&'static str>,
    /// By CPU number.
    cpus: Vec<Idle>,
}

#[derive(Clone, Default)]
struct Idle {
    /// Whether its state is known without a gap since before its last stretch.
    known: bool,
    /// An idle period whose end is not confirmed yet: its duration, and whether its begin was observed.
    open: Option<(Ns, bool)>,
    lengths: Lengths<(i64, Ns)>,
}

impl Idle {
    #[inline]
    fn close(&mut self, end_seen: bool) {
        let Some((time, whole)) = self.open.take() else { return };
        let (periods, sum) = self.lengths.of(Some(time).filter(|_| whole && end_seen));
        *periods += 1;
        *sum += time;
    }
}

impl Analysis for IdlePeriods {
    fn new(context: &Context<'_>) -> Self {
        let len = context.machine.cpus.last().map_or(0, |c| c.id.0 + 1);
        let types = |machine: &Machine| (0..len).map(|c| machine.core_type(CpuId(c)).as_str()).collect();
        Self { span: context.span, machine: types(context.machine), cpus: Vec::new() }
    }

    fn cpu(&mut self, stretch: &CpuStretch, begins: Begins, _: &World) {
        let at = stretch.cpu.0 as usize;
        if at >= self.cpus.len() {
            self.cpus.resize(at + 1, Idle::default());
        }
        let cpu = &mut self.cpus[at];
        let known = stretch.state != CpuState::Unknown;
        cpu.close(known);
        if stretch.state == CpuState::Idle {
            let whole = cpu.known && begins == Begins::Here && stretch.span.end < self.span.end;
            cpu.open = Some((stretch.span.len(), whole));
        }
        cpu.known = known;
    }

    fn finish(&mut self, _: &World, out: &mut dyn Rows) {
        for (number, cpu) in self.cpus.iter_mut().enumerate() {
            cpu.close(true);
            let core_type = self.machine.get(number).copied().unwrap_or(model::CoreType::Uniform.as_str());
            for ([from, to], (periods, time)) in cpu.lengths.rows().filter(|(_, (periods, _))| *periods > 0) {
                out.row(&[Value::Int(number as i64), core_type.into(), from, to, (*periods).into(), (*time).into()]);
            }
        }
    }
}
