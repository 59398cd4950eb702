//! Events of programs in a Perfetto trace (marks, values, frames), and losses.

use crate::support::{exported, pftrace, session};
use export::Options;
use export::formats::perfetto::Perfetto;
use model::{
    Batch, CpuId, Event, EventKind, Frame, FrameStretch, FrameToken, LossSpan, Mark, MarkEdge, MaybeCount, MaybeNs,
    NameId, Ns, Pid, Tid,
};
use std::num::NonZeroI32;

const DRAW: NameId = NameId(1);
const FPS: NameId = NameId(2);

fn at(us: i64, cpu: Option<u32>, what: EventKind) -> Event {
    Event { at: Ns(us * 1000), offset: 0, cpu: cpu.map_or(CpuId::UNKNOWN, CpuId), current: Tid::UNKNOWN, what }
}

fn mark(tid: i32, pid: i32, track: i64, name: NameId, edge: MarkEdge) -> EventKind {
    EventKind::Mark(Mark { tid: Tid(tid), pid: Pid(pid), track, name, edge })
}

fn frame(begins: bool, stretch: FrameStretch) -> EventKind {
    let (cookie, token, pid, layer, jank) = (9, FrameToken(4), Pid(7), DRAW, NonZeroI32::new(2));
    EventKind::Frame(Frame { cookie, token, pid, layer, stretch, begins, jank })
}

fn shown(events: Vec<Event>) -> String {
    let names = vec!["draw".into(), "fps".into()];
    let session = session(engine::Facts::default(), Batch { events, names, stacks: Vec::new(), ..Batch::default() });
    pftrace::show(&exported(&Perfetto, &session, &Options::default()))
}

#[test]
fn marks_on_a_cpu_are_written_as_atrace_prints_them() {
    let text = shown(vec![
        at(1, Some(0), mark(8, 7, 0, DRAW, MarkEdge::Begin)),
        at(2, Some(0), mark(8, 7, 0, DRAW, MarkEdge::Instant)),
        at(3, Some(0), mark(8, 7, 0, NameId::NONE, MarkEdge::End)),
        at(4, Some(0), EventKind::Value { pid: Pid(7), name: FPS, value: 60.0 }),
    ]);
    for line in [
        "1000 pid=8 print buf=B|7|draw",
        "2000 pid=8 print buf=I|7|draw",
        "3000 pid=8 print buf=E|7",
        "4000 pid=7 print buf=C|7|fps|60",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[test]
fn other_marks_are_track_events() {
    let text = shown(vec![
        at(1, Some(0), EventKind::Sample),
        at(2, None, mark(8, 7, 0, DRAW, MarkEdge::Begin)),
        at(3, None, mark(8, 7, 5, DRAW, MarkEdge::Begin)),
        at(4, None, mark(8, 7, 5, NameId::NONE, MarkEdge::End)),
        at(5, None, mark(8, 7, 0, NameId::NONE, MarkEdge::End)),
        at(6, None, EventKind::Value { pid: Pid(7), name: FPS, value: 59.5 }),
        at(7, None, frame(true, FrameStretch::ActualSurface)),
        at(8, None, frame(false, FrameStretch::ActualSurface)),
    ]);
    let count = |what: &str| text.lines().filter(|l| l.starts_with(what)).count();
    assert_eq!(count("begin at"), 2, "{text}");
    assert_eq!(count("end at"), 2, "{text}");
    assert_eq!(count("value at 6000"), 1, "{text}");
    assert_eq!(count("packet 76 at"), 2, "{text}");
    // corewise's own track, the thread's, the asynchronous one, the counter.
    assert_eq!(count("track "), 4, "{text}");
    let track = |at: i64| text.lines().find(|l| l.contains(&format!(" at {at} "))).unwrap().split(' ').nth(4).unwrap();
    assert!(track(2000) == track(5000) && track(3000) == track(4000) && track(2000) != track(3000), "{text}");
}

#[test]
fn a_loss_is_a_note_and_a_slice() {
    let loss = LossSpan {
        from: MaybeNs::new(Ns(2000)),
        to: MaybeNs::new(Ns(4000)),
        cpu: Some(CpuId(0)),
        events: MaybeCount::new(12),
    };
    let text = shown(vec![
        at(1, Some(0), EventKind::Sample),
        at(4, Some(0), EventKind::Loss(loss)),
        at(5, Some(0), EventKind::Sample),
    ]);
    assert!(text.contains("4000 corewise_loss events=12 from=2000 to=4000 cpu=0"), "{text}");
    assert!(
        text.contains("begin at 2000") && text.contains("end at 4000") && text.contains("\"lost events of cpu 0\""),
        "{text}"
    );
}
