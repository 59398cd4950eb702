//! The owner of a folder, and the user that it is handed over to.

use rustix::fs::{Gid, Stat, Uid};
use std::io::{Error, ErrorKind, Result};

/// A user and its group.
pub(crate) type Owner = (Uid, Gid);

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the user who called sudo, if this process is root.
pub(crate) fn invoking_user() -> Option<Owner> {
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok().filter(|n| *n != u32::MAX);
    let (uid, gid) = (number("SUDO_UID")?, number("SUDO_GID")?);
    (is_root() && uid != 0).then(|| (Uid::from_raw(uid), Gid::from_raw(gid)))
}

/// Returns the user who called sudo, if they own the folder.
pub(crate) fn invoking_owner(of: &Stat) -> Option<Owner> {
    invoking_user().filter(|(uid, _)| uid.as_raw() == of.st_uid)
}

/// Whether this user, or the user who called sudo, owns it.
pub(crate) fn is_ours(of: &Stat) -> bool {
    of.st_uid == rustix::process::geteuid().as_raw() || invoking_owner(of).is_some()
}

/// Checks that this user, or the user who called sudo, owns it.
pub(crate) fn check_owner(of: &Stat) -> Result<()> {
    if is_ours(of) { Ok(()) } else { Err(foreign(of.st_uid)) }
}

fn foreign(uid: u32) -> Error {
    let message =
        format!("it belongs to another user (uid {uid}): choose a folder of your own, or run corewise as that user");
    Error::new(ErrorKind::PermissionDenied, message)
}
