//! What threads wait for in system calls other than futex, and the locks of the kernel: decodes `bpf/objects.h`.

use crate::spool::Names;
use crate::wire::{Bytes, RARE_HEAD};
use model::{Coded, EventKind, NameId, ObjectWait, Tid, WaitKind};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use syscalls::x86_64::Sysno;

/// Which argument of a system call is what it waits for; as `enum waits_for` of bpf/objects.h, from 1.
const CALLS: [(u8, &[&str]); 11] = [
    (
        FILE,
        &[
            "accept",
            "accept4",
            "connect",
            "fallocate",
            "fcntl",
            "fdatasync",
            "flock",
            "fsync",
            "ftruncate",
            "getdents",
            "getdents64",
            "io_uring_enter",
            "ioctl",
            "mq_timedreceive",
            "mq_timedsend",
            "pread64",
            "preadv",
            "preadv2",
            "pwrite64",
            "pwritev",
            "pwritev2",
            "read",
            "readv",
            "recvfrom",
            "recvmmsg",
            "recvmsg",
            "sendmmsg",
            "sendmsg",
            "sendto",
            "sync_file_range",
            "syncfs",
            "vmsplice",
            "write",
            "writev",
        ],
    ),
    (FILES, &["poll", "ppoll"]),
    (SOME, &["select", "pselect6"]),
    (CHILD, &["wait4"]),
    (CHILD_OF_KIND, &["waitid"]),
    (SEMAPHORES, &["semop", "semtimedop"]),
    (MESSAGES, &["msgrcv", "msgsnd"]),
    (READY, &["epoll_pwait", "epoll_pwait2", "epoll_wait"]),
    (FIRST_AND_SECOND, &["sendfile", "tee"]),
    (FIRST_AND_THIRD, &["copy_file_range", "splice"]),
    (WORDS, &["futex_waitv"]),
];
const FILE: u8 = 1;
const FILES: u8 = 2;
const SOME: u8 = 3;
const CHILD: u8 = 4;
const CHILD_OF_KIND: u8 = 5;
const SEMAPHORES: u8 = 6;
const MESSAGES: u8 = 7;
const READY: u8 = 8;
const FIRST_AND_SECOND: u8 = 9;
const FIRST_AND_THIRD: u8 = 10;
const WORDS: u8 = 11;

/// Sets which calls the kernel side reads: a byte for each of this machine's calls, by its number.
pub fn set_calls(table: &mut [u8]) {
    for (what, names) in CALLS {
        for name in names {
            // Some architectures lack calls that others have: poll, select.
            if let Some(place) = syscalls::Sysno::from_str(name).ok().and_then(|call| table.get_mut(call.id() as usize))
            {
                *place = what;
            }
        }
    }
}

/// Sets the number on x86-64, plus one, of each of this machine's calls: 16 bits each. All zero on x86-64 itself, which needs none.
pub fn set_numbers(table: &mut [u8]) {
    if cfg!(target_arch = "x86_64") {
        return;
    }
    for (number, place) in table.chunks_exact_mut(2).enumerate() {
        let known = syscalls::Sysno::new(number).and_then(|call| Sysno::from_str(call.name()).ok());
        let recorded = known.map_or(0, |call| call.id() as u16 + 1);
        place.copy_from_slice(&recorded.to_ne_bytes());
    }
}

// As in bpf/wire.h and the UAPI.
const PATH_PARTS: usize = 8;
const PART_MAX: usize = 32;
const SET_MAX: usize = 8;
const FAMILY_UNIX: u16 = 1;
const FAMILY_INET: u16 = 2;
const FAMILY_INET6: u16 = 10;
const PROTOCOL_TCP: u16 = 6;
/// Bytes of a `struct rare_object` before its addresses, and all.
const BEFORE_ADDRESSES: usize = RARE_HEAD + 48;
const OBJECT: usize = BEFORE_ADDRESSES + 32 + PATH_PARTS * PART_MAX;

/// Returns a record without the zeros at its end, and (`is_private`) without paths and addresses.
pub fn written(record: &[u8], is_private: bool) -> &[u8] {
    let record = if is_private { record.get(..BEFORE_ADDRESSES).unwrap_or(record) } else { record };
    let used = record.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    &record[..used.max(RARE_HEAD)]
}

