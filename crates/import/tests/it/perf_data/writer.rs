//! Writes perf.data in memory, of either byte order, as a file or as a pipe's bytes.

use zstd::stream::raw::{Encoder, InBuffer, Operation, OutBuffer};

pub const IP: u64 = 1;
pub const TID: u64 = 1 << 1;
pub const TIME: u64 = 1 << 2;
pub const READ: u64 = 1 << 4;
pub const CALLCHAIN: u64 = 1 << 5;
pub const ID: u64 = 1 << 6;
pub const CPU: u64 = 1 << 7;
pub const PERIOD: u64 = 1 << 8;
pub const RAW: u64 = 1 << 10;
pub const IDENTIFIER: u64 = 1 << 16;
/// The layout of `perf sched record`.
pub const USUAL: u64 = IP | TID | TIME | CPU | PERIOD | RAW;

pub const SWITCH_ID: u16 = 316;
pub const WAKING_ID: u16 = 318;

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

/// The time, CPU and thread of a sample or another record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    pub at: u64,
    pub cpu: u32,
    pub pid: i32,
    pub tid: i32,
    pub id: u64,
}

#[derive(Clone, Debug)]
pub struct Attr {
    pub kind: u32,
    pub config: u64,
    pub sample_type: u64,
    pub read_format: u64,
    /// Bits of the flags: 18 sample_id_all, 26 context_switch, 1 inherit, …
    pub flags: Vec<u32>,
    pub ids: Vec<u64>,
    /// `branch_sample_type` and `sample_regs_user`.
    pub more: [u64; 2],
}

impl Attr {
    pub fn tracepoint(id: u16, sample_type: u64) -> Self {
        Self {
            kind: 2,
            config: id.into(),
            sample_type,
            read_format: 0,
            flags: vec![18],
            ids: vec![u64::from(id) * 10],
            more: [0; 2],
        }
    }

    fn bytes(&self, order: Order) -> Vec<u8> {
        let flags = self.flags.iter().fold(0_u64, |all, bit| all | 1 << bit).to_le_bytes();
        let flags = if order == Order::Big { flags.map(u8::reverse_bits) } else { flags };
        let b = Bytes::new(order).u32(self.kind).u32(128).u64(self.config).u64(1);
        let b = b.u64(self.sample_type).u64(self.read_format).raw(&flags).padded(72);
        b.u64(self.more[0]).u64(self.more[1]).padded(128).1
    }
}

/// A perf.data being written.
#[derive(Clone, Debug)]
pub struct PerfData {
    pub order: Order,
    pub attrs: Vec<Attr>,
    pub records: Vec<Vec<u8>>,
    pub features: Vec<(u32, Vec<u8>)>,
    pub tracing: Vec<u8>,
}

impl PerfData {
    /// Starts a file with the tracepoints sched_switch and sched_waking.
    pub fn of_tracepoints(order: Order, sample_type: u64) -> Self {
        let attrs = vec![Attr::tracepoint(SWITCH_ID, sample_type), Attr::tracepoint(WAKING_ID, sample_type)];
        Self { order, attrs, records: Vec::new(), features: Vec::new(), tracing: tracing(order) }.release("6.1.0")
    }

    /// Starts a file as with `-e dummy --switch-events`.
    pub fn of_switch_records(order: Order, release: &str) -> Self {
        let sample_type = TID | TIME | CPU | IDENTIFIER;
        let attr =
            Attr { kind: 1, config: 9, sample_type, read_format: 0, flags: vec![18, 26], ids: vec![1], more: [0; 2] };
        Self { order, attrs: vec![attr], records: Vec::new(), features: Vec::new(), tracing: Vec::new() }
            .release(release)
    }

    /// Starts a file with samples of these events, each a type and a config, as `perf record -g -e …` writes it.
    pub fn of_samples(order: Order, events: &[(u32, u64)]) -> Self {
        let sample_type = IP | TID | TIME | CALLCHAIN | ID | CPU;
        let attr = |(id, (kind, config)): (u64, &(u32, u64))| Attr {
            kind: *kind,
            config: *config,
            sample_type,
            read_format: 0,
            flags: vec![18],
            ids: vec![id],
            more: [0; 2],
        };
        let attrs = (1..).zip(events).map(attr).collect();
        Self { order, attrs, records: Vec::new(), features: Vec::new(), tracing: Vec::new() }.release("6.1.0")
    }

    fn release(mut self, release: &str) -> Self {
        let text = Bytes::new(self.order).u32(64).raw(release.as_bytes()).padded(68).1;
        self.features.push((4, text));
        self
    }

    pub fn record(&mut self, kind: u32, misc: u16, body: &[u8]) -> &mut Self {
        self.records.push(record(self.order, kind, misc, body));
        self
    }

    pub fn round(&mut self) -> &mut Self {
        self.record(68, 0, &[])
    }

