//! When each thread was ready and throttled.

use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, World};
use model::{Ns, Rows, ThreadKey, ThreadState, ThreadStretch, Tid, Value};

pub(crate) struct ThrottledTimes {
    threads: ByThread<Thread>,
    over: Vec<Time>,
}

#[derive(Clone, Copy, Default)]
struct Thread {
    tid: Tid,
    is_ready: bool,
    open: Option<Open>,
}

#[derive(Clone, Copy)]
struct Open {
    since: Ns,
    begins: bool,
}

struct Time {
    thread: ThreadKey,
    tid: Tid,
    since: Ns,
    until: Ns,
    is_whole: bool,
}

impl ThrottledTimes {
    fn end(&mut self, thread: ThreadKey, until: Ns, ends: bool) {
        let of = self.threads.of(thread);
        if let Some(Open { since, begins }) =
            of.open.take().filter(|open| open.since < until && thread > ThreadKey::IDLE)
        {
            self.over.push(Time { thread, tid: of.tid, since, until, is_whole: begins && ends });
        }
    }
}

impl Analysis for ThrottledTimes {
    fn new(_: &Context<'_>) -> Self {
        Self { threads: ByThread::new(), over: Vec::new() }
    }

    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, world: &World) {
        self.end(stretch.thread, world.now, true);
        let is_ready = stretch.state == ThreadState::Ready;
        let open = (is_ready && world.throttled.is(stretch.thread))
            .then_some(Open { since: world.now, begins: begins == Begins::Here && world.now > Ns::ZERO });
        *self.threads.of(stretch.thread) = Thread { tid: stretch.tid, is_ready, open };
    }

    fn throttled(&mut self, thread: ThreadKey, throttled: bool, world: &World) {
        self.end(thread, world.now, true);
        let of = self.threads.of(thread);
        if throttled && of.is_ready {
            of.open = Some(Open { since: world.now, begins: world.now > Ns::ZERO });
        }
    }

    fn drain(&mut self, _: &World, out: &mut dyn Rows) {
        for of in self.over.drain(..) {
            out.row(&[
                of.thread.into(),
                i64::from(of.tid.0).into(),
                of.since.into(),
                of.until.into(),
                (of.until - of.since).into(),
                Value::Bool(of.is_whole),
            ]);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        let open: Vec<ThreadKey> =
            self.threads.iter().filter(|(_, of)| of.open.is_some()).map(|(key, _)| key).collect();
        open.into_iter().for_each(|thread| self.end(thread, world.now, false));
        self.drain(world, out);
    }
}
