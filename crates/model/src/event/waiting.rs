//! What threads wait for.

use crate::{NameId, Tid, coded};
use serde::{Deserialize, Serialize};

/// What a thread waits for in a futex call: the call's arguments, and what the memory at the address contained when it left its CPU.
///
/// The layouts of the words are those of the libraries: the owner of a mutex of glibc is 8 bytes after the word, and the writer of a
/// rwlock 12 or 16 (nptl, `struct_mutex.h` and `struct_rwlock.h`, x86-64 and arm64).
///
/// ```
/// use model::{FutexWait, Tid, WaitKind};
///
/// // Thread 701 waits for a mutex of glibc, which thread 700 holds: FUTEX_WAIT_PRIVATE for the value 2.
/// let words = [2, 700, 0];
/// let wait =
///     FutexWait { tid: Tid(701), address: 0x5000, operation: 128, expected: 2, read: true, own: false, words };
/// assert_eq!((wait.kind(), wait.owner()), (WaitKind::Mutex, Some(Tid(700))));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FutexWait {
    /// The thread that waits.
    pub tid: Tid,
    /// The address of the word, in its process.
    pub address: u64,
    /// The operation, with its flags.
    pub operation: u16,
    /// The value that the word has to have.
    pub expected: u32,
    /// Whether the memory was read. It is not if the expected value is 0, which no lock that is held has, or if its
    /// memory was read too often shortly before. The words are 0 then.
    pub read: bool,
    /// Whether the word lies in the thread's own stack or among its variables, where other threads seldom wait.
    pub own: bool,
    /// The words at the address, 8 bytes after it, and where a rwlock of glibc has its writer: 16 bytes after an address that is divisible
    /// by 8, otherwise 12 bytes. (Such a lock is aligned to 8 bytes; the word of the phase is at 8, that of the writers at 12, the writer
    /// at 24.)
    pub words: [u32; 3],
}

/// What a thread waits for in a system call other than futex, or for which lock of the kernel.
///
/// ```
/// use model::{NameId, ObjectWait, Tid, WaitKind};
///
/// let wait = ObjectWait { tid: Tid(701), kind: WaitKind::Pipe, id: 4711, name: NameId::NONE, holder: Tid::UNKNOWN };
/// assert!(!wait.kind.is_lock());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ObjectWait {
    /// The thread that waits.
    pub tid: Tid,
    /// What it waits for.
    pub kind: WaitKind,
    /// Which one, of its kind: the number of the inode of a pipe or a socket (of connected sockets, the number of one of the two); for
    /// files that are on a device its number, 32 bits each; the PID of a child, −1 if any; the System V number; how many descriptors; for other
    /// kinds the source's own number, from 1.
    pub id: u64,
    /// The path of a file or of a Unix socket, or the addresses of the two ends of a connection.
    pub name: NameId,
    /// The thread that holds a lock of the kernel, if that is known.
    pub holder: Tid,
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum WaitKind {
    /// A lock that one thread holds.
    Mutex,
    /// The same, of which the kernel knows the holder and lends it the priority of those that wait.
    PiMutex,
    /// A lock that one writer or several readers hold.
    RwLock,
    /// The end of another thread (`pthread_join`).
    Thread,
    /// A word that only this thread waits for: another thread wakes it, and the word does not show what for.
    Parker,
    /// Any other futex word, for what another thread has to bring about: a condition variable, a semaphore, a barrier, a queue.
    Signal,
    /// A lock of the kernel that one thread holds.
    KernelMutex,
    /// A semaphore of the kernel.
    KernelSemaphore,
    /// A lock of the kernel that one writer or several readers hold (`rw_semaphore`).
    KernelRwLock,
    /// A pipe, with or without a name.
    Pipe,
    /// A socket, or the connection of which it is an end.
    Socket,
    /// A file or a folder.
    File,
    /// A device.
    Device,
    /// An eventfd.
    EventFd,
    /// A timer.
    TimerFd,
    /// A signalfd.
    SignalFd,
    /// An epoll set.
    Epoll,
    /// An inotify queue.
    Inotify,
    /// The completions of an `io_uring`.
    IoUring,
    /// Any other open descriptor.
    Descriptor,
    /// Several descriptors at the same time (`poll`, `select`).
    Several,
    /// A child process.
    Child,
    /// A set of System V semaphores.
    Semaphores,
    /// A System V message queue.
    Messages,
    /// Only time.
    Sleep,
}

