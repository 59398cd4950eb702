//! Why the slowest frames were slow.

use super::Section;
use crate::grid::{Column, push};
use crate::page::Page;
use crate::picture::{Bar, Bars, Tone};
use crate::seen::{Row, Seen};
use crate::words::{TIE, ms, plural, short};
use engine::EngineError;

pub const SECTION: Section = Section {
    id: "slow_frames",
    about: "why the slowest frames took longer than typical ones, by cause along the critical path of each",
    tables: &["slow_frames"],
    write,
};

/// So many causes are told of a frame.
const MOST: usize = 3;

/// The parts of a bar: running, beside a busy sibling, ready, wakeup latency, blocked, and the rest.
const PARTS: [(Tone, &str); 6] = [
    (Tone::Blue, "running"),
    (Tone::Purple, "beside a busy sibling"),
    (Tone::Orange, "ready"),
    (Tone::Red, "wakeup latency"),
    (Tone::Idle, "blocked"),
    (Tone::Unknown, "exited or unknown"),
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
    /// What took more than in a typical frame, and by how much: that which took most more first.
    causes: Vec<String>,
}

impl Frame {
    fn add(&mut self, seen: &Seen<'_>, row: &Row<'_>) {
        let (part, cause) = match row.text("cause") {
            "running" => (0, "running".to_owned()),
            "running_beside_busy" => (1, format!("beside{TIE}busy{TIE}sibling")),
            "ready" => (2, format!("ready{TIE}behind{TIE}{}", seen.name(row.int("behind")))),
            "wakeup_latency" => (3, format!("wakeup{TIE}latency")),
            "blocked" => (4, "blocked".to_owned()),
            cause => (5, cause.to_owned()),
        };
        let [time, more] = row.sums(["time_ns", "more_ns"]);
        self.parts[part] = self.parts[part].saturating_add(time);
        if more > 0 {
            let on = match row.text("core_type") {
                "" => String::new(),
                core_type => format!("{TIE}on{TIE}{core_type}"),
            };
            self.causes.push(format!("{cause}{on}{TIE}{}", ms(more)));
        }
    }

    fn causes(&self) -> String {
        let more = self.causes.len().saturating_sub(MOST);
        let told = self.causes.iter().take(MOST).cloned();
        told.chain((more > 0).then(|| format!("{more} more"))).collect::<Vec<_>>().join(", ")
    }
}

fn write(page: &mut Page, seen: &Seen<'_>) -> Result<(), EngineError> {
    let mut frames: Vec<Frame> = Vec::new();
    let mut typical = 0i64;
    seen.each("slow_frames", |row| {
        let [rank, start, took, budget, over] = row.sums(["rank", "start_ns", "frame_ns", "budget_ns", "over_ns"]);
        if frames.last().is_none_or(|frame| frame.rank != rank) {
            let (name, thread) = (short(row.text("name"), 24), seen.name(row.int("thread")));
            let frame =
                Frame { rank, start, took, budget, over, name, thread, parts: [0; PARTS.len()], causes: vec![] };
            frames.push(frame);
        }
        if frames.len() == 1 {
            typical = typical.saturating_add(row.sum("typical_ns"));
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
