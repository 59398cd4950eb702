//! A recording with a secret in each place where one can be.

use crate::support::Folder;
use engine::{Condition, EngineError, Facts, Fatal, Identity, Opened, PassOptions, Priority, Redact, Source, Target};
use model::{Batch, CpuId, Event, EventKind, Mark, MarkEdge, NameId, Ns, PROCESSES, Pid, Process, StackFrame, Tid};
use std::path::Path;
use testkit::Replay;

/// Mutexes, one of them deadlocked, a lock of the kernel, a pipe, a file, a connection, an epoll set in which another one becomes ready, samples,
/// callchains of waits, a group with a quota, and marks.
const DRAWN: &str = "
cpu0    As .  .  A  As .  .  A  As .  .  A  As .  .  A  As .  .  A  As .  .  A  As . A Ax
cpu1    .  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  Bs C C Cs
waking  .  .  A<B@1 . . . A<B@1 . . . A<B@1 . . . A<B@1 . . . A<B@1 . . . A<B@1 . . . A<C@1 .
stack   A=~wait<~work . . . A=~wait<~work . . . A=~wait<~work . . . A=~wait<~work . . . A=~wait<~work . . . A=~wait<~work . . .
futex   .  A=m48271<B . . . . . . . . . . . . . . . . . . . . . . . A=m48272<B,B=m48273<A . .
object  .  .  .  . . A=pipe7654321 . . . A=kernel_mutex8654321<B . . . A=socket9654321:10.98.7.6:54321 . . . A=epoll6654321 . . . A=file5654321:/mnt/Zqmount/file . . . . . .
readied .  .  .  . . . . . . . . . . . . . . . A=socket4654321:/run/Zqsocket . . . . . . . . .
mark    .  A( . A) . A( . A) . A( . A) . A( . A) . A( . A) . A( . A) . . . .
sample  .  B=~spin<~work@1 . B=~spin<~work@1 B=~spin<~work@1 B=~spin<~work@1 . B=~script<~work@1 . . . . . . . . . . . . . . . .
process A  B<A C . . . . . . . . . . . . . . . . . . . . . . . . .
cgroup  A=7 B=7 . . . . . . . . . . . . . . . . . . . . . . . . .
quota   7=20/100 . . . . . . . . . . . . . . . . . . . . . . . . . .
throttle . . . . . . . . A( . . A) . . . . . . . . . . . . . . . .
";

/// A secret, and whether it stays: names of threads, processes, functions and marks do, unless they are redacted too.
pub struct Secret {
    /// The word to look for.
    pub word: &'static str,
    /// Where it is.
    pub place: &'static str,
    /// How much must be redacted so that it is gone.
    pub gone_with: Redact,
    /// The outputs that have it if nothing is redacted: the begins of their names.
    pub seen_in: &'static str,
}

const fn private(word: &'static str, place: &'static str, seen_in: &'static str) -> Secret {
    Secret { word, place, gone_with: Redact::Private, seen_in }
}

const fn name(word: &'static str, place: &'static str, seen_in: &'static str) -> Secret {
    Secret { word, place, gone_with: Redact::Names, seen_in }
}