coded!(WaitKind:
    WaitKind::Mutex => "mutex", WaitKind::PiMutex => "pi_mutex", WaitKind::RwLock => "rwlock",
    WaitKind::Thread => "thread", WaitKind::Parker => "parker", WaitKind::Signal => "signal",
    WaitKind::KernelMutex => "kernel_mutex", WaitKind::KernelSemaphore => "kernel_semaphore",
    WaitKind::KernelRwLock => "kernel_rwlock", WaitKind::Pipe => "pipe", WaitKind::Socket => "socket",
    WaitKind::File => "file", WaitKind::Device => "device", WaitKind::EventFd => "eventfd",
    WaitKind::TimerFd => "timerfd", WaitKind::SignalFd => "signalfd", WaitKind::Epoll => "epoll",
    WaitKind::Inotify => "inotify", WaitKind::IoUring => "io_uring", WaitKind::Descriptor => "descriptor",
    WaitKind::Several => "several", WaitKind::Child => "child", WaitKind::Semaphores => "semaphores",
    WaitKind::Messages => "messages", WaitKind::Sleep => "sleep",
);

impl WaitKind {
    /// Whether it is a lock, which a thread holds while others wait for it.
    #[must_use]
    pub fn is_lock(self) -> bool {
        matches!(self, Self::Mutex | Self::PiMutex | Self::RwLock) || self.is_kernel_lock()
    }

    /// Whether the kernel uses the lock itself.
    #[must_use]
    pub fn is_kernel_lock(self) -> bool {
        matches!(self, Self::KernelMutex | Self::KernelRwLock)
    }

    /// Whether its number says which object of the machine it is: an address, an inode or a System V number. That of a child is a PID, as
    /// threads have; of several descriptors it is how many there are.
    #[must_use]
    pub fn is_private(self) -> bool {
        !matches!(self, Self::Child | Self::Several)
    }

    /// Whether its number means something outside the recording.
    #[must_use]
    pub fn has_number(self) -> bool {
        use WaitKind::{Child, Device, File, Messages, Pipe, Semaphores, Several, Socket};
        matches!(self, Pipe | Socket | File | Device | Several | Child | Semaphores | Messages)
    }
}

// The operations and bits of linux/futex.h.
const WAIT: u16 = 0;
const WAKE: u16 = 1;
const LOCK_PI: u16 = 6;
const UNLOCK_PI: u16 = 7;
const WAIT_BITSET: u16 = 9;
const WAKE_BITSET: u16 = 10;
const WAIT_REQUEUE_PI: u16 = 11;
const LOCK_PI2: u16 = 13;
const PRIVATE: u16 = 128;
const CLOCK_REALTIME: u16 = 256;
/// Other threads wait for a word that contains the owner's TID.
const WAITERS: u32 = 1 << 31;
/// The bits that are the TID.
const OWNER: u32 = (1 << 30) - 1;
/// The largest TID that the kernel gives (`PID_MAX_LIMIT`).
const MAX_TID: u32 = 1 << 22;
/// `EBUSY`, with which musl locks a mutex of the normal type, and above which numbers in a word are TIDs.
const MAX_COUNT: u32 = 16;
/// The value of such a mutex for which threads wait.
const MUSL_CONTENDED: u32 = WAITERS | MAX_COUNT;
/// A mutex of glibc and of Rust's standard library that is locked, and for which threads wait.
const CONTENDED: u32 = 2;
/// The flag with which glibc waits for the words of a rwlock (`PTHREAD_RWLOCK_FUTEX_USED`), with 0 or 1 added.
const RWLOCK_WAITED: u32 = 2;
/// Rust's `RwLock`: locked for writing, and readers wait.
const RUST_WRITTEN: u32 = OWNER | 1 << 30;
/// Rust's thread parker: the thread is parked.
const RUST_PARKED: u32 = u32::MAX;

