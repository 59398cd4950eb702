//! The place of a new folder.

use crate::walk::{is_empty, permit, walk};
use crate::{Access, Dir, owner};
use std::ffi::{OsStr, OsString};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// A name in an open folder.
#[derive(Debug)]
pub struct Place {
    parent: Dir,
    name: OsString,
    access: Access,
}

impl Place {
    /// Returns the place of a new folder; missing parent folders are created.
    ///
    /// # Errors
    /// The path has no name, or cannot be followed.
    pub fn of(path: &Path, access: Access) -> Result<Self> {
        let name =
            path.file_name().ok_or_else(|| Error::new(ErrorKind::InvalidInput, "it is not a name for a new folder"))?;
        let parent = path.parent().unwrap_or(Path::new(""));
        let fd = walk(parent, Some(access.of_folders()))?;
        Ok(Self { parent: Dir::parent(fd, parent)?, name: name.to_owned(), access })
    }

    /// Returns the parent folder.
    #[must_use]
    pub fn parent(&self) -> &Dir {
        &self.parent
    }

    /// Returns its name in the parent folder.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Whether the place is free: it does not exist, or is an empty folder of this user or of the user who called sudo.
    ///
    /// # Errors
    /// Another user owns the folder.
    pub fn is_free(&self) -> Result<bool> {
        if !self.parent.has(&self.name) {
            return Ok(true);
        }
        let Ok(there) = self.parent.open_dir(&self.name) else { return Ok(false) };
        owner::check_owner(&there.stat()?)?;
        is_empty(there.fd())
    }

    /// Creates a folder with another name in the same parent, to be renamed later.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn make_sibling(&self, name: &OsStr) -> Result<Dir> {
        self.parent.make_as(name, self.access)
    }

    /// Creates a folder, or takes an empty one that exists. Returns the folder and, if it was created, its place.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`]: the path exists and is not an empty folder. [`ErrorKind::PermissionDenied`]: another user owns it.
    /// Otherwise the error of the file system.
    pub fn take(path: &Path, access: Access) -> Result<(Dir, Option<Self>)> {
        match walk(path, None) {
            Ok(fd) => {
                let dir = Dir::of(fd, path)?;
                if !is_empty(dir.fd())? {
                    return Err(ErrorKind::AlreadyExists.into());
                }
                owner::check_owner(&dir.stat()?)?;
                permit(dir.fd(), access.of_folders())?;
                Ok((Dir::of(reopen(&dir)?, path)?, None))
            }
            Err(why) if why.kind() == ErrorKind::NotFound => {
                let place = Self::of(path, access)?;
                let dir = place.parent.make_as(&place.name, access)?;
                Ok((dir, Some(place)))
            }
            Err(why) if why.kind() == ErrorKind::NotADirectory => Err(ErrorKind::AlreadyExists.into()),
            Err(why) => Err(why),
        }
    }

    /// Removes the folder that was created there, if it is empty.
    pub fn remove_if_empty(&self) {
        let _ = self.parent.remove_dir(&self.name);
    }
}

/// Opens the same folder again, after its permissions were changed.
fn reopen(dir: &Dir) -> Result<std::os::fd::OwnedFd> {
    Ok(crate::walk::folder(dir.fd(), OsStr::new("."))?)
}
