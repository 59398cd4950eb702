//! `manifest.json`: the sources of a trace folder, the machine, and the conditions of the recording.

use crate::error::Error;
use ingest::{Anomalies, Anomaly, Condition, Facts, RecordingOverhead};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;
use topology::Machine;

/// The name of the manifest in the folder.
pub const MANIFEST: &str = "manifest.json";

/// The format version that this corewise writes. It reads this version and all earlier ones.
pub const FORMAT_VERSION: u32 = 1 + UPGRADES.len() as u32;

/// The upgrade steps: step `n` turns a manifest of version `n + 1` into one of version `n + 2`. Append only.
pub const UPGRADES: &[fn(&mut Json)] = &[trace_in_metadata, renamed_keys];

/// Upgrades format 1. It had the trace's id in the first column of every file, which readers of format 2 ignore, and an empty
/// sha256 for a source without a hash.
fn trace_in_metadata(manifest: &mut Json) {
    let sources = manifest.get_mut("sources").and_then(Json::as_array_mut);
    for source in sources.into_iter().flatten().filter_map(Json::as_object_mut) {
        if source.get("sha256").is_some_and(|hash| hash.as_str() == Some("")) {
            source.remove("sha256");
        }
    }
}

/// Upgrades format 2, which had former names of keys. Its tables have former names of columns and values, which are found when they are
/// read ([`model::tables::renamed`]).
fn renamed_keys(manifest: &mut Json) {
    if let Some(summary) = manifest.get_mut("summary").and_then(Json::as_object_mut) {
        rename(summary, "troubles", "anomalies"); // former name
    }
    if let Some(manifest) = manifest.as_object_mut() {
        rename(manifest, "troubles", "anomalies"); // former name
    }
    let anomalies = manifest.get_mut("anomalies").and_then(Json::as_array_mut);
    for anomaly in anomalies.into_iter().flatten() {
        let is_odd = |what: &&mut Json| **what == "odd"; // former name
        if let Some(what) = anomaly.get_mut("what").filter(is_odd) {
            *what = "warning".into();
        }
    }
}

fn rename(object: &mut serde_json::Map<String, Json>, former: &str, current: &str) {
    if let Some(value) = object.remove(former) {
        object.insert(current.to_owned(), value);
    }
}

/// A file that the trace was made from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SourceFile {
    /// The path of the file.
    pub path: String,
    /// The hash of its content; `None` for corewise's own recordings.
    #[serde(flatten)]
    pub hash: Option<ContentHash>,
    /// The length of the file.
    pub bytes: i64,
    /// The importer's id.
    pub format: String,
}

/// The hash of a source's content, in hexadecimal; `"blake3": "…"` in the manifest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentHash {
    /// BLAKE3.
    Blake3(String),
    /// SHA-256, in folders of format 1.
    Sha256(String),
}

/// The anomalies of one kind in the sources.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AnomalyRow {
    /// A short description.
    pub code: String,
    /// `lost` (data is missing), `not_understood` (a record of a form that is not known) or `warning`.
    pub what: String,
    /// The number of occurrences.
    pub count: i64,
    /// The byte offset of the first occurrence.
    pub first_offset: i64,
    /// The text of the first one, if it was not understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_text: Option<String>,
}

/// The state of a file when the folder was finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileInfo {
    /// The number of rows.
    pub rows: i64,
    /// The length of the file.
    pub bytes: i64,
    /// CRC-32 of its Parquet footer (each page has its own checksum).
    pub footer_crc32: u32,
}

/// The metadata of a trace folder.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The format version of the folder.
    pub format_version: u32,
    /// The version of corewise that wrote it.
    pub corewise: String,
    /// The version of the definitions by which its states and sums were made (`account::VERSION`).
    #[serde(default = "first_definitions")]
    pub accounting: u32,
    /// The trace's id, which is also in the metadata of each Parquet file.
    pub trace: i64,
    /// The time on the source's clock that is time 0 of the stored times.
    pub origin_ns: i64,
    /// The end of the recording, as a stored time.
    pub end_ns: i64,
    /// The source's clock.
    pub clock: String,
    /// The machine, with the source of each fact.
    pub machine: Machine,
    /// Other facts about the source; without those that have a field of their own here.
    pub facts: Facts,
    /// The sources.
    pub sources: Vec<SourceFile>,
    /// The conditions at the start and the end of the recording.
    pub conditions: Vec<Condition>,
    /// The recording overhead.
    pub cost: Option<RecordingOverhead>,
    /// The process that was recorded, if only one was requested.
    pub focus: Option<i32>,
    /// The anomalies found in the sources.
    pub anomalies: Vec<AnomalyRow>,
    /// The checks of docs/accounting.md and the counts of the analysis.
    pub summary: serde_json::Map<String, Json>,
    /// The files of `events/` and `states/`; set when the folder is finished.
    pub files: BTreeMap<String, FileInfo>,
    /// Which of them has the callchains with the names that were found later (`corewise symbolize`); the recorded ones are still there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbolized: Option<String>,
}