/// Returns the whole path of the file that a record is about, if its descriptor still leads to a file of that name. The kernel side knows the
/// path within the file system only.
pub fn whole_path(record: &[u8]) -> Option<PathBuf> {
    let mut whole = record.to_vec();
    whole.resize(OBJECT, 0);
    let mut b = Bytes::new(&whole);
    let tid = crate::wire::rare_head(&mut b).tid;
    b.take(4);
    let (what, mode) = (b.u16(), b.u16());
    b.take(36);
    let descriptor = b.u32();
    let name = Bytes::new(whole.get(BEFORE_ADDRESSES + 32..)?).text(PART_MAX);
    if what != u16::from(FILE) || mode & 0o170_000 == 0o140_000 || name.is_empty() || name.starts_with(['[', '/']) {
        return None;
    }
    let path = std::fs::read_link(format!("/proc/{tid}/fd/{descriptor}")).ok().filter(|path| path.is_absolute())?;
    let last = path.file_name()?.to_string_lossy().into_owned();
    (last == name || (name.len() + 1 == PART_MAX && last.starts_with(&name))).then_some(path)
}

/// Returns a record with the whole path.
pub fn with_path(record: &[u8], path: &Path) -> Vec<u8> {
    let mut record = record.to_vec();
    record.resize(OBJECT, 0);
    record.extend(path.as_os_str().as_bytes());
    record
}

/// What an object is, which one of its kind, and its name.
type Known = (WaitKind, u64, NameId);

/// What numbers of objects mean.
#[derive(Default)]
pub struct Objects {
    known: HashMap<u32, Known>,
    /// The words for each, of which those for a set consist.
    words: HashMap<u32, String>,
    /// The ends of connections, each with the first of the two sockets that was seen.
    connections: HashMap<[SocketAddr; 2], (u64, String)>,
    /// Addresses in the kernel, which are not shown, by the number that stands for each.
    addresses: HashMap<u64, u64>,
}

impl Objects {
    /// Takes what a number means: a record after its head.
    pub fn add(&mut self, rest: &[u8], names: &mut Names) {
        let mut padded = rest.to_vec();
        padded.resize(OBJECT - RARE_HEAD, 0);
        let mut b = Bytes::new(&padded);
        let (number, what, mode) = (b.u32(), b.u16(), b.u16());
        let (device, family, protocol) = (b.u32(), b.u16(), b.u16());
        let (id, peer, data) = (b.u64(), b.u64(), b.u64());
        let ports = [b.u16(), u16::from_be(b.u16())];
        b.u32();
        let addresses: [[u8; 16]; 2] = std::array::from_fn(|_| b.take(16).try_into().unwrap_or_default());
        let path = b.take(PATH_PARTS * PART_MAX);
        // The device in the upper half: numbers of inodes are those of a device.
        let on_device = u64::from(device) << 32 | id & u64::from(u32::MAX);
        let whole = String::from_utf8_lossy(rest.get(OBJECT - RARE_HEAD..).unwrap_or_default()).into_owned();
        let parts: Vec<String> = path.chunks(PART_MAX).map(|part| Bytes::new(part).text(PART_MAX)).collect();
        let named = |kind, id: u64| (kind, id, path_of(&parts, &whole));
        let unnamed = |kind, id: u64| (kind, id, String::new());
        let is_set = peer > 0 && what != u16::from(FILE);
        let (kind, id, name) = match (u8::try_from(what).unwrap_or_default(), mode & 0o170_000) {
            (FILE, 0o140_000) => match family {
                FAMILY_INET | FAMILY_INET6 => {
                    let ends = [0, 1].map(|at| end(family, addresses[at], ports[at]));
                    let (id, name) = self.connection(id, ends, protocol);
                    (WaitKind::Socket, id, name)
                }
                FAMILY_UNIX => {
                    let joined = if peer == 0 { id } else { id.min(peer) };
                    (WaitKind::Socket, joined, unix_path(path))
                }
                _ => unnamed(WaitKind::Socket, id),
            },
            (FILE, 0o010_000) if parts[0].is_empty() => unnamed(WaitKind::Pipe, id),
            (FILE, 0o010_000) => named(WaitKind::Pipe, on_device),
            (FILE, 0o020_000 | 0o060_000) => named(WaitKind::Device, on_device),
            (FILE, 0o040_000) => named(WaitKind::File, on_device),
            (FILE, _) => match anonymous(&parts) {
                Some(kind) => unnamed(kind, self.number_of(data)),
                None => named(WaitKind::File, on_device),
            },
            (FILES, _) if id == 0 => unnamed(WaitKind::Sleep, 0),
            (FILES | SOME | FIRST_AND_SECOND | FIRST_AND_THIRD, _) if is_set => {
                let members = path.chunks(4).take(SET_MAX).map(|member| Bytes::new(member).u32());
                let words = |member| self.words.get(&member).cloned().unwrap_or_else(|| "unknown".to_owned());
                (WaitKind::Several, set(number, id), listed(members.map(words), peer, id))
            }
            (WORDS, _) if is_set => {
                let members = path.chunks(8).take(SET_MAX).map(|member| Bytes::new(member).u64());
                let words = members.map(|address| format!("futex {address:#x}"));
                (WaitKind::Several, set(number, id), listed(words, peer, id))
            }
            (FILES | SOME | WORDS, _) => unnamed(WaitKind::Several, id),
            (CHILD | CHILD_OF_KIND, _) => unnamed(WaitKind::Child, id),
            (SEMAPHORES, _) => unnamed(WaitKind::Semaphores, id),
            (MESSAGES, _) => unnamed(WaitKind::Messages, id),
            _ => return,
        };
        if !is_set {
            let which = if name.is_empty() { id.to_string() } else { name.clone() };
            self.words.insert(number, format!("{} {which}", kind.word()));
        }
        self.known.insert(number, (kind, id, names.id(&name)));
    }

