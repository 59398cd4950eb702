//! The order of the threads' tracks: the busiest process first, and the busiest thread first within a process.

use engine::{EngineError, Session};
use model::{Col, Kind, MadeFrom, Shows, TableDef, ThreadKey, Value, tables};
use rustc_hash::{FxHashMap, FxHashSet};

/// The order of the threads, which is also that of their levels of detail, so that adjacent tracks are adjacent in the file. Takes a few
/// dozen bytes per thread instance.
#[derive(Default)]
pub struct Tracks {
    threads: Vec<Thread>,
    by_key: FxHashMap<ThreadKey, u32>,
    names: Vec<Box<str>>,
}

/// The maximum number of groups; the threads of further processes are in none.
const MAX_GROUPS: u32 = 128;

struct Thread {
    key: ThreadKey,
    tid: i32,
    pid: Option<i32>,
    name: u32,
    running_ns: i64,
    ready_ns: Option<i64>,
    begin_ns: i64,
    /// Whether it is a kernel thread, as far as its name shows it.
    is_kernel: bool,
    /// Running time on efficient and low-power cores; `None`: the machine has cores of one type only.
    efficient_ns: Option<i64>,
    group: Option<u32>,
}

/// The columns of the threads' tracks.
pub(crate) const COLUMNS: TableDef = TableDef {
    name: "thread_tracks",
    version: 1,
    made_from: MadeFrom::Elsewhere,
    large: false,
    doc: "The threads in the order of their tracks.",
    key: &["track"],
    cols: &[
        Col::new("track", Kind::Int, "", "The index of the track."),
        Col::new("thread", Kind::Int, "", "The thread's key."),
        Col::new("tid", Kind::Int, "", "The thread's TID."),
        Col::new("pid", Kind::Int, "", "The process; null if not recorded.").or_null(),
        Col::text("name", Shows::Name, "The last name seen.").or_null(),
        Col::new("running_ns", Kind::Int, "ns", "Running time over the recording."),
        Col::new("ready_ns", Kind::Int, "ns", "Ready time over the recording; null if the source records no wakeups.")
            .or_null(),
        Col::new("begin_ns", Kind::Int, "ns", "The begin of the thread instance, or of the recording."),
        Col::new("is_kernel", Kind::Bool, "", "Whether it is a kernel thread, as far as its name shows it."),
        Col::new(
            "efficient_ns",
            Kind::Int,
            "ns",
            "Running time on efficient and low-power cores; null if the machine has cores of one type only.",
        )
        .or_null(),
        Col::new(
            "group",
            Kind::Int,
            "",
            "The number of its group (its process, or all kernel threads) if that has more threads; null if not.",
        )
        .or_null(),
    ],
};
impl Tracks {
    /// Reads the threads of a trace.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn of(session: &Session) -> Result<Self, EngineError> {
        let ready_known = session.summary().ready_known;
        let (mut threads, mut names, mut known) = (Vec::new(), vec![Box::from("")], FxHashMap::default());
        session.each(tables::threads::Table, |row| {
            use tables::threads::{BEGIN_NS, NAME, PID, READY_NS, RUNNING_NS, THREAD, TID};
            let name = row.get(NAME.or_empty());
            let number = match known.get(name) {
                _ if name.is_empty() => 0,
                Some(number) => *number,
                None => {
                    let number = names.len() as u32;
                    names.push(Box::from(name));
                    known.insert(Box::<str>::from(name), number);
                    number
                }
            };
            let (tid, pid) = (row.get(TID).0, row.get(PID).map(|pid| pid as i32));
            threads.push(Thread {
                key: row.get(THREAD),
                tid,
                pid,
                name: number,
                running_ns: row.get(RUNNING_NS).0,
                ready_ns: ready_known.then(|| row.get(READY_NS).0),
                begin_ns: row.get(BEGIN_NS).0,
                // A kernel thread is a process of its own.
                is_kernel: pid.is_none_or(|pid| pid == tid) && model::is_kernel_thread(&names[number as usize]),
                efficient_ns: None,
                group: None,
            });
        })?;
        // Threads whose process is unknown are one group.
        let of = |t: &Thread| t.pid;
        let mut busy: FxHashMap<Option<i32>, i64> = FxHashMap::default();
        for thread in &threads {
            let sum = busy.entry(of(thread)).or_default();
            *sum = sum.saturating_add(thread.running_ns);
        }
        let busy = |t: &Thread| busy.get(&of(t)).copied().unwrap_or(0);
        threads.sort_by(|a, b| {
            let processes = busy(b).cmp(&busy(a)).then(of(a).cmp(&of(b)));
            processes.then(b.running_ns.cmp(&a.running_ns)).then(a.key.cmp(&b.key))
        });
        let by_key = (0u32..).zip(&threads).map(|(at, t)| (t.key, at)).collect();
        let mut tracks = Self { threads, by_key, names };
        tracks.efficient(session)?;
        tracks.grouped();
        Ok(tracks)
    }

    /// Adds the running time on efficient and low-power cores.
    fn efficient(&mut self, session: &Session) -> Result<(), EngineError> {
        let machine = session.machine();
        let is_slow = |of: &str| matches!(of, "efficient" | "low-power");
        if !machine.cpus.iter().any(|cpu| is_slow(machine.core_type(cpu.id).as_str())) {
            return Ok(());
        }
        self.threads.iter_mut().for_each(|thread| thread.efficient_ns = Some(0));
        session.each(tables::thread_by_core_type::Table, |row| {
            use tables::thread_by_core_type::{CORE_TYPE, RUNNING_NS, THREAD};
            let at = self.by_key.get(&row.get(THREAD)).filter(|_| is_slow(row.get(CORE_TYPE)));
            if let Some(sum) = at.and_then(|at| self.threads.get_mut(*at as usize)?.efficient_ns.as_mut()) {
                *sum = sum.saturating_add(row.get(RUNNING_NS).0);
            }
        })
    }

    /// Groups the threads: kernel threads, and each process, if they have more than one thread.
    fn grouped(&mut self) {
        // Kernel threads have no group of their process, which some sources do not record.
        let of = |t: &Thread| if t.is_kernel { None } else { Some(t.pid) };
        let mut sizes: FxHashMap<_, u32> = FxHashMap::default();
        self.threads.iter().filter(|t| t.key != ThreadKey::IDLE).for_each(|t| *sizes.entry(of(t)).or_default() += 1);
        let mut numbers = FxHashMap::default();
        for thread in self.threads.iter_mut().filter(|t| t.key != ThreadKey::IDLE) {
            let (of, next) = (of(thread), numbers.len() as u32);
            if sizes.get(&of).is_some_and(|size| *size > 1) && (next < MAX_GROUPS || numbers.contains_key(&of)) {
                thread.group = Some(*numbers.entry(of).or_insert(next));
            }
        }
    }

    /// Returns each thread instance: its TID, its begin in ns, its key, its running time in ns, and its name.
    pub(crate) fn instances(&self) -> impl Iterator<Item = (i32, i64, ThreadKey, i64, &str)> {
        let name = |t: &Thread| self.names.get(t.name as usize).map_or("", |name| &**name);
        self.threads.iter().map(move |t| (t.tid, t.begin_ns, t.key, t.running_ns, name(t)))
    }

    /// Returns the group of a thread, if it has one.
    pub(crate) fn group_of(&self, key: ThreadKey) -> Option<u32> {
        self.threads.get(self.of_thread(key)? as usize)?.group
    }

    /// The number of threads.
    #[must_use]
    pub fn len(&self) -> usize {
        self.threads.len()
    }

    /// Returns whether there are no threads.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// Returns the track of a thread.
    #[must_use]
    pub fn of_thread(&self, key: ThreadKey) -> Option<u32> {
        self.by_key.get(&key).copied()
    }

    /// Returns the keys of threads that match a name, TID and PID, where given.
    pub(crate) fn keys(&self, name: Option<&str>, tid: Option<i64>, pid: Option<i64>) -> FxHashSet<ThreadKey> {
        let name = name.map(str::to_lowercase);
        let has_name = |t: &Thread, wanted: &String| {
            self.names.get(t.name as usize).is_some_and(|name| name.to_lowercase().contains(wanted.as_str()))
        };
        let is = |t: &&Thread| {
            name.as_ref().is_none_or(|name| has_name(t, name))
                && tid.is_none_or(|tid| i64::from(t.tid) == tid)
                && pid.is_none_or(|pid| t.pid.map(i64::from) == Some(pid))
        };
        self.threads.iter().filter(is).map(|t| t.key).collect()
    }

    /// Returns a range of rows as declared in [`COLUMNS`].
    pub(crate) fn rows(&self, first: usize, last: usize) -> Vec<Vec<Value>> {
        let row = |(at, t): (usize, &Thread)| {
            let name = self.names.get(t.name as usize).filter(|name| !name.is_empty());
            vec![
                (at as i64).into(),
                t.key.into(),
                i64::from(t.tid).into(),
                t.pid.map(i64::from).into(),
                name.map(ToString::to_string).into(),
                t.running_ns.into(),
                t.ready_ns.into(),
                t.begin_ns.into(),
                Value::Bool(t.is_kernel),
                t.efficient_ns.into(),
                t.group.map(i64::from).into(),
            ]
        };
        let wanted = self.threads.iter().enumerate().skip(first);
        wanted.take_while(|(at, _)| *at <= last).map(row).collect()
    }
}
