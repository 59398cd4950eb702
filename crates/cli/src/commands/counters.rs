//! `corewise counters`: lists what a machine can count.

use crate::args::Global;
use crate::failure::{Failure, OK};
use crate::output::{print, say, stdout};
use ::counters::{Attr, Event, EventName, GROUPS, HARDWARE, Pmu, Pmus, Role, SOFTWARE, Term, intel, resolve};
use capture::{Trial, Untried, counters_that_fit, try_counters};
use clap::ValueEnum;
use engine::{Format, TableWriter};
use model::{Col, CpuId, Kind, MadeFrom, Shows, TableDef, Value, words};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const AFTER: &str = "\
Examples:
  corewise counters                    the PMUs of this machine and the events that every machine has a name for
  sudo corewise counters               also tries each event, and how many can be counted at the same time
  corewise counters l3                 all events whose name or description has l3, Intel's names too
  corewise counters --format csv
  corewise counters --machine tree     a machine whose /sys and /proc are in the folder tree

Events have generic names (cycles), names of the kernel's PMUs (msr/tsc/, slots) and, on Intel's processors, those of Intel's lists \
(INST_RETIRED.ANY). Raw events are written as perf does: cpu_core/event=0xc0,umask=0x1/. :u counts user mode only, :k kernel mode only; \
braces keep events together: {cycles,instructions}. On a machine with several kinds of core each event has its own encoding on each, \
or is not there.";

/// List what this machine can count, by core type, and why not
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// List only events whose name or description contains this, in capitals or not; also those of Intel's lists
    filter: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Md,
    Csv,
    Json,
}

/// The rows of the formats for other programs: an event on a PMU.
static TABLE: TableDef = TableDef {
    name: "counters",
    version: 1,
    made_from: MadeFrom::Elsewhere,
    large: false,
    doc: "What a machine can count: one row for each event and PMU.",
    key: &["event", "pmu"],
    cols: &[
        Col::text("event", Shows::Nothing, "The event, as it is written after --counters."),
        Col::text("source", Shows::Nothing, "Whose name it is: generic, software, sysfs or intel."),
        Col::text("pmu", Shows::Nothing, "The PMU."),
        Col::text("core_type", Shows::Nothing, "The type of the PMU's cores.").or_null(),
        Col::text("cpus", Shows::Nothing, "The PMU's CPUs."),
        Col::new("counted", Kind::Bool, "", "Whether it can be counted; null if that was not tried.").or_null(),
        Col::text("why", Shows::Nothing, "Why it cannot be counted, or was not tried.").or_null(),
        Col::new("type", Kind::Int, "", "perf_event_attr.type.").or_null(),
        Col::text("config", Shows::Nothing, "perf_event_attr.config, config1 and config2, hexadecimal.").or_null(),
        Col::text("description", Shows::Nothing, "What is counted."),
    ],
};

/// Whether an event can be counted.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Status {
    Yes,
    No(String),
    NotTried(Option<Untried>),
}

/// An event on a PMU.
struct Row {
    event: String,
    source: &'static str,
    pmu: String,
    core_type: Option<String>,
    cpus: String,
    status: Status,
    attr: Option<Attr>,
    doc: String,
}

impl Row {
    fn values(&self) -> Vec<Value> {
        let text = |text: &str| Value::Text(text.to_owned());
        let (counted, why) = match &self.status {
            Status::Yes => (Value::Bool(true), Value::Null),
            Status::No(why) => (Value::Bool(false), text(why)),
            Status::NotTried(why) => (Value::Null, text(&untried(why.as_ref()))),
        };
        let config = |attr: Attr| format!("{:#x} {:#x} {:#x}", attr.config, attr.config1, attr.config2);
        vec![
            text(&self.event),
            text(self.source),
            text(&self.pmu),
            self.core_type.as_deref().map_or(Value::Null, text),
            text(&self.cpus),
            counted,
            why,
            self.attr.map_or(Value::Null, |attr| Value::Int(attr.kind.into())),
            self.attr.map_or(Value::Null, |attr| Value::Text(config(attr))),
            text(&self.doc),
        ]
    }
}

