//! Requests: from the waking that brings one to the waking that answers it.

use crate::awaited::{Awaited, Objects};
use crate::by_thread::ByThread;
use crate::conversations::{Ask, Conversations, Side, Waits, accepts, listens, may_receive};
use crate::turns::{Instant, Times, Turn};
use crate::{Analysis, Begins, Context, ReasonId, World};
use model::{Ns, Pid, Reason, Rows, ThreadKey, ThreadState, ThreadStretch, Tid, TimelineEvent, Value};
use rustc_hash::FxHashMap;

pub(crate) struct Requests {
    threads: ByThread<Thread>,
    /// Whether each process began within the recording.
    begun: FxHashMap<Pid, bool>,
    conversations: Conversations<Request>,
    objects: Objects,
    /// The requests that are certain and were not written yet.
    over: Vec<Request>,
}

#[derive(Clone, Default)]
struct Thread {
    tid: Tid,
    /// Its state times until its state began.
    times: Times,
    /// When its state began, and the index of its time.
    state: Option<(Ns, usize)>,
    wait: Option<Wait>,
    /// What it works on.
    turn: Option<Turn>,
    /// What it works on, for the thread of its program to which it hands it over.
    handing: Option<Turn>,
    /// The requests that it answered in this turn.
    answered: Vec<Request>,
    /// What it asked another program.
    asked: Option<Ask>,
    waits: Waits,
    /// What it waited for when the request came.
    came_by: Option<Awaited>,
}

/// A thread is blocked.
#[derive(Clone, Copy)]
struct Wait {
    since: Ns,
    is_uninterruptible: bool,
    reason: Option<ReasonId>,
    /// What it waits for, if that is recorded.
    waits_for: Option<Awaited>,
}

#[derive(Clone)]
struct Request {
    /// That of the server and that of the client.
    programs: [u32; 2],
    thread: ThreadKey,
    tid: Tid,
    start: Ns,
    end: Ns,
    asked: Option<ThreadKey>,
    answered: ThreadKey,
    before: Ns,
    times: Times,
    waited: Ns,
    steady: f64,
}

/// A thread of a program.
type Partner = (ThreadKey, Side);

impl Thread {
    fn now(&self, at: Ns) -> Instant {
        let mut times = self.times;
        if let Some((since, of)) = self.state {
            times[of] += at - since;
        }
        Instant { at, times }
    }

    /// Handles the begin of a state. Returns the wait that it ends.
    fn begin(&mut self, stretch: &ThreadStretch) -> Option<Wait> {
        let start = stretch.span.start;
        self.times = self.now(start).times;
        let of = match stretch.state {
            ThreadState::Running => 0,
            ThreadState::Ready => 1,
            ThreadState::Blocked => 2,
            ThreadState::Unknown | ThreadState::Exited => 3,
        };
        (self.tid, self.state) = (stretch.tid, Some((start, of)));
        let wait = self.wait.take();
        if stretch.state == ThreadState::Blocked {
            let is_uninterruptible = stretch.reason == Reason::State(b'D');
            self.wait = Some(Wait { since: start, is_uninterruptible, reason: None, waits_for: None });
        }
        wait
    }

    /// What it still works on after a wait, unless it waited for the next request.
    fn goes_on(&self, wait: &Wait, call: Option<&str>) -> Option<Turn> {
        let turn = self.turn.as_ref()?.after(self.times[0])?;
        // It may ask another program to answer its own client.
        let asks = self.asked.is_some_and(|asked| turn.start.is_none_or(|start| start <= asked.at));
        // Of a thread that has answered, the next one comes where the last one came.
        let has_answered = !self.answered.is_empty();
        let is_next = has_answered && wait.waits_for.is_some() && wait.waits_for == self.came_by;
        let waits_for_next = is_next || listens(call).unwrap_or(turn.asker == ThreadKey::UNKNOWN);
        (asks || wait.is_uninterruptible || !waits_for_next).then_some(turn)
    }

    /// Handles the end of its wait by a thread of this program, if any.
    fn ends_wait(&mut self, by: Option<u32>) {
        self.waits.push(by.unwrap_or(0));
        match &mut self.asked {
            Some(asked) if Some(asked.program) == by => self.asked = None,
            Some(asked) => asked.waited = true,
            None => {}
        }
    }

    fn asks(&mut self, program: u32, now: Ns) {
        if self.asked.is_none_or(|before| before.waited || before.program != program) {
            self.asked = Some(Ask { at: now, program, waited: false });
        }
    }

    /// The turn of a thread of its program that it wakes: its own.
    fn hands_over(&mut self, now: Instant) -> Option<Turn> {
        let at = self.now(now.at);
        let handing = self.handing.as_mut()?;
        handing.answers(at);
        Some(Turn::new(handing.start, handing.asker, now))
    }
}

impl Requests {
    fn partner(&self, thread: ThreadKey, world: &World) -> Option<Partner> {
        let (process, program) = (world.groups.process(thread)?, world.groups.program(thread)?);
        let begun = self.begun.get(&process).copied().unwrap_or_default();
        Some((thread, Side { program, process, begun }))
    }

