//! Tests of the formats that `corewise table` writes.

use model::{Col, Kind, MadeFrom, Rows, Table, TableDef, Value};
use store::{Format, TableWriter, write_table};

static DEF: TableDef = TableDef {
    name: "t",
    version: 1,
    made_from: MadeFrom::Elsewhere,
    large: false,
    doc: "A test.",
    key: &["a"],
    cols: &[
        Col::new("a_ns", Kind::Int, "ns", "A time."),
        Col::text("b", model::Shows::Nothing, "A text.").or_null(),
        Col::new("c", Kind::Float, "ratio", "A share.").or_null(),
        Col::new("d", Kind::Bool, "", "Whether.").or_null(),
    ],
};

fn table() -> Table {
    let mut table = Table::new(&DEF);
    table.row(&[Value::Int(1), "plain".into(), Value::Float(0.5), Value::Bool(true)]);
    table.row(&[Value::Int(-2), "say \"x\", y\r\n|".into(), Value::Null, Value::Bool(false)]);
    table.row(&[Value::Int(i64::MAX), Value::Null, Value::Float(1e300), Value::Null]);
    table
}

fn written(format: Format) -> Vec<u8> {
    let mut out = Vec::new();
    write_table(&mut &table(), Some(-5), format, &mut out).unwrap();
    out
}

fn text(format: Format) -> String {
    String::from_utf8(written(format)).unwrap()
}

#[test]
fn csv_is_quoted_as_in_the_rfc() {
    let want = "a_ns,b,c,d\r\n1,plain,0.5,true\r\n-2,\"say \"\"x\"\", y\r\n|\",,false\r\n";
    assert!(text(Format::Csv).starts_with(want), "{}", text(Format::Csv));
}

#[test]
fn json_is_an_array_of_objects() {
    let json: serde_json::Value = serde_json::from_slice(&written(Format::Json)).unwrap();
    assert_eq!(json[0], serde_json::json!({"a_ns": 1, "b": "plain", "c": 0.5, "d": true}));
    assert_eq!(json[1]["b"], "say \"x\", y\r\n|");
    assert_eq!(json[2]["a_ns"], i64::MAX);
    let mut out = Vec::new();
    write_table(&mut &Table::new(&DEF), None, Format::Json, &mut out).unwrap();
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&out).unwrap(), serde_json::json!([]));
}

#[test]
fn markdown_has_units_and_one_line_per_row() {
    let text = text(Format::Markdown);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "| a_ns (ns) | b | c (ratio) | d |");
    assert_eq!(lines[1], "| --: | --- | --: | --- |");
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[3], "| -2 | say \"x\", y  \\| |  | false |");
}

#[test]
fn parquet_output_matches_the_folder() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.parquet");
    std::fs::write(&path, written(Format::Parquet)).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let about = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let trace = about.iter().find(|kv| kv.key == store::TRACE_KEY).and_then(|kv| kv.value.as_deref());
    assert_eq!(trace, Some("-5"));
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(|r| r.unwrap().to_string()).collect();
    assert_eq!(rows.len(), 3);
    assert!(
        rows[0].starts_with("{a_ns: 1, ") && rows[0].contains("b: \"plain\"") && rows[0].contains("d: true"),
        "{}",
        rows[0]
    );
    assert!(rows[2].contains("b: null") && rows[2].contains("d: null"), "{}", rows[2]);
}

#[test]
fn a_closed_pipe_is_an_error() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut closed = Closed;
    assert!(TableWriter::new(&DEF, None, Format::Csv, &mut closed).is_err());
}