    /// Joins the sockets of a connection's two ends.
    fn connection(&mut self, id: u64, [own, other]: [SocketAddr; 2], protocol: u16) -> (u64, String) {
        if other.port() == 0 {
            return (id, own.to_string());
        }
        let name = format!("{own} {other}");
        if protocol != PROTOCOL_TCP {
            return (id, name);
        }
        self.connections.entry([own.min(other), own.max(other)]).or_insert((id, name)).clone()
    }

    fn number_of(&mut self, address: u64) -> u64 {
        let next = self.addresses.len() as u64 + 1;
        *self.addresses.entry(address).or_insert(next)
    }

    /// Completes what a thread waits for. Returns `false` if its number has no meaning, because that was lost.
    pub fn complete(&mut self, wait: &mut ObjectWait) -> bool {
        if wait.kind.is_lock() || wait.kind == WaitKind::KernelSemaphore {
            wait.id = self.number_of(wait.id);
            return true;
        }
        let Some(known) = self.known(wait.id) else { return false };
        (wait.kind, wait.id, wait.name) = known;
        true
    }

    /// Returns what a number means; `None` if that was lost.
    pub fn known(&self, number: u64) -> Option<Known> {
        u32::try_from(number).ok().and_then(|number| self.known.get(&number)).copied()
    }
}

/// Returns the number of a set: how many it has, and in the upper half its number as an object.
fn set(number: u32, count: u64) -> u64 {
    u64::from(number) << 32 | count & u64::from(u32::MAX)
}

/// Returns the name of a set: the first of its parts, of so many.
fn listed(parts: impl Iterator<Item = String>, known: u64, count: u64) -> String {
    let parts: Vec<String> = parts.take(usize::try_from(known).unwrap_or(SET_MAX)).collect();
    let more = count.saturating_sub(parts.len() as u64);
    let listed = parts.join(", ");
    if more == 0 { listed } else { format!("{listed} and {more} more") }
}

/// Returns that a thread waits for the object of a number, to be completed.
pub fn of_number(tid: Tid, number: u32) -> ObjectWait {
    ObjectWait { tid, kind: WaitKind::Several, id: number.into(), name: NameId::NONE, holder: Tid::UNKNOWN }
}

/// Returns that an object became ready, to be completed.
pub fn ready(tid: Tid, number: u32) -> EventKind {
    EventKind::ObjectReady { tid, kind: WaitKind::Descriptor, id: number.into(), name: NameId::NONE }
}

/// Returns that a thread waits for a lock of the kernel, to be completed. Kinds are numbered as by the kernel (linux/hung_task.h).
pub fn of_lock(tid: Tid, kind: u8, holder: i32, address: u64) -> ObjectWait {
    let kind = match kind {
        0 => WaitKind::KernelMutex,
        1 => WaitKind::KernelSemaphore,
        _ => WaitKind::KernelRwLock,
    };
    let holder = if holder > 0 { Tid(holder) } else { Tid::UNKNOWN };
    ObjectWait { tid, kind, id: address, name: NameId::NONE, holder }
}

