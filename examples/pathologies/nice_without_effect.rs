//! A job in the background at nice 19 that takes half of the machine all the same.
//!
//! The job was started in a session of its own, as by another terminal or a service: with autogroups on, the kernel
//! shares the CPUs between sessions alike, and nice counts only inside one. Mended, the session itself is made nice.

use pathologies::{Marks, Run, leave, nice, skip, thread, work};
use std::io;

fn main() {
    let run = Run::from_arguments();
    if !std::fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled").is_ok_and(|on| on.trim() == "1") {
        skip("this kernel makes no autogroups (sysctl kernel.sched_autogroup_enabled)");
    }
    let frames = run.size(150);
    let job = background(run.mended);
    let marks = Marks::open();
    run.measure(frames, || {
        for _ in 0..frames {
            marks.around("frame", || {
                std::thread::scope(|s| ["render", "encode"].map(|name| thread(s, name, || work(14_000))));
            });
        }
    });
    // SAFETY: the job is our child, and not waited for before: its number is still its own.
    unsafe {
        libc::kill(job, libc::SIGKILL);
        libc::waitpid(job, std::ptr::null_mut(), 0);
    }
}

/// Two processes that compute until they are killed, in a session of their own; gives the first.
fn background(mended: bool) -> libc::pid_t {
    let fork = || {
        // SAFETY: this process has no other thread yet, so the child may go on as it likes.
        let child = unsafe { libc::fork() };
        if child < 0 {
            leave(1, &format!("cannot fork: {}", io::Error::last_os_error()));
        }
        child
    };
    let child = fork();
    if child == 0 {
        // SAFETY: setsid takes nothing; the name is a C string, and the signal's number one of the kernel's.
        unsafe {
            libc::setsid();
            libc::prctl(libc::PR_SET_NAME, c"indexer".as_ptr());
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        }
        nice(19);
        if mended && std::fs::write("/proc/self/autogroup", "19").is_err() {
            leave(1, "cannot make the session nice: no /proc/self/autogroup");
        }
        if fork() == 0 {
            // SAFETY: as above. The child of the child ends with it.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        }
        loop {
            work(1000);
        }
    }
    child
}
