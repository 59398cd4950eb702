//! Capabilities 61 and 62: the duration of a marked task and the state times of its thread.

use crate::support::analyse;
use account::Rules;
use analysis::{Context, Running};
use model::{
    Change, CpuId, Mark, MarkEdge, MaybeNs, NameId, Ns, Pid, Prio, Reason, Span, Subject, Table, ThreadKey,
    ThreadState, ThreadStretch, Tid, Timeline, TimelineEvent,
};
use testkit::ByName;
use testkit::figures::{self, Row, agrees, number};
use topology::Machine;

/// A drawn task of 7 ms, from 1 to 8: it runs 1–2 and 4–6, is ready 2–4 queued behind B, and blocked 6–8. The times of
/// its thread before and after are not part of it.
#[test]
fn cap_62_a_task_is_running_ready_and_blocked() {
    let text = "cpu0    A A B B A As .  .  A  A As
                waking  . . . . . .  .  .  A  . .
                mark    . A( . . . . .  .  A) . .";
    let drawn = testkit::trace(text);
    let rules = Rules { has_waking: true, has_wakes: true, ..Rules::default() };
    let marks = &analyse(drawn.opened(), Machine::default(), rules, |whole| whole).tables["marks"];
    let of = |col| marks.int(0, col).unwrap() / 1_000_000;
    let cols = ["duration_ns", "running_ns", "ready_ns", "blocked_ns", "unknown_ns"];
    assert_eq!(cols.map(of), [7, 3, 2, 2, 0]);
}

/// In a trace folder, each part may give a text another name number.
#[test]
fn names_with_the_same_text_are_one_mark() {
    let mark = |at, name, edge| {
        let mark = Mark { tid: Tid(1), pid: Pid::UNKNOWN, track: 0, name: NameId(name), edge };
        TimelineEvent { at: Ns(at), who: Subject::Thread(mark.tid), what: Change::Mark(mark) }
    };
    let marks = [
        mark(1, 1, MarkEdge::Begin),
        mark(4, 0, MarkEdge::End),
        mark(5, 2, MarkEdge::Begin),
        mark(7, 0, MarkEdge::End),
    ];
    let (machine, span) = (Machine::default(), Span::new(Ns::ZERO, Ns(10)));
    let context = Context { machine: &machine, span, to_end: true, followed: &[], ready_known: true };
    let mut running = Running::start(&["marks"], &context, vec!["Frame".into(), "Frame".into()]);
    running.push(&Timeline { events: &marks, ..Timeline::default() });
    let table = running.finish().remove(0);
    assert_eq!((table.rows.len(), table.int(0, "count"), table.int(0, "duration_ns")), (1, Some(2), Some(5)));
}

/// The printed tasks and domains, each on a thread of its own that ran for its CPU time. The state in the rest of the
/// time is not printed, so it is unknown.
fn tasks(rows: &[Row]) -> Table {
    let seconds = |row: &Row, col: &str| Ns((number(row, col) * 1e9).round() as i64);
    let (mut threads, mut marks, mut names) = (Vec::new(), Vec::new(), Vec::<Box<str>>::new());
    for (row, key) in rows.iter().zip(1_i32..) {
        let (ran, all) = (seconds(row, "cpu_s"), seconds(row, "task_s"));
        names.push(row["name"].as_str().into());
        let (tid, thread) = (Tid(key), ThreadKey(i64::from(key)));
        let stretch = |start, end, state| ThreadStretch {
            span: Span::new(start, end),
            thread,
            tid,
            state,
            reason: Reason::None,
            cpu: Some(CpuId(0)),
            waker_thread: ThreadKey::UNKNOWN,
            exec: MaybeNs::NONE,
            prio: Prio::new(120),
        };
        threads.extend([stretch(Ns::ZERO, ran, ThreadState::Running), stretch(ran, all, ThreadState::Unknown)]);
        for (at, edge) in [(Ns::ZERO, MarkEdge::Begin), (all, MarkEdge::End)] {
            let name = if edge == MarkEdge::Begin { NameId(key.cast_unsigned()) } else { NameId::NONE };
            let mark = Mark { tid, pid: Pid::UNKNOWN, track: 0, name, edge };
            marks.push(TimelineEvent { at, who: Subject::Thread(tid), what: Change::Mark(mark) });
        }
    }
    threads.sort_by_key(|s| s.span.start);
    marks.sort_by_key(|m| m.at);
    let end = marks.last().unwrap().at + Ns(1);
    let (machine, span) = (Machine::default(), Span::new(Ns::ZERO, end));
    let context = Context { machine: &machine, span, to_end: true, followed: &[CpuId(0)], ready_known: true };
    let mut running = Running::start(&["marks"], &context, names);
    running.push(&Timeline { threads: &threads, events: &marks, ..Timeline::default() });
    running.finish().remove(0)
}

#[test]
fn cap_61_62_printed_tasks() {
    let rows = figures::table("frames_markers");
    let marks = tasks(&rows);
    assert_eq!(marks.rows.len(), 37);
    for (row, printed) in rows.iter().enumerate() {
        assert_eq!(marks.text(row, "name"), Some(printed["name"].as_str()));
        let of = |col| marks.int(row, col).unwrap() as f64 / 1e9;
        assert!((of("duration_ns") - number(printed, "task_s")).abs() < 1e-9, "{printed:?}");
        assert!((of("running_ns") - number(printed, "cpu_s")).abs() < 1e-9, "{printed:?}");
        let off_cpu = of("duration_ns") - of("running_ns");
        assert!((off_cpu - of("ready_ns") - of("blocked_ns") - of("unknown_ns")).abs() < 1e-9, "{printed:?}");
        match printed["name"].as_str() {
            "FDeferredShadingSceneRenderer_Render" => agrees("62.off_cpu.render_task", off_cpu),
            "UE4Domain" => agrees("62.off_cpu.domain", off_cpu),
            _ => {}
        }
    }
}
