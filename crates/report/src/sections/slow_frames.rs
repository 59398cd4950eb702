//! Why the slowest frames were slow.

use super::Section;
use super::waits::{Interval, write_within};
use crate::causes::{CauseRow, Excess, PARTS};
use crate::context::SectionContext;
use crate::verdict::over_budget;
use crate::words::{TIE, ms, plain, plural, short};
use engine::EngineError;
use model::tables::{self, slow_frames};
use model::{Ns, Span, ThreadKey};
use page::{Bar, Bars, Column, Page, push};

pub const SECTION: Section = Section {
    id: "slow_frames",
    about: "why the slowest frames took longer than typical ones, by cause along their critical paths",
    tables: &[&tables::SLOW_FRAMES, &tables::WAIT_OBJECTS],
    write,
};

struct Frame {
    rank: i64,
    start: Ns,
    took: Ns,
    over: Ns,
    name: String,
    thread: Option<ThreadKey>,
    excess: Excess,
}

impl Frame {
    /// Its begin in seconds.
    fn start_s(&self) -> String {
        format!("{:.6}", self.start.as_f64() / 1e9)
    }
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut frames: Vec<Frame> = Vec::new();
    let mut typical = Ns::ZERO;
    ctx.each_row(slow_frames::Table, |row| {
        let (rank, start, took, over) =
            row.all((slow_frames::RANK, slow_frames::START_NS, slow_frames::FRAME_NS, slow_frames::OVER_NS));
        if frames.last().is_none_or(|frame| frame.rank != rank) {
            let (name, thread) = (short(row.get(slow_frames::NAME.or_empty()), 24), row.get(slow_frames::THREAD));
            let frame = Frame { rank, start, took, over, name, thread, excess: Excess::default() };
            frames.push(frame);
        }
        if frames.len() == 1 {
            typical += row.get(slow_frames::TYPICAL_NS);
        }
        let cause = CauseRow {
            cause: row.get(slow_frames::CAUSE),
            core_type: row.get(slow_frames::CORE_TYPE.or_empty()),
            other: None,
            queued_behind: row.get(slow_frames::QUEUED_BEHIND),
            time: row.get(slow_frames::TIME_NS),
            more: row.get(slow_frames::EXCESS_NS),
        };
        if let Some(frame) = frames.last_mut() {
            frame.excess.add(ctx, cause);
        }
    })?;
    let Some(counts) = ctx.session.frame_counts(None)? else { return Ok(()) };
    let Some(first) = frames.first() else {
        page.heading("Slow frames: 0");
        page.paragraph(&format!("{}{}.", over_budget(counts), of_marks(ctx)));
        return Ok(());
    };
    page.heading(&format!("Slow frames by cause: {}", plural(frames.len() as u64, "frame")));
    page.paragraph(&format!("{}{}.", over_budget(counts), of_marks(ctx)));
    page.paragraph(&format!(
        "Excess: what took longer than in typical frames (mean {}{TIE}ms), by cause along the chain of threads that determined the end of \
         the frame; all causes, minus those that took less time, sum to the difference.",
        ms(typical),
    ));
    page.picture(Bars {
        title: "Slow frames by cause along the critical path".to_owned(),
        legend: PARTS.map(|(tone, words)| (tone, words.to_owned())).into(),
        bars: frames.iter().map(|frame| bar(frame, first.took)).collect(),
    });
    let mut columns = vec![
        Column::numbers("frame ms", 0),
        Column::numbers("over ms", 2),
        Column::numbers("start s", 0),
        Column::text("name", 1),
        Column::text("thread", 1),
        Column::text("excess by cause, ms", 0),
    ];
    for frame in &frames {
        let words = [frame.name.clone(), ctx.name(frame.thread), frame.excess.words()];
        push(&mut columns, [ms(frame.took), ms(frame.over), frame.start_s()].into_iter().chain(words));
    }
    page.grid(columns, 0);
    let interval = |frame: &Frame| Interval {
        label: format!("{} s", frame.start_s()),
        span: Span::new(frame.start, frame.start + frame.took),
        thread: frame.thread,
    };
    write_within(page, ctx, &frames.iter().map(interval).collect::<Vec<_>>())
}

/// Which marks are the frames.
fn of_marks(ctx: &SectionContext<'_>) -> String {
    let of = |name| format!(". Frames are the marks '{}' (--frames-of selects others)", plain(name));
    ctx.session.frames_of().map_or_else(String::new, of)
}

fn bar(frame: &Frame, longest_frame: Ns) -> Bar {
    Bar::new(format!("{} s", frame.start_s()), format!("{} ms", ms(frame.took)), frame.excess.parts, longest_frame)
}
