//! Capabilities 55 to 57: three case studies of a vendor, drawn with their numbers. The top finding and its fix must be those of
//! the source.

use crate::support;
use diagnose::{Diagnosis, Finding, Options};
use model::{CpuId, Event, EventKind, Ns, Pid, Tid};

/// Checks all rules on threads of one process with the given names.
fn diagnosed(drawn: &str, names: &[(u8, &str)]) -> Diagnosis {
    let session = support::drawn(drawn, |_, batch| {
        for (thread, name) in names {
            batch.names[usize::from(thread - b'A')] = (*name).into();
        }
        let Some(first) = batch.events.first() else { panic!("the drawing is empty") };
        let (at, offset) = (first.at, first.offset);
        let mut threads: Vec<(Tid, model::NameId)> = Vec::new();
        for event in &batch.events {
            if let EventKind::Switch(switch) = &event.what {
                threads.extend([(switch.prev, switch.prev_name), (switch.next, switch.next_name)]);
            }
        }
        threads.sort_by_key(|(tid, _)| *tid);
        threads.dedup_by_key(|(tid, _)| *tid);
        let of_one = |(tid, name): &(Tid, model::NameId)| Event {
            at,
            offset,
            cpu: CpuId(0),
            current: Tid::IDLE,
            what: EventKind::Name { tid: *tid, pid: Pid(7000), name: *name },
        };
        let named: Vec<Event> = threads.iter().filter(|(tid, _)| *tid != Tid::IDLE).map(of_one).collect();
        batch.events.splice(0..0, named);
    });
    diagnose::diagnose(&session, &Options::default()).unwrap()
}

fn top(diagnosis: &Diagnosis) -> &Finding {
    diagnosis.findings.first().unwrap_or_else(|| panic!("no findings: {diagnosis:#?}"))
}

/// One column is one second of the source. A is 9404 (ran 29.6 s), B 1948 (18.3, waited 11.6), C 472 and D 6196 (11.9 each,
/// waited 17.8), F 17784 (11.6, ready 1.0, waited 17.5), E 16832 (26.2, waited 6.1: 32.3 s of 30, an erratum, so 24 here), which
/// the source shows on an efficient core; G is background work without a name in the source. The source prints priorities
/// only for the symmetric machine, where threads of priority 9 are ready for half of their time: 15 for A and B, 11 for E, 9 for the
/// others, drawn as 115, 119 and 121.
///
/// Low-priority work always occupies P1: E is woken and runs on the efficient core for 24 ms. At 0.615 of the speed (capacities are not
/// recorded) that is 24 × 0.385 = 9.24 ms; only F waits, 1 ms. The source: priority no longer keeps low-priority work out of the way, so
/// urgent threads that wake later run on efficient cores; defer the background work, or mark it as EcoQoS.
#[test]
fn cap_55_diagnosed_low_priority_work_on_fast_cores() {
    let diagnosis = diagnosed(
        "cpu0 P0  A A A A A A A A A A A A A A A A A A A A A A A A A A A A A  A
         cpu1 P1  C C C C C C C C C C C Cs D D D D D D D D D D D Ds G G G G G G
         cpu2 P2  B B B B B B B B B B B B B B B B B Bs F F F F F F F F F F F F
         cpu3 E3  E E E E E Es . . . . . . E E E E E E E E E E E E E E E E E E
         waking   . . . . . . . . . . . . E@3,D@1 . . . . F@2 . . . . . . G@1 . . . . .
         prio     A=115,B=115,E=119,C=121,D=121,F=121,G=121 . . . . . . . . . . . . . . . . . . . . . . . . . . . . .
         allowed  A=0-3,B=0-3,C=0-3,D=0-3,E=0-3,F=0-3,G=0-3 . . . . . . . . . . . . . . . . . . . . . . . . . . . . .",
        &[(b'A', "9404"), (b'B', "1948"), (b'C', "472"), (b'D', "6196"), (b'E', "16832"), (b'F', "17784")],
    );
    let finding = top(&diagnosis);
    assert_eq!(finding.rule, "high-priority-woke-to-efficient-core-behind-low", "{diagnosis:#?}");
    assert_eq!((finding.threads[0].name.as_str(), finding.recoverable_ns), ("16832", Ns(9_240_000)));
    assert!(finding.action.windows.contains("EcoQoS"), "{}", finding.action.windows);
    assert!(finding.action.what.contains("as not urgent"), "{}", finding.action.what);
}

