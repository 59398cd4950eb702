//! A folder that is held open.

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

/// A folder, wherever its name may lead by now.
#[derive(Clone, Debug)]
pub struct Dir {
    fd: Arc<OwnedFd>,
    /// For words only: nothing is opened by it.
    path: PathBuf,
    /// Permissions of folders that are made in it.
    bits: u32,
    /// Whose it becomes at the end.
    heir: Option<Owner>,
    /// Whether what is made in it becomes theirs at once.
    at_once: bool,
}

impl Dir {
    /// A folder that is there.
    ///
    /// # Errors
    /// As the file system says; root follows no link of another user.
    pub fn open(path: &Path) -> Result<Self> {
        Self::of(walk::walk(path, None)?, path)
    }

    /// A folder that is there, for what is kept in it to be had again: root writes in no folder of another user than who called sudo,
    /// whose it is at once.
    ///
    /// # Errors
    /// As [`Self::open`]; it is another user's.
    pub fn open_for_writing(path: &Path) -> Result<Self> {
        Self::writable(Self::open(path)?)
    }

    /// [`Self::open_for_writing`], made where it is missing; what is made in it is the user's alone, however open it is.
    ///
    /// # Errors
    /// As there.
    pub fn make_all(path: &Path) -> Result<Self> {
        let bits = Access::Private.of_folders();
        Ok(Self { bits, ..Self::writable(Self::of(walk::walk(path, Some(bits))?, path)?)? })
    }

    fn writable(dir: Self) -> Result<Self> {
        if owner::is_root() {
            owner::ours(&dir.stat()?)?;
        }
        Ok(Self { at_once: true, ..dir })
    }

    /// What is made in a folder has its permissions for reading, and goes to who called sudo where it, or the folder around it, is
    /// theirs.
    pub(crate) fn of(fd: OwnedFd, path: &Path) -> Result<Self> {
        let of = fstat(&fd)?;
        let around = || folder(&fd, OsStr::new("..")).and_then(fstat).ok();
        let heir = owner::invoking_owner(&of).or_else(|| owner::invoking_owner(&around()?));
        Ok(Self { fd: Arc::new(fd), path: path.to_owned(), bits: 0o700 | of.st_mode & 0o055, heir, at_once: false })
    }

    /// A folder in which one is made: that goes to who called sudo where this one is theirs.
    pub(crate) fn around(fd: OwnedFd, path: &Path) -> Result<Self> {
        let heir = owner::invoking_owner(&fstat(&fd)?);
        Ok(Self { heir, ..Self::of(fd, path)? })
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    pub(crate) fn stat(&self) -> Result<Stat> {
        Ok(fstat(&self.fd)?)
    }

    /// By which path it was opened; it need not lead there any more.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is another user's, so that only rights above its permissions let this process write there.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.stat().map_or(true, |of| of.st_uid != rustix::process::geteuid().as_raw())
    }

    /// Whether it will go to another user.
    #[must_use]
    pub fn has_heir(&self) -> bool {
        self.heir.is_some()
    }

    /// That this user may put a trace there: it is theirs, or of who called sudo.
    ///
    /// # Errors
    /// It is another user's.
    pub fn ours(&self) -> Result<()> {
        owner::ours(&self.stat()?)
    }

