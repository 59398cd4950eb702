//! Applies a plan while a program runs: to the threads that exist, and to those that begin or get their name later.
//!
//! Without the fix, the same threads are looked for and not changed, so that looking costs both sides the same.

use crate::cgroup::Hierarchy;
use crate::journal::{Entry, Journal};
use crate::processes::{self, Running};
use crate::{Plan, Selector, Setting, Step, files};
use std::collections::BTreeSet;
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
    written: BTreeSet<PathBuf>,
}

impl Applier {
    /// Begins to look for the threads, and with `applies` to apply the plan: what exists already is changed when this returns. `selector`: the
    /// threads that the fix is for.
    #[must_use]
    pub fn start(plan: &Plan, selector: Option<&Selector>, scope: Scope, applies: bool, journal: Journal) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (found, written) = (BTreeSet::new(), BTreeSet::new());
        let (plan, selector) = (plan.clone(), selector.cloned());
        let mut work = Work { plan, selector, scope, applies, journal, found, written };
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
        Ok((work.journal, Applied { threads: work.found.len(), files: work.written.len(), failed }))
    }
}

impl Work {
    fn look(&mut self) -> Result<()> {
        for step in self.plan.steps.clone() {
            if let Step::File { path, value } = step {
                self.write(&path, &value)?;
            }
        }
        let Some(selector) = self.selector.clone() else { return Ok(()) };
        // A command may put its processes into a cgroup after they have started. The root has no weight.
        let weighed = self.plan.steps.iter().any(|step| matches!(step, Step::Weight(_)));
        let hierarchy = if weighed { Hierarchy::of_this_machine() } else { None };
        for (pid, tid) in self.candidates(&selector) {
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

    /// The threads of the scope: process and TID.
    fn candidates(&self, selector: &Selector) -> Vec<(i32, i32)> {
        let pids: BTreeSet<i32> = match self.scope {
            Scope::StartedBy(root) => processes::descendants(root),
            Scope::Process(pid) => processes::descendants(pid).into_iter().chain([pid]).collect(),
            Scope::User => {
                let (user, own) = (processes::user(), std::process::id().cast_signed());
                let fits = |pid: &i32| *pid != own && processes::user_of(*pid) == Some(user);
                let named = |pid: &i32| processes::name_of(*pid).is_some_and(|name| name == selector.process);
                processes::all().into_iter().filter(fits).filter(named).collect()
            }
        };
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
                    let hierarchy = Hierarchy::of_this_machine();
                    // It may have been moved since.
                    let folder = hierarchy.as_ref().and_then(|of| Some((of, of.of_process(thread.pid)?)));
                    if let Some((hierarchy, folder)) = folder {
                        let (path, value) = hierarchy.weight(&folder, weight);
                        self.write(&path, &value)?;
                    }
                }
                Step::File { .. } | Step::Variable { .. } | Step::Command(_) => {}
            }
        }
        Ok(())
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

    /// Writes a file once, as soon as it exists.
    fn write(&mut self, path: &Path, value: &str) -> Result<()> {
        if !self.applies || self.written.contains(path) {
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
        self.written.insert(path.to_owned());
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
