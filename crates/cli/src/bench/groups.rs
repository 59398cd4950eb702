//! Figures that are alike: the same figure with the same parameters on pairs of one class, or on cores of one type.

use super::words;
use engine::{Cost, CostUnit, PairClass};
use std::collections::BTreeMap;

/// Figures that differ only in their CPUs.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// How the two CPUs lie to each other.
    pub pair: Option<PairClass>,
    /// Where they hold: the class in words, with the core types.
    pub class: String,
    /// What was varied.
    pub parameters: &'a BTreeMap<String, String>,
    /// The unit of all.
    pub unit: CostUnit,
    /// The figures.
    pub costs: Vec<&'a Cost>,
}

impl Group<'_> {
    /// The median over the figures.
    pub fn median(&self) -> f64 {
        let mut values: Vec<f64> = self.costs.iter().map(|cost| cost.estimate.value).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        match (values.len() % 2, values.get(middle), values.get(middle.wrapping_sub(1))) {
            (1, Some(value), _) => *value,
            (0, Some(a), Some(b)) => f64::midpoint(*a, *b),
            _ => f64::NAN,
        }
    }

    /// The smallest and the largest value.
    pub fn range(&self) -> [f64; 2] {
        let values = self.costs.iter().map(|cost| cost.estimate.value);
        values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
    }
}

/// The figures of one name, as groups: near pairs first, then by parameters as numbers or texts.
pub fn groups<'a>(costs: &[&'a Cost]) -> Vec<Group<'a>> {
    let mut all: Vec<Group<'a>> = Vec::new();
    for cost in costs {
        let class = words::class(cost);
        let own = all.iter_mut().find(|group| {
            group.pair == cost.pair
                && group.class == class
                && *group.parameters == cost.parameters
                && group.unit == cost.unit
        });
        match own {
            Some(group) => group.costs.push(cost),
            None => all.push(Group {
                pair: cost.pair,
                class,
                parameters: &cost.parameters,
                unit: cost.unit,
                costs: vec![cost],
            }),
        }
    }
    let order = |of: &BTreeMap<String, String>| -> Vec<(f64, String)> {
        of.values().map(|value| (value.parse::<f64>().unwrap_or(f64::INFINITY), value.clone())).collect()
    };
    all.sort_by(|a, b| {
        let by_place = a.pair.cmp(&b.pair).then_with(|| a.class.cmp(&b.class));
        by_place.then_with(|| {
            let (a, b) = (order(a.parameters), order(b.parameters));
            let each = a.iter().zip(&b).map(|(a, b)| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
            each.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        })
    });
    all
}

/// The names of figures, in the order in which they were measured.
pub fn figures<'a>(costs: &[&'a Cost]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for cost in costs {
        if !names.contains(&cost.figure.as_str()) {
            names.push(&cost.figure);
        }
    }
    names
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use engine::Estimate;
    use model::{CoreType, CpuId};

    /// A figure for tests: its interval is 2 % to either side.
    pub fn cost(probe: &str, figure: &str, pair: Option<PairClass>, cpus: &[u32], unit: CostUnit, value: f64) -> Cost {
        let width = value.abs() * 0.02;
        Cost {
            probe: probe.to_owned(),
            figure: figure.to_owned(),
            pair,
            cpus: cpus.iter().copied().map(CpuId).collect(),
            core_types: vec![CoreType::Uniform; cpus.len()],
            parameters: BTreeMap::new(),
            unit,
            estimate: Estimate { value, low: value - width, high: value + width },
            systematic: None,
            next: Some([value - 3.0 * width, value + 3.0 * width]),
            repetitions: 40,
            disturbed: 3,
            misplaced: 0,
            control: None,
            precise: true,
        }
    }

    #[test]
    fn figures_that_differ_only_in_their_cpus_are_one_group() {
        let pair = |cpus: &[u32], class, value| cost("switch", "pipe", Some(class), cpus, CostUnit::Ns, value);
        let mut with_set = pair(&[0, 2], PairClass::SameL3, 99.0);
        with_set.parameters.insert("working_set_bytes".to_owned(), "4096".to_owned());
        let all = [
            pair(&[0, 2], PairClass::SameL3, 30.0),
            with_set,
            pair(&[0], PairClass::SameCpu, 5.0),
            pair(&[0, 4], PairClass::SameL3, 10.0),
            pair(&[2, 4], PairClass::SameL3, 20.0),
        ];
        let all: Vec<&Cost> = all.iter().collect();
        let groups = groups(&all);
        let found: Vec<(&str, usize, f64)> =
            groups.iter().map(|group| (group.class.as_str(), group.costs.len(), group.median())).collect();
        assert_eq!(found, [("same CPU", 1, 5.0), ("same L3", 3, 20.0), ("same L3", 1, 99.0)]);
        assert_eq!(groups[1].range(), [10.0, 30.0]);
    }
}
