//! What threads wait for in system calls other than futex, and locks of the kernel.

use crate::support::{Over, Trace, alone, gettid, read, recorded_while, until, until_it_waits_in};
use capture::RecordOptions;
use model::{EventKind, ObjectWait, Tid, WaitKind};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::FromRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;

pub fn recorded(happens: &mut (dyn FnMut() + Send)) -> Trace {
    let _one = alone();
    let dir = tempfile::tempdir().unwrap();
    let over = dir.path().join("over");
    let options = RecordOptions { target: until(&over), ..RecordOptions::new(dir.path().join("run.cw")) };
    recorded_while(&options, &mut || {
        let _over = Over(over.clone());
        happens();
    });
    read(&options.dir)
}

/// Lets another thread wait in a read of `from`, until `written` is written to. Returns its TID.
fn wait_for_data(mut from: impl Read + Send + 'static, written: &mut impl Write, call: libc::c_long) -> i32 {
    let (send, tid) = channel();
    let reader = std::thread::spawn(move || {
        send.send(gettid()).unwrap();
        let _ = from.read(&mut [0; 16]).unwrap();
    });
    let tid = tid.recv().unwrap();
    until_it_waits_in(tid, call);
    written.write_all(b"now").unwrap();
    reader.join().unwrap();
    tid
}

fn waits(trace: &Trace, of: i32) -> Vec<ObjectWait> {
    let wait = |what: &EventKind| if let EventKind::ObjectWait(wait) = what { Some(*wait) } else { None };
    trace.events.iter().filter_map(|e| wait(&e.what)).filter(|wait| wait.tid == Tid(of)).collect()
}

/// The only kind for which a thread waited, with its numbers and names.
pub fn of_kind(trace: &Trace, tid: i32, kind: WaitKind) -> (u64, String) {
    let all = waits(trace, tid);
    let wait = all.iter().find(|wait| wait.kind == kind).unwrap_or_else(|| panic!("{tid} waits for {kind:?}: {all:?}"));
    let name = (wait.name.0 as usize).checked_sub(1).map_or(String::new(), |at| trace.names[at].to_string());
    (wait.id, name)
}

fn eventfd() -> File {
    // SAFETY: the descriptor is new, and this file is its only owner.
    unsafe { File::from_raw_fd(libc::eventfd(0, 0)) }
}

/// The inode of what an open file is.
pub fn inode(of: &impl std::os::fd::AsRawFd) -> u64 {
    let link = std::fs::read_link(format!("/proc/self/fd/{}", of.as_raw_fd())).unwrap();
    let text = link.to_string_lossy().into_owned();
    text.trim_end_matches(']').rsplit('[').next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "needs BPF rights"]
fn a_wait_names_the_pipe_the_socket_or_the_file() {
    let (mut of_pipe, mut of_pair, mut of_connection) = ((0, 0), [(0, 0); 2], [0; 2]);
    let (mut of_event, mut ends, mut of_lock, mut locked) = ([0; 2], String::new(), 0, PathBuf::new());
    let dir = tempfile::tempdir().unwrap();
    let trace = recorded(&mut || {
        let (from, mut to) = std::io::pipe().unwrap();
        let number = inode(&from);
        of_pipe = (wait_for_data(from, &mut to, libc::SYS_read), number);

        let (mut one, mut other) = UnixStream::pair().unwrap();
        let number = inode(&one).min(inode(&other));
        of_pair[0] = (wait_for_data(one.try_clone().unwrap(), &mut other, libc::SYS_recvfrom), number);
        of_pair[1] = (wait_for_data(other.try_clone().unwrap(), &mut one, libc::SYS_recvfrom), number);

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        ends = format!("{} {}", server.local_addr().unwrap(), client.local_addr().unwrap());
        of_connection[0] = wait_for_data(server.try_clone().unwrap(), &mut client, libc::SYS_recvfrom);
        of_connection[1] = wait_for_data(client.try_clone().unwrap(), &mut server, libc::SYS_recvfrom);

        // The kernel may use the memory of one that is closed for the next.
        let events = [eventfd(), eventfd()];
        for (tid, event) in of_event.iter_mut().zip(&events) {
            *tid = wait_for_number(event.try_clone().unwrap(), event);
        }

        locked = dir.path().join("lock");
        let (holder, waiter) = (File::create(&locked).unwrap(), File::open(&locked).unwrap());
        holder.lock().unwrap();
        let (send, tid) = channel();
        let thread = std::thread::spawn(move || {
            send.send(gettid()).unwrap();
            waiter.lock().unwrap();
        });
        of_lock = tid.recv().unwrap();
        until_it_waits_in(of_lock, libc::SYS_flock);
        holder.unlock().unwrap();
        thread.join().unwrap();
    });
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return assert!(waits(&trace, of_pipe.0).is_empty());
    }
    assert_eq!(of_kind(&trace, of_pipe.0, WaitKind::Pipe), (of_pipe.1, String::new()));
    for (tid, number) in of_pair {
        assert_eq!(of_kind(&trace, tid, WaitKind::Socket), (number, String::new()), "both ends are one object");
    }
    let [one, other] = of_connection.map(|tid| of_kind(&trace, tid, WaitKind::Socket));
    assert_eq!((&one.1, &one), (&ends, &other), "both ends are one object, named by the first that was seen");
    let [one, other] = of_event.map(|tid| of_kind(&trace, tid, WaitKind::EventFd).0);
    assert_ne!(one, other, "they share an inode");
    let path = of_kind(&trace, of_lock, WaitKind::File).1;
    // The path within the file system, if the descriptor was closed before it was looked up.
    assert!(!path.is_empty() && locked.ends_with(path.trim_start_matches('/')), "{path}");
}

