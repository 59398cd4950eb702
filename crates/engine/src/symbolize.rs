//! Names the frames of a recording after it was made.

use crate::tables::analyses::OF_CHAINS;
use crate::{EngineError, SymbolPath};
use model::{NameId, StackFrame, Stacks};
use std::path::Path;
use store::Folder;

/// How many distinct frames of callchains there are, and what is known of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NameCounts {
    /// All frames, without those that are inlined.
    pub all: u64,
    /// Those with a function.
    pub named: u64,
    /// Those with a source line.
    pub with_lines: u64,
    /// Inlined ones.
    pub inlined: u64,
}

impl NameCounts {
    fn of(stacks: &Stacks) -> Self {
        let is_code = |frame: &&StackFrame| frame.address < StackFrame::CONTEXT_MARKERS;
        let distinct: std::collections::BTreeSet<&StackFrame> =
            stacks.chains.iter().flatten().filter(is_code).collect();
        let mut counts = Self::default();
        for frame in distinct {
            if frame.inlined {
                counts.inlined += 1;
                continue;
            }
            counts.all += 1;
            counts.named += u64::from(frame.function != NameId::NONE);
            counts.with_lines += u64::from(frame.line > 0);
        }
        counts
    }
}

/// What [`symbolize`] found.
#[derive(Clone, Debug)]
pub struct Symbolized {
    /// What was known before.
    pub before: NameCounts,
    /// What is known now.
    pub now: NameCounts,
    /// What has no name, and why, a sentence each.
    pub nameless: Vec<String>,
}

/// Names the frames of a trace folder by the files that are found now, and stores the names in it. The recorded addresses and names are kept, and
/// names that are not found again are, too.
///
/// # Errors
/// It is not a trace folder, is damaged, or cannot be written.
pub fn symbolize(path: &Path, symbols: &SymbolPath) -> Result<Symbolized, EngineError> {
    let mut folder = Folder::open(path)?;
    let mut stacks = folder.stacks()?;
    let before = NameCounts::of(&stacks);
    let nameless = symbols::name_again(&mut stacks, symbols).sentences();
    let now = NameCounts::of(&stacks);
    if !stacks.chains.is_empty() {
        folder.store_symbolized(&stacks, nameless.clone(), &OF_CHAINS)?;
    }
    Ok(Symbolized { before, now, nameless })
}

/// Returns the files in callchains of a trace folder, with their build ids, of which frames have no name or no line.
///
/// # Errors
/// It is not a trace folder, or is damaged.
pub fn files_without_names(path: &Path) -> Result<Vec<(String, String)>, EngineError> {
    let stacks = Folder::open(path)?.stacks()?;
    let lacks = |frame: &&StackFrame| !frame.in_kernel() && (frame.function == NameId::NONE || frame.line == 0);
    let of = |frame: &StackFrame| Some((stacks.name(frame.file)?.to_owned(), stacks.name(frame.build_id)?.to_owned()));
    let mut files: Vec<(String, String)> = stacks.chains.iter().flatten().filter(lacks).filter_map(of).collect();
    files.sort();
    files.dedup();
    Ok(files)
}
