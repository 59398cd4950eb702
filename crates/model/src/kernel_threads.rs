//! Names of kernel threads.

/// How the names of kernel threads begin that are not of one CPU (Linux; `ps --ppid 2`).
pub(crate) const KERNEL_THREADS: [&str; 20] = [
    "kworker/",
    "rcu_",
    "rcuog/",
    "rcuop/",
    "rcuos/",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "khungtaskd",
    "kthreadd",
    "kauditd",
    "kdevtmpfs",
    "ksmd",
    "jbd2/",
    "irq/",
    "oom_reaper",
    "xfsaild/",
    "btrfs-",
    "scsi_eh_",
    "usb-storage",
];

/// Whether this is the name of a per-CPU kernel thread (`ksoftirqd/0`, `kworker/1:2`).
///
/// ```
/// use model::is_kernel_thread_of_cpu;
///
/// assert!(is_kernel_thread_of_cpu("kworker/1:2"));
/// assert!(!is_kernel_thread_of_cpu("kworker/u8:1"));
/// ```
#[must_use]
pub fn is_kernel_thread_of_cpu(name: &str) -> bool {
    let suffix = name.rsplit_once('/').map_or("", |(_, suffix)| suffix);
    suffix.split(':').next().is_some_and(|cpu| !cpu.is_empty() && cpu.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether this is the name of a kernel thread, as far as a name shows it.
///
/// ```
/// use model::is_kernel_thread;
///
/// assert!(is_kernel_thread("kworker/u8:1") && is_kernel_thread("migration/0"));
/// assert!(!is_kernel_thread("redis-server"));
/// ```
#[must_use]
pub fn is_kernel_thread(name: &str) -> bool {
    is_kernel_thread_of_cpu(name) || KERNEL_THREADS.iter().any(|begin| name.starts_with(begin))
}
