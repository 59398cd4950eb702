//! Levels of detail being made: those of threads and of CPUs at the same time, each by one who reads and one who writes.

use crate::kinds::{KINDS, Kind, Shown, Source};
use crate::{ServeError, Tracks};
use engine::{EngineError, Session};
use levels::{Detail, States, Stretch, Writer};
use model::tables;
use safefs::Dir;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

pub(crate) const THREADS: &str = "thread.levels";
pub(crate) const CPUS: &str = "cpu.levels";

/// What a chapter holds at least ([`Writer::into`]). Threads' tracks are many, and few of them are on a screen: larger
/// chapters are fewer places to look; a level's take 7 MB. CPUs' are few.
const THREADS_CHAPTER: usize = 1 << 17;
const CPUS_CHAPTER: usize = 1 << 15;
/// Batches that may wait to be written; some MB each.
const AHEAD: usize = 2;

/// The name of a file while it is not whole.
pub(crate) fn part(name: &str) -> String {
    format!("{name}{PART}{}", std::process::id())
}

pub(crate) const PART: &str = ".part-";

/// Makes all in a folder.
pub(crate) fn make(
    session: &Session,
    tracks: &Tracks,
    place: &Dir,
    stamp: &str,
    progress: &mut dyn FnMut(u64),
) -> Result<(), ServeError> {
    let read = AtomicU64::new(0);
    let to = To { place, stamp, first: first_width(session), whole: session.summary().span_ns };
    let kinds = std::thread::scope(|scope| {
        let cpus = scope.spawn(|| {
            let mut kinds = begin(session, to, Source::Cpus)?;
            let cpus = |send: &SyncSender<_>| {
                session.cpu_stretches(|cpus| {
                    kinds.iter_mut().for_each(|(_, kind)| cpus.iter().for_each(|s| kind.cpu(s)));
                    let told = cpus.iter().map(|s| Stretch {
                        track: s.cpu.0,
                        start: s.span.start.0,
                        end: s.span.end.0,
                        state: s.state as u8,
                        what: s.thread.0,
                    });
                    hand_on(send, told, &read)
                })
            };
            to.written::<States>(CPUS, CPUS_CHAPTER, cpus, &mut || ())?;
            end(kinds)
        });
        let beside = scope.spawn(|| {
            let mut kinds = begin(session, to, Source::Events)?;
            session.events_without_stretches(|events, names| {
                kinds.iter_mut().for_each(|(_, kind)| events.iter().for_each(|event| kind.event(event, names)));
                Ok(())
            })?;
            let mut all = end(kinds)?;
            let mut kinds = begin(session, to, Source::Frames)?;
            session.rows(tables::FRAMES.name, &mut |rows| {
                kinds.iter_mut().for_each(|(_, kind)| rows.iter().for_each(|row| kind.frame(row)));
                Ok(())
            })?;
            all.extend(end(kinds)?);
            Ok::<_, ServeError>(all)
        });
        let threads = |send: &SyncSender<_>| {
            session.threads_in_brief(|threads| {
                let told = threads.iter().filter_map(|s| {
                    let track = tracks.of_thread(s.thread.0)?;
                    Some(Stretch { track, start: s.span.start.0, end: s.span.end.0, state: s.state as u8, what: s.cpu })
                });
                hand_on(send, told, &read)
            })
        };
        let each = &mut || progress(read.load(Ordering::Relaxed));
        let threads = to.written::<States>(THREADS, THREADS_CHAPTER, threads, each);
        let mut kinds = cpus.join().unwrap_or_else(|_| Err(failed()))?;
        kinds.extend(beside.join().unwrap_or_else(|_| Err(failed()))?);
        threads.map(|()| kinds)
    })?;
    let order = |shown: &Shown| KINDS.iter().position(|listed| listed.name == shown.kind);
    let mut kinds = kinds;
    kinds.sort_by_key(order);
    keep(place, &Kept { of: stamp.to_owned(), kinds })
}

/// Begins the kinds that are made of a source.
fn begin<'a>(session: &Session, to: To<'a>, from: Source) -> Result<Vec<Begun<'a>>, ServeError> {
    let listed = KINDS.iter().filter(|listed| listed.from == from);
    listed.map(|listed| Ok((listed.name, (listed.new)(session, to, listed.name)?))).collect()
}

type Begun<'a> = (&'static str, Box<dyn Kind + Send + 'a>);

/// Ends them; those of which the trace has nothing are left out.
fn end(kinds: Vec<Begun<'_>>) -> Result<Vec<Shown>, ServeError> {
    let ended = kinds.into_iter().map(|(name, kind)| Ok(kind.finish()?.map(|s| Shown { kind: name.into(), ..s })));
    ended.filter_map(Result::transpose).collect()
}

