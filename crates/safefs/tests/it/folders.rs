//! Permissions are independent of the umask, and no link is followed out of a folder.

use safefs::{Access, Dir, Place};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// The umask applies to the process, and each test here creates files: those that change it run while no other one does.
static UMASK: RwLock<()> = RwLock::new(());

fn umask_is_ours() -> RwLockWriteGuard<'static, ()> {
    UMASK.write().unwrap_or_else(PoisonError::into_inner)
}

fn umask_stays() -> RwLockReadGuard<'static, ()> {
    UMASK.read().unwrap_or_else(PoisonError::into_inner)
}

fn with_umask(mask: libc::mode_t, test: impl FnOnce()) {
    // SAFETY: no memory is involved.
    let before = unsafe { libc::umask(mask) };
    test();
    // SAFETY: as above.
    unsafe { libc::umask(before) };
}

#[test]
fn modes_are_the_same_under_every_umask() {
    let _ours = umask_is_ours();
    for (access, folder, file) in [(Access::Private, 0o700, 0o600), (Access::Shared, 0o755, 0o644)] {
        for mask in [0, 0o022, 0o077, 0o277, 0o777] {
            let temporary = tempfile::tempdir().unwrap();
            let path = temporary.path().join("on the way/run.cw");
            with_umask(mask, || {
                let (dir, place) = Place::take(&path, access).unwrap();
                assert!(place.is_some());
                dir.make("events").unwrap().create("switch.parquet").unwrap();
                dir.replace("manifest.json", b"{}").unwrap();
            });
            let modes = ["", "events", "events/switch.parquet", "manifest.json"].map(|name| mode(&path.join(name)));
            assert_eq!(modes, [folder, folder, file, file], "umask {mask:o}");
            // Files cached there later have the same permissions.
            with_umask(mask, || {
                let kept = Dir::open_for_writing(&path).unwrap().open_or_make("levels").unwrap();
                kept.create("cpu.levels").unwrap();
            });
            assert_eq!(["levels", "levels/cpu.levels"].map(|name| mode(&path.join(name))), [folder, file]);
        }
    }
}

#[test]
fn a_cache_is_private_whatever_its_permissions() {
    let _ours = umask_is_ours();
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("cache");
    std::fs::create_dir(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    with_umask(0, || {
        Dir::make_all(&path).unwrap().create("kinds.json").unwrap();
        Dir::make_all(&path.join("a/b")).unwrap();
    });
    assert_eq!(["kinds.json", "a", "a/b"].map(|name| mode(&path.join(name))), [0o600, 0o700, 0o700]);
}

#[test]
fn only_an_empty_folder_is_taken() {
    let _stays = umask_stays();
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name);
    std::fs::create_dir(at("empty")).unwrap();
    std::fs::set_permissions(at("empty"), std::fs::Permissions::from_mode(0o777)).unwrap();
    let (dir, place) = Place::take(&at("empty"), Access::Private).unwrap();
    assert!(place.is_none() && mode(&at("empty")) == 0o700);
    dir.create("x").unwrap();
    assert_eq!(mode(&at("empty/x")), 0o600);
    std::fs::write(at("file"), "").unwrap();
    for taken in ["empty", "file", "file/x"] {
        let why = Place::take(&at(taken), Access::Private).unwrap_err();
        assert_eq!(why.kind(), ErrorKind::AlreadyExists, "{taken}");
    }
    let place = Place::of(&at("empty"), Access::Private).unwrap();
    assert!(!place.is_free().unwrap() && !Place::of(&at("file"), Access::Private).unwrap().is_free().unwrap());
    assert!(Place::of(&at("new"), Access::Private).unwrap().is_free().unwrap());
}

