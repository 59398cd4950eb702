//! What threads waited for: in all of the recording, and within slow frames and intervals.

use super::Section;
use crate::context::{SectionContext, count_of};
use crate::words::{grouped, ms, plain, share, short};
use engine::EngineError;
use model::tables::{self, lock_waits, object_waits, threads, wait_objects};
use model::{Coded, Ns, Span, ThreadKey, WaitKind};
use page::{Column, Page, push};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

pub const SECTION: Section = Section {
    id: "waits",
    about: "what threads waited for: system call, lock, pipe, socket, file or child, and which threads ended the waits",
    tables: &[&tables::WAIT_OBJECTS],
    write,
};

/// The longest name of an object that is shown.
const MAX_NAME: usize = 48;

/// What ended a wait, if no thread did.
const INTERRUPT: &str = "an interrupt";

/// Returns the words for what a thread waits for.
fn what(kind: &str, object: &str, name: &str) -> String {
    let has_number = WaitKind::of_word(kind.as_bytes()).is_some_and(WaitKind::has_number);
    match name {
        "" if kind == "unknown" => String::new(),
        // Any child, and select, which names none of its descriptors.
        "" if has_number && matches!(object, "-1" | "0") => kind.to_owned(),
        "" if has_number => format!("{kind} {object}"),
        "" => kind.to_owned(),
        name => format!("{kind} {}", short(&plain(name), MAX_NAME)),
    }
}

/// Returns the words for what became ready in an epoll set; `None` if unknown.
fn ready(kind: &str, object: &str, name: &str) -> Option<String> {
    Some(what(kind, object, name)).filter(|_| !kind.is_empty())
}

/// Waits of threads of one name.
#[derive(Default)]
struct Sum {
    waits: i64,
    blocked: Ns,
    longest: Ns,
    /// How long the waits were that threads of each name ended.
    ended_by: BTreeMap<String, Ns>,
    /// How long the waits in each function of the program were.
    call_sites: BTreeMap<String, Ns>,
    /// Of an epoll set, how long the waits were that each of its descriptors ended.
    ready: BTreeMap<String, Ns>,
}

