//! The HTML page: self-contained, safe for any trace content, and consistent with the tables.

use crate::support;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use engine::Session;
use proptest::prelude::*;
use report::{Options, Sections};
use roxmltree::{Document, Node, ParsingOptions};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::process::Command;
use testkit::{ByName, Mode, Random};

/// Two fast CPUs on one core, a slow one; threads that wait, move, sleep and mark.
const TRACE: &str = "
cpu0 P0  A A A B B As . C C .
cpu1 P0  B B . . A A  . . D Dx
cpu2 E1  C C C C . .  B B . .
waking   . . . B@0 A@1 . B@2 C@0 D@1 .
mark     A( . . . . A) . . . .
";

fn page(session: &Session) -> String {
    report::html(session, &Options { sections: Sections::All, pictures: true, concurrency: true, ..Options::default() })
        .expect("a page")
}

fn parsed(page: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(page, options).unwrap_or_else(|e| panic!("{e}\n{page}"))
}

fn all<'a>(of: &Node<'a, 'a>, tag: &str) -> Vec<Node<'a, 'a>> {
    of.descendants().filter(|n| n.tag_name().name() == tag).collect()
}

fn words(of: &Node<'_, '_>) -> String {
    of.descendants().filter_map(|n| n.text().filter(|_| n.is_text())).collect()
}

/// The section whose heading starts with `heading`.
fn section<'a>(page: &'a Document<'a>, heading: &str) -> Node<'a, 'a> {
    let sections = all(&page.root(), "section");
    let found = sections.into_iter().find(|s| words(&all(s, "h2")[0]).starts_with(heading));
    found.unwrap_or_else(|| panic!("no section {heading}"))
}

/// The rows of a section's first table, by column heading.
fn rows(section: &Node<'_, '_>) -> Vec<BTreeMap<String, String>> {
    let cells = |row: &Node<'_, '_>| row.children().filter(Node::is_element).map(|c| words(&c)).collect::<Vec<_>>();
    let table = all(section, "table")[0];
    let head = cells(&all(&all(&table, "thead")[0], "tr")[0]);
    let body = all(&all(&table, "tbody")[0], "tr");
    body.iter().map(|row| head.iter().cloned().zip(cells(row)).collect()).collect()
}

/// Converts `1 234.567` milliseconds to nanoseconds; the page rounds to microseconds.
fn ns(ms: &str) -> i64 {
    ms.replace(['\u{a0}', '.'], "").parse::<i64>().unwrap_or_else(|_| panic!("{ms} is not a number")) * 1000
}

#[test]
fn a_page_is_xml_and_self_contained() {
    let session = support::drawn(TRACE, |_, _| ());
    let page = page(&session);
    let document = parsed(&page);
    for node in document.descendants().filter(Node::is_element) {
        let tag = node.tag_name().name();
        assert!(!["script", "link", "img", "iframe", "object", "base", "form", "image", "use"].contains(&tag), "{tag}");
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!name.starts_with("on") && name != "style" && name != "src", "{tag} {name}");
            assert!(name != "href" || value.starts_with('#'), "{tag} {name} {value}");
        }
    }
    let rest = page.replace("http://www.w3.org/2000/svg", "").replace("http://www.w3.org/1999/xhtml", "");
    assert!(!rest.contains("://") && !rest.contains("@import"), "an external address");
    // Each link has a target, and ids are unique.
    let ids: Vec<&str> = document.descendants().filter_map(|n| n.attribute("id")).collect();
    let mut distinct = ids.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(ids.len(), distinct.len());
    let links = all(&document.root(), "a");
    assert!(links.len() > 5 && links.iter().all(|a| ids.contains(&&a.attribute("href").unwrap()[1..])));
    // Each picture has a title and a description.
    let pictures = document.descendants().filter(|n| n.attribute("role") == Some("img")).collect::<Vec<_>>();
    assert!(pictures.len() > 8, "{}", pictures.len());
    for picture in pictures {
        let has = |tag: &str| picture.children().any(|n| n.tag_name().name() == tag && !words(&n).is_empty());
        assert!(has("title") && has("desc"), "{picture:?}");
    }
}

