//! A recording that the tests of the documentation write.

use std::fmt::Write;

/// An ftrace text of 3.6 s on two CPUs: every 20 ms `game` (4321) draws a frame, wakes `render` (4322) on the other CPU, and wakes `worker`
/// (4323), which is queued behind it; these two mark their work. Every 20th frame takes longer than 16.7 ms. After the frame, the program
/// `client` asks the program `server`, which answers.
pub fn recording() -> String {
    const NAMES: [(u32, &str); 6] =
        [(0, "<idle>"), (4321, "game"), (4322, "render"), (4323, "worker"), (4400, "server"), (4500, "client")];
    fn name(tid: u32) -> &'static str {
        NAMES.iter().find(|named| named.0 == tid).unwrap().1
    }
    let mut events: Vec<(u64, String)> = Vec::new();
    for frame in 0..180_u64 {
        let start = 10_000_000 + frame * 20_000;
        let mut event = |after: u64, cpu: u32, tid: u32, what: String| {
            let us = start + after;
            let (seconds, part) = (us / 1_000_000, us % 1_000_000);
            let process = match tid {
                0 => "-----".to_owned(),
                4321..=4323 => " 4321".to_owned(),
                _ => format!(" {tid}"),
            };
            events.push((
                us,
                format!("{:>16}-{tid:<7} ({process}) [{cpu:03}] d..2. {seconds}.{part:06}: {what}", name(tid)),
            ));
        };
        let wakeup =
            |tid: u32, cpu: u32| format!("sched_wakeup: comm={} pid={tid} prio=120 target_cpu={cpu:03}", name(tid));
        let switch = |cpu: u32, from: u32, state: &str, to: u32| {
            let comm = |tid: u32| if tid == 0 { format!("swapper/{cpu}") } else { name(tid).to_owned() };
            format!(
                "sched_switch: prev_comm={} prev_pid={from} prev_prio=120 prev_state={state} ==> next_comm={} next_pid={to} next_prio=120",
                comm(from),
                comm(to)
            )
        };
        let end = if frame % 20 == 5 { 18_000 } else { 11_000 };
        event(0, 0, 0, wakeup(4321, 0));
        event(20, 0, 0, switch(0, 0, "R", 4321));
        event(30, 0, 4321, "tracing_mark_write: B|4321|frame".to_owned());
        event(1_000, 0, 4321, wakeup(4323, 0));
        event(2_000, 0, 4321, wakeup(4322, 1));
        event(2_050, 1, 0, switch(1, 0, "R", 4322));
        event(2_060, 1, 4322, "tracing_mark_write: B|4321|work".to_owned());
        event(6_000, 0, 4321, switch(0, 4321, "S", 4323));
        event(6_010, 0, 4323, "tracing_mark_write: B|4321|work".to_owned());
        event(7_990, 0, 4323, "tracing_mark_write: E|4321".to_owned());
        event(8_000, 0, 4323, switch(0, 4323, "S", 0));
        event(9_000, 1, 4322, wakeup(4321, 0));
        event(9_050, 0, 0, switch(0, 0, "R", 4321));
        event(9_490, 1, 4322, "tracing_mark_write: E|4321".to_owned());
        event(9_500, 1, 4322, switch(1, 4322, "S", 0));
        event(12_000, 1, 0, wakeup(4500, 1));
        event(12_020, 1, 0, switch(1, 0, "R", 4500));
        event(12_100, 1, 4500, wakeup(4400, 1));
        event(12_200, 1, 4500, switch(1, 4500, "S", 4400));
        event(12_700, 1, 4400, wakeup(4500, 1));
        event(12_800, 1, 4400, switch(1, 4400, "S", 4500));
        event(12_900, 1, 4500, switch(1, 4500, "S", 0));
        event(end, 0, 4321, "tracing_mark_write: E|4321".to_owned());
        event(end + 10, 0, 4321, switch(0, 4321, "S", 0));
    }
    events.sort_by_key(|event| event.0);
    let head = "# tracer: nop\n#\n#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION\n";
    events.into_iter().fold(head.to_owned(), |mut text, event| {
        let _ = writeln!(text, "{}", event.1);
        text
    })
}
