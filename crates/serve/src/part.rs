//! The tables of a part of the recording, as `corewise report` and `corewise table` with `--range` tell them: the same
//! question to the engine. What is answered are the first rows by a column, and how many there are.

use crate::answer;
use crate::asked::Part;
use crate::questions::Unanswered;
use engine::{Asked, Session};
use model::{Ns, Span, TableDef, Value};
use serde_json::{Value as Json, json};
use std::cmp::Ordering;

/// The tables that have rows here, with what they hold: the list to choose from.
pub(crate) fn tables(session: &Session) -> Json {
    let all: Vec<_> = session.tables().into_iter().filter(|def| session.may_have_rows(def)).collect();
    list(&all)
}

/// Tables to choose from.
pub(crate) fn list(tables: &[&TableDef]) -> Json {
    tables.iter().map(|def| json!({"name": def.name, "doc": def.doc})).collect()
}

/// The first rows of a table of a part.
pub(crate) fn part(
    session: &Session,
    table: &str,
    asked: &Part,
    left: &dyn Fn() -> bool,
) -> Result<Vec<u8>, Unanswered> {
    let (span, most) = asked.wanted().map_err(Unanswered::Asked)?;
    let whole = Span { start: Ns::ZERO, end: Ns(session.summary().span_ns) };
    let span = span.overlap(whole).ok_or_else(|| Unanswered::Asked("nothing was recorded then".into()))?;
    first(session, table, Some(span), most, (asked.by.as_deref(), asked.down), left)
}

/// The first rows of a table of a part or of all, by a column or in the table's order; down: the largest first.
pub(crate) fn first(
    session: &Session,
    table: &str,
    span: Option<Span>,
    most: usize,
    (by, down): (Option<&str>, bool),
    left: &dyn Fn() -> bool,
) -> Result<Vec<u8>, Unanswered> {
    let question = Asked { span, ..Asked::whole(table) };
    let def = question.definition(session).map_err(|e| Unanswered::Asked(e.to_string()))?;
    let column = |by| def.col(by).ok_or_else(|| Unanswered::Asked(format!("{table} has no column {by}")));
    let mut first = First { by: by.map(column).transpose()?, down, most, rows: Vec::new(), all: 0 };
    let read = question.rows(session, &mut |rows| {
        first.push(rows);
        if left() { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    });
    read.map_err(|e| Unanswered::Failed(e.to_string()))?;
    let (rows, all) = first.finish();
    answer::told(def, &rows, &[("rows", all.to_string())]).map_err(|e| Unanswered::Failed(e.to_string()))
}

/// The first rows by a column, in memory for twice as many.
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
            // In the order of the table the first are those that come first.
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
            // Stable: what is alike stays in the order of the table.
            self.rows.sort_by(|a, b| order(a.get(by), b.get(by), down));
        }
        self.rows.truncate(self.most);
    }

    fn finish(mut self) -> (Vec<Vec<Value>>, u64) {
        self.cut();
        (self.rows, self.all)
    }
}

/// What is not known stands last either way.
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
        // A column holds values of one kind.
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rows_by_a_column_whatever_their_order_and_unknown_last() {
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
        // 9 twice, in the order of the table, then 4; upwards 1 and 3; all of them with the unknown one last either way.
        assert_eq!(first(Some(0), true, 3), (vec![2, 4, 5], 6));
        assert_eq!(first(Some(0), false, 2), (vec![3, 0], 6));
        assert_eq!(first(Some(0), true, 9), (vec![2, 4, 5, 0, 3, 1], 6));
        assert_eq!(first(Some(0), false, 9), (vec![3, 0, 5, 2, 4, 1], 6));
        assert_eq!(first(None, true, 2), (vec![0, 1], 6));
    }
}
