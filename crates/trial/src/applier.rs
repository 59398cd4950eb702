//! Applies a plan while a program runs: to the threads that exist, and to those that begin or get their name later.
//!
//! Without the fix, the same threads are looked for and not changed, so that looking costs both sides the same.

use crate::cgroup::{CPU, CPUSET, Hierarchy};
use crate::journal::{Entry, Journal};
use crate::plan::{list, parse_list};
use crate::processes::{self, Running};
use crate::{Plan, Selector, Setting, Step, files};
use model::CpuId;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often threads are looked for.
const EVERY: Duration = Duration::from_millis(20);
/// With many threads, less often.
const MANY: usize = 200;
const EVERY_OF_MANY: Duration = Duration::from_millis(100);

/// The nice value of a session whose threads get SCHED_IDLE.
const LOWEST: i8 = 19;
/// Where cgroups are mounted.
pub(crate) const CGROUPS: &str = "/sys/fs/cgroup";
/// Whether sessions share CPUs evenly.
pub(crate) const AUTOGROUPS: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// Among which threads those of the fix are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Those of all processes that this one started.
    StartedBy(i32),
    /// Those of this process, and of those that it started.
    Process(i32),
    /// Those of all processes of the user.
    User,
}

/// What was applied in one run.
#[derive(Debug, Default)]
pub struct Applied {
    /// The number of threads that the fix is for.
    pub threads: usize,
    /// The number of files of the kernel that were written.
    pub files: usize,
    /// Whether the program loaded one of the libraries that the plan needs.
    pub has_library: bool,
    /// Why a part could not be applied: a sentence without a full stop.
    pub failed: Option<String>,
}

/// Looks for threads and applies a plan to them, in a thread of its own.
pub struct Applier {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(Work, Result<()>)>,
}

struct Work {
    plan: Plan,
    selector: Option<Selector>,
    scope: Scope,
    /// Whether the plan is applied; else threads are only looked for.
    applies: bool,
    journal: Journal,
    found: BTreeSet<Running>,
    /// The processes in which a needed library was looked for, with the number of their threads then; `None`: it was found.
    searched: Option<BTreeMap<i32, usize>>,
    /// The files that were written, with the value as the kernel shows it.
    written: BTreeMap<PathBuf, String>,
}

impl Applier {
    /// Begins to look for the threads, and with `applies` to apply the plan: what exists already is changed when this returns. `selector`: the
    /// threads that the fix is for.
    #[must_use]
    pub fn start(plan: &Plan, selector: Option<&Selector>, scope: Scope, applies: bool, journal: Journal) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (found, written) = (BTreeSet::new(), BTreeMap::new());
        let searched = (!plan.libraries.is_empty()).then(BTreeMap::new);
        let (plan, selector) = (plan.clone(), selector.cloned());
        let mut work = Work { plan, selector, scope, applies, journal, found, searched, written };
        let mut done = work.look();
        let thread = std::thread::spawn(move || {
            while done.is_ok() && !stopped.load(Ordering::Relaxed) {
                std::thread::park_timeout(if work.found.len() > MANY { EVERY_OF_MANY } else { EVERY });
                done = work.look();
            }
            (work, done)
        });
        Self { stop, thread }
    }

    /// Stops, undoes what was changed, and returns the journal for the next run.
    ///
    /// # Errors
    /// Something could not be undone.
    pub fn stop(self) -> Result<(Journal, Applied)> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        let (mut work, done) =
            self.thread.join().map_err(|_| Error::other("the thread that applies the fix has ended"))?;
        let undone = work.journal.undo()?;
        if let Some(left) = undone.left.first() {
            return Err(Error::other(format!("not undone: {left}")));
        }
        let failed = done.err().map(|why| why.to_string());
        let has_library = work.searched.is_none();
        Ok((work.journal, Applied { threads: work.found.len(), files: work.written.len(), has_library, failed }))
    }
}

impl Work {
    fn look(&mut self) -> Result<()> {
        for step in self.plan.steps.clone() {
            if let Step::File { path, value } = step {
                self.write(&path, &value)?;
            }
        }
        self.search();
        let Some(selector) = self.selector.clone() else { return Ok(()) };
        // A command may put its processes into a cgroup after they have started. The root has no weight.
        let weighed = self.plan.steps.iter().any(|step| matches!(step, Step::Weight(_)));
        let hierarchy = if weighed { Hierarchy::of_this_machine(CPU) } else { None };
        for (pid, tid) in self.candidates() {
            let Some(start) = processes::start_of(tid) else { continue };
            let thread = Running { tid, pid, start };
            if self.found.contains(&thread)
                || !processes::name_of(tid).is_some_and(|name| selector.takes(&name, tid == pid))
            {
                continue;
            }
            if weighed && hierarchy.as_ref().and_then(|of| of.of_process(pid)).is_none() {
                continue;
            }
            self.found.insert(thread.clone());
            if self.applies {
                self.apply(&thread)?;
            }
        }
        Ok(())
    }

    /// Looks for the needed libraries in processes that have begun, or have more threads since: they may be loaded late, but are before their
    /// threads begin.
    fn search(&mut self) {
        let Some(mut searched) = self.searched.take() else { return };
        for pid in self.processes() {
            let threads = processes::threads_of(pid).len();
            if searched.insert(pid, threads) != Some(threads) && processes::has_loaded(pid, self.plan.libraries) {
                return;
            }
        }
        self.searched = Some(searched);
    }

