//! The rows of a catalogue that a report needs.

use crate::catalogue::{Catalogue, path_of};
use crate::error::FleetError;
use crate::index::name;
use crate::runs::Runs;
use crate::tables::{ERRORS, LABELS, RECORDINGS, RULES};
use model::words::plural;
use model::{NameStandIns, Redact, TableDef, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Severities, from the lowest.
pub(crate) const SEVERITIES: [&str; 3] = ["low", "medium", "high"];
/// What stands for redacted texts.
const REDACTED: &str = "redacted";
/// The keys that every recording may have, in addition to its labels.
const OWN_KEYS: [&str; 6] = ["host", "date", "kernel", "corewise", "machine", "arch"];

/// What a report shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReportOptions {
    /// Keys by which findings are counted and compared: labels, or host, date, kernel, corewise, machine and arch.
    pub by: Vec<String>,
    /// The first day of the later side when days are compared, `2026-11-27`; `None`: the day from which on the later half of the recordings is.
    pub since: Option<String>,
    /// The number of hosts that are shown.
    pub top: usize,
    /// What is left out: names of hosts, paths, labels that are not in `by`; of names, also the values of those.
    pub redact: Option<Redact>,
}

/// What a rule said about a recording in which it could be checked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Said {
    pub(crate) found: bool,
    /// An index into [`SEVERITIES`].
    pub(crate) severity: Option<usize>,
    pub(crate) saving_ns: i64,
}

/// A recording.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Recording {
    pub(crate) path: String,
    pub(crate) host: Option<String>,
    pub(crate) date: Option<String>,
    pub(crate) span_ns: i64,
    pub(crate) saving_ns: i64,
    pub(crate) severity: Option<usize>,
    pub(crate) keys: BTreeMap<String, String>,
    pub(crate) rules: BTreeMap<String, Said>,
}

impl Recording {
    /// The value of a key of [`ReportOptions::by`].
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        match key {
            "host" => self.host.as_deref(),
            "date" => self.date.as_deref(),
            key => self.keys.get(key).map(String::as_str),
        }
    }

    /// The potential saving that a rule found, as a share of the recording's length.
    pub(crate) fn share(&self, said: &Said) -> f64 {
        said.saving_ns as f64 / self.span_ns.max(1) as f64
    }

    /// The largest potential saving, as a share of its length.
    pub(crate) fn saving_share(&self) -> f64 {
        self.saving_ns as f64 / self.span_ns.max(1) as f64
    }
}

/// What a report is made from.
pub(crate) struct Data {
    pub(crate) catalogue: String,
    /// In order of their paths.
    pub(crate) recordings: Vec<Recording>,
    pub(crate) cautions: Vec<String>,
    pub(crate) errors: Vec<(String, String)>,
}

fn int(def: &TableDef, row: &[Value], name: &str) -> i64 {
    match def.col(name).and_then(|at| row.get(at)) {
        Some(Value::Int(value)) => *value,
        _ => 0,
    }
}

fn text<'a>(def: &TableDef, row: &'a [Value], name: &str) -> Option<&'a str> {
    match def.col(name).and_then(|at| row.get(at)) {
        Some(Value::Text(value)) => Some(value),
        _ => None,
    }
}