/// Every place. The words are alphanumeric, so that they are the same in most escapes.
pub const SECRETS: [Secret; 37] = [
    name("Zqapplication", "program of a frame log", "frames.txt frames.json frames.html frames-table"),
    private("Zqcomment", "comment in a frame log", "frames.json"),
    name("Zqthread", "comm", "report diagnose perfetto chrome firefox csv xlsx parquet compare page sql table"),
    name("Zqpool", "comm of a pool", "report.html diagnose.json perfetto chrome firefox folded csv xlsx parquet"),
    name("Zqprogram", "comm of another process", "report.json perfetto chrome firefox csv xlsx parquet"),
    name("Zqfunction", "function", "report.html perfetto firefox folded csv xlsx parquet"),
    name("Zqmark", "mark", "report diagnose-marks perfetto csv xlsx parquet page"),
    name("Zqvalue", "value that a program measures", "perfetto"),
    private("Zqhost", "host name", "report.txt report.json report.html perfetto chrome compare.json sql"),
    private("Zqkernelhost", "host name in a sentence", "report.json perfetto chrome"),
    private("Zqcommand", "command line", "report perfetto chrome sql"),
    private("Zqrecorder", "arguments of the recorder", "report.json perfetto chrome"),
    private("Zqusdt", "path of an USDT mark", "report.json perfetto chrome"),
    private("Zqexecutable", "executable's path", "compare.json"),
    private("Zqexecfile", "file of an exec", "perfetto"),
    private("Zqargument", "arguments of a process", "compare.json"),
    private("Zqbuild", "build ID of an executable", "compare.json"),
    private("Zqcwd", "working folder", "report.json perfetto chrome sql"),
    private("Zqenvironment", "environment", "report.json perfetto chrome sql"),
    private("Zqlabel", "label", "report.json perfetto chrome sql fleet"),
    private("Zqother", "fact of another tool", "report.json perfetto chrome sql"),
    private("Zqboot", "kernel's command line", "report.json compare.json"),
    private("Zqidentity", "identity of the host", "report.json compare.json"),
    private("Zqlack", "path in a sentence about what is missing", "report.json perfetto chrome"),
    private("Zqnote", "path in a note about the machine", "report.json perfetto"),
    private("Zqcgroup", "cgroup path", "report diagnose.json perfetto csv xlsx parquet"),
    private("Zqmapped", "mapped file", "perfetto csv xlsx parquet"),
    private("Zqsource", "source file", "perfetto csv xlsx parquet"),
    private("Zquser", "user name in a path", "perfetto csv xlsx parquet"),
    private("Zqscript", "path in the name of generated code", "perfetto firefox folded csv xlsx parquet"),
    private("Zqmount", "file on a mount", "report perfetto csv xlsx parquet"),
    private("Zqsocket", "path of a socket", "perfetto csv xlsx parquet"),
    private("10.98.7.6", "peer address", "report perfetto csv xlsx parquet"),
    private("54321", "port, inodes and numbers of objects", "report perfetto csv xlsx parquet"),
    private("0xbc8f000", "address of a futex", "report csv xlsx parquet page"),
    private("Zqline", "line of the source that was not understood", "report verify"),
    private("Zqfolder", "path of the recording", "report perfetto chrome compare sql fleet diagnose.json"),
];

struct Drawn(Facts, Batch);

impl Source for Drawn {
    fn path(&self) -> &Path {
        Path::new("drawn")
    }

    fn format(&self) -> &'static str {
        "drawn"
    }

    fn open(&self) -> Result<Opened<'static>, Fatal> {
        Ok(Replay::all(self.1.clone()).opened(self.0.clone()))
    }

    fn identity(&self, _: &Priority) -> Result<Identity, EngineError> {
        Ok(Identity { trace: 7, files: Vec::new() })
    }
}

/// Adds texts to a batch.
fn text(batch: &mut Batch, text: &str) -> NameId {
    batch.names.push(text.into());
    NameId(u32::try_from(batch.names.len()).unwrap())
}

/// The facts; of another recording, `other` follows each value.
fn facts(facts: Facts, other: &str) -> Facts {
    let about = [
        ("hostname", "Zqhost"),
        ("kernel_version", "#1 of Zqkernelhost on Zqhost"),
        ("kernel_release", "6.18.0"),
        ("command_line", "./Zqcommand --fast"),
        ("arguments", "corewise record --mark frame=/opt/Zqusdt/app:draw -- ./Zqrecorder"),
        ("cwd", "Zqcwd"),
        ("env", "TOKEN=Zqenvironment"),
        ("label.team", "Zqlabel"),
        ("written by", "Zqother"),
    ];
    let both = |text: &str| (Ok(format!("{text}{other}")), Ok(format!("{text}{other}")));
    let conditions = [("kernel_command_line", "root=Zqboot"), ("boot_id", "Zqidentity"), ("governor", "powersave")];
    let conditions = conditions.map(|(name, value)| {
        let (start, end) = both(value);
        Condition { name: name.to_owned(), start, end }
    });
    let mut machine = testkit::machine("cpu0 P0\ncpu1 P1");
    machine.notes = vec!["Described by /etc/Zqnote.toml.".to_owned()];
    Facts {
        about: about.map(|(name, value)| (name.to_owned(), format!("{value}{other}"))).to_vec(),
        conditions: conditions.to_vec(),
        lacks: vec!["The mark /srv/Zqlack:draw is not recorded: there is no such file.".to_owned()],
        machine: Some(machine),
        focus: Some(1),
        recorder: Some(99),
        ..facts
    }
}

