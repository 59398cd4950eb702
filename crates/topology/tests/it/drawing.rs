//! Tests the complete drawings of small, medium and large machines.

use crate::support::Tree;
use topology::draw;

#[test]
fn two_cpus() {
    let tree = Tree::of(2).core("0-1").cache(2, "0-1").cache(3, "0-1").each("0-1", "topology/physical_package_id", "0");
    let expected = "\
unknown machine
2 CPUs online, 1 core, 1 package

package 0
`-- L3 0-1  uniform  [0+1]

[...] share an L2 cache, a+b are threads of one core

core types  uniform: no source distinguishes the cores
facts       sysfs: package, siblings, l2, l3
missing     die, cluster, core, node, capacity, highest_perf, max_khz, vendor_type
";
    assert_eq!(draw(&tree.machine()), expected);
}

#[test]
fn twenty_four_cpus_hybrid() {
    let mut tree =
        Tree::of(24).file("/proc/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\nmodel name : i9\nflags : lm");
    for core in 0..8 {
        let threads = format!("{}-{}", 2 * core, 2 * core + 1);
        tree = tree.core(&threads).cache(2, &threads);
    }
    for core in 16..24 {
        tree = tree.core(&core.to_string());
    }
    let tree =
        tree.cache(2, "16-19").cache(2, "20-23").cache(3, "0-23").each("0-23", "topology/physical_package_id", "0");
    let tree = tree.file("/sys/devices/cpu_core/cpus", "0-15").file("/sys/devices/cpu_atom/cpus", "16-23");
    let tree =
        tree.each("0-15", "cpufreq/cpuinfo_max_freq", "5300000").each("8-11", "cpufreq/cpuinfo_max_freq", "5500000");
    let tree = tree.each("16-23", "cpufreq/cpuinfo_max_freq", "4200000");
    let expected = "\
i9, x86_64
24 CPUs online, 16 cores, 1 package, 2 core types

package 0
`-- L3 0-23
    |-- performance  cpu_core  5300-5500 MHz  [0+1] [2+3] [4+5] [6+7] [8+9] [10+11] [12+13] [14+15]
    `-- efficient    cpu_atom  4200 MHz       [16 17 18 19] [20 21 22 23]

[...] share an L2 cache, a+b are threads of one core

core types  performance 0-15; efficient 16-23 (source: pmu_cpu_list)
facts       pmu_cpu_list: vendor_type
            max_frequency: max_khz
            sysfs: package, siblings, l2, l3
missing     die, cluster, core, node, capacity, highest_perf
";
    assert_eq!(draw(&tree.machine()), expected);
}

#[test]
fn two_hundred_and_fifty_six_cpus() {
    let mut tree = Tree::of(256);
    for core in 0..128 {
        let threads = format!("{core},{}", core + 128);
        tree = tree.core(&threads).cache(2, &threads);
    }
    for package in 0..2 {
        let (a, b) = (package * 64, package * 64 + 63);
        let of = format!("{a}-{b},{}-{}", a + 128, b + 128);
        tree = tree.each(&of, "topology/physical_package_id", &package.to_string());
        tree = tree.file(&format!("/sys/devices/system/node/node{package}/cpulist"), &of);
    }
    for l3 in 0..8 {
        let (a, b) = (l3 * 16, l3 * 16 + 15);
        tree = tree.cache(3, &format!("{a}-{b},{}-{}", a + 128, b + 128));
    }
    let drawing = draw(&tree.machine());
    assert!(
        drawing.contains(
            "\
256 CPUs online, 128 cores, 2 packages

package 0, node 0
|-- L3 0-15,128-143   uniform  [0+128] [1+129] .. [15+143] (16)
|-- L3 16-31,144-159  uniform  [16+144] [17+145] .. [31+159] (16)
|-- L3 32-47,160-175  uniform  [32+160] [33+161] .. [47+175] (16)
`-- L3 48-63,176-191  uniform  [48+176] [49+177] .. [63+191] (16)
package 1, node 1
"
        ),
        "{drawing}"
    );
}

#[test]
fn long_lines_wrap_between_boxes() {
    let tree = (0..40).fold(Tree::of(80), |tree, i| {
        // Cores without a constant step in their numbers.
        let threads = format!("{},{}", i, 40 + (i * 7) % 40);
        tree.core(&threads).cache(2, &threads)
    });
    let drawing = draw(&tree.cache(3, "0-79").machine());
    assert!(drawing.lines().all(|l| l.len() <= 100), "{drawing}");
    assert!(drawing.lines().filter(|l| l.contains("+")).count() > 3, "{drawing}");
    for i in 0..40 {
        assert!(drawing.contains(&format!("[{}+{}]", i, 40 + (i * 7) % 40)), "{drawing}");
    }
}
