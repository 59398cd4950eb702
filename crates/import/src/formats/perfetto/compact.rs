//! Switches and wakeups as columns: `FtraceEventBundle.CompactSched`.
//!
//! ```text
//!   switch_timestamp   5000  +70  +12      the first is absolute, the others are differences
//!   switch_next_pid       7    0    7      the previous thread is the next thread of the switch before; for the first,
//!   switch_prev_state     1    1    0      of the last switch in this CPU's bundle before, unless there was a loss
//! ```
//!
//! The name of the previous thread is not repeated: it may have changed since it was switched in (an exec).

use super::bundle::CpuState;
use super::ftrace::Place;
use super::states::Numbers;
use super::wire::{Fields, Malformed, Packed, Unreadable};
use crate::tracepoint::{Names, waker};
use model::{Batch, CpuId, Event, EventKind, MaybeNs, NameId, Prio, StackId, Switch, Tid, Wake, WakeKind};

/// The maximum number of names in one bundle's table, so that a hostile file cannot exhaust memory.
const MAX_NAMES: usize = 1 << 16;

/// The packed columns. No known writer writes unpacked ones.
#[derive(Default)]
struct Columns<'a> {
    switch: [&'a [u8]; 5],
    waking: [&'a [u8]; 5],
    /// Absent in older recordings.
    waking_flags: &'a [u8],
    names: Vec<NameId>,
}

impl<'a> Columns<'a> {
    fn of(message: &'a [u8], names: &mut Names, out: &mut Batch) -> Result<Self, Unreadable> {
        let mut columns = Self::default();
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            let bytes = if field <= 12 { value.as_bytes()? } else { &[] };
            match field {
                1..=4 => columns.switch[field as usize - 1] = bytes,
                6 => columns.switch[4] = bytes,
                7..=11 => columns.waking[field as usize - 7] = bytes,
                12 => columns.waking_flags = bytes,
                5 if columns.names.len() < MAX_NAMES => columns.names.push(names.id(bytes, out)),
                5 => out.left_out.texts += 1,
                _ => {}
            }
        }
        Ok(columns)
    }

    fn name(&self, index: u64) -> NameId {
        usize::try_from(index).ok().and_then(|at| self.names.get(at)).copied().unwrap_or_default()
    }
}

/// Reads the columns: wakeups first, then switches, each in the order of time.
pub(super) fn read(
    message: &[u8],
    place: Place,
    states: &Numbers,
    cpu_state: &mut CpuState,
    names: &mut Names,
    out: &mut Batch,
) -> Result<(), Unreadable> {
    let columns = Columns::of(message, names, out)?;
    wakeups(&columns, place, out)?;
    Ok(switches(&columns, place, states, *cpu_state, out)?)
}

fn wakeups(columns: &Columns<'_>, place: Place, out: &mut Batch) -> Result<(), Malformed> {
    let [mut times, mut tids, mut targets, mut prios, mut names] = columns.waking.map(Packed);
    let mut flags = Packed(columns.waking_flags);
    let mut now = 0_u64;
    for step in times.by_ref() {
        now = now.wrapping_add(step);
        let (Some(tid), Some(target), Some(prio), Some(name)) =
            (tids.next(), targets.next(), prios.next(), names.next())
        else {
            return Err(Malformed);
        };
        let at = place.time(now)?;
        let wake = Wake {
            tid: Tid(tid as i32),
            name: columns.name(name),
            kind: WakeKind::Waking,
            target: Some(CpuId(target as u32)),
            waker: waker(flags.next().unwrap_or(0), Tid::UNKNOWN),
            prio: Prio::new(prio as i16),
            stamp: at,
        };
        out.events.push(place.event(at, Tid::UNKNOWN, EventKind::Wake(wake)));
    }
    check_consumed(&times)
}

fn switches(
    columns: &Columns<'_>,
    place: Place,
    states: &Numbers,
    mut cpu_state: CpuState,
    out: &mut Batch,
) -> Result<(), Malformed> {
    let [mut times, mut prev_states, mut nexts, mut prios, mut names] = columns.switch.map(Packed);
    let mut now = 0_u64;
    for step in times.by_ref() {
        now = now.wrapping_add(step);
        let (Some(state), Some(next), Some(prio), Some(name)) =
            (prev_states.next(), nexts.next(), prios.next(), names.next())
        else {
            return Err(Malformed);
        };
        let (what, state_letter) = states.meaning(state);
        let switch = Switch {
            prev: cpu_state.current,
            next: Tid(next as i32),
            prev_name: NameId::NONE,
            next_name: columns.name(name),
            stack: StackId::NONE,
            prev_state: state as u32,
            prev_prio: cpu_state.prio,
            next_prio: Prio::new(prio as i16),
            out: what,
            state_letter,
            prev_exec: MaybeNs::NONE,
        };
        (cpu_state.current, cpu_state.prio) = (switch.next, switch.next_prio);
        let at = place.time(now)?;
        out.events.push(Event {
            at,
            offset: place.offset,
            cpu: place.cpu,
            current: Tid::UNKNOWN,
            what: EventKind::Switch(switch),
        });
    }
    check_consumed(&times)
}

/// Checks that a column was read to its end; otherwise it is damaged.
fn check_consumed(column: &Packed<'_>) -> Result<(), Malformed> {
    if column.0.is_empty() { Ok(()) } else { Err(Malformed) }
}
