//! How two CPUs lie to each other.

use crate::machine::Machine;
use model::CpuId;
use serde::{Deserialize, Serialize};

/// What two CPUs have in common: the nearest level that they share, or the difference that outweighs it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairClass {
    /// Both are the same CPU.
    SameCpu,
    /// SMT siblings: two CPUs of one core.
    Sibling,
    /// Two cores of one type that share an L2 cache or are in one cluster.
    SameCluster,
    /// Two cores of one type that share an L3 cache.
    SameL3,
    /// Two cores of one type and package with different L3 caches.
    OtherL3,
    /// Two cores of one type; which caches they share is unknown.
    OtherCore,
    /// Two cores of different types in one package.
    OtherType,
    /// Two cores in different packages.
    OtherPackage,
}

impl PairClass {
    /// All classes, from near to far.
    pub const ALL: [Self; 8] = [
        Self::SameCpu,
        Self::Sibling,
        Self::SameCluster,
        Self::SameL3,
        Self::OtherL3,
        Self::OtherCore,
        Self::OtherType,
        Self::OtherPackage,
    ];

    /// Returns the name in tables and files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SameCpu => "same_cpu",
            Self::Sibling => "sibling",
            Self::SameCluster => "same_cluster",
            Self::SameL3 => "same_l3",
            Self::OtherL3 => "other_l3",
            Self::OtherCore => "other_core",
            Self::OtherType => "other_type",
            Self::OtherPackage => "other_package",
        }
    }

    /// Returns the name in sentences.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::SameCpu => "same CPU",
            Self::Sibling => "sibling",
            Self::SameCluster => "same cluster",
            Self::SameL3 => "same L3",
            Self::OtherL3 => "other L3",
            Self::OtherCore => "other core",
            Self::OtherType => "other core type",
            Self::OtherPackage => "other package",
        }
    }
}

impl Machine {
    /// Returns how two CPUs lie to each other. What is unknown counts as not shared.
    #[must_use]
    pub fn pair_class(&self, a: CpuId, b: CpuId) -> PairClass {
        if a == b {
            return PairClass::SameCpu;
        }
        let (Some(of_a), Some(of_b)) = (self.cpu(a), self.cpu(b)) else { return PairClass::OtherCore };
        let differ = |a: Option<u32>, b: Option<u32>| a.zip(b).is_some_and(|(a, b)| a != b);
        if of_a.siblings.contains(&b) {
            PairClass::Sibling
        } else if differ(of_a.package, of_b.package) {
            PairClass::OtherPackage
        } else if self.core_class(a) != self.core_class(b) {
            PairClass::OtherType
        } else if of_a.l2.contains(&b) || (of_a.cluster.is_some() && of_a.cluster == of_b.cluster) {
            PairClass::SameCluster
        } else if of_a.l3.contains(&b) {
            PairClass::SameL3
        } else if !of_a.l3.is_empty() && !of_b.l3.is_empty() {
            PairClass::OtherL3
        } else {
            PairClass::OtherCore
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_shared_level_names_the_pair() {
        let machine = Machine::from_user(
            r#"
            [[cpus]]
            ids = "0-7"
            type = "performance"
            siblings = ["0-1", "2-3", "4-5", "6-7"]
            l2 = ["0-1", "2-3", "4-5", "6-7"]
            l3 = ["0-3", "4-7"]
            package = 0

            [[cpus]]
            ids = "8-11"
            type = "efficient"
            l2 = ["8-9", "10-11"]
            l3 = ["8-11"]
            package = 0

            [[cpus]]
            ids = "12"
            type = "performance"
            package = 1
            "#,
        )
        .unwrap();
        let class = |a, b| machine.pair_class(CpuId(a), CpuId(b));
        assert_eq!(class(0, 0), PairClass::SameCpu);
        assert_eq!(class(0, 1), PairClass::Sibling);
        assert_eq!(class(8, 9), PairClass::SameCluster);
        assert_eq!(class(0, 2), PairClass::SameL3);
        assert_eq!(class(0, 4), PairClass::OtherL3);
        assert_eq!(class(0, 8), PairClass::OtherType);
        assert_eq!(class(0, 12), PairClass::OtherPackage);
        let unknown = Machine::of_cpus([CpuId(0), CpuId(1)]);
        assert_eq!(unknown.pair_class(CpuId(0), CpuId(1)), PairClass::OtherCore);
    }
}
