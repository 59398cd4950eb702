//! Jobs in the background at nice 19 that take half of the machine all the same.
//!
//! The jobs are in a control group of their own, as those of another service or container are: the kernel shares the CPUs
//! between groups alike, and nice counts only inside one. Mended, they are in the group of those whom they disturb. Both
//! groups are within another, of which neither the session nor other groups take a part, and each CPU has a thread and a job
//! that may run nowhere else: where load is moved to is no matter of the fault. A frame takes some of the scheduler's slices on
//! any machine: what is done before the job's turn comes loses nothing.

use pathologies::{Group, Marks, Run, leave, nice, pin, skip, thread, work};
use std::io;

fn main() {
    let run = Run::from_arguments();
    let frames = run.size(30);
    let cpus = std::thread::available_parallelism().map_or(2, usize::from);
    (0..cpus).for_each(pin);
    let both = Group::new();
    if !(both.has("cpu.weight") || both.has("cpu.shares")) {
        both.remove();
        skip("control groups share no CPU time here");
    }
    let [own, other] = ["frames", "jobs"].map(|name| both.within(name));
    let entered = own.take(std::process::id());
    let jobs: Vec<_> = (0..cpus).map(job).collect();
    let placed = jobs.iter().try_for_each(|job| if run.mended { &own } else { &other }.take(job.cast_unsigned()));
    if let Err(why) = entered.and(placed) {
        leave(1, &format!("cannot move a process to another control group: {why}"));
    }
    let marks = Marks::open();
    run.measure(frames, || {
        for _ in 0..frames {
            marks.around("frame", || {
                std::thread::scope(|s| {
                    for cpu in 0..cpus {
                        thread(s, "render", move || {
                            pin(cpu);
                            work(70_000);
                        });
                    }
                });
            });
        }
    });
    for job in jobs {
        // SAFETY: the job is our child, and not waited for before: its number is still its own.
        unsafe {
            libc::kill(job, libc::SIGKILL);
            libc::waitpid(job, std::ptr::null_mut(), 0);
        }
    }
    [own, other, both].iter().for_each(Group::remove);
}

/// A process at nice 19 that computes on a CPU until it is killed.
fn job(cpu: usize) -> libc::pid_t {
    // SAFETY: this process has no other thread yet, so the child may go on as it likes.
    let child = unsafe { libc::fork() };
    if child < 0 {
        leave(1, &format!("cannot fork: {}", io::Error::last_os_error()));
    }
    if child == 0 {
        // SAFETY: the name is a C string, and the signal's number one of the kernel's.
        unsafe {
            libc::prctl(libc::PR_SET_NAME, c"indexer".as_ptr());
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        }
        pin(cpu);
        nice(19);
        loop {
            work(1000);
        }
    }
    child
}