/// Returns the kind of a file that has no place in a file system, by its name in the kernel.
fn anonymous(parts: &[String]) -> Option<WaitKind> {
    let [name, above, ..] = parts else { return None };
    if !above.is_empty() {
        return None;
    }
    Some(match name.as_str() {
        "[eventfd]" => WaitKind::EventFd,
        "[timerfd]" => WaitKind::TimerFd,
        "[signalfd]" => WaitKind::SignalFd,
        "[eventpoll]" => WaitKind::Epoll,
        "[io_uring]" => WaitKind::IoUring,
        "inotify" => WaitKind::Inotify,
        // A root that is no folder is the descriptor of a process (`pidfd_open`).
        name if name.starts_with('[') || name == "/" => WaitKind::Descriptor,
        _ => return None,
    })
}

/// Returns the path of a file: the whole path, if it is known, or that in its file system. A part that the kernel side cut ends with an
/// ellipsis.
fn path_of(parts: &[String], whole: &str) -> String {
    if !whole.is_empty() {
        return whole.to_owned();
    }
    let cut = |part: &String| if part.len() + 1 >= PART_MAX { format!("{part}…") } else { part.clone() };
    let named: Vec<String> = parts.iter().take_while(|part| !part.is_empty()).map(cut).collect();
    let mut path: Vec<&str> = named.iter().map(String::as_str).filter(|part| *part != "/").collect();
    path.reverse();
    let start = if named.len() == parts.len() { "…/" } else { "/" };
    if named.is_empty() { String::new() } else { format!("{start}{}", path.join("/")) }
}

/// Returns the path of a Unix socket from a `struct sockaddr_un`; with `@`, a name that is no path.
fn unix_path(address: &[u8]) -> String {
    let mut b = Bytes::new(address);
    b.u16();
    match b.rest().split_first() {
        Some((0, rest)) if rest.first().is_some_and(|byte| *byte != 0) => {
            format!("@{}", Bytes::new(rest).text(rest.len()))
        }
        _ => b.text(108),
    }
}

