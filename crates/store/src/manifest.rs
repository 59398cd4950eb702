//! `manifest.json`: what the folder is, where it came from and under which conditions it was recorded.

use crate::error::Error;
use ingest::{Condition, Facts, OwnCost, Trouble, Troubles};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;
use topology::Machine;

/// Its name in the folder.
pub const MANIFEST: &str = "manifest.json";

/// The version of the format that this corewise writes; it reads this and all before it.
pub const FORMAT_VERSION: u32 = 1 + UPGRADES.len() as u32;

/// Step `n` makes a manifest of version `n + 1` one of version `n + 2`. Append only.
pub const UPGRADES: &[fn(&mut Json)] = &[trace_in_metadata];

/// Format 1 had the trace's id in the first column of every file, where readers of format 2 do not look, and an empty sha256 where a
/// source has no hash.
fn trace_in_metadata(manifest: &mut Json) {
    let sources = manifest.get_mut("sources").and_then(Json::as_array_mut);
    for source in sources.into_iter().flatten().filter_map(Json::as_object_mut) {
        if source.get("sha256").is_some_and(|hash| hash.as_str() == Some("")) {
            source.remove("sha256");
        }
    }
}

/// A file that the trace was made from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SourceFile {
    /// Where it was.
    pub path: String,
    /// The hash of its content; none for corewise's own recordings.
    #[serde(flatten)]
    pub hash: Option<ContentHash>,
    /// Its length.
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
    /// SHA-256, of folders of format 1.
    Sha256(String),
}

/// All trouble of one kind in the sources.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TroubleRow {
    /// A short sentence.
    pub code: String,
    /// `lost` or `odd`.
    pub what: String,
    /// How often.
    pub count: i64,
    /// Where first, a byte offset.
    pub first_offset: i64,
}

/// A file of the folder, as it was when the folder was finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileInfo {
    /// Its rows.
    pub rows: i64,
    /// Its length.
    pub bytes: i64,
    /// CRC-32 of its Parquet footer (the pages have their own).
    pub footer_crc32: u32,
}

/// What a trace folder says of itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The format of the folder.
    pub format_version: u32,
    /// The corewise that wrote it.
    pub corewise: String,
    /// The trace's id, which each Parquet file's metadata has too.
    pub trace: i64,
    /// Time 0 of the stored times, on the source's clock.
    pub origin_ns: i64,
    /// The end of the recording, on the stored times.
    pub end_ns: i64,
    /// The source's clock.
    pub clock: String,
    /// The machine, with who says what of it.
    pub machine: Machine,
    /// What the source says of itself; without those parts that stand here beside it.
    pub facts: Facts,
    /// The sources.
    pub sources: Vec<SourceFile>,
    /// The conditions of the run.
    pub conditions: Vec<Condition>,
    /// What recording cost.
    pub cost: Option<OwnCost>,
    /// The process that the recording was made for.
    pub focus: Option<i32>,
    /// What was lost or odd in the sources.
    pub troubles: Vec<TroubleRow>,
    /// The laws of ACCOUNTING.md and what was counted, as the analysis told them.
    pub summary: serde_json::Map<String, Json>,
    /// The files of `events/` and `states/`; set when the folder is finished.
    pub files: BTreeMap<String, FileInfo>,
}

impl Manifest {
    /// The manifest of a trace, from what its source says.
    #[must_use]
    pub fn new(trace: i64, facts: Facts) -> Self {
        let mut facts = facts;
        Self {
            format_version: FORMAT_VERSION,
            corewise: env!("CARGO_PKG_VERSION").to_owned(),
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
            troubles: Vec::new(),
            summary: serde_json::Map::new(),
            files: BTreeMap::new(),
        }
    }

    /// All that the source said of itself, put together again.
    #[must_use]
    pub fn whole_facts(&self) -> Facts {
        Facts {
            clock: self.clock.clone(),
            machine: Some(self.machine.clone()),
            conditions: self.conditions.clone(),
            cost: self.cost,
            focus: self.focus,
            ..self.facts.clone()
        }
    }

    /// Takes over the ledger of ingest.
    pub fn take_troubles(&mut self, troubles: &Troubles) {
        let rows = troubles.0.iter().map(|(code, t)| TroubleRow {
            code: (*code).to_owned(),
            what: match t.what {
                Trouble::Lost => "lost",
                Trouble::Odd => "odd",
            }
            .to_owned(),
            count: t.count as i64,
            first_offset: t.first_offset as i64,
        });
        self.troubles = rows.collect();
    }

    /// Reads a manifest of this or an earlier format.
    ///
    /// # Errors
    /// Where it is no manifest, or of a newer format.
    pub fn parse(text: &[u8], path: &Path) -> Result<Self, Error> {
        Self::upgraded(text, path).map(|(manifest, _)| manifest)
    }

    /// [`Self::parse`]; tells which format it was of.
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
        Ok((serde_json::from_value(json).map_err(damaged)?, found))
    }

    /// As it is stored.
    ///
    /// # Errors
    /// None that is known; serde says it may.
    pub fn to_json(&self) -> Result<Vec<u8>, Error> {
        let mut text = serde_json::to_vec_pretty(self).map_err(|e| Error::Bug(e.to_string()))?;
        text.push(b'\n');
        Ok(text)
    }
}

