//! A trace as one page, compared with the server's answers.

use crate::support::{Trace, arrow, longs, texts};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use std::collections::BTreeMap;
use std::io::Read;

/// Two threads alternate on a CPU, 10 and 20 µs each, 400 times, then one runs for 4 ms, so that the levels differ. The recording
/// lasts 10 ms.
fn drawn() -> Trace {
    let mut text = String::from("# tracer: nop\n#\n");
    let mut at = 100_000_000_u64;
    let mut change = |by_us: u64, from: (&str, u32), to: (&str, u32)| {
        at += by_us;
        text += &format!(
            "             x-{} [000] d..2. {}.{:06}: sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state=R ==> next_comm={} next_pid={} next_prio=120\n",
            from.1,
            at / 1_000_000,
            at % 1_000_000,
            from.0,
            from.1,
            to.0,
            to.1,
        );
    };
    change(0, ("swapper/0", 0), ("short", 10));
    for _ in 0..200 {
        change(10, ("short", 10), ("long", 11));
        change(20, ("long", 11), ("short", 10));
    }
    change(4000, ("short", 10), ("swapper/0", 0));
    Trace::printed(&text)
}

/// Returns the blocks of a page, decoded.
fn blocks(trace: &serve::Trace, limit: usize) -> (serve::Page, BTreeMap<String, Vec<u8>>) {
    let page = serve::page(trace, limit).unwrap();
    let data = page.html.lines().filter_map(|line| line.trim().strip_prefix("<script type=\"text/plain\" id=\"data-"));
    let block = |line: &str| {
        let (name, text) = line.strip_suffix("</script>").unwrap().split_once("\">").unwrap();
        let plain = if name == "held" { text.as_bytes().to_vec() } else { unpacked(text) };
        (name.to_owned(), plain)
    };
    let blocks = data.map(block).collect();
    (page, blocks)
}

/// Decodes base64 (https://www.rfc-editor.org/rfc/rfc4648#section-4) and gzip.
fn unpacked(text: &str) -> Vec<u8> {
    let six = |char: u8| match char {
        b'A'..=b'Z' => char - b'A',
        b'a'..=b'z' => char - b'a' + 26,
        b'0'..=b'9' => char - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("{char} is not a base64 character"),
    };
    let digits: Vec<u8> = text.bytes().filter(|char| *char != b'=').map(six).collect();
    let mut packed = Vec::new();
    for four in digits.chunks(4) {
        let all = four.iter().fold(0_u32, |all, six| all << 6 | u32::from(*six)) << (6 * (4 - four.len()));
        packed.extend_from_slice(&all.to_be_bytes()[1..four.len()]);
    }
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut plain).unwrap();
    plain
}

/// A slice: its track, its start and end, and the remaining columns.
type Slice = (i32, i64, i64, Vec<i64>);

fn slices(batch: &RecordBatch) -> Vec<Slice> {
    let track = batch.column_by_name("track").unwrap().as_primitive::<Int32Type>().values().to_vec();
    let [start, end] = ["start_ns", "end_ns"].map(|name| longs(batch, name));
    let more = ["state_ns", "what", "what_ns"].map(|name| longs(batch, name));
    (0..track.len()).map(|i| (track[i], start[i], end[i], more.iter().map(|column| column[i]).collect())).collect()
}

fn batch(ipc: &[u8]) -> RecordBatch {
    arrow_ipc::reader::StreamReader::try_new(ipc, None).unwrap().next().unwrap().unwrap()
}

