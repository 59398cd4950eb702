//! Background jobs at nice 19 that take half of the machine.
//!
//! The jobs are in a separate control group, like those of another service or container: the kernel shares the CPUs equally
//! between groups, and nice values count only inside a group. Fixed: the jobs are in the group of the render threads. Both groups
//! are within another one, which is not shared with the session or other groups. Each CPU has a pinned thread and a pinned job, so
//! that load balancing does not matter. A frame is longer than several of the scheduler's slices on any machine: work that is done
//! before the job's first slice would lose nothing.

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
        skip("control groups have no CPU weight here");
    }
    let [own, other] = ["frames", "jobs"].map(|name| both.within(name));
    let entered = own.take(std::process::id());
    let jobs: Vec<_> = (0..cpus).map(job).collect();
    let placed = jobs.iter().try_for_each(|job| if run.fixed { &own } else { &other }.take(job.cast_unsigned()));
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
        // SAFETY: the job is our child and has not been waited for, so its PID is not reused.
        unsafe {
            libc::kill(job, libc::SIGKILL);
            libc::waitpid(job, std::ptr::null_mut(), 0);
        }
    }
    [own, other, both].iter().for_each(Group::remove);
}

/// A process at nice 19 that computes on a CPU until it is killed.
fn job(cpu: usize) -> libc::pid_t {
    // SAFETY: this process has no other thread yet, so the child may call any function.
    let child = unsafe { libc::fork() };
    if child < 0 {
        leave(1, &format!("cannot fork: {}", io::Error::last_os_error()));
    }
    if child == 0 {
        // SAFETY: the name is a C string, and the signal is a valid one.
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
