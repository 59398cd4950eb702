//! What a store has, and when it is written.

use crate::Version;
#[cfg(feature = "remote")]
use object_store::{ObjectMeta, path::Path as Location};

/// An object of a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    /// Its key below the URL that was opened: names with `/` between them, none of which is empty, `.` or `..`.
    pub key: String,
    /// Its size, bytes.
    pub bytes: u64,
    /// When it was last written, ns since 1970. Stores have it in whole seconds or milliseconds.
    pub modified_ns: i64,
    #[cfg(feature = "remote")]
    pub(crate) location: Location,
    #[cfg(feature = "remote")]
    pub(crate) etag: Option<String>,
}

impl Object {
    /// `None` if it is the prefix itself, or has a name that no file can have.
    #[cfg(feature = "remote")]
    pub(crate) fn of(meta: ObjectMeta, prefix: &Location) -> Option<Self> {
        let (whole, prefix) = (meta.location.as_ref(), prefix.as_ref());
        let key = if prefix.is_empty() { whole } else { whole.strip_prefix(prefix)?.strip_prefix('/')? };
        let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('\0');
        if !key.split('/').all(is_name) {
            return None;
        }
        Some(Self {
            key: key.to_owned(),
            bytes: meta.size,
            modified_ns: meta.last_modified.timestamp_nanos_opt().unwrap_or(0),
            etag: meta.e_tag,
            location: meta.location,
        })
    }

    /// The name of the object, without its folders.
    #[must_use]
    pub fn name(&self) -> &str {
        self.key.rsplit_once('/').map_or(&self.key, |(_, name)| name)
    }
}

/// When an object is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum When {
    /// In any case.
    Always,
    /// Only if there is none.
    New,
    /// Only if it still has this version.
    Same(Version),
}
