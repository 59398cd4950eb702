//! What the events of the CPUs counted while each thread ran: instructions per cycle and speed by type of core, and other counts.

use super::Section;
use crate::context::{SectionContext, count_of};
use crate::counted::{self, Count, Counters, Speed, Thread, Who, type_name};
use crate::words::grouped;
use engine::{EngineError, TypeMatters};
use model::Ns;
use page::{Bar, Bars, Column, Page, Tone, push};
use std::cmp::Reverse;

pub const SECTION: Section = Section {
    id: "counters",
    about: "counters: instructions per cycle and speed of threads by core type, alone and with a busy sibling, and other counts",
    tables: counted::TABLES,
    write,
};

/// The maximum number of events with a column of their own.
const MAX_EVENTS: usize = 6;
/// From this share of the time on, an event counted all the time.
const ALL: f64 = 0.995;

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let counters = Counters::read(ctx)?;
    if counters.threads.is_empty() {
        return Ok(());
    }
    let mut threads: Vec<(&Who, &Thread)> = counters.threads.iter().collect();
    threads.sort_by_key(|(_, thread)| Reverse(thread.ran_ns()));
    let all = threads.len();
    threads.truncate(ctx.top);
    page.heading("Counters of threads, by core type");
    let shown = count_of(threads.len(), all, "thread");
    let has_speeds = counters.has_speeds();
    if has_speeds {
        speeds(page, ctx, &counters, &threads, &shown);
    }
    others(page, ctx, &counters, &threads, (!has_speeds).then_some(shown.as_str()));
    // Else it is in the part about the data.
    if !ctx.has_all_sections
        && let Some(words) = counted::quality(ctx.session)?
    {
        page.paragraph(&words);
    }
    Ok(())
}

/// Writes instructions per cycle and what follows from them.
fn speeds(page: &mut Page, ctx: &SectionContext<'_>, counters: &Counters, threads: &[(&Who, &Thread)], shown: &str) {
    let types = counters.types();
    let several = types.len() > 1;
    let any = |of: fn(&Speed) -> bool| threads.iter().any(|(_, thread)| thread.speeds.values().any(of));
    let (has_half, has_siblings) =
        (any(|s| s.ipc_half.is_some_and(|half| half > 0.0)), any(|s| s.ipc_alone.or(s.ipc_shared).is_some()));
    page.paragraph(&format!(
        "{shown}. The counters were read at every switch: IPC (instructions per cycle) and the rates are of the time in which the thread ran \
         on that type of core.{}",
        if has_siblings {
            " alone, shared: SMT siblings idle, or at least one busy, from one reading to the next; all other time is mixed, and in neither."
        } else {
            ""
        }
    ));
    if several {
        relative(page, ctx, threads);
    }
    page.picture(picture(ctx, threads, several));
    let mut columns = vec![Column::text("thread", 0), Column::numbers("tid", 3)];
    let mut add = |is_there: bool, column: Column| {
        if is_there {
            columns.push(column);
        }
    };
    add(several, Column::text("type", 0));
    add(true, Column::numbers("IPC", 0));
    add(has_half, Column::numbers("±", 0));
    add(has_siblings, Column::numbers("alone", 1));
    add(has_siblings, Column::numbers("shared", 1));
    add(has_siblings, Column::numbers("mixed %", 3));
    add(true, Column::numbers("CPI", 3));
    add(true, Column::numbers("MIPS", 1));
    add(several, Column::numbers("rel. IPS", 0));
    add(true, Column::numbers("MHz", 1));
    add(true, Column::numbers("coverage %", 2));
    add(true, Column::text("note", 0));
    for (who, thread) in threads {
        for of in &types {
            let speed = thread.speeds.get(of).cloned();
            let note = match &speed {
                Some(speed) => note(speed),
                None => missing(thread, *of, &counters.events).to_owned(),
            };
            if note.is_empty() && speed.is_none() {
                continue;
            }
            let speed = speed.unwrap_or_default();
            let mut cells = vec![name(ctx, who), who.1.to_string()];
            let mut add = |is_there: bool, cell: String| {
                if is_there {
                    cells.push(cell);
                }
            };
            add(several, type_name(*of).replace('_', " "));
            add(true, number(speed.ipc, 2));
            add(has_half, number(speed.ipc_half.filter(|half| *half > 0.0), 2));
            add(has_siblings, number(speed.ipc_alone, 2));
            add(has_siblings, number(speed.ipc_shared, 2));
            add(has_siblings, percent(speed.mixed_ns, speed.enabled_ns));
            add(true, number(speed.cpi, 2));
            add(true, number(speed.mips, 0));
            let is_relative = thread.speeds.len() > 1;
            add(several, number(speed.relative_ips.filter(|_| is_relative), 2));
            add(true, number(speed.mhz, 0));
            add(true, number(speed.coverage.map(|share| 100.0 * share), 1));
            add(true, note);
            push(&mut columns, cells);
        }
    }
    page.grid(columns, 0);
}

