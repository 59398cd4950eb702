//! JSON: an array of objects, one per line.

use model::{TableDef, Value};

pub(crate) fn row(def: &TableDef, row: &[Value], first: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if first { b"\n{" } else { b",\n{" });
    for (i, (name, value)) in def.cols.iter().map(|c| c.name).zip(row).enumerate() {
        if i > 0 {
            out.push(b',');
        }
        put(&name.into(), out);
        out.push(b':');
        put(
            &match value {
                Value::Null => serde_json::Value::Null,
                Value::Int(v) => (*v).into(),
                // JSON has no infinity; it becomes null.
                Value::Float(v) => (*v).into(),
                Value::Text(v) => v.as_str().into(),
                Value::Bool(v) => (*v).into(),
            },
            out,
        );
    }
    out.push(b'}');
}

fn put(value: &serde_json::Value, out: &mut Vec<u8>) {
    out.extend_from_slice(value.to_string().as_bytes());
}