/// What stands in place of what was redacted.
pub const REDACTED: &str = "redacted";

/// Parts of the names of facts and conditions that tell who, where or what was run.
const TELLING: [&str; 12] =
    ["host", "node_name", "nodename", "command", "cmd", "path", "exe", "arg", "user", "build_id", "file", "cgroup"];

/// Takes command lines, paths and host names out of a manifest; the numbers stay.
pub fn redact(manifest: &mut Manifest) {
    let hosts: Vec<String> = manifest
        .facts
        .about
        .iter()
        .filter(|(name, value)| name.to_lowercase().contains("host") && !value.is_empty())
        .map(|(_, value)| value.clone())
        .collect();
    // A value may name a path or the host under any name.
    let telling = |name: &str, value: &str| {
        let name = name.to_lowercase();
        TELLING.iter().any(|t| name.contains(t)) || value.contains('/') || hosts.iter().any(|h| value.contains(h))
    };
    for (name, value) in &mut manifest.facts.about {
        if telling(name, value) {
            REDACTED.clone_into(value);
        }
    }
    for condition in &mut manifest.conditions {
        let name = condition.name.clone();
        for side in [&mut condition.start, &mut condition.end] {
            let (Ok(text) | Err(text)) = side;
            if telling(&name, text) {
                REDACTED.clone_into(text);
            }
        }
    }
    for text in manifest.facts.lacks.iter_mut().chain(&mut manifest.machine.unknown) {
        // Sentences of corewise itself; a path of sysfs in them tells nothing, another may.
        if hosts.iter().any(|h| text.contains(h)) || (text.contains('/') && !text.contains("/sys/")) {
            REDACTED.clone_into(text);
        }
    }
    for source in &mut manifest.sources {
        REDACTED.clone_into(&mut source.path);
    }
    for (name, value) in &mut manifest.summary {
        redact_json(name, value, &telling);
    }
}

fn redact_json(name: &str, value: &mut Json, telling: &impl Fn(&str, &str) -> bool) {
    match value {
        Json::String(text) if telling(name, text) => REDACTED.clone_into(text),
        Json::Array(all) => all.iter_mut().for_each(|v| redact_json(name, v, telling)),
        Json::Object(all) => all.iter_mut().for_each(|(k, v)| redact_json(k, v, telling)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_format_is_refused_with_words() {
        let mut manifest = Manifest::new(7, Facts::default());
        manifest.format_version = FORMAT_VERSION + 1;
        let text = manifest.to_json().unwrap();
        let error = Manifest::parse(&text, Path::new("run.cw/manifest.json")).unwrap_err().to_string();
        assert!(error.contains("written by a newer corewise") && error.contains("please update"), "{error}");
    }

    #[test]
    fn garbage_is_an_error_with_a_place() {
        for text in [&b""[..], b"{", b"[]", b"{\"format_version\":0}", b"{\"format_version\":1}", b"\xff\xfe"] {
            let error = Manifest::parse(text, Path::new("run.cw/manifest.json")).unwrap_err().to_string();
            assert!(error.starts_with("run.cw/manifest.json: damaged: "), "{error}");
        }
    }

    #[test]
    fn facts_come_back_whole() {
        let facts = Facts {
            clock: "perf".into(),
            focus: Some(3),
            cost: Some(OwnCost { events: 9, ..OwnCost::default() }),
            machine: Some(Machine::default()),
            about: vec![("hostname".into(), "h".into())],
            ..Facts::default()
        };
        let manifest = Manifest::new(1, facts.clone());
        let back = Manifest::parse(&manifest.to_json().unwrap(), Path::new("m")).unwrap();
        assert_eq!(back, manifest);
        assert_eq!(back.whole_facts(), facts);
    }

    #[test]
    fn a_source_says_by_which_hash_it_is_known() {
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
    fn a_source_without_hash_comes_from_format_1_as_one() {
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

    #[test]
    fn redacting_leaves_no_path_host_or_command() {
        let mut manifest = Manifest::new(1, Facts::default());
        manifest.facts.about = vec![
            ("hostname".into(), "secrethost".into()),
            ("command_line".into(), "perf record secretgame".into()),
            ("kernel_release".into(), "6.18".into()),
            ("note".into(), "made on secrethost".into()),
        ];
        let both = |text: &str| (Ok(text.to_owned()), Err(text.to_owned()));
        let (start, end) = both("/home/secretuser/x");
        manifest.conditions = vec![Condition { name: "governor".into(), start, end }];
        manifest.sources = vec![SourceFile { path: "/secret/p".into(), hash: None, bytes: 1, format: "perf".into() }];
        manifest.summary.insert("cmdline".into(), serde_json::json!(["secretgame"]));
        redact(&mut manifest);
        let text = String::from_utf8(manifest.to_json().unwrap()).unwrap();
        assert!(!text.contains("secret"), "{text}");
        assert!(text.contains("6.18"));
    }
}
