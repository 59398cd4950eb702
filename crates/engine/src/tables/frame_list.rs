//! Frames of any source, listed by length: of a frame log, marks, periods, requests or parallel regions. The causes of any of them are
//! the rows that the tables of slow frames and slow intervals have for it.

use super::intervals::{IntervalKind, Series};
use super::rows::Batches;
use super::slow_intervals::frame_of;
use crate::{EngineError, RowCallback, Session};
use analysis::critical::{Causes, ThreadCause};
use analysis::frames::{FrameSelection, SlowFrames, TimedFrame, TypicalFrames};
use analysis::slow_intervals::SlowSeries;
use model::tables::{interval_sums, marks};
use model::{FrameMarkKind, Ns, Span, TableDef, ThreadKey, frame_mark, tables};
use std::collections::BTreeMap;

/// The maximum number of sources of a kind.
const MAX_SOURCES: usize = 200;
/// The number of bars of the histogram.
const BARS: usize = 40;
/// The histogram shows times up to this many medians, and the budget.
const SHOWN_MEDIANS: i64 = 4;

/// What is listed as frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FrameSource {
    /// The frames of the frame log.
    Log,
    /// Marks with this name; a final `*` matches any ending.
    Marks(String),
    /// The periods or requests of a thread.
    Thread(IntervalKind, ThreadKey),
    /// The parallel regions of a process, if recorded, with this name.
    Regions(Option<i64>, String),
}

/// A source of frames that a trace has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameGroup {
    /// The source.
    pub source: FrameSource,
    /// The number of frames.
    pub count: i64,
    /// Why its marks look like frames, if they do.
    pub looks_like: Option<FrameMarkKind>,
}

/// The slowest frames of a source.
#[derive(Debug)]
pub struct FrameList {
    source: FrameSource,
    /// The frame budget.
    pub budget: Ns,
    /// The median frame time; slightly more if there are very many different times.
    pub median: Ns,
    /// The number of frames.
    pub frames: u64,
    /// The number of frames that took longer than the budget.
    pub over: u64,
    /// The number of frames by frame time, in bars of equal width from 0; the last one has all that took longer.
    pub bars: Vec<u64>,
    /// The width of a bar of `bars`.
    pub bar: Ns,
    slowest: Vec<TimedFrame>,
    typical: Vec<TimedFrame>,
}

/// A frame of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListedFrame<'a> {
    /// From its begin to its end.
    pub span: Span,
    /// Its thread, if known.
    pub thread: Option<ThreadKey>,
    /// The name of its mark, or of the program of the frame log.
    pub name: Option<&'a str>,
    /// Its number among the periods, requests or regions of its thread or name, from 1.
    pub number: Option<u64>,
}

impl FrameList {
    /// Returns the slowest frames, the slowest first.
    pub fn slowest(&self) -> impl Iterator<Item = ListedFrame<'_>> {
        self.slowest.iter().map(|frame| ListedFrame {
            span: frame.span,
            thread: Some(frame.thread).filter(|thread| *thread != ThreadKey::UNKNOWN),
            name: frame.name.as_deref(),
            number: Some(frame.number).filter(|number| *number > 0),
        })
    }
}