/// Reads a catalogue.
pub(crate) fn read(catalogue: &Catalogue, options: &ReportOptions) -> Result<Data, FleetError> {
    let mut all = BTreeMap::<String, Recording>::new();
    let (mut versions, mut lossy, mut inconsistent) = (BTreeSet::new(), 0, 0);
    catalogue.each(&RECORDINGS, &[], &mut |partition, row| {
        let word = |name: &str| text(&RECORDINGS, &row, name).map(str::to_owned);
        let keys = ["kernel", "corewise", "machine", "arch"];
        let keys = keys.iter().filter_map(|key| Some(((*key).to_owned(), word(key)?))).collect();
        versions.extend(word("indexed_by"));
        lossy += u64::from(int(&RECORDINGS, &row, "losses") > 0);
        let consistent = RECORDINGS.col("consistent").and_then(|at| row.get(at));
        inconsistent += u64::from(consistent == Some(&Value::Bool(false)));
        let path = path_of(&row).to_owned();
        let recording = Recording {
            path: path.clone(),
            host: partition.host.clone(),
            date: partition.date.clone(),
            span_ns: int(&RECORDINGS, &row, "span_ns"),
            saving_ns: int(&RECORDINGS, &row, "saving_ns"),
            severity: severity(text(&RECORDINGS, &row, "severity")),
            keys,
            rules: BTreeMap::new(),
        };
        all.insert(path, recording);
    })?;
    if all.is_empty() {
        let path = catalogue.path().display();
        return Err(FleetError::Request(format!(
            "{path}: the catalogue has no recordings: run `corewise fleet index`"
        )));
    }
    add_labels(catalogue, &mut all)?;
    add_rules(catalogue, &mut all)?;
    let errors = errors(catalogue)?;
    let mut cautions = stale(catalogue);
    let mut caution = |count: u64, what: &str| {
        if count > 0 {
            cautions.push(format!("{} {what}.", plural(count, "recording")));
        }
    };
    caution(errors.len() as u64, "could not be read (table errors), which are in no figure");
    caution(lossy, "with lost events: some findings may be missing in them");
    caution(inconsistent, "whose times do not add up (`corewise verify`)");
    caution(all.values().filter(|of| of.host.is_none()).count() as u64, "without a host name: they count for no host");
    caution(
        all.values().filter(|of| of.date.is_none()).count() as u64,
        "without the time of their start: they are on no side of a day",
    );
    if versions.len() > 1 {
        let versions: Vec<String> = versions.into_iter().collect();
        cautions.push(format!(
            "Indexed by different versions of corewise ({}), whose rules may differ: `corewise fleet index --again` opens all again.",
            versions.join(", ")
        ));
    }
    let catalogue = if options.redact.is_some() { REDACTED.to_owned() } else { catalogue.path().display().to_string() };
    let mut data = Data { catalogue, recordings: all.into_values().collect(), cautions, errors };
    if let Some(level) = options.redact {
        redact(&mut data, &options.by, level);
    }
    Ok(data)
}

fn severity(word: Option<&str>) -> Option<usize> {
    SEVERITIES.iter().position(|of| Some(*of) == word)
}

fn add_labels(catalogue: &Catalogue, all: &mut BTreeMap<String, Recording>) -> Result<(), FleetError> {
    catalogue.each(&LABELS, &[], &mut |_, row| {
        let (Some(key), Some(value)) = (text(&LABELS, &row, "key"), text(&LABELS, &row, "value")) else { return };
        if let Some(of) = all.get_mut(path_of(&row)) {
            // A label named like a key of every recording is `label.host`.
            let key = if OWN_KEYS.contains(&key) { format!("label.{key}") } else { key.to_owned() };
            of.keys.insert(key, value.to_owned());
        }
    })
}

fn add_rules(catalogue: &Catalogue, all: &mut BTreeMap<String, Recording>) -> Result<(), FleetError> {
    catalogue.each(&RULES, &["path", "rule", "outcome", "severity", "saving_ns"], &mut |_, row| {
        let found = match text(&RULES, &row, "outcome") {
            Some("found") => true,
            Some("nothing") => false,
            _ => return,
        };
        let said = Said {
            found,
            severity: severity(text(&RULES, &row, "severity")),
            saving_ns: int(&RULES, &row, "saving_ns"),
        };
        if let (Some(of), Some(rule)) = (all.get_mut(path_of(&row)), text(&RULES, &row, "rule")) {
            of.rules.insert(rule.to_owned(), said);
        }
    })
}

