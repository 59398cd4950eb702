//! Flame graphs: a tree of functions, each as wide as its share of the samples, above the function that called it.

use crate::profile::Profile;
use crate::words::{TIE, grouped, percent};
use page::{Flame, FlameFrame, FlameTone, Tone};
use std::collections::BTreeMap;

/// Frames with a smaller share of the samples are not drawn.
const MIN_SHARE: f64 = 0.001;
/// The maximum number of frames above each other.
const MAX_DEPTH: usize = 256;
/// The changes of a share, in points, from which a frame gets the next colour.
const STEPS: [f64; 3] = [0.5, 2.0, 5.0];

/// A function as called by its parent.
struct Node {
    label: String,
    tone: FlameTone,
    depth: usize,
    /// The samples, and those of the baseline.
    counts: [i64; 2],
    /// By label, as indices.
    callees: BTreeMap<String, usize>,
}

/// The tree of the callchains; parents have lower indices than their callees. The first node is the root.
struct Tree(Vec<Node>);

impl Tree {
    fn new(profiles: [Option<&Profile>; 2]) -> Self {
        let root =
            Node { label: "all".to_owned(), tone: FlameTone::Root, depth: 0, counts: [0; 2], callees: BTreeMap::new() };
        let mut tree = Self(vec![root]);
        for (which, profile) in profiles.into_iter().enumerate() {
            for (stack, samples) in profile.iter().flat_map(|profile| &profile.stacks) {
                let core = stack.core_type.iter().map(|name| (name.as_str(), FlameTone::Core(Tone::of_type(name))));
                let thread = [(stack.thread.as_str(), FlameTone::Thread)];
                let functions = from_first_named(&stack.chain).map(|name| (name, tone_of(name)));
                tree.add(core.chain(thread).chain(functions).take(MAX_DEPTH), which, *samples);
            }
        }
        tree
    }

    fn add<'a>(&mut self, frames: impl Iterator<Item = (&'a str, FlameTone)>, which: usize, samples: i64) {
        let mut at = 0;
        self.0[at].counts[which] += samples;
        for (label, tone) in frames {
            let known = self.0[at].callees.get(label).copied();
            let next = known.unwrap_or(self.0.len());
            if known.is_none() {
                let depth = self.0[at].depth + 1;
                self.0[at].callees.insert(label.to_owned(), next);
                let label = match label.strip_suffix("_[i]") {
                    Some(name) => format!("{name} (inlined)"),
                    None => label.strip_suffix("_[k]").unwrap_or(label).to_owned(),
                };
                self.0.push(Node { label, tone, depth, counts: [0; 2], callees: BTreeMap::new() });
            }
            at = next;
            self.0[at].counts[which] += samples;
        }
    }

    /// Places the frames, callers first. The baseline only colours them.
    fn frames(&self, compared: bool) -> Vec<FlameFrame> {
        let all = self.0[0].counts;
        let mut from = vec![None; self.0.len()];
        from[0] = Some(0);
        let mut frames = Vec::new();
        for (at, node) in self.0.iter().enumerate() {
            let Some(begin) = from[at] else { continue };
            let share = |samples: i64| samples as f64 / all[0].max(1) as f64;
            frames.push(FlameFrame {
                label: node.label.clone(),
                about: about(node, all, compared),
                depth: node.depth,
                x: share(begin),
                width: share(node.counts[0]),
                tone: if compared { FlameTone::Difference(change(node.counts, all)) } else { node.tone },
            });
            let mut begin = begin;
            for callee in node.callees.values() {
                let samples = self.0[*callee].counts[0];
                if samples > 0 && share(samples) >= MIN_SHARE {
                    from[*callee] = Some(begin);
                }
                begin += samples;
            }
        }
        frames
    }
}

/// Draws the callchains of a profile; with a baseline, coloured by the change of each share.
pub fn graph(profile: &Profile, baseline: Option<&Profile>) -> Flame {
    let frames = Tree::new([Some(profile), baseline]).frames(baseline.is_some());
    let legend = match baseline {
        Some(_) => changes(),
        None => kinds(&frames),
    };
    let title = match baseline {
        Some(before) => format!("Flame graph of {}, compared with {}", profile.about, before.about),
        None => format!("Flame graph of {}", profile.about),
    };
    Flame { title, legend, frames }
}

/// Returns the frames of a chain. Of several outermost frames without names, only the first stays: why the chain is truncated, or the file.
/// They would hide which functions the others called.
fn from_first_named(chain: &str) -> impl Iterator<Item = &str> {
    let first_named = chain.split(';').position(|name| tone_of(name) != FlameTone::Unnamed).unwrap_or(0);
    chain.split(';').enumerate().filter(move |(at, _)| *at == 0 || *at >= first_named).map(|(_, name)| name)
}

fn tone_of(function: &str) -> FlameTone {
    match function {
        _ if function.ends_with("_[k]") => FlameTone::Kernel,
        _ if function.starts_with('[') => FlameTone::Unnamed,
        _ => FlameTone::Program,
    }
}

/// The kinds of frames that are drawn, with their colours.
fn kinds(frames: &[FlameFrame]) -> Vec<(FlameTone, String)> {
    let mut all: Vec<(FlameTone, String)> = Vec::new();
    for frame in frames.iter().filter(|frame| matches!(frame.tone, FlameTone::Core(_))) {
        if all.iter().all(|(tone, _)| *tone != frame.tone) {
            all.push((frame.tone, frame.label.replace('_', " ")));
        }
    }
    let others = [
        (FlameTone::Thread, "thread"),
        (FlameTone::Program, "program or library"),
        (FlameTone::Kernel, "kernel"),
        (FlameTone::Unnamed, "without a symbol, or not recorded"),
    ];
    let is_drawn = |tone| frames.iter().any(|frame| frame.tone == tone);
    all.extend(others.into_iter().filter(|(tone, _)| is_drawn(*tone)).map(|(tone, words)| (tone, words.to_owned())));
    all
}

