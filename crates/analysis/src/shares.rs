//! Distribution of analyses among threads.

use crate::ANALYSES;
use std::cmp::Reverse;

/// Splits the analyses of these tables into at max_shares `max_shares` shares of about equal running time. No share is empty.
#[must_use]
pub fn shares(tables: &[&str], max_shares: usize) -> Vec<Vec<&'static str>> {
    let mut wanted: Vec<_> = ANALYSES.iter().filter(|e| tables.contains(&e.table.name)).collect();
    wanted.sort_by_key(|e| Reverse((e.weight)()));
    let mut shares = vec![(0, Vec::new()); max_shares.min(wanted.len())];
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
        for max_shares in 1..=all.len() + 1 {
            let shares = shares(&all, max_shares);
            assert_eq!(shares.len(), max_shares.min(all.len()));
            let mut actual = shares.concat();
            actual.sort_unstable();
            let mut wanted = all.clone();
            wanted.sort_unstable();
            assert_eq!(actual, wanted);
            let weights: Vec<usize> = shares.iter().map(|s| s.iter().map(|of| weight(of)).sum()).collect();
            let (smallest, largest) = (weights.iter().min().copied(), weights.iter().max().copied());
            assert!(largest.zip(smallest).is_some_and(|(l, s)| s > 0 && l - s <= heaviest), "{weights:?}");
        }
        assert!(shares(&[], 2).is_empty());
    }
}
