//! Comma-separated values (RFC 4180): records end in CR LF; a field with a comma, quote or line break is quoted.

use model::{TableDef, Value};

pub(crate) fn head(def: &TableDef, out: &mut Vec<u8>) {
    for (i, name) in def.cols.iter().map(|c| c.name).enumerate() {
        comma(i, out);
        text(name, out);
    }
    out.extend_from_slice(b"\r\n");
}

pub(crate) fn row(row: &[Value], out: &mut Vec<u8>) {
    for (i, value) in row.iter().enumerate() {
        comma(i, out);
        match value {
            // Null is an empty field, and an empty text is two quotes, so that they differ.
            Value::Null => {}
            Value::Text(v) if v.is_empty() => out.extend_from_slice(b"\"\""),
            Value::Text(v) => text(v, out),
            Value::Int(v) => out.extend_from_slice(v.to_string().as_bytes()),
            Value::Float(v) => out.extend_from_slice(v.to_string().as_bytes()),
            Value::Bool(v) => out.extend_from_slice(v.to_string().as_bytes()),
        }
    }
    out.extend_from_slice(b"\r\n");
}

fn comma(i: usize, out: &mut Vec<u8>) {
    if i > 0 {
        out.push(b',');
    }
}

fn text(text: &str, out: &mut Vec<u8>) {
    if !text.contains([',', '"', '\n', '\r']) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}