/// Says what the speeds on several types of core show.
fn relative(page: &mut Page, ctx: &SectionContext<'_>, threads: &[(&Who, &Thread)]) {
    let mut classes =
        [(TypeMatters::Much, Vec::new()), (TypeMatters::Slightly, Vec::new()), (TypeMatters::Little, Vec::new())];
    for (who, thread) in threads.iter().filter(|(_, thread)| thread.speeds.len() > 1) {
        // Rows that cannot be right support no conclusion.
        let is_right = thread.speeds.values().all(|speed| speed.doubt.is_none());
        let slowest = thread.speeds.values().filter_map(|speed| speed.relative_ips).reduce(f64::min);
        if let Some(ips) = slowest.filter(|_| is_right)
            && let Some((_, names)) = classes.iter_mut().find(|(class, _)| *class == TypeMatters::of(ips))
        {
            names.push(format!("{} {ips:.2}", name(ctx, who)));
        }
    }
    if classes.iter().all(|(_, names)| names.is_empty()) {
        return;
    }
    page.paragraph(&format!(
        "rel. IPS: instructions per second relative to the thread's fastest type. In a published analysis of a game on a hybrid processor, \
         threads at {} or less needed performance cores, and threads at {} or more were limited by memory on any type.",
        TypeMatters::MAX_MUCH,
        TypeMatters::MIN_LITTLE
    ));
    for (class, names) in classes.iter().filter(|(_, names)| !names.is_empty()) {
        let about = match class {
            TypeMatters::Much => "Faster cores matter much",
            TypeMatters::Slightly => "Faster cores matter to some degree",
            TypeMatters::Little => "The type of core matters little",
        };
        page.item(&format!("{about}: {}", names.join(", ")));
    }
}

fn picture(ctx: &SectionContext<'_>, threads: &[(&Who, &Thread)], several: bool) -> Bars {
    let speeds =
        || threads.iter().flat_map(|(who, thread)| thread.speeds.iter().map(move |(of, speed)| (*who, *of, speed)));
    let mips = |speed: &Speed| speed.mips.unwrap_or(0.0).round() as i64;
    let whole = speeds().map(|(_, _, speed)| mips(speed)).max().unwrap_or(0);
    let types: Vec<usize> = {
        let mut types: Vec<usize> = speeds().map(|(_, of, _)| of).collect();
        types.sort_unstable();
        types.dedup();
        types
    };
    let legend = |of: &usize| match several {
        true => (Tone::of_type(type_name(*of)), format!("{} cores", type_name(*of).replace('_', " "))),
        false => (Tone::Blue, "all cores".to_owned()),
    };
    let bar = |(who, of, speed): (&Who, usize, &Speed)| {
        Bar::new(
            format!("{} {}", name(ctx, who), who.1),
            match (speed.ipc, speed.mhz, &speed.doubt) {
                (Some(ipc), Some(mhz), None) => format!("IPC {ipc:.2} at {mhz:.0} MHz"),
                (Some(ipc), Some(mhz), Some(_)) => format!("IPC {ipc:.2} at {mhz:.0} MHz, doubtful"),
                _ => "unknown".to_owned(),
            },
            types.iter().map(|at| if *at == of { mips(speed) } else { 0 }),
            whole,
        )
    };
    Bars {
        title: format!("Instructions per second of running (full width: {} million)", grouped(whole)),
        legend: types.iter().map(legend).collect(),
        bars: speeds().map(bar).collect(),
    }
}

