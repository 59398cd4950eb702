//! The pool, the process and the program of each thread.

use model::{Pid, ThreadKey, Tid, is_kernel_thread, pool_name};
use rustc_hash::FxHashMap;

/// The pools of threads (those whose names differ only by a number at the end: [`pool_name`]) and their processes.
#[derive(Clone, Debug, Default)]
pub struct ThreadGroups {
    /// By thread key.
    of: Vec<Group>,
    /// The first is that of pool 1.
    names: Vec<Box<str>>,
    /// The pool of the first thread of each process; 0: a kernel thread.
    programs: FxHashMap<Pid, u32>,
}

/// What a thread belongs to.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// The number of its pool; 0: it has no name.
    pool: u32,
    process: Pid,
}

impl ThreadGroups {
    /// Groups threads by their names and processes.
    #[must_use]
    pub fn new<'a>(threads: impl IntoIterator<Item = (ThreadKey, Tid, Option<&'a str>, Pid)>) -> Self {
        let (mut pools, mut known) = (Self::default(), FxHashMap::<&str, u32>::default());
        for (thread, tid, name, process) in threads {
            let Ok(key) = usize::try_from(thread.0) else { continue };
            let pool = name.map(pool_name).map_or(0, |name| {
                *known.entry(name).or_insert_with(|| {
                    pools.names.push(name.into());
                    pools.names.len() as u32
                })
            });
            if key >= pools.of.len() {
                pools.of.resize(key + 1, Group { pool: 0, process: Pid::UNKNOWN });
            }
            pools.of[key] = Group { pool, process };
            if tid.0 == process.0 {
                pools.programs.insert(process, if name.is_some_and(is_kernel_thread) { 0 } else { pool });
            }
        }
        pools
    }

    fn group(&self, thread: ThreadKey) -> Option<&Group> {
        self.of.get(usize::try_from(thread.0).ok()?)
    }

    /// The number of a thread's pool.
    #[inline]
    pub(crate) fn of(&self, thread: ThreadKey) -> usize {
        self.group(thread).map_or(0, |group| group.pool as usize)
    }

    /// The name of a thread's pool.
    pub(crate) fn name(&self, thread: ThreadKey) -> Option<&str> {
        self.names.get(self.of(thread).checked_sub(1)?).map(AsRef::as_ref)
    }

    /// The process of a thread, if recorded.
    #[inline]
    pub(crate) fn process(&self, thread: ThreadKey) -> Option<Pid> {
        self.group(thread).map(|group| group.process).filter(|process| *process != Pid::UNKNOWN)
    }

    /// Whether the processes of all threads that have a name and are not the kernel's are recorded.
    pub(crate) fn has_all_processes(&self) -> bool {
        let is_kernel = |group: &Group| {
            let name = (group.pool as usize).checked_sub(1).and_then(|at| self.names.get(at));
            name.is_none_or(|name| is_kernel_thread(name))
        };
        // The first is the idle task.
        self.of.iter().skip(1).all(|group| group.process != Pid::UNKNOWN || is_kernel(group))
    }

    /// The number of a thread's program: processes whose first threads are one pool are one program. `None`: kernel threads, and
    /// threads of unknown processes.
    #[inline]
    pub(crate) fn program(&self, thread: ThreadKey) -> Option<u32> {
        self.programs.get(&self.process(thread)?).copied().filter(|pool| *pool != 0)
    }
}