fn batch(mut batch: Batch) -> Batch {
    let renamed = [
        ("A", "Zqthread"),
        ("B", "Zqpool-1"),
        ("C", "Zqprogram"),
        ("/7", "/user/Zqcgroup"),
        ("spin", "Zqfunction"),
        ("work", "Zqfunction::work"),
        ("script", "py::run:/srv/Zqscript/x.py"),
    ];
    for name in &mut batch.names {
        if let Some((_, text)) = renamed.iter().find(|(of, _)| **of == **name) {
            *name = (*text).into();
        }
    }
    let [mark, file, source, exec, value] =
        ["Zqmark", "/usr/lib/Zqmapped.so", "/home/Zquser/Zqsource.c", "/opt/Zqexecfile", "Zqvalue"]
            .map(|of| text(&mut batch, of));
    for event in &mut batch.events {
        if let EventKind::Mark(Mark { name, .. }) = &mut event.what
            && *name != NameId::NONE
        {
            *name = mark;
        }
    }
    let in_program = |frame: &StackFrame| !frame.in_kernel();
    for frame in batch.stacks.iter_mut().flat_map(|chain| chain.iter_mut()).filter(|frame| in_program(frame)) {
        (frame.file, frame.source, frame.line, frame.offset) = (file, source, 7, 0x10);
    }
    let last = batch.events.last().map_or(Ns::ZERO, |event| event.at);
    let event = |what| Event { at: last, offset: 0, cpu: CpuId(1), current: Tid::UNKNOWN, what };
    let instant = Mark { tid: Tid(1), pid: Pid(1), track: 0, name: mark, edge: MarkEdge::Instant };
    batch.events.extend([
        event(EventKind::Exec { tid: Tid(3), pid: Pid(3), file: exec }),
        event(EventKind::Value { pid: Pid(1), name: value, value: 1.0 }),
        event(EventKind::Mark(instant)),
    ]);
    batch
}

/// Writes a frame log, and returns its path.
pub fn write_frames(folder: &Folder) -> String {
    let path = folder.path("Zqfolder/frames.csv");
    let head = "//GameName=Zqapplication.exe\n//Processor=A processor\n//Comment=Zqcomment\nApplication,ProcessID,SwapChainAddress,Runtime,\
                SyncInterval,PresentFlags,AllowsTearing,PresentMode,WasBatched,DwmNotified,Dropped,TimeInSeconds,MsBetweenPresents,\
                MsBetweenDisplayChange,MsInPresentAPI,MsUntilRenderComplete,MsUntilDisplayed\n";
    let row = |frame: u32| {
        format!(
            "Zqapplication.exe,100,0x000000000000A000,DXGI,0,0,0,Composed: Copy with GPU GDI,1,1,0,{}.004,16.5,16.5,2.0,6.25,14.5\n",
            frame
        )
    };
    std::fs::write(&path, head.to_owned() + &(1..40).map(row).collect::<String>()).unwrap();
    folder.name("Zqfolder/frames.csv")
}

/// Writes the recording, or `other` one with other facts, and returns its path.
pub fn write(folder: &Folder, name: &str, other: &str) -> String {
    let (trace, path) = (testkit::trace(DRAWN), folder.path(name));
    let drawn = Drawn(facts(trace.facts, other), batch(trace.batch));
    engine::import(&drawn, Target::New(&path), &PassOptions::default(), &mut |_| ()).unwrap();
    let process = Process {
        pid: 1,
        at_ns: 0,
        exe: Some("/opt/Zqexecutable".to_owned()),
        build_id: Some(format!("Zqbuild{other}")),
        command_line: vec!["app".to_owned(), format!("Zqargument{other}")],
        autogroup: None,
    };
    std::fs::write(path.join(PROCESSES), serde_json::to_vec(&[process]).unwrap()).unwrap();
    // What a source has that its reader does not know.
    let manifest = path.join("manifest.json");
    let mut json: serde_json::Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    let row = serde_json::json!({
        "what": "an unknown line", "lost": false, "not_understood": true, "count": 1, "first_offset": 0, "first_text": "Zqline",
    });
    json["summary"]["anomalies"] = serde_json::json!([row]);
    std::fs::write(&manifest, serde_json::to_vec(&json).unwrap()).unwrap();
    folder.name(name)
}
