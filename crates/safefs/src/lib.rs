//! File access by folder descriptors, for recordings, imports and caches.
//!
//! A recording has the command lines of all processes and kernel addresses, and is often made by root in a folder of another user.
//! So a folder is opened once, and everything in it is accessed relative to its descriptor:
//!
//! ```text
//!   path ── walk: root follows no link of another user ──▶ Dir ── create, make, open: no links, new files only
//!                                                           │     0700 and 0600 with any umask, 0755 and 0644 if shared
//!                                                           ├── sync_all: on disk before the old data is removed
//!                                                           └── hand_over: by descriptor, to the user who called sudo
//! ```
//!
//! Error messages do not have the path: the caller adds it.

mod dir;
mod home;
mod owner;
mod place;
mod walk;

pub use dir::Dir;
pub use home::config_home;
pub use place::Place;

/// The permissions of written files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Access {
    /// Only the owner: folders 0700, files 0600.
    #[default]
    Private,
    /// All users of the machine: folders 0755, files 0644.
    Shared,
}

impl Access {
    /// Returns the access for `--shared`.
    #[must_use]
    pub fn shared(shared: bool) -> Self {
        if shared { Self::Shared } else { Self::Private }
    }

    fn of_folders(self) -> u32 {
        match self {
            Self::Private => 0o700,
            Self::Shared => 0o755,
        }
    }
}
