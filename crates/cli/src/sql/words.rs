//! The words of a query: which tables it may name, and where it ends.

use model::{TableDef, tables};
use std::collections::BTreeSet;

/// The view with one row for each recording.
pub const TRACES: &str = "traces";

/// Functions and statements that list tables or columns: all views must exist for them.
const LISTS: [&str; 6] =
    ["show", "information_schema", "duckdb_tables", "duckdb_views", "duckdb_columns", "pg_catalog"];

/// Returns the words of a query in lower case: names, also quoted ones, and the words in its texts.
fn words(query: &str) -> BTreeSet<String> {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    query.split(|c| !is_of_word(c)).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// The tables that a query may name. A word that is a table's name counts wherever it is: making one table too many costs only time.
pub fn tables_named(query: &str) -> Vec<&'static TableDef> {
    let words = words(query);
    tables::ALL.iter().copied().filter(|def| words.contains(def.name)).collect()
}

/// Whether a query may name a table.
pub fn names_table(query: &str, name: &str) -> bool {
    words(query).contains(name)
}

/// Whether a query may list the tables or their columns.
pub fn lists_tables(query: &str) -> bool {
    let words = words(query);
    LISTS.iter().any(|word| words.contains(*word))
}

/// Whether an argument is a query rather than a path: its first word begins a statement, or it has the word `from` in it.
pub fn is_query(argument: &str) -> bool {
    const FIRST: [&str; 20] = [
        "select",
        "with",
        "from",
        "describe",
        "desc",
        "show",
        "summarize",
        "explain",
        "values",
        "drop",
        "create",
        "insert",
        "update",
        "delete",
        "alter",
        "attach",
        "copy",
        "pragma",
        "install",
        "load",
    ];
    let argument = argument.trim_start().trim_start_matches('(').to_lowercase();
    let first: String = argument.chars().take_while(char::is_ascii_alphabetic).collect();
    let rest = &argument[first.len()..];
    let begins = rest.starts_with(|c: char| c.is_whitespace() || "('\"*;".contains(c));
    begins && (FIRST.contains(&first.as_str()) || rest.split_whitespace().any(|word| word == "from"))
}

/// Splits what was typed into complete statements and the rest; a semicolon in a text, a quoted name or a comment ends none.
pub fn statements(text: &str) -> (Vec<&str>, &str) {
    let (mut complete, mut begin, mut at) = (Vec::new(), 0, 0);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let skipped = match c {
            '\'' | '"' => rest[1..].find(c).map_or(rest.len(), |end| end + 2),
            '-' if rest.starts_with("--") => rest.find('\n').map_or(rest.len(), |end| end + 1),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ => c.len_utf8(),
        };
        at += skipped;
        if c == ';' {
            complete.push(text[begin..at - 1].trim());
            begin = at;
        }
    }
    complete.retain(|statement| !statement.is_empty());
    (complete, &text[begin..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_wherever_a_query_names_them() {
        let names = |query: &str| tables_named(query).iter().map(|def| def.name).collect::<Vec<_>>();
        assert_eq!(names("SELECT * FROM Threads JOIN \"cpus\" USING (trace)"), ["threads", "cpus"]);
        assert_eq!(names("SELECT threads.tid FROM thread_state AS threads"), ["threads", "thread_state"]);
        assert!(names("SELECT thread_states, xthreads FROM traces").is_empty());
        assert!(lists_tables("show tables") && lists_tables("FROM duckdb_columns()") && !lists_tables("SELECT 1"));
    }

    #[test]
    fn queries_are_distinguished_from_paths() {
        for query in
            ["SELECT 1", "select\n1", "FROM threads", "(SELECT 1)", "DROP TABLE threads", "selec * from threads"]
        {
            assert!(is_query(query), "{query}");
        }
        for path in ["run.cw", "runs/*.cw", "my run.cw/x", "select.cw", "-", "from"] {
            assert!(!is_query(path), "{path}");
        }
    }

    #[test]
    fn statements_end_with_a_semicolon_outside_of_texts() {
        assert_eq!(statements("SELECT ';'; SELECT 2"), (vec!["SELECT ';'"], " SELECT 2"));
        assert_eq!(
            statements("SELECT \"a;\" -- x;\n; /* ; */ SELECT 'it''s;';;"),
            (vec!["SELECT \"a;\" -- x;", "/* ; */ SELECT 'it''s;'"], "")
        );
        assert_eq!(statements("SELECT 'ä;"), (vec![], "SELECT 'ä;"));
    }
}
