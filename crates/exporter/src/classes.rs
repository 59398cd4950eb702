//! The names of the classes of cores in labels.

use std::collections::BTreeMap;
use topology::Machine;

/// Returns the label `core_type` of each class, slowest first. Classes of the same name (several kinds of middle cores) get a number, so
/// that no two series have the same labels.
pub(crate) fn names(machine: &Machine) -> Vec<String> {
    let mut count: BTreeMap<&str, u32> = BTreeMap::new();
    machine.class_names.iter().for_each(|name| *count.entry(name.as_str()).or_default() += 1);
    let mut used: BTreeMap<&str, u32> = BTreeMap::new();
    let name = |name: &model::CoreType| {
        let name = name.as_str();
        let number = used.entry(name).or_default();
        *number += 1;
        if count.get(name) == Some(&1) { name.to_owned() } else { format!("{name}_{number}") }
    };
    machine.class_names.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::CoreType::{Efficient, Middle, Performance};

    #[test]
    fn classes_of_the_same_name_are_numbered() {
        let mut machine = Machine::of_cpus([]);
        machine.class_names = vec![Efficient, Middle, Middle, Performance];
        assert_eq!(names(&machine), ["efficient", "middle_1", "middle_2", "performance"]);
    }
}
