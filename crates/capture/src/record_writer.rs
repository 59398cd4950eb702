//! Writes records to the spool, with what the recorder must know for this: counts, the names that each segment repeats, the focus.

use crate::callchains::Callchains;
use crate::cgroups::{cpu_hierarchy, unified};
use crate::focus::Focus;
use crate::mark_point::Found;
use crate::objects;
use crate::processes::Gatherer;
use crate::samples;
use crate::spool::{Writer, frame};
use crate::wire::{self, Bytes};
use model::{CallchainEnd, Ns};
use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;

/// A thread's scheduling settings when they were last seen.
#[derive(Clone)]
struct Settings {
    /// Priority, policy, nice value and [`wire::attr`].
    priority: [i32; 4],
    mask: Vec<u64>,
    /// When the mask was seen last.
    seen: Ns,
}

impl Settings {
    fn of(row: &wire::Row) -> Self {
        let priority = [row.prio, row.policy, row.nice, row.attr.cast_signed()];
        Self { priority, mask: row.mask.clone(), seen: row.at }
    }
}

/// Writes records to the spool and tracks the state that they describe.
pub struct RecordWriter {
    /// The spool's segments.
    pub writer: Writer,
    /// Events recorded.
    pub events: u64,
    /// Events that could not be delivered.
    pub lost: u64,
    /// The first write error.
    pub error: Option<std::io::Error>,
    /// The processes whose names are kept; `None`: all.
    pub focus: Option<Focus>,
    /// Programs of the processes.
    pub processes: Gatherer,
    /// Callchains, if requested.
    pub callchains: Option<Callchains>,
    /// Samples that wait for their callchains: the reader decodes them when it meets them.
    samples: Vec<Vec<u8>>,
    /// The marks by number: name, and whether they have an end.
    marks: Vec<(String, bool)>,
    /// The names of the counted events by number.
    counters: Vec<String>,
    /// The records with names of timers' functions. The kernel side sends each once.
    functions: Vec<Box<[u8]>>,
    /// The records of what threads wait for, to be repeated in new segments.
    objects: Vec<Box<[u8]>>,
    execs: Vec<(i32, u64)>,
    cgroups: HashMap<u64, String>,
    unknown_cgroups: HashSet<u64>,
    settings: HashMap<i32, Settings>,
}

/// How many objects that threads wait for are repeated in new segments.
const MAX_OBJECTS: usize = 1 << 16;

impl RecordWriter {
    pub fn new(writer: Writer, focus: Option<Focus>, marks: &[Found], counters: Vec<String>) -> Self {
        Self {
            writer,
            events: 0,
            lost: 0,
            error: None,
            focus,
            processes: Gatherer::default(),
            callchains: None,
            samples: Vec::new(),
            marks: marks.iter().map(|mark| (mark.name.clone(), mark.stretch)).collect(),
            counters,
            functions: Vec::new(),
            objects: Vec::new(),
            execs: Vec::new(),
            cgroups: HashMap::new(),
            unknown_cgroups: HashSet::new(),
            settings: HashMap::new(),
        }
    }

    /// A sentence on the programs that exceeded the limit, if any.
    pub fn lacks(&self) -> Option<String> {
        let more = self.processes.left_out;
        (more > 0).then(|| {
            format!(
                "The executable and command line of the last {more} programs are not recorded: the limit was reached."
            )
        })
    }

    /// Writes a frame; the first error is kept and ends the recording.
    pub fn write(&mut self, parts: &[&[u8]]) {
        if self.error.is_none()
            && let Err(e) = self.writer.frame(parts)
        {
            self.error = Some(e);
        }
    }

    /// Writes the buffer to the file.
    pub fn flush(&mut self) {
        if self.error.is_none()
            && let Err(e) = self.writer.flush()
        {
            self.error = Some(e);
        }
    }

    /// Takes a record as the kernel side wrote it.
    pub fn take(&mut self, record: &[u8]) {
        match record.first() {
            Some(&wire::KIND_BLOCK) => {
                if let Some(head) = wire::block_head(record) {
                    self.events += u64::from(head.events);
                    self.lost += head.lost;
                }
                if let Some(callchains) = &mut self.callchains {
                    callchains.see(record);
                }
                self.write(&[record]);
            }
            Some(&wire::KIND_RARE) => self.rare(record),
            _ => {}
        }
    }