    /// Handles the waking of a thread that waited.
    fn woken(&mut self, waker: ThreadKey, woken: ThreadKey, wait: &Wait, world: &World) {
        let call = wait.reason.and_then(|reason| world.reason(reason));
        let partners = self.partner(waker, world).zip(self.partner(woken, world));
        let (goes_on, now) = (self.threads.of(woken).goes_on(wait, call), self.threads.of(woken).now(world.now));
        let turn = match partners {
            Some((of_waker, of_woken)) if of_waker.1.program == of_woken.1.program => goes_on.or_else(|| {
                let handed = self.threads.of(waker).hands_over(now);
                if handed.is_some() {
                    self.threads.of(woken).came_by = wait.waits_for;
                }
                handed
            }),
            Some((of_waker, of_woken)) if may_receive(call) && wait.waits_for.is_none_or(Awaited::may_receive) => {
                if self.conversations.asks(of_waker.1, of_woken.1, accepts(call)) {
                    self.threads.of(waker).asks(of_woken.1.program, now.at);
                    self.threads.of(woken).came_by = wait.waits_for;
                    Some(Turn::new(Some(now.at), waker, now))
                } else {
                    self.answers(of_waker, of_woken, wait, now.at);
                    goes_on
                }
            }
            Some(_) => goes_on,
            None => goes_on.or_else(|| Some(Turn::new(Some(now.at), ThreadKey::UNKNOWN, now))),
        };
        self.hand_on(woken);
        let of = self.threads.of(woken);
        of.ends_wait(partners.map(|(waker, _)| waker.1.program));
        (of.turn, of.handing) = (turn, turn);
    }

    /// A server's thread answers a client's thread that waits.
    fn answers(&mut self, (server, of_server): Partner, (client, of_client): Partner, wait: &Wait, at: Ns) {
        let (asked, mut waits) = (self.threads.of(client).asked, self.threads.of(client).waits);
        waits.push(of_server.program);
        let now = self.threads.of(server).now(at);
        let turn = self.threads.of(server).turn.get_or_insert_with(|| Turn::new(None, ThreadKey::UNKNOWN, now));
        let is_next = turn.answers(now);
        let Turn { start: Some(start), asker, own, .. } = *turn else { return };
        if is_next {
            self.hand_on(server);
        }
        let asked = asked.filter(|asked| asked.program == of_server.program);
        let request = Request {
            programs: [of_server.program, of_client.program],
            thread: server,
            tid: self.threads.of(server).tid,
            start: asked.map_or(start, |asked| asked.at),
            end: at,
            asked: asked.map(|_| client).or((asker == client).then_some(client)),
            answered: client,
            before: Ns::ZERO,
            times: [Ns::ZERO; 4],
            waited: at - wait.since,
            steady: waits.share(of_server.program),
        };
        let answered = &mut self.threads.of(server).answered;
        // An answer in pieces wakes the same thread again.
        let request = match answered.iter().position(|before| before.answered == client) {
            Some(first) => {
                let first = answered.swap_remove(first);
                Request { start: first.start, asked: first.asked, waited: first.waited + (at - first.end), ..request }
            }
            None => request,
        };
        answered.push(request.worked(own, now));
    }

    /// Hands on what a thread answered in a turn that is over.
    fn hand_on(&mut self, thread: ThreadKey) {
        for request in self.threads.of(thread).answered.drain(..) {
            self.conversations.answered(request.programs, request, &mut self.over);
        }
    }
}

impl Request {
    /// Sets the times of the thread that answered it, since its turn began. If another thread was woken for it meanwhile, it is unknown for
    /// how long this one worked on it.
    fn worked(self, own: Instant, now: Instant) -> Self {
        let times = match self.start > own.at {
            true => [Ns::ZERO, Ns::ZERO, Ns::ZERO, now.at - self.start],
            false => std::array::from_fn(|n| now.times[n] - own.times[n]),
        };
        Self { before: (own.at - self.start).max(Ns::ZERO), times, ..self }
    }
}

impl Analysis for Requests {
    fn new(_: &Context<'_>) -> Self {
        Self {
            threads: ByThread::new(),
            begun: FxHashMap::default(),
            conversations: Conversations::default(),
            objects: Objects::default(),
            over: Vec::new(),
        }
    }

    fn weight() -> usize {
        6
    }

    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, world: &World) {
        let (thread, is_here) = (stretch.thread, begins == Begins::Here);
        if let Some(process) = world.groups.process(thread) {
            self.begun.entry(process).or_insert(is_here && stretch.span.start > Ns::ZERO);
        }
        if stretch.state == ThreadState::Exited {
            self.hand_on(thread);
            *self.threads.of(thread) = Thread::default();
            return;
        }
        let wait = self.threads.of(thread).begin(stretch);
        let is_woken = is_here && stretch.state == ThreadState::Ready && stretch.reason == Reason::Woken;
        if let Some(wait) = wait.filter(|_| is_woken) {
            self.woken(stretch.waker_thread, thread, &wait, world);
        }
    }

    fn blocked_by(&mut self, thread: ThreadKey, by: ReasonId, world: &World) {
        if let Some(wait) = &mut self.threads.of(thread).wait
            && wait.since == world.now
        {
            wait.reason = Some(by);
        }
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, _: Begins, world: &World) {
        if let Some(awaited) = self.objects.of(event, thread, world)
            && let Some(wait) = self.threads.of(thread).wait.as_mut().filter(|wait| wait.since == world.now)
        {
            wait.waits_for = Some(awaited);
        }
    }

    fn drain(&mut self, _: &World, out: &mut dyn Rows) {
        for request in self.over.drain(..) {
            let mut row: Vec<Value> = vec![
                request.thread.into(),
                i64::from(request.tid.0).into(),
                request.start.into(),
                request.end.into(),
                request.asked.into(),
                request.answered.0.into(),
                request.before.into(),
            ];
            row.extend(request.times.map(Value::from));
            row.extend([(request.end - request.start).into(), request.waited.into(), request.steady.into()]);
            out.row(&row);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        let threads: Vec<ThreadKey> = self.threads.iter().map(|(thread, _)| thread).collect();
        threads.into_iter().for_each(|thread| self.hand_on(thread));
        self.drain(world, out);
    }
}
