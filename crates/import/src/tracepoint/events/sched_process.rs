//! Threads that are created, renamed, executed and ended.
//!
//! `task_newtask` and `task_rename` are read from Perfetto only: Android records them instead of `sched_process_fork`,
//! which contains the same facts about a new thread.

use crate::tracepoint::table::{Meaning, Reader, Tracepoint, field};
use model::{EventKind, Pid};

/// `CLONE_THREAD`: the new thread belongs to its creator's process.
const CLONE_THREAD: i64 = 0x1_0000;
const ALL_BUT_PERFETTO: &[Reader] =
    &[Reader::PerfData, Reader::TraceDat, Reader::SchedViz, Reader::FtraceText, Reader::PerfScript, Reader::Ctf];
/// The index of an exec's field with the thread's previous number.
pub(crate) const OLD_PID: usize = 1;

/// A thread in its creator's process gets [`Pid::UNKNOWN`] here.
pub(crate) const NEWTASK: Tracepoint = Tracepoint {
    name: "task_newtask",
    numbers: &[field("pid").perfetto(1), field("clone_flags").perfetto(3)],
    texts: &[field("comm").perfetto(2)],
    perfetto: 235,
    not_read_from: ALL_BUT_PERFETTO,
    meaning: Meaning::Of(|v, mut out| {
        let thread = v.number(1) & CLONE_THREAD != 0;
        let pid = if thread { Pid::UNKNOWN } else { Pid(v.tid(0).0) };
        let name = out.name(v.text(0));
        out.add(EventKind::Fork { parent: v.current, tid: v.tid(0), pid, name })
    }),
    ..Tracepoint::NEW
};

pub(super) const TRACEPOINTS: &[Tracepoint] = &[
    Tracepoint {
        name: "sched_process_fork",
        numbers: &[
            field("parent_pid").lttng("parent_tid").perfetto(2),
            field("child_pid").lttng("child_tid").perfetto(4),
            // LTTng's child_pid is the process; the kernel's is the thread.
            field("child_process").lttng("child_pid").not_in_records(),
        ],
        texts: &[field("child_comm").perfetto(3).optional()],
        // The second is the form of `trace-cmd report -R`, the third that of Linux 2.6.
        printed: &[
            "{} pid={parent_pid} child_comm={child_comm*} child_pid={child_pid}",
            "{}parent_pid={parent_pid} child_comm={child_comm*} child_pid={child_pid}",
            "parent {}:{parent_pid}  child {child_comm*}:{child_pid}",
        ],
        perfetto: 239,
        meaning: Meaning::Of(|v, mut out| {
            let pid = v.recorded(2).map_or(Pid::UNKNOWN, |pid| Pid(pid as i32));
            let name = out.name(v.text(0));
            out.add(EventKind::Fork { parent: v.tid(0), tid: v.tid(1), pid, name })
        }),
        ..Tracepoint::NEW
    },
    Tracepoint {
        name: "sched_process_exec",
        numbers: &[field("pid").lttng("tid").perfetto(2), field("old_pid").perfetto(3).not_in_records()],
        texts: &[field("filename").perfetto(1).optional()],
        printed: &["{}filename={filename*} pid={pid}"],
        perfetto: 237,
        meaning: Meaning::Of(|v, mut out| {
            let (tid, file) = (v.tid(0), out.name(v.text(0)));
            // An exec leaves the process with its first thread only, whose number is the process's.
            out.add(EventKind::Exec { tid, pid: Pid(tid.0), file })
        }),
        ..Tracepoint::NEW
    },
    Tracepoint {
        name: "sched_process_exit",
        numbers: &[field("pid").lttng("tid").perfetto(2), field("tgid").perfetto(3).not_in_records()],
        // The second is the form of Linux 2.6.
        printed: &["{*} pid={pid}", "task {*}:{pid} ["],
        perfetto: 238,
        meaning: Meaning::Of(|v, out| {
            let pid = v.recorded(1).filter(|pid| *pid > 0).map_or(Pid::UNKNOWN, |pid| Pid(pid as i32));
            out.add(EventKind::Exit { tid: v.tid(0), pid })
        }),
        ..Tracepoint::NEW
    },
    NEWTASK,
    Tracepoint {
        name: "task_rename",
        numbers: &[field("pid").perfetto(1)],
        texts: &[field("newcomm").perfetto(3)],
        perfetto: 236,
        not_read_from: ALL_BUT_PERFETTO,
        meaning: Meaning::Of(|v, mut out| {
            let name = out.name(v.text(0));
            out.add(EventKind::Name { tid: v.tid(0), pid: Pid::UNKNOWN, name })
        }),
        ..Tracepoint::NEW
    },
];
