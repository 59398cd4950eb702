//! Writes trace.dat in memory: both versions, either byte order, any page size, compressed or not.

use flate2::{Compression, write::ZlibEncoder};
use std::io::Write;

pub const SWITCH_ID: u16 = 316;
pub const WAKING_ID: u16 = 318;
pub const PRINT_ID: u16 = 5;
pub const LONG_ID: u16 = 400;
pub const STACK_ID: u16 = 4;

const MODERN_PRINT: &str = r#""prev_comm=%s", REC->prev_comm, (REC->prev_state & 0xff) ? __print_flags(REC->prev_state & 0xff, "|", { 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000010, "X" }, { 0x00000020, "Z" }) : "R", REC->prev_state & 0x100 ? "+" : """#;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Little,
    Big,
}

/// A buffer of bytes in a byte order.
#[derive(Clone, Debug)]
pub struct Bytes(pub Order, pub Vec<u8>);

impl Bytes {
    pub fn new(order: Order) -> Self {
        Self(order, Vec::new())
    }
    fn number(mut self, little_endian: &[u8]) -> Self {
        self.1.extend_from_slice(little_endian);
        if self.0 == Order::Big {
            let from = self.1.len() - little_endian.len();
            self.1[from..].reverse();
        }
        self
    }
    pub fn u16(self, v: u16) -> Self {
        self.number(&v.to_le_bytes())
    }
    pub fn u32(self, v: u32) -> Self {
        self.number(&v.to_le_bytes())
    }
    pub fn i32(self, v: i32) -> Self {
        self.number(&v.to_le_bytes())
    }
    pub fn u64(self, v: u64) -> Self {
        self.number(&v.to_le_bytes())
    }
    pub fn long(self, size: usize, v: u64) -> Self {
        if size == 4 { self.u32(v as u32) } else { self.u64(v) }
    }
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.1.extend_from_slice(bytes);
        self
    }
    /// A thread's name, as the kernel's field of 16 bytes.
    pub fn comm(self, name: &str) -> Self {
        let mut field = [0; 16];
        field[..name.len()].copy_from_slice(name.as_bytes());
        self.raw(&field)
    }
    pub fn padded(mut self, to: usize) -> Self {
        self.1.resize(self.1.len().next_multiple_of(to), 0);
        self
    }
}

/// The format of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    pub order: Order,
    pub version: u32,
    pub page: usize,
    /// The kernel's long: 4 or 8 bytes.
    pub long: usize,
    /// none, zstd or zlib.
    pub codec: &'static str,
}

impl Shape {
    pub const PLAIN: Self = Self { order: Order::Little, version: 6, page: 4096, long: 8, codec: "none" };
    pub const SEVEN: Self = Self { version: 7, ..Self::PLAIN };

    fn pack(self, bytes: &[u8]) -> Vec<u8> {
        match self.codec {
            "zstd" => zstd::bulk::compress(bytes, 1).unwrap(),
            _ => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
        }
    }

    /// Returns the compressed size, the size, and the compressed bytes.
    fn chunk(self, bytes: &[u8]) -> Vec<u8> {
        let packed = self.pack(bytes);
        Bytes::new(self.order).u32(packed.len() as u32).u32(bytes.len() as u32).raw(&packed).1
    }
}

/// A CPU's ring buffer.
#[derive(Clone, Debug)]
pub struct Ring {
    pub shape: Shape,
    pub pages: Vec<Vec<u8>>,
    events: Vec<u8>,
    begin: u64,
    last: u64,
    /// The number of events lost before the current page, if recorded.
    lost: Option<Option<u64>>,
}

impl Ring {
    pub fn new(shape: Shape) -> Self {
        Self { shape, pages: Vec::new(), events: Vec::new(), begin: 0, last: 0, lost: None }
    }

    fn room(&mut self, size: usize, at: u64) {
        if 8 + self.shape.long + self.events.len() + size > self.shape.page {
            self.turn();
        }
        if self.events.is_empty() {
            (self.begin, self.last) = (at, at);
        }
    }

    /// Ends the current page.
    pub fn turn(&mut self) -> &mut Self {
        let counted = self.lost.flatten();
        let flags = self.lost.map_or(0, |_| 1 << 31) | counted.map_or(0, |_| 1 << 30);
        let b = Bytes::new(self.shape.order).u64(self.begin).long(self.shape.long, self.events.len() as u64 | flags);
        let b = b.raw(&self.events);
        let b = counted.map_or(b.clone(), |n| b.long(self.shape.long, n));
        self.pages.push(b.padded(self.shape.page).1);
        self.events.clear();
        self.lost = None;
        self
    }

    /// Marks lost events here, with their number if recorded.
    pub fn lose(&mut self, events: Option<u64>) -> &mut Self {
        if !self.events.is_empty() {
            self.turn();
        }
        self.lost = Some(events);
        self
    }

