//! How often each thread changed its CPU, by the topology level that the two CPUs share.

use crate::by_thread::ByThread;
use crate::edges::{Edge, Edges, Places};
use crate::{Analysis, Begins, Context, World};
use model::{Rows, ThreadStretch, Tid, Value};

pub(crate) struct Migrations {
    edges: Edges,
    places: Places,
    counts: ByThread<Counts>,
}

#[derive(Clone, Default)]
struct Counts {
    tid: Tid,
    of_edge: [i64; Edge::COUNT],
}

impl Analysis for Migrations {
    fn new(context: &Context<'_>) -> Self {
        Self { edges: Edges::new(context), places: Places::new(), counts: ByThread::new() }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        if let Some((from, to)) = self.places.moves(stretch) {
            let counts = self.counts.of(stretch.thread);
            counts.tid = stretch.tid;
            counts.of_edge[self.edges.between(from, to) as usize] += 1;
        }
    }

    fn finish(&mut self, _: &World, out: &mut dyn Rows) {
        for (thread, counts) in self.counts.iter() {
            let all: i64 = counts.of_edge.iter().sum();
            if all > 0 {
                let head = [thread.0, i64::from(counts.tid.0), all];
                let row: Vec<Value> = head.into_iter().chain(counts.of_edge).map(Value::from).collect();
                out.row(&row);
            }
        }
    }
}
