//! What each wait of a thread is for, who held it, and who ended it.
//!
//! ```text
//!   A   run │ waits for the word w (its owner: B) ────────────────────────────│ ready
//!   C       │          waits for w ──────────│ ready, run                     │
//!   B   holds w ─────────────────────────────▲                                │
//!                                            └ B wakes w: C takes it ─────────▲
//!                                                                             └ C wakes w: A's wait has two holders, B and C
//! ```
//!
//! The thread that wakes a word of a lock had it until then. So the wakes of a word divide a wait for it into parts, each with its holder.
//! If the memory at the word named another thread than the first of them, who held it when the wait began is unknown.

use crate::by_thread::ByThread;
use crate::recent::Recent;
use crate::{Analysis, Begins, Context, ReasonId, World};
use model::{
    Change, FutexWait, NameId, Ns, ObjectWait, Pid, Rows, SetTo, Span, StackId, ThreadKey, ThreadState, ThreadStretch,
    Tid, TimelineEvent, Value, WaitKind,
};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Object {
    /// A futex word: the process, if known, and the address in it; of a word that processes share, those of one of them.
    Word(Pid, u64),
    /// Anything else, by its number.
    Other(WaitKind, u64),
}

impl Object {
    /// Returns the cell of its process; null: it belongs to none.
    pub(crate) fn process(self) -> Value {
        match self {
            Self::Word(pid, _) => Some(i64::from(pid.0)).filter(|_| pid != Pid::UNKNOWN).into(),
            Self::Other(..) => Value::Null,
        }
    }

    /// Returns what distinguishes it from others of its kind: an address, a number, or the device and inode of a file.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Word(_, address) => format!("{address:#x}"),
            // Pipes have numbers of 32 bits; those with a name are on a device.
            Self::Other(WaitKind::File | WaitKind::Device | WaitKind::Pipe, id) if id >> 32 != 0 => {
                let (device, inode) = (id >> 32, id & u64::from(u32::MAX));
                // The kernel's own encoding (MAJOR, MINOR).
                format!("{}:{}/{inode}", device >> 20, device & 0xf_ffff)
            }
            // Above it, a number distinguishes sets of as many.
            Self::Other(WaitKind::Several, id) => (id & u64::from(u32::MAX)).to_string(),
            Self::Other(_, id) => id.cast_signed().to_string(),
        }
    }
}

/// A wait that is over, or that lasts beyond the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) thread: ThreadKey,
    pub(crate) tid: Tid,
    pub(crate) span: Span,
    /// Whether its begin and its end were seen.
    pub(crate) is_whole: bool,
    /// Whether it ended before the end of the range.
    pub(crate) is_over: bool,
    pub(crate) reason: Option<ReasonId>,
    pub(crate) stack: StackId,
    /// What it waits for, if that was recorded.
    pub(crate) object: Option<(Object, WaitKind)>,
    /// Its name, if it has one.
    pub(crate) name: NameId,
    /// What became ready and ended the wait, of an epoll set.
    pub(crate) ready: Option<Ready>,
    /// The thread that held the lock when the wait began: it was the first to wake the word.
    pub(crate) holder: Option<ThreadKey>,
    /// How the holder is known.
    pub(crate) basis: Option<Basis>,
    /// Its TID.
    pub(crate) holder_tid: Tid,
    /// How long it held the lock, from the begin of the wait.
    pub(crate) held: Ns,
    /// What the holder did meanwhile, in the order of [`Recent::during`].
    pub(crate) holder_times: [Ns; 4],
    /// What it waited for longest meanwhile.
    pub(crate) holder_reason: Option<ReasonId>,
    /// Its callchain in that wait.
    pub(crate) holder_stack: StackId,
    /// The thread that the memory named when the wait began. It may not be the holder: memory can be out of date.
    pub(crate) named: Option<ThreadKey>,
    /// How many threads in turn woke the word during the wait.
    pub(crate) holders: i64,
    /// The thread that ended the wait by waking the word; [`ThreadKey::IDLE`]: an interrupt, as at a timeout.
    pub(crate) released_by: Option<ThreadKey>,
}

/// What became ready in an epoll set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Ready {
    pub(crate) kind: WaitKind,
    id: u64,
    pub(crate) name: NameId,
}

