//! Programs of drawn recordings, and what is predicted from them.

mod demand;
mod outcome;
#[path = "../../../report/tests/it/support/mod.rs"]
mod support;