    fn rare(&mut self, record: &[u8]) {
        let mut b = Bytes::new(record);
        let head = wire::rare_head(&mut b);
        if head.of == wire::MARKER && self.focus.as_ref().is_some_and(|f| !f.has_thread(head.tid)) {
            return; // a text of a thread outside the target
        }
        if head.of == wire::FUNCTION {
            self.functions.push(record.into());
            return self.write(&[record]);
        }
        if head.of == wire::OBJECT {
            let is_private = self.focus.as_ref().is_some_and(|f| !f.has_thread(head.tid));
            let path = if is_private { None } else { objects::whole_path(record) };
            let with_path = path.map(|path| objects::with_path(record, &path));
            let record = with_path.as_deref().unwrap_or_else(|| objects::written(record, is_private));
            if self.objects.len() < MAX_OBJECTS {
                self.objects.push(record.into());
            }
            return self.write(&[record]);
        }
        self.events += 1;
        if let (wire::CPU_SAMPLE, Some(callchains)) = (head.of, &mut self.callchains) {
            let (pid, addresses, ended) = wire::sample(&mut b);
            let chain = callchains.see_sample(pid, &addresses, ended, head.at);
            let record = wire::numbered_sample(record.get(..wire::RARE_HEAD).unwrap_or_default(), chain);
            self.samples.push(record);
            return;
        }
        if head.of == wire::MASK_CHANGED {
            if let Some(record) = self.changed_mask(record) {
                self.write(&[&record]);
            }
            return;
        }
        match head.of {
            wire::EXEC => {
                let pid = b.i32();
                self.execs.push((pid, head.at.0.unsigned_abs()));
                if let Some(callchains) = &mut self.callchains {
                    callchains.exec(pid, head.at);
                }
            }
            wire::FORK => {
                let parent = b.i32();
                if let Some(inherited) = self.settings.get(&parent).cloned() {
                    self.settings.insert(head.tid, Settings { seen: head.at, ..inherited });
                }
                b.take(28);
                let id = b.u64();
                if !self.cgroups.contains_key(&id) {
                    self.unknown_cgroups.insert(id);
                }
            }
            wire::CGROUP => {
                b.take(8);
                let (id, path) = (b.u64(), b.text(256));
                self.cgroups.insert(id, path);
            }
            wire::EXIT => {
                self.settings.remove(&head.tid);
                let pid = b.i32();
                if let Some(callchains) = self.callchains.as_mut().filter(|_| pid == head.tid) {
                    callchains.exit(pid);
                }
            }
            _ => {}
        }
        match &mut self.focus {
            Some(focus) => {
                let mut copy = record.to_vec();
                focus.pass(&mut copy);
                self.write(&[&copy]);
            }
            None => self.write(&[record]),
        }
    }

    /// Writes the callchains that the events taken so far are the first to use. `addresses` returns the addresses of a callchain's
    /// number.
    pub fn write_callchains(&mut self, addresses: &dyn Fn(bool, u32) -> Option<(Vec<u64>, CallchainEnd)>) {
        let Some(mut callchains) = self.callchains.take() else { return };
        let mut payloads = Vec::new();
        let known = |pid| self.focus.as_ref().is_none_or(|f| f.has(pid));
        callchains.write_new(addresses, &known, &mut |payload| payloads.push(payload.to_vec()));
        payloads.extend(std::mem::take(&mut self.samples));
        payloads.iter().for_each(|payload| self.write(&[payload]));
        self.callchains = Some(callchains);
    }

    /// Begins a segment with the names that its events use.
    pub fn begin_segment(&mut self) {
        if self.error.is_some() {
            return;
        }
        if let Err(e) = self.writer.begin_segment(samples::now()) {
            self.error = Some(e);
            return;
        }
        if let Some(callchains) = &mut self.callchains {
            callchains.begin_segment();
        }
        self.find_cgroups();
        let paths: Vec<_> = self.cgroups.iter().map(|(id, path)| (*id, path.clone())).collect();
        for (id, path) in paths {
            self.write(&[&[frame::CGROUP_PATH], &id.to_ne_bytes(), path.as_bytes()]);
        }
        for (number, (name, stretch)) in self.marks.clone().into_iter().enumerate() {
            let number = (number as u32).to_ne_bytes();
            self.write(&[&[frame::MARK_NAME], &number, &[u8::from(stretch)], name.as_bytes()]);
        }
        for (number, name) in self.counters.clone().into_iter().enumerate() {
            self.write(&[&[frame::COUNTER_NAME], &(number as u32).to_ne_bytes(), name.as_bytes()]);
        }
        for (number, name) in interrupts() {
            self.write(&[&[frame::IRQ_NAME], &number.to_ne_bytes(), name.as_bytes()]);
        }
        let (functions, objects) = (std::mem::take(&mut self.functions), std::mem::take(&mut self.objects));
        functions.iter().chain(&objects).for_each(|record| self.write(&[record]));
        (self.functions, self.objects) = (functions, objects);
    }

