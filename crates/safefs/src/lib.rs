//! Folders by descriptor, for what recordings, imports and caches write.
//!
//! A recording holds every process's command line and the kernel's addresses, and is often made by root in a folder of somebody
//! else. So a folder is opened once, and all within it is named relative to its descriptor:
//!
//! ```text
//!   path ── walk: root follows no link of another user ──▶ Dir ── create, make, open: no link, new files only
//!                                                           │     0700 and 0600 whatever the umask, 0755 and 0644 if shared
//!                                                           ├── sync_all: on disk before what it replaces is removed
//!                                                           └── hand_over: by descriptor, to who called sudo
//! ```
//!
//! Errors are sentences without the path: who reports them names it.

mod dir;
mod owner;
mod place;
mod walk;

pub use dir::Dir;
pub use place::Place;

/// Who may read what is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Access {
    /// The owner alone: folders 0700, files 0600.
    #[default]
    Private,
    /// Every user of the machine: folders 0755, files 0644.
    Shared,
}

impl Access {
    /// Of `--shared`.
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
