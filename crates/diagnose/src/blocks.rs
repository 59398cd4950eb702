//! What is shown of a finding: in a terminal, in a report and in the viewer.
//!
//! ```text
//!   1. busy-wait (high): 3 threads spin …                                      the title
//!      Potential saving: 6.000 ms (5.000 to 7.000), confidence high.           lines, each with its head
//!      Threads: game 12 6.000 ms.
//!      Worst: 10.000 to 16.000 ms: game 12 running (CPU 0).
//!      Fix: Wait in the kernel.
//!      Linux: futex(2).
//! ```

use crate::diagnosis::System;
use crate::finding::{Finding, Interval, Severity};
use model::words::{TIE, ms, plain, plural};
use model::{Ns, TriedSum};
use page::{Anchor, Block, Linked, Picture, Tone};
use serde::Serialize;

/// The maximum number of threads and times that a line names.
const NAMED: usize = 3;

/// How much is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// What to do, what it saves, and the worst interval.
    Brief,
    /// Also the threads, and all worst intervals.
    Usual,
    /// Everything but the evidence.
    Whole,
}

/// What a line is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// What the fix saves.
    Saving,
    /// The threads that lose time.
    Threads,
    /// When it happened.
    When,
    /// The worst intervals.
    Worst,
    /// What to do.
    Fix,
    /// How to do it on Linux.
    Linux,
    /// How to do it on Windows.
    Windows,
    /// What the fix costs others, or the program itself.
    SideEffect,
    /// What trials of the fix showed.
    Tried,
    /// What the estimate assumes.
    Assumptions,
    /// Another finding that the fix resolves.
    Also,
}

impl About {
    /// Returns the words before the line.
    #[must_use]
    pub const fn head(self) -> &'static str {
        match self {
            Self::Saving => "Potential saving",
            Self::Threads => "Threads",
            Self::When => "When",
            Self::Worst => "Worst",
            Self::Fix => "Fix",
            Self::Linux => "Linux",
            Self::Windows => "Windows",
            Self::SideEffect => "Side effect",
            Self::Tried => "Tried",
            Self::Assumptions => "Assumptions",
            Self::Also => "Also resolved",
        }
    }
}

/// A line about a finding, without the full stop at its end.
pub struct Line {
    /// What it is about.
    pub of: About,
    /// The words, with links to threads and moments.
    pub words: Linked,
    /// Whether it continues the paragraph of the line before.
    continues: bool,
}

impl Line {
    fn new(of: About, words: Linked) -> Self {
        Self { of, words, continues: false }
    }

    fn plain(of: About, words: String) -> Self {
        Self::new(of, vec![(words, None)])
    }

    fn continued(self) -> Self {
        Self { continues: true, ..self }
    }
}

/// Returns the lines about a finding. The fix is for the recorded system, or for both if that is not known.
#[must_use]
pub fn lines(finding: &Finding, system: Option<System>, detail: Detail) -> Vec<Line> {
    let (is_brief, is_whole) = (detail == Detail::Brief, detail == Detail::Whole);
    let mut all = vec![Line::plain(About::Saving, saving(finding, detail))];
    if !is_brief && !finding.threads.is_empty() {
        all.push(Line::new(About::Threads, threads(finding)));
    }
    if is_whole && !finding.spans.is_empty() {
        all.push(Line::plain(About::When, when(finding)));
    }
    if !finding.worst.is_empty() {
        let worst = Line::new(About::Worst, worst(&finding.worst, if is_brief { 1 } else { NAMED }));
        all.push(if is_brief { worst.continued() } else { worst });
    }
    all.push(Line::plain(About::Fix, finding.action.what.clone()));
    let side_effect =
        finding.action.side_effect.map(|words| Line::plain(About::SideEffect, words.to_owned()).continued());
    all.extend(side_effect);
    let instructions = [
        (About::Linux, System::Linux, &finding.action.linux),
        (About::Windows, System::Windows, &finding.action.windows),
    ];
    let recorded = instructions.into_iter().filter(|(_, of, _)| system.is_none_or(|system| system == *of));
    // In a line of its own, so that no command is split.
    all.extend(recorded.map(|(of, _, words)| Line::plain(of, words.clone())));
    all.extend(finding.tried.map(|sum| Line::plain(About::Tried, tried(sum))));
    if is_brief {
        let rules: Vec<&str> = finding.also.iter().map(|also| also.rule).collect();
        all.extend((!rules.is_empty()).then(|| Line::plain(About::Also, rules.join(", "))));
    }
    if !is_whole {
        return all;
    }
    if !finding.assumptions.is_empty() {
        all.push(Line::plain(About::Assumptions, finding.assumptions.join("; ")));
    }
    let also = finding.also.iter();
    all.extend(
        also.map(|also| {
            Line::plain(About::Also, format!("{} ({}): {}", also.rule, also.severity.as_str(), also.title))
        }),
    );
    all
}

/// What trials of the fix showed.
fn tried(of: TriedSum) -> String {
    let counts = [(of.helped, "helped"), (of.no_effect, "no effect"), (of.harmed, "harmed")];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{word} {count}")).collect();
    format!("{}: {}", plural(of.times.into(), "time"), counts.join(", "))
}