/// Tries events on this machine, or says why not.
enum Trials {
    Live,
    /// The machine is a recorded one.
    Recorded,
}

impl Trials {
    fn of(&self, attr: &Attr, cpu: Option<CpuId>) -> Status {
        let (Self::Live, Some(cpu)) = (self, cpu) else { return Status::NotTried(None) };
        match try_counters(&[*attr], cpu) {
            Ok(Trial::Fits) => Status::Yes,
            Ok(Trial::NotSupported) => Status::No("the kernel refuses it here".into()),
            Ok(Trial::TooMany) => Status::No("others use the counters that it needs".into()),
            Err(why) => Status::NotTried(Some(why)),
        }
    }
}

/// Runs the command.
///
/// # Errors
/// `--machine` is no tree of files, or the output cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    let (machine, trials) = match &global.machine {
        None => (Pmus::live(), Trials::Live),
        Some(path) => match Pmus::recorded(path) {
            Some(machine) => (machine, Trials::Recorded),
            None if !path.exists() => return Err(Failure::not_found(path)),
            None => {
                let what = "describes no PMUs: give a folder with the machine's sys and proc";
                return Err(Failure::new(format!("{}: {what}", path.display())));
            }
        },
    };
    let filter = args.filter.as_deref().map(str::to_lowercase);
    let rows = rows(&machine, &trials, filter.as_deref());
    if let (true, Some(filter)) = (rows.is_empty(), &args.filter) {
        say(&format!(
            "corewise: nothing that this machine counts has {} in its name or description",
            words::plain(filter)
        ));
    }
    let format = match args.format {
        Form::Text => {
            print(&text(&machine, &trials, &rows, filter.is_some()))?;
            return Ok(OK);
        }
        Form::Md => Format::Markdown,
        Form::Csv => Format::Csv,
        Form::Json => Format::Json,
    };
    let mut out = stdout()?;
    let failed = |why: String| Failure::new(why);
    let mut writer = TableWriter::new(&TABLE, None, format, &mut out).map_err(|why| failed(why.to_string()))?;
    for row in &rows {
        writer.push(&row.values()).map_err(|why| failed(why.to_string()))?;
    }
    writer.finish().map_err(|why| failed(why.to_string()))?;
    Ok(OK)
}

/// Returns all events of a machine, those of Intel's lists only with a filter.
fn rows(machine: &Pmus, trials: &Trials, filter: Option<&str>) -> Vec<Row> {
    let mut rows = Vec::new();
    let wanted = |texts: &[&str]| filter.is_none_or(|f| texts.iter().any(|text| text.to_lowercase().contains(f)));
    let event = |name| Event { name, user: false, kernel: false, at: 0 };
    for hardware in HARDWARE {
        if wanted(&[hardware.name, hardware.doc, hardware.alias.unwrap_or_default()]) {
            push(&mut rows, &event(EventName::Hardware(hardware)), "generic", hardware.doc, machine, trials);
        }
    }
    for software in SOFTWARE {
        if wanted(&[software.name, software.doc, software.alias.unwrap_or_default()]) {
            push(&mut rows, &event(EventName::Software(software)), "software", software.doc, machine, trials);
        }
    }
    for pmu in &machine.all {
        for name in pmu.events.keys() {
            let term = Term { name: name.clone(), value: None, at: 0 };
            let event = event(EventName::OfPmu { pmu: pmu.name.clone(), terms: vec![term] });
            if wanted(&[&event.to_string()]) {
                push(&mut rows, &event, "sysfs", "", machine, trials);
            }
        }
    }
    if filter.is_some() {
        let mut names: BTreeMap<&str, &str> = BTreeMap::new();
        for (_, list) in lists(machine) {
            names.extend(list.events().filter(|e| wanted(&[e.name, e.doc])).map(|e| (e.name, e.doc)));
        }
        for (name, doc) in names {
            push(&mut rows, &event(EventName::Named(name.to_owned())), "intel", doc, machine, trials);
        }
    }
    rows
}