    /// Whether there is something of this name.
    #[must_use]
    pub fn has(&self, name: impl AsRef<OsStr>) -> bool {
        statat(&self.fd, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// What lies in it.
    ///
    /// # Errors
    /// As the file system says.
    pub fn names(&self) -> Result<Vec<OsString>> {
        names(&self.fd)
    }

    fn within(&self, fd: OwnedFd, name: &OsStr, bits: u32) -> Self {
        Self { fd: Arc::new(fd), path: self.path.join(name), bits, heir: self.heir, at_once: self.at_once }
    }

    /// A new folder in it.
    ///
    /// # Errors
    /// As the file system says.
    pub fn make(&self, name: impl AsRef<OsStr>) -> Result<Self> {
        let name = name.as_ref();
        let made = self.within(walk::make(&self.fd, name, self.bits)?, name, self.bits);
        self.given_at_once(&made.fd).map(|()| made)
    }

    pub(crate) fn make_as(&self, name: &OsStr, access: Access) -> Result<Self> {
        let fd = walk::make(&self.fd, name, access.of_folders())?;
        Ok(self.within(fd, name, access.of_folders()))
    }

    /// A folder in it that is there; never through a link.
    ///
    /// # Errors
    /// As the file system says.
    pub fn open_dir(&self, name: impl AsRef<OsStr>) -> Result<Self> {
        let name = name.as_ref();
        let fd = folder(&self.fd, name)?;
        let bits = 0o700 | fstat(&fd)?.st_mode & 0o055;
        Ok(self.within(fd, name, bits))
    }

    /// A folder in it, made where it is missing.
    ///
    /// # Errors
    /// As the file system says.
    pub fn open_or_make(&self, name: &str) -> Result<Self> {
        match self.make(name) {
            Err(why) if why.kind() == ErrorKind::AlreadyExists => Self::writable(self.open_dir(name)?),
            made => made,
        }
    }

    /// A new file in it, to be read and written.
    ///
    /// # Errors
    /// As the file system says; something of this name is there.
    pub fn create(&self, name: impl AsRef<OsStr>) -> Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let bits = Mode::from_raw_mode(0o600 | self.bits & 0o044);
        let fd = openat(&self.fd, name.as_ref(), flags, bits)?;
        fchmod(&fd, bits)?;
        self.given_at_once(&fd)?;
        Ok(fd.into())
    }

    fn given_at_once(&self, of: impl std::os::fd::AsFd) -> Result<()> {
        if self.at_once { self.given(of) } else { Ok(()) }
    }

    fn given(&self, of: impl std::os::fd::AsFd) -> Result<()> {
        self.heir.map_or(Ok(()), |heir| give(of, heir))
    }

    /// A file in it, to be read: never through a link, and nothing but a file.
    ///
    /// # Errors
    /// As the file system says.
    pub fn open_file(&self, name: impl AsRef<OsStr>) -> Result<File> {
        // A pipe in its place would keep us waiting.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name.as_ref(), flags, Mode::empty()).map_err(|why| match why {
            Errno::LOOP => {
                Error::new(ErrorKind::PermissionDenied, "it is a link, and none is followed within a trace folder")
            }
            why => why.into(),
        })?;
        match kind(&fstat(&fd)?) {
            FileType::RegularFile => Ok(fd.into()),
            _ => Err(Error::new(ErrorKind::InvalidInput, "it is no file")),
        }
    }

    /// All that is in a file.
    ///
    /// # Errors
    /// As the file system says.
    pub fn read(&self, name: impl AsRef<OsStr>) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_file(name)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes a file so that it is either the old one or the new one, whole; gives it, to be synced or handed over.
    ///
    /// # Errors
    /// As the file system says.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<File> {
        let beside = format!("{name}.new");
        // Of who was killed before it had its name.
        let _ = self.remove(&beside);
        let mut file = self.create(&beside)?;
        let done = file.write_all(bytes).and_then(|()| self.rename(&beside, self, name));
        match done {
            Ok(()) => Ok(file),
            Err(why) => {
                let _ = self.remove(&beside);
                Err(why)
            }
        }
    }

    /// Gives what is in it another name, here or in another folder. What has that name is replaced.
    ///
    /// # Errors
    /// As the file system says.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: &Self, name: impl AsRef<OsStr>) -> Result<()> {
        Ok(renameat(&self.fd, from.as_ref(), &to.fd, name.as_ref())?)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// As the file system says.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> Result<()> {
        Ok(unlinkat(&self.fd, name.as_ref(), AtFlags::empty())?)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// As the file system says.
    pub fn remove_dir(&self, name: impl AsRef<OsStr>) -> Result<()> {
        Ok(unlinkat(&self.fd, name.as_ref(), AtFlags::REMOVEDIR)?)
    }

    /// Removes all that is in it.
    ///
    /// # Errors
    /// As the file system says.
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

    /// Removes a folder of corewise's own making with all that is in it, if it is there.
    ///
    /// # Errors
    /// As the file system says; it is another user's.
    pub fn remove_all(&self, name: impl AsRef<OsStr>) -> Result<()> {
        match self.open_dir(&name) {
            Ok(there) => {
                there.ours()?;
                there.clear()?;
                self.remove_dir(name)
            }
            Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(()),
            Err(why) => Err(why),
        }
    }

    /// That its names are on disk.
    ///
    /// # Errors
    /// As the file system says.
    pub fn sync(&self) -> Result<()> {
        Ok(fsync(readable(&self.fd)?)?)
    }

    /// That it is on disk with all that is in it.
    ///
    /// # Errors
    /// As the file system says.
    pub fn sync_all(&self) -> Result<()> {
        for name in self.names()? {
            match self.open_dir(&name) {
                Ok(folder) => folder.sync_all()?,
                Err(_) => self.open_file(&name)?.sync_all()?,
            }
        }
        self.sync()
    }

    /// Makes it, with all that is in it, the user's who called sudo, where it is to be theirs. It must be of this process's own making:
    /// what lies in it is taken for such.
    ///
    /// # Errors
    /// As the file system says.
    pub fn hand_over(&self) -> Result<()> {
        if self.heir.is_none() {
            return Ok(());
        }
        for name in self.names()? {
            match self.open_dir(&name) {
                Ok(folder) => folder.hand_over()?,
                Err(_) => self.hand_over_file(&self.open_file(&name)?)?,
            }
        }
        self.hand_over_itself()
    }

    /// The same of the folder alone.
    ///
    /// # Errors
    /// As the file system says.
    pub fn hand_over_itself(&self) -> Result<()> {
        match is_mine(&self.stat()?) {
            true => self.given(&self.fd),
            false => Ok(()),
        }
    }

    /// The same of a file that was made in it.
    ///
    /// # Errors
    /// As the file system says.
    pub fn hand_over_file(&self, file: &File) -> Result<()> {
        let of = fstat(file)?;
        // Of a file with another name elsewhere nobody knows whose it is.
        match is_mine(&of) && of.st_nlink == 1 {
            true => self.given(file),
            false => Ok(()),
        }
    }
}

fn is_mine(of: &Stat) -> bool {
    of.st_uid == rustix::process::geteuid().as_raw()
}
