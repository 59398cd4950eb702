//! One file or folder per format.

pub mod chrome;
pub mod csv;
pub mod firefox;
pub mod folded;
pub mod parquet;
pub mod perfetto;
pub mod xlsx;
