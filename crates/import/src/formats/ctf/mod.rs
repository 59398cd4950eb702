//! The Common Trace Format 1.8, as written by LTTng's kernel tracer, its user-space tracer and `perf data convert
//! --to-ctf`: a folder with `metadata` and a file for each channel of each CPU.
//!
//! Spec: <https://diamon.org/ctf/v1.8.3/>; the events are those of LTTng-modules 2.x and the kernel's tracepoints.
//! Clock: the one to which the metadata maps the timestamps (`monotonic`), plus its offset, so that times count from
//! 1970 if the tracer states it; `clock_offset_ns` in the facts allows to subtract it again.
//!
//! What the format does not contain: a text that describes `prev_state` (the kernel release is used instead); thread
//! affinity; the CPUs that a perf recording of single threads leaves out; where within a full packet events were
//! discarded; and, with LTTng, whether a wakeup was made in a hardware interrupt.
//!
//! The reader is our own: libbabeltrace2 is a C library that returns an object for each field, and its text output
//! takes 20 times the CPU time of this reader (benches/ctf_repeat.py).
//!
//! ```text
//!   mod      open: the folder, the facts            metadata  packets of metadata → text
//!   lexer, parser, type_parser: text → types        compile   types → program: the steps that read them
//!   layout   stream and event classes, compiled     clock, states: readings → ns, prev_state → meaning
//!   stream   files → packets (window, losses)       records, kinds: a packet's bytes → events (ust: of programs)
//! ```

mod clock;
mod compile;
mod facts;
mod kinds;
mod layout;
mod lexer;
mod losses;
mod metadata;
mod parser;
mod program;
mod records;
mod states;
mod stream;
mod type_parser;
mod types;
mod ust;
mod window;

use ingest::{Availability, Capability, Fatal, Folder, Importer, Input, Offer, Opened, Sniff, Stream};
use layout::{Layouts, NoHead, PacketHead};
use model::CpuId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use stream::{Channel, Share, Shared};
use window::Window;

/// The file that describes the others.
const METADATA: &str = "metadata";
/// The maximum number of files in a folder; an LTTng session that rotates hourly on 256 CPUs writes 6,000 a day.
const MAX_FILES: usize = 1 << 17;
/// The maximum number of channels, which are read at the same time.
const MAX_CHANNELS: usize = 1 << 11;
/// The number of bytes that are read of a file to identify it.
const PEEK: usize = 4 << 10;

/// The importer.
pub struct Ctf;

impl Importer for Ctf {
    fn id(&self) -> &'static str {
        "CTF 1.8"
    }

    fn offer(&self) -> Offer {
        Offer {
            made_by: "LTTng 2.x (lttng create, enable-event -k, start), the folder kernel/ of a session; \
                      perf data convert --to-ctf",
            provides: &[
                (Capability::Switches, Availability::If("lttng enable-event -k sched_switch")),
                (Capability::Waking, Availability::If("lttng enable-event -k sched_waking")),
                (Capability::Wakeup, Availability::If("lttng enable-event -k sched_wakeup,sched_wakeup_new")),
                (
                    Capability::Processes,
                    Availability::If(
                        "the state dump that LTTng writes at start, or lttng add-context -k -t pid -t tid",
                    ),
                ),
                (Capability::Priority, Availability::If("with sched_switch")),
                (Capability::Idle, Availability::If("lttng enable-event -k power_cpu_idle")),
                (Capability::Frequency, Availability::If("lttng enable-event -k power_cpu_frequency")),
                (
                    Capability::Irq,
                    Availability::If(
                        "lttng enable-event -k irq_handler_entry,irq_handler_exit,irq_softirq_entry,irq_softirq_exit",
                    ),
                ),
                (Capability::Charges, Availability::If("lttng enable-event -k sched_stat_runtime")),
                (
                    Capability::Marks,
                    Availability::If(
                        "the folder ust/ of a session; for their threads: lttng add-context -u -t vpid -t vtid",
                    ),
                ),
                (
                    Capability::FutexCalls,
                    Availability::If("lttng enable-event --kernel --syscall futex; known from the first return"),
                ),
                (
                    Capability::Yields,
                    Availability::If(
                        "lttng enable-event -k --syscall sched_yield; perf: -e syscalls:sys_enter_sched_yield",
                    ),
                ),
                (Capability::Losses, Availability::Yes),
            ],
            cannot: &[
                "thread affinity",
                "core types and siblings (specify the machine with --machine)",
                "LTTng: that a wakeup was made in a hardware interrupt (it is attributed to the interrupted thread)",
                "where in a full packet events were discarded (the loss is from its last events to the next packet)",
            ],
        }
    }

    fn is_folder(&self) -> bool {
        true
    }

    fn sniff_folder(&self, names: &[String]) -> Sniff {
        if names.iter().any(|name| name == METADATA) { Sniff::Yes } else { Sniff::No }
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        if metadata::is_metadata(head) { Sniff::Yes } else { Sniff::No }
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        match from {
            Input::Folder(folder) => open(folder),
            Input::File(_) | Input::Pipe(_) => {
                let what = "this is only the metadata of a CTF trace: open the folder that contains it";
                Err(Fatal::new(what, 0))
            }
        }
    }
}

