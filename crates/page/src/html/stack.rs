//! Stacked shares of a whole over time.

use super::{axis, escaped, legend};
use crate::picture::{Stack, Tone};
use model::Ns;
use model::words::time;
use std::fmt::Write as _;

/// The picture's height in pixels; in its own units the whole is 1 high.
const HEIGHT: usize = 160;

pub fn write(html: &mut String, of: &Stack) {
    let columns = of.parts.len();
    if columns == 0 {
        return;
    }
    let title = escaped(&of.title);
    let _ = write!(html, "<figure>\n<figcaption>{title}</figcaption>\n");
    legend(html, of.legend.iter().map(|(tone, words)| (class(*tone), words.as_str())));
    let _ = writeln!(
        html,
        "<div class=\"stack\"><svg width=\"100%\" height=\"{HEIGHT}\" viewBox=\"0 0 {columns} 1\" preserveAspectRatio=\"none\" \
         role=\"img\" xmlns=\"http://www.w3.org/2000/svg\"><title>{title}</title><desc>{columns} parts of {} each, from left to \
         right; the table that follows has the numbers.</desc>",
        time((Ns(of.end_ns) - Ns(of.begin_ns)) / columns as i64),
    );
    let _ = writeln!(html, "<rect class=\"ground\" width=\"{columns}\" height=\"1\"/>");
    for (layer, (tone, _)) in of.legend.iter().enumerate() {
        let mut path = String::new();
        for (column, shares) in of.parts.iter().enumerate() {
            // From the bottom up, in the order of the legend; anything above 1 is cut off.
            let below = shares.iter().take(layer).sum::<f64>().clamp(0.0, 1.0);
            let height = shares.get(layer).map_or(0.0, |share| share.clamp(0.0, 1.0 - below));
            if height > 0.0 {
                let _ = write!(path, "M{column} {:.4}h1v{height:.4}h-1z", 1.0 - below - height);
            }
        }
        if !path.is_empty() {
            let _ = writeln!(html, "<path class=\"{}\" d=\"{path}\"/>", class(*tone));
        }
    }
    html.push_str("</svg>\n");
    axis(html, of.begin_ns, of.end_ns);
    html.push_str("</div>\n</figure>\n");
}

/// The class of a layer. The hatch pattern would be distorted, as the picture's units are not pixels.
fn class(tone: Tone) -> &'static str {
    if tone == Tone::Unknown { "blank" } else { tone.class() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_stacked_and_none_exceeds_the_picture() {
        let legend = vec![(Tone::Blue, "normal".to_owned()), (Tone::Idle, "idle".to_owned())];
        let parts = vec![vec![0.25, 0.75], vec![0.0, 0.0], vec![3.0, 1.0]];
        let mut html = String::new();
        write(&mut html, &Stack { title: "<T>".to_owned(), legend, begin_ns: 0, end_ns: 30, parts });
        assert!(html.contains("class=\"blue\" d=\"M0 0.7500h1v0.2500h-1zM2 0.0000h1v1.0000h-1z\""), "{html}");
        assert!(html.contains("class=\"idle\" d=\"M0 0.0000h1v0.7500h-1z\""), "{html}");
        assert!(html.contains("&lt;T&gt;") && !html.contains("<T>"), "{html}");
    }
}
