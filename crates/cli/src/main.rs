//! The command line of corewise.
fn main() {}
