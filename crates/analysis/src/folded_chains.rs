//! Callchains folded by function: those that differ only in addresses are one.

use model::{StackFrame, StackId, Stacks};
use rustc_hash::FxHashMap;

/// A folded callchain: its innermost function and, as parents, the callers. 0 is the empty one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct FoldedId(u32);

impl FoldedId {
    /// Without any function: the callchain was not recorded.
    pub(crate) const NONE: Self = Self(0);
    /// Stands for all callchains beyond a table's limit.
    pub(crate) const OTHER: Self = Self(u32::MAX);
}

/// The folded callchains of a recording, as a tree: each node is a function that its parent called.
#[derive(Clone, Debug, Default)]
pub(crate) struct FoldedChains {
    /// By [`StackId`], from 1 on.
    by_stack: Vec<FoldedId>,
    /// The parent and the label of each node, from [`FoldedId`] 1 on.
    nodes: Vec<(FoldedId, u32)>,
    labels: Vec<Box<str>>,
}

impl FoldedChains {
    pub(crate) fn new(stacks: &Stacks) -> Self {
        let mut all = Self::default();
        let (mut labels, mut nodes) = (FxHashMap::default(), FxHashMap::default());
        let mut numbers = FxHashMap::<Box<str>, u32>::default();
        for chain in &stacks.chains {
            let mut at = FoldedId::NONE;
            for frame in chain.iter().rev().filter(|frame| frame.address < StackFrame::CONTEXT_MARKERS) {
                let key = (frame.function, frame.file, frame.in_kernel(), frame.inlined);
                let label = *labels.entry(key).or_insert_with(|| {
                    let (label, next) = (label(stacks, frame), numbers.len() as u32);
                    *numbers.entry(label.into()).or_insert(next)
                });
                at = *nodes.entry((at, label)).or_insert_with(|| {
                    all.nodes.push((at, label));
                    FoldedId(all.nodes.len() as u32)
                });
            }
            all.by_stack.push(at);
        }
        all.labels = vec![Box::default(); numbers.len()];
        for (label, number) in numbers {
            all.labels[number as usize] = label;
        }
        all
    }

    /// Returns the folded callchain.
    pub(crate) fn of(&self, stack: StackId) -> FoldedId {
        (stack.0 as usize).checked_sub(1).and_then(|at| self.by_stack.get(at)).copied().unwrap_or(FoldedId::NONE)
    }

    /// Returns the functions from the outermost to the innermost, joined by semicolons; `None` for [`FoldedId::NONE`].
    pub(crate) fn text(&self, id: FoldedId) -> Option<String> {
        if id == FoldedId::OTHER {
            return Some("[other]".to_owned());
        }
        let node = |id: FoldedId| (id.0 as usize).checked_sub(1).and_then(|at| self.nodes.get(at));
        let chain = std::iter::successors(node(id), |(caller, _)| node(*caller));
        let mut labels: Vec<&str> = chain.filter_map(|(_, label)| Some(&**self.labels.get(*label as usize)?)).collect();
        labels.reverse();
        (!labels.is_empty()).then(|| labels.join(";"))
    }
}

/// The text of a frame, as in the folded stacks of perf's scripts: functions of the kernel end with `_[k]`, inlined ones with `_[i]`, and a
/// function without a name is its file in brackets.
fn label(stacks: &Stacks, frame: &StackFrame) -> String {
    let plain = |name: &str| name.replace(';', ":").replace(char::is_control, " ");
    if let Some(name) = stacks.name(frame.function) {
        let mark = match () {
            () if frame.in_kernel() => "_[k]",
            () if frame.inlined => "_[i]",
            () => "",
        };
        return format!("{}{mark}", plain(name));
    }
    let file = stacks.name(frame.file).and_then(|file| file.rsplit('/').next()).unwrap_or("unknown");
    format!("[{}]", plain(file.trim_matches(['[', ']'])))
}