impl Manifest {
    /// Returns the manifest of a trace, from the facts about its source.
    #[must_use]
    pub fn new(trace: i64, facts: Facts) -> Self {
        let mut facts = facts;
        Self {
            format_version: FORMAT_VERSION,
            corewise: env!("CARGO_PKG_VERSION").to_owned(),
            accounting: first_definitions(),
            trace,
            origin_ns: 0,
            end_ns: 0,
            clock: std::mem::take(&mut facts.clock),
            machine: facts.machine.take().unwrap_or_default(),
            conditions: std::mem::take(&mut facts.conditions),
            cost: facts.cost.take(),
            focus: facts.focus.take(),
            facts,
            sources: Vec::new(),
            anomalies: Vec::new(),
            summary: serde_json::Map::new(),
            files: BTreeMap::new(),
            symbolized: None,
        }
    }

    /// Returns all facts about the source, those with a field of their own included.
    #[must_use]
    pub fn all_facts(&self) -> Facts {
        let lacks = self.facts.lacks.iter().chain(&self.facts.nameless).cloned().collect();
        Facts {
            lacks,
            nameless: Vec::new(),
            clock: self.clock.clone(),
            machine: Some(self.machine.clone()),
            conditions: self.conditions.clone(),
            cost: self.cost,
            focus: self.focus,
            ..self.facts.clone()
        }
    }

    /// Sets the anomalies from those that ingest counted.
    pub fn set_anomalies(&mut self, anomalies: &Anomalies) {
        let rows = anomalies.0.iter().map(|(code, t)| AnomalyRow {
            code: (*code).to_owned(),
            what: match t.what {
                Anomaly::Lost => "lost",
                Anomaly::NotUnderstood => "not_understood",
                Anomaly::Warning => "warning",
            }
            .to_owned(),
            count: t.count as i64,
            first_offset: t.first_offset as i64,
            first_text: t.first_text.clone(),
        });
        self.anomalies = rows.collect();
    }

    /// Reads a manifest of this or an earlier format.
    ///
    /// # Errors
    /// If it is not a manifest, or is of a newer format.
    pub fn parse(text: &[u8], path: &Path) -> Result<Self, Error> {
        Self::upgraded(text, path).map(|(manifest, _)| manifest)
    }

    /// Like [`Self::parse`], and also returns the format version that was found.
    pub(crate) fn upgraded(text: &[u8], path: &Path) -> Result<(Self, u32), Error> {
        const TODO: &str = "copy the folder again, or import the source again";
        let damaged = |e: serde_json::Error| Error::damaged(path, e, TODO);
        let mut json: Json = serde_json::from_slice(text).map_err(damaged)?;
        let found = json.get("format_version").and_then(Json::as_u64).filter(|v| *v > 0);
        let found = found.ok_or_else(|| Error::damaged(path, "it has no format_version", TODO))?;
        let known = FORMAT_VERSION;
        let steps = usize::try_from(found - 1).ok().and_then(|n| UPGRADES.get(n..));
        let found = u32::try_from(found).unwrap_or(u32::MAX);
        let Some(steps) = steps else {
            return Err(Error::Newer { path: path.to_owned(), found, known });
        };
        steps.iter().for_each(|step| step(&mut json));
        if let Some(version) = json.get_mut("format_version") {
            *version = known.into();
        }
        let mut manifest: Self = serde_json::from_value(json).map_err(damaged)?;
        // The recording is complete without them.
        if let Some(why) = manifest.machine.costs.as_ref().and_then(|costs| costs.check().err()) {
            manifest.machine.costs = None;
            manifest.machine.unknown.push(format!("costs: the manifest's are not used: {why}"));
        }
        Ok((manifest, found))
    }