/// Returns Intel's lists of a machine.
fn lists(machine: &Pmus) -> Vec<(&Pmu, intel::List)> {
    let list = |pmu| intel::list_of(machine.processor.as_ref()?, pmu).map(|list| (pmu, list));
    machine.core().filter_map(list).collect()
}

/// Adds the rows of an event.
fn push(rows: &mut Vec<Row>, event: &Event, source: &'static str, doc: &str, machine: &Pmus, trials: &Trials) {
    let row = |pmu: String, status: Status, attr: Option<Attr>| {
        let of = machine.named(&pmu);
        let core_type = of.map(Pmu::core_type_names).filter(|names| !names.is_empty());
        let cpus = of.map_or_else(|| "all".to_owned(), Pmu::cpu_list);
        Row { event: event.to_string(), source, core_type, cpus, pmu, status, attr, doc: doc.to_owned() }
    };
    match resolve(event, machine) {
        Ok(resolved) => rows.extend(resolved.on.into_iter().map(|on| match on.attr {
            Ok(attr) => {
                let pmu = machine.named(&on.pmu);
                let cpus = pmu.and_then(|pmu| pmu.cpus.as_ref());
                // Software and dynamic PMUs without a list count on every CPU.
                let cpu = cpus.map_or(Some(CpuId(0)), |cpus| cpus.first().copied());
                row(on.pmu, trials.of(&attr, cpu), Some(attr))
            }
            Err(why) => row(on.pmu, Status::No(why.to_string()), None),
        })),
        Err(why) => {
            let pmu = match &event.name {
                EventName::OfPmu { pmu, .. } => pmu.clone(),
                _ => "none".to_owned(),
            };
            let why = match machine.why_no_core() {
                Some(why) if pmu == "none" => why.to_owned(),
                _ => why.what,
            };
            rows.push(row(pmu, Status::No(why), None));
        }
    }
}

