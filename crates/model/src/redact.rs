//! What outputs leave out: how much, and what becomes of the values of a column.

use crate::kernel_threads::KERNEL_THREADS;
use crate::{COLLECTOR_THREADS, FrameMarkKind, Shows, StackFrame, frame_mark};
use std::borrow::Cow;

/// How much of what is private an output leaves out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Redact {
    /// Paths, command lines, hosts, labels and addresses. Names of threads, processes, functions and marks stay.
    Private,
    /// These names too.
    Names,
}

/// What becomes of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It stays.
    Kept,
    /// It is left out.
    Removed,
    /// Of the path of a mapped file, what says nothing about the user stays ([`public_file`]).
    PublicFile,
    /// A number stands for it.
    Numbered,
    /// A name of this kind stands for it ([`crate::NameStandIns`]).
    Renamed(&'static str),
    /// A function's name stays without the paths that code generators put into it ([`without_paths`]).
    WithoutPaths,
    /// Of a callchain, files are left out; each function becomes what a function becomes.
    Chain,
}

impl Shows {
    /// What becomes of the values of a column that shows this.
    #[must_use]
    pub const fn fate(self, level: Redact) -> Fate {
        let names = matches!(level, Redact::Names);
        match self {
            Self::Nothing => Fate::Kept,
            Self::Path | Self::CommandLine | Self::Host | Self::Anything => Fate::Removed,
            Self::File => Fate::PublicFile,
            Self::Address => Fate::Numbered,
            Self::Chain => Fate::Chain,
            Self::Function if names => Fate::Renamed("function"),
            Self::Function => Fate::WithoutPaths,
            Self::Name if names => Fate::Renamed("thread"),
            Self::Program if names => Fate::Renamed("process"),
            Self::Mark if names => Fate::Renamed("mark"),
            Self::Name | Self::Program | Self::Mark => Fate::Kept,
        }
    }
}

/// More names of kernel threads than [`KERNEL_THREADS`], or how they begin: those of one CPU, and whole names.
const KERNEL_THREADS_OF_CPU: [&str; 18] = [
    "ksoftirqd/",
    "migration/",
    "cpuhp/",
    "idle_inject/",
    "irq_work/",
    "rcuc/",
    "watchdog/",
    "swapper/",
    "rcu_preempt",
    "rcu_sched",
    "rcu_gp",
    "rcu_par_gp",
    "rcu_tasks",
    "swapper",
    "idle",
    "kcryptd",
    "posixcputmr/",
    "stopper/",
];

/// Names of functions of public libraries, or how they begin, by which rules know them. What follows is left out.
const FUNCTIONS: [&str; 26] = [
    "pthread_mutex_lock",
    "___pthread_mutex_lock",
    "__pthread_mutex_lock",
    "__GI___pthread_mutex_lock",
    "pthread_spin_lock",
    "pthread_barrier_wait",
    "pthread_cond_wait",
    "__lll_lock_wait_private",
    "__lll_lock_wait",
    "__lll_lock_wake_private",
    "__lll_lock_wake",
    "lll_lock_wait_private",
    "lll_lock_wait",
    "futex_abstimed_spin",
    "blas_thread_server",
    "gomp_team_barrier_wait",
    "gomp_barrier_wait",
    "do_spin",
    "__kmp_wait_",
    "__kmp_hyper_barrier",
    "kmp_flag_",
    "sched_yield",
    "epoll_wait",
    "start_thread",
    "__libc_start_main",
    "clone3",
];

/// Mappings that are no files.
const MAPPINGS: [&str; 7] =
    ["[kernel]", "[vdso]", "[vsyscall]", "[heap]", "[stack]", "[unknown]", StackFrame::GENERATED];

