//! An open folder.

use crate::Access;
use crate::owner::{self, Owner};
use crate::walk::{self, folder, give, kind, names, readable};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fchmod, fstat, fsync, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// An open folder, even if its path now leads elsewhere.
#[derive(Clone, Debug)]
pub struct Dir {
    fd: Arc<OwnedFd>,
    /// Only for messages: nothing is opened by it.
    path: PathBuf,
    /// The permissions of folders created in it.
    bits: u32,
    /// The owner after [`Self::hand_over`].
    new_owner: Option<Owner>,
    /// Whether files created in it are handed over immediately.
    hand_over_now: bool,
}

impl Dir {
    /// Opens an existing folder.
    ///
    /// # Errors
    /// The error of the file system; root follows no link of another user.
    pub fn open(path: &Path) -> Result<Self> {
        Self::of(walk::walk(path, None)?, path)
    }

    /// Opens an existing folder for cached files. Root writes only to its own folders and to those of the user who called sudo. New
    /// files are handed over to that user immediately.
    ///
    /// # Errors
    /// As [`Self::open`]; another user owns the folder.
    pub fn open_for_writing(path: &Path) -> Result<Self> {
        Self::writable(Self::open(path)?)
    }

    /// Like [`Self::open_for_writing`], but creates the folder if it is missing. New files are accessible only to the user, whatever the
    /// permissions of the folder.
    ///
    /// # Errors
    /// As [`Self::open_for_writing`].
    pub fn make_all(path: &Path) -> Result<Self> {
        let bits = Access::Private.of_folders();
        Ok(Self { bits, ..Self::writable(Self::of(walk::walk(path, Some(bits))?, path)?)? })
    }

    fn writable(dir: Self) -> Result<Self> {
        if owner::is_root() {
            owner::check_owner(&dir.stat()?)?;
        }
        Ok(Self { hand_over_now: true, ..dir })
    }

    /// Returns a folder for a descriptor. Files created in it have its permissions for reading. They are handed over to the user who
    /// called sudo if that user owns the folder or its parent.
    pub(crate) fn of(fd: OwnedFd, path: &Path) -> Result<Self> {
        let of = fstat(&fd)?;
        let parent = || folder(&fd, OsStr::new("..")).and_then(fstat).ok();
        let new_owner = owner::invoking_owner(&of).or_else(|| owner::invoking_owner(&parent()?));
        Ok(Self {
            fd: Arc::new(fd),
            path: path.to_owned(),
            bits: 0o700 | of.st_mode & 0o055,
            new_owner,
            hand_over_now: false,
        })
    }

    /// Returns the parent folder of a new folder, which is handed over to the user who called sudo if that user owns the parent.
    pub(crate) fn parent(fd: OwnedFd, path: &Path) -> Result<Self> {
        let new_owner = owner::invoking_owner(&fstat(&fd)?);
        Ok(Self { new_owner, ..Self::of(fd, path)? })
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    pub(crate) fn stat(&self) -> Result<Stat> {
        Ok(fstat(&self.fd)?)
    }

    /// Returns the path with which it was opened, which may lead elsewhere now.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether another user owns it, so that this process can write there only with elevated rights.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.stat().map_or(true, |of| of.st_uid != rustix::process::geteuid().as_raw())
    }

    /// Whether it will be handed over to another user.
    #[must_use]
    pub fn has_new_owner(&self) -> bool {
        self.new_owner.is_some()
    }

    /// Checks that this user, or the user who called sudo, owns it.
    ///
    /// # Errors
    /// Another user owns it.
    pub fn check_owner(&self) -> Result<()> {
        owner::check_owner(&self.stat()?)
    }

    /// Whether the name exists.
    #[must_use]
    pub fn has(&self, name: impl AsRef<OsStr>) -> bool {
        statat(&self.fd, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Returns the names in it.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn names(&self) -> Result<Vec<OsString>> {
        names(&self.fd)
    }

    fn within(&self, fd: OwnedFd, name: &OsStr, bits: u32) -> Self {
        Self {
            fd: Arc::new(fd),
            path: self.path.join(name),
            bits,
            new_owner: self.new_owner,
            hand_over_now: self.hand_over_now,
        }
    }

    /// Creates a folder in it.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn make(&self, name: impl AsRef<OsStr>) -> Result<Self> {
        let name = name.as_ref();
        let made = self.within(walk::make(&self.fd, name, self.bits)?, name, self.bits);
        self.hand_over_new(&made.fd).map(|()| made)
    }

    pub(crate) fn make_as(&self, name: &OsStr, access: Access) -> Result<Self> {
        let fd = walk::make(&self.fd, name, access.of_folders())?;
        Ok(self.within(fd, name, access.of_folders()))
    }

    /// Opens an existing folder in it, never through a link.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn open_dir(&self, name: impl AsRef<OsStr>) -> Result<Self> {
        let name = name.as_ref();
        let fd = folder(&self.fd, name)?;
        let bits = 0o700 | fstat(&fd)?.st_mode & 0o055;
        Ok(self.within(fd, name, bits))
    }