/// What is kept of the kinds beside their files.
#[derive(Serialize, Deserialize)]
pub(crate) struct Kept {
    /// Of which trace.
    pub(crate) of: String,
    pub(crate) kinds: Vec<Shown>,
}

pub(crate) const KEPT: &str = "kinds.json";

/// Written last: where it is there, all else is.
fn keep(place: &Dir, kept: &Kept) -> Result<(), ServeError> {
    let part = part(KEPT);
    let _ = place.remove(&part);
    let written = serde_json::to_vec(kept).map_err(std::io::Error::other);
    let written = written.and_then(|bytes| place.create(&part)?.write_all(&bytes));
    let done = written.and_then(|()| place.rename(&part, place, KEPT));
    done.map_err(|why| ServeError::NoPlace { path: place.path().join(part), why })
}

/// The name of a kind's file.
pub(crate) fn file_of(kind: &str) -> String {
    format!("{kind}.levels")
}

fn failed() -> ServeError {
    ServeError::Start("making levels of detail failed: please report it".into())
}

fn hand_on(
    send: &SyncSender<Vec<Stretch>>,
    told: impl Iterator<Item = Stretch>,
    read: &AtomicU64,
) -> Result<(), EngineError> {
    let told: Vec<Stretch> = told.collect();
    read.fetch_add(told.len() as u64, Ordering::Relaxed);
    // Where the writer takes no more, it failed, and its error is the one that is reported.
    send.send(told).map_err(|_| EngineError::Other("writing levels of detail failed".into()))
}

/// About the time between a CPU's switches: below it, there is little to put together.
fn first_width(session: &Session) -> i64 {
    let summary = session.summary();
    let first = summary.span_ns.saturating_mul(summary.cpus.max(1) as i64) / (summary.switches.max(1) as i64);
    first.clamp(256, 1 << 40).unsigned_abs().next_power_of_two() as i64
}

/// Where files are made, and of what.
#[derive(Clone, Copy)]
pub(crate) struct To<'a> {
    pub(crate) place: &'a Dir,
    pub(crate) stamp: &'a str,
    /// The narrowest width, ns.
    pub(crate) first: i64,
    /// Where the recording ends, ns.
    pub(crate) whole: i64,
}

impl To<'_> {
    /// Begins the file of a kind.
    pub(crate) fn begin<D: Detail>(self, kind: &str, chapter: usize) -> Result<Whole<D>, levels::Error> {
        self.file(&file_of(kind), chapter)
    }

    fn file<D: Detail>(self, name: &str, chapter: usize) -> Result<Whole<D>, levels::Error> {
        let part = part(name);
        let path = self.place.path().join(&part);
        // Of a process of the same number.
        let _ = self.place.remove(&part);
        let file = self.place.create(&part).map_err(|why| levels::Error::Io {
            path: path.clone(),
            doing: "making it",
            why,
        })?;
        let writer = Writer::into(file, &path, self.stamp, self.first, self.whole, chapter)?;
        Ok(Whole { writer: Some(writer), place: self.place.clone(), part, name: name.to_owned() })
    }

    /// Writes what a thread of its own reads.
    fn written<D: Detail<Told: Send>>(
        self,
        name: &str,
        chapter: usize,
        read: impl FnOnce(&SyncSender<Vec<D::Told>>) -> Result<(), EngineError> + Send,
        each: &mut dyn FnMut(),
    ) -> Result<(), ServeError> {
        let mut file: Whole<D> = self.file(name, chapter)?;
        std::thread::scope(|scope| {
            let (send, told) = sync_channel(AHEAD);
            let reader = scope.spawn(move || read(&send));
            let mut written = Ok(());
            for batch in told {
                written = batch.iter().try_for_each(|one: &D::Told| file.push(one));
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

/// A file that is there whole, or not at all.
pub(crate) struct Whole<D: Detail> {
    /// Until it is finished.
    writer: Option<Writer<D>>,
    place: Dir,
    part: String,
    name: String,
}

impl<D: Detail> Whole<D> {
    pub(crate) fn push(&mut self, told: &D::Told) -> Result<(), levels::Error> {
        self.writer.as_mut().map_or(Ok(()), |writer| writer.push(told))
    }

    pub(crate) fn finish(mut self) -> Result<(), ServeError> {
        if let Some(writer) = self.writer.take() {
            // Of one that fails, nothing is left.
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

impl<D: Detail> Drop for Whole<D> {
    fn drop(&mut self) {
        if self.writer.is_some() {
            let _ = self.place.remove(&self.part);
        }
    }
}
