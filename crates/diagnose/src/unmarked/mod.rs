//! Findings about work in pieces in programs that mark nothing: what the runs and waits of their threads show. The rules that these belong
//! to call them where no parallel region is marked.

pub(crate) mod interpreter_lock;
pub(crate) mod larger_share;
pub(crate) mod last_piece;
pub(crate) mod lock_calls;
pub(crate) mod one_request;
pub(crate) mod other_program;
pub(crate) mod process_lock;
pub(crate) mod short_jobs;
pub(crate) mod single_items;
pub(crate) mod spinning;
pub(crate) mod tails;
pub(crate) mod waiting_server;