/// Returns what stays of a name that is no secret, as the kernel or a public library gave it; `None`: nothing.
#[must_use]
pub(crate) fn public_name<'a>(kind: &str, name: &'a str) -> Option<Cow<'a, str>> {
    match kind {
        "thread" => thread_name(name),
        "function" => function_name(name).map(Cow::Borrowed),
        "mark" => mark_name(name),
        _ => None,
    }
}

fn thread_name(name: &str) -> Option<Cow<'_, str>> {
    if name.is_empty() || name == "?" {
        return Some(name.into());
    }
    // The longest one that fits. After it follow numbers only, or what is left out.
    let known = KERNEL_THREADS.iter().chain(&KERNEL_THREADS_OF_CPU).chain(&COLLECTOR_THREADS);
    let begin = known.filter(|begin| name.starts_with(**begin)).max_by_key(|of| of.len())?;
    let rest = &name[begin.len()..];
    let numbers = rest.find(|c: char| !(c.is_ascii_digit() || ":#/ uH".contains(c))).unwrap_or(rest.len());
    match () {
        () if begin.ends_with(|c: char| c.is_alphanumeric()) && rest.starts_with(|c: char| c.is_alphabetic()) => None,
        () => Some(name[..begin.len() + numbers].trim_end_matches('-').into()),
    }
}

fn function_name(name: &str) -> Option<&str> {
    let is_kernel = name.ends_with("_[k]");
    if is_kernel || name == StackFrame::SPIN_WAIT || StackFrame::says_truncated(name) || name == "main" {
        return Some(name);
    }
    let begin = FUNCTIONS.iter().filter(|begin| name.starts_with(**begin)).max_by_key(|of| of.len())?;
    Some(&name[..begin.len()])
}

/// Marks that look like frames are recognised by their names, so the word for it stays.
fn mark_name(name: &str) -> Option<Cow<'_, str>> {
    let (kind, pattern) = frame_mark(name)?;
    let base = pattern.strip_suffix('*');
    match (kind, base) {
        (FrameMarkKind::Frame, None) => Some(name.into()),
        (FrameMarkKind::Choreographer, None) => Some("Choreographer#doFrame".into()),
        (FrameMarkKind::Traversal, None) => Some("performTraversals".into()),
        _ => None,
    }
}

/// Returns how a mark that looks like a frame is called: before and after the capitals or the number that stand for the rest.
pub(crate) fn frame_words(name: &str) -> Option<(String, &'static str)> {
    let (kind, pattern) = frame_mark(name)?;
    Some(match (kind, pattern.strip_suffix('*')) {
        (FrameMarkKind::Frame, Some(base)) => (base.to_owned(), ""),
        (FrameMarkKind::Choreographer, _) => ("Choreographer#doFrame ".to_owned(), ""),
        (FrameMarkKind::Vsync, _) => (String::new(), " vsync"),
        (FrameMarkKind::Present, _) => (String::new(), " present"),
        _ => (String::new(), " frame"),
    })
}

/// Returns what stays of the path of a mapped file: a name in brackets, as of the kernel, says nothing about the user. Modules of the kernel
/// are one.
///
/// ```
/// use model::public_file;
///
/// assert_eq!(public_file("[kernel]"), Some("[kernel]"));
/// assert_eq!(public_file("[nf_tables]"), Some("[module]"));
/// assert_eq!(public_file("[anon:cache of user]"), None);
/// assert_eq!(public_file("/opt/game"), None);
/// ```
#[must_use]
pub fn public_file(file: &str) -> Option<&'static str> {
    let known = MAPPINGS.into_iter().find(|known| *known == file);
    let is_word = |inner: &str| inner.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    let inner = file.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    known.or_else(|| inner.is_some_and(is_word).then_some("[module]"))
}

