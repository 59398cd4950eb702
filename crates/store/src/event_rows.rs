//! Rows of the kinds of event that have a table of their own and are not many: each kind's columns, written and read back.
//!
//! A new kind is its declaration in [`crate::event_tables`] and three lines here: which kind it is, how it is written, how it is read.

use crate::event_tables::EventKind;
use crate::events_in::Cursor;
use crate::sheet::{Disk, Sheet};
use crate::words as w;
use model::{
    BlockOperation, BlockRequest, CpuId, Device, Donor, Event, Frame, FrameTime, InheritedPriority, LossSpan, Mark,
    NameId, Ns, Present, Tid, What,
};

/// A number that is not there.
const NONE: i32 = i32::MIN;

/// The kind of an event; `None`: a note on a thread, a switch or a waking, which share their tables' rows with others.
pub(crate) fn kind_of(what: &What) -> Option<EventKind> {
    Some(match what {
        What::Migrate { .. } => EventKind::Migrate,
        What::Priority { .. } => EventKind::Priority,
        What::Inherit { .. } => EventKind::Inherit,
        What::Affinity { .. } => EventKind::Affinity,
        What::Cgroup { .. } => EventKind::Cgroup,
        What::CgroupLimits { .. } => EventKind::CgroupLimits,
        What::CgroupStat { .. } => EventKind::CgroupStat,
        What::Throttle { .. } => EventKind::Throttle,
        What::SchedAttr { .. } => EventKind::SchedAttr,
        What::IdealCpu { .. } => EventKind::IdealCpu,
        What::Idle { .. } => EventKind::Idle,
        What::Frequency { .. } => EventKind::Frequency,
        What::Parking { .. } => EventKind::Parking,
        What::Irq { .. } => EventKind::Irq,
        What::Block { .. } => EventKind::Block,
        What::Charge { .. } => EventKind::Charge,
        What::Steal { .. } => EventKind::Counter,
        What::Clock { .. } => EventKind::Clock,
        What::Mark(_) => EventKind::Mark,
        What::Value { .. } => EventKind::Value,
        What::Frame(_) => EventKind::Frame,
        What::Present(_) => EventKind::Present,
        What::FrameTime(_) => EventKind::FrameTime,
        What::Loss(_) => EventKind::Loss,
        What::Sample => EventKind::Sample,
        _ => return None,
    })
}