/// A name may become a link before it is used.
#[test]
fn no_link_is_followed_within_a_folder() {
    let _stays = umask_stays();
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name);
    std::fs::create_dir(at("elsewhere")).unwrap();
    std::fs::write(at("elsewhere/secret"), "secret").unwrap();
    let (dir, _) = Place::take(&at("run.cw"), Access::Private).unwrap();
    symlink(at("elsewhere"), at("run.cw/events")).unwrap();
    symlink(at("elsewhere/secret"), at("run.cw/meta.json")).unwrap();
    symlink(at("elsewhere/new"), at("run.cw/new")).unwrap();
    assert!(dir.open_dir("events").is_err() && dir.make("events").is_err() && dir.create("new").is_err());
    assert_eq!(dir.read("meta.json").unwrap_err().kind(), ErrorKind::PermissionDenied);
    // A file replaces the link. Removing a folder removes nothing elsewhere.
    dir.replace("meta.json", b"ours").unwrap();
    let inside = dir.make("inside").unwrap();
    symlink(at("elsewhere"), at("run.cw/inside/link")).unwrap();
    inside.clear().unwrap();
    dir.remove_all("events").unwrap();
    assert_eq!(std::fs::read_to_string(at("elsewhere/secret")).unwrap(), "secret");
    assert_eq!(std::fs::read_to_string(at("run.cw/meta.json")).unwrap(), "ours");
    assert!(!at("elsewhere/new").exists());
    // Opening a pipe instead of a file does not block.
    let pipe = std::ffi::CString::new(at("run.cw/pipe").to_str().unwrap()).unwrap();
    // SAFETY: a path that ends in a zero.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    assert!(dir.read("pipe").is_err());
}

/// The descriptor refers to the folder, even if its path leads elsewhere now.
#[test]
fn a_folder_that_was_swapped_is_not_written_to() {
    let _stays = umask_stays();
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name);
    std::fs::create_dir(at("elsewhere")).unwrap();
    let (dir, place) = Place::take(&at("run.cw"), Access::Private).unwrap();
    let spool = dir.make("spool").unwrap();
    std::fs::rename(at("run.cw"), at("moved")).unwrap();
    symlink(at("elsewhere"), at("run.cw")).unwrap();
    spool.create("000000.seg").unwrap().write_all(b"x").unwrap();
    dir.create("manifest.json").unwrap();
    dir.sync_all().unwrap();
    assert!(at("moved/spool/000000.seg").exists() && at("moved/manifest.json").exists());
    assert_eq!(std::fs::read_dir(at("elsewhere")).unwrap().count(), 0);
    place.unwrap().remove_if_empty();
    assert!(at("elsewhere").exists());
}

fn chown(path: &Path, uid: u32) {
    std::os::unix::fs::lchown(path, Some(uid), Some(uid)).unwrap();
}

#[test]
#[ignore = "needs root"]
fn root_follows_only_links_of_root() {
    let _stays = umask_stays();
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name);
    std::fs::create_dir(at("disk")).unwrap();
    symlink("disk", at("roots")).unwrap();
    symlink(at("roots"), at("absolute")).unwrap();
    assert!(Place::take(&at("roots/run.cw"), Access::Private).is_ok());
    assert!(Place::take(&at("absolute/other.cw"), Access::Private).is_ok());
    assert!(at("disk/run.cw").is_dir() && at("disk/other.cw").is_dir());
    std::fs::create_dir(at("theirs")).unwrap();
    symlink(at("disk"), at("theirs/link")).unwrap();
    symlink(at("disk"), at("link")).unwrap();
    chown(&at("theirs"), 4711);
    chown(&at("link"), 4711);
    for path in ["link/third.cw", "theirs/link/third.cw"] {
        let why = Place::take(&at(path), Access::Private).unwrap_err();
        assert!(why.to_string().contains("link that uid 4711 may change"), "{path}: {why}");
    }
    assert!(!at("disk/third.cw").exists());
    symlink("itself", at("itself")).unwrap();
    assert!(Dir::open(&at("itself")).is_err());
}

#[test]
#[ignore = "needs root"]
fn root_writes_in_no_folder_of_a_third_user() {
    let _stays = umask_stays();
    let temporary = tempfile::tempdir().unwrap();
    let theirs = temporary.path().join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    chown(&theirs, 4711);
    let why = Place::take(&theirs, Access::Private).unwrap_err().to_string();
    assert!(why.contains("another user (uid 4711)"), "{why}");
    assert!(Place::of(&theirs, Access::Private).unwrap().is_free().is_err());
    assert!(Dir::open_for_writing(&theirs).is_err() && Dir::open(&theirs).is_ok());
    assert!(Dir::open(temporary.path()).unwrap().remove_all("theirs").is_err() && theirs.exists());
    // A new folder in a folder of another user belongs to root.
    let (dir, _) = Place::take(&theirs.join("run.cw"), Access::Private).unwrap();
    dir.hand_over().unwrap();
    assert_eq!(std::fs::metadata(theirs.join("run.cw")).unwrap().uid(), 0);
}