    /// Writes a snapshot's rows.
    pub fn rows(&mut self, rows: &[u8]) {
        for bytes in rows.chunks_exact(wire::ROW) {
            let Some(row) = wire::row(bytes) else { continue };
            if row.tid == row.pid && self.focus.as_ref().is_none_or(|f| f.has(row.pid)) {
                self.processes.see(row.pid, row.at.0.unsigned_abs(), false);
            }
            self.settings.insert(row.tid, Settings::of(&row));
            match &mut self.focus {
                Some(focus) => {
                    let mut copy = bytes.to_vec();
                    focus.pass(&mut copy);
                    self.write(&[&copy]);
                }
                None => self.write(&[bytes]),
            }
        }
    }

    /// Writes the settings that changed since the last rows, for kernels where no BPF program reports them.
    pub fn changes(&mut self, rows: &[u8]) {
        if self.settings.is_empty() {
            return; // these are the first
        }
        for bytes in rows.chunks_exact(wire::ROW) {
            let Some(row) = wire::row(bytes) else { continue };
            let new = Settings::of(&row);
            let old = self.settings.get(&row.tid);
            let head = |of: u8| {
                let mut record = vec![wire::KIND_RARE, of];
                record.extend_from_slice(&bytes[2..wire::RARE_HEAD]);
                record
            };
            let mut records = Vec::new();
            if old.is_none_or(|o| o.priority != new.priority) {
                let mut record = head(wire::PRIORITY);
                for number in new.priority {
                    record.extend_from_slice(&number.to_ne_bytes());
                }
                records.push(record);
            }
            if old.is_none_or(|o| o.mask != new.mask) {
                let since = old.map_or(0, |o| o.seen.0);
                let mut record = head(wire::MASK_CHANGED);
                record.extend_from_slice(&bytes[wire::ROW_COMM + 16..]);
                record.extend_from_slice(&since.to_ne_bytes());
                records.push(record);
            }
            self.settings.insert(row.tid, new);
            for record in records {
                self.write(&[&record]);
            }
        }
    }

    /// A program saw another mask than before. Returns the record to write, if this change is not known yet.
    fn changed_mask(&mut self, record: &[u8]) -> Option<Vec<u8>> {
        let mut b = Bytes::new(record);
        let head = wire::rare_head(&mut b);
        let mask = wire::mask(&mut b);
        let since = b.ns();
        let mut out = record.to_vec();
        let Some(known) = self.settings.get_mut(&head.tid) else { return Some(out) };
        if known.mask == mask {
            return None;
        }
        // The rows already contain a later mask.
        if head.at < known.seen {
            return Some(out);
        }
        // The rows may have seen the old mask later than the programs.
        let since = if since > Ns::ZERO { since.max(known.seen) } else { since };
        (known.mask, known.seen) = (mask, head.at);
        out.truncate(out.len().saturating_sub(size_of::<Ns>()));
        out.extend_from_slice(&since.0.to_ne_bytes());
        Some(out)
    }

    /// Looks up the programs of new processes. A process that has ended by then has none, so this is done often.
    pub fn look_up_programs(&mut self) {
        for (pid, at) in std::mem::take(&mut self.execs) {
            if self.focus.as_ref().is_none_or(|f| f.has(pid)) {
                self.processes.see(pid, at, true);
            }
        }
    }

    /// Looks up the paths of new cgroups.
    pub fn look_up_cgroups(&mut self) {
        if self.unknown_cgroups.is_empty() {
            return;
        }
        let before: HashSet<u64> = self.cgroups.keys().copied().collect();
        self.find_cgroups();
        self.unknown_cgroups.clear();
        let fresh: Vec<_> =
            self.cgroups.iter().filter(|(id, _)| !before.contains(id)).map(|(id, p)| (*id, p.clone())).collect();
        for (id, path) in fresh {
            self.write(&[&[frame::CGROUP_PATH], &id.to_ne_bytes(), path.as_bytes()]);
        }
    }

    /// Reads the hierarchy that has the CPU controller: a group's id is its folder's inode number.
    fn find_cgroups(&mut self) {
        let Some(hierarchy) = cpu_hierarchy().or_else(unified) else { return };
        let mut folders = vec![hierarchy.root.clone()];
        while let Some(folder) = folders.pop() {
            if let Ok(meta) = std::fs::metadata(&folder) {
                self.cgroups.insert(meta.ino(), hierarchy.path_of(&folder));
            }
            let inside = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            folders.extend(inside.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()));
        }
    }
}

/// Returns the numbers and names of the hard interrupts.
fn interrupts() -> Vec<(i32, String)> {
    let table = std::fs::read_to_string("/proc/interrupts").unwrap_or_default();
    table
        .lines()
        .filter_map(|line| {
            let (number, rest) = line.split_once(':')?;
            Some((number.trim().parse().ok()?, rest.split_whitespace().last()?.to_owned()))
        })
        .collect()
}
