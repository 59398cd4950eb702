//! Capabilities 7, 57 and 65: which CPUs are parked over time, and the effect on frames and on waiting threads.

use crate::support::{Analysed, drawn};
use model::{Ns, Span, Value};
use std::fmt::Write;
use testkit::{ByName, machine, ms};

const MS: i64 = 1_000_000;

/// The state of each logical processor over time, for the whole recording and for a part.
#[test]
fn cap_7_parking_of_each_processor() {
    // cpu1 is parked for 3 of 10 ms, twice; cpu2 all the time; cpu3 never; cpu0 is not recorded.
    let text = "cpu0 P0  A A A A A A A A A A
                cpu1 P1  . . . . . . . . . .
                cpu2 E2  . . . . . . . . . .
                cpu3 E3  B B B B B B B B B B
                parked   )@1,(@2,)@3 . (@1 . )@1 . . (@1 )@1 .";
    let parked = |a: &Analysed| -> Vec<[Option<i64>; 5]> {
        let table = &a.tables["parking"];
        let cols = ["parked_ns", "unparked_ns", "unknown_ns", "periods", "longest_ns"];
        let row = |row| cols.map(|col| table.int(row, col).map(|v| if col == "periods" { v } else { v / MS }));
        (0..table.rows.len()).map(row).collect()
    };
    let nothing = |span| [None, None, Some(span), None, None];
    let recorded = |of: [i64; 5]| of.map(Some);
    let all = parked(&drawn(text, machine(text), |whole| whole));
    assert_eq!(all, [nothing(10), recorded([3, 7, 0, 2, 2]), recorded([10, 0, 0, 1, 10]), recorded([0, 10, 0, 0, 0])]);
    let part = parked(&drawn(text, machine(text), |_| Span::new(ms(3), ms(8))));
    assert_eq!(part, [nothing(5), recorded([2, 3, 0, 1, 1]), recorded([5, 0, 0, 0, 5]), recorded([0, 5, 0, 0, 0])]);
}

/// Frames of 16 ms each while 8 and while 6 of 24 CPUs are parked, and of 35 ms while 12 and while 10 are: duration and
/// number of parked CPUs.
const FRAMES: [(usize, usize); 7] = [(16, 8), (16, 8), (16, 8), (35, 12), (16, 6), (16, 6), (35, 10)];
/// The efficient CPUs on which the game's AI threads are allowed.
const ALLOWED: &str = "16-19";

/// A game whose main thread F marks its frames on CPU 0. Its AI thread B is woken one millisecond into each frame and
/// runs for three. A keeps CPU 16 busy. While CPU 17 is not parked, B runs there immediately. In the long frames 17 to
/// 20 are also parked, and B waits for 16 until three milliseconds before the frame's end.
fn game() -> String {
    let end: usize = FRAMES.iter().map(|(took, _)| took).sum();
    let mut cpus = vec![vec!["."; end + 1]; 24];
    (cpus[0], cpus[16]) = (vec!["F"; end + 1], vec!["A"; end + 1]);
    let (mut marks, mut parked, mut wakings) = (vec![String::new(); end + 1], vec![String::new(); end + 1], vec![]);
    let mut is_parked = [false; 24];
    let mut at = 0;
    marks[0].push_str("F(");
    for (took, of) in FRAMES {
        let short = took == 16;
        for (cpu, is) in is_parked.iter_mut().enumerate() {
            // The short frames park CPUs from 15 down, the long ones also 17 to 20.
            let lower = if short { of } else { of - 4 };
            let wanted = (16 - lower..16).contains(&cpu) || !short && (17..21).contains(&cpu);
            if at == 0 || wanted != *is {
                let separator = if parked[at].is_empty() { "" } else { "," };
                let _ = write!(parked[at], "{separator}{}@{cpu}", if wanted { '(' } else { ')' });
            }
            *is = wanted;
        }
        assert_eq!(is_parked.iter().filter(|p| **p).count(), of);
        let (cpu, runs) = if short { (17, at + 1) } else { (16, at + took - 3) };
        wakings.push((at + 1, cpu));
        cpus[cpu][runs..runs + 3].copy_from_slice(&["B", "B", "Bs"]);
        at += took;
        marks[at].push_str(if at == end { "F)" } else { "F),F(" });
    }
    let mut text = String::new();
    for (cpu, cells) in cpus.iter().enumerate() {
        let _ = writeln!(text, "cpu{cpu} {}{cpu} {}", if cpu < 16 { 'P' } else { 'E' }, cells.join(" "));
    }
    let row = |cells: &[String]| cells.iter().map(|c| if c.is_empty() { "." } else { c }).collect::<Vec<_>>().join(" ");
    let woken = |at| wakings.iter().find(|(when, _)| *when == at).map_or(".".into(), |(_, cpu)| format!("B@{cpu}"));
    let waking = (0..=end).map(woken).collect::<Vec<String>>().join(" ");
    let idle = (0..24).map(|cpu| format!(".@{cpu}")).collect::<Vec<_>>().join(",");
    let _ = writeln!(
        text,
        "mark {}\nparked {}\nwaking {waking}\ncurrent {idle}\nallowed B={ALLOWED}",
        row(&marks),
        row(&parked)
    );
    text
}