impl Session {
    /// Returns the sources of frames: the frame log, marks that look like frames ([`Session::frame_marks`]), then other marks, the most
    /// frequent first. With `intervals`, also the periods, requests and parallel regions, which may need a pass over the recording.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn frame_sources(&self, intervals: bool) -> Result<Vec<FrameGroup>, EngineError> {
        let mut all = Vec::new();
        let frames = self.full_summary().frames;
        if frames > 0 {
            let count = i64::try_from(frames).unwrap_or(i64::MAX);
            all.push(FrameGroup { source: FrameSource::Log, count, looks_like: None });
        }
        let like_frames = self.frame_marks()?;
        all.extend(like_frames.into_iter().take(MAX_SOURCES).map(|of| FrameGroup {
            source: FrameSource::Marks(of.name),
            count: of.count,
            looks_like: Some(of.kind),
        }));
        if self.has_marks() {
            let mut others = BTreeMap::<String, i64>::new();
            self.each(marks::Table, |row| {
                let name = row.get(marks::NAME.or_empty());
                // A name with a final asterisk would select other marks too.
                if row.get(marks::DURATION_NS) > Ns::ZERO && frame_mark(name).is_none() && !name.ends_with('*') {
                    let count = others.entry(name.to_owned()).or_default();
                    *count = count.saturating_add(row.get(marks::COUNT));
                }
            })?;
            let mut others: Vec<(String, i64)> = others.into_iter().filter(|(_, count)| *count > 0).collect();
            others.sort_by_key(|(_, count)| -count);
            all.extend(others.into_iter().take(MAX_SOURCES).map(|(name, count)| FrameGroup {
                source: FrameSource::Marks(name),
                count,
                looks_like: None,
            }));
        }
        if intervals && !self.full_summary().is_of_frames() {
            self.interval_sources(&mut all)?;
        }
        Ok(all)
    }

    fn interval_sources(&self, all: &mut Vec<FrameGroup>) -> Result<(), EngineError> {
        let mut sources: Vec<(IntervalKind, FrameGroup)> = Vec::new();
        self.each(interval_sums::Table, |row| {
            let word = row.get(interval_sums::KIND);
            let Some(kind) = IntervalKind::ALL.into_iter().find(|kind| kind.word() == word) else { return };
            let source = match (row.get(interval_sums::THREAD), row.get(interval_sums::NAME)) {
                (Some(thread), _) => FrameSource::Thread(kind, thread),
                (None, Some(name)) => FrameSource::Regions(row.get(interval_sums::PID), name.to_owned()),
                // The row of those that are too many.
                (None, None) => return,
            };
            sources.push((kind, FrameGroup { source, count: row.get(interval_sums::COUNT), looks_like: None }));
        })?;
        for kind in IntervalKind::ALL {
            let mut of_kind: Vec<&FrameGroup> =
                sources.iter().filter(|(of, _)| *of == kind).map(|(_, group)| group).collect();
            of_kind.sort_by_key(|group| -group.count);
            all.extend(of_kind.into_iter().take(MAX_SOURCES).cloned());
        }
        Ok(())
    }

    /// Returns the slowest frames of a source, at most `max`; `None` if it has none. The default of the budget is the median.
    ///
    /// # Errors
    /// The trace cannot be read, or no mark has this name.
    pub fn frame_list(
        &self,
        source: &FrameSource,
        budget: Option<Ns>,
        max: usize,
    ) -> Result<Option<FrameList>, EngineError> {
        // The slowest are listed whether they exceed the budget or not.
        let mut picking = FrameSelection::new(Some(Ns(i64::MIN)), max);
        self.frames_of_source(source, &mut |frame| picking.push(frame))?;
        let mut picked = match picking.finish() {
            Some(picked) => picked,
            None => return Ok(None),
        };
        picked.budget = budget.unwrap_or(picked.median);
        let longest = picked.slow.first().map_or(picked.median, |frame| frame.span.len());
        let most = longest.0.min(picked.median.0.saturating_mul(SHOWN_MEDIANS));
        // A budget far from all frames would leave no width for them.
        let budget = picked.budget.0.min(longest.0.saturating_mul(2));
        let bar = Ns(most.max(budget.saturating_add(budget / 4)) / BARS as i64 + 1);
        let (mut bars, mut over) = (vec![0u64; BARS], 0u64);
        let mut typical = TypicalFrames::new(&picked);
        self.frames_of_source(source, &mut |frame| {
            typical.push(frame);
            let took = frame.span.len();
            over += u64::from(took > picked.budget);
            let at = usize::try_from(took.0 / bar.0).unwrap_or(usize::MAX).min(BARS - 1);
            bars[at] += 1;
        })?;
        Ok(Some(FrameList {
            source: source.clone(),
            budget: picked.budget,
            median: picked.median,
            frames: picked.frames,
            over,
            bars,
            bar,
            slowest: picked.slow,
            typical: typical.finish(),
        }))
    }

    /// Passes on the causes of frame `at` of a list: its rows of [`tables::SLOW_FRAMES`], or of [`tables::SLOW_INTERVALS`] for a period,
    /// request or region (without the numbers of its series and thread), with the names of the threads. Frames within their budget have
    /// causes too. No rows for a frame log without threads, or if there is no such frame.
    ///
    /// # Errors
    /// The trace cannot be read, or `each` failed.
    pub fn frame_causes(
        &self,
        list: &FrameList,
        at: usize,
        each: RowCallback<'_>,
    ) -> Result<&'static TableDef, EngineError> {
        let def = match list.source {
            FrameSource::Log | FrameSource::Marks(_) => &tables::SLOW_FRAMES,
            FrameSource::Thread(..) | FrameSource::Regions(..) => &tables::SLOW_INTERVALS,
        };
        let of_thread = def.cols.iter().map(|col| col.is_thread_key).collect();
        let Some(frame) = list.slowest.get(at).filter(|_| !self.full_summary().is_of_frames()) else {
            return Ok(tables::named(def));
        };
        let slower = i64::try_from(at).unwrap_or(i64::MAX);
        let frames: Vec<&TimedFrame> = std::iter::once(frame).chain(&list.typical).collect();
        let mut named = self.with_names(of_thread, each)?;
        let mut named = self.redacting(def, &mut named);
        let mut out = Batches::new(&mut named);
        match &list.source {
            FrameSource::Log | FrameSource::Marks(_) => {
                let mut causes = self.causes(&frames)?.into_iter();
                let mut table = SlowFrames::new(list.budget).after(slower);
                causes.next().into_iter().for_each(|(ends, causes)| table.slow(frame.clone(), ends, causes));
                causes.for_each(|(_, causes)| table.typical(&causes));
                table.finish(&mut out);
            }
            FrameSource::Thread(kind, _) => {
                self.interval_causes(*kind, None, &frames, slower, list.median, &mut out)?
            }
            FrameSource::Regions(_, name) => {
                self.interval_causes(IntervalKind::Region, Some(name), &frames, slower, list.median, &mut out)?;
            }
        }
        out.finish()?;
        Ok(tables::named(def))
    }

    /// Writes the causes of the first of some intervals; the others are typical ones.
    fn interval_causes(
        &self,
        kind: IntervalKind,
        name: Option<&str>,
        frames: &[&TimedFrame],
        slower: i64,
        median: Ns,
        out: &mut Batches<'_>,
    ) -> Result<(), EngineError> {
        let mut causes = vec![Causes::<ThreadCause>::default(); frames.len()];
        self.pieces(frames, &mut |frame, piece| {
            causes[frame].push(piece);
            Ok(())
        })?;
        let mut causes = causes.into_iter();
        let mut table = SlowSeries::new(kind.word(), 1, None, median).after(slower);
        if let (Some(frame), Some(causes)) = (frames.first(), causes.next()) {
            table.slow(TimedFrame { name: name.map(Into::into), ..(*frame).clone() }, causes);
        }
        causes.for_each(|causes| table.typical(&causes));
        table.finish(out);
        Ok(())
    }

    /// Passes on every frame of a source that began and ended within the recording.
    fn frames_of_source(&self, source: &FrameSource, each: &mut dyn FnMut(&TimedFrame)) -> Result<(), EngineError> {
        let whole = Span { start: Ns(i64::MIN), end: Ns(i64::MAX) };
        let of_log = self.full_summary().is_of_frames();
        let span = if of_log { Some(whole) } else { self.within(None) };
        let Some(span) = span else { return Ok(()) };
        let (kind, series) = match source {
            FrameSource::Log => return self.each_frame(None, span, each),
            FrameSource::Marks(name) => return self.each_frame(Some(name), span, each),
            FrameSource::Thread(kind, thread) => (*kind, Series::Thread(*thread)),
            FrameSource::Regions(pid, name) => (IntervalKind::Region, Series::Name(*pid, name.as_str().into())),
        };
        self.intervals(kind, |interval| {
            let frame = frame_of(kind, interval);
            let Span { start, end } = frame.span;
            if Series::of(interval) == series && start < end && start >= span.start && end <= span.end {
                each(&frame);
            }
        })
    }
}
