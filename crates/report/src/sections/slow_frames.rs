//! Why the slowest frames were slow.

use super::Section;
use crate::grid::{Column, push};
use crate::page::Page;
use crate::picture::{Bar, Bars, Tone};
use crate::seen::{Seen, add};
use crate::words::{TIE, ms, plural, short};
use engine::EngineError;
use model::Row;
use model::tables::{self, slow_frames};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "slow_frames",
    about: "why the slowest frames took longer than typical ones, by cause along the critical path of each",
    tables: &[&tables::SLOW_FRAMES],
    write,
};

/// So many threads are told that ran instead.
const NAMED: usize = 2;
const READY: &str = "ready";

/// The parts of a bar: running, beside a busy sibling, ready, wakeup latency, blocked, the rest, and held by a quota.
const PARTS: [(Tone, &str); 7] = [
    (Tone::Blue, "running"),
    (Tone::Purple, "beside a busy sibling"),
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
    /// How much more each cause took than in a typical frame.
    causes: BTreeMap<String, i64>,
    /// Of ready, by what ran instead.
    behind: BTreeMap<String, i64>,
}

impl Frame {
    fn add(&mut self, seen: &Seen<'_>, row: &Row<'_, slow_frames::Table>) {
        let (part, cause) = match row.get(slow_frames::CAUSE) {
            "running" => (0, "running"),
            "running_beside_busy" => (1, "beside busy sibling"),
            READY => (2, READY),
            "wakeup_latency" => (3, "wakeup latency"),
            "blocked" => (4, "blocked"),
            "throttled" => (6, "throttled"),
            cause => (5, cause),
        };
        let [time, more] = row.all([slow_frames::TIME_NS, slow_frames::MORE_NS]);
        self.parts[part] = self.parts[part].saturating_add(time);
        let cause = match row.get(slow_frames::CORE_TYPE.or_empty()) {
            "" | "uniform" => cause.to_owned(),
            core_type => format!("{cause} on {core_type}"),
        };
        if cause == READY {
            add(self.behind.entry(seen.name(row.get(slow_frames::BEHIND))).or_default(), more);
        }
        add(self.causes.entry(cause.replace(' ', &TIE.to_string())).or_default(), more);
    }

    /// What took longer, that which took most longer first.
    fn causes(&self) -> String {
        let told = longest(&self.causes).into_iter().map(|(cause, more)| match &*cause {
            READY => {
                let behind =
                    longest(&self.behind).into_iter().take(NAMED).map(|(of, more)| format!("{of}{TIE}{}", ms(more)));
                format!("{READY}{TIE}{} (behind {})", ms(more), behind.collect::<Vec<_>>().join(", "))
            }
            _ => format!("{cause}{TIE}{}", ms(more)),
        });
        told.collect::<Vec<_>>().join(", ")
    }
}

/// Those that took longer.
fn longest(of: &BTreeMap<String, i64>) -> Vec<(String, i64)> {
    let mut longer: Vec<(String, i64)> =
        of.iter().filter(|(_, more)| **more > 0).map(|(k, v)| (k.clone(), *v)).collect();
    longer.sort_by_key(|(_, more)| Reverse(*more));
    longer
}

fn write(page: &mut Page, seen: &Seen<'_>) -> Result<(), EngineError> {
    let mut frames: Vec<Frame> = Vec::new();
    let mut typical = 0i64;
    seen.each(slow_frames::Table, |row| {
        let [rank, start, took, budget, over] = row.all([
            slow_frames::RANK,
            slow_frames::START_NS,
            slow_frames::FRAME_NS,
            slow_frames::BUDGET_NS,
            slow_frames::OVER_NS,
        ]);
        if frames.last().is_none_or(|frame| frame.rank != rank) {
            let (name, thread) =
                (short(row.get(slow_frames::NAME.or_empty()), 24), seen.name(row.get(slow_frames::THREAD)));
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
                behind: BTreeMap::new(),
            };
            frames.push(frame);
        }
        if frames.len() == 1 {
            typical = typical.saturating_add(row.get(slow_frames::TYPICAL_NS));
        }
        frames.iter_mut().last().into_iter().for_each(|frame| frame.add(seen, row));
    })?;
    let Some(first) = frames.first() else { return Ok(()) };
    page.heading(&format!("Slow frames, and why: {}", plural(frames.len() as u64, "frame")));
    page.words(&format!(
        "The slowest of those that took longer than {}{TIE}ms, and what took longer in them than in typical ones, which took {}{TIE}ms \
         in the mean: by cause, along the chain of threads that determined when the frame ended. All causes, less those that took \
         shorter, sum to the difference.",
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
        Column::numbers("begins at s", 0),
        Column::words("name", 1),
        Column::words("thread", 1),
        Column::words("what took longer, ms", 0),
    ];
    for frame in &frames {
        let begins = format!("{:.6}", frame.start as f64 / 1e9);
        let whose = [frame.name.clone(), frame.thread.clone(), frame.causes()];
        push(&mut columns, [ms(frame.took), ms(frame.over), begins].into_iter().chain(whose));
    }
    page.grid(columns, 0);
    Ok(())
}

fn bar(frame: &Frame, most: i64) -> Bar {
    Bar {
        label: format!("{:.6} s", frame.start as f64 / 1e9),
        value: format!("{} ms", ms(frame.took)),
        parts: frame.parts.into(),
        whole: most,
    }
}
