//! Shares of a whole by label, and how far two are apart.

use std::collections::{BTreeMap, HashMap};

/// Texts by number.
#[derive(Default)]
pub(super) struct Labels {
    ids: HashMap<String, usize>,
    texts: Vec<String>,
}

impl Labels {
    pub(super) fn id(&mut self, text: &str) -> usize {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        self.texts.push(text.to_owned());
        self.ids.insert(text.to_owned(), self.texts.len() - 1);
        self.texts.len() - 1
    }

    pub(super) fn text(&self, id: usize) -> &str {
        self.texts.get(id).map_or("?", String::as_str)
    }
}

/// Weights by label.
#[derive(Clone, Default, Debug)]
pub(super) struct Shares(BTreeMap<usize, f64>);

impl Shares {
    pub(super) fn add(&mut self, label: usize, weight: f64) {
        if weight > 0.0 {
            *self.0.entry(label).or_default() += weight;
        }
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        other.0.iter().for_each(|(label, weight)| self.add(*label, *weight));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn sum(&self) -> f64 {
        self.0.values().sum()
    }

    /// The same with a sum of 1.
    pub(super) fn normal(&self) -> Self {
        let sum = self.sum();
        Self(self.0.iter().map(|(label, weight)| (*label, weight / sum)).collect())
    }

    /// The share of a label, 0 to 1.
    pub(super) fn share(&self, label: usize) -> f64 {
        self.0.get(&label).map_or(0.0, |weight| weight / self.sum())
    }

    /// Labels and their shares.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, f64)> {
        let sum = self.sum();
        self.0.iter().map(move |(label, weight)| (*label, weight / sum))
    }

    /// The total variation distance: 0 for the same shares, 1 for no common label; 0 if one is empty.
    pub(super) fn distance(&self, other: &Self) -> f64 {
        if self.is_empty() || other.is_empty() {
            return 0.0;
        }
        let (a, b) = (self.sum(), other.sum());
        let common = |(label, weight): (&usize, &f64)| (weight / a).min(other.0.get(label).map_or(0.0, |w| w / b));
        (1.0 - self.0.iter().map(common).sum::<f64>()).max(0.0)
    }
}
