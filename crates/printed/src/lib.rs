//! Tables that other tools printed: each is known by its head, never by a file's name, and held to the rules of its kind.
//!
//! Every rule gives a [`Statement`]: what follows from the table's own figures, what the table prints, by how much the two may
//! differ (what rounding to the printed digits can do, unless the rule says otherwise), and whether they agree. What nothing is
//! printed against is a value, and a table of claims holds those against what a document says of them.

mod figure;
mod kinds;
mod limits;
mod sheet;
mod told;

pub use figure::Figure;
pub use sheet::{Head, MOST_BYTES, Sheet};
pub use told::{Rule, Statement, Told, Verdict};

/// A kind of printed table.
pub trait Kind: Sync {
    /// A snake_case noun.
    fn id(&self) -> &'static str;
    /// One sentence for the user: what it is, and the columns by which it is known.
    fn doc(&self) -> &'static str;
    /// Whether a table with these columns is of this kind.
    fn knows(&self, head: &Head) -> bool;
    /// The names of what its rows are of, by which it is compared with others.
    fn runs(&self, sheet: &Sheet, _given: &Given<'_>) -> Vec<String> {
        vec![sheet.name.clone()]
    }
    /// Says all that follows from a table, by itself and beside the others that are given.
    fn check(&self, sheet: &Sheet, given: &Given<'_>, told: &mut Told<'_>);
}

/// Every kind, in the order in which they are asked whether a table is theirs.
pub const KINDS: &[&dyn Kind] = &[
    &kinds::cpu_specs::CpuSpecs,
    &kinds::priority_shares::PriorityShares,
    &kinds::thread_by_cpu::ThreadByCpu,
    &kinds::thread_totals::ThreadTotals,
    &kinds::ready_wait::ReadyWait,
    &kinds::smt_siblings::SmtSiblings,
    &kinds::double_busy::DoubleBusy,
    &kinds::cpu_utilisation::CpuUtilisation,
    &kinds::perf_stat::PerfStat,
    &kinds::contention_times::ContentionTimes,
    &kinds::core_type_grid::CoreTypeGrid,
    &kinds::relative_ips::RelativeIps,
    &kinds::cpi_of_two_systems::CpiOfTwoSystems,
    &kinds::marked_tasks::MarkedTasks,
    &kinds::claims::Claims,
    &kinds::counters_by_system::CountersBySystem,
];

/// Why a text is no table that can be checked.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unread {
    /// No line holds anything.
    #[error("no line holds anything")]
    Empty,
    /// Too long to be what a tool printed for people.
    #[error("longer than {0} MiB, the most that is checked at once: cut it into parts")]
    Long(usize),
    /// The same, in rows.
    #[error("more than {0} rows, the most that are checked at once: cut it into parts")]
    Rows(usize),
    /// The same, in cells.
    #[error("more than {0} cells, the most that are checked at once: cut it into parts")]
    Cells(usize),
    /// The same, in columns.
    #[error("more than {0} columns: a table that was printed for people has fewer")]
    Columns(usize),
    /// Its head is none that is known.
    #[error("no kind of printed table has these columns: `corewise formats` lists those that are known")]
    Unknown,
}

/// Of two runs or tables, the one that is held against the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// What is compared.
    pub over: String,
    /// With what.
    pub under: String,
}

/// What the user says beside the tables.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Asked {
    /// For how long what the tables tell of was measured, in seconds, where they do not say.
    pub span_s: Option<f64>,
    /// The row of a table of processors that the others are of.
    pub processor: Option<String>,
    /// The highest frequency in GHz of the machine that they are of, where no processor is named.
    pub max_ghz: Option<f64>,
    /// What is compared with what.
    pub compare: Vec<Pair>,
    /// The run with SMT on, over the run with SMT off.
    pub smt: Vec<Pair>,
    /// CPUs of a core with SMT on; two where nobody says.
    pub siblings: Option<usize>,
}

/// The tables that are given together, and what is said beside them.
pub struct Given<'a> {
    sheets: &'a [Sheet],
    asked: &'a Asked,
    /// The highest frequency in GHz; why there is none.
    limit: Result<Figure, String>,
}

impl<'a> Given<'a> {
    fn new(sheets: &'a [Sheet], asked: &'a Asked) -> Self {
        Self { sheets, asked, limit: limits::limit(sheets, asked) }
    }

    fn of_kind(&self, id: &str) -> impl Iterator<Item = &'a Sheet> {
        self.sheets.iter().filter(move |s| s.kind.id() == id)
    }

    /// The tables of a sheet's kind that it is to be compared with.
    fn beside(&self, sheet: &Sheet) -> impl Iterator<Item = &'a Sheet> {
        let pairs = self.asked.compare.iter().filter(|p| p.over == sheet.name);
        let kind = sheet.kind.id();
        pairs.flat_map(move |p| self.of_kind(kind).filter(move |s| s.name == p.under))
    }
}

/// Whether a text begins as a printed table does that can be checked; `head` is its first KiBs, or all of a shorter one.
#[must_use]
pub fn is_printed(head: &str) -> bool {
    let whole = head.rfind('\n').map_or(head, |end| &head[..end]);
    read("", whole).is_ok()
}

/// A table, known by its head.
///
/// # Errors
/// It is empty, too long, or of no kind that is known.
pub fn read(name: &str, text: &str) -> Result<Sheet, Unread> {
    let mut lines = match kinds::perf_stat::lines(text)? {
        Some(lines) => lines,
        None => sheet::lines(text)?,
    }
    .into_iter();
    let head = Head::of(&lines.next().ok_or(Unread::Empty)?);
    let kind = KINDS.iter().copied().find(|k| k.knows(&head)).ok_or(Unread::Unknown)?;
    Ok(Sheet::new(name, kind, head, lines.collect()))
}

/// The names of the runs and tables that can be compared.
#[must_use]
pub fn names(sheets: &[Sheet], asked: &Asked) -> Vec<String> {
    let given = Given::new(sheets, asked);
    sheets.iter().flat_map(|s| s.kind.runs(s, &given)).collect()
}

/// All that follows from these tables, in their order; what documents claim of it comes last.
#[must_use]
pub fn check(sheets: &[Sheet], asked: &Asked) -> Vec<Statement> {
    let given = Given::new(sheets, asked);
    let mut out = Vec::new();
    for sheet in sheets {
        sheet.kind.check(sheet, &given, &mut Told::new(&sheet.name, &mut out));
    }
    for sheet in given.of_kind("claims") {
        kinds::claims::hold(sheet, &mut out);
    }
    out
}