impl Ready {
    /// Returns what distinguishes it from others of its kind.
    pub(crate) fn text(self) -> String {
        Object::Other(self.kind, self.id).text()
    }
}

/// How the holder of a lock is known, besides that it was the first to wake the word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Basis {
    /// The memory named it.
    Memory,
    /// The memory names no thread, and a mutex that threads wait for is not given back without waking one of them.
    Release,
}

impl Basis {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Release => "release",
        }
    }
}

#[derive(Clone, Default)]
struct Thread {
    tid: Tid,
    /// In its own PID namespace, if that is another.
    inner: Option<Tid>,
    recent: Recent,
    open: Option<Open>,
    /// The wait that ended at this instant. Another event of the instant may say that its waker did not wake the word.
    ended: Option<(Open, Ended)>,
    /// The call of `futex()` in which it is, in recordings of these calls.
    call: Option<FutexWait>,
    /// What it waits for, or waited for last.
    last: Option<Target>,
    /// What it waited for before that. A call that a signal interrupted goes on for the same.
    before: Option<Target>,
}

/// What a thread waits for.
#[derive(Clone, Copy)]
struct Target {
    object: Object,
    kind: WaitKind,
    name: NameId,
    /// The call, if it is a futex.
    futex: Option<FutexWait>,
    /// The thread that the memory names, by its TID; of a futex, in its own namespace.
    named: Option<Tid>,
    /// That thread of any process, if processes share the word.
    named_thread: Option<ThreadKey>,
}

impl Target {
    /// Returns the address of the word in the process of the thread that waits; 0 for anything else.
    fn address(&self) -> u64 {
        self.futex.map_or(0, |wait| wait.address)
    }

    /// Whether other processes may have the same word at other addresses.
    fn is_shared_word(&self) -> bool {
        self.futex.is_some_and(|wait| !wait.is_private())
    }
}

#[derive(Clone, Copy)]
struct Open {
    span: Span,
    begins: bool,
    reason: Option<ReasonId>,
    stack: StackId,
    target: Option<Target>,
    /// The first thread that woke the word in a row, and until when.
    first: Option<(ThreadKey, Ns)>,
    last: ThreadKey,
    holders: i64,
    ready: Option<Ready>,
}

#[derive(Clone, Copy)]
struct Ended {
    at: Ns,
    waker: ThreadKey,
    /// The address of the word that the waker wakes, in its own process, or 0; `None`: it does something else.
    address: Option<u64>,
}

impl Open {
    /// A thread wakes the word: it had the lock until now.
    fn woken(&mut self, by: ThreadKey, at: Ns) {
        match &mut self.first {
            Some((first, until)) if self.holders == 1 && *first == by => *until = at,
            Some(_) if self.last == by => {}
            Some(_) => self.holders += 1,
            None => (self.first, self.holders) = (Some((by, at)), 1),
        }
        self.last = by;
    }
}

/// The waits of all threads.
struct WaitedFor {
    threads: ByThread<Thread>,
    /// The threads that wait for each object.
    waiters: FxHashMap<Object, Vec<ThreadKey>>,
    /// All threads by their TIDs.
    tids: FxHashMap<Tid, ThreadKey>,
    /// Words whose memory showed that they are locks, and those of which callchains showed that only one thread waits for them. Neither is
    /// known of every wait.
    kinds: FxHashMap<Object, WaitKind>,
    /// The word that stands for a shared one, by the address in another process.
    same: FxHashMap<Object, Object>,
    /// Whether threads waited for a word with the value of a contended mutex only, in recordings of calls.
    values: FxHashMap<Object, bool>,
    /// Whether calls of `futex()` and their returns are recorded. True after the first return.
    has_calls: bool,
    /// The threads whose waits ended at this instant, in order.
    ended: VecDeque<ThreadKey>,
    over: VecDeque<Wait>,
}

/// The system call that goes on with one that a signal interrupted.
const RESTARTED: &str = "restart_syscall";

/// The system call that waits for words and wakes them.
const FUTEX: &str = "futex";

/// The system calls with which a thread ends: the kernel wakes the word for which those wait that join it.
const EXITS: [&str; 2] = ["exit", "exit_group"];