    /// The processes of the scope.
    fn processes(&self) -> BTreeSet<i32> {
        match self.scope {
            Scope::StartedBy(root) => processes::descendants(root),
            Scope::Process(pid) => processes::descendants(pid).into_iter().chain([pid]).collect(),
            Scope::User => {
                let (user, own) = (processes::user(), std::process::id().cast_signed());
                let fits = |pid: &i32| *pid != own && processes::user_of(*pid) == Some(user);
                let process = self.selector.as_ref().map(|of| &of.process);
                let named = |pid: &i32| processes::name_of(*pid).as_ref() == process;
                processes::all().into_iter().filter(fits).filter(named).collect()
            }
        }
    }

    /// The threads of the scope: process and TID.
    fn candidates(&self) -> Vec<(i32, i32)> {
        let pids = self.processes();
        pids.into_iter().flat_map(|pid| processes::threads_of(pid).into_iter().map(move |tid| (pid, tid))).collect()
    }

    fn apply(&mut self, thread: &Running) -> Result<()> {
        for step in self.plan.steps.clone() {
            match step {
                Step::Threads(setting) => {
                    self.give(thread, &setting)?;
                    match setting {
                        Setting::Nice(nice) => self.give_session(thread.pid, nice)?,
                        Setting::Policy { policy: libc::SCHED_IDLE, .. } => self.give_session(thread.pid, LOWEST)?,
                        _ => {}
                    }
                }
                Step::Weight(weight) => {
                    let hierarchy = Hierarchy::of_this_machine(CPU);
                    // It may have been moved since.
                    let folder = hierarchy.as_ref().and_then(|of| Some((of, of.of_process(thread.pid)?)));
                    if let Some((hierarchy, folder)) = folder {
                        let (path, value) = hierarchy.weight(&folder, weight);
                        self.write(&path, &value)?;
                    }
                }
                Step::Spread(cpus) => {
                    let cpu = cpus[(self.found.len() - 1) % cpus.len()];
                    self.give(thread, &Setting::Affinity(vec![cpu]))?;
                }
                Step::Cpuset(cpus) => self.widen(thread.pid, &cpus)?,
                Step::File { .. } | Step::Variable { .. } | Step::Command(_) => {}
            }
        }
        Ok(())
    }

    /// Lets the cgroup of a process use CPUs that it leaves out.
    fn widen(&mut self, pid: i32, wanted: &[CpuId]) -> Result<()> {
        let Some(folder) = Hierarchy::of_this_machine(CPUSET).and_then(|of| of.of_process(pid)) else { return Ok(()) };
        let path = folder.join("cpuset.cpus");
        // Without the controller, or with an empty list, the cgroup has the CPUs of the one that contains it.
        let has = files::value(&path).ok().and_then(|has| parse_list(&has)).filter(|has| !has.is_empty());
        match has {
            Some(has) if wanted.iter().any(|cpu| !has.contains(cpu)) => self.write(&path, &list(wanted)),
            _ => Ok(()),
        }
    }

    fn give(&mut self, thread: &Running, setting: &Setting) -> Result<()> {
        let tid = thread.tid;
        // A thread may end at any time.
        let ended = || processes::start_of(tid) != Some(thread.start);
        let was = match setting.of_thread(tid) {
            Ok(was) => was,
            Err(_) if ended() => return Ok(()),
            Err(why) => return Err(failed(&format!("thread {tid}"), &why)),
        };
        if was == *setting {
            return Ok(());
        }
        self.journal.add(&[Entry::Thread { tid, start: thread.start, was, to: setting.clone() }])?;
        match setting.give(tid) {
            Err(why) if !ended() => Err(failed(&format!("thread {tid}"), &why)),
            _ => Ok(()),
        }
    }

    /// A nice value and SCHED_IDLE count within a session only, where autogroups are on: another session gets the value too.
    fn give_session(&mut self, pid: i32, nice: i8) -> Result<()> {
        let is_on = files::value(Path::new(AUTOGROUPS)).is_ok_and(|on| on == "1");
        let (own, its) = (files::session(std::process::id().cast_signed()), files::session(pid));
        let is_other = own.zip(its).is_some_and(|(own, its)| own != its);
        if is_on && is_other { self.write(&files::autogroup(pid), &nice.to_string()) } else { Ok(()) }
    }

    /// Writes a file as soon as it exists, and again if the command itself has written another value since: it may make and limit its cgroup.
    fn write(&mut self, path: &Path, value: &str) -> Result<()> {
        if !self.applies {
            return Ok(());
        }
        if let Some(written) = self.written.get(path)
            && !(path.starts_with(CGROUPS) && files::value(path).is_ok_and(|now| now != *written))
        {
            return Ok(());
        }
        let was = match files::value(path) {
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(()),
            was => was.map_err(|why| failed(&path.display().to_string(), &why))?,
        };
        let entry = |to: &str| Entry::File { path: path.to_owned(), was: was.clone(), to: to.to_owned() };
        self.journal.add(&[entry(value)])?;
        files::set(path, value).map_err(|why| failed(&path.display().to_string(), &why))?;
        // The kernel may show another form of the value.
        let now = files::value(path).map_err(|why| failed(&path.display().to_string(), &why))?;
        if now != value {
            self.journal.add(&[entry(&now)])?;
        }
        self.written.insert(path.to_owned(), now);
        Ok(())
    }
}

fn failed(what: &str, why: &Error) -> Error {
    let hint = match why.kind() {
        ErrorKind::PermissionDenied => " (this needs root)",
        _ => "",
    };
    Error::new(why.kind(), format!("{what}: {why}{hint}"))
}
