//! SQL over the tables of recordings. DuckDB, which is not part of this program, answers: it gets copies of the tables that a query names, in a
//! temporary folder, and can reach nothing else.

mod catalogue;
mod duckdb;
mod message;
mod prompt;
mod result;
mod traces;
mod views;
mod words;

pub use duckdb::{Engine, Limits, Query};
pub use message::READS;
pub use prompt::prompt;
pub use result::{Form, answer};
pub use traces::{Traces, paths};
pub use words::is_query;
