//! A Markdown table; units are in the header, numbers are aligned right.

use model::{Col, Kind, TableDef, Value};

pub(crate) fn head(def: &TableDef, out: &mut Vec<u8>) {
    out.push(b'|');
    for Col { name, unit, .. } in def.cols {
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        out.extend_from_slice(format!(" {name}{unit} |").as_bytes());
    }
    out.extend_from_slice(b"\n|");
    for Col { kind, .. } in def.cols {
        out.extend_from_slice(if matches!(kind, Kind::Int | Kind::Float) { b" --: |" } else { b" --- |" });
    }
    out.push(b'\n');
}

pub(crate) fn row(row: &[Value], out: &mut Vec<u8>) {
    out.push(b'|');
    for value in row {
        out.push(b' ');
        match value {
            Value::Null => {}
            Value::Int(v) => out.extend_from_slice(v.to_string().as_bytes()),
            Value::Float(v) => out.extend_from_slice(v.to_string().as_bytes()),
            Value::Bool(v) => out.extend_from_slice(v.to_string().as_bytes()),
            Value::Text(v) => text(v, out),
        }
        out.extend_from_slice(b" |");
    }
    out.push(b'\n');
}

/// Writes a text, and escapes what would end the cell or the row, or start a tag or emphasis.
fn text(text: &str, out: &mut Vec<u8>) {
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(b' '),
            '|' | '\\' | '`' | '*' | '_' | '<' | '[' => {
                out.push(b'\\');
                out.push(c as u8);
            }
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}