    /// Returns the manifest as it is stored.
    ///
    /// # Errors
    /// If serde fails; no such case is known.
    pub fn to_json(&self) -> Result<Vec<u8>, Error> {
        let mut text = serde_json::to_vec_pretty(self).map_err(|e| Error::Bug(e.to_string()))?;
        text.push(b'\n');
        Ok(text)
    }
}

/// The version of the definitions of folders that do not state one.
fn first_definitions() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_costs_are_dropped_and_the_recording_stays_readable() {
        let machine = "[[cpus]]\nids = \"0\"\n[measured]\nat = \"2026-11-26T16:00:00Z\"\ncorewise = \"1\"\n[[costs]]\nprobe = \"switch\"\n\
                       figure = \"pipe\"\nunit = \"ns\"\nrepetitions = 1\nestimate = { value = 1, low = 1, high = 1 }\n";
        let mut manifest = Manifest::new(7, Facts::default());
        manifest.machine = Machine::from_user(machine).unwrap();
        let read = |manifest: &Manifest| Manifest::parse(&manifest.to_json().unwrap(), Path::new("m")).unwrap();
        assert_eq!(read(&manifest).machine.costs, manifest.machine.costs);
        if let Some(costs) = &mut manifest.machine.costs {
            costs.figures[0].estimate.value = 1e300;
        }
        let machine = read(&manifest).machine;
        assert_eq!(machine.costs, None);
        assert!(machine.unknown[0].starts_with("costs: the manifest's are not used: the estimate of switch pipe"));
    }

    #[test]
    fn a_newer_format_is_refused_with_a_message() {
        let mut manifest = Manifest::new(7, Facts::default());
        manifest.format_version = FORMAT_VERSION + 1;
        let text = manifest.to_json().unwrap();
        let error = Manifest::parse(&text, Path::new("run.cw/manifest.json")).unwrap_err().to_string();
        assert!(error.contains("written by a newer corewise") && error.contains("please update"), "{error}");
    }

    #[test]
    fn garbage_is_an_error_that_names_the_file() {
        for text in [&b""[..], b"{", b"[]", b"{\"format_version\":0}", b"{\"format_version\":1}", b"\xff\xfe"] {
            let error = Manifest::parse(text, Path::new("run.cw/manifest.json")).unwrap_err().to_string();
            assert!(error.starts_with("run.cw/manifest.json: damaged: "), "{error}");
        }
    }

    #[test]
    fn all_facts_are_restored() {
        let facts = Facts {
            clock: "perf".into(),
            focus: Some(3),
            cost: Some(RecordingOverhead { events: 9, ..RecordingOverhead::default() }),
            machine: Some(Machine::default()),
            about: vec![("hostname".into(), "h".into())],
            ..Facts::default()
        };
        let manifest = Manifest::new(1, facts.clone());
        let back = Manifest::parse(&manifest.to_json().unwrap(), Path::new("m")).unwrap();
        assert_eq!(back, manifest);
        assert_eq!(back.all_facts(), facts);
    }

    #[test]
    fn the_key_of_a_hash_names_its_algorithm() {
        let stored = |hash: &str| format!(r#"{{"path":"p",{hash}"bytes":9,"format":"perf"}}"#);
        let all = [
            (Some(ContentHash::Blake3("ab".into())), stored(r#""blake3":"ab","#)),
            (Some(ContentHash::Sha256("cd".into())), stored(r#""sha256":"cd","#)),
            (None, stored("")),
        ];
        for (hash, text) in all {
            let source = SourceFile { path: "p".into(), hash, bytes: 9, format: "perf".into() };
            assert_eq!(serde_json::to_string(&source).unwrap(), text);
            assert_eq!(serde_json::from_str::<SourceFile>(&text).unwrap(), source);
        }
    }

    #[test]
    fn an_empty_hash_of_format_1_becomes_none() {
        let mut manifest = serde_json::to_value(Manifest::new(1, Facts::default())).unwrap();
        manifest["format_version"] = 1.into();
        manifest["sources"] = serde_json::json!([
            { "path": "run.cw", "sha256": "", "bytes": 1, "format": "corewise" },
            { "path": "perf.data", "sha256": "ab", "bytes": 2, "format": "perf" },
        ]);
        let (back, found) = Manifest::upgraded(manifest.to_string().as_bytes(), Path::new("m")).unwrap();
        assert_eq!((found, back.format_version), (1, FORMAT_VERSION));
        let hashes: Vec<_> = back.sources.into_iter().map(|s| s.hash).collect();
        assert_eq!(hashes, [None, Some(ContentHash::Sha256("ab".into()))]);
    }
}
