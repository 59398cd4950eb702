//! A dump of the ring buffers among other messages of the kernel.

use crate::text::file;
use model::{CpuId, EventKind, SwitchOut, Tid};

const LOG: &str = "\
[   86.218001] usb 1-1: new device number 3\n\
[   86.218400][   T12] Dumping ftrace buffer:\n\
[   86.218404][   T12] ---------------------------------\n\
[   86.218488][   T12] CPU:2 [LOST 40 EVENTS]\n\
[   86.218492][   T12] a_worker-45      2d.... 79990136us : sched_switch: prev_comm=a_worker_0 prev_pid=45 prev_prio=120 prev_state=t ==> next_comm=swapper/2 next_pid=0 next_prio=120\n\
[   86.218515][   T12]   <idle>-0        6dNh.. 79990140us+: sched_wakeup: comm=b pid=46 prio=120 target_cpu=006\n\
[   86.218519][   T12]   <idle>-0        6d.... 79990147us : sched_switch: prev_comm=swapper/6 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=b next_pid=46 next_prio=120\n\
[   86.218523][   T12]        b-46       6..... 79990149us : sys_write -> 0x12\n\
[   86.218530][   T12] ---------------------------------\n\
[   86.218600] reboot: machine restart\n";

#[test]
fn a_dump_is_read_and_other_messages_are_not() {
    let read = file(LOG.as_bytes()).unwrap();
    assert_eq!(read.format, "ftrace text");
    assert!(read.anomalies.0.is_empty(), "{:?}", read.anomalies.0);
    let lost: Vec<_> = read.events.iter().filter(|e| matches!(e.what, EventKind::Loss { .. })).map(|e| e.cpu).collect();
    assert_eq!(lost, [CpuId(2)]);
    let start = read.origin.unwrap().0;
    let switches: Vec<_> = read
        .events
        .iter()
        .filter_map(|e| match e.what {
            EventKind::Switch(switch) => Some((e.at.0 + start, e.cpu.0, switch.prev, switch.next, switch.out)),
            _ => None,
        })
        .collect();
    assert_eq!(
        switches,
        [
            (79_990_136_000, 2, Tid(45), Tid(0), SwitchOut::Blocked),
            (79_990_147_000, 6, Tid(0), Tid(46), SwitchOut::Runnable)
        ]
    );
    // The line's name is cut, so the name is the switch's.
    let has = |name: &str| read.names.iter().any(|n| n == name);
    assert!(has("a_worker_0") && !has("a_worker"), "{:?}", read.names);
}