#[test]
fn only_the_pages_own_style_is_allowed() {
    let session = support::drawn(TRACE, |_, _| ());
    let page = page(&session);
    let document = parsed(&page);
    let policy = document.descendants().find(|n| n.attribute("http-equiv") == Some("Content-Security-Policy")).unwrap();
    let policy = policy.attribute("content").unwrap();
    assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{policy}");
    let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
    let hash = BASE64_STANDARD.encode(Sha256::digest(style.as_bytes()));
    assert!(
        policy.contains(&format!("style-src 'sha256-{hash}'")),
        "STYLE of page/src/html/document.rs must have {hash}"
    );
}

/// Threads that were sampled in functions, on two types of cores.
const SAMPLED: &str = "
cpu0 P0  A A A . . .
cpu1 P0  B B . . . .
cpu2 E1  . . . A A .
sample   A=spin<main A=spin<main,B=lock@1 A=spin<main . A=work<main@2 .
current  .@1 . . . . .
";

/// The frames of a page's flame graph: class, label, left and right end in percent, distance from the top.
fn frames(page: &Document<'_>) -> Vec<(String, String, f64, f64, i64)> {
    let graph = page.descendants().find(|n| n.attribute("class") == Some("frames")).expect("a flame graph");
    let number = |n: &Node<'_, '_>, name| n.attribute(name).unwrap().trim_end_matches('%').parse::<f64>().unwrap();
    let frame = |n: Node<'_, '_>| {
        let (label, x) = (words(&all(&n, "text")[0]), number(&n, "x"));
        (n.attribute("class").unwrap().to_owned(), label, x, x + number(&n, "width"), number(&n, "y") as i64)
    };
    graph.children().filter(|n| n.has_tag_name(("http://www.w3.org/2000/svg", "svg"))).map(frame).collect()
}

#[test]
fn a_flame_graph_has_the_samples_by_core_type_thread_and_function() {
    let session = support::drawn(SAMPLED, |_, _| ());
    let page = page(&session);
    let document = parsed(&page);
    let drawn = frames(&document);
    let drawn: Vec<_> = drawn.iter().map(|(class, label, from, to, y)| (&**class, &**label, *from, *to, *y)).collect();
    assert!(drawn.contains(&("root", "all", 0.0, 100.0, 68)), "{drawn:?}");
    assert!(drawn.contains(&("green", "efficient", 0.0, 20.0, 51)), "{drawn:?}");
    assert!(drawn.contains(&("blue", "performance", 20.0, 100.0, 51)), "{drawn:?}");
    assert!(drawn.contains(&("idle", "B", 80.0, 100.0, 34)), "{drawn:?}");
    assert!(drawn.contains(&("red", "spin", 20.0, 80.0, 0)), "{drawn:?}");
    // Each frame lies on the one that called it.
    for (_, label, from, to, y) in drawn.iter().filter(|frame| frame.4 < 68) {
        let caller = drawn.iter().find(|below| below.4 == y + 17 && below.2 <= from + 0.001 && below.3 >= to - 0.001);
        assert!(caller.is_some(), "{label} has no caller: {drawn:?}");
    }
}

