//! `testdata/referee/oracle.py`, a slow and independent implementation of the same definitions.

use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Processes many texts in one process, each on a line of its own as JSON.
const DRIVER: &str = "
import json, sys
sys.path.insert(0, sys.argv[1])
import oracle
for line in sys.stdin:
    print(json.dumps(oracle.run(json.loads(line).splitlines())), flush=True)
";

/// Returns the referee's results for texts of scheduler events. It needs Python: tests that run it are
/// ignored with "needs python3".
///
/// # Panics
/// If it is missing or fails.
#[must_use]
pub fn ask(texts: &[String]) -> Vec<Value> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/referee"));
    let mut python = Command::new("python3");
    python.args(["-B", "-c", DRIVER]).arg(&folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = python.spawn().expect("python3 runs");
    let mut stdin = child.stdin.take().expect("it was piped");
    let lines: String = texts.iter().map(|t| serde_json::to_string(t).expect("a text is JSON") + "\n").collect();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("python3 ends");
    let _ = writer.join();
    assert!(output.status.success(), "the referee failed: {}", output.status);
    let answers = String::from_utf8(output.stdout).expect("JSON is UTF-8");
    let answers: Vec<Value> =
        answers.lines().map(|l| serde_json::from_str(l).expect("the referee prints JSON")).collect();
    assert_eq!(answers.len(), texts.len(), "an answer for each text");
    answers
}
