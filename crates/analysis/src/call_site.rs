//! Where in a program a thread waits: the innermost function of the program itself, outside the libraries that wait for it.
//!
//! ```text
//!   futex_wait  __x64_sys_futex  …  __lll_lock_wait  pthread_mutex_lock  Scene::load  main
//!   └─────── the kernel ───────┘    └──── the C library ────────────┘    └ the call site
//! ```

use crate::functions::FunctionId;
use crate::source_lines::LineId;
use model::{Ns, StackFrame, Stacks};
use std::collections::BTreeMap;

/// How the names of the files begin that wait for a program: C libraries and their loaders.
const C_LIBRARIES: [&str; 9] =
    ["libc.so", "libc-2.", "libc.musl-", "ld-linux", "ld-musl-", "ld-2.", "libpthread", "librt.so", "librt-2."];

/// The same of the libraries of the compilers, and of the runtimes of OpenMP and Java.
const RUNTIMES: [&str; 11] = [
    "libstdc++.so",
    "libc++.so",
    "libc++abi.so",
    "libgcc_s",
    "libgomp.so",
    "libomp.so",
    "libiomp5",
    "libjvm.so",
    "[vdso]",
    "[vsyscall]",
    "linux-vdso",
];

/// How the names of such functions begin where they are a part of the program's own file: of the standard libraries of Rust and of C++, of
/// parking_lot, of Abseil, of Go's runtime, of a C library that is linked statically, and of PostgreSQL's lightweight locks.
const FUNCTIONS: [&str; 23] = [
    "std::",
    "core::",
    "alloc::",
    "parking_lot::",
    "parking_lot_core::",
    "lock_api::",
    "absl::",
    "AbslInternalPerThreadSem",
    "runtime.",
    "runtime/",
    "sync.",
    "syscall.",
    "internal/",
    "pthread_",
    "__pthread_",
    "___pthread_",
    "__gthread_",
    "__lll_",
    "__futex_",
    "__syscall_",
    "PGSemaphore",
    "LWLockAcquire",
    "LWLockWaitForVar",
];

/// Returns the frames of a callchain that are not of the kernel.
pub(crate) fn of_user(chain: &[StackFrame]) -> impl Iterator<Item = &StackFrame> {
    chain.iter().filter(|frame| frame.address < StackFrame::CONTEXT_MARKERS && !frame.in_kernel())
}

fn is_of(stacks: &Stacks, frame: &StackFrame, libraries: &[&str]) -> bool {
    let file = stacks.name(frame.file).and_then(|file| file.rsplit('/').next()).unwrap_or_default();
    libraries.iter().any(|library| file.starts_with(library))
}

/// Whether a frame is of a C library or its loader.
pub(crate) fn is_of_c_library(stacks: &Stacks, frame: &StackFrame) -> bool {
    is_of(stacks, frame, &C_LIBRARIES)
}

/// Returns the innermost frame of a callchain that has a name and is of the program itself; `None` if there is none.
pub(crate) fn call_site<'a>(stacks: &Stacks, chain: &'a [StackFrame]) -> Option<&'a StackFrame> {
    of_user(chain).find(|frame| {
        let is_library = is_of_c_library(stacks, frame) || is_of(stacks, frame, &RUNTIMES);
        // An implementation of a trait: `<&std::net::TcpStream as std::io::Read>::read`.
        let is_own = |name: &str| {
            let name = name.trim_start_matches(['<', '&']);
            !FUNCTIONS.iter().any(|function| name.starts_with(function)) && !StackFrame::says_truncated(name)
        };
        !is_library && stacks.name(frame.function).is_some_and(is_own)
    })
}

/// Where in a program a thread waits: the function and the line are of the same frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct CallSite {
    pub(crate) function: FunctionId,
    /// That of the call; `None` if unknown.
    pub(crate) line: Option<LineId>,
}

/// The call sites of several waits, with the time of each.
#[derive(Clone, Default)]
pub(crate) struct CallSites(BTreeMap<CallSite, Ns>);