fn changes() -> Vec<(FlameTone, String)> {
    let [small, medium, large] = STEPS;
    let words = [
        (-3, format!("share of samples smaller by at least {large} points")),
        (-2, format!("by {medium} to {large}")),
        (-1, format!("by {small} to {medium}")),
        (0, format!("changed by less than {small}")),
        (1, format!("larger by {small} to {medium}")),
        (2, format!("by {medium} to {large}")),
        (3, format!("by at least {large}")),
    ];
    words.map(|(step, words)| (FlameTone::Difference(step), words)).into()
}

/// The change of a frame's share, in points.
fn points([now, before]: [i64; 2], all: [i64; 2]) -> f64 {
    let share = |samples: i64, all: i64| 100.0 * samples as f64 / all.max(1) as f64;
    share(now, all[0]) - share(before, all[1])
}

fn change(counts: [i64; 2], all: [i64; 2]) -> i8 {
    let points = points(counts, all);
    let step = STEPS.iter().filter(|step| points.abs() >= **step).count() as i8;
    if points < 0.0 { -step } else { step }
}

fn about(node: &Node, all: [i64; 2], compared: bool) -> String {
    let kernel = if node.tone == FlameTone::Kernel { " (kernel)" } else { "" };
    let words = format!("{}{kernel}: {} of {}", node.label, percent(node.counts[0], all[0]), samples(all[0]));
    if !compared {
        return words;
    }
    format!("{words}, {} of {} before", percent(node.counts[1], all[1]), grouped(all[1]))
}

fn samples(count: i64) -> String {
    format!("{}{TIE}samples", grouped(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Stack;
    use model::Tid;

    fn profile(stacks: &[(&str, i64)]) -> Profile {
        let stack =
            |chain: &str| Stack { core_type: None, thread: "A".to_owned(), tid: Tid(1), chain: chain.to_owned() };
        let stacks: BTreeMap<Stack, i64> = stacks.iter().map(|(chain, count)| (stack(chain), *count)).collect();
        Profile { samples: stacks.values().sum(), stacks, ..Profile::default() }
    }

    #[test]
    fn a_frame_is_as_wide_as_its_samples_and_above_its_caller() {
        let flame =
            graph(&profile(&[("main;work", 5), ("main;spin", 3), ("main", 2), ("[lib.so];read_[k]", 10)]), None);
        let drawn = flame.frames.iter().map(|f| (f.label.as_str(), f.depth, f.x, f.width));
        let mut drawn: Vec<_> = drawn.collect();
        drawn.sort_by_key(|frame| frame.1);
        assert_eq!(
            drawn,
            [
                ("all", 0, 0.0, 1.0),
                ("A", 1, 0.0, 1.0),
                ("[lib.so]", 2, 0.0, 0.5),
                ("main", 2, 0.5, 0.5),
                ("read", 3, 0.0, 0.5),
                ("spin", 3, 0.5, 0.15),
                ("work", 3, 0.65, 0.25),
            ]
        );
        let words: Vec<&str> = flame.legend.iter().map(|(_, words)| words.as_str()).collect();
        assert_eq!(words, ["thread", "program or library", "kernel", "without a symbol, or not recorded"]);
    }

    #[test]
    fn frames_below_a_thousandth_are_left_out_and_long_chains_are_cut() {
        let long = vec!["f"; 10_000].join(";");
        let flame = graph(&profile(&[("main", 999), ("rare", 1), (long.as_str(), 5)]), None);
        assert!(flame.frames.iter().all(|f| f.label != "rare"));
        assert_eq!(flame.frames.iter().map(|f| f.depth).max(), Some(MAX_DEPTH));
    }

    #[test]
    fn frames_without_names_hide_no_others() {
        let truncated = "[truncated: no unwind table];[game];[game.so];load;[game];read";
        let flame = graph(&profile(&[(truncated, 4), ("[game];[lib.so]", 4), ("[game];[lib.so];load", 2)]), None);
        let mut drawn: Vec<_> = flame.frames.iter().map(|f| (f.depth, f.label.as_str(), f.tone)).collect();
        drawn.sort_by_key(|(depth, label, _)| (*depth, *label));
        let [unnamed, program] = [FlameTone::Unnamed, FlameTone::Program];
        let expected = [
            (2, "[game]", unnamed),
            (2, "[truncated: no unwind table]", unnamed),
            (3, "[lib.so]", unnamed),
            (3, "load", program),
            (3, "load", program),
            (4, "[game]", unnamed),
            (5, "read", program),
        ];
        assert_eq!(drawn[2..], expected);
    }

    #[test]
    fn a_difference_is_of_shares() {
        // Twice as many samples: `work` rises from 20 to 24 %, `spin` falls from 50 to 44 %, `new` was not there, `rest` stays.
        let before = profile(&[("work", 20), ("spin", 50), ("rest", 30)]);
        let now = profile(&[("work", 48), ("spin", 88), ("rest", 60), ("new", 4)]);
        let flame = graph(&now, Some(&before));
        let tone = |label: &str| flame.frames.iter().find(|f| f.label == label).map(|f| f.tone);
        let tones = ["all", "work", "spin", "new", "rest"].map(|label| tone(label).unwrap());
        assert_eq!(tones, [0, 2, -3, 2, 0].map(FlameTone::Difference));
        let work = flame.frames.iter().find(|f| f.label == "work").unwrap();
        assert_eq!(work.about.replace(TIE, " "), "work: 24.0 % of 200 samples, 20.0 % of 100 before");
    }
}
