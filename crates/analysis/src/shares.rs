//! Analyses shared out among threads.

use crate::ANALYSES;
use std::cmp::Reverse;

/// Shares out those that make these tables, so that each share takes about as long: at most so many shares, none without a
/// table.
#[must_use]
pub fn shares(tables: &[&str], most: usize) -> Vec<Vec<&'static str>> {
    let mut wanted: Vec<_> = ANALYSES.iter().filter(|e| tables.contains(&e.table.name)).collect();
    wanted.sort_by_key(|e| Reverse((e.weight)()));
    let mut shares = vec![(0, Vec::new()); most.min(wanted.len())];
    for entry in wanted {
        if let Some((weight, share)) = shares.iter_mut().min_by_key(|(weight, _)| *weight) {
            *weight += (entry.weight)();
            share.push(entry.table.name);
        }
    }
    shares.into_iter().map(|(_, share)| share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_is_in_one_share_and_the_shares_weigh_about_the_same() {
        let all: Vec<&str> = ANALYSES.iter().map(|e| e.table.name).collect();
        let weight = |of: &str| ANALYSES.iter().filter(|e| e.table.name == of).map(|e| (e.weight)()).sum::<usize>();
        let heaviest = ANALYSES.iter().map(|e| (e.weight)()).max().unwrap_or(0);
        for most in 1..=all.len() + 1 {
            let shares = shares(&all, most);
            assert_eq!(shares.len(), most.min(all.len()));
            let mut told = shares.concat();
            told.sort_unstable();
            let mut wanted = all.clone();
            wanted.sort_unstable();
            assert_eq!(told, wanted);
            let weights: Vec<usize> = shares.iter().map(|s| s.iter().map(|of| weight(of)).sum()).collect();
            let (least, largest) = (weights.iter().min().copied(), weights.iter().max().copied());
            assert!(largest.zip(least).is_some_and(|(l, s)| s > 0 && l - s <= heaviest), "{weights:?}");
        }
        assert!(shares(&[], 2).is_empty());
    }
}
