//! The parts of the paths of which an account is made, in memory, with what the threads waited for.

use super::account::{Wait, WaitId};
use super::{Cause, Others, Piece};
use model::tables::object_waits;
use model::{Ns, Reason, Row, Span, ThreadKey, ThreadState};
use std::collections::{BTreeMap, HashMap};

/// The maximum number of parts. The rest of the path is summed by thread.
const MAX_PARTS: usize = 1 << 19;

/// The maximum number of things that are waited for. Of further ones, only the call and the kind are kept.
const MAX_WAITS: usize = 20_000;

/// Kinds whose objects' numbers say nothing: a wait has one of its own, or the number is another thread's.
const OF_NO_OBJECT: [&str; 6] = ["thread", "child", "sleep", "parker", "several", "unknown"];

/// To which windows a window belongs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Which {
    /// Those that are explained: the slow ones, or all.
    Slow,
    /// Those with which they are compared.
    Typical,
}

impl Which {
    /// The index in pairs of times.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self == Self::Typical)
    }
}

/// A part of a path in which one thread did one thing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) span: Span,
    pub(super) thread: ThreadKey,
    pub(super) cause: Cause,
    /// Blocked: for what. Ready: what the wait was for that ended with this part's begin.
    pub(super) wait: Option<WaitId>,
    /// Ready: whether the thread from which the path came held the lock.
    pub(super) is_held: bool,
    reason: Reason,
    /// Blocked: the thread that ended the wait and had slept until an interrupt.
    sleeper: ThreadKey,
    /// Since when and for what that thread slept, if that is known.
    slept: Option<(Ns, WaitId)>,
    others: Others,
}

/// A share of a part: its time, what the others did, and for what the thread waited.
type Share = ((Ns, Others), Option<WaitId>);

impl Part {
    /// Whether the thread was woken, or began, with this part.
    pub(super) fn begins(&self) -> bool {
        matches!(self.reason, Reason::Woken | Reason::New)
            && matches!(self.cause, Cause::Ready(_) | Cause::WakeupLatency | Cause::Throttled)
    }

    /// The thread that ended the wait and had slept until an interrupt.
    pub(super) fn sleeper(&self) -> ThreadKey {
        self.sleeper
    }

    /// The share of its thread, and that of the thread for which this one waited while it slept.
    pub(super) fn divided(&self) -> [Option<Share>; 2] {
        let whole = (self.span.len(), self.others);
        let own_wait = self.wait.filter(|_| self.cause == Cause::Blocked);
        let Some((since, wait)) = self.slept else { return [Some((whole, own_wait)), None] };
        let before = (since - self.span.start).max(Ns::ZERO);
        let share = before.as_f64() / self.span.len().max(Ns(1)).as_f64();
        let others = Others { alone: self.others.alone.scaled(share), idle: self.others.idle.scaled(share) };
        let rest = Others { alone: self.others.alone - others.alone, idle: self.others.idle - others.idle };
        let own = (before > Ns::ZERO).then_some(((before, others), own_wait));
        [own, Some(((self.span.len() - before, rest), Some(wait)))]
    }
}

/// The place of a part: the index of the window, and its own.
type Place = (usize, usize);

/// The parts of the paths of all windows. A fold over the pieces of the paths, and then over the waits of all threads.
#[derive(Debug, Default)]
pub struct Parts {
    pub(super) windows: Vec<(Option<Which>, Vec<Part>)>,
    pub(super) waits: Vec<Wait>,
    pub(super) rest: BTreeMap<(Which, ThreadKey, Cause), (Ns, Others)>,
    pub(super) counts: [i64; 2],
    held: usize,
    known: HashMap<Wait, WaitId>,
    /// The parts that begin or end a wait of each thread, by begin.
    of_threads: Option<HashMap<ThreadKey, Vec<(Ns, Place)>>>,
}

impl Parts {
    /// Starts for windows of these kinds; the parts of others (`None`) are not kept.
    #[must_use]
    pub fn new(windows: impl IntoIterator<Item = Option<Which>>) -> Self {
        let windows: Vec<_> = windows.into_iter().map(|which| (which, Vec::new())).collect();
        let mut counts = [0; 2];
        windows.iter().filter_map(|(which, _)| *which).for_each(|which| counts[which.index()] += 1);
        Self { windows, counts, ..Self::default() }
    }

    /// Adds the next piece of a window's path, in order of time.
    pub fn push(&mut self, window: usize, piece: &Piece) {
        let cause = Cause::of(piece);
        let Some((Some(which), parts)) = self.windows.get_mut(window) else { return };
        let sleeper = if piece.state == ThreadState::Blocked { piece.waker } else { ThreadKey::UNKNOWN };
        if let Some(last) = parts.last_mut()
            && (last.thread, last.cause, last.sleeper) == (piece.thread, cause, sleeper)
            && last.span.end == piece.span.start
            && piece.state != ThreadState::Blocked
            && last.reason == piece.reason
        {
            last.span.end = piece.span.end;
            last.others.add(piece.others);
            return;
        }
        if self.held >= MAX_PARTS {
            let (time, others) = self.rest.entry((*which, piece.thread, cause)).or_default();
            *time += piece.span.len();
            others.add(piece.others);
            return;
        }
        self.held += 1;
        parts.push(Part {
            span: piece.span,
            thread: piece.thread,
            cause,
            wait: None,
            is_held: false,
            reason: piece.reason,
            sleeper,
            slept: None,
            others: piece.others,
        });
    }

