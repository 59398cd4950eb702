//! Comparisons that are made up, for tests of how they are shown.

use super::Lanes;
use crate::outcome::{
    Better, Comparison, ConditionDifference, Distribution, Metric, Outcome, Piece, RoleLine, RunLine, Side, Unit,
    Verdict, Why,
};
use page::Lane;
use stats::{Effect, Method, Scale};

/// All of them, with names for files.
pub fn all() -> [(&'static str, Comparison); 6] {
    [
        ("regression", regression()),
        ("same", same()),
        ("unknown", unknown()),
        ("single", single()),
        ("printed", printed()),
        ("hostile", hostile()),
    ]
}

/// An effect with its 95 % interval: estimate, low, high.
pub fn effect(scale: Scale, [estimate, low, high]: [f64; 3]) -> Effect {
    let middle = (low + high) / 2.0;
    let narrow = [middle + (low - middle) * 0.8, middle + (high - middle) * 0.8];
    let method = Method::SignedRank;
    Effect {
        scale,
        method,
        estimate,
        interval: Some([low, high]),
        narrow: Some(narrow),
        p: Some(0.002),
        spread_p: None,
    }
}

/// A changed metric without values of runs.
pub fn outcome(title: &str, unit: Unit, better: Better, effect: Option<Effect>) -> Outcome {
    let metric = Metric { id: title.replace(' ', "_"), role: None, title: title.to_owned(), unit, better, per: None };
    Outcome {
        metric,
        values: [Vec::new(), Vec::new()],
        middle: [None; 2],
        effect,
        q: Some(0.01),
        verdict: Verdict::Changed,
        at_most: None,
        runs_more: None,
        reason: None,
    }
}

/// A metric from its middle on A and its change as a ratio.
fn ratio(title: &str, unit: Unit, better: Better, a: f64, numbers: [f64; 3]) -> Outcome {
    let mut of = outcome(title, unit, better, Some(effect(Scale::Ratio, numbers)));
    of.middle = [Some(a), Some(a * numbers[0])];
    let far = |x: f64| (x - 1.0).abs();
    if numbers[1] < 1.0 && numbers[2] > 1.0 {
        let most = far(numbers[1]).max(far(numbers[2]));
        of.verdict = if most < 0.02 { Verdict::Same } else { Verdict::Unknown };
        of.at_most = Some(most);
        of.runs_more = (most >= 0.02).then_some((most * 100.0) as usize);
    }
    of
}

fn of_role(role: &str, mut of: Outcome) -> Outcome {
    of.metric.role = Some(role.to_owned());
    of
}

/// Values of runs around a middle, the same on every call.
fn around(middle: f64, spread: f64, runs: usize, shift: usize) -> Vec<Option<f64>> {
    (0..runs).map(|run| Some(middle * (1.0 + spread * ((((run + shift) * 7) % 10) as f64 - 4.5) / 9.0))).collect()
}

fn side(name: &str, folder: &str, values: &[Option<f64>]) -> Side {
    let run = |(at, value): (usize, &Option<f64>)| RunLine {
        path: format!("{folder}/{:02}.cw", at + 1),
        value: *value,
        defects: Vec::new(),
    };
    let runs = values.iter().enumerate().map(run).collect();
    Side { name: name.to_owned(), runs, median_run: Some(values.len() / 2) }
}

fn role(name: &str, thread: &str, threads: [f64; 2], matched_by: &'static str, confidence: &'static str) -> RoleLine {
    let (name, process, thread) = (name.to_owned(), "game".to_owned(), thread.to_owned());
    RoleLine { name, process, thread, threads, matched_by, confidence, is_own: true, is_kernel: false }
}

fn piece(cause: &str, title: &str, ms: [f64; 3]) -> Piece {
    let [ns, low, high] = ms.map(|ms| ms * 1e6);
    let (cause, title) = (cause.to_owned(), title.to_owned());
    Piece { cause, title, role: None, ns, means: Some([1e8, 1e8 + ns]), interval: Some([low, high]) }
}

fn condition(name: &str, a: &str, b: &str, matters: bool) -> ConditionDifference {
    let values = [a, b].map(|value| if value.is_empty() { Vec::new() } else { vec![value.to_owned()] });
    ConditionDifference { name: name.to_owned(), values, matters }
}

/// Quantiles of a skewed distribution around a middle, ns.
fn quantiles(middle: f64, tail: f64) -> Vec<f64> {
    (0..=100).map(|at| f64::from(at) / 100.0).map(|q| middle * (0.9 + 0.15 * q + tail * q.powi(24))).collect()
}

/// A clear regression: ten pairs, with causes, roles and frames.
pub fn regression() -> Comparison {
    let (less, more, neither) = (Better::Less, Better::More, Better::Neither);
    let values = [around(1.234e9, 0.02, 10, 0), around(1.2735e9, 0.024, 10, 1)];
    let mut objective = ratio("time to the end", Unit::Ns, less, 1.234e9, [1.032, 1.021, 1.044]);
    (objective.metric.id, objective.q, objective.values) = ("elapsed".to_owned(), None, values.clone());
    let program = [
        ratio("CPU time", Unit::Ns, less, 7.91e9, [1.004, 0.997, 1.011]),
        ratio("ready time", Unit::Ns, less, 4.4e8, [1.31, 1.22, 1.42]),
        ratio("blocked time", Unit::Ns, neither, 3.2e9, [1.021, 0.95, 1.08]),
        ratio("context switches", Unit::Count, less, 12_402.0, [1.089, 1.051, 1.13]),
        ratio("migrations", Unit::Count, less, 310.0, [2.4, 1.9, 3.1]),
        ratio("mean frequency", Unit::Khz, more, 4.21e6, [0.999, 0.993, 1.004]),
        ratio("99th percentile of frame time", Unit::Ns, less, 18.2e6, [1.12, 1.06, 1.2]),
        ratio("frames per second", Unit::PerSecond, more, 59.4, [0.97, 0.95, 0.985]),
        ratio("energy", Unit::Joule, less, 38.2, [1.012, 0.98, 1.05]),
    ];
    let mut share =
        outcome("share of time on E cores", Unit::Ratio, neither, Some(effect(Scale::Difference, [0.08, 0.05, 0.11])));
    share.middle = [Some(0.12), Some(0.20)];
    let roles = [("game/Main (1 thread)", 1.0), ("game/Worker (8 threads)", 1.3), ("game/Audio (1 thread)", 1.1)];
    let of_roles = roles.into_iter().flat_map(|(name, x)| {
        [
            ratio("running time", Unit::Ns, neither, 9e8 * x, [1.003, 0.998, 1.009]),
            ratio(
                "ready time",
                Unit::Ns,
                less,
                2.1e7 * x,
                [1.0 + 0.4 * (x - 1.0), 0.9 + 0.5 * (x - 1.0), 1.1 + 0.5 * x],
            ),
            ratio("time on the critical path", Unit::Ns, less, 4e8 * x, [x, x - 0.06, x + 0.07]),
            ratio("migrations per frame", Unit::Count, less, 1.4 * x, [1.0, 0.8, 1.25]),
        ]
        .map(|of| of_role(name, of))
    });
    let pieces = vec![
        piece("ready", "Worker queued behind Audio", [28.4, 24.1, 33.0]),
        piece("work", "more work of Main", [9.7, 5.2, 14.3]),
        piece("frequency", "Worker at a lower frequency", [4.1, 1.0, 7.2]),
        piece("blocked", "Main waited less in futex", [-5.3, -8.8, -1.9]),
        piece("core_type", "Worker on E cores", [2.2, -0.4, 4.8]),
        piece("sibling", "Main while its SMT sibling was busy", [0.3, -0.2, 0.8]),
        piece("wakeup_latency", "Render woken late", [0.2, 0.0, 0.4]),
        piece("unknown", "unknown", [-0.1, -0.5, 0.3]),
    ];
    let change = pieces.iter().map(|p| p.ns).sum::<f64>();
    Comparison {
        answer: "B is 3.2 % slower than A (95 % interval 2.1 to 4.4 %): Worker queued behind Audio explains 72 % of it.".to_owned(),
        cautions: vec!["The governor was changed between the sides: schedutil in A, performance in B.".to_owned()],
        sides: [side("main (4f2a91c)", "runs/a", &values[0]), side("pull-request (b81d0e2)", "runs/b", &values[1])],
        paired: true,
        margin: 0.01,
        objective,
        why: Some(Why {
            line: Some("Worker queued behind Audio explains 28.4 ms of 39.5 ms".to_owned()),
            means: [1.234e9, 1.234e9 + change],
            pieces,
        }),
        metrics: program.into_iter().chain([share]).chain(of_roles).collect(),
        distributions: vec![Distribution {
            name: "frame time".to_owned(),
            unit: Unit::Ns,
            better: less,
            counts: [740, 716],
            quantiles: [quantiles(16.4e6, 0.2), quantiles(16.9e6, 0.6)],
        }],
        roles: vec![
            role("game/Main (1 thread)", "Main", [1.0, 1.0], "name", "high"),
            role("game/Worker (8 threads)", "Worker", [8.0, 8.0], "name", "high"),
            role("game/Audio (1 thread)", "Audio", [1.0, 1.0], "name", "high"),
            role("game/RenderThread (1 thread)", "RenderThread", [1.0, 1.0], "wakeups", "medium"),
            role("game/Loader (2 threads)", "Loader", [2.0, 0.0], "only_a", "high"),
            role("game/Streamer (4 threads)", "Streamer", [0.0, 4.0], "only_b", "high"),
        ],
        conditions: vec![
            condition("load_average", "0.42", "0.61", false),
            condition("governor", "schedutil", "performance", true),
            condition("kernel_release", "6.12.9", "", true),
        ],
        counted: Vec::new(),
        not_compared: vec![
            "Cache misses: no run of A has them.".to_owned(),
            "The critical path of run b/07: events were lost within it.".to_owned(),
        ],
        methods: vec![
            "Runs are compared as pairs in the order of recording.".to_owned(),
            "The change is the median of Walsh averages of log ratios; its interval comes from the exact distribution of Wilcoxon's \
             signed rank."
                .to_owned(),
            "Metrics other than the objective are called changed at a false discovery rate of 5 % (Benjamini and Hochberg).".to_owned(),
            "Parts of the change are means over the runs and sum to it exactly.".to_owned(),
        ],
    }
}

/// Two sides that do not differ.
pub fn same() -> Comparison {
    let values = [around(8.02e9, 0.008, 6, 0), around(8.03e9, 0.008, 6, 3)];
    let mut objective = ratio("time to the end", Unit::Ns, Better::Less, 8.02e9, [1.001, 0.994, 1.008]);
    (objective.metric.id, objective.q, objective.values) = ("elapsed".to_owned(), None, values.clone());
    let rank_sum =
        |of: &mut Outcome| of.effect = of.effect.map(|e| Effect { method: Method::RankSum, p: Some(0.59), ..e });
    rank_sum(&mut objective);
    Comparison {
        answer: "No change larger than 0.8 % (95 % confidence): A and B take the same time.".to_owned(),
        cautions: Vec::new(),
        sides: [side("A", "before", &values[0]), side("B", "after", &values[1])],
        paired: false,
        margin: 0.02,
        objective,
        why: None,
        metrics: vec![
            ratio("CPU time", Unit::Ns, Better::Less, 31.2e9, [1.0, 0.992, 1.007]),
            ratio("ready time", Unit::Ns, Better::Less, 2.1e8, [0.99, 0.91, 1.08]),
            ratio("context switches", Unit::Count, Better::Less, 88_120.0, [1.003, 0.991, 1.014]),
        ],
        distributions: Vec::new(),
        roles: vec![role("sort/worker (4 threads)", "worker", [4.0, 4.0], "name", "high")],
        conditions: Vec::new(),
        counted: Vec::new(),
        not_compared: Vec::new(),
        methods: vec!["Hodges-Lehmann shift of log ratios with its exact interval.".to_owned()],
    }
}

/// Three runs a side, which do not suffice.
pub fn unknown() -> Comparison {
    let values = [around(2.4e9, 0.2, 3, 0), around(2.6e9, 0.25, 3, 2)];
    let mut objective = ratio("time to the end", Unit::Ns, Better::Less, 2.4e9, [1.07, 0.9, 1.28]);
    (objective.metric.id, objective.q, objective.values) = ("elapsed".to_owned(), None, values.clone());
    objective.runs_more = Some(6);
    objective.effect = objective.effect.map(|e| Effect { method: Method::Student, p: Some(0.31), ..e });
    Comparison {
        answer: "Unknown whether B differs from A: about 6 more runs a side would settle it.".to_owned(),
        cautions: vec![
            "All runs of A were recorded before all runs of B: a drift of the machine is part of the change."
                .to_owned(),
            "Run 2 of B lost 1 204 events.".to_owned(),
        ],
        sides: [side("./build --jobs 4", "a", &values[0]), side("./build --jobs 8", "b", &values[1])],
        paired: false,
        margin: 0.02,
        objective,
        why: Some(Why {
            line: None,
            means: [2.4e9, 2.41e9],
            pieces: vec![
                piece("work", "more work of cc1plus", [120.0, -80.0, 300.0]),
                piece("ready", "less queueing of cc1plus", [-110.0, -240.0, 20.0]),
            ],
        }),
        metrics: vec![
            ratio("CPU time", Unit::Ns, Better::Less, 9.1e9, [1.02, 0.94, 1.11]),
            ratio("ready time", Unit::Ns, Better::Less, 8.1e8, [0.7, 0.4, 1.2]),
        ],
        distributions: Vec::new(),
        roles: vec![role("build/cc1plus (4 threads)", "cc1plus", [4.0, 8.0], "name", "medium")],
        conditions: vec![condition("load_average", "0.10", "2.81", false)],
        counted: Vec::new(),
        not_compared: Vec::new(),
        methods: vec!["Student's t on log times, which assumes that runs are normally distributed.".to_owned()],
    }
}

/// One run a side, with frames.
pub fn single() -> Comparison {
    let mut objective = ratio("99th percentile of frame time", Unit::Ns, Better::Less, 24.1e6, [0.81, 0.76, 0.88]);
    (objective.metric.id, objective.q) = ("frame.p99".to_owned(), None);
    objective.values = [vec![Some(24.1e6)], vec![Some(19.5e6)]];
    objective.effect = objective.effect.map(|e| Effect { method: Method::Blocks, p: None, ..e });
    let runs = objective.values.clone();
    Comparison {
        answer:
            "The 99th percentile of frame time is 19 % shorter in B (95 % interval 12 to 24 %), within these two runs."
                .to_owned(),
        cautions: vec!["One run a side: the interval says nothing about variation between runs.".to_owned()],
        sides: [side("A", "capture-old", &runs[0]), side("B", "capture-new", &runs[1])],
        paired: false,
        margin: 0.02,
        objective,
        why: None,
        metrics: vec![
            ratio("frames per second", Unit::PerSecond, Better::More, 58.1, [1.04, 1.02, 1.06]),
            ratio("median frame time", Unit::Ns, Better::Less, 16.9e6, [0.99, 0.985, 0.996]),
        ],
        distributions: vec![Distribution {
            name: "frame time".to_owned(),
            unit: Unit::Ns,
            better: Better::Less,
            counts: [3486, 3610],
            quantiles: [quantiles(16.7e6, 0.9), quantiles(16.5e6, 0.3)],
        }],
        roles: Vec::new(),
        conditions: vec![condition("graphics_driver", "31.0.101", "32.0.11", true)],
        counted: Vec::new(),
        not_compared: vec!["Threads: a frame log has none.".to_owned()],
        methods: vec!["Block bootstrap over the frames within the runs.".to_owned()],
    }
}

/// Printed tables: values without threads, and a value without a unit.
pub fn printed() -> Comparison {
    let values = [around(10.2e9, 0.01, 5, 0), around(9.4e9, 0.01, 5, 1)];
    let mut objective = ratio("elapsed time", Unit::Ns, Better::Less, 10.2e9, [0.92, 0.91, 0.934]);
    (objective.metric.id, objective.q, objective.values) = ("elapsed".to_owned(), None, values.clone());
    let mut missing = outcome("LLC-load-misses", Unit::Other, Better::Less, None);
    (missing.verdict, missing.reason) = (Verdict::Unknown, Some("A does not have it.".to_owned()));
    missing.middle = [None, Some(81_002.0)];
    Comparison {
        answer: "B is 8.0 % faster than A (95 % interval 6.6 to 9.0 %).".to_owned(),
        cautions: Vec::new(),
        sides: [side("perf-stat-a.txt", "a", &values[0]), side("perf-stat-b.txt", "b", &values[1])],
        paired: false,
        margin: 0.01,
        objective,
        why: None,
        metrics: vec![
            ratio("instructions", Unit::Count, Better::Less, 41.2e9, [1.0001, 0.9999, 1.0003]),
            ratio("cycles", Unit::Count, Better::Less, 38.0e9, [0.919, 0.91, 0.93]),
            ratio("branch-misses", Unit::Other, Better::Less, 1.1e8, [0.61, 0.55, 0.68]),
            missing,
        ],
        distributions: Vec::new(),
        roles: Vec::new(),
        conditions: Vec::new(),
        counted: Vec::new(),
        not_compared: vec!["Why it changed: printed tables have no threads.".to_owned()],
        methods: vec!["Hodges-Lehmann shift of log ratios with its exact interval.".to_owned()],
    }
}

/// Names and numbers as no program should have them.
pub fn hostile() -> Comparison {
    let mut of = regression();
    let script = "<script>alert('1')</script> & \"x\" | `rm` @everyone #1 [a](https://example.org)";
    let long = "very-long-name-without-any-space-".repeat(12);
    let control = "a\u{1b}[2J\u{0}\u{202e}b\r\nc\u{7}";
    of.answer = format!("{script} {control}");
    of.cautions = vec![long.clone(), script.to_owned(), control.to_owned()];
    of.sides[0].name = long.clone();
    of.sides[1].name = script.to_owned();
    of.sides[0].runs[0].path = format!("{control}/{long}");
    of.sides[0].runs[0].defects = vec![script.to_owned()];
    of.sides[1].median_run = Some(99);
    of.objective.values[0][0] = Some(f64::NAN);
    of.objective.values[1][0] = Some(f64::INFINITY);
    of.metrics[0].metric.title = script.to_owned();
    of.metrics[1].metric.title = long.clone();
    of.metrics[2].effect = Some(effect(Scale::Ratio, [f64::NAN, f64::NEG_INFINITY, f64::INFINITY]));
    of.metrics[3].effect = Some(effect(Scale::Ratio, [1e300, 1e-300, 1e308]));
    of.metrics[4].metric.role = Some(control.to_owned());
    of.metrics[4].metric.per = Some(script.to_owned());
    of.metrics[5].reason = Some(script.to_owned());
    if let Some(why) = &mut of.why {
        why.line = Some(script.to_owned());
        why.pieces[0].title = long.clone();
        why.pieces[1].title = script.to_owned();
        why.pieces[2].ns = f64::NAN;
        why.pieces[3].interval = Some([f64::NEG_INFINITY, f64::NAN]);
    }
    of.distributions[0].name = script.to_owned();
    of.distributions[0].quantiles[0] = vec![f64::NAN, 1.0];
    of.distributions.push(Distribution { quantiles: [Vec::new(), Vec::new()], ..of.distributions[0].clone() });
    of.roles[0].name = script.to_owned();
    of.roles[1].name = long;
    of.roles[4].name = control.to_owned();
    of.conditions[0].values[0] = vec![script.to_owned(), control.to_owned()];
    of.not_compared.push(script.to_owned());
    of.methods.push(control.to_owned());
    of
}

/// The CPUs over time of two runs; B takes longer.
pub fn timelines() -> [Lanes; 2] {
    [(1.234e9, 0), (1.2735e9, 3)].map(|(span, shift)| Lanes {
        title: format!("CPU utilisation of runs/{}/06.cw", if shift == 0 { "a" } else { "b" }),
        begin_ns: 0,
        span_ns: span as i64,
        ranges: Vec::new(),
        lanes: (0..6)
            .map(|cpu: usize| Lane {
                label: format!("CPU {cpu}"),
                core_type: if cpu < 4 { "performance" } else { "efficient" }.to_owned(),
                cells: (0..200)
                    .map(|at: usize| {
                        let wave = ((at + shift * cpu) as f64 / (7.0 + cpu as f64)).sin();
                        (wave.max(0.0), if cpu == 5 && at > 180 { 0.8 } else { 0.0 })
                    })
                    .collect(),
            })
            .collect(),
    })
}