fn errors(catalogue: &Catalogue) -> Result<Vec<(String, String)>, FleetError> {
    let mut all = Vec::new();
    for file in catalogue.files(&ERRORS)? {
        let rows = catalogue.rows(&file, &ERRORS, &[])?;
        all.extend(
            rows.iter().map(|row| (path_of(row).to_owned(), text(&ERRORS, row, "why").unwrap_or_default().to_owned())),
        );
    }
    Ok(all)
}

/// Says by how much the catalogue is older than its recordings, as far as their folders are there.
fn stale(catalogue: &Catalogue) -> Vec<String> {
    let mut said = Vec::new();
    if !catalogue.about.complete {
        said.push("The last `corewise fleet index` did not come to its end: run it again.".to_owned());
    }
    let known: HashMap<String, (i64, i64)> = known(catalogue).unwrap_or_default();
    for root in &catalogue.about.roots {
        let walk = match Runs::open(root).and_then(|runs| runs.walk()) {
            Ok(walk) => walk,
            Err(FleetError::Store(why @ stores::StoreError::NotBuilt(_))) => {
                said.push(format!("Whether the catalogue is older than its recordings is not known: {why}."));
                continue;
            }
            Err(_) if stores::is_url(root) => {
                said.push(
                    "The store of the recordings does not answer: whether the catalogue is older is not known."
                        .to_owned(),
                );
                continue;
            }
            Err(_) => continue,
        };
        let newer = walk.found.iter().filter(|found| {
            // A file may be anything until it is opened.
            let is_recording = found.kind != crate::walk::Kind::File;
            let at = known.get(&name(&found.path));
            at.map_or(is_recording, |at| *at != (found.bytes, found.modified_ns))
        });
        let (newer, seen) = (newer.count() as u64, walk.found.iter().map(|of| name(&of.path)));
        let seen: BTreeSet<String> = seen.collect();
        let gone = known.keys().filter(|path| std::path::Path::new(path).starts_with(root) && !seen.contains(*path));
        let gone = gone.count() as u64;
        if newer + gone > 0 {
            said.push(format!(
                "The catalogue is older than its recordings (new or changed: {newer}, gone: {gone}): run `corewise fleet index` again."
            ));
        }
    }
    said
}

/// The size and the last change of what the catalogue has, by path.
fn known(catalogue: &Catalogue) -> Result<HashMap<String, (i64, i64)>, FleetError> {
    let mut all = HashMap::new();
    for def in [&RECORDINGS, &ERRORS] {
        catalogue.each(def, &["path", "bytes", "modified_ns"], &mut |_, row| {
            all.insert(path_of(&row).to_owned(), (int(def, &row, "bytes"), int(def, &row, "modified_ns")));
        })?;
    }
    Ok(all)
}

/// Replaces host names by numbers, and removes paths, labels that are not in `by`, and messages, which have paths.
fn redact(data: &mut Data, by: &[String], level: Redact) {
    let hosts: BTreeSet<String> = data.recordings.iter().filter_map(|of| of.host.clone()).collect();
    let numbers: BTreeMap<&String, String> =
        hosts.iter().zip(1..).map(|(host, number): (_, usize)| (host, format!("host {number}"))).collect();
    let mut stand_ins = NameStandIns::default();
    for of in &mut data.recordings {
        REDACTED.clone_into(&mut of.path);
        of.host = of.host.as_ref().and_then(|host| numbers.get(host).cloned());
        for (key, value) in &mut of.keys {
            let is_label = !OWN_KEYS.contains(&key.as_str());
            let is_private = value.contains('/') || hosts.iter().any(|host| value.contains(host.as_str()));
            match is_label {
                true if !by.contains(key) => REDACTED.clone_into(value),
                true if level == Redact::Names => *value = stand_ins.name("label", value),
                _ if is_private => REDACTED.clone_into(value),
                _ => {}
            }
        }
    }
    for (path, why) in &mut data.errors {
        REDACTED.clone_into(path);
        REDACTED.clone_into(why);
    }
}
