//! Many recordings: a catalogue that is kept up to date, what it says about hosts and versions, and which recordings may be removed.
//!
//! ```text
//!   runs/  ── walk: what is a recording ──▶ catalogue: what is new or changed ──▶ measure: rows of it, on all CPUs
//!                                                │                                        │
//!                                                ▼                                        ▼
//!   catalogue/<table>/host=…/date=…/part.parquet  ◀── replaced one by one, `recordings` last ──┘
//!                                                │
//!                                                ├─▶ report: findings by host and version, what changed (crate `stats`)
//!                                                └─▶ DuckDB, Spark, pyarrow: an ordinary data set with hive partitions
//! ```
//!
//! A catalogue has only what follows from the recordings: it can be removed and made again.

mod catalogue;
mod copy;
mod dates;
mod error;
mod index;
mod measure;
mod packed;
mod parquet_in;
mod partition;
mod prune;
mod remote;
mod report;
mod runs;
pub mod tables;
mod walk;
mod walk_store;

pub use catalogue::{Catalogue, CatalogueFile, is_catalogue};
pub use copy::{Copied, copy, fetch, send_labels};
pub use error::FleetError;
pub use index::{IndexOptions, Indexed, index};
pub use prune::{Keep, Kept, Plan, Removal, plan, remove};
pub use report::{Fleet, ReportOptions};
