//! What the events of the CPUs counted: the rows of the tables of counters by thread and type of core, and whether they can be right.

use crate::context::SectionContext;
use crate::words::{grouped, plural};
use engine::{EngineError, Session};
use model::tables::{self, cpu_counters, thread_counters, thread_ipc};
use model::{CoreType, Ns, Row, TableType, ThreadKey, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// The core types, the fastest first.
const CORE_TYPES: [CoreType; 5] =
    [CoreType::Performance, CoreType::Middle, CoreType::Efficient, CoreType::LowPower, CoreType::Uniform];

/// A thread: its key, if the source has more than counts of it, and its TID.
pub type Who = (Option<ThreadKey>, Tid);

/// The counts of an event, of one thread on one type of core.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Count {
    /// As in the table.
    pub state: String,
    pub count: i64,
    pub enabled_ns: Ns,
    pub counted_ns: Ns,
    /// The count for all of the time and half the width of its interval; `None` if it is refused, or has no interval.
    pub estimate: Option<f64>,
    pub half: Option<f64>,
    pub doubt: Option<String>,
}

/// How fast a thread ran on one type of core.
#[derive(Clone, Debug, Default)]
pub struct Speed {
    pub counted_ns: Ns,
    pub enabled_ns: Ns,
    /// The time with siblings in both states, or in unknown ones.
    pub mixed_ns: Ns,
    pub ipc: Option<f64>,
    pub ipc_half: Option<f64>,
    pub ipc_alone: Option<f64>,
    pub ipc_shared: Option<f64>,
    pub cpi: Option<f64>,
    pub mips: Option<f64>,
    pub mhz: Option<f64>,
    pub relative_ips: Option<f64>,
    pub coverage: Option<f64>,
    pub doubt: Option<String>,
}

/// The counts of one thread.
#[derive(Default)]
pub struct Thread {
    /// By event, as an index into [`Counters::events`], and type.
    pub counts: BTreeMap<(usize, usize), Count>,
    /// By type.
    pub speeds: BTreeMap<usize, Speed>,
}

impl Thread {
    /// The time between readings, of the event that was enabled longest.
    pub fn ran_ns(&self) -> Ns {
        let mut by_event = BTreeMap::<usize, Ns>::new();
        for ((event, _), count) in &self.counts {
            let sum = by_event.entry(*event).or_default();
            *sum += count.enabled_ns;
        }
        by_event.into_values().max().unwrap_or(Ns::ZERO)
    }
}

/// All threads with counts.
#[derive(Default)]
pub struct Counters {
    /// The names of the events, in order of their first row.
    pub events: Vec<String>,
    pub threads: BTreeMap<Who, Thread>,
}

/// Returns the place of a type among all types, the fastest first.
fn place(core_type: &str) -> usize {
    CORE_TYPES.iter().position(|of| of.as_str() == core_type).unwrap_or(CORE_TYPES.len() - 1)
}

/// Returns the name of a type by its place.
pub fn type_name(place: usize) -> &'static str {
    CORE_TYPES.get(place).map_or("", |of| of.as_str())
}

impl Counters {
    /// Reads the counts of the selected threads.
    pub fn read(ctx: &SectionContext<'_>) -> Result<Self, EngineError> {
        let mut all = Self::default();
        ctx.each_row(thread_counters::Table, |row| all.add_count(row))?;
        if !all.threads.is_empty() {
            ctx.each_row(thread_ipc::Table, |row| all.add_speed(row))?;
        }
        Ok(all)
    }

    /// The types on which any thread has counts or could have.
    pub fn types(&self) -> Vec<usize> {
        let types: BTreeSet<usize> =
            self.threads.values().flat_map(|thread| thread.counts.keys().map(|(_, of)| *of)).collect();
        types.into_iter().collect()
    }

    /// Whether there are instructions per cycle.
    pub fn has_speeds(&self) -> bool {
        self.threads.values().any(|thread| !thread.speeds.is_empty())
    }

    fn add_count(&mut self, row: &Row<'_, thread_counters::Table>) {
        use thread_counters as of;
        let name = row.get(of::COUNTER);
        let event = self.events.iter().position(|event| event == name).unwrap_or_else(|| {
            self.events.push(name.to_owned());
            self.events.len() - 1
        });
        let thread = self.threads.entry((row.get(of::THREAD), row.get(of::TID))).or_default();
        let [enabled, counted] = row.all([of::ENABLED_NS, of::COUNTED_NS]);
        let half = row.get(of::HIGH).zip(row.get(of::LOW)).map(|(high, low)| (high - low) / 2.0);
        let key = (event, place(row.get(of::CORE_TYPE)));
        let new = Count {
            state: row.get(of::STATE).to_owned(),
            count: row.get(of::COUNT).unwrap_or(0),
            enabled_ns: enabled,
            counted_ns: counted,
            estimate: row.get(of::ESTIMATE),
            half,
            doubt: row.get(of::DOUBT).map(str::to_owned),
        };
        match thread.counts.get_mut(&key) {
            Some(sum) => sum.add(new),
            None => _ = thread.counts.insert(key, new),
        }
    }

