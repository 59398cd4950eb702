//! What each thread did, from the table `thread_state`, and its settings.

use engine::{EngineError, Session};
use model::tables::{self, thread_scheduling, thread_state, threads};
use model::{EventKind, Ns, Row, ThreadKey};
use std::collections::BTreeMap;

/// A part of what a thread did, in order of time. Times in ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// It ran.
    Ran { from: i64, to: i64 },
    /// It waited.
    Waited { from: i64, to: i64, ended_by: Ended },
}

/// What ended a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// Another thread.
    Thread(ThreadKey),
    /// An interrupt: a timer or a device.
    Interrupt,
    /// It is not known, or what the thread did is not.
    Unknown,
    /// Nothing in the recording.
    Nothing,
}

/// What is known of a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thread {
    pub(crate) tid: i32,
    pub(crate) pid: Option<i32>,
    pub(crate) name: String,
    pub(crate) parts: Vec<Part>,
    /// For how long it was ready. The program has nothing of it.
    pub(crate) ready_ns: i64,
    /// When it was new, and the thread that created it.
    pub(crate) created: Option<(i64, Option<ThreadKey>)>,
    pub(crate) policy: Option<String>,
    pub(crate) nice: Option<i64>,
    pub(crate) prio: Option<i64>,
    pub(crate) cgroup: Option<String>,
    pub(crate) weight: Option<i64>,
    pub(crate) quota: Option<(i64, i64)>,
    /// The CPUs that it may use, as a kernel CPU list.
    pub(crate) affinity: Option<String>,
}

impl Thread {
    /// When it began, and when it was last seen to run or wait, ns since the begin of the recording.
    pub(crate) fn span(&self) -> [i64; 2] {
        let end = |part: &Part| match *part {
            Part::Ran { to, .. } | Part::Waited { to, .. } => to,
        };
        let first = self.parts.first().map_or(0, |part| match *part {
            Part::Ran { from, .. } | Part::Waited { from, .. } => from,
        });
        [self.created.map_or(first, |(at, _)| at), self.parts.last().map_or(0, end)]
    }
}

impl Thread {
    /// Whether interrupts end its waits at a steadier distance than these waits are long: it sleeps until times of its own clock. Otherwise it sleeps for a
    /// while each time.
    pub(crate) fn has_period(&self) -> bool {
        let waits: Vec<(i64, i64)> = self
            .parts
            .iter()
            .filter_map(|part| match *part {
                Part::Waited { from, to, ended_by: Ended::Interrupt } => Some((from, to)),
                _ => None,
            })
            .collect();
        let lengths: Vec<i64> = waits.iter().skip(1).map(|(from, to)| to - from).collect();
        let distances: Vec<i64> = waits.windows(2).map(|two| two[1].1 - two[0].1).collect();
        lengths.len() >= LEAST_PERIODS && 2 * spread(distances) < spread(lengths)
    }
}

/// A thread with fewer waits has no period.
const LEAST_PERIODS: usize = 8;

/// The distance from the first quartile to the third.
fn spread(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    values[values.len() * 3 / 4] - values[values.len() / 4]
}

/// Passes on each row of a table.
fn each_row<T: model::TableType>(
    session: &Session,
    name: &str,
    mut each: impl FnMut(Row<'_, T>),
) -> Result<(), EngineError> {
    session.rows(name, &mut |rows| {
        rows.iter().for_each(|row| each(Row::new(row)));
        Ok(())
    })
}

/// Reads all threads.
pub(crate) fn read(session: &Session) -> Result<BTreeMap<ThreadKey, Thread>, EngineError> {
    let mut all: BTreeMap<ThreadKey, Thread> = BTreeMap::new();
    each_row::<threads::Table>(session, tables::THREADS.name, |row| {
        let of = all.entry(row.get(threads::THREAD)).or_default();
        of.tid = row.get(threads::TID).0;
        of.pid = row.get(threads::PID).map(|pid| pid as i32);
        of.name = row.get(threads::NAME).unwrap_or_default().to_owned();
    })?;
    each_row::<thread_scheduling::Table>(session, tables::THREAD_SCHEDULING.name, |row| {
        let Some(of) = all.get_mut(&row.get(thread_scheduling::THREAD)) else { return };
        of.policy = row.get(thread_scheduling::POLICY).map(str::to_owned);
        of.nice = row.get(thread_scheduling::NICE);
        of.prio = row.get(thread_scheduling::STATIC_PRIO);
        of.cgroup = row.get(thread_scheduling::CGROUP).map(str::to_owned);
        of.weight = row.get(thread_scheduling::CGROUP_WEIGHT);
        let quota = row.get(thread_scheduling::CGROUP_QUOTA_NS).map(|ns| ns.0);
        of.quota = quota.zip(row.get(thread_scheduling::CGROUP_PERIOD_NS).map(|ns| ns.0));
    })?;
    let mut affinity = BTreeMap::new();
    session.events(&mut |events, names| {
        for event in events {
            if let EventKind::Affinity { tid, cpus } = event.what {
                let list = (cpus.0 as usize).checked_sub(1).and_then(|place| names.get(place));
                affinity.insert(tid.0, list.map(ToString::to_string));
            }
        }
        Ok(())
    })?;
    for of in all.values_mut() {
        of.affinity = affinity.get(&of.tid).cloned().flatten();
    }
    each_row::<thread_state::Table>(session, tables::THREAD_STATE.name, |row| {
        let thread = row.get(thread_state::THREAD);
        if thread <= ThreadKey::IDLE {
            return;
        }
        let (Ns(from), Ns(to)) = (row.get(thread_state::START_NS), row.get(thread_state::END_NS));
        let of = all.entry(thread).or_default();
        let waited = |ended_by| Part::Waited { from, to, ended_by };
        match row.get(thread_state::STATE) {
            "running" => match of.parts.last_mut() {
                Some(Part::Ran { to: end, .. }) if *end == from => *end = to,
                last => {
                    // Its wakeup was not recorded.
                    if let Some(Part::Waited { ended_by: ended @ Ended::Nothing, .. }) = last {
                        *ended = Ended::Unknown;
                    }
                    of.parts.push(Part::Ran { from, to });
                }
            },
            "blocked" => of.parts.push(waited(Ended::Nothing)),
            "unknown" => of.parts.push(waited(Ended::Unknown)),
            "ready" => {
                of.ready_ns += to - from;
                let waker = row.get(thread_state::WAKER);
                let by = match waker {
                    Some(waker) if waker > ThreadKey::IDLE => Ended::Thread(waker),
                    Some(ThreadKey::IDLE) => Ended::Interrupt,
                    _ => Ended::Unknown,
                };
                match (row.get(thread_state::REASON), of.parts.last_mut()) {
                    (Some("new"), _) => of.created = Some((from, waker.filter(|waker| *waker > ThreadKey::IDLE))),
                    (Some("woken"), Some(Part::Waited { ended_by, .. })) => *ended_by = by,
                    (Some("woken_before"), _) => of.parts.push(Part::Waited { from, to: from, ended_by: by }),
                    _ => {}
                }
            }
            _ => {}
        }
    })?;
    Ok(all)
}
