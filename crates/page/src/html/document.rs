//! A complete page around its content: style, policy, and definitions that pictures use.

use super::escape::escaped;
use std::fmt::Write as _;

/// A style sheet or a script that is written into a page.
#[derive(Clone, Copy, Debug)]
pub struct Inline {
    /// Its text. It is written as it is.
    pub text: &'static str,
    /// The SHA-256 of the text in Base64, by which the page's policy allows it.
    pub sha256: &'static str,
}

/// The style sheet of every page.
pub const STYLE: Inline =
    Inline { text: include_str!("page.css"), sha256: "8UXSvmysS1DiSMu5OfbwwxX9dKWR+OuXmzPSH+3kG/M=" };

/// A page. It is also valid XML, loads nothing, and allows only its own styles and script.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// The title, not escaped.
    pub title: &'a str,
    /// What it is, for the title: `report`.
    pub kind: &'a str,
    /// Styles after [`STYLE`].
    pub styles: &'a [Inline],
    /// The script, if it has one.
    pub script: Option<Inline>,
    /// The content of `body`, as valid XML.
    pub body: &'a str,
}

impl Document<'_> {
    /// Writes the page.
    #[must_use]
    pub fn html(&self) -> String {
        let styles = || std::iter::once(&STYLE).chain(self.styles);
        let allowed = styles().map(|style| format!(" 'sha256-{}'", style.sha256)).collect::<String>();
        let script = self.script.map_or_else(String::new, |it| format!("script-src 'sha256-{}'; ", it.sha256));
        let mut html = format!(
            "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src{allowed}; \
             {script}base-uri 'none'; form-action 'none'\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <meta name=\"color-scheme\" content=\"light dark\"/>\n\
             <meta name=\"generator\" content=\"corewise {}\"/>\n\
             <title>{} – corewise {}</title>\n",
            env!("CARGO_PKG_VERSION"),
            escaped(self.title),
            escaped(self.kind),
        );
        styles().for_each(|style| {
            let _ = writeln!(html, "<style>{}</style>", style.text);
        });
        let _ = write!(html, "</head>\n<body>\n{HATCH}\n{}", self.body);
        if let Some(script) = self.script {
            let _ = writeln!(html, "<script>{}</script>", script.text);
        }
        html.push_str("</body>\n</html>\n");
        html
    }
}

/// The fill of unknown time.
const HATCH: &str = "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\" xmlns=\"http://www.w3.org/2000/svg\">\
<defs><pattern id=\"hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<rect class=\"hatch-ground\" width=\"5\" height=\"5\"/><rect class=\"hatch-line\" width=\"2\" height=\"5\"/></pattern></defs></svg>";
