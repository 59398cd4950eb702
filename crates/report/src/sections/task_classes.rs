//! What kind of task each thread is, and on which type of core it should run.

use super::Section;
use crate::context::{SectionContext, Top, add, count_of};
use crate::words::{TIE, ms, plural, share};
use engine::EngineError;
use model::tables::{self, task_classes};
use model::{Ns, is_kernel_thread, pool_name};
use page::{Column, Page};
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "task_classes",
    about: "what kind of task each thread is (light, sustained, bursty, background), and on which type of core it should run",
    tables: &[&tables::TASK_CLASSES],
    write,
};

/// Threads with one name but for a number at its end, one class and one advice.
#[derive(Clone, Default)]
struct Role {
    name: String,
    class: String,
    cores: Option<String>,
    threads: i64,
    running: Ns,
    ready: Ns,
    blocked: Ns,
    bursts: i64,
    awaited: Option<i64>,
    longest: Ns,
    crowded: Ns,
    low: bool,
}

/// What each class means, and what follows on a machine with several types of cores.
const CLASSES: [(&str, &str, &str); 4] = [
    ("light", "computes while few threads of its program do", "gains most from the fastest cores"),
    ("sustained", "computes while many threads of its program do", "needs all cores"),
    ("bursty", "short work that is frequent, or that other threads wait for", "gains most from the fastest cores"),
    (
        "background",
        "little work that none but background threads wait for, or of low priority",
        "saves energy on the slowest cores",
    ),
];

/// The text of a role in a column.
type Cell = fn(&Role) -> String;

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let (mut roles, mut short) = (BTreeMap::<(String, String, bool), Role>::new(), 0u64);
    ctx.each_row(task_classes::Table, |row| {
        let name = ctx.name(Some(row.get(task_classes::THREAD)));
        // What the kernel does for all programs is no task of the recorded ones.
        if ctx.is_whole() && is_kernel_thread(&name) {
            return;
        }
        let Some(class) = row.get(task_classes::CLASS) else {
            short += 1;
            return;
        };
        let low = row.get(task_classes::IS_LOW_PRIORITY);
        let of = roles.entry((pool_name(&name).to_owned(), class.to_owned(), low)).or_default();
        if of.threads == 0 {
            (of.name, of.class, of.low) = (name.clone(), class.to_owned(), low);
            of.cores = row.get(task_classes::CORES).map(ToOwned::to_owned);
            of.awaited = Some(0);
        }
        of.threads += 1;
        add(&mut of.running, row.get(task_classes::RUNNING_NS));
        add(&mut of.blocked, row.get(task_classes::BLOCKED_NS));
        add(&mut of.bursts, row.get(task_classes::BURSTS));
        add(&mut of.crowded, row.get(task_classes::CROWDED_NS));
        of.longest = of.longest.max(row.get(task_classes::LONGEST_NS));
        add(&mut of.ready, row.get(task_classes::READY_NS));
        of.awaited = of.awaited.zip(row.get(task_classes::AWAITED_BURSTS)).map(|(sum, n)| sum.saturating_add(n));
    })?;
    let mut top = Top::new(ctx.top);
    roles.into_values().for_each(|role| top.push(role.running, role));
    let count = top.count;
    let rows = top.finish();
    if rows.is_empty() {
        return Ok(());
    }
    page.heading(&format!("Kinds of tasks: {}", count_of(rows.len(), count, "role")));
    let has_types = rows.iter().any(|role| role.cores.is_some());
    let mut columns = vec![Column::text("threads", 0), Column::text("class", 0)];
    for role in &rows {
        columns[0].push(if role.threads > 1 {
            format!("{}{TIE}x{TIE}{}", pool_name(&role.name), role.threads)
        } else {
            role.name.clone()
        });
        columns[1].push(if role.low { format!("{} (low priority)", role.class) } else { role.class.clone() });
    }
    if has_types {
        let mut column = Column::text("cores", 0);
        rows.iter().for_each(|role| column.push(role.cores.clone().unwrap_or_default()));
        columns.push(column);
    }
    let numbers: [(&str, u8, Cell); 6] = [
        ("running ms", 0, |role| ms(role.running)),
        ("% demand", 0, |role| {
            let demand = role.running + role.ready;
            share(demand, demand + role.blocked)
        }),
        ("mean burst ms", 1, |role| ms(role.running / role.bursts.max(1))),
        ("longest ms", 2, |role| ms(role.longest)),
        ("% awaited", 0, |role| role.awaited.map_or_else(|| "-".to_owned(), |awaited| share(awaited, role.bursts))),
        ("% crowded", 0, |role| share(role.crowded, role.running)),
    ];
    for (head, rank, cell) in numbers {
        let mut column = Column::numbers(head, rank);
        rows.iter().for_each(|role| column.push(cell(role)));
        columns.push(column);
    }
    page.grid(columns, 0);
    for (class, words, advice) in CLASSES {
        if rows.iter().any(|role| role.class == class) {
            page.item(&if has_types { format!("{class}: {words}; {advice}") } else { format!("{class}: {words}") });
        }
    }
    page.item("demand: running or ready, as a share of its time");
    page.item("awaited: bursts that woke a thread that is no background work");
    page.item("crowded: running time in which many threads of its program were runnable");
    if !has_types {
        page.item("cores of one type: no class has a type of core");
    }
    if short > 0 {
        let threads = plural(short, "other thread");
        page.item(&format!("{threads} without a class: less than 10{TIE}ms of running time in fewer than 10 bursts"));
    }
    Ok(())
}