#[test]
fn only_a_page_with_a_flame_graph_has_a_script_and_only_its_own() {
    let session = support::drawn(SAMPLED, |_, _| ());
    let page = page(&session);
    let document = parsed(&page);
    let scripts = all(&document.root(), "script");
    let [script] = scripts.as_slice() else { panic!("{} scripts", scripts.len()) };
    let hash = BASE64_STANDARD.encode(Sha256::digest(words(script).as_bytes()));
    let policy = document.descendants().find(|n| n.attribute("http-equiv") == Some("Content-Security-Policy")).unwrap();
    let policy = policy.attribute("content").unwrap();
    assert!(
        policy.contains(&format!("script-src 'sha256-{hash}';")),
        "SCRIPT of page/src/html/mod.rs must have {hash}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    let other = self::page(&support::drawn(TRACE, |_, _| ()));
    assert!(!other.contains("script"), "a script without a flame graph");
}

#[test]
fn hostile_thread_names_do_not_change_a_page() {
    const NAMES: [&str; 4] =
        ["</title><script>x", "\"'&]]><!--", "\u{202e}\u{0}\u{1b}[2J\u{ffff}\t", "<img src=//x.y/>"];
    let plain = support::drawn(TRACE, |_, _| ());
    let session = support::drawn(TRACE, |facts, batch| {
        facts.about.push(("hostname".to_owned(), "<b>host</b>".to_owned()));
        facts.lacks.push("<i>It lacks</i> & \"it\" lacks.".to_owned());
        batch.names.iter_mut().zip(NAMES).for_each(|(name, hostile)| *name = hostile.into());
    });
    let (page, plain) = (page(&session), page(&plain));
    let (document, plain) = (parsed(&page), parsed(&plain));
    // The same tags, except for the item about missing data.
    let tags = |of: &Document<'_>| {
        let elements = of.descendants().filter(Node::is_element).map(|n| n.tag_name().name().to_owned());
        elements.fold(BTreeMap::<String, usize>::new(), |mut count, tag| {
            *count.entry(tag).or_default() += 1;
            count
        })
    };
    let mut tags_of_plain = tags(&plain);
    *tags_of_plain.get_mut("li").expect("lists") += 1;
    assert_eq!(tags(&document), tags_of_plain);
    let text = words(&document.root());
    for shown in ["</title><script~", "\"'&]]><!--", "<img src=//x.y/>", "<b>host</b>", "<i>It lacks</i>"] {
        assert!(text.contains(shown), "{shown}");
    }
    assert!(!text.contains(['\u{202e}', '\u{1b}', '\u{ffff}']));
}

#[test]
fn a_page_has_the_numbers_of_the_tables() {
    let session = support::drawn(TRACE, |_, _| ());
    let page = page(&session);
    let document = parsed(&page);
    let table = |name: &str| session.table(name).expect("a table");
    let by_tid = |heading: &str, column: &str, of: &str, ns_column: &str| {
        let (shown, table) = (rows(&section(&document, heading)), table(of));
        for row in 0..table.rows.len() {
            let tid = table.int(row, "tid").unwrap().to_string();
            let wanted = table.int(row, ns_column).unwrap_or(0);
            let found = shown.iter().find(|r| r["tid"] == tid);
            assert_eq!(found.map_or(0, |r| ns(&r[column])), wanted, "{heading}: {column} of {tid}");
        }
        assert!(!table.rows.is_empty());
    };
    by_tid("Threads", "running ms", "threads", "running_ns");
    by_tid("Threads", "ready ms", "threads", "ready_ns");
    by_tid("Waiting for a CPU", "ready ms", "ready_wait", "ready_ns");
    by_tid("Waiting for a CPU", "longest ms", "ready_wait", "max_ready_ns");
    let (cpus, shown) = (table("cpus"), rows(&section(&document, "CPUs: 3")));
    for row in 0..cpus.rows.len() {
        let cpu = cpus.int(row, "cpu").unwrap().to_string();
        let of = shown.iter().find(|r| r["CPU"] == cpu).unwrap();
        assert_eq!(ns(&of["busy ms"]), cpus.int(row, "busy_ns").unwrap());
    }
    let (moves, shown) = (table("migrations"), rows(&section(&document, "Migrations")));
    let sum: i64 = (0..moves.rows.len()).map(|row| moves.int(row, "migrations").unwrap()).sum();
    assert_eq!(shown.last().unwrap()["migrations"].parse(), Ok(sum));
    assert!(sum > 1);
    let (idle, shown) = (table("idle_periods"), rows(&section(&document, "Idle periods")));
    let sum: i64 = (0..idle.rows.len()).map(|row| idle.int(row, "idle_ns").unwrap()).sum();
    assert_eq!(shown.iter().map(|r| ns(&r["idle ms"])).sum::<i64>(), sum);
}

