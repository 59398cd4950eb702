//! Text in lines.

use model::words::TIE;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Breaks text at its spaces into lines of at most `width` columns, which begin with `first` and then with `rest`. Words are not
/// divided, so a long one makes a longer line. No-break spaces are kept together, and become spaces.
///
/// ```
/// use page::wrapped;
///
/// assert_eq!(wrapped("one two three", 9, "- ", "  "), ["- one two", "  three"]);
/// assert_eq!(wrapped("one 2\u{a0}ms", 8, "", ""), ["one 2 ms"]);
/// ```
#[must_use]
pub fn wrapped(words: &str, width: usize, first: &str, rest: &str) -> Vec<String> {
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .break_words(false);
    textwrap::wrap(words, options).iter().map(|line| line.replace(TIE, " ")).collect()
}
