//! Opens the folder at a path.

use crate::owner;
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fchmod, fstat, mkdirat, openat, readlinkat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// The maximum number of links, as in the kernel.
const MAX_LINKS: u32 = 40;

/// Opens a folder without access rights to its content, never through a link.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder within another one.
pub(crate) fn folder(at: impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    openat(at, name, FOLDER, Mode::empty())
}

/// Opens the same folder for reading, syncing or changing it.
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

/// Returns the names in a folder.
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

/// Sets the permissions of a folder, independent of the umask.
pub(crate) fn permit(of: &OwnedFd, bits: u32) -> Result<()> {
    Ok(fchmod(readable(of)?, mode(bits))?)
}

/// Creates a folder. If another user can write to the parent folder, they may replace the new folder before it is opened: it is used
/// only if this user owns it and it is empty.
pub(crate) fn make(at: &OwnedFd, name: &OsStr, bits: u32) -> Result<OwnedFd> {
    mkdirat(at, name, mode(bits))?;
    let made = folder(at, name)?;
    let of = fstat(&made)?;
    if of.st_uid != rustix::process::geteuid().as_raw() {
        return Err(Error::other("another process replaced it while it was being created"));
    }
    if of.st_mode & 0o700 != 0o700 && !owner::is_root() {
        // The umask removed even the owner's rights, so the folder cannot be opened to change it. Changing it by name is safe without
        // root.
        rustix::fs::chmodat(at, name, mode(bits), rustix::fs::AtFlags::empty())?;
    }
    if !is_empty(&made)? {
        return Err(Error::other("another process replaced it while it was being created"));
    }
    permit(&made, bits)?;
    Ok(made)
}

/// Opens the folder at a path. Missing folders are created with the mode `missing`; if it is `None`, they are an error.
///
/// Other users than root may follow any link. Root follows only links that root owns, in folders that root owns, because links of
/// another user could lead anywhere.
pub(crate) fn walk(path: &Path, missing: Option<u32>) -> Result<OwnedFd> {
    let mut at = start(path)?;
    let mut left: VecDeque<OsString> = steps(path).collect();
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        match folder(&at, &name) {
            Ok(next) => at = next,
            Err(Errno::NOENT) if missing.is_some() && name != ".." => {
                at = make_missing(&at, &name, missing.unwrap_or(0o700))?
            }
            Err(Errno::NOTDIR | Errno::LOOP) => {
                links += 1;
                if links > MAX_LINKS {
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

/// Creates a missing parent folder; the user who called sudo owns it if they own its parent.
fn make_missing(at: &OwnedFd, name: &OsStr, bits: u32) -> Result<OwnedFd> {
    let made = make(at, name, bits)?;
    if let Some(owner) = owner::invoking_owner(&fstat(at)?) {
        give(&made, owner)?;
    }
    Ok(made)
}

/// Changes the owner of an open file or folder.
pub(crate) fn give(of: impl AsFd, (uid, gid): owner::Owner) -> Result<()> {
    Ok(rustix::fs::chownat(of, c"", Some(uid), Some(gid), rustix::fs::AtFlags::EMPTY_PATH)?)
}

/// Returns the target of a link that may be followed.
fn link(at: &OwnedFd, name: &OsStr) -> Result<PathBuf> {
    // Opens the link itself, because the name may lead to another one later.
    let it = openat(at, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let of = fstat(&it)?;
    if kind(&of) != FileType::Symlink {
        return Err(Errno::NOTDIR.into());
    }
    let parent = fstat(at)?;
    if owner::is_root() && (of.st_uid != 0 || parent.st_uid != 0) {
        let by = if of.st_uid == 0 { parent.st_uid } else { of.st_uid };
        let message = format!(
            "{} is a symbolic link that uid {by} may change; root does not follow links of other users: use the path of the target folder",
            name.display()
        );
        return Err(Error::new(ErrorKind::PermissionDenied, message));
    }
    Ok(PathBuf::from(OsString::from_vec(readlinkat(&it, c"", Vec::new())?.into_bytes())))
}

pub(crate) fn kind(of: &Stat) -> FileType {
    FileType::from_raw_mode(of.st_mode)
}
