//! Builds the levels of detail. Threads, CPUs and additional kinds are built in parallel, each with a reading and a writing thread.

use crate::kinds::{KINDS, Kind, KindInfo, Source};
use crate::{ServeError, Tracks};
use engine::{EngineError, Session};
use levels::{Detail, States, Stretch, Writer};
use model::{TableDef, Value, tables};
use safefs::Dir;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

pub(crate) const THREADS: &str = "thread.levels";
pub(crate) const CPUS: &str = "cpu.levels";

/// The minimum number of slices in a chapter ([`Writer::new`]). Threads have many tracks, of which few are on a screen, so larger
/// chapters mean fewer places to read; a level's take 7 MB. CPUs have few tracks.
const THREADS_CHAPTER: usize = 1 << 17;
const CPUS_CHAPTER: usize = 1 << 15;
/// The number of batches that may wait to be written; a few MB each.
const AHEAD: usize = 2;

/// Returns the name of a file while it is incomplete.
pub(crate) fn part_name(name: &str) -> String {
    format!("{name}{PART}{}", std::process::id())
}

pub(crate) const PART: &str = ".part-";

/// Builds all levels in a folder.
pub(crate) fn make(
    session: &Session,
    tracks: &Tracks,
    place: &Dir,
    stamp: &str,
    progress: &mut dyn FnMut(u64),
) -> Result<(), ServeError> {
    let read = AtomicU64::new(0);
    let to = Target { place, stamp, tracks, first: first_width(session), whole: session.summary().span_ns };
    let kinds = std::thread::scope(|scope| {
        let cpus = scope.spawn(|| {
            let mut kinds = begin(session, to, Source::Cpus)?;
            let cpus = |send: &SyncSender<_>| {
                session.cpu_stretches(|cpus| {
                    kinds.iter_mut().for_each(|(_, kind)| cpus.iter().for_each(|s| kind.cpu(s)));
                    let stretches = cpus.iter().map(|s| Stretch {
                        track: s.cpu.0,
                        start: s.span.start.0,
                        end: s.span.end.0,
                        state: s.state as u8,
                        what: s.thread.0,
                    });
                    pass_on(send, stretches, &read)
                })
            };
            to.written::<States>(CPUS, CPUS_CHAPTER, cpus, &mut || ())?;
            end(kinds)
        });
        let extra = scope.spawn(|| {
            let mut kinds = begin(session, to, Source::Events)?;
            session.events_without_stretches(|events, names| {
                kinds.iter_mut().for_each(|(_, kind)| events.iter().for_each(|event| kind.event(event, names)));
                Ok(())
            })?;
            let mut all = end(kinds)?;
            all.extend(of_table(session, to, Source::Frames, &tables::FRAMES, |kind, row| kind.frame(row))?);
            // Without idle states there is no track that shows what ended them, which takes a pass.
            if all.iter().any(|of| of.kind == "idle") {
                let stays =
                    of_table(session, to, Source::IdleStays, &tables::IDLE_STAYS, |kind, row| kind.idle_stay(row));
                all.extend(stays?);
            }
            all.extend(intervals(session, to)?);
            // Each takes a pass.
            if session.may_have_rows(&tables::LOCK_WAITS) {
                all.extend(of_table(session, to, Source::LockWaits, &tables::LOCK_WAITS, |kind, row| {
                    kind.lock_wait(row)
                })?);
            }
            if session.may_have_rows(&tables::THROTTLED) {
                all.extend(of_table(session, to, Source::Throttled, &tables::THROTTLED, |kind, row| {
                    kind.throttled(row)
                })?);
            }
            Ok::<_, ServeError>(all)
        });
        let mut groups = begin(session, to, Source::Threads)?;
        let threads = |send: &SyncSender<_>| {
            session.brief_thread_stretches(|threads| {
                for (s, group) in threads.iter().filter_map(|s| Some((s, tracks.group_of(s.thread)?))) {
                    groups.iter_mut().for_each(|(_, kind)| kind.thread(group, s.state, s.span));
                }
                let stretches = threads.iter().filter_map(|s| {
                    let track = tracks.of_thread(s.thread)?;
                    Some(Stretch { track, start: s.span.start.0, end: s.span.end.0, state: s.state as u8, what: s.cpu })
                });
                pass_on(send, stretches, &read)
            })
        };
        let each = &mut || progress(read.load(Ordering::Relaxed));
        let threads = to.written::<States>(THREADS, THREADS_CHAPTER, threads, each);
        let mut kinds = cpus.join().unwrap_or_else(|_| Err(failed()))?;
        kinds.extend(extra.join().unwrap_or_else(|_| Err(failed()))?);
        threads?;
        kinds.extend(end(groups)?);
        Ok::<_, ServeError>(kinds)
    })?;
    let order = |shown: &KindInfo| KINDS.iter().position(|listed| listed.name == shown.kind);
    let mut kinds = kinds;
    kinds.sort_by_key(order);
    write_kinds(place, &KindsFile { of: stamp.to_owned(), kinds })
}

