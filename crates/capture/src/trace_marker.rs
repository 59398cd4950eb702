//! Records the texts that programs write to tracefs' `trace_marker`.
//!
//! BPF programs cannot be attached where the kernel takes these texts, and the top-level buffer is shared. So the recorder creates a
//! tracefs instance, `instances/corewise-PID`, to which the kernel copies the texts (its option `copy_trace_marker`), with the
//! recording's clock, and reads its pages. Nothing else in tracefs is changed. The instance is removed when the recorder ends; the
//! instance of a killed recorder is removed when the next one starts.

use crate::perf_events::fields;
use crate::wire;
use ftrace::{ByteOrder, PageLayout};
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// The prefix of the instances' names, before the recorder's PID.
const PREFIX: &str = "corewise-";
/// KB for the texts between two readings, of all CPUs together and of each: some ten thousand texts.
const BUFFERS: usize = 16 << 10;
const BUFFER: std::ops::RangeInclusive<usize> = 64..=1024;
/// Maximum number of pages of a CPU in one reading: twice the buffer, so that a program that writes continuously cannot block the
/// recorder.
const MAX_PAGES: usize = 512;

/// The tracefs instance of a running recorder.
pub struct TraceMarker {
    dir: PathBuf,
    cpus: Vec<(u16, File)>,
    layout: PageLayout,
    /// Id of the tracepoint `print`, and the offsets of its thread and its text.
    print: (u16, usize, usize),
    page: Vec<u8>,
    /// The number of lost texts.
    pub lost: u64,
}

impl TraceMarker {
    /// Creates the instance.
    ///
    /// # Errors
    /// The reason why it cannot be created.
    pub fn start() -> Result<Self, String> {
        let root = TRACEFS.into_iter().map(Path::new).find(|dir| dir.join("instances").exists());
        let root = root.ok_or(if crate::rights::is_root() {
            "tracefs is not mounted (mount it with: sudo mount -t tracefs nodev /sys/kernel/tracing)"
        } else {
            "only root may read tracefs (run corewise with sudo)"
        })?;
        remove_stale_instances(&root.join("instances"));
        let dir = root.join("instances").join(format!("{PREFIX}{}", std::process::id()));
        std::fs::create_dir(&dir).map_err(|why| match why.kind() {
            ErrorKind::PermissionDenied => {
                "only root may create a tracefs instance (run corewise with sudo)".to_owned()
            }
            _ => format!("cannot create {}: {why}", dir.display()),
        })?;
        // From here on, dropping it removes the instance.
        let mut made = Self {
            dir,
            cpus: Vec::new(),
            layout: PageLayout::usual(ORDER),
            print: Default::default(),
            page: Vec::new(),
            lost: 0,
        };
        made.prepare(root)?;
        Ok(made)
    }

    fn prepare(&mut self, root: &Path) -> Result<(), String> {
        let copy = self.dir.join("options/copy_trace_marker");
        if !copy.exists() {
            return Err("this kernel cannot copy them to the recorder (tracefs has no option copy_trace_marker)".into());
        }
        let said = |path: &Path, why: Error| format!("{}: {why}", path.display());
        let read = |path: PathBuf| read_at_once(&path).map_err(|why| said(&path, why));
        self.layout = PageLayout::parse(&read(root.join("events/header_page"))?, ORDER).map_err(|bad| bad.0)?;
        let format = read(root.join("events/ftrace/print/format"))?;
        let id = format.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok());
        let fields = fields(&format);
        let at = |name: &str| fields.get(name).map(|field| field.0);
        let print = id.zip(at("common_pid")).zip(at("buf")).map(|((id, pid), text)| (id, pid, text));
        self.print = print.ok_or("events/ftrace/print/format of this kernel has an unknown format")?;
        self.page = vec![0; self.layout.size()];
        let write = |path: PathBuf, text: &str| std::fs::write(&path, text).map_err(|why| said(&path, why));
        write(self.dir.join("trace_clock"), "mono")?;
        let each = BUFFERS / crate::libbpf::possible_cpus() as usize;
        let each = each.clamp(*BUFFER.start(), *BUFFER.end());
        write(self.dir.join("buffer_size_kb"), &each.to_string())?;
        let cpus = std::fs::read_dir(self.dir.join("per_cpu")).map_err(|why| said(&self.dir, why))?;
        for cpu in cpus.flatten() {
            let number = cpu.file_name().to_str().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
            let path = cpu.path().join("trace_pipe_raw");
            let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
            if let Some(number) = number {
                self.cpus.push((number, file.map_err(|why| said(&path, why))?));
            }
        }
        write(copy, "1")
    }

    /// Passes every available text to `take`, as a rare record.
    pub fn drain(&mut self, take: &mut dyn FnMut(&[u8])) {
        let mut record = Vec::new();
        for (cpu, file) in &mut self.cpus {
            for _ in 0..MAX_PAGES {
                // An empty buffer is an error here (EAGAIN), as is an instance that was removed: both end the loop.
                let Ok(length @ 1..) = uninterrupted(|| file.read(&mut self.page)) else { break };
                let Ok(page) = self.layout.open(&self.page[..length]) else { break };
                self.lost += page.missed.map_or(0, |n| u64::try_from(n).unwrap_or(1));
                for entry in page.records.map_while(Result::ok) {
                    let number = |at| ORDER.u32_at(entry.raw, at);
                    let (of, tid, text) = self.print;
                    if ORDER.u16_at(entry.raw, 0) != Some(of) {
                        continue;
                    }
                    let (Some(tid), Some(text)) = (number(tid), entry.raw.get(text..)) else { continue };
                    let text = text.split(|b| *b == 0).next().unwrap_or_default();
                    record.clear();
                    record.extend_from_slice(&[wire::KIND_RARE, wire::MARKER]);
                    record.extend_from_slice(&cpu.to_ne_bytes());
                    record.extend_from_slice(&tid.to_ne_bytes());
                    record.extend_from_slice(&entry.time.to_ne_bytes());
                    record.extend_from_slice(text.trim_ascii_end());
                    take(&record);
                }
            }
        }
    }
}

/// Reads a short file of tracefs with one call: Linux returns `header_page` only to the first read.
fn read_at_once(path: &Path) -> std::io::Result<String> {
    let mut bytes = [0; 4096];
    let mut file = File::open(path)?;
    let length = uninterrupted(|| file.read(&mut bytes))?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// Repeats a call while signals interrupt it.
fn uninterrupted<T>(mut call: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    loop {
        match call() {
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

const ORDER: ByteOrder = if cfg!(target_endian = "little") { ByteOrder::Little } else { ByteOrder::Big };

impl Drop for TraceMarker {
    fn drop(&mut self) {
        // An instance cannot be removed while one of its files is open.
        self.cpus.clear();
        let _ = std::fs::remove_dir(&self.dir);
    }
}

/// Removes the instances of recorders that have ended. If a recorder still runs in another PID namespace, the kernel refuses to remove
/// its instance.
fn remove_stale_instances(instances: &Path) {
    for instance in std::fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = instance.file_name();
        let recorder = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if recorder.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = std::fs::remove_dir(instance.path());
        }
    }
}
