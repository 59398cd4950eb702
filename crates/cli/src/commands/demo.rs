//! `corewise demo`: a lively workload of our own, recorded and reported.

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

The workload is a small game without pictures: a frame loop of 60 Hz (Game, Render), workers that meet at the end of each \
chunk, a streamer that reads and sleeps, audio that wakes every 5 ms, and a hog of nice 19 in the background. As root it marks its frames (corewise table DIR marks). Where recording \
is not permitted, demo says why and reports a small bundled trace instead.";

/// Record a lively built-in workload for some seconds and print the report
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// The new trace folder [default: corewise-demo-DATE-TIME.cw]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// How long the workload runs
    #[arg(short, long, value_name = "TIME", value_parser = duration, default_value = "5")]
    duration: Duration,
    /// Only run the workload, for another recorder
    #[arg(long, conflicts_with = "output")]
    workload_only: bool,
}

/// Demonstrates.
///
/// # Errors
/// The trace cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    if args.workload_only {
        demo::workload(args.duration);
        return Ok(OK);
    }
    let dir = args.output.clone().unwrap_or_else(|| folder_name::new("corewise-demo"));
    let program = std::env::current_exe().map_err(|e| Failure::new(format!("this program cannot be found: {e}")))?;
    let pass = global.pass_options()?;
    let mut options = RecordOptions::new(&dir);
    let seconds = args.duration.as_secs_f64().to_string();
    let words = [&*program.to_string_lossy(), "demo", "--workload-only", "--duration", &seconds];
    options.target = Target::Command(words.map(str::to_owned).to_vec());
    say(&format!("recording a workload of this machine for {seconds} s into {}", dir.display()));
    match record_spool(options) {
        Ok(recorded) => drop(convert(&recorded, false, &pass)?),
        Err(why @ (CaptureError::Rights | CaptureError::Bpf(_) | CaptureError::Perf(_))) => {
            say(&format!("this machine cannot be recorded now: {why}"));
            say("a small bundled recording of another machine is shown instead");
            import_bundled(&dir, &pass)?;
        }
        Err(why) => return Err(why.into()),
    }
    print_report(&global.open(&dir)?, global)?;
    let dir = dir.display();
    let view = if serve::are_built() { format!("  corewise view {dir}\n") } else { String::new() };
    print(&format!(
        "\nThe trace folder is {dir}. Try also:\n  corewise report {dir} --process Render\n  corewise check {dir}\n{view}"
    ))?;
    Ok(OK)
}

/// The trace that comes with corewise, as a folder.
fn import_bundled(dir: &Path, pass: &PassOptions) -> Result<(), Failure> {
    let file = std::env::temp_dir().join(format!("corewise-demo-{}.data", std::process::id()));
    let imported = create(&file).and_then(|mut out| {
        out.write_all(demo::BUNDLED).and_then(|()| out.flush()).map_err(Failure::at(&file))?;
        let source = open_source(&file)?;
        engine::import(source.as_ref(), engine::Target::New(dir), pass, &mut |_| ())?;
        // It is ours, and now in the folder.
        std::fs::remove_file(&file).map_err(Failure::at(&file))
    });
    imported.map(drop)
}