#[test]
#[ignore = "needs the viewer"]
fn levels_add_what_the_coarser_one_lacks_and_together_match_the_server() {
    let trace = drawn();
    let (page, blocks) = blocks(&trace.prepared(), 1_000_000);
    assert!(page.finest_ns == 0 && page.has_rows);
    let held: serde_json::Value = serde_json::from_slice(&blocks["held"]).unwrap();
    let (coarsest, finest) = (held["coarsest"].as_u64().unwrap(), held["finest"]["thread"].as_u64().unwrap());
    assert_eq!(held["finest"]["cpu"], finest);
    // 10 ms over 64 pixels are 156,250 ns per pixel; the next lower power of two is 17. At 2 to 14 ns the stretches of 20,000 ns are
    // long and those of 10,000 ns are single between them; at 2 to 15 ns both are short.
    assert_eq!((coarsest, finest), (17, 14));
    let client = trace.served();
    for kind in ["cpu", "thread"] {
        let (mut now, mut own_in_all) = (Vec::<Slice>::new(), 0);
        for level in (finest..=coarsest).rev() {
            let own = blocks.get(&format!("slices-{kind}-{level}")).map_or(Vec::new(), |ipc| slices(&batch(ipc)));
            own_in_all += own.len();
            now.retain(|old| !own.iter().any(|new| new.0 == old.0 && new.1 < old.2 && new.2 > old.1));
            now.extend(own);
            now.sort();
            let width = 1_u64 << level;
            let path = format!("/api/slices?kind={kind}&first=0&last=15&from=0&to=10000000&width={width}");
            assert_eq!(now, slices(&arrow(&client, &path)), "{kind} at {width} ns");
        }
        // Each level has about half the slices of the next finer one: all together twice those of the finest.
        assert!(now.len() > 400 && own_in_all <= 2 * now.len(), "{own_in_all} for {} of {kind}", now.len());
    }
    // The rows of all stretches, and the tables of the whole recording.
    let rows = batch(&blocks["thread_state"]);
    let served = arrow(&client, "/api/table/thread_state?from=0&to=10000000");
    assert_eq!(longs(&rows, "start_ns"), longs(&served, "start_ns"));
    assert_eq!(texts(&rows, "state"), texts(&served, "state"));
    let part = batch(&blocks["part-threads"]);
    let served = arrow(&client, "/api/part/threads?from=0&to=10000000&most=100&by=running_ns&down=true");
    assert_eq!(part, served);
    assert_eq!(blocks["about"], client.get("/api/about").body);
}

#[test]
#[ignore = "needs the viewer"]
fn a_smaller_limit_drops_finer_levels_until_nothing_fits() {
    let trace = drawn();
    let (whole, all) = blocks(&trace.prepared(), 1_000_000);
    let size =
        |html: &str| html.len() - html.lines().filter(|line| !line.contains("id=\"data-")).map(str::len).sum::<usize>();
    let mut limit = size(&whole.html);
    let mut seen = Vec::new();
    loop {
        limit = limit * 9 / 10;
        let page = match serve::page(&trace.prepared(), limit) {
            Ok(page) => page,
            Err(why) => {
                assert!(why.to_string().contains("too few for the coarsest view"), "{why}");
                break;
            }
        };
        // The markup around each block is not counted.
        let around = 80 * page.html.matches("id=\"data-").count();
        assert!(size(&page.html) <= limit + around, "{} at {limit}", size(&page.html));
        assert!(page.finest_ns == 0 || !page.has_rows);
        seen.push((page.finest_ns, page.has_rows));
    }
    seen.dedup();
    assert!(
        all.contains_key("thread_state") && seen.contains(&(0, false)),
        "first without the rows of stretches: {seen:?}"
    );
    assert!(seen.contains(&(1 << 15, false)), "then without the finest level: {seen:?}");
}

#[test]
#[ignore = "needs the viewer"]
fn a_page_begins_with_the_view_that_it_was_given() {
    let drawn = drawn();
    let trace = drawn.prepared();
    let start = "#t=0..5000&notes=17:%3C%2Fscript%3E";
    let page = serve::page_at(&trace, 1_000_000, start).unwrap();
    let line = page.html.lines().find(|line| line.contains("id=\"data-start\"")).unwrap();
    let text = line.split_once("\">").unwrap().1.strip_suffix("</script>").unwrap();
    assert_eq!(unpacked(text), start.as_bytes());
    assert!(!serve::page(&trace, 1_000_000).unwrap().html.contains("data-start"));
}

#[test]
#[ignore = "needs the viewer"]
fn a_redacted_page_does_not_contain_the_path_of_the_trace() {
    let drawn = drawn();
    let trace = drawn.redacted(engine::Redact::Private);
    let (_, blocks) = blocks(&trace, 1_000_000);
    let path = drawn.path().display().to_string();
    for (name, plain) in &blocks {
        let text = String::from_utf8_lossy(plain);
        assert!(!text.contains(&path) && !text.contains("drawn.cw"), "{name}");
    }
    assert!(String::from_utf8_lossy(&blocks["about"]).contains("\"name\":\"TRACE\""));
}
