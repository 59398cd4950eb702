//! Finds pairs among runs that were recorded in turn.

use crate::Run;
use std::collections::BTreeSet;

/// With fewer pairs, runs are better compared as two sides: the exact test of pairs has no 95 % interval.
const FEWEST_PAIRS: usize = 6;

/// What a comparison says of pairs that it found itself.
pub const FOUND_PAIRS: &str = "The runs of the sides were recorded in turn, so each run of A and the run of B that was recorded next to it are a pair: what drifts \
     between pairs does not matter. --unpaired compares them without pairs.";

/// Pairs runs by when they began, if the sides took turns: the first two runs are one of each side, the next two also, and so on. Then sorts both
/// sides by the pairs and returns true. Otherwise leaves them as they are. Only the order in time decides, never what was measured.
pub fn pair_in_turn(sides: &mut [Vec<Run>; 2]) -> bool {
    let count = sides[0].len();
    if count != sides[1].len() || count < FEWEST_PAIRS || !on_one_clock(sides) {
        return false;
    }
    let mut order: Vec<(i64, usize)> = Vec::with_capacity(2 * count);
    for (side, runs) in sides.iter().enumerate() {
        order.extend(runs.iter().filter_map(|run| Some((run.began_ns?, side))));
    }
    order.sort_unstable();
    let distinct = order.windows(2).all(|two| two[0].0 < two[1].0);
    let (pairs, _) = order.as_chunks::<2>();
    let are_pairs = order.len() == 2 * count && distinct && pairs.iter().all(|[first, second]| first.1 != second.1);
    if are_pairs {
        sides.iter_mut().for_each(|runs| runs.sort_by_key(|run| run.began_ns));
    }
    are_pairs
}

/// Whether the times of all runs can be compared: of one machine, and of one boot as far as that is known.
fn on_one_clock(sides: &[Vec<Run>; 2]) -> bool {
    ["hostname", "boot_id"].iter().all(|name| {
        let values: BTreeSet<_> = sides.iter().flatten().map(|run| run.conditions.get(*name)).collect();
        values.len() == 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(began: impl IntoIterator<Item = i64>) -> Vec<Run> {
        began.into_iter().map(|at| Run { path: at.to_string(), began_ns: Some(at), ..Run::default() }).collect()
    }

    fn paths(runs: &[Run]) -> Vec<&str> {
        runs.iter().map(|run| run.path.as_str()).collect()
    }

    #[test]
    fn runs_in_turn_are_pairs_in_order_of_time() {
        // B first in the third pair, and given in another order.
        let mut sides = [side([0, 20, 50, 60, 80, 100]), side([110, 10, 30, 40, 70, 90])];
        assert!(pair_in_turn(&mut sides));
        assert_eq!(paths(&sides[0]), ["0", "20", "50", "60", "80", "100"]);
        assert_eq!(paths(&sides[1]), ["10", "30", "40", "70", "90", "110"]);
    }

    #[test]
    fn runs_that_did_not_take_turns_are_no_pairs() {
        let in_turn = || [side((0..6).map(|at| at * 20)), side((0..6).map(|at| at * 20 + 10))];
        assert!(pair_in_turn(&mut in_turn()));
        let one_after_the_other = [side(0..6), side(6..12)];
        let of_two = [side([0, 30, 40, 60, 80, 100]), side([10, 20, 70, 90, 110, 130])];
        let [a, b] = in_turn();
        let too_few = [a[..5].to_vec(), b[..5].to_vec()];
        let mut unknown = in_turn();
        unknown[0][2].began_ns = None;
        let mut other_boot = in_turn();
        let boot = |id: &str| [Some(id.to_owned()), Some(id.to_owned())];
        other_boot[1][3].conditions.insert("boot_id".to_owned(), boot("x"));
        for (at, mut sides) in [one_after_the_other, of_two, too_few, unknown, other_boot].into_iter().enumerate() {
            let before = sides.clone();
            assert!(!pair_in_turn(&mut sides), "{at}");
            assert_eq!(sides, before, "{at}");
        }
    }
}