#[test]
fn pictures_have_the_numbers_of_the_tables() {
    let session = support::drawn(TRACE, |_, _| ());
    let page = page(&session);
    let document = parsed(&page);
    let (cpus, picture) = (session.table("cpus").unwrap(), section(&document, "CPUs: 3"));
    let width = |class: &str, label: &str| {
        let bars = all(&picture, "rect").into_iter().filter(|r| r.attribute("class") == Some(class));
        let mut of = bars.filter(|r| words(r).starts_with(&format!("{label}: ")));
        of.next().map_or(0.0, |r| r.attribute("width").unwrap().trim_end_matches('%').parse::<f64>().unwrap())
    };
    let span = session.summary().span_ns as f64;
    for row in 0..cpus.rows.len() {
        let label = format!("CPU {} {}", cpus.int(row, "cpu").unwrap(), cpus.text(row, "core_type").unwrap());
        for (class, column) in [("blue", "busy_ns"), ("idle", "idle_ns"), ("unknown", "unknown_ns")] {
            let wanted = cpus.int(row, column).unwrap() as f64 * 100.0 / span;
            assert!((width(class, &label) - wanted).abs() < 0.001, "{label} {column}: {wanted}");
        }
    }
    // Timeline: each interval is fully busy or fully idle, so the darkest shade covers the busy time.
    let timeline = section(&document, "Timeline");
    let path = all(&timeline, "path").into_iter().find(|p| p.attribute("class") == Some("heat-5")).unwrap();
    let parts = path.attribute("d").unwrap().split('h').skip(1).map(|p| p.split('v').next().unwrap());
    let parts: i64 = parts.filter(|p| !p.starts_with('-')).map(|p| p.parse::<i64>().unwrap()).sum();
    let busy = session.summary().busy_ns;
    assert_eq!(parts * session.summary().span_ns / 200, busy, "200 intervals");
}

#[test]
fn more_cpus_than_lanes_do_not_make_a_page_larger() {
    let lines = |n: usize| (0..n).map(|cpu| format!("cpu{cpu} U{cpu}  . {} .\n", if cpu == 0 { 'A' } else { '.' }));
    let session = support::drawn(&lines(150).collect::<String>(), |_, _| ());
    let page = page(&session);
    let document = parsed(&page);
    let lanes = document.descendants().find(|n| n.attribute("class") == Some("lanes")).unwrap();
    assert_eq!(all(&lanes, "span").len(), 50, "three CPUs per lane");
    assert!(page.len() < 100_000, "{}", page.len());
}

#[test]
fn redacted_text_is_not_in_any_report() {
    let add_facts = |facts: &mut engine::Facts, _: &mut model::Batch| {
        facts.about.push(("hostname".to_owned(), "secret-host".to_owned()));
        facts.about.push(("command_line".to_owned(), "/home/user1/secret --run".to_owned()));
        facts.lacks.push("Nothing of secret-host is there.".to_owned());
    };
    let mut session = support::drawn(TRACE, add_facts);
    let has = |page: &str, word: &str| page.contains(word);
    assert!(has(&page(&session), "secret-host") && has(&page(&session), "user1"));
    session.redact(engine::Redact::Private);
    let mut json = Vec::new();
    report::json(&session, &Options::default(), &mut json).expect("an object");
    for output in
        [page(&session), report::text(&session, &Options::default()).unwrap(), String::from_utf8(json).unwrap()]
    {
        assert!(!has(&output, "secret") && !has(&output, "user1"), "{output}");
    }
}