/// Returns a function's name without paths: interpreters and compilers of scripts put the paths of the scripts into the names of the code that they
/// generate. Of a relative path, as in the names of Go, the last part stays.
///
/// ```
/// use model::without_paths;
///
/// assert_eq!(without_paths("py::run:/home/user/game.py"), "py::run:[path]");
/// assert_eq!(without_paths("LazyCompile:*draw /srv/app/main.js:12"), "LazyCompile:*draw [path]");
/// assert_eq!(without_paths("github.com/user/game.(*World).Step"), "game.(*World).Step");
/// assert_eq!(without_paths("Vector::operator/(int)"), "Vector::operator/(int)");
/// assert_eq!(without_paths("main"), "main");
/// ```
#[must_use]
pub fn without_paths(name: &str) -> Cow<'_, str> {
    let is_path = |at: usize| !name[..at].ends_with("operator") && !name[..at].ends_with("operator/");
    let Some(first) = name.match_indices(['/', '\\']).map(|(at, _)| at).find(|at| is_path(*at)) else {
        return name.into();
    };
    let begins = |c: char| c.is_whitespace() || ":(,\"'=*~<@".contains(c);
    let begin = name[..first].rfind(begins).map_or(0, |at| at + 1);
    let of_drive = first == begin && name[..begin].ends_with(':') && name.as_bytes()[first] == b'\\';
    match begin == first || of_drive || name.as_bytes()[first] == b'\\' {
        true => format!("{}[path]", &name[..begin]).into(),
        false => {
            let last = name.rfind(['/', '\\']).map_or(first, |at| at + 1);
            format!("{}{}", &name[..begin], &name[last..]).into()
        }
    }
}

/// Returns a folded callchain without files, each function as `function` returns it.
#[must_use]
pub fn shown_chain(chain: &str, mut function: impl FnMut(&str) -> String) -> String {
    const UNKNOWN: &str = "[unknown]";
    let kept = |frame: &str| {
        ["[kernel]", "[vdso]", "[other]", StackFrame::SPIN_WAIT].contains(&frame) || StackFrame::says_truncated(frame)
    };
    let mut shown = |frame: &str| match frame {
        frame if kept(frame) => frame.to_owned(),
        frame if frame.starts_with('[') => UNKNOWN.to_owned(),
        frame => match frame.strip_suffix("_[i]") {
            Some(inlined) => function(inlined) + "_[i]",
            None => function(frame),
        },
    };
    chain.split(';').map(&mut shown).collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{is_kernel_thread, is_kernel_thread_of_cpu};

    /// What a rule knows a thread by stays; what a user may have added to it does not.
    #[test]
    fn public_names_are_kept_without_what_follows() {
        let of = |name| thread_name(name).map(Cow::into_owned);
        for name in ["kworker/u8:1H", "ksoftirqd/3", "swapper/0", "rcu_preempt", "VM Thread", "idle", "GC Thread#3", ""]
        {
            assert_eq!(of(name).as_deref(), Some(name));
        }
        assert_eq!(of("kworker/0:2-secret").as_deref(), Some("kworker/0:2"));
        assert_eq!(of("irq/129-secret").as_deref(), Some("irq/129"));
        for name in ["secret/3", "idlesecret", "kthreaddsecret", "GC Threadsecret", "main"] {
            assert_eq!(of(name), None, "{name}");
        }
        for name in ["kworker/0:2", "irq/129", "ksoftirqd/3"] {
            assert!(is_kernel_thread(name) || is_kernel_thread_of_cpu(name));
        }
        assert_eq!(function_name("__kmp_wait_secret"), Some("__kmp_wait_"));
        assert_eq!(function_name("secret"), None);
    }

    #[test]
    fn chains_have_no_files() {
        let same = |function: &str| function.to_owned();
        let truncated = "[truncated: no unwind table];main";
        assert_eq!(shown_chain(truncated, same), truncated);
        assert_eq!(shown_chain("main;[game];[kernel];read_[k]", same), "main;[unknown];[kernel];read_[k]");
        assert_eq!(shown_chain("main;draw_[i]", |_| "f".to_owned()), "f;f_[i]");
    }
}