    /// Adds a wait of any thread, after all pieces.
    pub fn wait(&mut self, row: &Row<'_, object_waits::Table>) {
        if self.of_threads.is_none() {
            self.list();
        }
        let (thread, start, end) = row.all((object_waits::THREAD, object_waits::START_NS, object_waits::END_NS));
        let Some(places) = self.of_threads.as_ref().and_then(|all| all.get(&thread)) else { return };
        // A part may begin before the wait of the thread that slept, and at the wait's end.
        let from = places.partition_point(|(at, _)| *at < start);
        let to = places.partition_point(|(at, _)| *at <= end);
        let earlier = from.saturating_sub(1);
        let near: Vec<Place> = places[earlier..to].iter().map(|(_, place)| *place).collect();
        let mut id = None;
        for (window, at) in near {
            let before = at.checked_sub(1).and_then(|at| self.windows[window].1.get(at)).map(|part| part.thread);
            let part = self.windows[window].1[at];
            let is_own = part.thread == thread;
            let is_blocked = is_own && part.cause == Cause::Blocked && start <= part.span.start && part.span.end <= end;
            let is_end = is_own && part.begins() && part.span.start == end;
            let slept = part.sleeper == thread && part.span.end <= end && part.span.end > start;
            if !(is_blocked || is_end || slept) {
                continue;
            }
            let wait = *id.get_or_insert_with(|| self.named(row));
            let part = &mut self.windows[window].1[at];
            if slept {
                part.slept = Some((start, wait));
            } else {
                part.wait = Some(wait);
                part.is_held = is_end && before.is_some() && row.get(object_waits::HOLDER) == before;
            }
        }
    }

    /// Lists the parts by thread, and says which threads were started.
    fn list(&mut self) {
        let mut of = HashMap::<ThreadKey, Vec<(Ns, Place)>>::new();
        let start = Wait { kind: Wait::START.into(), ..Wait::default() };
        for (window, (_, parts)) in self.windows.iter().enumerate() {
            for (at, part) in parts.iter().enumerate() {
                if part.begins() || part.cause == Cause::Blocked {
                    of.entry(part.thread).or_default().push((part.span.start, (window, at)));
                }
                if part.sleeper > ThreadKey::IDLE {
                    of.entry(part.sleeper).or_default().push((part.span.start, (window, at)));
                }
            }
        }
        of.values_mut().for_each(|places| places.sort_unstable());
        self.of_threads = Some(of);
        let is_new = |part: &Part| part.reason == Reason::New && part.begins();
        if self.windows.iter().any(|(_, parts)| parts.iter().any(is_new)) {
            let id = self.id(start);
            let all = self.windows.iter_mut().flat_map(|(_, parts)| parts);
            all.filter(|part| is_new(part)).for_each(|part| part.wait = Some(id));
        }
    }

    fn named(&mut self, row: &Row<'_, object_waits::Table>) -> WaitId {
        let text = |text: Option<&str>| text.map(Box::from);
        let kind = row.get(object_waits::KIND);
        // Of an epoll set, what became ready in it says more.
        let ready = row.get(object_waits::READY_KIND).filter(|_| kind == "epoll");
        let (kind, object, name) = match ready {
            Some(ready) => (ready, row.get(object_waits::READY_OBJECT), row.get(object_waits::READY_PATH)),
            None => (kind, row.get(object_waits::OBJECT), row.get(object_waits::NAME)),
        };
        let object = object.filter(|_| !OF_NO_OBJECT.contains(&kind));
        let reason = text(row.get(object_waits::REASON));
        let wait = Wait { reason, kind: kind.into(), object: text(object), name: text(name) };
        if self.waits.len() < MAX_WAITS || self.known.contains_key(&wait) {
            return self.id(wait);
        }
        self.id(Wait { object: None, name: None, ..wait })
    }

    fn id(&mut self, wait: Wait) -> WaitId {
        let Self { known, waits, .. } = self;
        *known.entry(wait).or_insert_with_key(|wait| {
            waits.push(wait.clone());
            WaitId::try_from(waits.len() - 1).unwrap_or(WaitId::MAX)
        })
    }

    /// Ends the fold. Without waits, threads that were started are listed here.
    #[must_use]
    pub fn complete(mut self) -> Self {
        if self.of_threads.is_none() {
            self.list();
        }
        self
    }
}
