//! Errors of stores. Each message says what happened, where, and what to do.

/// Why a store could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Not the URL of a store.
    #[error("{url}: {why}")]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// This build has no clients of stores: see [`crate::are_built`].
    #[error("{0}: this build reads no object stores; build with `--features stores`, or install the package")]
    NotBuilt(String),
    /// There is no such object.
    #[error("{0}: the store has no such object or bucket")]
    NotFound(String),
    /// It may not be read or written.
    #[error("{url}: the store refuses access ({why}): check the credentials in the environment (see docs/fleet.md)")]
    Denied {
        /// The URL.
        url: String,
        /// What the store said.
        why: String,
    },
    /// The object is not, or no longer, what it was.
    #[error("{0}: it was changed by someone else meanwhile")]
    Changed(String),
    /// The store did not answer, or with an error. It may do so later.
    #[error("{url}: the request failed: {why}")]
    Unreachable {
        /// The URL.
        url: String,
        /// What the store said, or what failed.
        why: String,
    },
    /// A local file could not be read or written.
    #[error("{url}: {why}")]
    Local {
        /// The URL that was fetched or kept.
        url: String,
        /// The system's error, and what failed.
        why: String,
    },
}

impl StoreError {
    /// Whether the store did not answer, or with an error of its own.
    #[must_use]
    pub fn is_down(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_stores_says_what_to_do() {
        let error = StoreError::NotBuilt("s3://b/x".to_owned());
        let said =
            "s3://b/x: this build reads no object stores; build with `--features stores`, or install the package";
        assert_eq!((error.to_string().as_str(), error.is_down()), (said, false));
        // As a build does it, whichever this is.
        let opened = crate::Store::open("s3://b/x").map(|store| store.url().to_owned());
        let refused = matches!(opened, Err(StoreError::NotBuilt(_)));
        assert!(refused != crate::are_built(), "{opened:?}");
    }
}
