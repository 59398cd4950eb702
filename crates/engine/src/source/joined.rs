//! Several recordings of one run as one source.
//!
//! ```text
//!   perf.data   switches, wakeups, …   ┐
//!   Perfetto    marks, frames          ┴─ one trace, on the clock of the first source
//! ```
//!
//! Each group of events is taken from the first source that has any: two recordings of the switches of one CPU would contradict each
//! other. Marks, values, frames and names are taken from all sources.

use super::{Identity, Priority, Source};
use crate::EngineError;
use ingest::{Anomaly, Fatal, Ledger, Opened, Reach, Stream};
use model::{Batch, CpuId, Event, EventKind, MaybeNs, Ns};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use store::{ContentHash, SourceFile, SourceId};

/// A source, and the offset of its clock.
pub struct JoinedPart {
    /// The source.
    pub source: Box<dyn Source>,
    /// The time to add to match the clock of the first source; with `None`, both must have the same clock.
    pub offset: Option<Ns>,
}

/// Several sources of one run.
///
/// ```
/// use engine::{JoinedPart, JoinedSource, PassOptions, Source, account, open_source};
/// use model::Ns;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/ftrace_text/trace.txt");
/// # let path = std::path::Path::new(path);
/// let first = JoinedPart { source: open_source(path)?, offset: None };
/// let second = JoinedPart { source: open_source(path)?, offset: Some(Ns(5_000)) };
/// let joined = JoinedSource::new(vec![first, second])?;
/// assert_eq!(joined.parts(), 2);
/// // Both recorded the switches of the same CPUs, which are taken from the first only.
/// let switches = |of: &dyn Source| {
///     account(of, &PassOptions::default()).map(|a| a.totals.cpus.iter().map(|cpu| cpu.switches).sum::<u64>())
/// };
/// assert_eq!(switches(&joined)?, switches(open_source(path)?.as_ref())?);
/// # Ok::<(), engine::EngineError>(())
/// ```
pub struct JoinedSource {
    /// The path that the user named, if it is one; else that of the first part is used.
    path: Option<PathBuf>,
    parts: Vec<(Box<dyn Source>, Ns)>,
    /// The groups of events taken from each part.
    taken: OnceLock<Vec<Groups>>,
}

/// Groups of events, one bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Groups(u8);

impl Groups {
    const THREADS: u8 = 1;
    const IDLE: u8 = 2;
    const FREQUENCY: u8 = 4;
    const IRQ: u8 = 8;
    const PARKING: u8 = 16;
    const ALL_PARTS: u8 = 32;
    const ENERGY: u8 = 64;

    /// Returns the group of an event.
    fn of(what: &EventKind) -> u8 {
        match what {
            EventKind::Idle { .. } => Self::IDLE,
            EventKind::Frequency { .. } => Self::FREQUENCY,
            EventKind::Parking { .. } => Self::PARKING,
            EventKind::Irq { .. } => Self::IRQ,
            EventKind::EnergyDomain(_) | EventKind::Energy(_) | EventKind::Temperature(_) => Self::ENERGY,
            EventKind::Mark(_) | EventKind::Value { .. } | EventKind::Frame(_) | EventKind::Name { .. } => {
                Self::ALL_PARTS
            }
            EventKind::Present(_) | EventKind::FrameTime(_) => Self::ALL_PARTS,
            _ => Self::THREADS,
        }
    }
}

impl JoinedSource {
    /// Joins several sources.
    ///
    /// # Errors
    /// A source cannot be read, or has another clock and no offset is given.
    pub fn new(parts: Vec<JoinedPart>) -> Result<Self, EngineError> {
        let mut known: Option<String> = None;
        let mut joined = Vec::new();
        for part in parts {
            let path = part.source.path().to_owned();
            let opened = part.source.open().map_err(|fatal| EngineError::Source { path: path.clone(), fatal })?;
            let clock = opened.facts.clock;
            match (&known, part.offset) {
                (Some(first), None) if *first != clock => {
                    return Err(EngineError::Unfit(format!(
                        "{}: its clock is {clock}, but that of the first source is {first}: give the time to add to it with \
                         --offset",
                        path.display()
                    )));
                }
                _ => {}
            }
            known.get_or_insert(clock);
            joined.push((part.source, part.offset.unwrap_or(Ns(0))));
        }
        Ok(Self { path: None, parts: joined, taken: OnceLock::new() })
    }

