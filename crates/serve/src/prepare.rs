//! Levels of detail: opened from the trace folder or the user's cache, or built there.

use crate::build_levels::{CPUS, KINDS_FILE, KindsFile, PART, THREADS, file_of, make, part_name};
use crate::cache::{self, Cache, CacheEntry};
use crate::kinds::{KINDS, KindInfo};
use crate::{ServeError, Tracks};
use engine::Session;
use levels::{Detail, Reader, States, Values};
use safefs::Dir;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The name of their folder in a trace folder.
const LEVELS: &str = "levels";
/// The version of the order of tracks and the contents of slices.
const LAYOUT: u32 = 9;

/// The levels of detail of a trace.
pub struct Prepared {
    pub(crate) threads: Reader<States>,
    pub(crate) cpus: Reader<States>,
    pub(crate) kinds: Vec<(KindInfo, Levels)>,
    /// Whether they were built now.
    pub made: bool,
    /// Their place in the user's cache, if they are there.
    pub(crate) _cached: Option<CacheEntry>,
}

/// The levels of one kind.
pub(crate) enum Levels {
    States(Reader<States>),
    Values(Reader<Values>),
}

/// The kinds of tracks that a redacted page lacks: fine readings of energy and temperature show what programs compute (docs/power.md).
const REVEALING: [&str; 2] = ["power", "temperature"];

/// Opens the levels of detail of a trace folder. If there are none for this trace, builds them in `run.cw/levels/`, or in the user's
/// cache if that is not writable. Those of a redacted session are made of what it shows, and kept nowhere. `progress` is called with the number of stretches read so far.
///
/// # Errors
/// It is not a trace folder, it is damaged, or the levels cannot be written anywhere.
pub fn prepare(session: &Session, tracks: &Tracks, progress: &mut dyn FnMut(u64)) -> Result<Prepared, ServeError> {
    let stamp = format!("layout {LAYOUT} trace {}", session.states_stamp()?);
    if session.is_redacted() {
        return redacted(session, tracks, &stamp, progress);
    }
    let (cache, name) = (Cache::of_user(), name(&stamp));
    let places = [Some(session.path().join(LEVELS)), cache.as_ref().map(|cache| cache.path(cache::LEVELS, &name))];
    let note = |place: &PathBuf| {
        let is_cached = Some(place) == places[1].as_ref();
        cache.as_ref().filter(|_| is_cached)?.note(cache::LEVELS, &name, &stamp)
    };
    for place in places.iter().flatten() {
        if let Some(found) = open(place, &stamp) {
            return Ok(Prepared { _cached: note(place), ..found });
        }
    }
    let mut refused = None;
    for place in places.iter().flatten() {
        // If this place is not writable, try the next one.
        let made = match writable(session, place) {
            Ok(made) => made,
            Err(why) => {
                refused = Some(ServeError::NoPlace { path: place.clone(), why });
                continue;
            }
        };
        clear(&made);
        make(session, tracks, &made, &stamp, progress)?;
        let unread = || {
            ServeError::Start(format!("{}: the levels of detail that were just built cannot be read", place.display()))
        };
        let cached = note(place);
        if let Some(cache) = cache.as_ref().filter(|_| cached.is_some()) {
            cache.trim();
        }
        return Ok(Prepared { made: true, _cached: cached, ..open(place, &stamp).ok_or_else(unread)? });
    }
    Err(refused.unwrap_or_else(|| ServeError::Start("there is no writable place for the levels of detail".into())))
}

/// Builds the levels of a redacted session in a temporary folder. Its files stay open, so that it is not needed afterwards.
fn redacted(
    session: &Session,
    tracks: &Tracks,
    stamp: &str,
    progress: &mut dyn FnMut(u64),
) -> Result<Prepared, ServeError> {
    let no_place = |why| ServeError::NoPlace { path: std::env::temp_dir(), why };
    let folder = tempfile::Builder::new().prefix("corewise-levels-").tempdir().map_err(no_place)?;
    make(session, tracks, &Dir::open(folder.path()).map_err(no_place)?, stamp, progress)?;
    let unread = || ServeError::Start("the levels of detail that were just built cannot be read".to_owned());
    let mut made = open(folder.path(), stamp).ok_or_else(unread)?;
    made.kinds.retain(|(shown, _)| !REVEALING.contains(&shown.kind.as_str()));
    Ok(Prepared { made: true, ..made })
}

/// Opens the levels in a folder; `None` if they are missing, damaged, or of another trace or version.
fn open(place: &Path, stamp: &str) -> Option<Prepared> {
    let file: KindsFile = serde_json::from_reader(std::io::BufReader::new(
        File::open(place.join(KINDS_FILE)).ok()?.take(MAX_KINDS_BYTES),
    ))
    .ok()?;
    let kinds = file.kinds.into_iter().map(|info| {
        // File names come from the program, not from the cache.
        let listed = KINDS.iter().find(|listed| listed.name == info.kind)?;
        let path = place.join(file_of(listed.name));
        let levels = match listed.values {
            true => Levels::Values(of(&path, stamp)?),
            false => Levels::States(of(&path, stamp)?),
        };
        Some((info, levels))
    });
    let kinds = kinds.collect::<Option<_>>()?;
    let open = |name| of(&place.join(name), stamp);
    (file.of == stamp).then_some(Prepared {
        threads: open(THREADS)?,
        cpus: open(CPUS)?,
        kinds,
        made: false,
        _cached: None,
    })
}

/// The maximum size of `kinds.json`: a few hundred bytes per track, and the number of tracks is limited.
const MAX_KINDS_BYTES: u64 = 1 << 26;

fn of<D: Detail>(path: &Path, stamp: &str) -> Option<Reader<D>> {
    Reader::open(path).ok().filter(|r| r.trace() == stamp)
}

/// Returns the name of the trace's entry in the user's cache.
fn name(stamp: &str) -> String {
    stamp.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// Returns the folder if a file can be created in it; its mode does not show whether the file system is read-only. In a trace folder it
/// has the permissions of that folder, in the cache only the user can access it.
fn writable(session: &Session, place: &Path) -> std::io::Result<Dir> {
    let folder = match place == session.path().join(LEVELS) {
        true => Dir::open_for_writing(session.path())?.open_or_make(LEVELS)?,
        false => Dir::make_all(place)?,
    };
    let probe = part_name("probe");
    let _ = folder.remove(&probe);
    folder.create(&probe)?;
    folder.remove(&probe).map(|()| folder)
}

/// Removes files left by processes that ended while they built levels.
fn clear(place: &Dir) {
    for name in place.names().unwrap_or_default() {
        let name = name.into_string().unwrap_or_default();
        let owner = name.split_once(PART).and_then(|(_, process)| process.parse::<u32>().ok());
        if owner.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists()) {
            // A file that cannot be removed only takes space.
            let _ = place.remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Trace;
    use crate::testing::{prepared, redacted};

    #[test]
    fn a_redacted_trace_has_no_tracks_of_power_and_temperature() {
        let (_dir, trace) = prepared(
            "
            cpu0 U0  A         A         A         A       A
            domain   pkg=package:1
            energy   .         pkg=30/1  pkg=10/1  .       pkg=50/2
            temp     cpu=45.5  .         .         cpu=47  .
            ",
        );
        let kinds = |trace: &Trace| trace.levels.kinds.iter().map(|(shown, _)| shown.kind.clone()).collect::<Vec<_>>();
        assert_eq!(kinds(&trace), ["concurrency", "power", "temperature"]);
        assert_eq!(kinds(&redacted(&trace.session)), ["concurrency"]);
    }
}