/// Builds the kinds that are made from a table.
fn of_table(
    session: &Session,
    to: Target<'_>,
    from: Source,
    table: &TableDef,
    take: fn(&mut (dyn Kind + Send + '_), &[Value]),
) -> Result<Vec<KindInfo>, ServeError> {
    let mut kinds = begin(session, to, from)?;
    session.rows(table.name, &mut |rows| {
        kinds.iter_mut().for_each(|(_, kind)| rows.iter().for_each(|row| take(kind.as_mut(), row)));
        Ok(())
    })?;
    end(kinds)
}

/// Builds the kinds of periods, requests and parallel regions.
fn intervals(session: &Session, to: Target<'_>) -> Result<Vec<KindInfo>, ServeError> {
    let mut kinds = begin(session, to, Source::Intervals)?;
    let names = session.names()?;
    session.all_intervals(&mut |of, interval| {
        let name = interval.name.or_else(|| names.get(interval.thread)).unwrap_or("?");
        kinds.iter_mut().for_each(|(_, kind)| kind.interval(of, interval, name));
    })?;
    end(kinds)
}

/// Starts the kinds that are built from a source.
fn begin<'a>(session: &Session, to: Target<'a>, from: Source) -> Result<Vec<OpenKind<'a>>, ServeError> {
    let listed = KINDS.iter().filter(|listed| listed.from == from);
    listed.map(|listed| Ok((listed.name, (listed.new)(session, to, listed.name)?))).collect()
}

type OpenKind<'a> = (&'static str, Box<dyn Kind + Send + 'a>);

/// Finishes the kinds; those without data are omitted.
fn end(kinds: Vec<OpenKind<'_>>) -> Result<Vec<KindInfo>, ServeError> {
    let ended = kinds.into_iter().map(|(name, kind)| Ok(kind.finish()?.map(|s| KindInfo { kind: name.into(), ..s })));
    ended.filter_map(Result::transpose).collect()
}

/// The contents of `kinds.json`: the descriptions of the kinds.
#[derive(Serialize, Deserialize)]
pub(crate) struct KindsFile {
    /// The stamp of the trace.
    pub(crate) of: String,
    pub(crate) kinds: Vec<KindInfo>,
}

pub(crate) const KINDS_FILE: &str = "kinds.json";

/// Writes `kinds.json`, last: if it exists, all other files do.
fn write_kinds(place: &Dir, contents: &KindsFile) -> Result<(), ServeError> {
    let part = part_name(KINDS_FILE);
    let _ = place.remove(&part);
    let written = serde_json::to_vec(contents).map_err(std::io::Error::other);
    let written = written.and_then(|bytes| place.create(&part)?.write_all(&bytes));
    let done = written.and_then(|()| place.rename(&part, place, KINDS_FILE));
    done.map_err(|why| ServeError::NoPlace { path: place.path().join(part), why })
}

/// Returns the name of a kind's file.
pub(crate) fn file_of(kind: &str) -> String {
    format!("{kind}.levels")
}

fn failed() -> ServeError {
    ServeError::Start("building the levels of detail failed: please report it".into())
}

