//! Several recordings of one run as one source.
//!
//! ```text
//!   perf.data   switches, wakings, …   ┐
//!   Perfetto    marks, frames          ┴─ one trace on the first one's clock
//! ```
//!
//! Each group of events is taken from the first source that has any: two chains of switches of one CPU would contradict each
//! other at every link. Marks, values, frames and names come from all.

use super::{Identity, Priority, Source};
use crate::EngineError;
use ingest::{Fatal, Ledger, Opened, Reach, Stream, Trouble};
use model::{Batch, CpuId, Event, MaybeNs, Ns, What};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use store::{ContentHash, SourceFile, SourceId};

/// A source, and what to add to its times to have them on the first one's clock.
pub struct Part {
    /// The source.
    pub source: Box<dyn Source>,
    /// `None`: it must have the first one's clock.
    pub offset: Option<Ns>,
}

/// Several sources of one run.
pub struct JoinedSource {
    /// What the user named, where that is one thing; else the first part's.
    path: Option<PathBuf>,
    parts: Vec<(Box<dyn Source>, Ns)>,
    /// Of each part, the groups that are taken from it.
    taken: OnceLock<Vec<Groups>>,
}

/// Groups of events, a bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Groups(u8);

impl Groups {
    const THREADS: u8 = 1;
    const IDLE: u8 = 2;
    const FREQUENCY: u8 = 4;
    const IRQ: u8 = 8;
    const PARKING: u8 = 16;
    const ALL_PARTS: u8 = 32;

    /// The group of an event.
    fn of(what: &What) -> u8 {
        match what {
            What::Idle { .. } => Self::IDLE,
            What::Frequency { .. } => Self::FREQUENCY,
            What::Parking { .. } => Self::PARKING,
            What::Irq { .. } => Self::IRQ,
            What::Mark(_) | What::Value { .. } | What::Frame(_) | What::Name { .. } => Self::ALL_PARTS,
            What::Present(_) | What::FrameTime(_) => Self::ALL_PARTS,
            _ => Self::THREADS,
        }
    }
}

impl JoinedSource {
    /// Joins them.
    ///
    /// # Errors
    /// One cannot be read, or counts by another clock and no offset is given.
    pub fn new(parts: Vec<Part>) -> Result<Self, EngineError> {
        let mut known: Option<String> = None;
        let mut joined = Vec::new();
        for part in parts {
            let path = part.source.path().to_owned();
            let opened = part.source.open().map_err(|fatal| EngineError::Source { path: path.clone(), fatal })?;
            let clock = opened.facts.clock;
            match (&known, part.offset) {
                (Some(first), None) if *first != clock => {
                    return Err(EngineError::Other(format!(
                        "{}: its times are of the clock {clock}, those of the first source of {first}: say with --offset what \
                         to add to them",
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

    /// Parts of one thing that the user named.
    pub(super) fn called(self, path: &Path) -> Self {
        Self { path: Some(path.to_owned()), ..self }
    }

    /// Reads all parts once to see which groups each has.
    fn groups(&self) -> Result<&[Groups], Fatal> {
        if let Some(taken) = self.taken.get() {
            return Ok(taken);
        }
        let (mut given, mut taken) = (Groups::ALL_PARTS, Vec::new());
        for (source, _) in &self.parts {
            let has = groups_of(source.open()?)?;
            taken.push(Groups(has & !given | Groups::ALL_PARTS));
            given |= has;
        }
        // Of frame logs alone, each tells how long it was.
        if given & Groups::THREADS == 0 {
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
            let reach = stream.next(&mut batch, &mut ingest::Troubles::default());
            // A sample of no tracepoint that is known here makes no chain.
            let own = batch.events.iter().filter(|e| !matches!(e.what, What::Sample | What::Loss(_)));
            has |= own.map(|e| Groups::of(&e.what)).fold(0, |all, one| all | one);
            // Why it ends early is told when it is read in earnest.
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
    /// What a further part says: the scheduling facts of the one whose switches are taken, the machine of the first that
    /// knows it.
    fn join_facts(&self, all: &mut ingest::Facts, more: ingest::Facts, groups: Groups, offset: Ns, at: usize) {
        let name = self.parts.get(at).map_or(String::new(), |(source, _)| source.path().display().to_string());
        if groups.0 & Groups::THREADS != 0 {
            all.has_waking = more.has_waking;
            all.has_wakeup = more.has_wakeup;
            all.has_charges = more.has_charges;
            all.has_yields = more.has_yields;
            all.whole_machine = more.whole_machine;
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

/// A stream on another clock, of which some groups are taken.
struct Shifted {
    inner: Box<dyn Stream + Send>,
    offset: Ns,
    groups: Groups,
    /// Which part it is, where [`Event::offset`] keeps it.
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
            } else if matches!(event.what, What::Loss(_)) {
                // No switches are taken from here, so no CPU's time is in doubt; marks and values may be missing.
                bad.trouble("a recording that is read beside the first one lost events", event.offset, Trouble::Lost);
            }
        }
        out.events.truncate(kept);
        Ok(match reach {
            Reach::Until(t) => Reach::Until(self.told(t)),
            Reach::End => Reach::End,
        })
    }
}

impl Shifted {
    fn moved(&self, t: Ns) -> Ns {
        if t == Ns::MIN || t == Ns::MAX { t } else { t + self.offset }
    }

    fn told(&self, t: MaybeNs) -> MaybeNs {
        t.get().map(|t| self.moved(t)).into()
    }

    fn shift(&self, event: &mut Event) {
        event.at = self.moved(event.at);
        event.offset = event.offset & ((1 << store::PART_SHIFT) - 1) | self.part;
        match &mut event.what {
            What::Wake(wake) => wake.stamp = self.moved(wake.stamp),
            What::Loss(loss) => {
                loss.from = self.told(loss.from);
                loss.to = self.told(loss.to);
            }
            // Beside the switches of another source, they do not move the recording's ends.
            What::Mark(_) | What::Value { .. } | What::Frame(_) if self.groups.0 & Groups::THREADS == 0 => {
                event.cpu = CpuId::UNKNOWN;
            }
            _ => {}
        }
    }
}
