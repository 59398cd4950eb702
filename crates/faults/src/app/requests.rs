//! Clients that send requests to the threads of a server, one at a time each, and wait for the answer.
//!
//! ```text
//! client 0    |think| waits       |think|
//! client 1    |think| waits            |think|
//! store 0           |serves|serves|
//! ```
//! With the fault, one thread serves all of them.

use super::{Injected, TEARDOWN, others, program};
use crate::durations::Durations;
use crate::kinds::Fault;
use crate::machines::Machine;
use crate::program::{FRAME, Gate, Load, Program, Step};
use testkit::Rng;

/// Counts the requests to the first thread of the server alone, and those to the others.
const TO_ONE: Gate = Gate(0);
const TO_OTHERS: Gate = Gate(1);
/// The gate at which the first client waits for its answers; each client has one.
const ANSWER: usize = 2;
/// The processes of the server, and of the other threads.
const STORE: usize = 1;
const OTHERS: usize = 2;

/// The random part of a load.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Requests {
    /// For each client and request, the times to think and to serve it, ns.
    clients: Vec<Vec<[i64; 2]>>,
    servers: Vec<Vec<[i64; 2]>>,
    /// The number of threads that serve without the fault.
    stores: usize,
}

impl Requests {
    pub(super) fn new(machine: &Machine, rng: &mut Rng) -> Self {
        let running = Durations::of("web", "running");
        let (clients, count) = (4 + rng.below(9), 100 + rng.below(100));
        let request = |rng: &mut Rng| [20_000 + running.draw(rng, 100_000), 200_000 + running.draw(rng, 600_000)];
        let clients: Vec<Vec<_>> = (0..clients).map(|_| (0..count).map(|_| request(rng)).collect()).collect();
        let servers = others::drawn(machine.cpus(), rng);
        let stores = clients.len().min(machine.cpus() - 1);
        Self { clients, servers, stores }
    }

    pub(super) fn count(&self) -> usize {
        self.clients[0].len()
    }

    pub(super) fn load(&self, faults: &[Injected]) -> Load {
        let mut programs: Vec<Program> = (0..self.clients.len()).map(|number| self.client(number, faults)).collect();
        let store = |number: usize| {
            let at = if number == 0 { TO_ONE } else { TO_OTHERS };
            let steps = vec![Step::Wait(at), Step::Serve(at)];
            Program { process: STORE, again: true, ..program(&format!("store {number}"), 0, steps) }
        };
        programs.extend((0..=self.stores).map(store));
        programs.extend(others::programs(&self.servers).map(|p| Program { process: OTHERS, ..p }));
        Load { programs, gates: vec![0; ANSWER + self.clients.len()], pools: 0 }
    }

    /// A client. Those after the first one go on until it has done all of its requests, which are the frames.
    fn client(&self, number: usize, faults: &[Injected]) -> Program {
        let answer = Gate(ANSWER + number);
        let mut steps = Vec::new();
        for (frame, [think, serve]) in self.clients[number].iter().enumerate() {
            let one = faults.iter().any(|f| f.is(Fault::SerialServer) && f.frames.contains(&frame));
            let to = if one { TO_ONE } else { TO_OTHERS };
            let request = [Step::Run(*think), Step::Ask(to, answer, *serve), Step::Wait(answer)];
            if number == 0 {
                steps.extend([Step::Begin(FRAME)].into_iter().chain(request).chain([Step::End(FRAME)]));
            } else {
                steps.extend(request);
            }
        }
        if number == 0 {
            steps.extend([Step::Run(TEARDOWN), Step::Over]);
        }
        Program { again: number > 0, ..program(&format!("client {number}"), 0, steps) }
    }
}
