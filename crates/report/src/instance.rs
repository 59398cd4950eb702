//! The worst instance of each finding: what its thread and the CPUs did around that time.

use crate::words::{TIE, ms, plain};
use diagnose::{Finding, Interval};
use engine::{EngineError, Session, ThreadNames};
use model::tables::thread_state;
use model::{Ns, Row, Span, ThreadKey};
use page::{Instance, InstanceLane, Piece, Tone};
use std::collections::BTreeMap;

/// The maximum number of CPUs of a picture: those that ran most.
const MAX_CPUS: usize = 8;
/// The maximum number of pieces of a lane: the longest.
const MAX_PIECES: usize = 200;
/// The maximum number of pieces that are held for a picture while the stretches are read.
const MAX_HELD: usize = 50_000;

/// A picture that is being filled.
struct Filling<'a> {
    of: &'a Interval,
    window: Span,
    /// The states of the thread.
    states: Vec<Stretch>,
    /// What ran on each CPU.
    ran: BTreeMap<i64, Vec<Stretch>>,
    held: usize,
}

#[derive(Clone)]
struct Stretch {
    span: Span,
    thread: ThreadKey,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Ready,
    Blocked,
    Unknown,
}

/// Makes the pictures of findings, in one pass over the threads' stretches; `None` for a finding without a worst instance.
///
/// # Errors
/// The trace cannot be read.
pub fn all(session: &Session, findings: &[(usize, &Finding)]) -> Result<Vec<Option<Instance>>, EngineError> {
    let whole = session.range().unwrap_or(Span { start: Ns::ZERO, end: Ns(session.summary().span_ns) });
    let mut filling: Vec<Option<Filling<'_>>> = findings.iter().map(|(_, finding)| start(finding, whole)).collect();
    if filling.iter().all(Option::is_none) {
        return Ok(filling.iter().map(|_| None).collect());
    }
    session.each(thread_state::Table, |row| filling.iter_mut().flatten().for_each(|of| of.push(&row)))?;
    let names = session.names()?;
    Ok(filling.into_iter().map(|of| of.map(|of| of.finish(names))).collect())
}

fn start<'a>(finding: &'a Finding, whole: Span) -> Option<Filling<'a>> {
    let of = finding.worst.first()?;
    // Half of its length on each side.
    let room = ((of.end_ns - of.start_ns) / 2).max(Ns(1000));
    let window = Span { start: of.start_ns - room, end: of.end_ns + room };
    Some(Filling { of, window: window.overlap(whole)?, states: Vec::new(), ran: BTreeMap::new(), held: 0 })
}

impl Filling<'_> {
    fn push(&mut self, row: &Row<'_, thread_state::Table>) {
        use thread_state::{CPU, END_NS, START_NS, STATE, THREAD};
        let (start, end, thread) = row.all((START_NS, END_NS, THREAD));
        let Some(span) = (Span { start, end }).overlap(self.window) else { return };
        let state = match row.get(STATE) {
            "running" => State::Running,
            "ready" => State::Ready,
            "blocked" => State::Blocked,
            "unknown" => State::Unknown,
            _ => return,
        };
        if self.held >= MAX_HELD {
            return;
        }
        let stretch = Stretch { span, thread, state };
        if state == State::Running
            && let Some(cpu) = row.get(CPU)
        {
            self.ran.entry(cpu).or_default().push(stretch.clone());
            self.held += 1;
        }
        if thread == self.of.thread {
            self.states.push(stretch);
            self.held += 1;
        }
    }

    fn finish(self, names: &ThreadNames) -> Instance {
        let of = self.of;
        let name = |thread: ThreadKey| names.get(thread).map_or_else(|| "?".to_owned(), plain);
        let most = self.ran_most(&name);
        let state = |s: &Stretch| {
            let (tone, word) = match s.state {
                State::Running => (Tone::Blue, "running"),
                State::Ready => (Tone::Orange, "ready"),
                State::Blocked => (Tone::Idle, "blocked"),
                State::Unknown => (Tone::Unknown, "unknown"),
            };
            piece(s, tone, word.to_owned())
        };
        let ran = |s: &Stretch| {
            let tone = match s.thread {
                thread if thread == of.thread => Tone::Blue,
                thread if Some(name(thread)) == most => Tone::Purple,
                _ => Tone::Sky,
            };
            piece(s, tone, name(s.thread))
        };
        let own = format!("{} {}", plain(&of.name), of.tid);
        let mut lanes = vec![lane(own.clone(), &self.states, state)];
        let mut cpus: Vec<(&i64, Ns)> =
            self.ran.iter().map(|(cpu, all)| (cpu, all.iter().map(|s| s.span.len()).sum())).collect();
        cpus.sort_by_key(|(cpu, ns)| (std::cmp::Reverse(*ns), **cpu));
        cpus.truncate(MAX_CPUS);
        cpus.sort_unstable();
        lanes.extend(cpus.iter().map(|(cpu, _)| lane(format!("CPU {cpu}"), &self.ran[*cpu], ran)));
        let mut legend = vec![(Tone::Blue, format!("{own} runs"))];
        for (tone, words) in [(Tone::Orange, "is ready"), (Tone::Idle, "is blocked"), (Tone::Unknown, "unknown")] {
            if lanes[0].pieces.iter().any(|piece| piece.tone == tone) {
                legend.push((tone, words.to_owned()));
            }
        }
        let on_cpus = |tone| lanes[1..].iter().any(|lane| lane.pieces.iter().any(|piece| piece.tone == tone));
        if let Some(most) = most.filter(|_| on_cpus(Tone::Purple)) {
            legend.push((Tone::Purple, format!("{most} runs, most of all meanwhile")));
        }
        if on_cpus(Tone::Sky) {
            legend.push((Tone::Sky, "another thread runs".to_owned()));
        }
        Instance {
            title: format!(
                "Worst instance: {own} is {} for {}{TIE}ms ({})",
                of.state,
                ms(of.end_ns - of.start_ns),
                plain(&of.cause)
            ),
            window: self.window,
            marked: Span { start: of.start_ns, end: of.end_ns },
            legend,
            lanes,
        }
    }

    /// The name of the other threads that ran longest during the interval.
    fn ran_most(&self, name: &impl Fn(ThreadKey) -> String) -> Option<String> {
        let marked = Span { start: self.of.start_ns, end: self.of.end_ns };
        let mut sums = BTreeMap::<String, Ns>::new();
        for stretch in self.ran.values().flatten().filter(|s| s.thread != self.of.thread) {
            let ns = stretch.span.overlap(marked).map_or(Ns::ZERO, Span::len);
            *sums.entry(name(stretch.thread)).or_default() += ns;
        }
        sums.into_iter().filter(|(_, ns)| *ns > Ns::ZERO).max_by_key(|(_, ns)| *ns).map(|(name, _)| name)
    }
}

fn piece(of: &Stretch, tone: Tone, label: String) -> Piece {
    let about = format!("{label}: {}{TIE}to{TIE}{}{TIE}ms", ms(of.span.start), ms(of.span.end));
    Piece { span: of.span, tone, label, about }
}

fn lane(label: String, of: &[Stretch], piece: impl Fn(&Stretch) -> Piece) -> InstanceLane {
    let mut longest: Vec<&Stretch> = of.iter().collect();
    longest.sort_by_key(|s| std::cmp::Reverse(s.span.len()));
    longest.truncate(MAX_PIECES);
    longest.sort_by_key(|s| s.span.start);
    InstanceLane { label, pieces: longest.into_iter().map(piece).collect() }
}