fn pass_on(
    send: &SyncSender<Vec<Stretch>>,
    stretches: impl Iterator<Item = Stretch>,
    read: &AtomicU64,
) -> Result<(), EngineError> {
    let stretches: Vec<Stretch> = stretches.collect();
    read.fetch_add(stretches.len() as u64, Ordering::Relaxed);
    // If the writer is gone, it failed; its error is the one that is reported.
    send.send(stretches).map_err(|_| EngineError::Bug("writing levels of detail failed".into()))
}

/// Returns the narrowest width: about the time between a CPU's switches, below which little can be merged.
fn first_width(session: &Session) -> i64 {
    let summary = session.summary();
    let first = summary.span_ns.saturating_mul(summary.cpus.max(1) as i64) / (summary.switches.max(1) as i64);
    first.clamp(256, 1 << 40).unsigned_abs().next_power_of_two() as i64
}

/// The destination of level files.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) place: &'a Dir,
    pub(crate) stamp: &'a str,
    /// The threads.
    pub(crate) tracks: &'a Tracks,
    /// The narrowest width, in ns.
    pub(crate) first: i64,
    /// The end of the recording, in ns.
    pub(crate) whole: i64,
}

impl Target<'_> {
    /// Starts the file of a kind.
    pub(crate) fn begin<D: Detail>(self, kind: &str, chapter: usize) -> Result<LevelsFile<D>, levels::Error> {
        self.file(&file_of(kind), chapter)
    }

    fn file<D: Detail>(self, name: &str, chapter: usize) -> Result<LevelsFile<D>, levels::Error> {
        let part = part_name(name);
        let path = self.place.path().join(&part);
        // Left by an earlier process with the same PID.
        let _ = self.place.remove(&part);
        let file = self.place.create(&part).map_err(|why| levels::Error::Io {
            path: path.clone(),
            doing: "creating it",
            why,
        })?;
        let writer = Writer::new(file, &path, self.stamp, self.first, self.whole, chapter)?;
        Ok(LevelsFile { writer: Some(writer), place: self.place.clone(), part, name: name.to_owned() })
    }

    /// Writes what a separate thread reads.
    fn written<D: Detail<Input: Send>>(
        self,
        name: &str,
        chapter: usize,
        read: impl FnOnce(&SyncSender<Vec<D::Input>>) -> Result<(), EngineError> + Send,
        each: &mut dyn FnMut(),
    ) -> Result<(), ServeError> {
        let mut file: LevelsFile<D> = self.file(name, chapter)?;
        std::thread::scope(|scope| {
            let (send, batches) = sync_channel(AHEAD);
            let reader = scope.spawn(move || read(&send));
            let mut written = Ok(());
            for batch in batches {
                written = batch.iter().try_for_each(|one: &D::Input| file.push(one));
                each();
                if written.is_err() {
                    break;
                }
            }
            let read = reader.join();
            written?;
            read.map_err(|_| failed())??;
            Ok::<_, ServeError>(())
        })?;
        file.finish()
    }
}

/// A level file, which gets its final name only when complete.
pub(crate) struct LevelsFile<D: Detail> {
    /// `None` once finished.
    writer: Option<Writer<D>>,
    place: Dir,
    part: String,
    name: String,
}

impl<D: Detail> LevelsFile<D> {
    pub(crate) fn push(&mut self, input: &D::Input) -> Result<(), levels::Error> {
        self.writer.as_mut().map_or(Ok(()), |writer| writer.push(input))
    }

    pub(crate) fn finish(mut self) -> Result<(), ServeError> {
        if let Some(writer) = self.writer.take() {
            // Remove the incomplete file after an error.
            let done = writer.finish().map_err(ServeError::from);
            let named = |()| {
                let renamed = self.place.rename(&self.part, &self.place, &self.name);
                renamed.map_err(|why| ServeError::NoPlace { path: self.place.path().join(&self.part), why })
            };
            return done.and_then(named).inspect_err(|_| drop(self.place.remove(&self.part)));
        }
        Ok(())
    }
}

impl<D: Detail> Drop for LevelsFile<D> {
    fn drop(&mut self) {
        if self.writer.is_some() {
            let _ = self.place.remove(&self.part);
        }
    }
}
