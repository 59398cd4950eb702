//! Frames of frame logs: their recorded times are combined and classified.
//!
//! This is not a fold over stretches: a log's frames are in its events. They are handed on one by one, since their
//! number grows with the length of the recording.

mod slow;
mod sums;
pub(crate) mod times;

pub use slow::{FrameSelection, SelectedFrames, SlowFrames, TimedFrame, TypicalFrames};
pub use sums::FrameSums;
pub use times::Times;

use model::{Event, EventKind, FramePart, NameId, Ns, Pid, Present, Span, Value};
use rustc_hash::FxHashMap;

/// Some logs have a resolution of a tenth of a microsecond, some of a whole one. Times that differ by less are equal.
const ROUNDING: Ns = Ns(1_000);
/// The maximum number of swap chains whose last frame is kept.
const MAX_CHAINS: usize = 4096;

/// What limited the time of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The GPU was busy all the time.
    Gpu,
    /// The GPU waited for the CPU.
    Cpu,
    /// Unknown.
    Unknown,
}

impl Bound {
    /// Returns the name in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
            Self::Unknown => "unknown",
        }
    }
}

/// A frame and what is derived from it.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    /// When it began.
    pub begin: Ns,
    /// The log's record of it.
    pub present: Present,
    /// The program.
    pub application: Option<&'a str>,
    /// How it was presented.
    pub mode: Option<&'a str>,
    /// The display interval less the GPU's work.
    pub gpu_idle: Option<Ns>,
    /// What limited it.
    pub bound: Bound,
    parts: [Option<Ns>; FramePart::ALL.len()],
}

impl Frame<'_> {
    /// Returns a measured time of the frame. The display interval can also be derived from when two frames were shown.
    #[must_use]
    pub fn part(&self, of: FramePart) -> Option<Ns> {
        self.parts[of as usize]
    }

    /// From its begin to the begin of the next frame; empty if that is not recorded.
    #[must_use]
    pub fn span(&self) -> Span {
        let whole = self.part(FramePart::Whole).or(self.part(FramePart::UntilPresent)).unwrap_or_default();
        Span { start: self.begin, end: self.begin + whole.max(Ns(1)) }
    }

    /// Returns the row of [`model::tables::FRAMES`].
    #[must_use]
    pub fn row(&self) -> [Value; 20] {
        let part = |of| Value::from(self.part(of));
        let call = self.part(FramePart::UntilPresent).map(|until| self.begin + until);
        [
            self.present.frame.into(),
            self.application.into(),
            pid(self.present.pid),
            swap_chain(self.present.swap_chain),
            self.begin.into(),
            part(FramePart::Whole),
            call.into(),
            part(FramePart::BetweenPresents),
            part(FramePart::CpuBusy),
            part(FramePart::InPresent),
            part(FramePart::UntilRenderStart),
            part(FramePart::UntilRenderComplete),
            part(FramePart::GpuBusy),
            part(FramePart::UntilDisplayed),
            part(FramePart::BetweenDisplayChange),
            part(FramePart::DisplayedFor),
            self.gpu_idle.into(),
            self.present.displayed.map_or(Value::Null, Value::Bool),
            self.bound.as_str().into(),
            self.mode.into(),
        ]
    }
}

fn pid(pid: Pid) -> Value {
    (pid != Pid::UNKNOWN).then_some(i64::from(pid.0)).into()
}

fn swap_chain(address: i64) -> Value {
    (address != 0).then(|| format!("0x{address:X}")).into()
}

/// The last frame of a swap chain that was displayed.
#[derive(Clone, Copy)]
struct DisplayedFrame {
    at: Ns,
    as_rendered: bool,
    /// Whether frames were dropped since.
    dropped_since: bool,
}

/// Combines events into frames.
#[derive(Default)]
pub struct Frames {
    /// The frame whose times are being read.
    open: Option<(Ns, Present, [Option<Ns>; FramePart::ALL.len()])>,
    displayed: FxHashMap<(Pid, i64), DisplayedFrame>,
}