fn open<'a>(folder: Box<dyn Folder + Send + 'a>) -> Result<Opened<'a>, Fatal> {
    let file = folder.open(METADATA).map_err(|e| Fatal::new(format!("{METADATA}: {e}"), 0))?;
    let metadata = parser::parse(&metadata::read(file)?)?;
    let layouts = Arc::new(Layouts::new(&metadata)?);
    let found = find(folder.as_ref(), &layouts)?;
    if found.channels.is_empty() {
        return Err(Fatal::new(
            "no file in this folder is a stream of the trace that its metadata describes: the folder is incomplete",
            0,
        ));
    }
    let facts = facts::read(&metadata, &found.online);
    let shared: Shared<'a> = Arc::new(Mutex::new(folder));
    let share = Share::of(found.channels.len());
    let mut foreign_files = found.foreign_files;
    let streams = found.channels.into_values().map(|mut files| {
        files.sort_unstable();
        let files = files.into_iter().map(|(_, name)| name).collect();
        let foreign_files = std::mem::take(&mut foreign_files);
        Box::new(Channel::new(shared.clone(), layouts.clone(), files, foreign_files, share))
            as Box<dyn Stream + Send + 'a>
    });
    Ok(Opened { facts, streams: streams.collect() })
}

/// The files of a channel: when each starts, and its name. LTTng starts another file when one reaches the configured
/// size. All files of one channel of one CPU are one stream.
type Files = Vec<(u64, String)>;

/// What a folder contains.
#[derive(Default)]
struct FoundFiles {
    channels: BTreeMap<(String, Option<CpuId>), Files>,
    online: Vec<CpuId>,
    foreign_files: u64,
}

fn find(folder: &(dyn Folder + Send), layouts: &Layouts) -> Result<FoundFiles, Fatal> {
    let mut found = FoundFiles::default();
    let names = folder.names();
    if names.len() > MAX_FILES {
        return Err(Fatal::new("the folder contains more files than the limit of 131072", 0));
    }
    for name in names {
        if name == METADATA || name.starts_with('.') || name.ends_with(".idx") {
            continue;
        }
        match peek(folder, &name, layouts) {
            Peeked::Channel(head) => {
                let channel = head.cpu.and_then(|cpu| rotated(&name, cpu)).unwrap_or(&name).to_owned();
                found.channels.entry((channel, head.cpu)).or_default().push((head.begin.unwrap_or(0), name));
                found.online.extend(head.cpu);
            }
            Peeked::Empty => {}
            Peeked::Foreign => found.foreign_files += 1,
        }
    }
    if found.channels.len() > MAX_CHANNELS {
        return Err(Fatal::new("the folder contains more channels than the limit of 2048", 0));
    }
    found.online.sort_unstable();
    found.online.dedup();
    Ok(found)
}

/// `channel0_3` of `channel0_3_17`: LTTng appends the number of the file to the channel's name and the CPU.
fn rotated(name: &str, cpu: CpuId) -> Option<&str> {
    name.rsplit_once('_').map(|(before, _)| before).filter(|before| before.ends_with(&format!("_{}", cpu.0)))
}

enum Peeked {
    Channel(PacketHead),
    /// A CPU that came online while nothing was recorded.
    Empty,
    Foreign,
}

fn peek(folder: &(dyn Folder + Send), name: &str, layouts: &Layouts) -> Peeked {
    let Ok(file) = folder.open(name) else { return Peeked::Foreign };
    let mut window = Window::new(file, PEEK, PEEK * 4);
    let mut values = vec![0; layouts.slots];
    loop {
        let length = window.bytes().len();
        match layouts.head(window.bytes(), &mut values) {
            Ok(head) if length > 0 => return Peeked::Channel(head),
            Err(NoHead::Wrong(_)) => return Peeked::Foreign,
            _ => match window.grow(length) {
                Ok(true) => {}
                _ if length == 0 => return Peeked::Empty,
                _ => return Peeked::Foreign,
            },
        }
    }
}
