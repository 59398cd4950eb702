//! What a blocked thread waits for, derived from the callchain at its switch-out.
//!
//! ```text
//!   __schedule  schedule  do_nanosleep  hrtimer_nanosleep  __x64_sys_clock_nanosleep  do_syscall_64  …
//!   └──── the scheduler's ────┘         └ of a kernel thread   └ of a program
//! ```

use model::{StackFrame, StackId, Stacks};

/// The prefixes of system call entry symbols, by architecture (`SYSCALL_DEFINE` in include/linux/syscalls.h and
/// arch/*/include/asm/syscall_wrapper.h). The last three are from Linux before 4.17.
const ENTRIES: [&str; 17] = [
    "__x64_sys_",
    "__ia32_sys_",
    "__ia32_compat_sys_",
    "__x64_compat_sys_",
    "__arm64_sys_",
    "__arm64_compat_sys_",
    "__riscv_sys_",
    "__riscv_compat_sys_",
    "__s390x_sys_",
    "__s390_sys_",
    "__se_sys_",
    "__se_compat_sys_",
    "__do_sys_",
    "__do_compat_sys_",
    "SyS_",
    "compat_sys_",
    "sys_",
];

/// The kernel's entry functions for page faults (x86, ARM64, RISC-V, s390, PowerPC).
const PAGE_FAULTS: [&str; 10] = [
    "asm_exc_page_fault",
    "exc_page_fault",
    "do_user_addr_fault",
    "do_page_fault",
    "page_fault",
    "do_mem_abort",
    "do_translation_fault",
    "handle_page_fault",
    "do_dat_exception",
    "___do_page_fault",
];

/// The functions that call the system call entries (arch/*/kernel, arch/x86/entry).
const DISPATCHERS: [&str; 13] = [
    "x64_sys_call",
    "do_syscall_64",
    "ia32_sys_call",
    "do_int80_syscall_32",
    "do_int80_emulation",
    "__do_fast_syscall_32",
    "do_fast_syscall_32",
    "invoke_syscall",
    "el0_svc_common",
    "do_el0_svc",
    "do_trap_ecall_u",
    "__do_syscall",
    "system_call_exception",
];

/// The prefixes of the functions that implement a system call. Where the entry ends in a tail call, the callchain has
/// no frame of the entry, only of this function.
const BODIES: [&str; 4] = ["ksys_", "kernel_", "do_sys_", "do_"];

/// The reason for a page fault.
const PAGE_FAULT: &str = "page_fault";

/// The functions in which threads give up their CPU, from the switch outwards: those that the kernel marks `__sched`
/// and leaves out of /proc/PID/wchan.
const SCHEDULER: [&str; 62] = [
    "__schedule",
    "__schedule_loop",
    "schedule",
    "schedule_idle",
    "schedule_rtlock",
    "schedule_preempt_disabled",
    "preempt_schedule",
    "preempt_schedule_common",
    "preempt_schedule_irq",
    "preempt_schedule_notrace",
    "__cond_resched",
    "_cond_resched",
    "yield",
    "yield_to",
    "do_sched_yield",
    "io_schedule",
    "io_schedule_prepare",
    "io_schedule_timeout",
    "schedule_timeout",
    "schedule_timeout_idle",
    "schedule_timeout_interruptible",
    "schedule_timeout_killable",
    "schedule_timeout_uninterruptible",
    "schedule_hrtimeout",
    "schedule_hrtimeout_range",
    "schedule_hrtimeout_range_clock",
    "do_nanosleep",
    "bit_wait",
    "bit_wait_io",
    "bit_wait_timeout",
    "bit_wait_io_timeout",
    "__wait_on_bit",
    "__wait_on_bit_lock",
    "out_of_line_wait_on_bit",
    "out_of_line_wait_on_bit_lock",
    "out_of_line_wait_on_bit_timeout",
    "do_wait_intr",
    "do_wait_intr_irq",
    "wait_woken",
    "do_wait_for_common",
    "__wait_for_common",
    "wait_for_common",
    "wait_for_completion",
    "wait_for_completion_interruptible",
    "wait_for_completion_interruptible_timeout",
    "wait_for_completion_io",
    "wait_for_completion_io_timeout",
    "wait_for_completion_killable",
    "wait_for_completion_killable_timeout",
    "wait_for_completion_state",
    "wait_for_completion_timeout",
    "swake_up_one",
    "rt_mutex_schedule",
    "rt_mutex_slowlock_block",
    "__mutex_lock",
    "__mutex_lock_slowpath",
    "mutex_lock",
    "mutex_lock_interruptible",
    "mutex_lock_killable",
    "rwsem_down_read_slowpath",
    "rwsem_down_write_slowpath",
    "percpu_rwsem_wait",
];

/// What a thread waits for. The order is that of the texts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReasonId(u32);

/// What each callchain of a recording waits for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reasons {
    by_stack: Vec<Option<ReasonId>>,
    /// Distinct and sorted.
    words: Vec<Box<str>>,
}

impl Reasons {
    pub(crate) fn new(stacks: &Stacks) -> Self {
        let reasons: Vec<Option<&str>> = stacks.chains.iter().map(|chain| reason(stacks, chain)).collect();
        let mut words: Vec<Box<str>> = reasons.iter().flatten().map(|r| (*r).into()).collect();
        words.sort_unstable();
        words.dedup();
        let id = |reason: &Option<&str>| {
            let reason = (*reason)?;
            let at = words.binary_search_by(|word| word.as_ref().cmp(reason)).ok()?;
            Some(ReasonId(at as u32))
        };
        Self { by_stack: reasons.iter().map(id).collect(), words }
    }

    pub(crate) fn of(&self, stack: StackId) -> Option<ReasonId> {
        *self.by_stack.get((stack.0 as usize).checked_sub(1)?)?
    }