    /// Adds the first word of a record or another entry.
    pub fn head(&mut self, kind: u32, delta: u64) -> &mut Self {
        let delta = delta as u32 & 0x7ff_ffff;
        let word = if self.shape.order == Order::Little { kind | delta << 5 } else { kind << 27 | delta };
        self.word(word)
    }

    pub fn word(&mut self, word: u32) -> &mut Self {
        let bytes = Bytes::new(self.shape.order).u32(word).1;
        self.events.extend(bytes);
        self
    }

    /// Adds an absolute time (its lower 59 bits) for the next record.
    pub fn absolute(&mut self, at: u64) -> &mut Self {
        self.room(400, at);
        self.head(31, at).word((at >> 27) as u32);
        self.last = at;
        self
    }

    /// Adds a discarded record, whose time still counts.
    pub fn discarded(&mut self, at: u64, size: usize) -> &mut Self {
        self.room(size + 16, at);
        let mut delta = at - self.last;
        if delta >= 1 << 27 {
            self.head(30, delta).word((delta >> 27) as u32);
            delta = 0;
        }
        self.head(29, delta.max(1)).word(size as u32);
        let filled = self.events.len() + size - 4;
        self.events.resize(filled, 0xee);
        self.last = at;
        self
    }

    pub fn record(&mut self, at: u64, raw: &[u8]) -> &mut Self {
        let size = raw.len().next_multiple_of(4);
        self.room(size + 16, at);
        let mut delta = at - self.last;
        if delta >= 1 << 27 {
            self.head(30, delta).word((delta >> 27) as u32);
            delta = 0;
        }
        if size <= 112 && size == raw.len() {
            self.head(size as u32 / 4, delta);
        } else {
            self.head(0, delta).word(raw.len() as u32 + 4);
        }
        self.events.extend_from_slice(raw);
        self.events.resize(self.events.len().next_multiple_of(4), 0);
        self.last = at;
        self
    }

    /// Adds a sched_switch; `state` is the kernel's number.
    pub fn switch(&mut self, at: u64, prev: i32, state: u64, next: i32) -> &mut Self {
        let name = |tid: i32| if tid == 0 { "swapper/0".to_owned() } else { format!("t{tid}") };
        let b = Bytes::new(self.shape.order).u16(SWITCH_ID).u16(0).i32(prev).comm(&name(prev)).i32(prev).i32(120);
        let b = b.long(self.shape.long, state).comm(&name(next)).i32(next).i32(120);
        self.record(at, &b.1)
    }

    pub fn waking(&mut self, at: u64, tid: i32) -> &mut Self {
        let b = Bytes::new(self.shape.order).u16(WAKING_ID).u16(0).i32(1).comm(&format!("t{tid}"));
        self.record(at, &b.i32(tid).i32(120).i32(1).1)
    }

    /// Adds a text that a program wrote to trace_marker.
    pub fn print(&mut self, at: u64, tid: i32, text: &str) -> &mut Self {
        let b = Bytes::new(self.shape.order).u16(PRINT_ID).u16(0).i32(tid).long(self.shape.long, 0xffff);
        self.record(at, &b.raw(text.as_bytes()).raw(b"\n\0").padded(4).1)
    }

    /// Adds a kernel callchain of the current thread, as return addresses.
    pub fn kernel_stack(&mut self, at: u64, tid: i32, callers: &[u64]) -> &mut Self {
        let b = Bytes::new(self.shape.order).u16(STACK_ID).u16(0).i32(tid).i32(callers.len() as i32).padded(8);
        let b = callers.iter().fold(b, |b, caller| b.long(self.shape.long, *caller));
        self.record(at, &b.1)
    }

    /// Adds a record of an event that is not read.
    pub fn other(&mut self, at: u64, size: usize) -> &mut Self {
        let b = Bytes::new(self.shape.order).u16(LONG_ID).u16(0).i32(1);
        let mut raw = b.1;
        raw.resize(size, 0x55);
        self.record(at, &raw)
    }

    fn all(&self) -> Vec<Vec<u8>> {
        let mut whole = self.clone();
        if !whole.events.is_empty() || whole.lost.is_some() {
            whole.turn();
        }
        whole.pages
    }
}

/// A trace.dat being written.
#[derive(Clone, Debug)]
pub struct TraceDat {
    pub shape: Shape,
    /// The instances with name and CPUs; the first is the top instance.
    pub instances: Vec<(&'static str, Vec<Ring>)>,
    pub options: Vec<(u16, Vec<u8>)>,
    pub clock: &'static str,
    pub cmdlines: &'static str,
    /// The kernel's functions, as /proc/kallsyms lists them.
    pub symbols: &'static str,
    /// The described events.
    pub formats: Vec<String>,
}

impl TraceDat {
    pub fn new(shape: Shape, cpus: usize) -> Self {
        let formats = vec![switch_format(shape.long), waking_format()];
        let instances = vec![("", vec![Ring::new(shape); cpus])];
        Self { shape, instances, options: Vec::new(), clock: "local", cmdlines: "", symbols: "", formats }
    }

