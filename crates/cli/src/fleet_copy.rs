//! `corewise fleet copy`: recordings into an object store, and from there into a folder.

use crate::failure::{ERROR, Failure, OK};
use crate::output::{print, say};
use crate::progress::Line;
use crate::store_copies::scratch;
use model::words::{bytes, plain, plural};
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  corewise fleet copy run.cw s3://team/runs          keep run.cw as s3://team/runs/run.cw
  corewise fleet copy runs/ s3://team/runs           all recordings below runs/, with their folders' names
  corewise fleet copy s3://team/runs/run.cw .        fetch one
  corewise fleet copy s3://team/runs gs://other/runs from one store to another

Nothing is overwritten. What is there already is not copied again, so that a copy that was interrupted can be continued by the same command. What only the \
viewer needs is left out, because it is made again.";

/// Copy recordings to an object store, or from there into a folder
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct CopyArgs {
    /// Recordings, or folders of recordings; paths or URLs
    #[arg(value_name = "FROM", required = true)]
    from: Vec<PathBuf>,
    /// The URL of a folder in a store; or, if all others are URLs, a folder
    #[arg(value_name = "TO", required = true)]
    to: PathBuf,
    /// Print what was done as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// A source or the target cannot be read.
pub fn copy(args: &CopyArgs) -> Result<u8, Failure> {
    if let Some(path) = args.from.iter().find(|path| !stores::is_url(path) && !path.exists()) {
        return Err(Failure::not_found(path));
    }
    let scratch = scratch()?;
    let mut line = Line::new();
    let done = fleet::copy(&args.from, &args.to, scratch.path(), &mut |done, all| {
        line.show(|| format!("Copying: {done} of {all} recordings"));
    })?;
    drop(line);
    if args.json {
        print(&format!("{}\n", serde_json::json!(done)))?;
    } else {
        let count = plural(done.copied.len() as u64, "recording");
        let same = if done.same > 0 { format!("; {} already there", done.same) } else { String::new() };
        print(&format!("{}: {count} copied, {}{same}\n", args.to.display(), bytes(done.bytes)))?;
    }
    done.failed.iter().for_each(|(path, why)| say(&format!("{}: not copied: {}", path.display(), plain(why))));
    Ok(if done.failed.is_empty() { OK } else { ERROR })
}
