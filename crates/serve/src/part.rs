//! Tables for a part of the recording, the same as with `--range` of `corewise report` and `corewise table`. The answer has the first
//! rows sorted by a column, and the total number of rows.

use crate::answer;
use crate::queries::QueryError;
use crate::query::Part;
use engine::{Session, TableRequest};
use model::{Ns, Span, TableDef, Value};
use serde_json::{Value as Json, json};
use std::cmp::Ordering;

/// Lists the tables that can have rows in this trace, with their descriptions.
pub(crate) fn tables(session: &Session) -> Json {
    let all: Vec<_> = session.tables().into_iter().filter(|def| session.may_have_rows(def)).collect();
    list(&all)
}

/// Converts a list of tables to JSON.
pub(crate) fn list(tables: &[&TableDef]) -> Json {
    tables.iter().map(|def| json!({"name": def.name, "doc": def.doc})).collect()
}

/// Returns the first rows of a table for a part.
pub(crate) fn part(
    session: &Session,
    table: &str,
    query: &Part,
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<u8>, QueryError> {
    let (span, most) = query.validated().map_err(QueryError::Invalid)?;
    let whole = Span { start: Ns::ZERO, end: Ns(session.summary().span_ns) };
    let span = span.overlap(whole).ok_or_else(|| QueryError::Invalid("this time is outside the recording".into()))?;
    first(session, table, Some(span), most, (query.by.as_deref(), query.down), cancelled)
}

/// Returns the first rows of a table for a part or the whole recording, sorted by a column or in the table's order; `down` sorts in
/// descending order.
pub(crate) fn first(
    session: &Session,
    table: &str,
    span: Option<Span>,
    most: usize,
    (by, down): (Option<&str>, bool),
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<u8>, QueryError> {
    let request = TableRequest { span, ..TableRequest::whole(table) };
    let def = request.definition(session).map_err(|e| QueryError::Invalid(e.to_string()))?;
    let column = |by| def.col(by).ok_or_else(|| QueryError::Invalid(format!("{table} has no column {by}")));
    let mut first = First { by: by.map(column).transpose()?, down, most, rows: Vec::new(), all: 0 };
    let read = request.rows(session, &mut |rows| {
        first.push(rows);
        if cancelled() { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    });
    read.map_err(|e| QueryError::Failed(e.to_string()))?;
    let (rows, all) = first.finish();
    answer::rows_with_metadata(def, &rows, &[("rows", all.to_string())]).map_err(|e| QueryError::Failed(e.to_string()))
}

/// Collects the first rows by a column, with memory for twice as many.
struct First {
    by: Option<usize>,
    down: bool,
    most: usize,
    rows: Vec<Vec<Value>>,
    all: u64,
}

impl First {
    fn push(&mut self, rows: &[Vec<Value>]) {
        self.all += rows.len() as u64;
        for row in rows {
            // Without sorting, further rows are not needed.
            if self.by.is_none() && self.rows.len() >= self.most {
                return;
            }
            self.rows.push(row.clone());
            if self.rows.len() >= self.most.saturating_mul(2) {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        if let Some(by) = self.by {
            let down = self.down;
            // The sort is stable: equal rows stay in the order of the table.
            self.rows.sort_by(|a, b| order(a.get(by), b.get(by), down));
        }
        self.rows.truncate(self.most);
    }

    fn finish(mut self) -> (Vec<Vec<Value>>, u64) {
        self.cut();
        (self.rows, self.all)
    }
}

/// Compares cells; null is last in both directions.
fn order(a: Option<&Value>, b: Option<&Value>, down: bool) -> Ordering {
    let turned = |order: Ordering| if down { order.reverse() } else { order };
    match (a, b) {
        (Some(Value::Int(a)), Some(Value::Int(b))) => turned(a.cmp(b)),
        (Some(Value::Float(a)), Some(Value::Float(b))) => turned(a.total_cmp(b)),
        (Some(Value::Text(a)), Some(Value::Text(b))) => turned(a.cmp(b)),
        (Some(Value::Bool(a)), Some(Value::Bool(b))) => turned(a.cmp(b)),
        (None | Some(Value::Null), None | Some(Value::Null)) => Ordering::Equal,
        (None | Some(Value::Null), _) => Ordering::Greater,
        (_, None | Some(Value::Null)) => Ordering::Less,
        // The values of a column have one type.
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_rows_are_sorted_by_a_column_with_null_last() {
        let rows: Vec<Vec<Value>> = [Some(3), None, Some(9), Some(1), Some(9), Some(4)]
            .into_iter()
            .zip(0..)
            .map(|(v, at)| vec![Value::from(v), Value::Int(at)])
            .collect();
        let first = |by, down, most| {
            let mut first = First { by, down, most, rows: Vec::new(), all: 0 };
            rows.chunks(2).for_each(|rows| first.push(rows));
            let (rows, all) = first.finish();
            let places = rows.iter().map(|row| if let Value::Int(at) = row[1] { at } else { -1 });
            (places.collect::<Vec<_>>(), all)
        };
        // Descending: 9 twice, in the order of the table, then 4. Ascending: 1 and 3. Null is last in both directions.
        assert_eq!(first(Some(0), true, 3), (vec![2, 4, 5], 6));
        assert_eq!(first(Some(0), false, 2), (vec![3, 0], 6));
        assert_eq!(first(Some(0), true, 9), (vec![2, 4, 5, 0, 3, 1], 6));
        assert_eq!(first(Some(0), false, 9), (vec![3, 0, 5, 2, 4, 1], 6));
        assert_eq!(first(None, true, 2), (vec![0, 1], 6));
    }
}
