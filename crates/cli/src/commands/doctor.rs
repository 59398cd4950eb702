//! `corewise doctor`: what this machine lets corewise record, and what to do about the rest.

use crate::args::Global;
use crate::failure::{Failure, OK};
use crate::output::print;

/// Tell what this machine lets corewise record, and what to do about the rest
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Tells.
///
/// # Errors
/// It cannot be written.
pub fn run(_: &Args, _: &Global) -> Result<u8, Failure> {
    print("")?;
    Ok(OK)
}
