//! Which program asks which: the wakings between the threads of two programs.

use model::{Ns, Pid};
use rustc_hash::FxHashMap;

/// Two programs are client and server once so many answers were seen. Until then, their requests are kept.
const MIN_ANSWERS: usize = 8;

/// The number of waits of a client of which [`Waits::share`] is a share.
const WATCHED: usize = 12;

/// System calls in which a thread may wait for a request or an answer. A writer that waits for room in a pipe, or a parent that
/// waits for its child, waits for neither.
const RECEIVE: [&str; 22] = [
    "accept",
    "accept4",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "futex",
    "futex_wait",
    "futex_waitv",
    "io_uring_enter",
    "ioctl",
    "mq_timedreceive",
    "msgrcv",
    "poll",
    "ppoll",
    "pselect6",
    "read",
    "readv",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "select",
    "semtimedop",
];

/// System calls in which a server's thread waits for the next request of any client.
const LISTEN: [&str; 9] =
    ["accept", "accept4", "epoll_pwait", "epoll_pwait2", "epoll_wait", "poll", "ppoll", "pselect6", "select"];

/// Whether a thread that waits in this system call may wait for a request or an answer; if the call is unknown, it may.
pub(crate) fn may_receive(call: Option<&str>) -> bool {
    call.is_none_or(|call| RECEIVE.contains(&call))
}

/// Whether a thread that waits in this system call waits for any client, if the call is known.
pub(crate) fn listens(call: Option<&str>) -> Option<bool> {
    call.map(|call| LISTEN.contains(&call))
}

/// Whether a thread that waits in this system call waits for a program that connects: it is of a server.
pub(crate) fn accepts(call: Option<&str>) -> bool {
    matches!(call, Some("accept" | "accept4"))
}

/// A program and one of its processes.
#[derive(Clone, Copy)]
pub(crate) struct Side {
    pub(crate) program: u32,
    pub(crate) process: Pid,
    /// Whether the process began within the recording.
    pub(crate) begun: bool,
}

/// Two programs of which one asks and the other answers.
struct Conversation<T> {
    client: u32,
    /// Whether that is known, and not inferred from which of them began.
    is_certain: bool,
    answers: usize,
    kept: Vec<T>,
}

/// All pairs of programs whose threads woke one another. `T`: a request.
pub(crate) struct Conversations<T>(FxHashMap<(u32, u32), Conversation<T>>);

impl<T> Default for Conversations<T> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<T> Conversations<T> {
    /// Handles a waking between two programs. Returns whether the waker's program asks and the woken thread's answers, or the
    /// other way round.
    ///
    /// A woken thread that waits for a program to connect (`accepts`) is of the one that answers, whatever was inferred before. Otherwise the one
    /// that begins a conversation asks. If neither began within the recording, the begin was not seen: servers are usually started before their
    /// clients, so the process with the lower number answers.
    pub(crate) fn asks(&mut self, waker: Side, woken: Side, accepts: bool) -> bool {
        let of = self.0.entry(key(waker.program, woken.program)).or_insert_with(|| {
            let is_waker = waker.begun || woken.begun || waker.process.0 > woken.process.0;
            let client = if is_waker { waker.program } else { woken.program };
            Conversation { client, is_certain: false, answers: 0, kept: Vec::new() }
        });
        if accepts && !of.is_certain {
            if of.client != waker.program {
                // Those so far were answers. Requests that were handed on stay.
                (of.client, of.answers) = (waker.program, 0);
                of.kept.clear();
            }
            of.is_certain = true;
        }
        of.client == waker.program
    }

    /// Adds a request. Hands on the requests of these programs that are certain now.
    pub(crate) fn answered(&mut self, [one, other]: [u32; 2], request: T, out: &mut Vec<T>) {
        let Some(of) = self.0.get_mut(&key(one, other)) else { return };
        of.answers += 1;
        of.kept.push(request);
        if of.answers >= MIN_ANSWERS {
            out.append(&mut of.kept);
        }
    }
}

fn key(one: u32, other: u32) -> (u32, u32) {
    (one.min(other), one.max(other))
}

/// By which programs the last waits of a thread were ended; 0: by none.
#[derive(Clone, Copy, Default)]
pub(crate) struct Waits {
    ended_by: [u32; WATCHED],
    count: usize,
}

impl Waits {
    /// Adds a wait that this program ended.
    pub(crate) fn push(&mut self, program: u32) {
        self.ended_by[self.count % WATCHED] = program;
        self.count += 1;
    }

    /// The share of the last waits that this program ended.
    pub(crate) fn share(&self, program: u32) -> f64 {
        let known = self.count.min(WATCHED);
        let ended = self.ended_by[..known].iter().filter(|by| **by == program).count();
        ended as f64 / known.max(1) as f64
    }
}

/// What a client's thread waits for.
#[derive(Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) at: Ns,
    /// The program that it asked.
    pub(crate) program: u32,
    /// Whether a wait ended since without an answer.
    pub(crate) waited: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(program: u32, process: i32, begun: bool) -> Side {
        Side { program, process: Pid(process), begun }
    }

    #[test]
    fn the_one_that_begins_asks() {
        let mut all = Conversations::<i64>::default();
        let (server, client) = (side(1, 700, false), side(2, 100, true));
        assert!(all.asks(client, server, false));
        assert!(!all.asks(server, client, false));
        let mut all = Conversations::<i64>::default();
        let (older, younger) = (side(1, 100, false), side(2, 700, false));
        assert!(!all.asks(older, younger, false), "both were there: the older one answers");
        assert!(all.asks(older, younger, true), "the younger one waits for programs that connect");
        assert!(all.asks(older, younger, false) && !all.asks(younger, older, true), "once is enough");
    }

    #[test]
    fn a_conversation_has_eight_answers() {
        let (mut all, mut out) = (Conversations::<i64>::default(), Vec::new());
        all.asks(side(2, 7, true), side(1, 1, false), false);
        (0..7).for_each(|n| all.answered([1, 2], n, &mut out));
        assert!(out.is_empty());
        (7..9).for_each(|n| all.answered([1, 2], n, &mut out));
        assert_eq!(out, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn the_share_is_that_of_the_last_waits() {
        let mut waits = Waits::default();
        [7, 7, 0, 7].into_iter().for_each(|by| waits.push(by));
        assert!((waits.share(7) - 0.75).abs() < 1e-9);
        (0..12).for_each(|_| waits.push(8));
        assert!(waits.share(7) < 1e-9 && waits.share(8) > 0.99);
    }
}
