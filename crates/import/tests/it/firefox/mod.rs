//! Tests the importer of profiles of samply and the Firefox Profiler.

mod damaged;

use import::formats::firefox::Firefox;
use ingest::{Anomalies, Facts, Fatal, Importer, Input, Limits, Ordered};
use model::{Batch, Event, EventKind, NameId, StackFrame};
use std::fmt::Write;
use std::io::Cursor;
use std::path::Path;

const OURS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/firefox");

/// The contents of a profile.
struct Read {
    facts: Facts,
    events: Vec<Event>,
    names: Vec<String>,
    stacks: Vec<Box<[StackFrame]>>,
    anomalies: Anomalies,
    late: u64,
}

fn read(bytes: &[u8]) -> Result<Read, Fatal> {
    let opened = Firefox.open(Input::File(Box::new(Cursor::new(bytes))))?;
    let facts = opened.facts.clone();
    let mut ordered = Ordered::new(opened, false, Limits::default());
    let (mut batch, mut events, mut names, mut stacks) = (Batch::default(), vec![], vec![], vec![]);
    while ordered.next(&mut batch) {
        events.append(&mut batch.events);
        names.extend(batch.names.drain(..).map(String::from));
        stacks.append(&mut batch.stacks);
    }
    Ok(Read { facts, events, names, stacks, late: ordered.late(), anomalies: ordered.anomalies })
}

impl Read {
    fn name(&self, id: NameId) -> &str {
        (id.0 as usize).checked_sub(1).and_then(|at| self.names.get(at)).map_or("", |n| n)
    }

    /// Describes a frame: the function, the line, the file with the offset, and the address.
    fn frame(&self, frame: &StackFrame) -> String {
        if frame.address >= StackFrame::CONTEXT_MARKERS {
            return "user".to_owned();
        }
        let mut text = self.name(frame.function).to_owned();
        if frame.inlined {
            text += " inlined";
        }
        if frame.line > 0 {
            let _ = write!(text, " ({}:{})", self.name(frame.source), frame.line);
        }
        if frame.file != NameId::NONE {
            let _ = write!(text, " @{}", self.name(frame.file));
        }
        match frame.offset {
            u64::MAX if frame.address == 0 || frame.in_kernel() => {}
            u64::MAX => _ = write!(text, " at {:#x}", frame.address),
            offset if offset & StackFrame::FROM_BASE != 0 => {
                _ = write!(text, "+{:#x} from its base", offset & !StackFrame::FROM_BASE);
            }
            offset => _ = write!(text, "+{offset:#x}"),
        }
        text
    }

    fn line(&self, event: &Event) -> String {
        let at = event.at.0;
        match event.what {
            EventKind::Name { tid, pid, name } => format!("{at} {} of {} is {:?}", tid.0, pid.0, self.name(name)),
            EventKind::Count { tid, event, length, count, .. } => {
                format!("{at} {} ran {count} ns of {} ({})", tid.0, length.0, self.name(event))
            }
            EventKind::CpuSample { tid, stack, .. } => {
                let chain = (stack.0 as usize).checked_sub(1).and_then(|at| self.stacks.get(at)).into_iter().flatten();
                let chain: Vec<String> = chain.map(|frame| self.frame(frame)).collect();
                format!("{at} {} in {}", tid.0, chain.join(" < "))
            }
            ref other => format!("{at} {other:?}"),
        }
    }

    fn summary(&self, lines: usize) -> String {
        let mut text = String::new();
        let f = &self.facts;
        for (name, value) in &f.about {
            let _ = writeln!(text, "{name}: {value}");
        }
        let sampled = f.sampled.as_ref().unwrap();
        let _ = writeln!(text, "samples of {}; of running time: {}", sampled.event, sampled.of_time);
        for lack in &f.lacks {
            let _ = writeln!(text, "lacks: {lack}");
        }
        let count = |is: fn(&EventKind) -> bool| self.events.iter().filter(|e| is(&e.what)).count();
        let samples = count(|what| matches!(what, EventKind::CpuSample { .. }));
        let counts = count(|what| matches!(what, EventKind::Count { .. }));
        let _ = writeln!(text, "{} events, {samples} samples, {counts} counts, late: {}", self.events.len(), self.late);
        for (what, of) in &self.anomalies.0 {
            let _ = writeln!(text, "{what}: {}", of.count);
        }
        for event in self.events.iter().take(lines) {
            let _ = writeln!(text, "{}", self.line(event));
        }
        text
    }
}

/// Compares the files with the `*.md` in their folder, whose `trace` blocks name them.
#[test]
fn our_files_match_their_descriptions() {
    testkit::cases::run(Path::new(OURS), |name| {
        let bytes = std::fs::read(format!("{OURS}/{}", name.trim())).unwrap();
        let importer = import::detect(&bytes[..bytes.len().min(4096)]);
        assert_eq!(importer.map(Importer::id), Some("Firefox profile"), "{name}");
        read(&bytes).unwrap().summary(40)
    });
}

/// The samples of a thread stand for the CPU time that it had, whatever its samples are.
#[test]
fn the_number_of_samples_is_that_of_the_intervals_that_a_thread_ran() {
    for (micros, of_cpu) in [(1000, 1000), (100, 100), (1300, 1000), (0, 0)] {
        let column = |value: String| vec![value; 1000].join(",");
        let (stack, weight) = (column("0".to_owned()), column("1".to_owned()));
        let (time, cpu) = (column("1.5".to_owned()), column(micros.to_string()));
        let text = format!(
            "{{\"meta\":{{\"preprocessedProfileVersion\":55,\"interval\":1,\"sampleUnits\":{{\"threadCPUDelta\":\"µs\"}}}},\
             \"threads\":[{{\"tid\":\"7\",\"pid\":\"7\",\"samples\":{{\"stack\":[{stack}],\"timeDeltas\":[{time}],\
             \"weight\":[{weight}],\"threadCPUDelta\":[{cpu}]}}}}]}}"
        );
        let read = read(text.as_bytes()).unwrap();
        let samples = read.events.iter().filter(|e| matches!(e.what, EventKind::CpuSample { .. })).count();
        assert!(samples.abs_diff(of_cpu) <= 1, "{samples} samples for {micros} µs each");
    }
}
