//! The functions in the callchains of a recording.

use crate::blocked_by;
use crate::call_site::{CallSite, call_site};
use crate::parkers::parks;
use crate::source_lines::{LineId, SourceLines};
use model::{StackFrame, StackId, Stacks, Value};
use rustc_hash::FxHashMap;

/// A function by name and file. The order is that of the names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FunctionId(u32);

/// The name of a function and its file, as far as they are known.
type Named = (Option<Box<str>>, Option<Box<str>>);

/// The functions of each callchain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Functions {
    /// Innermost first. A function that called itself is there once.
    by_stack: Vec<Box<[FunctionId]>>,
    /// The line of each of them.
    lines: Vec<Box<[Option<LineId>]>>,
    /// Of each callchain, the place in `by_stack` of the function in which a thread with this callchain waits.
    waiting: Vec<u32>,
    /// Of each callchain, the function of the program itself that waits, and its line.
    call_sites: Vec<Option<CallSite>>,
    /// Of each callchain, whether a thread with it waits for a word of its own.
    parks: Vec<bool>,
    /// Distinct and sorted.
    all: Vec<Named>,
}

impl Functions {
    pub(crate) fn new(stacks: &Stacks, known: &SourceLines) -> Self {
        let mut numbers: FxHashMap<(Option<&str>, Option<&str>), u32> = FxHashMap::default();
        for frame in stacks.chains.iter().flatten().filter(|frame| is_code(frame)) {
            numbers.entry((stacks.name(frame.function), stacks.name(frame.file))).or_default();
        }
        let mut all: Vec<(Option<&str>, Option<&str>)> = numbers.keys().copied().collect();
        all.sort_unstable();
        for (number, named) in all.iter().enumerate() {
            numbers.insert(*named, number as u32);
        }
        let functions = |chain: &[StackFrame]| {
            let mut of: Vec<FunctionId> = Vec::with_capacity(chain.len());
            let mut lines = Vec::new();
            for frame in chain.iter().filter(|frame| is_code(frame)) {
                let named = (stacks.name(frame.function), stacks.name(frame.file));
                let id = FunctionId(numbers.get(&named).copied().unwrap_or_default());
                if !of.contains(&id) {
                    of.push(id);
                    lines.push(known.id(stacks, frame));
                }
            }
            (of.into_boxed_slice(), lines.into_boxed_slice())
        };
        let (by_stack, lines): (Vec<_>, Vec<_>) = stacks.chains.iter().map(|chain| functions(chain)).unzip();
        let waiting = stacks.chains.iter().zip(&by_stack).map(|(chain, of)| {
            let frame = blocked_by::waiting(stacks, chain).and_then(|at| chain.get(at));
            let named = frame.map(|frame| (stacks.name(frame.function), stacks.name(frame.file)));
            let id = named.and_then(|named| numbers.get(&named)).map(|number| FunctionId(*number));
            id.and_then(|id| of.iter().position(|of| *of == id)).unwrap_or(of.len()) as u32
        });
        let waiting = waiting.collect();
        let call_sites = stacks.chains.iter().map(|chain| {
            let frame = call_site(stacks, chain)?;
            let number = numbers.get(&(stacks.name(frame.function), stacks.name(frame.file)))?;
            Some(CallSite { function: FunctionId(*number), line: known.id(stacks, frame) })
        });
        let call_sites = call_sites.collect();
        Self {
            by_stack,
            lines,
            waiting,
            call_sites,
            parks: stacks.chains.iter().map(|chain| parks(stacks, chain)).collect(),
            all: all.iter().map(|(name, file)| (name.map(Into::into), file.map(Into::into))).collect(),
        }
    }

    /// Returns the functions of a callchain, innermost first.
    pub(crate) fn of(&self, stack: StackId) -> &[FunctionId] {
        (stack.0 as usize).checked_sub(1).and_then(|at| self.by_stack.get(at)).map_or(&[], AsRef::as_ref)
    }

    /// Returns the line of each function of a callchain.
    pub(crate) fn lines_of(&self, stack: StackId) -> &[Option<LineId>] {
        (stack.0 as usize).checked_sub(1).and_then(|at| self.lines.get(at)).map_or(&[], AsRef::as_ref)
    }

    /// Returns the function in which a thread with this callchain waits, and those that called it: of a program, from its innermost
    /// function on; of a kernel thread, from the first one outside the scheduler on. Empty if unknown.
    pub(crate) fn waiting(&self, stack: StackId) -> &[FunctionId] {
        let from = (stack.0 as usize).checked_sub(1).and_then(|at| self.waiting.get(at)).copied();
        from.map_or(&[], |from| self.of(stack).get(from as usize..).unwrap_or_default())
    }

    /// Returns the function of the program itself that waits in this callchain ([`call_site`]); `None` if unknown.
    pub(crate) fn call_site(&self, stack: StackId) -> Option<CallSite> {
        (stack.0 as usize).checked_sub(1).and_then(|at| self.call_sites.get(at)).copied().flatten()
    }

    /// Whether a thread that waits with this callchain waits for a word of its own ([`parks`]); false if unknown.
    pub(crate) fn parks(&self, stack: StackId) -> bool {
        (stack.0 as usize).checked_sub(1).and_then(|at| self.parks.get(at)).is_some_and(|parks| *parks)
    }

    /// Returns the cell of the function of a call site; null if there is none.
    pub(crate) fn of_site(&self, site: Option<CallSite>) -> Value {
        self.name(site.map(|site| site.function))
    }

    /// Returns the cell of a function's name; null if there is none.
    pub(crate) fn name(&self, id: Option<FunctionId>) -> Value {
        id.and_then(|id| self.named(id).0).into()
    }

    /// Returns the name of a function and its file.
    pub(crate) fn named(&self, id: FunctionId) -> (Option<&str>, Option<&str>) {
        self.all.get(id.0 as usize).map_or((None, None), |(name, file)| (name.as_deref(), file.as_deref()))
    }
}

/// Whether a frame is an address of code, and not perf's marker.
fn is_code(frame: &StackFrame) -> bool {
    frame.address < StackFrame::CONTEXT_MARKERS
}
