//! Which priority classes used the CPUs, over time.

use crate::{Analysis, Begins, Context, World};
use model::{CpuState, CpuStretch, Ns, Rows, Span, ThreadState, ThreadStretch};

/// The number of parts of the span.
const PARTS: i64 = 20;

/// The use of CPU time, in the order of the table's columns.
#[derive(Clone, Copy)]
enum Use {
    Deadline,
    RealTime,
    High,
    Normal,
    Low,
    NotRecorded,
    Idle,
    Unknown,
}

impl Use {
    /// A thread ran with this dynamic priority on the kernel's scale (`include/linux/sched/prio.h`).
    fn ran(prio: Option<i16>) -> Self {
        match prio {
            Some(-1..0) => Self::Deadline,
            Some(0..100) => Self::RealTime,
            Some(100..120) => Self::High,
            Some(120) => Self::Normal,
            Some(121..) => Self::Low,
            // Not recorded, or not a valid priority.
            _ => Self::NotRecorded,
        }
    }
}

pub(crate) struct PriorityClasses {
    span: Span,
    parts: Vec<[Ns; 8]>,
}

impl PriorityClasses {
    /// Returns the begin of a part. The lengths of parts differ by at most one nanosecond.
    fn begin(&self, part: i64) -> Ns {
        // At most the span, so it fits.
        let length = i128::from((self.span.end - self.span.start).0);
        self.span.start + Ns((length * i128::from(part) / i128::from(PARTS)) as i64)
    }

    fn add(&mut self, span: Span, cpu_use: Use) {
        let (from, length) = (span.start - self.span.start, self.span.len());
        if length <= Ns::ZERO {
            return;
        }
        let mut part = (i128::from(from.0) * i128::from(PARTS) / i128::from(length.0)) as i64;
        while part < PARTS && self.begin(part) < span.end {
            let of_part = Span { start: self.begin(part), end: self.begin(part + 1) };
            if let Some(within) = span.overlap(of_part) {
                let sum = &mut self.parts[part as usize][cpu_use as usize];
                *sum += within.len();
            }
            part += 1;
        }
    }
}

impl Analysis for PriorityClasses {
    fn new(context: &Context<'_>) -> Self {
        Self { span: context.span, parts: vec![[Ns::ZERO; 8]; PARTS as usize] }
    }

    fn weight() -> usize {
        2
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        // A run on an unknown CPU belongs to none of the CPUs' time.
        if stretch.state == ThreadState::Running && stretch.cpu.is_some() {
            self.add(stretch.span, Use::ran(stretch.prio.get()));
        }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, _: &World) {
        match stretch.state {
            CpuState::Busy => {} // counted by thread
            CpuState::Idle => self.add(stretch.span, Use::Idle),
            CpuState::Unknown => self.add(stretch.span, Use::Unknown),
        }
    }

    fn finish(&mut self, _: &World, out: &mut dyn Rows) {
        for (part, times) in (0..).zip(&self.parts) {
            let ends = [self.begin(part), self.begin(part + 1)];
            if ends[0] < ends[1] {
                let row: Vec<_> = ends.into_iter().chain(times.iter().copied()).map(Into::into).collect();
                out.row(&row);
            }
        }
    }
}
