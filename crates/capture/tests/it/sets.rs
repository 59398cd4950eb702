//! What threads wait for in calls that wait for several descriptors or words.

use crate::objects::{inode, of_kind, recorded};
use crate::support::{Trace, gettid, until_it_waits_in};
use model::{EventKind, Tid, WaitKind};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr::{null, null_mut};
use std::sync::atomic::AtomicU32;
use std::sync::mpsc::channel;

/// Lets another thread wait in a call until `ends` is called. Returns its TID.
fn wait_in(call: libc::c_long, waits: impl FnOnce() + Send, ends: impl FnOnce()) -> i32 {
    let (send, tid) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            send.send(gettid()).unwrap();
            waits();
        });
        let tid = tid.recv().unwrap();
        until_it_waits_in(tid, call);
        ends();
        tid
    })
}

fn epoll(of: &[RawFd]) -> File {
    // SAFETY: the descriptor is new, and this file is its only owner.
    let set = unsafe { File::from_raw_fd(libc::epoll_create1(0)) };
    for descriptor in of {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        // SAFETY: the descriptors are open, and the event lives during the call.
        let added = unsafe { libc::epoll_ctl(set.as_raw_fd(), libc::EPOLL_CTL_ADD, *descriptor, &raw mut event) };
        assert_eq!(added, 0);
    }
    set
}

/// What became ready for a thread, in order.
fn ready(trace: &Trace, of: i32) -> Vec<(WaitKind, u64)> {
    let each = trace.events.iter().filter_map(|event| match event.what {
        EventKind::ObjectReady { tid, kind, id, .. } if tid == Tid(of) => Some((kind, id, event.at)),
        _ => None,
    });
    each.map(|(kind, id, at)| {
        let wakes = |what: &EventKind| matches!(what, EventKind::Wake(wake) if wake.tid == Tid(of));
        assert!(trace.events.iter().any(|event| event.at == at && wakes(&event.what)), "it ends a wait");
        (kind, id)
    })
    .collect()
}

#[test]
#[ignore = "needs BPF rights"]
fn an_epoll_set_names_the_descriptor_that_became_ready() {
    let (mut tids, mut pipe, mut socket) = ([0; 2], 0, 0);
    let trace = recorded(&mut || {
        let (from, mut to) = std::io::pipe().unwrap();
        let (one, mut other) = UnixStream::pair().unwrap();
        (pipe, socket) = (inode(&from), inode(&one).min(inode(&other)));
        let set = epoll(&[from.as_raw_fd(), one.as_raw_fd()]);
        let waits = || {
            let mut event = libc::epoll_event { events: 0, u64: 0 };
            // SAFETY: there is room for one event.
            let found = unsafe { libc::epoll_pwait(set.as_raw_fd(), &raw mut event, 1, -1, null()) };
            assert_eq!(found, 1);
        };
        tids[0] = wait_in(libc::SYS_epoll_pwait, waits, || other.write_all(b"now").unwrap());
        (&one).read_exact(&mut [0; 3]).unwrap();
        tids[1] = wait_in(libc::SYS_epoll_pwait, waits, || to.write_all(b"now").unwrap());
    });
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        assert_eq!(ready(&trace, tids[0]), [(WaitKind::Socket, socket)]);
        assert_eq!(ready(&trace, tids[1]), [(WaitKind::Pipe, pipe)]);
    }
}

#[test]
#[ignore = "needs BPF rights"]
fn a_wait_for_several_names_them() {
    let (mut polled, mut selected, mut spliced, mut words) = (0, 0, 0, 0);
    let (mut pipe, mut socket, mut target) = (0, 0, 0);
    let futexes = [AtomicU32::new(0), AtomicU32::new(0)];
    let addresses = [0, 1].map(|at| &raw const futexes[at] as u64);
    let trace = recorded(&mut || {
        let (from, mut to) = std::io::pipe().unwrap();
        let (_read, onward) = std::io::pipe().unwrap();
        let (one, other) = UnixStream::pair().unwrap();
        (pipe, socket, target) = (inode(&from), inode(&one).min(inode(&other)), inode(&onward));
        let write = |to: &mut std::io::PipeWriter| to.write_all(b"now").unwrap();

        let polls = || {
            let mut both = [&from as &dyn AsRawFd, &one].map(|of| libc::pollfd {
                fd: of.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            });
            // SAFETY: the descriptors live during the call.
            assert_eq!(unsafe { libc::ppoll(both.as_mut_ptr(), 2, null(), null()) }, 1);
        };
        polled = wait_in(libc::SYS_ppoll, polls, || write(&mut to));
        (&from).read_exact(&mut [0; 3]).unwrap();

        let selects = || {
            // SAFETY: zeros are an empty set, and the descriptors are below its limit.
            unsafe {
                let mut set: libc::fd_set = std::mem::zeroed();
                libc::FD_SET(from.as_raw_fd(), &raw mut set);
                libc::FD_SET(one.as_raw_fd(), &raw mut set);
                let most = from.as_raw_fd().max(one.as_raw_fd()) + 1;
                assert_eq!(libc::select(most, &raw mut set, null_mut(), null_mut(), null_mut()), 1);
            }
        };
        selected = wait_in(libc::SYS_pselect6, selects, || write(&mut to));
        (&from).read_exact(&mut [0; 3]).unwrap();

        let splices = || {
            let (from, onward) = (from.as_raw_fd(), onward.as_raw_fd());
            // SAFETY: both are pipes, which have no offsets.
            assert_eq!(unsafe { libc::splice(from, null_mut(), onward, null_mut(), 3, 0) }, 3);
        };
        spliced = wait_in(libc::SYS_splice, splices, || write(&mut to));

        let waits = || {
            // struct futex_waitv of linux/futex.h: value, address, flags (32 bits, private), reserved.
            let of: Vec<u64> = addresses.iter().flat_map(|address| [0, *address, 2 | 128]).collect();
            let (none, clock) = (null::<u8>(), libc::CLOCK_MONOTONIC);
            // SAFETY: the words live during the call.
            assert_eq!(unsafe { libc::syscall(libc::SYS_futex_waitv, of.as_ptr(), 2, 0, none, clock) }, 1);
        };
        words = wait_in(libc::SYS_futex_waitv, waits, || {
            // SAFETY: it wakes a thread that waits for the second word.
            let woken = unsafe { libc::syscall(libc::SYS_futex, addresses[1], libc::FUTEX_WAKE | 128, 1) };
            assert_eq!(woken, 1);
        });
    });
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return;
    }
    let several = |tid| {
        let (id, name) = of_kind(&trace, tid, WaitKind::Several);
        (id & 0xffff_ffff, name)
    };
    let both = format!("pipe {pipe}, socket {socket}");
    assert_eq!(several(polled), (2, both.clone()));
    assert_eq!(several(selected), (2, both));
    assert_eq!(several(spliced), (2, format!("pipe {pipe}, pipe {target}")));
    assert_eq!(several(words), (2, format!("futex {:#x}, futex {:#x}", addresses[0], addresses[1])));
}
