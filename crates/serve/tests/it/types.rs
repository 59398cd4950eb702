//! The viewer's types are generated from the definitions of the server's answers, of the tables that the viewer reads, and from
//! the names of states.

use model::{CpuState, Kind, TableDef, ThreadState, tables};
use std::fmt::Write;
use std::path::Path;

/// The tables that the viewer reads.
const OF_TABLES: [&TableDef; 5] =
    [&tables::THREAD_STATE, &tables::CPU_STATE, &tables::OBJECT_WAITS, &tables::LOCK_WAITS, &tables::THROTTLED];

/// Generates an interface for the rows of a table, with integers as numbers.
fn interface(def: &TableDef) -> String {
    let camel: String = def.name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
    let mut out = format!("/** {} */\nexport interface {camel} {{\n", def.doc);
    for col in def.cols {
        let kind = match col.kind {
            Kind::Int | Kind::Float => "number",
            Kind::Text => "string",
            Kind::Bool => "boolean",
        };
        let null = if col.nullable { " | null" } else { "" };
        writeln!(out, "  /** {} */\n  readonly {}: {kind}{null};", col.doc, col.name).unwrap();
    }
    out + "}\n"
}

fn words(name: &str, words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("/** The names of the states, by number. */\nexport const {name} = [{}] as const;\n", words.join(", "))
}

#[test]
fn the_viewers_types_match_the_tables() {
    let mut made = String::from("// @generated from the definitions of the tables by `cargo xtask bless`.\n\n");
    made += &words("THREAD_STATES", &ThreadState::ALL.map(ThreadState::as_str));
    made += &words("CPU_STATES", &CpuState::ALL.map(CpuState::as_str));
    for def in serve::ANSWERS.iter().chain(&OF_TABLES) {
        made += &format!("\n{}", interface(def));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../viewer/src/generated/tables.ts");
    testkit::cases::generated(&path, &made);
}