/// Cores with no, one and three siblings, of three classes; the last CPUs of a trace are not listed.
const MACHINE: &str = "cpu0 P0\ncpu1 P0\ncpu2 E1\ncpu3 M2\ncpu4 P3\ncpu5 P3\ncpu6 P3\ncpu7 P3";

proptest! {
    #![proptest_config(testkit::drawn(60))]
    #[test]
    fn a_page_of_any_trace_is_xml_and_no_bar_exceeds_its_picture(seed in any::<u64>(), steps in 1usize..400, mode in 0usize..3) {
        let mode = [Mode::Whole, Mode::Deleted, Mode::Garbage][mode];
        let session = support::of_events(Random { mode, seed, steps }.batch(), MACHINE);
        let page = page(&session);
        for rect in all(&parsed(&page).root(), "rect") {
            let percent = |name| rect.attribute(name).and_then(|v| v.strip_suffix('%')).map_or(0.0, |v| v.parse::<f64>().unwrap());
            let (x, width) = (percent("x"), percent("width"));
            prop_assert!(x >= 0.0 && width >= 0.0 && x + width < 100.01, "{x} {width}");
        }
        let options = Options { sections: Sections::All, ..Options::default() };
        let text = report::text(&session, &options).unwrap();
        prop_assert!(text.contains("\nNext steps\n"), "{}", text);
    }
}

/// The console messages of a browser that shows a page.
fn console(page: &str, width: u32) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page.html");
    std::fs::write(&file, page).expect("the page is written");
    let ran = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("--window-size={width},2000"))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("chromium runs");
    assert!(String::from_utf8_lossy(&ran.stdout).contains("</main>"), "{}", String::from_utf8_lossy(&ran.stderr));
    let messages = String::from_utf8_lossy(&ran.stderr).into_owned();
    messages.lines().filter(|l| l.contains("CONSOLE")).collect::<Vec<_>>().join("\n")
}

#[test]
#[ignore = "needs chromium"]
fn a_browser_shows_it_without_console_messages() {
    let page = page(&support::drawn(TRACE, |_, _| ()));
    assert_eq!(console(&page, 1280), "");
    assert_eq!(console(&page, 390), "");
    // The script runs: it shows the search.
    let with_samples = self::page(&support::drawn(SAMPLED, |_, _| ()));
    assert_eq!(console(&with_samples, 1280), "");
    let other = with_samples.replace("\"use strict\";", "\"use strict\"; console.log(1);");
    assert!(console(&other, 1280).contains("Content Security Policy"));
    // The browser does report a style that is not the page's own.
    let other = page.replace("<style>", "<style> p { color: red; }");
    assert!(console(&other, 1280).contains("Content Security Policy"));
}

/// Capabilities 5 and 65: CPU time by priority class over time, stacked, and the priorities of a thread. Of 20 ms, A runs the first 10
/// at 120 and the last 5 at 98; B runs 5 at 120 in between.
#[test]
fn cap_5_65_priorities_over_time_and_of_a_thread() {
    let drawn = "
cpu0 U0 A A A A A A A A A A Bs Bs Bs Bs Bs A A A A As
waking  . . . . . . . . . B@0 . . . . . . . . . .
prio    . . . . . . . . . . . . . . . A=98 . . . .
";
    let page = page(&support::drawn(drawn, |_, _| ()));
    let parsed = parsed(&page);
    let over_time = section(&parsed, "CPU time by priority class");
    let shares = rows(&over_time);
    let of = |class: &str| shares.iter().map(|row| row[class].as_str()).collect::<Vec<_>>();
    assert_eq!(of("real time %"), [vec!["0.0"; 15], vec!["100.0"; 5]].concat());
    assert_eq!(of("normal %"), [vec!["100.0"; 15], vec!["0.0"; 5]].concat());
    let paths = all(&over_time, "path");
    let drawn: Vec<_> = paths.iter().map(|p| (p.attribute("class").unwrap(), p.attribute("d").unwrap())).collect();
    let columns = |from: usize, to: usize| (from..to).map(|x| format!("M{x} 0.0000h1v1.0000h-1z")).collect::<String>();
    assert_eq!(drawn, [("orange", columns(15, 20).as_str()), ("blue", columns(0, 15).as_str())]);
    let residency = section(&parsed, "Threads with non-default priority");
    let rows = rows(&residency);
    assert_eq!((rows.len(), rows[0]["% by priority"].as_str()), (1, "120: 66.7, 98: 33.3"));
    let widths: Vec<_> =
        all(&residency, "rect").iter().filter_map(|r| r.attribute("width")).map(str::to_owned).collect();
    assert!(widths.contains(&"66.667%".to_owned()) && widths.contains(&"33.333%".to_owned()), "{widths:?}");
}

