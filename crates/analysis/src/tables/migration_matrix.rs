//! How often threads moved between each pair of CPUs.

use crate::edges::{Edges, Places};
use crate::{Analysis, Begins, Context, World};
use model::{CpuId, Rows, ThreadStretch};
use std::collections::BTreeMap;

pub(crate) struct MigrationMatrix {
    edges: Edges,
    places: Places,
    counts: BTreeMap<(CpuId, CpuId), i64>,
}

impl Analysis for MigrationMatrix {
    fn new(context: &Context<'_>) -> Self {
        Self { edges: Edges::new(context), places: Places::new(), counts: BTreeMap::new() }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        if let Some(ends) = self.places.moves(stretch) {
            *self.counts.entry(ends).or_default() += 1;
        }
    }

    fn finish(&mut self, _: &World, out: &mut dyn Rows) {
        for ((from, to), count) in &self.counts {
            let edge = self.edges.between(*from, *to).as_str();
            out.row(&[i64::from(from.0).into(), i64::from(to.0).into(), edge.into(), (*count).into()]);
        }
    }
}