    /// Sets the path that the user named, for parts of one folder.
    pub(super) fn with_path(self, path: &Path) -> Self {
        Self { path: Some(path.to_owned()), ..self }
    }

    /// Reads all parts once to find the groups that each has.
    fn groups(&self) -> Result<&[Groups], Fatal> {
        if let Some(taken) = self.taken.get() {
            return Ok(taken);
        }
        let (mut found, mut taken) = (Groups::ALL_PARTS, Vec::new());
        for (source, _) in &self.parts {
            let has = groups_of(source.open()?)?;
            taken.push(Groups(has & !found | Groups::ALL_PARTS));
            found |= has;
        }
        // If all are frame logs, each contributes its length.
        if found & Groups::THREADS == 0 {
            taken.iter_mut().for_each(|groups| groups.0 |= Groups::THREADS);
        }
        Ok(self.taken.get_or_init(|| taken))
    }
}

fn groups_of(mut opened: Opened<'_>) -> Result<u8, Fatal> {
    let (mut batch, mut has) = (Batch::default(), 0);
    for stream in &mut opened.streams {
        loop {
            batch.clear();
            let reach = stream.next(&mut batch, &mut ingest::Anomalies::default());
            // Samples and losses are not a chain of switches.
            let own = batch.events.iter().filter(|e| !matches!(e.what, EventKind::Sample | EventKind::Loss(_)));
            has |= own.map(|e| Groups::of(&e.what)).fold(0, |all, one| all | one);
            // If it ends early, the full reading reports why.
            if !matches!(reach, Ok(Reach::Until(_))) {
                break;
            }
        }
    }
    Ok(has)
}

impl Source for JoinedSource {
    fn path(&self) -> &Path {
        let first = || self.parts.first().map_or(Path::new(""), |(source, _)| source.path());
        self.path.as_deref().unwrap_or_else(first)
    }

    fn format(&self) -> &'static str {
        self.parts.first().map_or("", |(source, _)| source.format())
    }

    fn parts(&self) -> usize {
        self.parts.len()
    }

    fn open(&self) -> Result<Opened<'static>, Fatal> {
        let taken = self.groups()?;
        let together = taken.iter().all(|groups| groups.0 & Groups::THREADS != 0);
        let mut all: Option<Opened<'static>> = None;
        for (at, ((source, offset), groups)) in self.parts.iter().zip(taken).enumerate() {
            let mut opened = source.open()?;
            let part = (at as u64) << store::PART_SHIFT;
            let shifted = opened.streams.drain(..).map(|inner| -> Box<dyn Stream + Send> {
                Box::new(Shifted { inner, offset: *offset, groups: *groups, part })
            });
            let streams: Vec<_> = shifted.collect();
            match &mut all {
                None => {
                    opened.streams = streams;
                    all = Some(opened);
                }
                Some(all) => {
                    all.streams.extend(streams);
                    let first = all.facts.begin.filter(|_| together);
                    self.join_facts(&mut all.facts, opened.facts, *groups, *offset, at);
                    all.facts.begin = all.facts.begin.into_iter().chain(first).min();
                }
            }
        }
        all.ok_or_else(|| Fatal::new("nothing to read", 0))
    }

    fn identity(&self, priority: &Priority) -> Result<Identity, EngineError> {
        let mut files = Vec::new();
        for (source, _) in &self.parts {
            files.extend(source.identity(priority)?.files);
        }
        let id = |f: &SourceFile| match &f.hash {
            Some(ContentHash::Blake3(hash)) => Some(SourceId { blake3: hash.clone(), bytes: f.bytes }),
            _ => None,
        };
        let ids: Vec<SourceId> = files.iter().filter_map(id).collect();
        Ok(Identity { trace: store::trace_id_of_sources(&ids), files })
    }
}

