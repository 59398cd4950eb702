//! Object stores: S3, Google Cloud Storage, Azure, and WebDAV over HTTP. The crate `object_store` does the requests.
//!
//! ```text
//!   s3://bucket/runs ── Store::open: credentials from the environment ──▶ Store ── list ──▶ Object
//!                                                                          │  ▲              │
//!                                              put, put_file, remove ◀─────┘  └── fetch ─────┘──▶ a private folder
//! ```
//!
//! All calls wait until they are done, and can be made by several threads at the same time. A request that fails is repeated, for at most
//! 90 s; one that is not answered fails after 30 s.
//!
//! The clients of the stores need many crates that nothing else does, so they are in a build only with the feature `remote` (of the package `corewise`:
//! `stores`). Without it, the interface is the same, and [`Store::open`] fails with [`StoreError::NotBuilt`].

#[cfg(feature = "remote")]
mod client_error;
#[cfg(feature = "remote")]
mod debug_cache;
mod debug_file;
#[cfg(feature = "remote")]
mod debuginfod;
#[cfg(not(feature = "remote"))]
#[path = "debuginfod_not_built.rs"]
mod debuginfod;
mod error;
#[cfg(not(feature = "remote"))]
mod not_built;
mod object;
#[cfg(feature = "remote")]
mod store;

pub use debug_file::DebugFile;
pub use debuginfod::Debuginfod;
pub use error::StoreError;
#[cfg(not(feature = "remote"))]
pub use not_built::{Store, Version};
pub use object::{Object, When};
#[cfg(feature = "remote")]
pub use store::{Store, Version};

use std::path::Path;

/// Whether this build has the clients of stores.
#[must_use]
pub const fn are_built() -> bool {
    cfg!(feature = "remote")
}

/// Whether a path is the URL of something in a store: it begins with a scheme, such as `s3://`.
///
/// ```
/// assert!(stores::is_url("s3://bucket/runs".as_ref()));
/// assert!(!stores::is_url("runs/a.cw".as_ref()) && !stores::is_url("/tmp/a://b".as_ref()));
/// ```
#[must_use]
pub fn is_url(path: &Path) -> bool {
    let Some((scheme, _)) = path.to_str().and_then(|path| path.split_once("://")) else { return false };
    !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}