impl CallSites {
    /// Adds a wait, if its call site is known.
    pub(crate) fn add(&mut self, site: Option<CallSite>, waited: Ns) {
        if let Some(site) = site {
            *self.0.entry(site).or_default() += waited;
        }
    }

    /// Takes a wait back.
    pub(crate) fn remove(&mut self, site: CallSite, waited: Ns) {
        if let Some(sum) = self.0.get_mut(&site) {
            *sum -= waited;
            if *sum == Ns::ZERO {
                self.0.remove(&site);
            }
        }
    }

    /// Adds all of the other.
    pub(crate) fn extend(&mut self, other: Self) {
        other.0.into_iter().for_each(|(site, waited)| self.add(Some(site), waited));
    }

    /// Returns the function with the most time, and of its lines that with the most; of several, the first by name.
    pub(crate) fn longest(&self) -> Option<CallSite> {
        let mut functions: BTreeMap<FunctionId, Ns> = BTreeMap::new();
        for (site, waited) in &self.0 {
            *functions.entry(site.function).or_default() += *waited;
        }
        let (function, _) = functions.iter().rev().max_by_key(|(_, waited)| **waited)?;
        let of_function = self.0.iter().rev().filter(|(site, _)| site.function == *function);
        of_function.max_by_key(|(_, waited)| **waited).map(|(site, _)| *site)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::NameId;

    /// Returns the call site of a chain of functions with their files, innermost first; `?` has no name.
    fn of(chain: &[(&str, &str)]) -> Option<String> {
        let mut names: Vec<Box<str>> = Vec::new();
        let mut number = |name: &str| {
            names.push(name.into());
            NameId(names.len() as u32)
        };
        let frames: Vec<StackFrame> = chain
            .iter()
            .map(|(function, file)| StackFrame {
                function: if *function == "?" { NameId::NONE } else { number(function) },
                file: number(file),
                ..StackFrame::at(if *file == "[kernel]" { u64::MAX << 32 } else { 1 })
            })
            .collect();
        let stacks = Stacks { chains: Vec::new(), names };
        call_site(&stacks, &frames).and_then(|frame| stacks.name(frame.function)).map(Into::into)
    }

    #[test]
    fn the_first_named_function_of_the_program_is_the_call_site() {
        let (kernel, libc, game) = ("[kernel]", "/usr/lib/libc.so.6", "/opt/game");
        let lock =
            [("futex_wait", kernel), ("__lll_lock_wait", libc), ("?", libc), ("load_scene", game), ("main", game)];
        assert_eq!(of(&lock).as_deref(), Some("load_scene"));
        let rust = [("syscall", libc), ("std::sys::sync::mutex::lock_contended", game), ("?", game), ("draw", game)];
        assert_eq!(of(&rust).as_deref(), Some("draw"));
        let inlined = [("__gthread_mutex_lock", game), ("std::mutex::lock", game), ("draw", game)];
        assert_eq!(of(&inlined).as_deref(), Some("draw"), "libstdc++ is inlined into the program");
        let of_trait =
            [("<parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::lock", game), ("draw", game)];
        assert_eq!(of(&of_trait).as_deref(), Some("draw"));
        let postgres = [("sem_wait", libc), ("PGSemaphoreLock", game), ("LWLockAcquire", game), ("XLogFlush", game)];
        assert_eq!(of(&postgres).as_deref(), Some("XLogFlush"));
        let go = [("runtime.futex", game), ("runtime.mstart", game)];
        assert_eq!(of(&go), None, "Go's scheduler waits, not the program");
        assert_eq!(of(&[("worker_thread", kernel)]), None);
        let truncated = [("read", libc), ("[truncated: no unwind table]", "")];
        assert_eq!(of(&truncated), None, "why callers are missing is no function");
        let own = [("read", libc), ("libconfig_read", "/usr/lib/libconfig.so.9"), ("main", game)];
        assert_eq!(of(&own).as_deref(), Some("libconfig_read"), "only those of the list are left out");
    }
}
