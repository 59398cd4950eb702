//! Events as the text of `perf script -F comm,tid,cpu,time,event,trace --ns`, which the referee reads.

use model::{Batch, Event, EventKind, NameId, SwitchOut, Tid, WakeKind};
use std::fmt::Write;

/// Renders a line for each event that has a tracepoint. Times must not be negative.
#[must_use]
pub fn render(batch: &Batch) -> String {
    let mut text = String::new();
    for event in &batch.events {
        if let Some(line) = line(event, batch) {
            let (at, cpu) = (event.at.0, event.cpu.0);
            let current = match &event.what {
                _ if event.current != Tid::UNKNOWN => event.current,
                EventKind::Switch(switch) => switch.prev,
                _ => Tid::IDLE,
            };
            let (seconds, ns) = (at / 1_000_000_000, at % 1_000_000_000);
            let _ = writeln!(text, "perf {} [{cpu:03}] {seconds}.{ns:09}: {line}", current.0);
        }
    }
    text
}

fn line(event: &Event, batch: &Batch) -> Option<String> {
    let name = |id: NameId, tid: Tid| match batch.names.get((id.0 as usize).wrapping_sub(1)) {
        Some(name) => name.to_string(),
        None if tid == Tid::IDLE => "swapper/0".to_owned(),
        None => String::new(),
    };
    Some(match &event.what {
        EventKind::Switch(s) => {
            let state = match s.out {
                SwitchOut::Runnable
                | SwitchOut::PreemptedToUser
                | SwitchOut::Yielded
                | SwitchOut::Throttled
                | SwitchOut::GaveWay => "R",
                SwitchOut::Preempted => "R+",
                SwitchOut::Exited => "X",
                SwitchOut::Blocked | SwitchOut::NotRecorded => "S",
            };
            let (prev, next) = (name(s.prev_name, s.prev), name(s.next_name, s.next));
            format!(
                "sched:sched_switch: prev_comm={prev} prev_pid={} prev_prio=120 prev_state={state} ==> next_comm={next} next_pid={} next_prio=120",
                s.prev.0, s.next.0
            )
        }
        EventKind::Wake(w) => {
            let kind = match w.kind {
                WakeKind::Waking => "sched_waking",
                WakeKind::Wakeup => "sched_wakeup",
                WakeKind::New => "sched_wakeup_new",
                WakeKind::WakeupAtSwitchIn => return None,
            };
            let target = w.target.unwrap_or(event.cpu).0;
            format!("sched:{kind}: comm={} pid={} prio=120 target_cpu={target:03}", name(w.name, w.tid), w.tid.0)
        }
        EventKind::Migrate { tid, from, to } => {
            format!("sched:sched_migrate_task: comm=x pid={} prio=120 orig_cpu={} dest_cpu={}", tid.0, from.0, to.0)
        }
        EventKind::Affinity { tid, .. } => {
            format!("syscalls:sys_enter_sched_setaffinity: pid: {}, len: 0x00000008, user_mask_ptr: 0x00000000", tid.0)
        }
        EventKind::Sample | EventKind::Throttle { .. } => format!("power:cpu_idle: state=1 cpu_id={}", event.cpu.0),
        _ => return None,
    })
}