/// Writes one.
pub(crate) fn write(to: &mut Sheet<Disk>, e: &Event) {
    let int = |to: &mut Sheet<Disk>, at, v: i32| to.ints(at, std::iter::once(v));
    let long = |to: &mut Sheet<Disk>, at, v: i64| to.longs(at, std::iter::once(v));
    let word = |to: &mut Sheet<Disk>, at, v: u8| to.words(at, std::iter::once(v));
    let text = |to: &mut Sheet<Disk>, at, v: NameId| to.texts(at, std::iter::once(v.0));
    let known = |id: i32| if id == Tid::UNKNOWN.0 { NONE } else { id };
    match e.what {
        What::Migrate { tid, from, to: target } => {
            int(to, 3, tid.0);
            int(to, 4, from.0 as i32);
            int(to, 5, target.0 as i32);
        }
        What::Priority { tid, prio, policy, nice } => {
            int(to, 3, tid.0);
            int(to, 4, prio.into());
            int(to, 5, policy.into());
            int(to, 6, nice.into());
        }
        What::Inherit { tid, priority: InheritedPriority { donor, old_prio, prio } } => {
            int(to, 3, tid.0);
            let donor = match donor {
                Donor::NotRecorded => NONE,
                Donor::None => Tid::IDLE.0,
                Donor::Thread(tid) => tid.0,
            };
            int(to, 4, donor);
            int(to, 5, old_prio.into());
            int(to, 6, prio.into());
        }
        What::Affinity { tid, cpus } => {
            int(to, 3, tid.0);
            text(to, 4, cpus);
        }
        What::Cgroup { tid, id, path } => {
            int(to, 3, tid.0);
            long(to, 4, id as i64);
            text(to, 5, path);
        }
        What::CgroupLimits { id, path, quota, period, weight, cpus } => {
            long(to, 3, id.cast_signed());
            text(to, 4, path);
            long(to, 5, if quota == Ns::MAX { i64::MIN } else { quota.0 });
            long(to, 6, period.into());
            int(to, 7, if weight == 0 { NONE } else { weight.into() });
            text(to, 8, cpus);
        }
        What::CgroupStat { id, periods, throttled, time } => {
            long(to, 3, id.cast_signed());
            long(to, 4, periods);
            long(to, 5, throttled);
            long(to, 6, time.0);
        }
        What::Throttle { tid, begins } => {
            int(to, 3, tid.0);
            word(to, 4, u8::from(!begins));
        }
        What::SchedAttr { tid, prio, uclamp_min, uclamp_max } => {
            int(to, 3, tid.0);
            int(to, 4, if prio == i16::MIN { NONE } else { prio.into() });
            int(to, 5, if uclamp_min < 0 { NONE } else { uclamp_min.into() });
            int(to, 6, if uclamp_max < 0 { NONE } else { uclamp_max.into() });
        }
        What::IdealCpu { tid, cpu } => {
            int(to, 3, tid.0);
            int(to, 4, if cpu == CpuId::UNKNOWN { NONE } else { cpu.0.cast_signed() });
        }
        What::Idle { state } => int(to, 3, state),
        What::Frequency { of, khz } => {
            int(to, 3, of.0 as i32);
            long(to, 4, khz.into());
        }
        What::Parking { of, parked } => {
            int(to, 3, of.0 as i32);
            word(to, 4, u8::from(!parked));
        }
        What::Irq { kind, number, begins, name } => {
            word(to, 3, w::irq_kind_code(kind));
            int(to, 4, number);
            word(to, 5, u8::from(!begins));
            text(to, 6, name);
        }
        What::Block { tid, request } => {
            let BlockRequest { device, sector, bytes, operation, done } = request;
            int(to, 3, known(tid.0));
            long(to, 4, device.0.into());
            long(to, 5, sector.cast_signed());
            long(to, 6, bytes.cast_signed());
            word(to, 7, operation as u8);
            word(to, 8, u8::from(done));
        }
        What::Steal { total } => {
            word(to, 3, 0);
            long(to, 4, total.0);
        }
        What::Clock { which, reading } => {
            word(to, 3, w::clock_code(which));
            long(to, 4, reading);
        }
        What::Mark(m) => {
            int(to, 3, known(m.tid.0));
            int(to, 4, known(m.pid.0));
            long(to, 5, m.track);
            text(to, 6, m.name);
            word(to, 7, w::mark_edge_code(m.edge));
        }
        What::Value { pid, name, value } => {
            int(to, 3, known(pid.0));
            text(to, 4, name);
            to.floats(5, std::iter::once(value));
        }
        What::Frame(f) => {
            long(to, 3, f.cookie);
            long(to, 4, f.token);
            int(to, 5, known(f.pid.0));
            text(to, 6, f.layer);
            word(to, 7, w::frame_stretch_code(f.stretch));
            word(to, 8, u8::from(!f.begins));
            int(to, 9, f.jank);
        }
        What::Present(p) => {
            long(to, 3, p.frame);
            long(to, 4, p.swap_chain);
            int(to, 5, known(p.pid.0));
            text(to, 6, p.application);
            text(to, 7, p.mode);
            word(to, 8, p.displayed.map_or(2, u8::from));
        }
        What::FrameTime(t) => {
            long(to, 3, t.frame);
            word(to, 4, w::frame_part_code(t.of));
            long(to, 5, t.took.0);
        }
        What::Loss(l) => {
            long(to, 3, l.from.0);
            long(to, 4, if l.to == Ns::MAX { i64::MIN } else { l.to.0 });
            int(to, 5, l.cpu.map_or(NONE, |c| c.0 as i32));
            long(to, 6, l.events);
        }
        _ => {}
    }
}

