//! Callchains from the tables of a profile.

use super::NONE;
use super::tables::{Lib, Tables};
use crate::callchains::Callchains;
use crate::tracepoint::Names;
use model::{Batch, StackFrame, StackId};

/// The maximum number of callers that are followed: more are cut off in any case.
const MAX_FRAMES: usize = 2048;
/// How the path of the kernel begins.
const KERNEL: &str = "[kernel";

/// The tables of a thread, or of all threads, with the callchains made so far.
pub(super) struct Chains {
    tables: Tables,
    /// By the node of the innermost frame.
    made: Vec<Option<StackId>>,
}

/// What frames are made with.
pub(super) struct Maker<'m> {
    /// The tables that all threads share.
    pub(super) shared: Option<&'m Tables>,
    pub(super) libs: &'m [Lib],
    pub(super) names: &'m mut Names,
    pub(super) chains: &'m mut Callchains,
}

impl Chains {
    pub(super) fn new(tables: Tables) -> Self {
        let made = vec![None; tables.stack_table.len()];
        Self { tables, made }
    }

    /// Returns the callchain of a node of the tree of callers.
    pub(super) fn of(&mut self, node: u32, with: &mut Maker<'_>, out: &mut Batch) -> StackId {
        if let Some(made) = self.made.get(node as usize).copied().flatten() {
            return made;
        }
        let (mut at, mut innermost, mut in_kernel) = (Some(node), true, false);
        for _ in 0..MAX_FRAMES {
            let Some((frame, caller)) = at.and_then(|at| self.tables.stack_table.node(at)) else { break };
            let is_kernel = self.lib(frame, with).is_some_and(is_kernel);
            if in_kernel && !is_kernel {
                with.chains.push_frame(StackFrame::at(StackFrame::CONTEXT_USER));
                innermost = true;
            }
            in_kernel = is_kernel;
            let frame = self.frame(frame, u32::from(!innermost), with, out);
            // An inlined function and the one that contains it are one place in the code.
            innermost &= frame.inlined;
            with.chains.push_frame(frame);
            at = caller;
        }
        let made = with.chains.end(out);
        if let Some(place) = self.made.get_mut(node as usize) {
            *place = Some(made);
        }
        made
    }

    /// Returns the file of a frame.
    fn lib<'l>(&self, frame: u32, with: &Maker<'l>) -> Option<&'l Lib> {
        let Tables { frame_table, func_table, resource_table, .. } = &self.tables;
        let func = frame_table.func.index(frame);
        let of_resource = || resource_table.lib.index(func_table.resource.index(func));
        let lib = frame_table.lib.get(frame).unwrap_or_else(of_resource);
        with.libs.get(lib as usize)
    }

    /// Makes a frame. `back`: how much its address is less than the return address.
    fn frame(&self, frame: u32, back: u32, with: &mut Maker<'_>, out: &mut Batch) -> StackFrame {
        let Tables { frame_table, func_table, string_array, sources, .. } = &self.tables;
        let lib = self.lib(frame, with);
        let (texts, sources) =
            with.shared.map_or((string_array, sources), |shared| (&shared.string_array, &shared.sources));
        let func = frame_table.func.index(frame);
        let name = texts.get(func_table.name.index(func));
        let source = match func_table.source.get(func) {
            Some(source) => sources.filename.index(source),
            None => func_table.file_name.index(func),
        };
        let address = frame_table.address.get(frame).filter(|address| *address != NONE);
        // Code without a name has its address as its name.
        let of_name = name.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let is_name = of_name.is_none() || address.is_some_and(|address| of_name != Some(address.into()));
        let address = address.map(|address| u64::from(address) + u64::from(back)).or(of_name.filter(|_| !is_name));
        let mut of = StackFrame::at(address.unwrap_or(0));
        of.function = with.names.id(if is_name { name.as_bytes() } else { b"" }, out);
        of.source = with.names.id(texts.get(source).as_bytes(), out);
        of.line = Some(frame_table.line.index(frame)).filter(|line| *line != NONE).unwrap_or(0);
        of.inlined = frame_table.inline_depth.get(frame).is_some_and(|depth| depth > 0 && depth != NONE);
        let Some(lib) = lib else { return of };
        if is_kernel(lib) {
            of.file = with.names.id(StackFrame::KERNEL.as_bytes(), out);
            of.address = StackFrame::UNKNOWN_KERNEL_ADDRESS;
            return of;
        }
        let path = lib.path.as_deref().filter(|path| !path.is_empty()).or(lib.name.as_deref()).unwrap_or_default();
        of.file = with.names.id(path.as_bytes(), out);
        // A build id is that of an ELF file; of others the id has another form.
        let id = lib.code_id.as_deref().unwrap_or_default();
        if id.len() >= MIN_BUILD_ID && id.len() % 2 == 0 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            of.build_id = with.names.id(id.to_ascii_lowercase().as_bytes(), out);
            if let Some(address) = address {
                of.offset = StackFrame::FROM_BASE | address;
            }
        }
        of
    }
}

/// The length of the shortest build ids, in hexadecimal digits: of 8 bytes, as LLD's `--build-id=fast` makes them.
const MIN_BUILD_ID: usize = 16;

fn is_kernel(lib: &Lib) -> bool {
    let begins = |text: &Option<String>| text.as_ref().is_some_and(|text| text.starts_with(KERNEL));
    begins(&lib.path) || begins(&lib.name)
}