    fn add_speed(&mut self, row: &Row<'_, thread_ipc::Table>) {
        use thread_ipc as of;
        let thread = self.threads.entry((row.get(of::THREAD), row.get(of::TID))).or_default();
        let speed = thread.speeds.entry(place(row.get(of::CORE_TYPE))).or_default();
        let [counted, enabled] = row.all([of::COUNTED_NS, of::ENABLED_NS]);
        let [ipc, low, high] = row.all([of::IPC, of::IPC_LOW, of::IPC_HIGH]);
        match row.get(of::SIBLING) {
            "idle" => speed.ipc_alone = ipc,
            "busy" => speed.ipc_shared = ipc,
            "mixed" | "unknown" => speed.mixed_ns += enabled,
            "all" => {
                (speed.counted_ns, speed.enabled_ns, speed.ipc) = (counted, enabled, ipc);
                speed.ipc_half = high.zip(low).map(|(high, low)| (high - low) / 2.0);
                (speed.cpi, speed.mips, speed.mhz) = (row.get(of::CPI), row.get(of::MIPS), row.get(of::EFFECTIVE_MHZ));
                (speed.relative_ips, speed.coverage) = (row.get(of::RELATIVE_IPS), row.get(of::COVERAGE));
                speed.doubt = row.get(of::DOUBT).map(str::to_owned);
            }
            _ => {}
        }
    }
}

impl Count {
    /// Adds the counts with another state of the siblings.
    fn add(&mut self, more: Self) {
        let both = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
        self.count = self.count.saturating_add(more.count);
        self.enabled_ns += more.enabled_ns;
        self.counted_ns += more.counted_ns;
        // The worst case: the errors add up.
        (self.estimate, self.half) = (both(self.estimate, more.estimate), both(self.half, more.half));
        self.doubt = self.doubt.take().or(more.doubt);
        self.state = match () {
            () if self.counted_ns == Ns::ZERO => "not_counted",
            () if self.counted_ns < self.enabled_ns => "multiplexed",
            () => "counted",
        }
        .to_owned();
    }
}

/// The numbers of rows with and without a doubt.
#[derive(Default)]
struct Doubts {
    rows: u64,
    doubtful: u64,
    first: Option<String>,
}

impl Doubts {
    fn add(&mut self, doubt: Option<&str>, of: impl FnOnce() -> String) {
        self.rows += 1;
        if let Some(why) = doubt {
            self.doubtful += 1;
            self.first.get_or_insert_with(|| format!("{}: {why}", of()));
        }
    }
}

/// Says whether the counts of a trace can be right, in a sentence; `None` without counts.
///
/// # Errors
/// The trace cannot be read.
pub fn quality(session: &Session) -> Result<Option<String>, EngineError> {
    let mut doubts = Doubts::default();
    // By event and core type: what threads counted, and what CPUs counted while threads ran.
    let mut sums = BTreeMap::<(String, String), [i64; 2]>::new();
    let mut add = |event: &str, of: &str, at: usize, count: Option<i64>| {
        if let Some(count) = count {
            let sum = &mut sums.entry((event.to_owned(), of.to_owned())).or_default()[at];
            *sum = sum.saturating_add(count);
        }
    };
    each(session, thread_counters::Table, |row| {
        use thread_counters as of;
        let (event, tid) = (row.get(of::COUNTER), row.get(of::TID));
        add(event, row.get(of::CORE_TYPE), 0, row.get(of::COUNT));
        doubts.add(row.get(of::DOUBT), || format!("{event} of TID {tid}"));
    })?;
    let mut have_cpus = false;
    each(session, cpu_counters::Table, |row| {
        use cpu_counters as of;
        have_cpus = true;
        let (event, cpu) = (row.get(of::COUNTER), row.get(of::CPU));
        add(event, row.get(of::CORE_TYPE), 1, row.get(of::THREADS_COUNT));
        doubts.add(row.get(of::DOUBT), || format!("{event} of CPU {cpu}"));
    })?;
    each(session, thread_ipc::Table, |row| {
        use thread_ipc as of;
        let tid = row.get(of::TID);
        doubts.add(row.get(of::DOUBT), || format!("rates of TID {tid}"));
    })?;
    if doubts.rows == 0 {
        return Ok(None);
    }
    let off = sums.iter().find(|(_, [threads, cpus])| threads != cpus);
    let sums = match off {
        _ if !have_cpus => "they are of threads alone, as their CPUs are not known".to_owned(),
        None => "the counts of threads sum to those of their CPUs".to_owned(),
        Some(((event, of), [threads, cpus])) => format!(
            "INCONSISTENT: threads have {} {event} on {} cores, but the CPUs {}",
            grouped(*threads),
            of.replace('_', " "),
            grouped(*cpus)
        ),
    };
    let rows = plural(doubts.rows, "count and rate").replace("count and rates", "counts and rates");
    Ok(Some(match doubts.first {
        None => format!("Counters: no rule contradicts the {rows}; {sums}."),
        Some(first) => format!(
            "Counters: {} of {rows} cannot be right or are missing, marked where they are shown (first: {first}); {sums}.",
            grouped(doubts.doubtful as i64)
        ),
    }))
}

/// Calls `each` for all rows of a table.
fn each<T: TableType>(session: &Session, of: T, mut each: impl FnMut(&Row<'_, T>)) -> Result<(), EngineError> {
    _ = of;
    session.rows(T::DEF.name, &mut |rows| {
        rows.iter().for_each(|row| each(&Row::new(row)));
        Ok(())
    })
}

/// The tables that are read.
pub const TABLES: &[&model::TableDef] = &[&tables::THREAD_IPC, &tables::THREAD_COUNTERS, &tables::CPU_COUNTERS];