fn end(family: u16, address: [u8; 16], port: u16) -> SocketAddr {
    let [a, b, c, d, ..] = address;
    let address = match family {
        FAMILY_INET => IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        _ => IpAddr::V6(Ipv6Addr::from(address)).to_canonical(),
    };
    SocketAddr::new(address, port)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record after its head, as bpf/wire.h defines it.
    fn record(number: u32, mode: u16, family: u16, ids: [u64; 3], ports: [u16; 2], ends: [[u8; 4]; 2]) -> Vec<u8> {
        let mut record = number.to_ne_bytes().to_vec();
        for half in [u16::from(FILE), mode, 0x800, 1, family, 6] {
            record.extend(half.to_ne_bytes());
        }
        ids.iter().for_each(|id| record.extend(id.to_ne_bytes()));
        record.extend(ports[0].to_ne_bytes());
        record.extend(ports[1].to_be_bytes());
        record.extend([0; 4]);
        for end in ends {
            record.extend(end);
            record.extend([0; 12]);
        }
        record
    }

    fn path(mut record: Vec<u8>, parts: &[&str]) -> Vec<u8> {
        for part in parts {
            let mut bytes = part.as_bytes().to_vec();
            bytes.resize(PART_MAX, 0);
            record.extend(bytes);
        }
        record
    }

    fn decoded(records: &[Vec<u8>]) -> Vec<(WaitKind, u64, String)> {
        let (mut objects, mut names) = (Objects::default(), Names::default());
        records.iter().for_each(|record| objects.add(record, &mut names));
        (1..=records.len() as u32)
            .map(|number| {
                let mut wait = of_number(Tid(9), number);
                assert!(objects.complete(&mut wait));
                let name =
                    (wait.name.0 as usize).checked_sub(1).map_or(String::new(), |at| names.fresh[at].to_string());
                (wait.kind, wait.id, name)
            })
            .collect()
    }

    #[test]
    fn a_record_says_what_an_object_is() {
        let plain = |number, mode, ids| record(number, mode, 0, ids, [0; 2], [[0; 4]; 2]);
        let records = [
            plain(1, 0o010_600, [77, 0, 5]),
            path(plain(2, 0o100_644, [8, 0, 5]), &["journal.db", "lib", "var", "/"]),
            path(plain(3, 0o600, [1, 0, 0xffff_8880_0000_1000]), &["[eventfd]"]),
            path(plain(4, 0o600, [1, 0, 0xffff_8880_0000_2000]), &["[eventfd]"]),
        ];
        let kinds = decoded(&records);
        assert_eq!(kinds[0], (WaitKind::Pipe, 77, String::new()));
        assert_eq!(kinds[1], (WaitKind::File, (0x1_0800 << 32) | 8, "/var/lib/journal.db".to_owned()));
        assert_eq!(kinds[2], (WaitKind::EventFd, 1, String::new()));
        assert_eq!(kinds[3], (WaitKind::EventFd, 2, String::new()), "they share an inode");
    }

    #[test]
    fn the_two_ends_of_a_connection_are_one_object() {
        let ends = [[127, 0, 0, 1], [127, 0, 0, 2]];
        let records = [
            record(1, 0o140_777, 2, [50, 0, 0], [5432, 40000], ends),
            record(2, 0o140_777, 2, [51, 0, 0], [40000, 5432], [ends[1], ends[0]]),
            record(3, 0o140_777, 1, [61, 60, 0], [0; 2], [[0; 4]; 2]),
            record(4, 0o140_777, 1, [60, 61, 0], [0; 2], [[0; 4]; 2]),
            record(5, 0o140_777, 2, [52, 0, 0], [5432, 0], [ends[0], [0; 4]]),
        ];
        let kinds = decoded(&records);
        assert_eq!(kinds[0], (WaitKind::Socket, 50, "127.0.0.1:5432 127.0.0.2:40000".to_owned()));
        assert_eq!(kinds[1], kinds[0]);
        assert_eq!((kinds[2].1, kinds[3].1), (60, 60));
        assert_eq!(kinds[4], (WaitKind::Socket, 52, "127.0.0.1:5432".to_owned()), "it listens");
    }

    /// A set after its head: `what`, how many it has, and those that were read.
    fn set_of(number: u32, what: u8, count: u64, read: u64, members: &[u8]) -> Vec<u8> {
        let mut record = record(number, 0, 0, [count, read, 0], [0; 2], [[0; 4]; 2]);
        record[4..6].copy_from_slice(&u16::from(what).to_ne_bytes());
        [&record, members].concat()
    }

    #[test]
    fn a_set_names_its_members() {
        let pipe = record(1, 0o010_600, 0, [77, 0, 5], [0; 2], [[0; 4]; 2]);
        let numbers = [1u32, 9].map(u32::to_ne_bytes).concat();
        let addresses = [0x1000u64, 0x2000].map(u64::to_ne_bytes).concat();
        let records = [
            pipe,
            set_of(2, FILES, 2, 2, &numbers),
            set_of(3, SOME, 11, 1, &numbers),
            set_of(4, WORDS, 2, 2, &addresses),
            set_of(5, FILES, 2, 0, &[]),
        ];
        let kinds = decoded(&records).split_off(1);
        let number = |at: u64, count: u64| at << 32 | count;
        assert_eq!(kinds[0], (WaitKind::Several, number(2, 2), "pipe 77, unknown".to_owned()));
        assert_eq!(kinds[1], (WaitKind::Several, number(3, 11), "pipe 77 and 10 more".to_owned()));
        assert_eq!(kinds[2], (WaitKind::Several, number(4, 2), "futex 0x1000, futex 0x2000".to_owned()));
        assert_eq!(kinds[3], (WaitKind::Several, 2, String::new()), "they were not read");
    }

    #[test]
    fn records_may_be_cut_and_hostile() {
        let (mut objects, mut names) = (Objects::default(), Names::default());
        for length in 0..OBJECT {
            for fill in [0, 1, 0x80, 0xff] {
                objects.add(&vec![fill; length], &mut names);
            }
        }
        assert!(!objects.complete(&mut of_number(Tid(9), 12345)));
    }

    #[test]
    fn private_parts_are_left_out() {
        let whole = path(record(1, 0o100_644, 0, [8, 0, 5], [0; 2], [[0; 4]; 2]), &["journal.db", "/"]);
        let whole = [vec![2; RARE_HEAD], whole].concat();
        assert!(written(&whole, false).ends_with(b"/"));
        let left = written(&whole, true);
        assert!(!left.windows(7).any(|part| part == b"journal") && left.len() > RARE_HEAD);
    }

    #[test]
    fn calls_have_their_arguments() {
        let mut table = [0; 512];
        set_calls(&mut table);
        let of = |call: Sysno| table[call.id() as usize];
        assert_eq!([of(Sysno::read), of(Sysno::poll), of(Sysno::futex)], [FILE, FILES, 0]);
        let listed: usize = CALLS.iter().map(|(_, names)| names.len()).sum();
        assert_eq!(table.iter().filter(|what| **what != 0).count(), listed, "all names are calls");
    }
}
