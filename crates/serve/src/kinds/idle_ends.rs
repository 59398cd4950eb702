//! What ended the stays of each CPU in idle states, from the table `idle_stays`. The page shows it in the tracks of idle states.

use super::{BoxedKind, Kind, KindInfo, Lane};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::{Cpu, Session};
use levels::States;
use model::tables::idle_stays;
use model::{Row, ThreadKey, Value};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// The maximum number of stays. All are kept, since the table has them in order of end: 24 bytes each.
const MAX_STAYS: usize = 1 << 21;
/// The maximum number of different ends with their interrupts and threads.
const MAX_ENDS: usize = 1 << 12;

/// What ends stays: the words of the table, and those of the states. The viewer's colours are by the numbers.
const CAUSES: [(&str, &str); 11] = [
    ("timer", "timer"),
    ("tick", "scheduler's tick"),
    ("device", "device"),
    ("thread", "thread"),
    ("ipi", "interrupt of another CPU"),
    ("interrupt", "interrupt"),
    ("pulled", "thread from another CPU"),
    ("requeued", "thread that was ready"),
    ("nothing", "nothing recorded"),
    ("not_recorded", "waker not recorded"),
    (UNKNOWN, "unknown"),
];
const UNKNOWN: &str = "unknown";
/// What the table calls stays of which the end is not in the recording. They have no end to show.
const CUT: &str = "cut";

/// What ended a stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct End {
    /// The interrupt; empty if none was recorded.
    label: String,
    /// The key of the thread that woke or created the next one.
    waker: Option<ThreadKey>,
    /// The key of the thread that ran next.
    thread: Option<ThreadKey>,
    /// The minimum stay in the state that saves energy.
    target_ns: Option<i64>,
    /// Whether the stay was shorter; `None` if that or the length of the stay is unknown.
    too_short: Option<bool>,
}

struct Stay {
    start: i64,
    end: i64,
    cpu: u32,
    what: u32,
}

struct IdleEnds<'a> {
    feed: Feed<'a, States>,
    cpus: Vec<Cpu>,
    lanes: BTreeMap<u32, Lane>,
    stays: Vec<Stay>,
    /// The number of each end, with its cause.
    ends: HashMap<(usize, End), u32>,
    left_out: u64,
}

pub(crate) fn new<'a>(session: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    Ok(Box::new(begin(session.machine().cpus.clone(), to, name)))
}

fn begin<'a>(cpus: Vec<Cpu>, to: Target<'a>, name: &'static str) -> IdleEnds<'a> {
    let (lanes, stays, ends) = (BTreeMap::new(), Vec::new(), HashMap::new());
    IdleEnds { feed: Feed::new(to, name), cpus, lanes, stays, ends, left_out: 0 }
}

impl IdleEnds<'_> {
    /// Returns the target residency of a CPU's state, in ns.
    fn target(&self, cpu: u32, state: Option<i64>) -> Option<i64> {
        let cpu = self.cpus.iter().find(|of| of.id.0 == cpu)?;
        let us = cpu.idle_states.get(usize::try_from(state?).ok()?)?.target_residency_us?;
        Some(i64::from(us) * 1000)
    }
}