/// Returns the listing for people.
fn text(machine: &Pmus, trials: &Trials, rows: &[Row], filtered: bool) -> String {
    let mut out = String::new();
    if !filtered {
        let _ = writeln!(out, "PMUs");
        let width = machine.all.iter().map(|pmu| pmu.name.len()).max().unwrap_or(0);
        for pmu in &machine.all {
            let _ = writeln!(out, "  {:width$}  {}", pmu.name, described(pmu, machine, trials));
        }
        for note in notes(machine, rows) {
            let _ = writeln!(out, "Note: {note}");
        }
        let width = GROUPS.iter().map(|group| group.name.len()).max().unwrap_or(0);
        let _ = writeln!(out, "\nGroups");
        for group in GROUPS {
            let _ = writeln!(out, "  {:width$}  {}  {}", group.name, group.events, group.doc);
        }
        out.push('\n');
    }
    // The rows of an event on several PMUs are one line.
    let events: Vec<&[Row]> = rows.chunk_by(|a, b| a.event == b.event && a.source == b.source).collect();
    let width = events.iter().filter_map(|of| of.first()).map(|row| row.event.len()).max().unwrap_or(0).min(48);
    let mut source = "";
    for of in events {
        let Some(first) = of.first() else { continue };
        if first.source != source {
            source = first.source;
            let title = match source {
                "generic" => "Generic events",
                "software" => "Software events",
                "sysfs" => "Events of the kernel's PMUs",
                _ => "Intel's names",
            };
            let _ = writeln!(out, "{title}");
        }
        let all_same = of.iter().all(|row| row.status == first.status);
        let status: Vec<String> = match of {
            [_] => vec![word(&first.status, machine)],
            _ if all_same => vec![word(&first.status, machine)],
            _ => of.iter().map(|row| format!("{} {}", row.pmu, word(&row.status, machine))).collect(),
        };
        let line = format!("  {:width$}  {}  {}", first.event, status.join(", "), first.doc);
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if !filtered {
        for (pmu, list) in lists(machine) {
            let n = list.events().count();
            let _ = writeln!(
                out,
                "Intel's list {} {} ({}): {n} names, searched by `corewise counters FILTER`",
                list.name, list.version, pmu.name
            );
        }
    }
    out
}

fn word(status: &Status, machine: &Pmus) -> String {
    match status {
        Status::Yes => "yes".into(),
        // Why is a note.
        Status::No(why) if machine.why_no_core() == Some(why.as_str()) => "no".into(),
        Status::No(why) => format!("no ({why})"),
        // Why is a note.
        Status::NotTried(_) => "not tried".into(),
    }
}

/// Describes a PMU: what it counts for, and how much at the same time.
fn described(pmu: &Pmu, machine: &Pmus, trials: &Trials) -> String {
    match pmu.role {
        Role::Core => {
            let fit = match trials {
                Trials::Live => fit(pmu, machine),
                Trials::Recorded => "number of counters not tried".to_owned(),
            };
            let cpus = pmu.cpu_list();
            let cpus = if cpus.is_empty() { "none online".to_owned() } else { cpus };
            format!("{} cores, CPU {cpus}: {fit}", pmu.core_type_names())
        }
        Role::Software => "the kernel's own counts, on every CPU".to_owned(),
        Role::Dynamic if pmu.events.is_empty() => "has no named events".to_owned(),
        Role::Dynamic => "on every CPU".to_owned(),
        Role::Shared => {
            format!("counts for several CPUs together (read on CPU {}): belongs to no thread", pmu.cpu_list())
        }
    }
}

/// Says how many events of a core PMU are counted at the same time: of one that any counter can count, if it is there.
fn fit(pmu: &Pmu, machine: &Pmus) -> String {
    let Some(cpu) = pmu.cpus.as_ref().and_then(|cpus| cpus.first().copied()) else { return "not tried".to_owned() };
    let mut failed = "none of its events can be counted".to_owned();
    for name in ["branches", "cycles"] {
        let Some(hardware) = HARDWARE.iter().find(|event| event.name == name) else { continue };
        let event = Event { name: EventName::Hardware(hardware), user: false, kernel: false, at: 0 };
        let Ok(resolved) = resolve(&event, machine) else { continue };
        let Some(Ok(attr)) = resolved.on.iter().find(|on| on.pmu == pmu.name).map(|on| &on.attr) else { continue };
        match counters_that_fit(*attr, cpu) {
            Ok(0) => {}
            Ok(n) => return format!("{n} counters for events such as {name}"),
            Err(why @ (Untried::Rights | Untried::Offline | Untried::Other(_))) => failed = format!("not tried: {why}"),
        }
    }
    failed
}

/// Why an event was not tried.
fn untried(why: Option<&Untried>) -> String {
    why.map_or_else(|| "not this machine".to_owned(), Untried::to_string)
}

/// Returns what limits counting here, a sentence each.
fn notes(machine: &Pmus, rows: &[Row]) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(why) = machine.why_no_core() {
        notes.push(format!("{why}; software events and those of other PMUs can be counted"));
    }
    if machine.nmi_watchdog == Some(true) && machine.core().next().is_some() {
        notes.push(
            "the kernel's NMI watchdog takes one counter of each core: sysctl kernel.nmi_watchdog=0 frees it"
                .to_owned(),
        );
    }
    let not_tried = rows.iter().find_map(|row| match &row.status {
        Status::NotTried(why) => Some(why.as_ref()),
        _ => None,
    });
    if let Some(why) = not_tried {
        let level = machine.paranoid.map(|n| format!(" (kernel.perf_event_paranoid is {n})")).unwrap_or_default();
        // The sentence about rights names the setting itself.
        let level = if why == Some(&Untried::Rights) { "" } else { level.as_str() };
        notes.push(format!("events that are not tried: {}{level}", untried(why)));
    }
    notes.extend(machine.notes.iter().cloned());
    notes
}