/// A thread that has waited since before the recording: its switch is not in it.
#[test]
#[ignore = "needs BPF rights"]
fn a_wait_that_began_before_the_recording_names_the_pipe() {
    let (from, mut to) = std::io::pipe().unwrap();
    let number = inode(&from);
    let (send, tid) = channel();
    let reader = std::thread::spawn(move || {
        send.send(gettid()).unwrap();
        let _ = (&from).read(&mut [0; 16]).unwrap();
    });
    let tid = tid.recv().unwrap();
    until_it_waits_in(tid, libc::SYS_read);
    let trace = recorded(&mut || ());
    to.write_all(b"now").unwrap();
    reader.join().unwrap();
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        assert_eq!(of_kind(&trace, tid, WaitKind::Pipe), (number, String::new()));
    }
}

/// As [`wait_for_data`], for the eight bytes of an eventfd.
fn wait_for_number(mut from: File, mut written: &File) -> i32 {
    let (send, tid) = channel();
    let reader = std::thread::spawn(move || {
        send.send(gettid()).unwrap();
        from.read_exact(&mut [0; 8]).unwrap();
    });
    let tid = tid.recv().unwrap();
    until_it_waits_in(tid, libc::SYS_read);
    written.write_all(&1u64.to_ne_bytes()).unwrap();
    reader.join().unwrap();
    tid
}

/// A tracefs instance, removed when dropped.
struct Instance(PathBuf);

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Two threads read the same open file, whose reads the kernel serialises by the lock of its position. The first waits for data, with that
/// lock.
#[test]
#[ignore = "needs BPF rights, kernel locks, trace_marker"]
fn a_wait_names_the_holder_of_a_lock_of_the_kernel() {
    let (mut holder, mut waiter) = (0, 0);
    let instance = Instance(format!("/sys/kernel/tracing/instances/kernel-lock-{}", std::process::id()).into());
    std::fs::create_dir(&instance.0).unwrap();
    let trace = recorded(&mut || {
        let pipe = Arc::new(File::open(instance.0.join("trace_pipe")).unwrap());
        let reader = || {
            let (send, tid) = channel();
            let from = Arc::clone(&pipe);
            let thread = std::thread::spawn(move || {
                send.send(gettid()).unwrap();
                let _ = (&*from).read(&mut [0; 4096]).unwrap();
            });
            let tid = tid.recv().unwrap();
            until_it_waits_in(tid, libc::SYS_read);
            (tid, thread)
        };
        let ((first, one), (second, other)) = (reader(), reader());
        (holder, waiter) = (first, second);
        for thread in [one, other] {
            // Until it has read: the other one may have taken what was written.
            while !thread.is_finished() {
                std::fs::write(instance.0.join("trace_marker"), "now").unwrap();
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            thread.join().unwrap();
        }
    });
    let for_lock = waits(&trace, waiter).into_iter().find(|wait| wait.kind == WaitKind::KernelMutex);
    let for_lock = for_lock.unwrap_or_else(|| panic!("it waits for the lock: {:?}", waits(&trace, waiter)));
    assert_eq!(for_lock.holder, Tid(holder));
    assert!(for_lock.id < 1 << 32, "a number, not an address");
}
