//! From a path to a descriptor.

use crate::owner;
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fchmod, fstat, mkdirat, openat, readlinkat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// As many as the kernel follows.
const MOST_LINKS: u32 = 40;

/// A folder itself, whatever may be done in it; never through a link.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder within another one.
pub(crate) fn folder(at: impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    openat(at, name, FOLDER, Mode::empty())
}

/// The same folder, to be read, synced or changed.
pub(crate) fn readable(of: impl AsFd) -> rustix::io::Result<OwnedFd> {
    openat(of, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn mode(bits: u32) -> Mode {
    Mode::from_raw_mode(bits)
}

/// Whether a folder is empty.
pub(crate) fn is_empty(of: &OwnedFd) -> Result<bool> {
    Ok(names(of)?.is_empty())
}

/// What lies in a folder.
pub(crate) fn names(of: &OwnedFd) -> Result<Vec<OsString>> {
    let mut all = Vec::new();
    for entry in rustix::fs::Dir::new(readable(of)?)? {
        let name = entry?.file_name().to_owned().into_bytes();
        if name != b"." && name != b".." {
            all.push(OsString::from_vec(name));
        }
    }
    Ok(all)
}

/// Sets a folder's permissions, whatever the umask was.
pub(crate) fn permit(of: &OwnedFd, bits: u32) -> Result<()> {
    Ok(fchmod(readable(of)?, mode(bits))?)
}

/// Makes a folder that is not there. Where somebody else may write in the one around it, another folder may stand there by
/// the time that it is opened: it is taken only if it is this user's and empty.
pub(crate) fn make(at: &OwnedFd, name: &OsStr, bits: u32) -> Result<OwnedFd> {
    mkdirat(at, name, mode(bits))?;
    let made = folder(at, name)?;
    let of = fstat(&made)?;
    if of.st_uid != rustix::process::geteuid().as_raw() {
        return Err(Error::other("somebody replaced it while it was made"));
    }
    if of.st_mode & 0o700 != 0o700 && !owner::is_root() {
        // A umask that takes even the owner's rights: it cannot be opened to be changed. Its name will do, for who is not root.
        rustix::fs::chmodat(at, name, mode(bits), rustix::fs::AtFlags::empty())?;
    }
    if !is_empty(&made)? {
        return Err(Error::other("somebody replaced it while it was made"));
    }
    permit(&made, bits)?;
    Ok(made)
}

/// Follows a path to a folder. What is missing on the way is made with `missing` as its mode, and is an error where that is `None`.
///
/// Who is not root may go wherever the system lets them. Root goes through links only that root made, in folders of root's:
/// another user's could lead anywhere.
pub(crate) fn walk(path: &Path, missing: Option<u32>) -> Result<OwnedFd> {
    let mut at = start(path)?;
    let mut left: VecDeque<OsString> = steps(path).collect();
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        match folder(&at, &name) {
            Ok(next) => at = next,
            Err(Errno::NOENT) if missing.is_some() && name != ".." => {
                at = missing_one(&at, &name, missing.unwrap_or(0o700))?
            }
            Err(Errno::NOTDIR | Errno::LOOP) => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::LOOP.into());
                }
                let to = link(&at, &name)?;
                if to.is_absolute() {
                    at = start(&to)?;
                }
                for step in steps(&to).collect::<Vec<_>>().into_iter().rev() {
                    left.push_front(step);
                }
            }
            Err(why) => return Err(why.into()),
        }
    }
    Ok(at)
}

fn start(path: &Path) -> Result<OwnedFd> {
    Ok(folder(CWD, OsStr::new(if path.is_absolute() { "/" } else { "." }))?)
}

fn steps(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|step| match step {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

/// On the way to a new folder: of who called sudo, where the one around it is.
fn missing_one(at: &OwnedFd, name: &OsStr, bits: u32) -> Result<OwnedFd> {
    let made = make(at, name, bits)?;
    if let Some(owner) = owner::invoking_owner(&fstat(at)?) {
        give(&made, owner)?;
    }
    Ok(made)
}

/// Makes what a descriptor leads to another user's.
pub(crate) fn give(of: impl AsFd, (uid, gid): owner::Owner) -> Result<()> {
    Ok(rustix::fs::chownat(of, c"", Some(uid), Some(gid), rustix::fs::AtFlags::EMPTY_PATH)?)
}

/// Where a link leads that may be followed.
fn link(at: &OwnedFd, name: &OsStr) -> Result<PathBuf> {
    // The link itself: what stands there may be another one a moment later.
    let it = openat(at, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let of = fstat(&it)?;
    if kind(&of) != FileType::Symlink {
        return Err(Errno::NOTDIR.into());
    }
    let around = fstat(at)?;
    if owner::is_root() && (of.st_uid != 0 || around.st_uid != 0) {
        let by = if of.st_uid == 0 { around.st_uid } else { of.st_uid };
        let words = format!(
            "{} is a link that uid {by} may change, and root follows none of another user's: name the folder that it leads to",
            name.display()
        );
        return Err(Error::new(ErrorKind::PermissionDenied, words));
    }
    Ok(PathBuf::from(OsString::from_vec(readlinkat(&it, c"", Vec::new())?.into_bytes())))
}

pub(crate) fn kind(of: &Stat) -> FileType {
    FileType::from_raw_mode(of.st_mode)
}
