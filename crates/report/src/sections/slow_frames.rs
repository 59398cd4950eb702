//! Why the slowest frames were slow.

use super::Section;
use crate::context::{SectionContext, add};
use crate::grid::{Column, push};
use crate::page::Page;
use crate::picture::{Bar, Bars, Tone};
use crate::words::{TIE, ms, plural, short};
use engine::EngineError;
use model::Row;
use model::tables::{self, slow_frames};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "slow_frames",
    about: "why the slowest frames took longer than typical ones, by cause along their critical paths",
    tables: &[&tables::SLOW_FRAMES],
    write,
};

/// The maximum number of threads named that ran instead.
const NAMED: usize = 2;
const READY: &str = "ready";

/// The parts of a bar.
const PARTS: [(Tone, &str); 7] = [
    (Tone::Blue, "running"),
    (Tone::Purple, "running with a busy SMT sibling"),
    (Tone::Orange, "ready"),
    (Tone::Red, "wakeup latency"),
    (Tone::Idle, "blocked"),
    (Tone::Unknown, "exited or unknown"),
    (Tone::Sky, "throttled"),
];

struct Frame {
    rank: i64,
    start: i64,
    took: i64,
    budget: i64,
    over: i64,
    name: String,
    thread: String,
    parts: [i64; PARTS.len()],
    /// The excess over a typical frame, by cause.
    causes: BTreeMap<String, i64>,
    /// The excess of `ready`, by the thread that ran instead.
    queued_behind: BTreeMap<String, i64>,
}

impl Frame {
    fn add(&mut self, ctx: &SectionContext<'_>, row: &Row<'_, slow_frames::Table>) {
        let (part, cause) = match row.get(slow_frames::CAUSE) {
            "running" => (0, "running"),
            "running_sibling_busy" => (1, "running with busy sibling"),
            READY => (2, READY),
            "wakeup_latency" => (3, "wakeup latency"),
            "blocked" => (4, "blocked"),
            "throttled" => (6, "throttled"),
            cause => (5, cause),
        };
        let [time, more] = row.all([slow_frames::TIME_NS, slow_frames::EXCESS_NS]);
        self.parts[part] = self.parts[part].saturating_add(time);
        let cause = match row.get(slow_frames::CORE_TYPE.or_empty()) {
            "" | "uniform" => cause.to_owned(),
            core_type => format!("{cause} on {core_type}"),
        };
        if cause == READY {
            add(self.queued_behind.entry(ctx.name(row.get(slow_frames::QUEUED_BEHIND))).or_default(), more);
        }
        add(self.causes.entry(cause.replace(' ', &TIE.to_string())).or_default(), more);
    }

    /// Formats the causes that took longer, largest first.
    fn causes(&self) -> String {
        let words = longest(&self.causes).into_iter().map(|(cause, more)| match &*cause {
            READY => {
                let others = longest(&self.queued_behind).into_iter().take(NAMED);
                let others = others.map(|(of, more)| format!("{of}{TIE}{}", ms(more)));
                format!("{READY}{TIE}{} (queued behind {})", ms(more), others.collect::<Vec<_>>().join(", "))
            }
            _ => format!("{cause}{TIE}{}", ms(more)),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// The entries with an excess, largest first.
fn longest(of: &BTreeMap<String, i64>) -> Vec<(String, i64)> {
    let mut longer: Vec<(String, i64)> =
        of.iter().filter(|(_, more)| **more > 0).map(|(k, v)| (k.clone(), *v)).collect();
    longer.sort_by_key(|(_, more)| Reverse(*more));
    longer
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut frames: Vec<Frame> = Vec::new();
    let mut typical = 0i64;
    ctx.each_row(slow_frames::Table, |row| {
        let [rank, start, took, budget, over] = row.all([
            slow_frames::RANK,
            slow_frames::START_NS,
            slow_frames::FRAME_NS,
            slow_frames::BUDGET_NS,
            slow_frames::OVER_NS,
        ]);
        if frames.last().is_none_or(|frame| frame.rank != rank) {
            let (name, thread) =
                (short(row.get(slow_frames::NAME.or_empty()), 24), ctx.name(row.get(slow_frames::THREAD)));
            let frame = Frame {
                rank,
                start,
                took,
                budget,
                over,
                name,
                thread,
                parts: [0; PARTS.len()],
                causes: BTreeMap::new(),
                queued_behind: BTreeMap::new(),
            };
            frames.push(frame);
        }
        if frames.len() == 1 {
            typical = typical.saturating_add(row.get(slow_frames::TYPICAL_NS));
        }
        frames.iter_mut().last().into_iter().for_each(|frame| frame.add(ctx, row));
    })?;
    let Some(first) = frames.first() else { return Ok(()) };
    page.heading(&format!("Slow frames by cause: {}", plural(frames.len() as u64, "frame")));
    page.paragraph(&format!(
        "The slowest frames that took longer than {}{TIE}ms, and what took longer in them than in typical frames (mean {}{TIE}ms), by \
         cause along the chain of threads that determined the end of the frame. The sum of all causes, minus those that took less time, \
         is the difference.",
        ms(first.budget),
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
        let start = format!("{:.6}", frame.start as f64 / 1e9);
        let words = [frame.name.clone(), frame.thread.clone(), frame.causes()];
        push(&mut columns, [ms(frame.took), ms(frame.over), start].into_iter().chain(words));
    }
    page.grid(columns, 0);
    Ok(())
}

fn bar(frame: &Frame, longest_frame: i64) -> Bar {
    Bar {
        label: format!("{:.6} s", frame.start as f64 / 1e9),
        value: format!("{} ms", ms(frame.took)),
        parts: frame.parts.into(),
        whole: longest_frame,
    }
}