impl Sum {
    /// Returns what became ready most of the time, and for which part of it; empty if unknown.
    fn mostly_ready(&self) -> String {
        let Some((what, blocked)) = self.ready.iter().max_by_key(|(_, blocked)| **blocked) else {
            return String::new();
        };
        let mostly = format!(": {what} ({} %)", share(*blocked, self.blocked));
        if self.ready.len() == 1 { mostly } else { format!("{mostly} and {} more", self.ready.len() - 1) }
    }
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    use wait_objects::*;
    let mut sums: BTreeMap<(String, String, String), Sum> = BTreeMap::new();
    let focus = focus(ctx)?;
    ctx.each_row(Table, |row| {
        let kind = row.get(KIND);
        let is_shown = focus.as_ref().is_none_or(|of| of.contains(&row.get(THREAD)));
        let call = row.get(REASON.or_empty());
        if kind == "other" || (kind == "unknown" && call.is_empty()) || !is_shown {
            return;
        }
        let what = what(kind, row.get(OBJECT.or_empty()), row.get(NAME.or_empty()));
        let key = (ctx.name(Some(row.get(THREAD))), call.to_owned(), what);
        let (sum, blocked) = (sums.entry(key).or_default(), row.get(BLOCKED_NS));
        sum.waits = sum.waits.saturating_add(row.get(WAITS));
        sum.blocked += blocked;
        sum.longest = sum.longest.max(row.get(MAX_BLOCKED_NS));
        if let Some(ready) =
            ready(row.get(READY_KIND.or_empty()), row.get(READY_OBJECT.or_empty()), row.get(READY_PATH.or_empty()))
        {
            *sum.ready.entry(ready).or_default() += blocked;
        }
        if let Some(site) = row.get(CALL_SITE) {
            *sum.call_sites.entry(site.to_owned()).or_default() += blocked;
        }
        let interrupted = row.get(INTERRUPT_NS);
        *sum.ended_by.entry(INTERRUPT.to_owned()).or_default() += interrupted;
        let by = row.get(RELEASED_BY).filter(|by| *by > ThreadKey::IDLE);
        *sum.ended_by.entry(ended_by(ctx, by)).or_default() += blocked - interrupted;
    })?;
    if sums.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by_key(|(_, sum)| Reverse(sum.blocked));
    let all = rows.len();
    rows.truncate(ctx.top);
    let of = if focus.is_some() { "the recorded process and new threads" } else { "threads" };
    page.heading(&format!("What {of} waited for: {}", count_of(rows.len(), all, "row")));
    page.paragraph(
        "Blocked time by thread name, system call and object: a lock, a pipe, a connection, a file, a child, or only time. Waits of which neither \
         the call nor the object was recorded are left out. After an epoll set: its descriptor that ended most of the time, and the part of it. Ended by: the thread that ended most of the time. A sleep is no problem by itself.",
    );
    if rows.iter().any(|(_, sum)| !sum.call_sites.is_empty()) {
        page.paragraph("Function: where the program waited for most of the time, outside the C library and the runtime of its language.");
    }
    let mut columns = vec![
        Column::text("thread", 0),
        Column::text("in", 1),
        Column::text("for", 0),
        Column::numbers("waits", 2),
        Column::numbers("blocked ms", 0),
        Column::numbers("longest", 1),
        Column::text("ended by", 0),
    ];
    let has_sites = rows.iter().any(|(_, sum)| !sum.call_sites.is_empty());
    columns.extend(has_sites.then(|| Column::text("function", 1)));
    for ((thread, call, what), sum) in rows {
        let what = what + &sum.mostly_ready();
        let [by, site] = [sum.ended_by, sum.call_sites].map(longest);
        let cells = [thread, call, what, grouped(sum.waits), ms(sum.blocked), ms(sum.longest), by];
        push(&mut columns, cells.into_iter().chain(has_sites.then(|| short(&plain(&site), MAX_NAME))));
    }
    page.grid(columns, 0);
    Ok(())
}

/// Returns the text with the most time.
fn longest(times: BTreeMap<String, Ns>) -> String {
    times.into_iter().max_by_key(|(_, blocked)| *blocked).map_or_else(String::new, |(text, _)| text)
}

/// Returns the threads of the recorded process and those that began during the recording, as its children do; `None`: all threads are
/// selected otherwise, or no process is meant.
fn focus(ctx: &SectionContext<'_>) -> Result<Option<HashSet<ThreadKey>>, EngineError> {
    let Some(pid) = ctx.session.facts().focus.map(i64::from).filter(|_| ctx.is_whole()) else { return Ok(None) };
    let mut of = HashSet::new();
    ctx.each_row(threads::Table, |row| {
        let is_new = row.get(threads::BEGIN_NS) > Ns::ZERO;
        of.extend(Some(row.get(threads::THREAD)).filter(|_| is_new || row.get(threads::PID) == Some(pid)));
    })?;
    Ok(Some(of).filter(|of| !of.is_empty()))
}

fn ended_by(ctx: &SectionContext<'_>, by: Option<ThreadKey>) -> String {
    match by {
        None => String::new(),
        Some(ThreadKey::IDLE) => INTERRUPT.to_owned(),
        by => ctx.name(by),
    }
}

/// An interval whose waits are shown.
pub(crate) struct Interval {
    /// What it is called.
    pub(crate) label: String,
    /// From its begin to its end.
    pub(crate) span: Span,
    /// The thread that waits.
    pub(crate) thread: Option<ThreadKey>,
}

/// The maximum number of rows of an interval.
const MAX_OF_INTERVAL: usize = 2;

/// Shorter waits of an interval are not shown: this part of it, in percent.
const LEAST_PERCENT: i64 = 2;

/// The waits of an interval for one kind of object that one thread held, or ended.
#[derive(Default)]
struct Within {
    waited: Ns,
    /// The longest of them, and what the holder did meanwhile.
    longest: Ns,
    did: String,
}