impl WaitedFor {
    fn new() -> Self {
        Self {
            threads: ByThread::new(),
            waiters: FxHashMap::default(),
            tids: FxHashMap::default(),
            kinds: FxHashMap::default(),
            same: FxHashMap::default(),
            values: FxHashMap::default(),
            has_calls: false,
            ended: VecDeque::new(),
            over: VecDeque::new(),
        }
    }

    /// Takes the begin of a thread's stretch.
    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, world: &World) {
        self.settle(world.now, world);
        let thread = self.threads.of(stretch.thread);
        if thread.tid != stretch.tid {
            thread.tid = stretch.tid;
            self.tids.insert(stretch.tid, stretch.thread);
        }
        thread.recent.push(stretch);
        if let Some(open) = thread.open.take() {
            let waker = match stretch.state {
                ThreadState::Ready => stretch.waker_thread,
                _ => ThreadKey::UNKNOWN,
            };
            let address = open.target.and_then(|target| self.woken_address(&target, waker));
            let thread = self.threads.of(stretch.thread);
            let ended = Ended { at: stretch.span.start, waker, address };
            if let Some((open, ended)) = thread.ended.replace((open, ended)) {
                self.end(stretch.thread, open, Some(ended), world);
            }
            self.ended.push_back(stretch.thread);
        }
        if stretch.state == ThreadState::Blocked {
            let call = self.threads.of(stretch.thread).call.filter(FutexWait::may_wait);
            let target = call.map(|call| self.target(stretch.thread, call, world));
            let thread = self.threads.of(stretch.thread);
            thread.before = thread.last.take();
            thread.open = Some(Open {
                span: stretch.span,
                begins: begins == Begins::Here && stretch.span.start > Ns::ZERO,
                reason: None,
                stack: StackId::NONE,
                target: None,
                first: None,
                last: ThreadKey::UNKNOWN,
                holders: 0,
                ready: None,
            });
            if let Some(target) = target {
                self.waits(stretch.thread, target, stretch.span.start);
            }
        }
    }

    /// Returns the address of the word that a waker wakes, in its own process; `None`: it does something else.
    fn woken_address(&self, target: &Target, waker: ThreadKey) -> Option<u64> {
        let by = self.threads.get(waker);
        // Where calls are recorded, a waker that is in none wakes no futex, except that of its own end.
        let is_its_end = || target.named.is_some() && by.map(|by| by.inner.unwrap_or(by.tid)) == target.named;
        if !self.has_calls || target.futex.is_none() || (target.kind == WaitKind::Thread && is_its_end()) {
            return Some(target.address());
        }
        let address = by?.call?.address;
        (address == target.address() || target.is_shared_word()).then_some(address)
    }

    /// Takes what a thread waits for by its callchain.
    fn blocked_by(&mut self, thread: ThreadKey, reason: ReasonId, world: &World) {
        let of = self.threads.of(thread);
        of.recent.waits_for(world.now, reason);
        let Some(open) = of.open.as_mut().filter(|open| open.span.start == world.now) else { return };
        open.reason = Some(reason);
        if open.target.is_none()
            && let Some(before) = of.before
            && world.reason(reason) == Some(RESTARTED)
        {
            self.waits(thread, before, world.now);
        }
    }

    /// Takes the callchain of a thread that waits.
    fn blocked_at(&mut self, thread: ThreadKey, stack: StackId, world: &World) {
        let of = self.threads.of(thread);
        of.recent.waits_at(world.now, stack);
        if let Some(open) = of.open.as_mut().filter(|open| open.span.start == world.now) {
            open.stack = stack;
        }
    }

    /// Takes an event.
    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, world: &World) {
        match event.what {
            Change::FutexCall(call) => {
                // Without returns it is unknown in which call a thread waits.
                self.has_calls |= call.is_none();
                self.threads.of(thread).call = call.filter(|_| self.has_calls);
                if let Some(call) = call.filter(FutexWait::wakes) {
                    self.releases(thread, call, world);
                }
            }
            Change::FutexWait(wait) => {
                let target = self.target(thread, wait, world);
                self.waits(thread, target, world.now);
            }
            Change::ObjectWait(ObjectWait { kind, id, name, holder, .. }) => {
                let named = Some(holder).filter(|tid| *tid != Tid::UNKNOWN);
                let target =
                    Target { object: Object::Other(kind, id), kind, name, futex: None, named, named_thread: None };
                self.waits(thread, target, world.now);
            }
            Change::ObjectReady(kind, id, name) => self.ready(thread, Ready { kind, id, name }, world.now),
            Change::WokenByCall(call, argument) => self.woken_by_call(thread, call, argument, world),
            _ => {}
        }
    }

    /// Takes a setting of a thread.
    fn setting(&mut self, thread: ThreadKey, to: &SetTo) {
        if let SetTo::Inner(tid) = to {
            self.threads.of(thread).inner = Some(*tid);
        }
    }

    /// Returns the word at an address of a thread's process.
    fn word(&self, thread: ThreadKey, address: u64, world: &World) -> Object {
        let word = Object::Word(world.groups.process(thread).unwrap_or(Pid::UNKNOWN), address);
        self.same.get(&word).copied().unwrap_or(word)
    }

    /// Returns what a thread waits for in a futex call.
    fn target(&mut self, thread: ThreadKey, wait: FutexWait, world: &World) -> Target {
        let object = self.word(thread, wait.address, world);
        let process = world.groups.process(thread);
        let (of_call, named) = world.numbers.awaited(process, &wait, world.now);
        let kind = match self.kinds.get(&object).copied() {
            Some(kind) if wait.is_unclear() => kind,
            None if self.has_calls && self.is_always_contended(object, &wait) => WaitKind::Mutex,
            _ => of_call,
        };
        if kind.is_lock() && wait.read {
            self.keep_kind(object, kind);
        }
        let shared = named.filter(|_| !wait.is_private());
        let named_thread = shared.and_then(|tid| world.numbers.anywhere(thread, process, tid));
        Target { object, kind, name: NameId::NONE, futex: Some(wait), named, named_thread }
    }

    /// A thread wakes a word. It had the lock until now, even if no waiting thread has left its CPU yet.
    fn releases(&mut self, by: ThreadKey, call: FutexWait, world: &World) {
        let word = self.word(by, call.address, world);
        for waiter in self.waiters.get(&word).into_iter().flatten() {
            if let Some(open) = &mut self.threads.of(*waiter).open {
                open.woken(by, world.now);
            }
        }
    }

    /// Whether threads wait for a word with no other value than that of a contended mutex, in recordings of calls, which have no memory. The
    /// value of a barrier or of a condition variable changes.
    fn is_always_contended(&mut self, object: Object, wait: &FutexWait) -> bool {
        if self.values.len() >= MAX_KEPT {
            self.values.clear();
        }
        let is_contended = wait.is_unclear() && wait.is_contended();
        let always = self.values.entry(object).or_insert(is_contended);
        *always &= is_contended;
        *always
    }

    fn waits(&mut self, thread: ThreadKey, target: Target, now: Ns) {
        let of = self.threads.of(thread);
        if let Some(open) = of.open.as_mut().filter(|open| open.span.start == now && open.target.is_none()) {
            open.target = Some(target);
            of.last = Some(target);
            self.waiters.entry(target.object).or_default().push(thread);
        }
    }

    /// Takes what became ready in the epoll set for which a thread waits, or waited until this instant.
    fn ready(&mut self, thread: ThreadKey, ready: Ready, now: Ns) {
        let of = self.threads.of(thread);
        let ended = of.ended.as_mut().filter(|(_, ended)| ended.at == now).map(|(open, _)| open);
        if let Some(open) = of.open.as_mut().or(ended)
            && open.target.is_some_and(|target| target.kind == WaitKind::Epoll)
        {
            open.ready = Some(ready);
        }
    }

    fn woken_by_call(&mut self, thread: ThreadKey, call: NameId, argument: u64, world: &World) {
        let call = world.name(call).unwrap_or_default();
        if let Some((open, ended)) = &mut self.threads.of(thread).ended
            && ended.at == world.now
        {
            // A word that processes share may have another address in each.
            let elsewhere = call == FUTEX && open.target.is_some_and(|target| target.is_shared_word());
            // A thread that ends wakes those that wait for its end, and signals its parent and the others of its process.
            let ends = EXITS.contains(&call) && open.target.is_some_and(|target| target.kind == WaitKind::Thread);
            ended.address = if elsewhere { Some(argument) } else { ended.address.filter(|_| ends) };
        }
    }

    /// Joins the words of two processes that are the same: a thread of one of them wakes what waits for the other.
    fn join(&mut self, word: Object, other: Object) {
        if self.same.len() >= MAX_KEPT {
            self.same.clear();
        }
        let moved = self.waiters.remove(&other).unwrap_or_default();
        for waiter in &moved {
            if let Some(target) = self.threads.of(*waiter).open.as_mut().and_then(|open| open.target.as_mut()) {
                target.object = word;
            }
        }
        self.waiters.entry(word).or_default().extend(moved);
        self.same.values_mut().filter(|of| **of == other).for_each(|of| *of = word);
        self.same.insert(other, word);
    }

    /// Ends the waits that ended before this instant.
    fn settle(&mut self, now: Ns, world: &World) {
        while let Some(thread) = self.ended.front().copied() {
            let Some((open, ended)) = self.threads.of(thread).ended else {
                self.ended.pop_front();
                continue;
            };
            if ended.at >= now {
                return;
            }
            self.ended.pop_front();
            self.threads.of(thread).ended = None;
            self.end(thread, open, Some(ended), world);
        }
    }

    /// Ends a wait; without `ended`, it lasts beyond the end.
    fn end(&mut self, thread: ThreadKey, mut open: Open, ended: Option<Ended>, world: &World) {
        let wakes = ended.filter(|ended| ended.waker > ThreadKey::IDLE && ended.address.is_some());
        if let Some(target) = open.target
            && let Some((waker, address)) = wakes.and_then(|ended| Some((ended.waker, ended.address?)))
            && target.is_shared_word()
        {
            let other = self.word(waker, address, world);
            if other != target.object {
                self.join(target.object, other);
            }
        }
        if let Some(target) = open.target
            && let Some(waiters) = self.waiters.get_mut(&target.object)
        {
            waiters.retain(|waiter| *waiter != thread);
            if let Some(ended) = wakes {
                open.woken(ended.waker, ended.at);
                for waiter in waiters.iter() {
                    if let Some(other) = &mut self.threads.of(*waiter).open {
                        other.woken(ended.waker, ended.at);
                    }
                }
            }
            if waiters.is_empty() {
                self.waiters.remove(&target.object);
            }
        }
        if let Some(target) = open.target.as_mut().filter(|target| !target.kind.is_lock())
            && let Some(wait) = &target.futex
            && let Some(known) = world.numbers.awaited_since(world.groups.process(thread), wait, open.span.start)
        {
            (target.kind, target.named) = known;
        }
        if let Some(target) = open.target.as_mut().filter(|target| target.kind == WaitKind::Signal)
            && self.parks(target.object, open.stack, world)
        {
            target.kind = WaitKind::Parker;
        }
        let kind = open.target.map(|target| target.kind);
        let named = open.target.and_then(|target| target.named);
        let first = open.first.filter(|(by, _)| kind.is_some_and(WaitKind::is_lock) && *by != thread);
        let is_futex = open.target.is_some_and(|target| target.futex.is_some());
        let number = |of: &Thread| of.inner.filter(|_| is_futex).unwrap_or(of.tid);
        let is_named = |by: ThreadKey| self.threads.get(by).map(number) == named;
        let basis = match first {
            Some((by, _)) if named.is_some() => is_named(by).then_some(Basis::Memory),
            Some(_) if matches!(kind, Some(WaitKind::Mutex | WaitKind::PiMutex | WaitKind::KernelMutex)) => {
                Some(Basis::Release)
            }
            _ => None,
        };
        let named = open.target.zip(named).and_then(|(target, tid)| match target.object {
            Object::Word(..) => target.named_thread.or_else(|| world.numbers.last(world.groups.process(thread), tid)),
            Object::Other(..) => self.tids.get(&tid).copied(),
        });
        let held = first.filter(|_| basis.is_some());
        let time =
            held.map_or(Span::new(open.span.start, open.span.start), |(_, until)| Span::new(open.span.start, until));
        let holder = held.and_then(|(by, _)| self.threads.get(by));
        let (holder_reason, holder_stack) =
            holder.map_or((None, StackId::NONE), |holder| holder.recent.waited_for(time));
        // Of a word, a thread that wakes it; otherwise any.
        let is_known = |ended: &Ended| ended.waker == ThreadKey::IDLE || wakes.is_some() || open.target.is_none();
        let released_by = ended.filter(is_known).map(|ended| ended.waker).filter(|by| *by >= ThreadKey::IDLE);
        self.over.push_back(Wait {
            thread,
            tid: self.threads.get(thread).map_or(Tid::UNKNOWN, |of| of.tid),
            span: open.span,
            is_whole: open.begins && ended.is_some(),
            is_over: ended.is_some(),
            reason: open.reason,
            stack: open.stack,
            object: open.target.map(|target| (target.object, target.kind)),
            name: open.target.map_or(NameId::NONE, |target| target.name),
            ready: open.ready,
            holder: held.map(|(by, _)| by),
            basis,
            named,
            holder_tid: holder.map_or(Tid::UNKNOWN, |holder| holder.tid),
            held: time.len(),
            holder_times: holder.map_or([Ns::ZERO; 4], |holder| holder.recent.during(time)),
            holder_reason,
            holder_stack,
            holders: open.holders,
            released_by,
        });
    }

    /// Whether only one thread waits for a word, by the callchain of this wait or of an earlier one: not all callchains reach the function.
    fn parks(&mut self, word: Object, stack: StackId, world: &World) -> bool {
        let parks = world.functions.parks(stack);
        if parks {
            self.keep_kind(word, WaitKind::Parker);
        }
        parks || self.kinds.get(&word) == Some(&WaitKind::Parker)
    }

    /// Notes what a word is.
    fn keep_kind(&mut self, word: Object, kind: WaitKind) {
        if self.kinds.len() >= MAX_KEPT {
            self.kinds.clear();
        }
        self.kinds.insert(word, kind);
    }

    /// Ends the waits that last beyond the end.
    fn finish(&mut self, world: &World) {
        self.settle(Ns::MAX, world);
        let open: Vec<_> = self.threads.iter().filter_map(|(key, of)| Some((key, of.open.take()?))).collect();
        for (thread, open) in open {
            self.end(thread, open, None, world);
        }
    }
}