/// Reads one; `None`: a word or a number that this corewise does not know.
pub(crate) fn read(kind: usize, c: &Cursor) -> Option<What> {
    let tid = c.tid(3);
    Some(match kind {
        k if k == EventKind::Migrate as usize => What::Migrate { tid, from: c.cpu(4)?, to: c.cpu(5)? },
        k if k == EventKind::Priority as usize => {
            What::Priority { tid, prio: c.int(4) as i16, policy: c.int(5) as i8, nice: c.int(6) as i8 }
        }
        k if k == EventKind::Inherit as usize => {
            let donor = match c.int(4) {
                NONE => Donor::NotRecorded,
                0 => Donor::None,
                donor => Donor::Thread(Tid(donor)),
            };
            let priority = InheritedPriority { donor, old_prio: c.int(5) as i16, prio: c.int(6) as i16 };
            What::Inherit { tid, priority }
        }
        k if k == EventKind::Affinity as usize => What::Affinity { tid, cpus: c.name(4) },
        k if k == EventKind::Cgroup as usize => What::Cgroup { tid, id: c.long(4).cast_unsigned(), path: c.name(5) },
        k if k == EventKind::CgroupLimits as usize => What::CgroupLimits {
            id: c.long(3).cast_unsigned(),
            path: c.name(4),
            quota: if c.long(5) == i64::MIN { Ns::MAX } else { Ns(c.long(5)) },
            period: u32::try_from(c.long(6)).unwrap_or(0),
            weight: u16::try_from(c.int(7)).unwrap_or(0),
            cpus: c.name(8),
        },
        k if k == EventKind::CgroupStat as usize => What::CgroupStat {
            id: c.long(3).cast_unsigned(),
            periods: c.long(4),
            throttled: c.long(5),
            time: Ns(c.long(6)),
        },
        k if k == EventKind::Throttle as usize => What::Throttle { tid, begins: c.word(4) == 0 },
        k if k == EventKind::SchedAttr as usize => {
            let told = |at| i16::try_from(c.int(at)).ok();
            let clamp = |at| told(at).unwrap_or(-1);
            What::SchedAttr { tid, prio: told(4).unwrap_or(i16::MIN), uclamp_min: clamp(5), uclamp_max: clamp(6) }
        }
        k if k == EventKind::IdealCpu as usize => What::IdealCpu { tid, cpu: c.cpu(4).unwrap_or(CpuId::UNKNOWN) },
        k if k == EventKind::Idle as usize => What::Idle { state: c.int(3) },
        k if k == EventKind::Frequency as usize => {
            What::Frequency { of: c.cpu(3)?, khz: u32::try_from(c.long(4)).ok()? }
        }
        k if k == EventKind::Parking as usize => What::Parking { of: c.cpu(3)?, parked: c.word(4) == 0 },
        k if k == EventKind::Irq as usize => {
            What::Irq { kind: w::irq_kind(c.word(3))?, number: c.int(4), begins: c.word(5) == 0, name: c.name(6) }
        }
        k if k == EventKind::Block as usize => What::Block {
            tid,
            request: BlockRequest {
                device: Device(u32::try_from(c.long(4)).ok()?),
                sector: c.long(5).cast_unsigned(),
                bytes: c.long(6).cast_unsigned(),
                operation: *BlockOperation::ALL.get(usize::from(c.word(7)))?,
                done: c.word(8) == 1,
            },
        },
        k if k == EventKind::Charge as usize => What::Charge { tid, ns: Ns(c.long(4)) },
        k if k == EventKind::Counter as usize => What::Steal { total: Ns(c.long(4)) },
        k if k == EventKind::Clock as usize => What::Clock { which: w::clock(c.word(3))?, reading: c.long(4) },
        k if k == EventKind::Mark as usize => {
            let edge = w::mark_edge(c.word(7))?;
            What::Mark(Mark { tid, pid: c.pid(4), track: c.long(5), name: c.name(6), edge })
        }
        k if k == EventKind::Value as usize => What::Value { pid: c.pid(3), name: c.name(4), value: c.float(5) },
        k if k == EventKind::Frame as usize => What::Frame(Frame {
            cookie: c.long(3),
            token: c.long(4),
            pid: c.pid(5),
            layer: c.name(6),
            stretch: w::frame_stretch(c.word(7))?,
            begins: c.word(8) == 0,
            jank: c.int(9),
        }),
        k if k == EventKind::Present as usize => What::Present(Present {
            frame: c.long(3),
            swap_chain: c.long(4),
            pid: c.pid(5),
            application: c.name(6),
            mode: c.name(7),
            displayed: [Some(false), Some(true), None].get(usize::from(c.word(8))).copied()?,
        }),
        k if k == EventKind::FrameTime as usize => {
            What::FrameTime(FrameTime { frame: c.long(3), of: w::frame_part(c.word(4))?, took: Ns(c.long(5)) })
        }
        k if k == EventKind::Loss as usize => What::Loss(LossSpan {
            from: Ns(c.long(3)),
            to: if c.long(4) == i64::MIN { Ns::MAX } else { Ns(c.long(4)) },
            cpu: c.cpu(5),
            events: c.long(6),
        }),
        k if k == EventKind::Sample as usize => What::Sample,
        _ => return None,
    })
}