/// Writes the counts of events that make no rate.
fn others(
    page: &mut Page,
    ctx: &SectionContext<'_>,
    counters: &Counters,
    threads: &[(&Who, &Thread)],
    shown: Option<&str>,
) {
    let is_shown = |event: &str| shown.is_some() || model::ipc_part(event).is_none();
    let events: Vec<usize> = (0..counters.events.len()).filter(|at| is_shown(&counters.events[*at])).collect();
    if events.is_empty() {
        return;
    }
    let (events, more) = events.split_at(events.len().min(MAX_EVENTS));
    let shown = shown.map(|shown| format!("{shown}. ")).unwrap_or_default();
    let more = match more.len() {
        0 => String::new(),
        more => format!(" {more} more events: corewise table … thread_counters."),
    };
    page.paragraph(&format!(
        "{shown}Counts while each thread ran. ~: estimated from the share of the time in which the event counted, with the 95 % interval.{more}"
    ));
    let types = counters.types();
    let mut columns = vec![Column::text("thread", 0), Column::numbers("tid", 3)];
    if types.len() > 1 {
        columns.push(Column::text("type", 0));
    }
    columns.extend(events.iter().map(|at| Column::numbers(&counters.events[*at], 0)));
    columns.push(Column::text("note", 0));
    for (who, thread) in threads {
        for of in &types {
            let counts: Vec<Option<&Count>> = events.iter().map(|event| thread.counts.get(&(*event, *of))).collect();
            if counts.iter().all(|count| count.is_none_or(|count| count.state == "no_event")) {
                continue;
            }
            let mut cells = vec![name(ctx, who), who.1.to_string()];
            if types.len() > 1 {
                cells.push(type_name(*of).replace('_', " "));
            }
            cells.extend(counts.iter().map(|count| count.map_or_else(|| "-".to_owned(), cell)));
            let named = events.iter().zip(&counts);
            let mut doubts = named.filter_map(|(event, count)| {
                Some(format!("{} doubtful: {}", counters.events[*event], (*count)?.doubt.as_ref()?))
            });
            cells.push(doubts.next().unwrap_or_default());
            push(&mut columns, cells);
        }
    }
    page.grid(columns, 0);
}

/// A count, or why there is none.
fn cell(count: &Count) -> String {
    match count.state.as_str() {
        "counted" => grouped(count.count),
        "multiplexed" => {
            let share = percent(count.counted_ns, count.enabled_ns);
            let whole = |value: f64| grouped(value.round() as i64);
            match (count.estimate, count.half) {
                (Some(estimate), Some(half)) => format!("~{} ±{} ({share} %)", whole(estimate), whole(half)),
                (Some(estimate), None) => format!("~{} ({share} %)", whole(estimate)),
                _ => format!("too little ({share} %)"),
            }
        }
        state => words(state).to_owned(),
    }
}

fn words(state: &str) -> &'static str {
    match state {
        "not_on_type" => "not on that type",
        "no_event" => "no event",
        _ => "not counted",
    }
}

/// Why a thread has no rates on a type; empty if its counts do not say.
fn missing(thread: &Thread, of: usize, events: &[String]) -> &'static str {
    let is_of = |((event, at), _): &(&(usize, usize), &Count)| {
        *at == of && events.get(*event).is_some_and(|name| model::ipc_part(name).is_some())
    };
    let states: Vec<&str> = thread.counts.iter().filter(is_of).map(|(_, count)| count.state.as_str()).collect();
    // On a machine with several PMUs, the events of the others do not exist on this type.
    ["not_on_type", "not_counted", "no_event"].into_iter().find(|state| states.contains(state)).map_or("", words)
}

fn note(speed: &Speed) -> String {
    let share = speed.counted_ns.as_f64() / speed.enabled_ns.max(Ns(1)).as_f64();
    let mut notes = Vec::new();
    match (&speed.doubt, speed.ipc) {
        (Some(why), _) => notes.push(format!("doubtful: {why}")),
        (None, None) if speed.counted_ns == Ns::ZERO => notes.push("not counted in the same time".to_owned()),
        (None, None) => notes.push("counted for too little of the time".to_owned()),
        (None, Some(_)) => {}
    }
    if share < ALL && speed.counted_ns > Ns::ZERO {
        notes.push(format!("multiplexed {} %", percent(speed.counted_ns, speed.enabled_ns)));
    }
    notes.join("; ")
}

fn name(ctx: &SectionContext<'_>, who: &Who) -> String {
    who.0.map_or_else(|| "unknown".to_owned(), |key| ctx.name(Some(key)))
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

fn percent(part: Ns, whole: Ns) -> String {
    crate::words::share(part, whole)
}