/// Capability 67: the tail of a region, and the potential saving (explained in crates/report/cases/parallel_regions.md).
#[test]
fn cap_67_waiting_for_the_last_thread() {
    let drawn = "
cpu0 P0  A  A            A .  .  . . .  .
cpu1 P1  B  B            B B  .  . . .  .
cpu2 E2  C  C            C C  C  C C .  .
mark     A( A),A(,B(=1,C(=1 . A) B) . . C) .
";
    let page = page(&support::drawn(drawn, |_, _| ()));
    let parsed = parsed(&page);
    let row = &rows(&section(&parsed, "Parallel regions"))[0];
    let cells = ["ms", "tail ms", "tail %", "waited ms", "saving ms"].map(|head| row[head].as_str());
    assert_eq!(cells, ["6.000", "4.000", "66.7", "7.000", "2.333–3.000"]);
}

/// The worst instance of a finding is drawn, and its times lead to the page with the timeline if there is one. A waits from 2 to 5 ms of 7
/// while B runs, so that the picture is from 0.5 to 6.5 ms.
#[test]
fn each_finding_has_a_picture_of_its_worst_instance() {
    let drawn = "cpu0 U0  Cs B B B B A A\nwaking   B@0 . A@0 . . . .\nprio     A=120,B=130 . . . . . .";
    let session = support::drawn(drawn, |_, _| ());
    let page = page(&session);
    let document = parsed(&page);
    let findings = section(&document, "Findings: ");
    let figure =
        all(&findings, "figure").into_iter().find(|f| f.attribute("class") == Some("instance")).expect("a picture");
    let caption = words(&all(&figure, "figcaption")[0]);
    assert!(caption.starts_with("Worst instance: A 1 is ready for 3.000\u{a0}ms (B ran"), "{caption}");
    let lanes: Vec<String> = all(&figure, "span").iter().map(words).collect();
    assert_eq!(lanes[..2], ["A 1", "CPU 0"], "{lanes:?}");
    let pieces: Vec<(String, [&str; 2])> = all(&figure, "svg")
        .iter()
        .filter(|piece| piece.attribute("x").is_some())
        .map(|piece| {
            let at = ["x", "width"].map(|name| piece.attribute(name).unwrap());
            (words(&all(piece, "title")[0]).replace('\u{a0}', " "), at)
        })
        .collect();
    let wanted = [
        ("ready: 2.000 to 5.000 ms", ["25.000%", "50.000%"]),
        ("running: 5.000 to 6.500 ms", ["75.000%", "25.000%"]),
        ("B: 1.000 to 5.000 ms", ["8.333%", "66.667%"]),
    ];
    for (about, at) in wanted {
        assert!(pieces.contains(&(about.to_owned(), at)), "{about}: {pieces:?}");
    }
    assert!(all(&findings, "a").iter().all(|a| a.attribute("href").unwrap().starts_with('#')), "no timeline, no link");
    let options = Options {
        sections: Sections::All,
        pictures: true,
        timeline: Some("./t&t.html".to_owned()),
        ..Options::default()
    };
    let page = report::html(&session, &options).expect("a page");
    let document = parsed(&page);
    let links: Vec<_> =
        document.descendants().filter_map(|n| n.attribute("href")).filter(|to| to.contains("html")).collect();
    let threads = session.table("threads").unwrap();
    let row = (0..threads.rows.len()).find(|row| threads.int(*row, "tid") == Some(1)).unwrap();
    let thread = threads.int(row, "thread").unwrap();
    let wanted = format!("./t&t.html#t=0..8000000&sel=thread:{thread}@2000000&range=2000000..5000000");
    assert!(links.contains(&wanted.as_str()), "{wanted}: {links:?}");
}