    /// Opens a folder in it, and creates it if it is missing.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn open_or_make(&self, name: &str) -> Result<Self> {
        match self.make(name) {
            Err(why) if why.kind() == ErrorKind::AlreadyExists => Self::writable(self.open_dir(name)?),
            made => made,
        }
    }

    /// Creates a file in it, for reading and writing.
    ///
    /// # Errors
    /// The error of the file system; the name exists.
    pub fn create(&self, name: impl AsRef<OsStr>) -> Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let bits = Mode::from_raw_mode(0o600 | self.bits & 0o044);
        let fd = openat(&self.fd, name.as_ref(), flags, bits)?;
        fchmod(&fd, bits)?;
        self.hand_over_new(&fd)?;
        Ok(fd.into())
    }

    fn hand_over_new(&self, of: impl std::os::fd::AsFd) -> Result<()> {
        if self.hand_over_now { self.change_owner(of) } else { Ok(()) }
    }

    fn change_owner(&self, of: impl std::os::fd::AsFd) -> Result<()> {
        self.new_owner.map_or(Ok(()), |new_owner| give(of, new_owner))
    }

    /// Opens a regular file in it for reading, never through a link.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn open_file(&self, name: impl AsRef<OsStr>) -> Result<File> {
        // Without NONBLOCK, opening a pipe would block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name.as_ref(), flags, Mode::empty()).map_err(|why| match why {
            Errno::LOOP => Error::new(
                ErrorKind::PermissionDenied,
                "it is a symbolic link, which is not followed in a trace folder",
            ),
            why => why.into(),
        })?;
        match kind(&fstat(&fd)?) {
            FileType::RegularFile => Ok(fd.into()),
            _ => Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn read(&self, name: impl AsRef<OsStr>) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_file(name)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Replaces a file atomically: its content is on disk before it has the name. Returns the new file, to be handed over.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<File> {
        let temporary = format!("{name}.new");
        // Left over if a process was killed before the rename.
        let _ = self.remove(&temporary);
        let mut file = self.create(&temporary)?;
        let done =
            file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| self.rename(&temporary, self, name));
        match done {
            Ok(()) => Ok(file),
            Err(why) => {
                let _ = self.remove(&temporary);
                Err(why)
            }
        }
    }

    /// Renames an entry, also to another folder. An entry with the new name is replaced.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: &Self, name: impl AsRef<OsStr>) -> Result<()> {
        Ok(renameat(&self.fd, from.as_ref(), &to.fd, name.as_ref())?)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> Result<()> {
        Ok(unlinkat(&self.fd, name.as_ref(), AtFlags::empty())?)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn remove_dir(&self, name: impl AsRef<OsStr>) -> Result<()> {
        Ok(unlinkat(&self.fd, name.as_ref(), AtFlags::REMOVEDIR)?)
    }

    /// Removes everything in it.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn clear(&self) -> Result<()> {
        for name in self.names()? {
            match self.remove(&name) {
                Err(why) if why.kind() == ErrorKind::IsADirectory => {
                    self.open_dir(&name)?.clear()?;
                    self.remove_dir(&name)?;
                }
                done => done?,
            }
        }
        Ok(())
    }

    /// Removes a folder that corewise created, with everything in it, if it exists.
    ///
    /// # Errors
    /// The error of the file system; another user owns it.
    pub fn remove_all(&self, name: impl AsRef<OsStr>) -> Result<()> {
        match self.open_dir(&name) {
            Ok(folder) => {
                folder.check_owner()?;
                folder.clear()?;
                self.remove_dir(name)
            }
            Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(()),
            Err(why) => Err(why),
        }
    }

    /// Returns when it was last changed.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn modified(&self) -> Result<SystemTime> {
        File::from(readable(&self.fd)?).metadata()?.modified()
    }

    /// Sets the time of its last change to now.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn touch(&self) -> Result<()> {
        File::from(readable(&self.fd)?).set_modified(SystemTime::now())
    }

    /// Syncs the folder itself to disk.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn sync(&self) -> Result<()> {
        Ok(fsync(readable(&self.fd)?)?)
    }

    /// Syncs the folder to disk with everything in it.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn sync_all(&self) -> Result<()> {
        for name in self.names()? {
            match self.open_dir(&name) {
                Ok(folder) => folder.sync_all()?,
                Err(_) => self.open_file(&name)?.sync_all()?,
            }
        }
        self.sync()
    }

    /// Hands the folder over to its new owner with everything in it, if it has one. This process must have created the folder and its
    /// content.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn hand_over(&self) -> Result<()> {
        if self.new_owner.is_none() {
            return Ok(());
        }
        for name in self.names()? {
            match self.open_dir(&name) {
                Ok(folder) => folder.hand_over()?,
                Err(_) => self.hand_over_file(&self.open_file(&name)?)?,
            }
        }
        self.hand_over_folder()
    }

    /// Hands over only the folder itself.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn hand_over_folder(&self) -> Result<()> {
        match is_mine(&self.stat()?) {
            true => self.change_owner(&self.fd),
            false => Ok(()),
        }
    }

    /// Hands over a file that was created in it.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn hand_over_file(&self, file: &File) -> Result<()> {
        let of = fstat(file)?;
        // A file with further hard links may belong to another user.
        match is_mine(&of) && of.st_nlink == 1 {
            true => self.change_owner(file),
            false => Ok(()),
        }
    }
}

fn is_mine(of: &Stat) -> bool {
    of.st_uid == rustix::process::geteuid().as_raw()
}