/// 13112 (C), with the workers' priority, wakes 5212 (H), with a high one, which has a performance core for itself when it runs.
/// C is queued behind workers each time that it is woken, and half of its running time is on efficient cores. Priority 11 is drawn
/// as 119, and 15 as 115.
///
/// ```text
/// H has woken C | C queued behind workers, 2 ms | C runs for 2 ms, and wakes H in the second | H runs for 1 ms |, four times
/// ```
/// C is on the path while it is ready and until it wakes H: 3 of each 5 ms, 12 of 21. Its waiting is 8 ms. The lower bound is half of the
/// saving, the upper bound
/// the waiting plus what faster cores, which its equals had meanwhile, save of the 2 ms that it ran on efficient ones: at most 0.68 of them,
/// 1.36 ms. The source: the critical path is unclear, and there are too many workers; raise the priority of the
/// critical thread, and start fewer workers.
#[test]
fn cap_56_diagnosed_the_critical_thread_has_the_workers_priority() {
    let diagnosis = diagnosed(
        "cpu0 P0  W  W  W  C  Cs W  W  W  W  W  W  W  W  W  W  W  W  W  C  Cs W
         cpu1 P1  Hs V  V  V  .  Hs V  V  V  .  Hs V  V  V  .  Hs V  V  V  .  H
         cpu2 E2  X  X  X  X  X  X  X  X  C  Cs X  X  X  X  X  X  X  X  X  X  X
         cpu3 E3  Y  Y  Y  Y  Y  Y  Y  Y  Y  Y  Y  Y  Y  C  Cs Y  Y  Y  Y  Y  Y
         waking   . C<H@0,V@1 . . H<C@1 . C<H@2,V@1 . . H<C@1 . C<H@3,V@1 . . H<C@1 . C<H@0,V@1 . . H<C@1 .
         prio     H=115,C=119,V=119,W=119,X=119,Y=119 . . . . . . . . . . . . . . . . . . . .
         allowed  H=0-3,C=0-3,V=0-3,W=0-3,X=0-3,Y=0-3 . . . . . . . . . . . . . . . . . . . .",
        &[(b'C', "13112"), (b'H', "5212"), (b'V', "worker"), (b'W', "worker"), (b'X', "worker"), (b'Y', "worker")],
    );
    let finding = top(&diagnosis);
    assert_eq!(finding.rule, "critical-thread-same-priority-as-workers", "{diagnosis:#?}");
    assert_eq!((finding.threads[0].name.as_str(), finding.range_ns), ("13112", [Ns(3_570_312), Ns(9_360_000)]));
    // Workers ten nice levels below have 110/1024 of its weight, so this part of the 8 ms remains.
    assert_eq!(finding.recoverable_ns, Ns(8_000_000 - 859_375));
    assert_eq!(
        finding.action.what,
        "Prioritise 13112 over worker: lower worker, or raise 13112 with the required privilege"
    );
}

/// The source's seven switches: 2776 (A), 17648 (B), 18168 (C) and 12076 (D) at the end of quanta on CPU 16, 8384 (M) on CPU 0
/// and 15420 (N) on CPU 8. The four may run on efficient cores only, 16 and up, and their ideal CPUs are outside; for the 35 ms
/// of the stall they share CPU 16, while 17 is idle and 18 is parked.
///
/// A runs until 8, where its quantum ends, and is queued behind the others until the end at 36: 28 ms, the longest wait. The source: the
/// ideal CPU is outside the affinity mask, so the previous CPU is chosen again; SetThreadIdealProcessor.
#[test]
fn cap_57_diagnosed_ideal_cpus_outside_the_affinity() {
    let diagnosis = diagnosed(
        "cpu0 P0   M M . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . M
         cpu8 P8   N . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . N
         cpu16 E16 A A A A A A A A B B B B B B B B C C C C C C C C D D D D D D D D D D D Ds
         cpu17 E17 F . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . .
         cpu18 E18 G . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . .
         waking    B@16,C@16,D@16 . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . M<D@0,N<D@8
         parked    . (@18 . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . .
         ideal     A@0,B@0,C@8,D@8 . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . .
         allowed   A=16-18,B=16-18,C=16-18,D=16-18,M=0-8,N=0-8,F=16-18,G=16-18 . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . .",
        &[(b'A', "2776"), (b'B', "17648"), (b'C', "18168"), (b'D', "12076"), (b'M', "8384"), (b'N', "15420")],
    );
    let finding = top(&diagnosis);
    assert_eq!(finding.rule, "ideal-cpu-outside-affinity", "{diagnosis:#?}");
    assert_eq!((finding.threads[0].name.as_str(), finding.recoverable_ns), ("2776", Ns(28_000_000)));
    assert!(finding.also.iter().any(|also| also.rule == "serialised-on-one-cpu"), "{:#?}", finding.also);
    assert!(finding.action.windows.contains("SetThreadIdealProcessor"), "{}", finding.action.windows);
}