/// A finding links to its evidence, its threads and its time, and these link back.
#[test]
fn each_finding_links_to_its_evidence() {
    let session =
        support::drawn("cpu0 U0  A A A . . .\ncpu1 U1  B B B B B .\nmark     . A(=4,B(=4 . A)=4 . B)=4", |_, _| ());
    let page = page(&session);
    let document = parsed(&page);
    let findings = section(&document, "Findings: 1");
    let named = |id: &str| document.descendants().find(|n| n.attribute("id") == Some(id)).expect(id);
    let links: Vec<_> = all(&findings, "a").iter().map(|a| a.attribute("href").unwrap()[1..].to_owned()).collect();
    assert_eq!(
        links,
        ["thread-1", "thread-2", "evidence-1", "when-1", "section-parallel_regions"],
        "the threads, the evidence, the time, and the section of the table"
    );
    let row = words(&named("evidence-1"));
    assert!(row.contains("parallel_regions") && row.contains("recoverable from\u{a0}1.000\u{a0}ms"), "{row}");
    assert!(words(&named("thread-2")).starts_with('B'));
    assert!(words(&named("section-parallel_regions")).starts_with("\nParallel regions"));
    assert_eq!(all(&named("when-1"), "a")[0].attribute("href"), Some("#finding-1"));
    // 1 to 5 ms of 6 ms: 166.7 to 833.3 of 1000.
    let paths = all(&section(&document, "Timeline"), "path");
    let of_finding = paths.iter().find(|p| p.attribute("class") == Some("red")).expect("a high finding");
    assert_eq!(of_finding.attribute("d"), Some("M166.7 0.2h666.7v.6h-666.7z"));
}

/// A runs on both types, B on one; the events of C took turns, and its cycles are above the maximum.
const COUNTED: &str = "
cpu0 P0/5000  A A . . B B B B
cpu1 E1/3550  . . A A C C C C
count . . A=cycles:9600000/2,A=instructions:10400000/2 . . . . .
count . . . . A=cycles:7000000/2@1,A=instructions:3300000/2@1 . . . .
count . . . . . . . B=cycles:14000000/3,B=instructions:8400000/3 .
count . . . . . . C=cycles:7200000/2@1,C=instructions:5800000/2@1,C=branches:900000/2:1@1,C=branch-misses:12000/2:1@1
";

#[test]
fn speeds_are_bars_by_core_type_and_what_cannot_be_right_is_marked() {
    let page = page(&support::drawn(COUNTED, |_, _| ()));
    let section = page.split("Counters of threads, by core type").nth(1).expect("a section");
    let figure = section.split("</figure>").next().expect("a figure");
    let bars = |tone: &str| figure.matches(&format!("<rect class=\"{tone}\" x=")).count();
    // A on both types, B on performance cores, C on the other one.
    assert_eq!((bars("blue"), bars("green")), (2, 2), "{figure}");
    assert!(figure.contains("IPC 1.08 at 4800 MHz") && figure.contains("at 3600 MHz, doubtful"), "{figure}");
    assert!(section.contains("doubtful: 3600 MHz, but the maximum of these CPUs is 3550 MHz"), "{section}");
    assert!(section.contains("Counters: 1 of") && section.contains("sum to those of their CPUs"), "{section}");
    if let Some(path) = std::env::var_os("GUARD_PAGE") {
        std::fs::write(path, &page).unwrap();
    }
}