/// Writes what threads waited for within some intervals, and which threads held it or ended the waits; nothing if there is nothing.
pub(crate) fn write_within(
    page: &mut Page,
    ctx: &SectionContext<'_>,
    intervals: &[Interval],
) -> Result<(), EngineError> {
    let mut any = false;
    ctx.each_row(wait_objects::Table, |row| any |= row.get(wait_objects::OBJECT).is_some())?;
    if !any {
        return Ok(());
    }
    // What the holders of locks did, by the thread that waited and the begin of the wait.
    let mut did = BTreeMap::new();
    ctx.each_row(lock_waits::Table, |row| {
        use lock_waits::*;
        let span = Span::new(row.get(START_NS), row.get(END_NS));
        let shown = |of: &Interval| of.thread == Some(row.get(THREAD)) && of.span.overlap(span).is_some();
        if row.get(HOLDER).is_none() || !intervals.iter().any(shown) {
            return;
        }
        let [ran, ready, blocked] =
            [HOLDER_RUNNING_NS, HOLDER_READY_NS, HOLDER_BLOCKED_NS].map(|column| row.get(column.or_zero()));
        let words = match row.get(HOLDER_REASON.or_empty()) {
            _ if ran >= ready.max(blocked) => "ran".to_owned(),
            _ if ready >= blocked => "was ready".to_owned(),
            "" => "was blocked".to_owned(),
            reason => format!("was blocked in {reason}"),
        };
        did.insert((row.get(THREAD), row.get(START_NS)), words);
    })?;
    let mut waits: BTreeMap<(usize, String, String, String), Within> = BTreeMap::new();
    ctx.each_row(object_waits::Table, |row| {
        use object_waits::*;
        let (thread, start) = (row.get(THREAD), row.get(START_NS));
        let span = Span::new(start, row.get(END_NS));
        let kind = row.get(KIND);
        for (at, interval) in intervals.iter().enumerate().filter(|(_, of)| of.thread == Some(thread)) {
            let Some(within) = interval.span.overlap(span).filter(|_| kind != "unknown") else { continue };
            let mut what = what(kind, row.get(OBJECT.or_empty()), row.get(NAME.or_empty()));
            if let Some(ready) =
                ready(row.get(READY_KIND.or_empty()), row.get(READY_OBJECT.or_empty()), row.get(READY_PATH.or_empty()))
            {
                what = format!("{what}: {ready}");
            }
            let held = row.get(HOLDER).map_or_else(String::new, |holder| ctx.name(Some(holder)));
            let sum = waits.entry((at, what, held, ended_by(ctx, row.get(RELEASED_BY)))).or_default();
            sum.waited += within.len();
            if within.len() > sum.longest {
                (sum.longest, sum.did) = (within.len(), did.get(&(thread, start)).cloned().unwrap_or_default());
            }
        }
    })?;
    let mut columns = vec![
        Column::text("interval", 0),
        Column::text("thread", 1),
        Column::numbers("waited ms", 0),
        Column::text("for", 0),
        Column::text("held by", 0),
        Column::text("which", 0),
        Column::text("ended by", 0),
    ];
    let mut shown = 0;
    for (at, interval) in intervals.iter().enumerate() {
        let mut of: Vec<_> = waits.iter().filter(|((of, ..), _)| *of == at).collect();
        of.retain(|(_, sum)| sum.waited > interval.span.len() * LEAST_PERCENT / 100);
        of.sort_by_key(|(_, sum)| Reverse(sum.waited));
        for ((_, what, held, ended), sum) in of.into_iter().take(MAX_OF_INTERVAL) {
            let (label, thread) = (interval.label.clone(), ctx.name(interval.thread));
            let words = [what, held, &sum.did, ended].map(String::clone);
            push(&mut columns, [label, thread, ms(sum.waited)].into_iter().chain(words));
            shown += 1;
        }
    }
    if shown > 0 {
        page.paragraph("Waits of these threads within them: for what, which thread held it, and which ended the wait:");
        page.grid(columns, 0);
    }
    Ok(())
}
