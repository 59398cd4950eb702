//! A heat map of counts from each row to each column.

use super::escaped;
use crate::picture::Matrix;
use model::words::grouped;
use std::fmt::Write as _;

/// The number of shades, by the share of the largest cell.
const SHADES: i64 = 5;
/// If there are more rows, only every n-th is labelled.
const NAMED: usize = 16;
/// The size of a cell, and of the margin for labels.
const CELL: usize = 20;
const ROOM: usize = 26;

pub fn write(html: &mut String, of: &Matrix) {
    let max_count = of.cells.iter().flatten().copied().max().unwrap_or(0);
    if max_count <= 0 {
        return;
    }
    let (title, size) = (escaped(&of.title), of.labels.len() * CELL + ROOM);
    let _ = writeln!(
        html,
        "<figure>\n<figcaption>{title}</figcaption>\n<svg class=\"matrix\" viewBox=\"0 0 {size} {size}\" role=\"img\" \
         xmlns=\"http://www.w3.org/2000/svg\"><title>{title}</title><desc>Darker cells have higher counts, up to {}.</desc>",
        grouped(max_count)
    );
    let every = of.labels.len().div_ceil(NAMED);
    for (at, label) in of.labels.iter().enumerate().step_by(every.max(1)) {
        let (label, middle) = (escaped(label), ROOM + at * CELL + CELL / 2);
        let _ = writeln!(html, "<text class=\"row\" x=\"{}\" y=\"{}\">{label}</text>", ROOM - 5, middle + 4);
        let _ = writeln!(html, "<text class=\"col\" x=\"{middle}\" y=\"{}\">{label}</text>", ROOM - 8);
    }
    for (row, cells) in of.cells.iter().enumerate() {
        for (col, count) in cells.iter().enumerate() {
            let class = if *count > 0 { format!("heat-{}", shade(*count, max_count)) } else { "ground".to_owned() };
            let (x, y, size) = (ROOM + col * CELL, ROOM + row * CELL, CELL - 1);
            let _ = write!(html, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{size}\" height=\"{size}\"");
            let _ = match (count, of.labels.get(row), of.labels.get(col)) {
                (1.., Some(from), Some(to)) => {
                    writeln!(html, "><title>{} to {}: {}</title></rect>", escaped(from), escaped(to), grouped(*count))
                }
                _ => writeln!(html, "/>"),
            };
        }
    }
    html.push_str("</svg>\n</figure>\n");
}

/// The shade of a count: 1 for the lowest, to [`SHADES`] for the highest.
fn shade(count: i64, max_count: i64) -> i64 {
    let part = (i128::from(count) * i128::from(SHADES) + i128::from(max_count) - 1) / i128::from(max_count.max(1));
    (part as i64).clamp(1, SHADES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_shaded_by_their_share_of_the_largest() {
        assert_eq!([1, 20, 21, 80, 81, 100].map(|count| shade(count, 100)), [1, 1, 2, 4, 5, 5]);
        assert_eq!(shade(i64::MAX, i64::MAX), 5);
        let labels = vec!["0".to_owned(), "<1>".to_owned()];
        let mut html = String::new();
        write(&mut html, &Matrix { title: "Moves".to_owned(), labels, cells: vec![vec![0, 7], vec![0, 0]] });
        assert!(html.contains("0 to &lt;1&gt;: 7") && !html.contains("<1>"), "{html}");
        assert_eq!(html.matches("class=\"ground\"").count(), 3);
    }
}