    /// Returns a CPU of the top instance.
    pub fn cpu(&mut self, cpu: usize) -> &mut Ring {
        &mut self.instances[0].1[cpu]
    }

    pub fn text_option(&mut self, id: u16, text: &str) -> &mut Self {
        self.options.push((id, [text.as_bytes(), b"\0"].concat()));
        self
    }

    fn bytes(&self) -> Bytes {
        Bytes::new(self.shape.order)
    }

    pub fn file(&self) -> Vec<u8> {
        let b = self.bytes().raw(b"\x17\x08\x44tracing").raw(self.shape.version.to_string().as_bytes());
        let b =
            b.raw(&[0, u8::from(self.shape.order == Order::Big), self.shape.long as u8]).u32(self.shape.page as u32);
        if self.shape.version == 6 { self.version_6(b) } else { self.version_7(b) }
    }

    fn header_info(&self) -> Vec<u8> {
        let long = self.shape.long;
        let room = self.shape.page - 8 - long;
        let page = format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:{};\tsize:{room};\tsigned:1;\n",
            8 + long
        );
        let b = self.bytes().raw(b"header_page\0").u64(page.len() as u64).raw(page.as_bytes());
        b.raw(b"header_event\0").u64(5).raw(b"event").1
    }

    fn ftrace_formats(&self) -> Vec<u8> {
        let (long, text) = (self.shape.long, 8 + self.shape.long);
        let fields = format!(
            "\tfield:unsigned long ip;\toffset:8;\tsize:{long};\tsigned:0;\n\tfield:char buf[];\toffset:{text};\tsize:0;\tsigned:0;\n"
        );
        let format = format!("name: print\nID: {PRINT_ID}\nformat:\n{COMMON}{fields}\nprint fmt: \"%s\", REC->buf\n");
        let fields = format!(
            "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:unsigned long caller[8];\toffset:16;\tsize:{};\tsigned:0;\n",
            8 * long
        );
        let stack = format!("name: kernel_stack\nID: {STACK_ID}\nformat:\n{COMMON}{fields}\nprint fmt: \"\"\n");
        let both = [format, stack];
        both.iter().fold(self.bytes().u32(2), |b, f| b.u64(f.len() as u64).raw(f.as_bytes())).1
    }

    fn event_formats(&self) -> Vec<u8> {
        let b = self.bytes().u32(1).raw(b"sched\0").u32(self.formats.len() as u32);
        self.formats.iter().fold(b, |b, f| b.u64(f.len() as u64).raw(f.as_bytes())).1
    }

    fn symbols(&self) -> Vec<u8> {
        self.bytes().u32(self.symbols.len() as u32).raw(self.symbols.as_bytes()).1
    }

    fn cmdlines(&self) -> Vec<u8> {
        self.bytes().u64(self.cmdlines.len() as u64).raw(self.cmdlines.as_bytes()).1
    }

    /// Appends the pages of each CPU to `b`, at multiples of a page; returns their places.
    fn pages(&self, mut b: Bytes, cpus: &[Ring]) -> (Bytes, Vec<(u64, u64)>) {
        let mut places = Vec::new();
        for ring in cpus {
            let mut data = ring.all().concat();
            let mut size = data.len();
            if self.shape.codec != "none" && !data.is_empty() {
                let chunks: Vec<Vec<u8>> = data.chunks(3 * self.shape.page).map(|c| self.shape.chunk(c)).collect();
                let chunked = chunks.concat();
                size = chunked.len(); // without the count, as in trace-cmd
                data = [self.bytes().u32(chunks.len() as u32).1, chunked].concat();
            }
            b = b.padded(self.shape.page);
            places.push((b.1.len() as u64, size as u64));
            b = b.raw(&data);
        }
        (b, places)
    }

    fn version_6(&self, b: Bytes) -> Vec<u8> {
        let b = b.raw(&self.header_info()).raw(&self.ftrace_formats()).raw(&self.event_formats());
        let mut b = b.raw(&self.symbols()).u32(0).raw(&self.cmdlines()).u32(self.instances[0].1.len() as u32);
        b = b.raw(b"options  \0");
        let clock = format!("local [{}] other\0", self.clock);
        let own = [(4, clock.into_bytes())];
        for (id, data) in own.iter().chain(&self.options) {
            b = b.u16(*id).u32(data.len() as u32).raw(data);
        }
        let mut later = Vec::new();
        for (name, cpus) in &self.instances[1..] {
            b = b.u16(3).u32(9 + name.len() as u32);
            later.push((b.1.len(), cpus));
            b = b.u64(0).raw(name.as_bytes()).raw(b"\0");
        }
        b = b.u16(0);
        let cpus = &self.instances[0].1;
        b = self.flyrecord(b, cpus);
        for (place, cpus) in later {
            let at = self.bytes().u64(b.1.len() as u64).1;
            b.1[place..place + 8].copy_from_slice(&at);
            b = self.flyrecord(b, cpus);
        }
        b.1
    }