/// "AI stalling >9 parked, expected <9": the frames take longer than others exactly while more than nine CPUs are parked.
#[test]
fn cap_65_parked_frame_time_against_parked_cores() {
    let text = game();
    let a = drawn(&text, machine(&text), |whole| whole);
    let table = &a.tables["frames_parked"];
    let cols = ["parked", "unknown", "frames", "mean_ns", "p95_ns", "longest_ns", "over_budget", "max_parked"];
    let rows: Vec<_> = (0..table.rows.len()).map(|row| cols.map(|col| table.int(row, col).unwrap())).collect();
    let long = |frames: i64, took: i64, over: i64, parked: i64| {
        [parked, 0, frames, took * MS, took * MS, took * MS, over, parked]
    };
    assert_eq!(rows, [long(2, 16, 0, 6), long(3, 16, 0, 8), long(1, 35, 1, 10), long(1, 35, 1, 12)]);
    for [parked, .., over, _] in &rows {
        assert_eq!(*parked > 9, *over > 0);
    }
    assert_eq!(table.int(0, "budget_ns"), Some(16 * MS));
    // The number parked at the same time, over the whole recording: sums of the drawing.
    let together = &a.tables["parked_together"];
    let of_all = (0..together.rows.len()).filter(|row| together.rows[*row][0] == Value::Null);
    let of_all: Vec<_> =
        of_all.map(|row| ["parked", "unknown", "duration_ns"].map(|col| together.int(row, col).unwrap())).collect();
    // The last millisecond, after the last frame, is the same.
    assert_eq!(of_all, [[6, 0, 32 * MS], [8, 0, 48 * MS], [10, 0, 36 * MS], [12, 0, 35 * MS]]);
}

/// Only in the stalls is the AI thread ready while the CPUs on which it is allowed are busy or parked.
#[test]
fn cap_57_parked_what_the_ai_thread_waits_for() {
    let text = game();
    let a = drawn(&text, machine(&text), |whole| whole);
    let table = &a.tables["ready_wait"];
    let row = (0..table.rows.len()).find(|row| table.int(*row, "tid") == Some(testkit::tid('B').0.into())).unwrap();
    let of = |col: &str| table.int(row, col).map(Ns);
    // Twice, from 1 ms into the frame until 3 ms before its end at 35.
    assert_eq!(of("ready_ns"), Some(ms(2 * 31)));
    assert_eq!(of("free_parked_ns"), Some(ms(2 * 31)));
    for col in ["no_cpu_free_ns", "free_same_type_ns", "free_other_type_ns", "free_not_allowed_ns", "wakeup_latency_ns"]
    {
        assert_eq!(of(col), Some(Ns::ZERO), "{col}");
    }
}
