//! Verifies tables that other tools printed. The kind of a table is recognised by its columns, never by the file's name.
//!
//! Every rule gives [`Statement`]s: the value computed from the table's own figures, the printed value, the tolerance (the rounding of the
//! printed digits, unless the rule says otherwise), and whether they agree. A value without a printed counterpart can be verified
//! by a table of claims, which lists the values in a document.

mod figure;
mod kinds;
mod limits;
mod measured;
mod running;
mod sheet;
mod statement;

pub use figure::Figure;
pub use measured::Measured;
pub use sheet::{Head, MAX_BYTES, Sheet};
pub use statement::{Rule, Statement, StatementSink, Verdict};

/// A kind of printed table.
pub trait Kind: Sync {
    /// The id, a snake_case noun.
    fn id(&self) -> &'static str;
    /// One sentence for the user: what it is, and its columns.
    fn doc(&self) -> &'static str;
    /// Whether a table with these columns is of this kind.
    fn matches(&self, head: &Head) -> bool;
    /// The names of the runs in the table, by which they are compared with others.
    fn runs(&self, sheet: &Sheet, _ctx: &CheckContext<'_>) -> Vec<String> {
        vec![sheet.name.clone()]
    }
    /// What the table measured, by run; `None`: nothing that can be compared with another table.
    fn measured(&self, _sheet: &Sheet) -> Option<Vec<Measured>> {
        None
    }
    /// Adds all statements about a table, alone and compared with the other tables.
    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>);
}

/// All kinds, in the order in which they are tried.
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
    &kinds::event_totals::EventTotals,
    &kinds::event_totals::EventFunctions,
    &kinds::battery_life::BatteryLife,
    &kinds::contention_times::ContentionTimes,
    &kinds::migration_bench::MigrationBench,
    &kinds::openmp_chunks::OpenmpChunks,
    &kinds::core_type_grid::CoreTypeGrid,
    &kinds::relative_ips::RelativeIps,
    &kinds::cpi_of_two_systems::CpiOfTwoSystems,
    &kinds::marked_tasks::MarkedTasks,
    &kinds::toplev_nodes::ToplevNodes,
    &kinds::claims::Claims,
    &kinds::counters_by_system::CountersBySystem,
];

/// Why a text is not a table that can be checked.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// There are no lines with content.
    #[error("the table is empty")]
    Empty,
    /// The text is too long.
    #[error("longer than {0} MiB, the maximum; split it into parts")]
    Long(usize),
    /// There are too many rows.
    #[error("more than {0} rows, the maximum; split it into parts")]
    Rows(usize),
    /// There are too many cells.
    #[error("more than {0} cells, the maximum; split it into parts")]
    Cells(usize),
    /// There are too many columns.
    #[error("more than {0} columns, the maximum")]
    Columns(usize),
    /// The columns are not those of a known kind.
    #[error("unknown columns; `corewise formats` lists the known kinds of printed tables")]
    Unknown,
}

/// Two runs or tables to compare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The compared run or table.
    pub over: String,
    /// The reference.
    pub under: String,
}

/// Options of the user.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Request {
    /// The duration of the measurement in seconds, if the tables do not contain it.
    pub span_s: Option<f64>,
    /// The row in a table of processors that describes the machine.
    pub processor: Option<String>,
    /// The highest frequency of the machine in GHz, if no processor is named.
    pub max_ghz: Option<f64>,
    /// The nominal power of the processor package (TDP) in watts.
    pub tdp_w: Option<f64>,
    /// The runs and tables to compare.
    pub compare: Vec<Pair>,
    /// Runs with SMT on, compared with SMT off.
    pub smt: Vec<Pair>,
    /// CPUs per core with SMT on; two by default.
    pub siblings: Option<usize>,
}

/// All tables of a check, and its options.
pub struct CheckContext<'a> {
    sheets: &'a [Sheet],
    request: &'a Request,
    /// The highest frequency in GHz, or why it is unknown.
    limit: Result<Figure, String>,
}

impl<'a> CheckContext<'a> {
    fn new(sheets: &'a [Sheet], request: &'a Request) -> Self {
        Self { sheets, request, limit: limits::limit(sheets, request) }
    }

    fn of_kind(&self, id: &str) -> impl Iterator<Item = &'a Sheet> {
        self.sheets.iter().filter(move |s| s.kind.id() == id)
    }

    /// The tables of the same kind with which a table is compared.
    fn compared_with(&self, sheet: &Sheet) -> impl Iterator<Item = &'a Sheet> {
        let pairs = self.request.compare.iter().filter(|p| p.over == sheet.name);
        let kind = sheet.kind.id();
        pairs.flat_map(move |p| self.of_kind(kind).filter(move |s| s.name == p.under))
    }
}

/// Whether a text starts like a printed table that can be checked; `head` is its first KiBs, or all of a shorter text.
#[must_use]
pub fn is_printed(head: &str) -> bool {
    let whole = head.rfind('\n').map_or(head, |end| &head[..end]);
    read("", whole).is_ok()
}

/// Parses a table; its columns determine the kind.
///
/// # Errors
/// It is empty, too long, or of an unknown kind.
pub fn read(name: &str, text: &str) -> Result<Sheet, ReadError> {
    let mut lines = match kinds::perf_stat::lines(text)? {
        Some(lines) => lines,
        None => sheet::lines(text)?,
    }
    .into_iter();
    let head = Head::of(&lines.next().ok_or(ReadError::Empty)?);
    let kind = KINDS.iter().copied().find(|k| k.matches(&head)).ok_or(ReadError::Unknown)?;
    Ok(Sheet::new(name, kind, head, lines.collect()))
}

/// The names of the runs and tables that can be compared.
#[must_use]
pub fn names(sheets: &[Sheet], request: &Request) -> Vec<String> {
    let ctx = CheckContext::new(sheets, request);
    sheets.iter().flat_map(|s| s.kind.runs(s, &ctx)).collect()
}

/// Checks all tables in order; claims are verified last.
#[must_use]
pub fn check(sheets: &[Sheet], request: &Request) -> Vec<Statement> {
    let ctx = CheckContext::new(sheets, request);
    let mut out = Vec::new();
    for sheet in sheets {
        sheet.kind.check(sheet, &ctx, &mut StatementSink::new(&sheet.name, &mut out));
    }
    for sheet in ctx.of_kind("claims") {
        kinds::claims::verify(sheet, &mut out);
    }
    out
}
