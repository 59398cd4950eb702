//! The Common Trace Format 1.8, as LTTng's kernel tracer, its user-space tracer and `perf data convert --to-ctf` write it: a
//! folder with `metadata` and a file for each channel of each CPU.
//!
//! Spec: <https://diamon.org/ctf/v1.8.3/>; the events are those of LTTng-modules 2.x and of the kernel's tracepoints.
//! Clock: the one that the metadata maps the time stamps to (`monotonic`), moved by its offset, so that times count from
//! 1970 where the tracer says so; `clock_offset_ns` in the facts takes that back.
//!
//! What the format cannot tell: a text of what `prev_state` means (the kernel's release does); which CPUs a thread may use;
//! which CPUs the events of a perf recording of single threads leave out; where within a full packet events were discarded;
//! of LTTng, that a waking was made in a hardware interrupt.
//!
//! Our own reader: libbabeltrace2 is a C library that hands out an object for each field, and its text takes 20 times the CPU
//! time of this (benches/ctf_repeat.py).
//!
//! ```text
//!   mod      open: the folder, the facts            metadata  packets of metadata → text
//!   lexer, parser, type_parser: text → types        compile   types → program: the steps that read them
//!   layout   kinds of stream and event, compiled    clock, states: readings → ns, prev_state → meaning
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

use ingest::{Capability, Fatal, Folder, Importer, Input, Offer, Opened, Sniff, Stream, Tells};
use layout::{Layouts, NoHead, PacketHead};
use model::CpuId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use stream::{Channel, Share, Shared};
use window::Window;

/// The file that describes the others.
const METADATA: &str = "metadata";
/// Files of a folder; a session of LTTng that rotates hourly on 256 CPUs writes 6,000 a day.
const MOST_FILES: usize = 1 << 17;
/// Channels read at once.
const MOST_CHANNELS: usize = 1 << 11;
/// What is read of a file to learn what it is.
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
            tells: &[
                (Capability::Switches, Tells::If("lttng enable-event -k sched_switch")),
                (Capability::Waking, Tells::If("lttng enable-event -k sched_waking")),
                (Capability::Wakeup, Tells::If("lttng enable-event -k sched_wakeup,sched_wakeup_new")),
                (
                    Capability::Processes,
                    Tells::If("the state dump that LTTng writes at start, or lttng add-context -k -t pid -t tid"),
                ),
                (Capability::Priority, Tells::If("with sched_switch")),
                (Capability::Idle, Tells::If("lttng enable-event -k power_cpu_idle")),
                (Capability::Frequency, Tells::If("lttng enable-event -k power_cpu_frequency")),
                (
                    Capability::Irq,
                    Tells::If(
                        "lttng enable-event -k irq_handler_entry,irq_handler_exit,irq_softirq_entry,irq_softirq_exit",
                    ),
                ),
                (Capability::Charges, Tells::If("lttng enable-event -k sched_stat_runtime")),
                (
                    Capability::Marks,
                    Tells::If("the folder ust/ of a session; whose they are: lttng add-context -u -t vpid -t vtid"),
                ),
                (
                    Capability::Yields,
                    Tells::If("lttng enable-event -k --syscall sched_yield; perf: -e syscalls:sys_enter_sched_yield"),
                ),
                (Capability::Losses, Tells::Yes),
            ],
            cannot: &[
                "which CPUs a thread may use",
                "core types and siblings: name the machine with --machine",
                "that a waking was made in a hardware interrupt, of LTTng: it is by the thread that was interrupted",
                "where within a full packet events were discarded (the span is from its last events to the next packet)",
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
                let what = "the metadata of a CTF trace tells nothing alone: open the folder that it is in";
                Err(Fatal::new(what, 0))
            }
        }
    }
}

fn open<'a>(folder: Box<dyn Folder + Send + 'a>) -> Result<Opened<'a>, Fatal> {
    let file = folder.open(METADATA).map_err(|e| Fatal::new(format!("{METADATA}: {e}"), 0))?;
    let told = parser::parse(&metadata::read(file)?)?;
    let layouts = Arc::new(Layouts::new(&told)?);
    let found = find(folder.as_ref(), &layouts)?;
    if found.channels.is_empty() {
        return Err(Fatal::new("no file in this folder is a stream of the trace that its metadata describes", 0));
    }
    let facts = facts::read(&told, &found.online);
    let shared: Shared<'a> = Arc::new(Mutex::new(folder));
    let share = Share::of(found.channels.len());
    let mut strangers = found.strangers;
    let streams = found.channels.into_values().map(|mut files| {
        files.sort_unstable();
        let files = files.into_iter().map(|(_, name)| name).collect();
        let strangers = std::mem::take(&mut strangers);
        Box::new(Channel::new(shared.clone(), layouts.clone(), files, strangers, share)) as Box<dyn Stream + Send + 'a>
    });
    Ok(Opened { facts, streams: streams.collect() })
}

/// The files of a channel: when each begins, and its name. LTTng starts another file when one has the size that was asked
/// for; those of a channel of a CPU are one stream.
type Files = Vec<(u64, String)>;

/// What a folder holds.
#[derive(Default)]
struct FoundFiles {
    channels: BTreeMap<(String, Option<CpuId>), Files>,
    online: Vec<CpuId>,
    strangers: u64,
}

fn find(folder: &(dyn Folder + Send), layouts: &Layouts) -> Result<FoundFiles, Fatal> {
    let mut found = FoundFiles::default();
    let names = folder.names();
    if names.len() > MOST_FILES {
        return Err(Fatal::new("more files in this folder than any tracer writes", 0));
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
            Peeked::Stranger => found.strangers += 1,
        }
    }
    if found.channels.len() > MOST_CHANNELS {
        return Err(Fatal::new("more channels in this folder than any tracer writes", 0));
    }
    found.online.sort_unstable();
    found.online.dedup();
    Ok(found)
}

/// `channel0_3` of `channel0_3_17`: LTTng numbers the files of a channel of a CPU behind the CPU's number.
fn rotated(name: &str, cpu: CpuId) -> Option<&str> {
    name.rsplit_once('_').map(|(before, _)| before).filter(|before| before.ends_with(&format!("_{}", cpu.0)))
}

enum Peeked {
    Channel(PacketHead),
    /// A CPU that came online while nothing was recorded.
    Empty,
    Stranger,
}

fn peek(folder: &(dyn Folder + Send), name: &str, layouts: &Layouts) -> Peeked {
    let Ok(file) = folder.open(name) else { return Peeked::Stranger };
    let mut window = Window::new(file, PEEK, PEEK * 4);
    let mut values = vec![0; layouts.slots];
    loop {
        let length = window.bytes().len();
        match layouts.head(window.bytes(), &mut values) {
            Ok(head) if length > 0 => return Peeked::Channel(head),
            Err(NoHead::Wrong(_)) => return Peeked::Stranger,
            _ => match window.grow(length) {
                Ok(true) => {}
                _ if length == 0 => return Peeked::Empty,
                _ => return Peeked::Stranger,
            },
        }
    }
}