    /// Adds a record with the first attribute's layout that is not a sample.
    pub fn other(&mut self, kind: u32, misc: u16, body: &[u8], stamp: Stamp) -> &mut Self {
        let t = self.attrs[0].sample_type;
        let mut b = Bytes::new(self.order).raw(body);
        b = if t & TID != 0 { b.i32(stamp.pid).i32(stamp.tid) } else { b };
        b = if t & TIME != 0 { b.u64(stamp.at) } else { b };
        b = if t & ID != 0 { b.u64(stamp.id) } else { b };
        b = if t & CPU != 0 { b.u32(stamp.cpu).u32(0) } else { b };
        b = if t & IDENTIFIER != 0 { b.u64(stamp.id) } else { b };
        self.record(kind, misc, &b.1)
    }

    /// Adds an ID_INDEX: the ids of each attribute belong to these CPUs in order; -1: to a thread.
    pub fn id_index(&mut self, cpus: &[i64]) -> &mut Self {
        let entries = cpus.iter().enumerate();
        let b = Bytes::new(self.order).u64(cpus.len() as u64);
        let b = entries.fold(b, |b, (at, cpu)| b.u64(at as u64 + 1).u64(at as u64).u64(*cpu as u64).u64(u64::MAX));
        self.record(69, 0, &b.1)
    }

    pub fn sample(&mut self, attr: usize, stamp: Stamp, chain: &[u64], raw: &[u8]) -> &mut Self {
        self.sample_with(attr, stamp, chain, raw, &[])
    }

    /// Adds a sample with what follows the tracepoint's record: branches, registers, the copy of the stack.
    pub fn sample_with(&mut self, attr: usize, stamp: Stamp, chain: &[u64], raw: &[u8], rest: &[u8]) -> &mut Self {
        let (t, read) = (self.attrs[attr].sample_type, self.attrs[attr].read_format);
        let id = self.attrs[attr].ids[0];
        let has = |bit| t & bit != 0;
        let mut b = Bytes::new(self.order);
        b = if has(IDENTIFIER) { b.u64(id) } else { b };
        b = if has(IP) { b.u64(0xffff_8000) } else { b };
        b = if has(TID) { b.i32(stamp.pid).i32(stamp.tid) } else { b };
        b = if has(TIME) { b.u64(stamp.at) } else { b };
        b = if has(ID) { b.u64(id) } else { b };
        b = if has(CPU) { b.u32(stamp.cpu).u32(0) } else { b };
        b = if has(PERIOD) { b.u64(1) } else { b };
        if has(READ) {
            // PERF_FORMAT_GROUP with two members, or a single value; each with its times and ids.
            let times = (read & 3).count_ones();
            let each = 1 + (read >> 2 & 1) as u32 + (read >> 4 & 1) as u32;
            let words = if read & 8 != 0 { 1 + times + 2 * each } else { times + each };
            b = (0..words).fold(b, |b, at| b.u64(if at == 0 && read & 8 != 0 { 2 } else { 77 }));
        }
        if has(CALLCHAIN) {
            b = chain.iter().fold(b.u64(chain.len() as u64), |b, a| b.u64(*a));
        }
        if has(RAW) {
            b = b.u32(raw.len() as u32).raw(raw).padded(8);
        }
        self.record(9, 0, &b.raw(rest).1)
    }

    /// Adds a sched_switch; `state` is the kernel's number.
    pub fn switch(&mut self, at: u64, cpu: u32, prev: i32, state: u64, next: i32) -> &mut Self {
        let raw = switch(self.order, prev, state, next);
        self.sample(0, Stamp { at, cpu, pid: prev, tid: prev, id: 0 }, &[], &raw)
    }

    pub fn waking(&mut self, at: u64, cpu: u32, tid: i32) -> &mut Self {
        let name = format!("t{tid}");
        let raw = Bytes::new(self.order).u16(WAKING_ID).u16(0).i32(1).comm(&name).i32(tid).i32(120).i32(1).1;
        self.sample(1, Stamp { at, cpu, pid: 1, tid: 1, id: 0 }, &[], &raw)
    }

    /// Returns the bytes as `perf record -o FILE` writes them.
    pub fn file(&self) -> Vec<u8> {
        let order = self.order;
        let data: Vec<u8> = self.records.concat();
        let attrs_at = 104 + 8 * self.attrs.iter().map(|a| a.ids.len()).sum::<usize>();
        let attrs_size = self.attrs.len() * 144;
        let data_at = attrs_at + attrs_size;
        let features = self.all_features();
        let bits = features.iter().fold([0_u64; 4], |mut bits, (bit, _)| {
            bits[*bit as usize / 64] |= 1 << (bit % 64);
            bits
        });
        let mut b = Bytes::new(order).raw(self.magic()).u64(104).u64(144);
        b = b.u64(attrs_at as u64).u64(attrs_size as u64).u64(data_at as u64).u64(data.len() as u64).u64(0).u64(0);
        b = bits.iter().fold(b, |b, word| b.u64(*word));
        b = self.attrs.iter().flat_map(|a| &a.ids).fold(b, |b, id| b.u64(*id));
        let mut ids_at = 104;
        for attr in &self.attrs {
            b = b.raw(&attr.bytes(order)).u64(ids_at).u64(8 * attr.ids.len() as u64);
            ids_at += 8 * attr.ids.len() as u64;
        }
        b = b.raw(&data);
        let mut at = b.1.len() + 16 * features.len();
        for (_, bytes) in &features {
            b = b.u64(at as u64).u64(bytes.len() as u64);
            at += bytes.len();
        }
        features.iter().fold(b, |b, (_, bytes)| b.raw(bytes)).1
    }