    fn flyrecord(&self, b: Bytes, cpus: &[Ring]) -> Bytes {
        let b = b.raw(b"flyrecord\0");
        let table = b.1.len();
        let (mut b, places) = self.pages(b.raw(&vec![0; 16 * cpus.len()]), cpus);
        let filled = places.iter().fold(self.bytes(), |t, (at, size)| t.u64(*at).u64(*size)).1;
        b.1[table..table + filled.len()].copy_from_slice(&filled);
        b
    }

    fn section(&self, b: Bytes, id: u16, content: &[u8]) -> Bytes {
        let packed = self.shape.codec != "none";
        let content = if packed { self.shape.chunk(content) } else { content.to_vec() };
        b.u16(id).u16(u16::from(packed)).u32(0).u64(content.len() as u64).raw(&content)
    }

    fn version_7(&self, b: Bytes) -> Vec<u8> {
        let mut b = b.raw(self.shape.codec.as_bytes()).raw(b"\x001.0\0");
        let place = b.1.len();
        b = b.u64(0);
        let mut options = self.bytes();
        let (info, ftrace) = (self.header_info(), self.ftrace_formats());
        for (id, content) in
            [(16, info), (17, ftrace), (18, self.event_formats()), (19, self.symbols()), (21, self.cmdlines())]
        {
            options = options.u16(id).u32(8).u64(b.1.len() as u64);
            b = self.section(b, id, &content);
        }
        // The first list refers to the second, as in trace-cmd.
        let first = b.1.len();
        let list = options.clone().u16(0).u32(8);
        b = b.u16(0).u16(0).u32(0).u64(list.1.len() as u64 + 8).raw(&list.1);
        let next = b.1.len();
        b = b.u64(0);
        let mut options = self.bytes();
        for (id, data) in &self.options {
            options = options.u16(*id).u32(data.len() as u32).raw(data);
        }
        for (name, cpus) in &self.instances {
            let at = b.1.len();
            let flags = u16::from(self.shape.codec != "none");
            let (after, places) = self.pages(b.u16(3).u16(flags).u32(0).u64(0), cpus);
            b = after;
            let option =
                self.bytes().u64(at as u64).raw(name.as_bytes()).raw(b"\0").raw(self.clock.as_bytes()).raw(b"\0");
            let option = option.u32(self.shape.page as u32).u32(cpus.len() as u32);
            let numbered = places.iter().enumerate();
            let option = numbered.fold(option, |o, (cpu, (at, size))| o.u32(cpu as u32).u64(*at).u64(*size)).1;
            options = options.u16(3).u32(option.len() as u32).raw(&option);
        }
        let options = options.u16(0).u32(8).u64(0).1;
        let second = b.1.len() as u64;
        b = b.u16(0).u16(0).u32(0).u64(options.len() as u64).raw(&options);
        b.1[place..place + 8].copy_from_slice(&self.bytes().u64(first as u64).1);
        b.1[next..next + 8].copy_from_slice(&self.bytes().u64(second).1);
        b.1
    }
}

const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

fn format(name: &str, id: u16, fields: &[(&str, usize, usize)], print: &str) -> String {
    let field = |(what, offset, size): &(&str, usize, usize)| {
        format!("\tfield:{what};\toffset:{offset};\tsize:{size};\tsigned:{};\n", u8::from(!what.starts_with("char")))
    };
    let fields: String = fields.iter().map(field).collect();
    format!("name: {name}\nID: {id}\nformat:\n{COMMON}{fields}\nprint fmt: {print}\n")
}

fn switch_format(long: usize) -> String {
    let next = 32 + long;
    let fields = [
        ("char prev_comm[16]", 8, 16),
        ("pid_t prev_pid", 24, 4),
        ("int prev_prio", 28, 4),
        ("long prev_state", 32, long),
        ("char next_comm[16]", next, 16),
        ("pid_t next_pid", next + 16, 4),
        ("int next_prio", next + 20, 4),
    ];
    format("sched_switch", SWITCH_ID, &fields, MODERN_PRINT)
}

fn waking_format() -> String {
    let fields = [("char comm[16]", 8, 16), ("pid_t pid", 24, 4), ("int prio", 28, 4), ("int target_cpu", 32, 4)];
    format("sched_waking", WAKING_ID, &fields, "\"comm=%s\", REC->comm")
}