fn thread(number: u32) -> Option<Tid> {
    (1..=MAX_TID).contains(&number).then_some(Tid(number.cast_signed()))
}

impl FutexWait {
    /// Returns the wait of a call whose memory was not read.
    #[must_use]
    pub fn of_call(tid: Tid, address: u64, operation: u16, expected: u32) -> Self {
        Self { tid, address, operation, expected, read: false, own: false, words: [0; 3] }
    }

    /// The operation without its flags.
    fn command(&self) -> u16 {
        self.operation & !(PRIVATE | CLOCK_REALTIME)
    }

    /// Whether the operation waits for the word, or may.
    #[must_use]
    pub fn may_wait(&self) -> bool {
        matches!(self.command(), WAIT | LOCK_PI | WAIT_BITSET | LOCK_PI2 | WAIT_REQUEUE_PI)
    }

    /// Whether the operation wakes threads that wait for the word, as when a lock is released.
    #[must_use]
    pub fn wakes(&self) -> bool {
        matches!(self.command(), WAKE | UNLOCK_PI | WAKE_BITSET)
    }

    /// Whether only threads of this process use the word.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.operation & PRIVATE != 0
    }

    /// The owner in the expected value: of a robust mutex, and of musl's mutexes that store it. Small numbers are something else, as in
    /// musl's mutex (`EBUSY`), its lock of readers, and its own locks, which count.
    fn owner_in_value(&self) -> Option<Tid> {
        let owner = self.expected & OWNER;
        if self.expected & WAITERS != 0 && owner > MAX_COUNT { thread(owner) } else { None }
    }

    /// Whether the call does not show what the word is because the memory was not read. An earlier wait for the same word may show it.
    #[must_use]
    pub fn is_unclear(&self) -> bool {
        !self.read && matches!(self.expected, CONTENDED | 3) && matches!(self.command(), WAIT | WAIT_BITSET)
    }

    /// The thread for whose end the call waits, if it does: its TID in the PID namespace of the process.
    ///
    /// `pthread_join` waits for the word in which the kernel clears the thread's TID when it ends, so the value is that TID, and the call is
    /// not private. glibc 2.31 waits with `FUTEX_WAIT`, 2.36 with `FUTEX_WAIT_BITSET` and the flag of the clock, of which [`Self::kind`]
    /// recognises only the latter: others wait for numbers with `FUTEX_WAIT`, too, so the thread has to exist.
    #[must_use]
    pub fn joins(&self) -> Option<Tid> {
        let waits = matches!(self.command(), WAIT | WAIT_BITSET) && !self.is_private() && self.expected > 3;
        if waits { thread(self.expected) } else { None }
    }

    /// Whether the value is that of a mutex of glibc for which threads wait.
    #[must_use]
    pub fn is_contended(&self) -> bool {
        self.expected == CONTENDED
    }

    /// What the word is, as far as the call and the memory show it.
    ///
    /// A `pthread_join` is recognised as [`Self::joins`] says. A rwlock of glibc waits like its condition variable, with the clock's flag, which Rust's locks do not have.
    #[must_use]
    pub fn kind(&self) -> WaitKind {
        let with_clock = self.operation & CLOCK_REALTIME != 0;
        let [_, at_8, writer] = self.words;
        match (self.command(), self.expected) {
            (LOCK_PI | LOCK_PI2, _) => WaitKind::PiMutex,
            (WAIT | WAIT_BITSET, MUSL_CONTENDED) => WaitKind::Mutex,
            (WAIT | WAIT_BITSET, _) if self.owner_in_value().is_some() => WaitKind::Mutex,
            (WAIT_BITSET, _) if with_clock && self.joins().is_some() => WaitKind::Thread,
            // A barrier or an atomic variable may have this value, too, but no owner next to it.
            (WAIT, CONTENDED) if self.read && thread(at_8).is_some() => WaitKind::Mutex,
            (WAIT_BITSET, CONTENDED) if !with_clock => WaitKind::Mutex,
            (WAIT_BITSET, expected)
                if with_clock && expected & !1 == RWLOCK_WAITED && self.read && writer <= MAX_TID =>
            {
                WaitKind::RwLock
            }
            (WAIT_BITSET, RUST_WRITTEN) => WaitKind::RwLock,
            (WAIT_BITSET, RUST_PARKED) => WaitKind::Parker,
            _ if self.own => WaitKind::Parker,
            _ => WaitKind::Signal,
        }
    }

    /// The thread that the memory or the call names, by its TID in the PID namespace of the process: of a lock its holder, of the end of a
    /// thread that thread. It may be out of date: the library sets a holder after it takes the lock.
    #[must_use]
    pub fn owner(&self) -> Option<Tid> {
        let [word, at_8, writer] = self.words;
        match self.kind() {
            WaitKind::PiMutex => thread(word & OWNER),
            WaitKind::Mutex if self.expected & WAITERS != 0 => self.owner_in_value(),
            WaitKind::Mutex if self.command() == WAIT => thread(at_8),
            WaitKind::RwLock => thread(writer),
            WaitKind::Thread => thread(self.expected),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(operation: u16, expected: u32, words: [u32; 3]) -> (WaitKind, Option<i32>) {
        let wait = FutexWait { tid: Tid(9), address: 0x1000, operation, expected, read: true, own: false, words };
        (wait.kind(), wait.owner().map(|tid| tid.0))
    }

    /// Calls as `strace` shows them: glibc 2.36 (nptl), musl 1.2, and Rust's standard library.
    #[test]
    fn the_call_shows_what_the_word_is() {
        assert_eq!(wait(128, 2, [2, 700, 0]), (WaitKind::Mutex, Some(700)), "glibc");
        assert_eq!(wait(128, 2, [2, 0, 0]), (WaitKind::Signal, None), "a barrier of two, an atomic variable");
        assert_eq!(wait(128, WAITERS | 16, [WAITERS | 16, 0, 0]), (WaitKind::Mutex, None), "musl stores no owner");
        assert_eq!(wait(128, WAITERS | 2, [WAITERS | 2, 0, 0]), (WaitKind::Signal, None), "musl, two readers");
        assert_eq!(wait(0, WAITERS | 700, [WAITERS | 700, 0, 0]), (WaitKind::Mutex, Some(700)), "robust");
        assert_eq!(wait(128 | 6, 0, [WAITERS | 700, 0, 0]), (WaitKind::PiMutex, Some(700)));
        assert_eq!(wait(137, 2, [2, 700, 0]), (WaitKind::Mutex, None), "Rust stores no owner");
        assert_eq!(wait(137, 0x7fff_ffff, [0x7fff_ffff, 0, 0]), (WaitKind::RwLock, None), "Rust, a reader");
        assert_eq!(wait(137, u32::MAX, [u32::MAX, 0, 0]), (WaitKind::Parker, None), "Rust, thread::park");
        assert_eq!(wait(393, 3, [3, 0, 700]), (WaitKind::RwLock, Some(700)), "glibc");
        assert_eq!(wait(393, 2, [2, 0, 0]), (WaitKind::RwLock, None), "glibc, readers hold it");
        assert_eq!(wait(265, 701, [701, 0, 0]), (WaitKind::Thread, Some(701)), "pthread_join");
        assert_eq!(wait(0, 701, [701, 0, 0]), (WaitKind::Signal, None), "an older pthread_join, or any number");
        assert_eq!(wait(393, 0, [0; 3]), (WaitKind::Signal, None), "a condition variable, a semaphore");
        assert_eq!(wait(128, 7, [7, 0, 0]), (WaitKind::Signal, None), "a barrier");
    }

    #[test]
    fn a_word_of_the_threads_own_is_a_lock_only_by_its_value() {
        let wait = |expected| FutexWait {
            tid: Tid(9),
            address: 0x1000,
            operation: 128,
            expected,
            read: true,
            own: true,
            words: [expected, 700, 0],
        };
        assert_eq!((wait(1).kind(), wait(1).owner()), (WaitKind::Parker, None), "parking_lot");
        assert_eq!(wait(2).kind(), WaitKind::Mutex, "a mutex of glibc in the stack of the thread that made it");
    }
}
