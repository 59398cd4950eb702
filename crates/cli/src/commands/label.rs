//! `corewise label`: shows and edits the labels of recordings.

use crate::args::{Global, label};
use crate::failure::{Failure, OK};
use crate::output::{print, say};
use crate::store_copies;
use engine::{EngineError, LABEL, Labels, PassOptions, Session, edited_labels, write_labels};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const AFTER: &str = "\
Examples:
  corewise label run.cw                          show the labels
  corewise label run.cw os=new plug=no           set two labels
  corewise label run.cw --remove plug            remove one
  corewise label perf.data release=2.0           also of a file of another tool

Labels group recordings: `corewise sql` (labels['os'] of the view traces), `compare --by os` and `corewise fleet` read them. `record --label` sets \
them first. Edited labels are in a file of their own, which is replaced as a whole: labels.json in a trace folder, FILE.labels.json next to any other \
recording (move it with FILE). The recorded data and the trace's ID do not change.";

/// Show or edit the labels of a recording
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace folder, or a file of another tool; also the URL of one
    #[arg(value_name = "RUN")]
    recording: PathBuf,
    /// Labels to set; a former value of the same key is replaced
    #[arg(value_name = "KEY=VALUE", value_parser = label)]
    set: Vec<(String, String)>,
    /// Remove a label; may be repeated
    #[arg(long, value_name = "KEY")]
    remove: Vec<String>,
    /// Print the labels as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// The recording cannot be read, or its labels cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    let local = store_copies::local(&args.recording)?;
    let mut labels = current(&local, global)?;
    if !args.set.is_empty() || !args.remove.is_empty() {
        if let Some(key) = args.remove.iter().find(|key| !labels.contains_key(*key)) {
            let meant = engine::did_you_mean(key, labels.keys().map(String::as_str));
            return Err(Failure::new(format!("{}: has no label {key}{meant}", args.recording.display())));
        }
        labels.retain(|key, _| !args.remove.contains(key));
        labels.extend(args.set.iter().cloned());
        write_labels(&local, &labels).map_err(EngineError::from)?;
        if stores::is_url(&args.recording) {
            fleet::send_labels(&args.recording, &local)?;
        }
    }
    if labels.is_empty() && !args.json {
        say(&format!("{}: no labels", args.recording.display()));
    }
    print(&if args.json { json(&labels) } else { text(&labels) })?;
    Ok(OK)
}

/// The labels of a recording: the edited ones, or those of the recorder.
fn current(recording: &Path, global: &Global) -> Result<Labels, Failure> {
    // Edited labels are known without reading a long recording; that it is one was known when they were first edited.
    let is_there = recording.try_exists().map_err(Failure::at(recording))?;
    if !is_there {
        return Err(Failure::not_found(recording));
    }
    if let Some(labels) = edited_labels(recording).map_err(EngineError::from)? {
        return Ok(labels);
    }
    let session = Session::open(recording, PassOptions { strict_loss: false, ..global.pass_options()? })?;
    let label = |(name, value): &(String, String)| Some((name.strip_prefix(LABEL)?.to_owned(), value.clone()));
    Ok(session.facts().about.iter().filter_map(label).collect())
}

fn json(labels: &Labels) -> String {
    format!("{}\n", serde_json::json!(labels))
}

fn text(labels: &Labels) -> String {
    labels.iter().fold(String::new(), |mut all, (key, value)| {
        let _ = writeln!(all, "{key}={value}");
        all
    })
}
