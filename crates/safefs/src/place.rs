//! Where a new folder will stand.

use crate::walk::{is_empty, permit, walk};
use crate::{Access, Dir, owner};
use std::ffi::{OsStr, OsString};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// A name in a folder that is held open.
#[derive(Debug)]
pub struct Place {
    around: Dir,
    name: OsString,
    access: Access,
}

impl Place {
    /// The place of a new folder; folders that are missing on the way to it are made.
    ///
    /// # Errors
    /// It has no name, or the way is not to be gone.
    pub fn of(path: &Path, access: Access) -> Result<Self> {
        let name =
            path.file_name().ok_or_else(|| Error::new(ErrorKind::InvalidInput, "it is no name for a new folder"))?;
        let around = path.parent().unwrap_or(Path::new(""));
        let fd = walk(around, Some(access.of_folders()))?;
        Ok(Self { around: Dir::around(fd, around)?, name: name.to_owned(), access })
    }

    /// The folder in which it is.
    #[must_use]
    pub fn around(&self) -> &Dir {
        &self.around
    }

    /// Its name there.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Whether a new folder may stand there: nothing is there, or an empty folder of this user or of who called sudo.
    ///
    /// # Errors
    /// The folder is another user's.
    pub fn is_free(&self) -> Result<bool> {
        if !self.around.has(&self.name) {
            return Ok(true);
        }
        let Ok(there) = self.around.open_dir(&self.name) else { return Ok(false) };
        owner::ours(&there.stat()?)?;
        is_empty(there.fd())
    }

    /// Makes a folder of another name beside it, for what will have its name.
    ///
    /// # Errors
    /// As the file system says.
    pub fn make_beside(&self, name: &OsStr) -> Result<Dir> {
        self.around.make_as(name, self.access)
    }

    /// A new folder, or an empty one that is there already: the folder and, where it was made, its place.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`]: something is there that is no empty folder. [`ErrorKind::PermissionDenied`]: it is another
    /// user's. Else as the file system says.
    pub fn take(path: &Path, access: Access) -> Result<(Dir, Option<Self>)> {
        match walk(path, None) {
            Ok(fd) => {
                let dir = Dir::of(fd, path)?;
                if !is_empty(dir.fd())? {
                    return Err(ErrorKind::AlreadyExists.into());
                }
                owner::ours(&dir.stat()?)?;
                permit(dir.fd(), access.of_folders())?;
                Ok((Dir::of(walk_again(&dir)?, path)?, None))
            }
            Err(why) if why.kind() == ErrorKind::NotFound => {
                let place = Self::of(path, access)?;
                let dir = place.around.make_as(&place.name, access)?;
                Ok((dir, Some(place)))
            }
            Err(why) if why.kind() == ErrorKind::NotADirectory => Err(ErrorKind::AlreadyExists.into()),
            Err(why) => Err(why),
        }
    }

    /// Removes the folder that was made there, if it is empty.
    pub fn give_up(&self) {
        let _ = self.around.remove_dir(&self.name);
    }
}

/// The same folder, whose permissions were changed.
fn walk_again(dir: &Dir) -> Result<std::os::fd::OwnedFd> {
    Ok(crate::walk::folder(dir.fd(), OsStr::new("."))?)
}