impl Kind for IdleEnds<'_> {
    fn idle_stay(&mut self, row: &[Value]) {
        let row = Row::<idle_stays::Table>::new(row);
        let by = row.get(idle_stays::ENDED_BY);
        let Some(cpu) = u32::try_from(row.get(idle_stays::CPU)).ok().filter(|_| by != CUT) else { return };
        if self.stays.len() >= MAX_STAYS || !super::room(&self.lanes, cpu) {
            self.left_out += 1;
            return;
        }
        let place = |word: &str| CAUSES.iter().position(|(of, _)| *of == word);
        let cause = place(by).or_else(|| place(UNKNOWN)).unwrap_or_default();
        let target_ns = self.target(cpu, row.get(idle_stays::STATE));
        let too_short = row.get(idle_stays::STAY_NS).zip(target_ns).map(|(stay, target)| stay.0 < target);
        let length = End { target_ns, too_short, ..End::default() };
        let next = self.ends.len();
        let end = match next < MAX_ENDS {
            true => End {
                label: row.get(idle_stays::INTERRUPT.or_empty()).to_owned(),
                waker: row.get(idle_stays::WAKER),
                thread: row.get(idle_stays::THREAD),
                ..length
            },
            // Causes and states are few.
            false => length,
        };
        let what = *self.ends.entry((cause, end)).or_insert(next as u32);
        let [start, end] = [row.get(idle_stays::START_NS), row.get(idle_stays::END_NS)];
        self.lanes.entry(cpu).or_insert_with(|| Lane::new(cpu, format!("CPU {cpu}")));
        self.stays.push(Stay { start: start.0, end: end.0, cpu, what });
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let Self { mut feed, lanes, mut stays, ends, left_out, .. } = *self;
        let mut numbered = vec![(0, End::default()); ends.len()];
        for (of, number) in ends {
            numbered[number as usize] = of;
        }
        stays.sort_unstable_by_key(|of| (of.start, of.cpu));
        for of in &stays {
            let cause = numbered[of.what as usize].0;
            feed.change(of.cpu, of.start, Some((cause as u8, i64::from(of.what))));
            feed.change(of.cpu, of.end, None);
        }
        let note = if left_out > 0 { format!("{left_out} later stays are not shown") } else { String::new() };
        let states = CAUSES.map(|(_, words)| words.to_owned()).into();
        let lanes = lanes.into_values().collect();
        let ends = numbered.into_iter().map(|(_, end)| end).collect();
        let title = "What ended idle time".into();
        Ok(feed.finish()?.then(|| KindInfo { title, note, ends, ..KindInfo::of_states(lanes, states) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::{names, states};

    /// A timer on CPU 0 wakes a after 2 ms, which wakes b on CPU 1: it was idle from the begin on.
    const LINES: [&str; 12] = [
        "b-11 [001] 1.000000: sched_switch: b:11 [120] S ==> swapper/1:0 [120]",
        "<idle>-0 [001] 1.000000: cpu_idle: state=2 cpu_id=1",
        "a-10 [000] 1.001000: sched_switch: a:10 [120] S ==> swapper/0:0 [120]",
        "<idle>-0 [000] 1.001000: cpu_idle: state=1 cpu_id=0",
        "<idle>-0 [000] 1.003000: cpu_idle: state=4294967295 cpu_id=0",
        "<idle>-0 [000] 1.003000: hrtimer_expire_entry: hrtimer=1 function=hrtimer_wakeup now=1",
        "<idle>-0 [000] 1.003000: sched_wakeup: a:10 [120] CPU:000",
        "<idle>-0 [000] 1.003500: sched_switch: swapper/0:0 [120] R ==> a:10 [120]",
        "a-10 [000] 1.005000: sched_wakeup: b:11 [120] CPU:001",
        "<idle>-0 [001] 1.006000: cpu_idle: state=4294967295 cpu_id=1",
        "<idle>-0 [001] 1.006000: sched_switch: swapper/1:0 [120] R ==> b:11 [120]",
        "b-11 [001] 1.007000: sched_switch: b:11 [120] S ==> c:12 [120]",
    ];

    #[test]
    fn stays_have_what_ended_them() {
        let (info, slices) = states("idle_ends", &LINES);
        assert_eq!(info.lanes.iter().map(|lane| lane.label.as_str()).collect::<Vec<_>>(), ["CPU 0", "CPU 1"]);
        let drawn = |s: &(u32, f64, f64, u8, i64)| {
            (s.0, s.1, s.2, info.states[usize::from(s.3)].clone(), info.ends[s.4 as usize].clone())
        };
        let mut drawn = slices.iter().map(drawn).collect::<Vec<_>>();
        drawn.sort_by_key(|of| of.0);
        let [(0, from, to, cause, end), (1, .., other, of_other)] = &drawn[..] else { panic!("{drawn:?}") };
        assert_eq!((*from, *to, cause.as_str(), end.label.as_str()), (1.0, 3.5, "timer", "timer hrtimer_wakeup"));
        assert_eq!((end.waker, other.as_str()), (None, "thread"));
        // The thread that CPU 0 then ran is the one that woke that of CPU 1. The text has no target residencies.
        assert!(end.thread.is_some() && of_other.waker == end.thread && of_other.thread.is_some());
        assert_eq!((end.target_ns, end.too_short), (None, None));
    }

    #[test]
    fn without_idle_states_there_are_no_ends() {
        let has = |lines: &[&str]| names(lines).iter().any(|kind| kind == "idle_ends");
        let lines: Vec<_> = LINES.into_iter().filter(|line| !line.contains("cpu_idle")).collect();
        assert!(has(&LINES) && !has(&lines));
    }

    /// Two stays of CPU 1 in a state with a break-even of 20 µs, around one of CPU 0 whose length is unknown, in order of end.
    #[test]
    fn stays_below_the_target_residency_are_too_short() {
        let folder = tempfile::tempdir().unwrap();
        let place = safefs::Dir::open(folder.path()).unwrap();
        let tracks = crate::Tracks::default();
        let to = Target { place: &place, stamp: "fed", tracks: &tracks, first: 4, whole: 90_000 };
        let state = |us| engine::IdleState { target_residency_us: us, ..Default::default() };
        let cpu = |number| Cpu {
            id: model::CpuId(number),
            idle_states: vec![state(None), state(Some(20))],
            ..Default::default()
        };
        let mut kind = begin(vec![cpu(0), cpu(1)], to, "fed");
        let stay = |cpu: i64, [start, end]: [i64; 2], stay: Option<i64>| {
            let (none, by) = (Value::Null, "device".into());
            [
                cpu.into(),
                start.into(),
                end.into(),
                1i64.into(),
                stay.into(),
                by,
                none.clone(),
                none.clone(),
                none,
                Value::Bool(false),
            ]
        };
        kind.idle_stay(&stay(1, [10_000, 30_000], Some(19_999)));
        kind.idle_stay(&stay(1, [30_000, 50_000], Some(20_000)));
        kind.idle_stay(&stay(0, [0, 80_000], None));
        let info = Box::new(kind).finish().unwrap().unwrap();
        let reader = levels::Reader::<States>::open(&folder.path().join("fed.levels")).unwrap();
        let slices = reader.slices(0..90_000, 1, 0..=9, usize::MAX).unwrap();
        let mut drawn: Vec<_> =
            slices.iter().map(|s| (s.track, s.start, s.end, info.ends[s.what as usize].too_short)).collect();
        drawn.sort_unstable();
        let expected = [(0, 0, 80_000, None), (1, 10_000, 30_000, Some(true)), (1, 30_000, 50_000, Some(false))];
        assert_eq!(drawn, expected);
        assert!(info.ends.iter().all(|end| end.target_ns == Some(20_000)));
    }
}
