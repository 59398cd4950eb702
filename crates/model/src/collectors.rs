//! Names of threads of garbage collectors, by which a rule knows them and which say nothing about the program.

/// How the names of collectors' threads begin.
pub const COLLECTOR_THREADS: [&str; 16] = [
    "VM Thread",
    "GC Thread",
    "GC task thread",
    "G1 ",
    "ParGC Thread",
    "Parallel GC",
    "Gang worker",
    "ZWorker",
    "ZDriver",
    "XWorker",
    "Shenandoah",
    "Concurrent Mark",
    "CMS ",
    ".NET Server GC",
    ".NET BGC",
    "gcbg",
];
