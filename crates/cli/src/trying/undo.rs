//! `corewise try --undo`: undoes what a trial left that was killed.

use crate::failure::{Failure, OK};
use crate::output::say;
use model::words::{plural, untied};

/// Undoes all journals that are left over.
///
/// # Errors
/// A journal cannot be read, or something cannot be undone.
pub fn undo() -> Result<u8, Failure> {
    let journals =
        trial::journals().map_err(|why| Failure::new(format!("the journals of trials cannot be read: {why}")))?;
    let mut found = false;
    for (path, runs) in journals {
        if runs {
            return Err(Failure::new(format!("{}: this trial still runs: stop it with Ctrl-C", path.display())));
        }
        found = true;
        let undone = trial::undo(&path).map_err(Failure::at(&path))?;
        if !undone.left.is_empty() {
            let left = undone.left.join("; ");
            return Err(Failure::new(format!(
                "{}: not undone: {left}. Remove this file when it is done",
                path.display()
            )));
        }
        let count = |n: usize, word: &str| untied(&plural(n as u64, word));
        let (threads, files) = (count(undone.threads, "thread"), count(undone.files, "file"));
        let ended = count(undone.ended, "thread");
        say(&format!("{}: undone: settings of {threads}, {files}; {ended} ended", path.display()));
    }
    if !found {
        say("nothing to undo: no trial was killed");
    }
    Ok(OK)
}