    pub(crate) fn word(&self, id: ReasonId) -> Option<&str> {
        self.words.get(id.0 as usize).map(AsRef::as_ref)
    }
}

/// Returns what a callchain waits for, or `None` if the names do not show it. The innermost entry into the kernel
/// decides: for a page fault within a read, the fault. If there is no entry, as in a kernel thread, the first function
/// outside the scheduler decides.
fn reason<'a>(stacks: &'a Stacks, chain: &[StackFrame]) -> Option<&'a str> {
    let function = |frame: &StackFrame| stacks.name(frame.function).map(stem);
    let kernel = || chain.iter().filter(|frame| frame.in_kernel()).map(function);
    let entry = kernel().flatten().find_map(|f| PAGE_FAULTS.contains(&f).then_some(PAGE_FAULT).or_else(|| call(f)));
    if entry.is_some() {
        return entry;
    }
    // The dispatcher and the function that it called.
    let called = kernel().zip(kernel().skip(1)).find_map(|(inner, outer)| {
        outer
            .filter(|f| DISPATCHERS.contains(f))
            .and(inner)
            .filter(|f| !SCHEDULER.contains(f) && !DISPATCHERS.contains(f))
    });
    if let Some(body) = called {
        return Some(BODIES.iter().find_map(|before| body.strip_prefix(before)).unwrap_or(body));
    }
    // The frames before the scheduler's belong to the recorder of the callchain.
    let scheduler = |f: Option<&str>| f.is_some_and(|f| SCHEDULER.contains(&f));
    let begin = kernel().position(scheduler)?;
    // If the first function outside the scheduler has no name, the reason is unknown.
    kernel().skip(begin).find(|f| !scheduler(*f)).flatten()
}

/// Returns the frame in which a thread with this callchain waits: the innermost one of its program, or of a kernel thread the first one
/// outside the scheduler.
pub(crate) fn waiting(stacks: &Stacks, chain: &[StackFrame]) -> Option<usize> {
    let is_code = |frame: &StackFrame| frame.address < StackFrame::CONTEXT_MARKERS;
    if let Some(at) = chain.iter().position(|frame| is_code(frame) && !frame.in_kernel()) {
        return Some(at);
    }
    // The frames before the scheduler's belong to the recorder of the callchain.
    let scheduler = |frame: &StackFrame| stacks.name(frame.function).map(stem).is_some_and(|f| SCHEDULER.contains(&f));
    let begin = chain.iter().position(scheduler)?;
    let is_outside = |(_, frame): &(usize, &StackFrame)| is_code(frame) && !scheduler(frame);
    chain.iter().enumerate().skip(begin).find(is_outside).map(|(at, _)| at)
}

/// Returns the name of the system call, if the function is the entry of one.
fn call(function: &str) -> Option<&str> {
    ENTRIES.iter().find_map(|entry| function.strip_prefix(entry))
}

/// Returns a symbol without compiler suffixes (`.isra.0`, `.constprop.0`, `.llvm.123`).
fn stem(symbol: &str) -> &str {
    symbol.split_once('.').map_or(symbol, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::NameId;

    /// Returns the reason for a chain of kernel functions, innermost first; `?` has no name.
    fn of(functions: &str) -> Option<String> {
        let names: Vec<Box<str>> = functions.split(' ').map(Into::into).collect();
        let frame = |(at, name)| StackFrame {
            function: if name == "?" { NameId::NONE } else { NameId(at as u32 + 1) },
            ..StackFrame::at(u64::MAX << 32)
        };
        let chain = names.iter().map(AsRef::as_ref).enumerate().map(frame).collect();
        let reasons = Reasons::new(&Stacks { chains: vec![chain], names });
        reasons.of(StackId(1)).and_then(|id| reasons.word(id)).map(Into::into)
    }

    #[test]
    fn the_innermost_entry_into_the_kernel_decides() {
        let reason_of = |functions| of(functions).unwrap_or_default();
        assert_eq!(reason_of("__schedule schedule pipe_read vfs_read __x64_sys_read do_syscall_64"), "read");
        assert_eq!(reason_of("schedule futex_wait __arm64_sys_futex invoke_syscall el0_svc"), "futex");
        assert_eq!(
            reason_of("schedule io_schedule folio_wait_bit exc_page_fault copy_to_user __x64_sys_read"),
            "page_fault"
        );
        assert_eq!(reason_of("schedule hrtimer_nanosleep SyS_nanosleep"), "nanosleep");
        // An entry that ends in a tail call leaves no frame.
        assert_eq!(reason_of("schedule anon_pipe_read vfs_read ksys_read do_syscall_64 entry_SYSCALL_64"), "read");
        assert_eq!(reason_of("schedule do_wait kernel_wait4 invoke_syscall el0_svc_common do_el0_svc"), "wait4");
        assert_eq!(reason_of("schedule futex_wait do_futex x64_sys_call do_syscall_64"), "futex");
    }

    #[test]
    fn a_kernel_thread_waits_in_the_first_function_outside_the_scheduler() {
        assert_eq!(of("__schedule schedule worker_thread kthread ret_from_fork").as_deref(), Some("worker_thread"));
        let timeout =
            "bpf_prog_1 bpf_trace_run4 __schedule schedule schedule_timeout.part.0 rcu_gp_fqs_loop.isra.0 kthread";
        assert_eq!(of(timeout).as_deref(), Some("rcu_gp_fqs_loop"));
    }

    #[test]
    fn missing_names_give_no_reason() {
        assert_eq!(of("__schedule schedule ? kthread"), None);
        assert_eq!(of("worker_thread kthread"), None);
        assert_eq!(of("?"), None);
    }
}