    /// Returns the bytes as `perf record -o -` writes them.
    pub fn pipe(&self) -> Vec<u8> {
        let order = self.order;
        let mut b = Bytes::new(order).raw(self.magic()).u64(16);
        for attr in &self.attrs {
            let ids = attr.ids.iter().fold(Bytes::new(order), |b, id| b.u64(*id)).1;
            b = b.raw(&record(order, 64, 0, &[attr.bytes(order), ids].concat()));
        }
        for (feature, bytes) in &self.features {
            let body = Bytes::new(order).u64(u64::from(*feature)).raw(bytes).padded(8).1;
            b = b.raw(&record(order, 80, 0, &body));
        }
        if !self.tracing.is_empty() {
            let size = Bytes::new(order).u32(self.tracing.len() as u32).u32(0).1;
            b = b.raw(&record(order, 66, 0, &size)).raw(&self.tracing).padded(8);
        }
        b.raw(&self.records.concat()).1
    }

    /// Returns the file with its records compressed, `size` bytes in each COMPRESSED record, even if that splits records.
    pub fn packed(&self, size: usize) -> Self {
        let mut encoder = Encoder::new(1).unwrap();
        let mut packed = Self { records: Vec::new(), ..self.clone() };
        for plain in self.records.concat().chunks(size) {
            let mut out = vec![0; 2 * size + 1024];
            let mut to = OutBuffer::around(&mut out[..]);
            let mut from = InBuffer::around(plain);
            while from.pos() < plain.len() {
                encoder.run(&mut from, &mut to).unwrap();
            }
            encoder.flush(&mut to).unwrap();
            let length = to.pos();
            packed.record(81, 0, &out[..length]);
        }
        packed
    }

    fn magic(&self) -> &'static [u8] {
        if self.order == Order::Little { b"PERFILE2" } else { b"2ELIFREP" }
    }

    fn all_features(&self) -> Vec<(u32, Vec<u8>)> {
        let mut all = self.features.clone();
        if !self.tracing.is_empty() {
            all.push((1, self.tracing.clone()));
        }
        all.sort_by_key(|(bit, _)| *bit);
        all
    }
}

pub fn record(order: Order, kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    Bytes::new(order).u32(kind).u16(misc).u16(8 + body.len() as u16).raw(body).1
}

pub fn switch(order: Order, prev: i32, state: u64, next: i32) -> Vec<u8> {
    let name = |tid: i32| if tid == 0 { "swapper/0".to_owned() } else { format!("t{tid}") };
    let b = Bytes::new(order).u16(SWITCH_ID).u16(0).i32(prev).comm(&name(prev)).i32(prev).i32(120).u64(state);
    b.comm(&name(next)).i32(next).i32(120).1
}

/// Returns the descriptions of the tracepoints, as perf copies them from tracefs.
fn tracing(order: Order) -> Vec<u8> {
    let b = Bytes::new(order).raw(b"\x17\x08\x44tracing0.6\0").raw(&[u8::from(order == Order::Big), 8]).u32(4096);
    let b = b.raw(b"header_page\0").u64(4).raw(b"page").raw(b"header_event\0").u64(5).raw(b"event");
    let formats = [
        format(
            "sched_switch",
            SWITCH_ID,
            &[
                ("char prev_comm[16]", 8, 16),
                ("pid_t prev_pid", 24, 4),
                ("int prev_prio", 28, 4),
                ("long prev_state", 32, 8),
                ("char next_comm[16]", 40, 16),
                ("pid_t next_pid", 56, 4),
                ("int next_prio", 60, 4),
            ],
            MODERN_PRINT,
        ),
        format(
            "sched_waking",
            WAKING_ID,
            &[("char comm[16]", 8, 16), ("pid_t pid", 24, 4), ("int prio", 28, 4), ("int target_cpu", 32, 4)],
            "\"comm=%s\", REC->comm",
        ),
    ];
    let b = b.u32(0).u32(1).raw(b"sched\0").u32(formats.len() as u32);
    formats.iter().fold(b, |b, f| b.u64(f.len() as u64).raw(f.as_bytes())).padded(8).1
}

fn format(name: &str, id: u16, fields: &[(&str, u32, u32)], print: &str) -> String {
    let field = |(what, offset, size): &(&str, u32, u32)| {
        format!("\tfield:{what};\toffset:{offset};\tsize:{size};\tsigned:{};\n", u8::from(!what.starts_with("char")))
    };
    let fields: String = fields.iter().map(field).collect();
    format!(
        "name: {name}\nID: {id}\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n{fields}\nprint fmt: {print}\n"
    )
}
