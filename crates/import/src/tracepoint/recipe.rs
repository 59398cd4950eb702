//! Shows what a new tracepoint requires: [`TOY`] is declared only here, and every reader reads it.
#![allow(clippy::unwrap_used, clippy::panic, dead_code)] // tests fail by panicking; not all functions of the writers are used

#[path = "../../tests/it/ctf/writer.rs"]
mod ctf_writer;
#[path = "../../tests/it/perf_data/writer.rs"]
mod perf_writer;
#[path = "../../tests/it/perfetto/writer.rs"]
mod perfetto_writer;
#[path = "../../tests/it/trace_dat/writer.rs"]
mod trace_dat_writer;

use super::table::{Meaning, Tracepoint, field};
use crate::formats::{
    ctf::Ctf, ftrace_text::FtraceText, perf_data::PerfData, perf_script::PerfScript, perfetto::Perfetto,
    schedviz::SchedViz, trace_dat::TraceDat,
};
use ingest::{Anomaly, Fatal, Folder, Importer, Input, Ledger, Reach, ReadSeek};
use model::{Batch, CpuId, Event, EventKind, Mark, MarkEdge, Pid, Tid};
use std::collections::BTreeMap;
use std::io::Cursor;

/// A request to a disk, like the kernel's `block_rq_issue`, with every kind of field.
const TOY: Tracepoint = Tracepoint {
    name: "toy_request",
    lttng: "toy_rq",
    numbers: &[
        field("dev").perfetto(1).optional(),
        field("major").not_in_records(),
        field("minor").not_in_records(),
        field("sector").perfetto(2),
        field("bytes").older("size").perfetto(4),
        field("prio").lttng("nice").priority().perfetto(9),
    ],
    texts: &[field("rwbs").perfetto(5), field("comm").perfetto(6).optional()],
    printed: &["{major},{minor} {rwbs} {bytes} ({}) {sector} + {#} [{comm*}] {prio}"],
    perfetto: 4000,
    meaning: Meaning::Of(|v, mut out| {
        let device = v.recorded(0).unwrap_or(v.number(1) << 20 | v.number(2));
        let text = [v.text(0), b" ", v.text(1), b" ", v.number(4).to_string().as_bytes()].concat();
        let (pid, name) = (Pid(device as i32 + v.number(5) as i32), out.name(&text));
        out.add(EventKind::Mark(Mark { tid: v.current, pid, track: v.number(3), name, edge: MarkEdge::Instant }))
    }),
    ..Tracepoint::NEW
};

pub(super) const TRACEPOINTS: &[Tracepoint] = &[TOY];

/// Its fields as the kernel describes them, after the common ones: declaration, offset, size.
const FIELDS: &[(&str, usize, usize)] = &[
    ("dev_t dev", 8, 4),
    ("sector_t sector", 16, 8),
    ("unsigned int size", 24, 4),
    ("char rwbs[8]", 28, 8),
    ("char comm[16]", 36, 16),
    ("int prio", 52, 4),
];
const ID: u16 = 700;

fn description() -> String {
    let common = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
                  \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
    let field = |(what, offset, size): &(&str, usize, usize)| {
        let signed = u8::from(what.starts_with("int"));
        format!("\tfield:{what};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n")
    };
    let fields: String = FIELDS.iter().map(field).collect();
    format!("name: {}\nID: {ID}\nformat:\n{common}{fields}\nprint fmt: \"\"\n", TOY.name)
}

/// The record in little-endian bytes.
fn record() -> Vec<u8> {
    let mut raw = ID.to_le_bytes().to_vec();
    raw.extend([0, 0]);
    raw.extend(7_i32.to_le_bytes());
    raw.extend((8_u32 << 20 | 1).to_le_bytes());
    raw.extend([0; 4]);
    raw.extend(123_456_u64.to_le_bytes());
    raw.extend(4096_u32.to_le_bytes());
    raw.extend(b"WS\0\0\0\0\0\0");
    raw.extend(b"my [db] 1\0\0\0\0\0\0\0");
    raw.extend(120_i32.to_le_bytes());
    raw
}

const PRINTED: &str = "8,1 WS 4096 () 123456 + 8 [my [db] 1] 120";
const CURRENT: Tid = Tid(7);

/// The expected mark: the thread, the device plus the priority, the sector, and the texts.
fn wanted() -> (Tid, i32, i64, String) {
    (CURRENT, (8 << 20 | 1) + 120, 123_456, "WS my [db] 1 4096".to_owned())
}

/// A trace's files in memory.
#[derive(Clone, Default)]
struct Files(BTreeMap<String, Vec<u8>>);

impl Folder for Files {
    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
    fn open(&self, name: &str) -> std::io::Result<Box<dyn ReadSeek + Send>> {
        Ok(Box::new(Cursor::new(self.0.get(name).ok_or(std::io::ErrorKind::NotFound)?.clone())))
    }
}

struct NoAnomalies;

impl Ledger for NoAnomalies {
    fn anomaly(&mut self, what: &'static str, offset: u64, _: Anomaly) {
        panic!("{what} at {offset}");
    }
}