/// Returns the title of a finding with its number.
fn title(at: usize, finding: &Finding) -> String {
    format!("{at}. {} ({}): {}", finding.rule, finding.severity.as_str(), finding.title)
}

/// Returns the colour of a severity.
#[must_use]
pub fn tone(of: Severity) -> Tone {
    match of {
        Severity::High => Tone::Red,
        Severity::Medium => Tone::Orange,
        Severity::Low => Tone::Sky,
    }
}

/// Returns a finding with its number as blocks: the title, and its lines as paragraphs. A picture follows the worst intervals.
#[must_use]
pub fn blocks(
    at: usize,
    finding: &Finding,
    system: Option<System>,
    detail: Detail,
    mut picture: Option<Picture>,
) -> Vec<Block> {
    let mut out = vec![Block::Entry(title(at, finding), Anchor::Finding(at), tone(finding.severity))];
    let mut paragraph = Linked::new();
    for line in lines(finding, system, detail) {
        if !line.continues && !paragraph.is_empty() {
            out.push(Block::Linked(std::mem::take(&mut paragraph)));
        }
        if line.of == About::Fix
            && let Some(picture) = picture.take()
        {
            out.push(Block::Picture(picture));
        }
        let space = if paragraph.is_empty() { "" } else { " " };
        paragraph.push((format!("{space}{}: ", line.of.head()), None));
        paragraph.extend(line.words);
        paragraph.push((".".to_owned(), None));
    }
    out.push(Block::Linked(paragraph));
    out
}

/// The potential saving; in a brief form with the threads that gain it, otherwise with the delay of which it is a part.
fn saving(finding: &Finding, detail: Detail) -> String {
    let [from, to] = finding.range_ns.map(ms);
    let confidence = finding.confidence.as_str();
    if finding.range_ns[1] == Ns::ZERO {
        let why = match finding.delay_ns {
            delay if delay > Ns::ZERO => format!(": the objective gains nothing from the {}{TIE}ms", ms(delay)),
            _ => String::new(),
        };
        return format!("none{why}, confidence {confidence}");
    }
    let of = match (detail, finding.threads.first()) {
        (Detail::Brief, Some(first)) => {
            let more = finding.threads.len() - 1;
            let more = if more > 0 { format!(" and {}", plural(more as u64, "other")) } else { String::new() };
            format!(" for {}{TIE}{}{more}", plain(&first.name), first.tid)
        }
        (Detail::Usual | Detail::Whole, _) if finding.recoverable_ns < finding.delay_ns => {
            format!(" of {}{TIE}ms, as far as the objective gains it", ms(finding.delay_ns))
        }
        _ => String::new(),
    };
    let cpu = finding.cpu_ns.map_or_else(String::new, |ns| format!(", {}{TIE}ms of CPU time", ms(ns)));
    format!("{}{TIE}ms ({from} to {to}){of}{cpu}, confidence {confidence}", ms(finding.recoverable_ns))
}

/// Joins the first items of a list, and says how many more there are.
fn listed<T>(all: &[T], max: usize, separator: &str, mut item: impl FnMut(&T) -> Linked) -> Linked {
    let mut words = Linked::new();
    for (at, of) in all.iter().take(max).enumerate() {
        words.push((if at > 0 { separator } else { "" }.to_owned(), None));
        words.extend(item(of));
    }
    let more = all.len().saturating_sub(max);
    // A brief form names one, and does not count the others.
    if more > 0 && max > 1 {
        words.push((format!("{separator}{more} more"), None));
    }
    words
}

/// The threads that lose time.
fn threads(finding: &Finding) -> Linked {
    listed(&finding.threads, NAMED, ", ", |claim| {
        let mut words: Linked =
            vec![(format!("{}{TIE}{}", plain(&claim.name), claim.tid), Some(Anchor::Thread(claim.thread)))];
        words.extend(
            (claim.recoverable_ns > Ns::ZERO).then(|| (format!("{TIE}{}{TIE}ms", ms(claim.recoverable_ns)), None)),
        );
        words
    })
}

/// The times at which it happened.
fn when(finding: &Finding) -> String {
    let span = |span: &model::Span| vec![(format!("{}{TIE}to{TIE}{}{TIE}ms", ms(span.start), ms(span.end)), None)];
    listed(&finding.spans, NAMED, ", ", span).into_iter().map(|(words, _)| words).collect()
}

/// The worst intervals: `3 556.520 to 3 572.448 ms: python 30309 ready (batch ran on CPU 0)`.
fn worst(all: &[Interval], max: usize) -> Linked {
    listed(all, max, "; ", |of| {
        let [from, to] = [of.start_ns, of.end_ns].map(ms);
        let moment = Anchor::Moment { thread: of.thread, start_ns: of.start_ns.0, end_ns: of.end_ns.0 };
        vec![
            (format!("{from}{TIE}to{TIE}{to}{TIE}ms"), Some(moment)),
            (": ".to_owned(), None),
            (format!("{}{TIE}{}", plain(&of.name), of.tid), Some(Anchor::Thread(of.thread))),
            (format!(" {} ({})", of.state, plain(&of.cause)), None),
        ]
    })
}
