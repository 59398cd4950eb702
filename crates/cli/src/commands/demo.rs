//! `corewise demo`: records a built-in workload and prints the report.

use crate::args::{Global, duration};
use crate::commands::record::{convert, record_spool};
use crate::commands::report::print_report;
use crate::demo;
use crate::failure::{Failure, OK};
use crate::folder_name;
use crate::output::{create, print, say};
use capture::{CaptureError, RecordOptions, Target};
use engine::{PassOptions, open_source};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

const AFTER: &str = "\
Examples:
  corewise demo
  corewise demo -o demo.cw --duration 10

The workload is a small game without graphics: a 60 Hz frame loop (Game, Render), workers that meet at a barrier after each \
chunk, a streamer that reads and sleeps, audio that wakes every 5 ms, and a background thread at nice 19 that never sleeps. As root, \
it marks its frames (corewise table DIR marks). If recording is not permitted, demo prints the reason and reports a small bundled \
trace instead.";

/// Record a built-in workload for a few seconds and print the report
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// The new trace folder [default: corewise-demo-DATE-TIME.cw]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Run the workload for this time, in seconds or with a unit (500ms, 10s, 1m)
    #[arg(short, long, value_name = "TIME", value_parser = duration, default_value = "5")]
    duration: Duration,
    /// Only run the workload and record nothing, for use with another recorder
    #[arg(long, conflicts_with = "output")]
    workload_only: bool,
}

/// Runs the command.
///
/// # Errors
/// The trace cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    if args.workload_only {
        demo::workload(args.duration);
        return Ok(OK);
    }
    let dir = args.output.clone().unwrap_or_else(|| folder_name::new("corewise-demo"));
    let program = std::env::current_exe()
        .map_err(|e| Failure::new(format!("cannot find the path of the corewise program: {e}")))?;
    let pass = global.pass_options()?;
    let mut options = RecordOptions::new(&dir);
    let seconds = args.duration.as_secs_f64().to_string();
    let command = [&*program.to_string_lossy(), "demo", "--workload-only", "--duration", &seconds];
    options.target = Target::Command(command.map(str::to_owned).to_vec());
    say(&format!("Recording the demo workload for {seconds} s into {}", dir.display()));
    match record_spool(options) {
        Ok(recorded) => drop(convert(&recorded, false, &pass)?),
        Err(why @ (CaptureError::Rights | CaptureError::Bpf(_) | CaptureError::Perf(_))) => {
            say(&format!("Cannot record on this machine now: {why}"));
            say("Showing a small bundled recording of another machine instead.");
            import_bundled(&dir, &pass)?;
        }
        Err(why) => return Err(why.into()),
    }
    print_report(&global.open(&dir)?, global)?;
    let dir = dir.display();
    let view = if serve::are_built() { format!("  corewise view {dir}\n") } else { String::new() };
    print(&format!(
        "\nThe trace folder is {dir}. Next, try:\n  corewise report {dir} --process Render\n  corewise verify {dir}\n{view}"
    ))?;
    Ok(OK)
}

/// Imports the bundled trace into a trace folder.
fn import_bundled(dir: &Path, pass: &PassOptions) -> Result<(), Failure> {
    let file = std::env::temp_dir().join(format!("corewise-demo-{}.data", std::process::id()));
    let imported = create(&file).and_then(|mut out| {
        out.write_all(demo::BUNDLED).and_then(|()| out.flush()).map_err(Failure::at(&file))?;
        let source = open_source(&file)?;
        engine::import(source.as_ref(), engine::Target::New(dir), pass, &mut |_| ())?;
        // The temporary file is no longer needed.
        std::fs::remove_file(&file).map_err(Failure::at(&file))
    });
    imported.map(drop)
}