/// Returns the marks that a source contains.
fn marks(format: &dyn Importer, input: Input<'_>) -> Result<Vec<(Tid, i32, i64, String)>, Fatal> {
    let (mut batch, mut all) = (Batch::default(), Vec::new());
    for mut stream in format.open(input)?.streams {
        while stream.next(&mut batch, &mut NoAnomalies)? != Reach::End {}
        let name = |mark: &Mark| batch.names[mark.name.0 as usize - 1].to_string();
        all.extend(batch.events.iter().filter_map(|event| match event {
            Event { cpu: CpuId(0), what: EventKind::Mark(mark), .. } => {
                Some((mark.tid, mark.pid.0, mark.track, name(mark)))
            }
            _ => None,
        }));
        batch.clear();
    }
    Ok(all)
}

fn of_file(format: &dyn Importer, bytes: Vec<u8>) -> Vec<(Tid, i32, i64, String)> {
    marks(format, Input::File(Box::new(Cursor::new(bytes)))).unwrap()
}

#[test]
fn perf_data_reads_it() {
    use perf_writer::{Attr, Bytes, Order, PerfData as Writer, Stamp, USUAL};
    let mut writer = Writer::of_tracepoints(Order::Little, USUAL);
    writer.attrs.push(Attr::tracepoint(ID, USUAL));
    let format = description();
    let tracing = Bytes::new(Order::Little).raw(b"\x17\x08\x44tracing0.6\0").raw(&[0, 8]).u32(4096);
    let tracing = tracing.raw(b"header_page\0").u64(0).raw(b"header_event\0").u64(0);
    let tracing = tracing.u32(0).u32(1).raw(b"toy\0").u32(1).u64(format.len() as u64).raw(format.as_bytes());
    writer.tracing = tracing.padded(8).1;
    writer.sample(2, Stamp { at: 1000, cpu: 0, pid: 7, tid: CURRENT.0, id: 0 }, &[], &record());
    assert_eq!(of_file(&PerfData, writer.file()), [wanted()]);
}

#[test]
fn trace_dat_reads_it() {
    use trace_dat_writer::{Shape, TraceDat as Writer};
    for shape in [Shape::PLAIN, Shape::SEVEN] {
        let mut writer = Writer::new(shape, 1);
        writer.formats.push(description());
        writer.cpu(0).record(1000, &record());
        assert_eq!(of_file(&TraceDat, writer.file()), [wanted()]);
    }
}

#[test]
fn schedviz_reads_it() {
    use trace_dat_writer::{Ring, Shape};
    let mut ring = Ring::new(Shape::PLAIN);
    ring.record(1000, &record()).turn();
    let switch = description().replace(TOY.name, "sched_switch").replace("ID: 700", "ID: 316");
    let files = [
        ("formats/sched/sched_switch/format", switch.into_bytes()),
        ("formats/toy/toy_request/format", description().into_bytes()),
        ("traces/cpu0", ring.pages.concat()),
    ];
    let files = Files(files.map(|(name, bytes)| (name.to_owned(), bytes)).into());
    assert_eq!(marks(&SchedViz, Input::Folder(Box::new(files))).unwrap(), [wanted()]);
}

#[test]
fn texts_read_it() {
    let line = format!("            db-7     [000] d..1.   568.581851: {}: {PRINTED}\n", TOY.name);
    let text = format!("# tracer: nop\n#\n{line}");
    assert_eq!(of_file(&FtraceText, text.into_bytes()), [wanted()]);
    let line = format!("db     7/7     [000]   568.581851001: block:{}: {PRINTED}\n", TOY.name);
    assert_eq!(of_file(&PerfScript, line.into_bytes()), [wanted()]);
}

/// With LTTng's names, and with the kernel's.
#[test]
fn ctf_reads_it() {
    use ctf_writer::{CONTEXT, HEADER, Packet, preamble};
    for (lttng, name, nice) in [(true, "toy_rq", "_nice"), (false, "block:toy_request", "_prio")] {
        let env = if lttng { "env { tracer_name = \"lttng-modules\"; };\n" } else { "" };
        let event = format!(
            "event {{ name = \"{name}\"; id = 7; stream_id = 0; fields := struct {{ int32_t _perf_tid; uint32_t _dev; \
             unsigned long _sector; uint32_t _bytes; string _rwbs; string _comm; int32_t {nice}; }}; }};\n"
        );
        let metadata = preamble(CONTEXT, HEADER) + env + &event;
        let mut fields = CURRENT.0.to_le_bytes().to_vec();
        fields.extend((8_u32 << 20 | 1).to_le_bytes());
        fields.extend(123_456_u64.to_le_bytes());
        fields.extend(4096_u32.to_le_bytes());
        fields.extend(b"WS\0my [db] 1\0");
        fields.extend(if lttng { 20_i32 } else { 120 }.to_le_bytes());
        let packet = Packet::default().event(7, 1000, &fields);
        let files = ctf_writer::trace(&metadata, &[packet]);
        assert_eq!(marks(&Ctf, Input::Folder(Box::new(files))).unwrap(), [wanted()], "{name}");
    }
}

#[test]
fn perfetto_reads_it() {
    use perfetto_writer::{Message, bundle, events, kernel_only, trace};
    let body = Message::default().number(1, 8 << 20 | 1).number(2, 123_456).number(4, 4096).bytes(5, b"WS");
    let body = body.bytes(6, b"my [db] 1").number(9, 120);
    let event = Message::default().number(1, 1000).number(2, 7).message(TOY.perfetto, &body);
    assert_eq!(of_file(&Perfetto, trace(&[kernel_only(), bundle(0, &events(&[event]))])), [wanted()]);
}