impl Frames {
    /// Adds events, in order; `names`: all recorded names, the first is [`NameId`] 1.
    pub fn push(&mut self, events: &[Event], names: &[Box<str>], each: &mut dyn FnMut(&Frame<'_>)) {
        for event in events {
            match event.what {
                EventKind::Present(present) => {
                    self.close(names, each);
                    self.open = Some((event.at, present, [None; FramePart::ALL.len()]));
                }
                EventKind::FrameTime(time) => {
                    if let Some((_, present, parts)) = &mut self.open
                        && present.frame == time.frame
                    {
                        parts[time.of as usize] = Some(time.took);
                    }
                }
                _ => {}
            }
        }
    }

    /// Ends the input.
    pub fn finish(mut self, names: &[Box<str>], each: &mut dyn FnMut(&Frame<'_>)) {
        self.close(names, each);
    }

    fn close(&mut self, names: &[Box<str>], each: &mut dyn FnMut(&Frame<'_>)) {
        let Some((begin, present, mut parts)) = self.open.take() else { return };
        let part = |of: FramePart| parts[of as usize];
        let chain = (present.pid, present.swap_chain);
        let last = self.displayed.get(&chain).copied();
        let until_displayed = part(FramePart::UntilDisplayed).filter(|_| present.displayed != Some(false));
        let displayed_at = until_displayed.and_then(|until| Some(begin + part(FramePart::UntilPresent)? + until));
        let since_last = || Some(displayed_at? - last?.at);
        let between = part(FramePart::BetweenDisplayChange).or_else(since_last);
        let busy = part(FramePart::GpuBusy);
        let is_near = |one: Ns, other: Ns| (one - other).0.abs() <= ROUNDING.0;
        let as_rendered = until_displayed.zip(part(FramePart::UntilRenderComplete)).is_some_and(|(a, b)| is_near(a, b));
        let gpu_idle = between.zip(busy).map(|(between, busy)| between - busy).filter(|idle| idle.0 >= -ROUNDING.0);
        let in_a_row = as_rendered && last.is_some_and(|l| l.as_rendered && !l.dropped_since);
        let bound = match gpu_idle {
            Some(idle) if idle <= ROUNDING => Bound::Gpu,
            Some(_) if in_a_row => Bound::Cpu,
            _ => Bound::Unknown,
        };
        parts[FramePart::BetweenDisplayChange as usize] = between;
        self.remember(chain, displayed_at, as_rendered);
        let name = |id: NameId| (id.0 as usize).checked_sub(1).and_then(|at| names.get(at)).map(|n| &**n);
        let (application, mode) = (name(present.application), name(present.mode));
        each(&Frame { begin, present, application, mode, gpu_idle, bound, parts });
    }

    fn remember(&mut self, chain: (Pid, i64), displayed_at: Option<Ns>, as_rendered: bool) {
        if let Some(at) = displayed_at {
            if self.displayed.len() >= MAX_CHAINS && !self.displayed.contains_key(&chain) {
                self.displayed.clear();
            }
            self.displayed.insert(chain, DisplayedFrame { at, as_rendered, dropped_since: false });
        } else if let Some(last) = self.displayed.get_mut(&chain) {
            last.dropped_since = true;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::{CpuId, FrameTime, Tid};

    /// Classifies frames handed in every 10 ms. For each: for how long the GPU worked on it, when it finished and when
    /// it was shown (both from the call of Present, in microseconds); `None`: dropped.
    fn bounds(frames: &[Option<(i64, i64, i64)>]) -> Vec<(Option<i64>, Bound)> {
        let mut events = Vec::new();
        for (frame, times) in (0..).zip(frames) {
            let at = Ns(frame * 10_000_000);
            let (pid, none) = (Pid(7), NameId::NONE);
            let displayed = Some(times.is_some());
            let present = Present { frame, swap_chain: 5, pid, application: none, mode: none, displayed };
            let mut push =
                |what| events.push(Event { at, offset: 0, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what });
            push(EventKind::Present(present));
            push(EventKind::FrameTime(FrameTime { frame, of: FramePart::UntilPresent, took: Ns(10_000_000) }));
            if let Some((busy, complete, shown)) = *times {
                let times = [
                    (FramePart::GpuBusy, busy),
                    (FramePart::UntilRenderComplete, complete),
                    (FramePart::UntilDisplayed, shown),
                ];
                for (of, us) in times {
                    push(EventKind::FrameTime(FrameTime { frame, of, took: Ns(us * 1_000) }));
                }
            }
        }
        let (mut fold, mut bounds) = (Frames::default(), Vec::new());
        let mut each = |f: &Frame<'_>| bounds.push((f.gpu_idle.map(|t| t.0 / 1_000), f.bound));
        // In pieces: a frame's events may come in two batches.
        events.chunks(3).for_each(|some| fold.push(some, &[], &mut each));
        fold.finish(&[], &mut each);
        bounds
    }

    #[test]
    fn the_gpu_or_the_cpu_limits_a_frame() {
        // Shown as they are rendered, 10 ms apart: 10 ms of GPU work fill the interval, 4 ms leave 6 idle.
        let frames = [Some((10_000, 50, 50)), Some((10_000, 50, 50)), Some((4_000, 50, 50)), Some((9_999, 50, 50))];
        let unknown = (None, Bound::Unknown);
        let gpu = |idle| (Some(idle), Bound::Gpu);
        assert_eq!(bounds(&frames), [unknown, gpu(0), (Some(6_000), Bound::Cpu), gpu(1)]);
    }

    #[test]
    fn a_frame_that_waited_for_the_display_is_not_limited_by_the_cpu() {
        // The second frame is rendered in time and shown 3 ms later; the third is shown immediately, but 3 ms sooner
        // after that.
        let frames = [Some((4_000, 50, 50)), Some((4_000, 50, 3_050)), Some((4_000, 50, 50)), Some((4_000, 50, 50))];
        let cpu = |idle| (Some(idle), Bound::Cpu);
        let unknown = |idle| (Some(idle), Bound::Unknown);
        assert_eq!(bounds(&frames), [(None, Bound::Unknown), unknown(9_000), unknown(3_000), cpu(6_000)]);
    }

    #[test]
    fn dropped_frames_use_gpu_time_too() {
        // 20 ms between two shown frames; the GPU worked on a dropped one for an unknown time.
        let frames = [Some((4_000, 50, 50)), None, Some((4_000, 50, 50)), Some((12_000, 50, 50))];
        let none = (None, Bound::Unknown);
        assert_eq!(bounds(&frames), [none, none, (Some(16_000), Bound::Unknown), none]);
    }
}