impl JoinedSource {
    /// Merges the facts of a further part: scheduling facts come from the part whose switches are taken, the machine from the first
    /// part that has one.
    fn join_facts(&self, all: &mut ingest::Facts, more: ingest::Facts, groups: Groups, offset: Ns, at: usize) {
        let name = self.parts.get(at).map_or(String::new(), |(source, _)| source.path().display().to_string());
        if groups.0 & Groups::THREADS != 0 {
            all.has_waking = more.has_waking;
            all.has_wakeup = more.has_wakeup;
            all.has_charges = more.has_charges;
            all.has_yields = more.has_yields;
            all.whole_machine = more.whole_machine;
            all.states = more.states;
            all.begin = more.begin.map(|t| t + offset);
            all.lacks = more.lacks;
        }
        if all.online.is_empty() {
            all.online = more.online;
        }
        all.machine = all.machine.take().or(more.machine);
        all.format = format!("{} + {}", all.format, more.format);
        all.about.push((format!("source {at}"), format!("{name} ({}, {} {:+} ns)", more.format, more.clock, offset.0)));
        for (name, value) in more.about {
            if !all.about.iter().any(|(known, _)| *known == name) {
                all.about.push((name, value));
            }
        }
    }
}

/// A stream with a clock offset, limited to some groups of events.
struct Shifted {
    inner: Box<dyn Stream + Send>,
    offset: Ns,
    groups: Groups,
    /// The index of the part, shifted to its place in [`Event::offset`].
    part: u64,
}

impl Stream for Shifted {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        let before = out.events.len();
        let reach = self.inner.next(out, bad)?;
        let mut kept = before;
        for at in before..out.events.len() {
            let mut event = out.events[at];
            if self.groups.0 & Groups::of(&event.what) != 0 {
                self.shift(&mut event);
                out.events[kept] = event;
                kept += 1;
            } else if matches!(event.what, EventKind::Loss(_)) {
                // No switches come from this part, so the CPUs' times are not affected; marks and values may be missing.
                bad.anomaly("another recording of the same run lost events", event.offset, Anomaly::Lost);
            }
        }
        out.events.truncate(kept);
        Ok(match reach {
            Reach::Until(t) => Reach::Until(self.moved_if_known(t)),
            Reach::End => Reach::End,
        })
    }

    fn unwind_by(&mut self, tables: &Arc<dyn unwind::Tables>) {
        self.inner.unwind_by(tables);
    }
}

impl Shifted {
    fn moved(&self, t: Ns) -> Ns {
        if t == Ns::MIN || t == Ns::MAX { t } else { t + self.offset }
    }

    fn moved_if_known(&self, t: MaybeNs) -> MaybeNs {
        t.get().map(|t| self.moved(t)).into()
    }

    fn shift(&self, event: &mut Event) {
        event.at = self.moved(event.at);
        event.offset = event.offset & ((1 << store::PART_SHIFT) - 1) | self.part;
        match &mut event.what {
            EventKind::Wake(wake) => wake.stamp = self.moved(wake.stamp),
            EventKind::Loss(loss) => {
                loss.from = self.moved_if_known(loss.from);
                loss.to = self.moved_if_known(loss.to);
            }
            // If another source has the switches, these events do not change the ends of the recording.
            EventKind::Mark(_) | EventKind::Value { .. } | EventKind::Frame(_)
                if self.groups.0 & Groups::THREADS == 0 =>
            {
                event.cpu = CpuId::UNKNOWN;
            }
            _ => {}
        }
    }
}