/// How many objects a table has at most.
pub(crate) const MAX_OBJECTS: usize = 10_000;

/// How many are kept; beyond that, those with the shortest waits are left out.
pub(crate) const MAX_KEPT: usize = 4 * MAX_OBJECTS;

/// A table made of the waits.
pub(crate) trait OfWaits: Default {
    /// Takes a wait, in the order of their ends.
    fn wait(&mut self, wait: &Wait, world: &World);

    /// Writes the rows that will not change any more, and forgets them.
    fn drain(&mut self, world: &World, out: &mut dyn Rows) {
        _ = (world, out);
    }

    /// Writes the rows that were not drained.
    fn finish(&mut self, world: &World, out: &mut dyn Rows);
}

/// The analysis of such a table.
pub(crate) struct EachWait<T> {
    waits: WaitedFor,
    table: T,
}

impl<T: OfWaits> EachWait<T> {
    fn take(&mut self, world: &World) {
        while let Some(wait) = self.waits.over.pop_front() {
            self.table.wait(&wait, world);
        }
    }
}

impl<T: OfWaits> Analysis for EachWait<T> {
    fn new(_: &Context<'_>) -> Self {
        Self { waits: WaitedFor::new(), table: T::default() }
    }

    fn weight() -> usize {
        8
    }

    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, world: &World) {
        self.waits.thread(stretch, begins, world);
        self.take(world);
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, _: Begins, world: &World) {
        self.waits.event(event, thread, world);
    }

    fn blocked_by(&mut self, thread: ThreadKey, reason: ReasonId, world: &World) {
        self.waits.blocked_by(thread, reason, world);
    }

    fn blocked_at(&mut self, thread: ThreadKey, stack: StackId, world: &World) {
        self.waits.blocked_at(thread, stack, world);
    }

    fn setting(&mut self, thread: ThreadKey, to: &SetTo, _: &World) {
        self.waits.setting(thread, to);
    }

    fn drain(&mut self, world: &World, out: &mut dyn Rows) {
        self.table.drain(world, out);
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.waits.finish(world);
        self.take(world);
        self.table.finish(world, out);
    }
}
