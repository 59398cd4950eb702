//! Changes a command: variables that it sets itself, and options for the number of workers, also in the script of a shell (`sh -c SCRIPT`).
//!
//! A script is changed word by word, and nothing else of it: where quotes or expansions hide a word, it stays as it is. What is changed is shown before
//! it runs.

use crate::workers::{base_name, with_workers};

const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];
/// Words before the name of a program.
const BEFORE: [&str; 5] = ["exec", "time", "env", "nohup", "then"];

/// Returns a command that sets these variables instead of other values of its own, and has this number of workers; `None` if nothing changes.
pub(crate) fn changed(command: &[String], variables: &[(&str, String)], workers: Option<u32>) -> Option<Vec<String>> {
    let mut words = command.to_vec();
    match script_of(&words) {
        Some(at) => words[at] = changed_script(&words[at], variables, workers),
        None => {
            words.iter_mut().for_each(|word| assign(word, variables));
            let first = command.iter().position(|word| !is_before(word)).unwrap_or(0);
            if let Some(with) = workers.and_then(|workers| with_workers(&words[first..], workers)) {
                words.splice(first.., with);
            }
        }
    }
    (words != command).then_some(words)
}

/// The place of the script in `sh -c SCRIPT`.
fn script_of(words: &[String]) -> Option<usize> {
    let shell = words.iter().position(|word| SHELLS.contains(&base_name(word)))?;
    let option = words[shell..].iter().position(|word| word.starts_with('-') && word.ends_with('c'))?;
    (shell + option + 1 < words.len()).then_some(shell + option + 1)
}

/// Whether a word stands before a program's name: an assignment, or a word of the shell.
fn is_before(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    let is_assignment = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_assignment || BEFORE.contains(&word)
}

/// Replaces the value of an assignment to one of the variables.
fn assign(word: &mut String, variables: &[(&str, String)]) {
    let value = |(name, value): &(&str, String)| {
        word.strip_prefix(name)?.strip_prefix('=')?;
        Some(format!("{name}={value}"))
    };
    if let Some(with) = variables.iter().find_map(value) {
        *word = with;
    }
}

fn changed_script(script: &str, variables: &[(&str, String)], workers: Option<u32>) -> String {
    let ends_command = |c: char| ";|&\n(){}".contains(c);
    let mut out = String::new();
    for segment in script.split_inclusive(ends_command) {
        let (text, end) = match segment.char_indices().last() {
            Some((at, last)) if ends_command(last) => segment.split_at(at),
            _ => (segment, ""),
        };
        // Words and the spaces between them, in turn: the spaces stay as they are.
        let mut parts: Vec<String> = Vec::new();
        for c in text.chars() {
            let is_space = c.is_whitespace();
            match parts.last_mut().filter(|last| last.starts_with(char::is_whitespace) == is_space) {
                Some(last) => last.push(c),
                None => parts.push(c.to_string()),
            }
        }
        let is_word = |part: &String| !part.starts_with(char::is_whitespace);
        parts.iter_mut().filter(|part| is_word(part)).for_each(|word| assign(word, variables));
        let places: Vec<usize> = (0..parts.len()).filter(|at| is_word(&parts[*at])).collect();
        let first = places.iter().position(|at| !is_before(&parts[*at]));
        if let Some((first, workers)) = first.zip(workers) {
            let words: Vec<String> = places[first..].iter().map(|at| parts[*at].clone()).collect();
            if let Some(with) = with_workers(&words, workers) {
                put(&mut parts, &places[first..], &words, &with);
            }
        }
        out.extend(parts);
        out.push_str(end);
    }
    out
}

/// Puts changed words at their places; a word that was added stands after the one before it.
fn put(parts: &mut [String], places: &[usize], words: &[String], with: &[String]) {
    let added = with.len() - words.len();
    let at = words.iter().zip(with).position(|(a, b)| a != b).unwrap_or(words.len());
    for (n, place) in places.iter().enumerate() {
        parts[*place] = if added == 0 || n < at { with[n].clone() } else { with[n + added].clone() };
    }
    if added > 0 && at > 0 {
        let joined = with[at..at + added].join(" ");
        let before = &mut parts[places[at - 1]];
        *before = format!("{before} {joined}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str], workers: Option<u32>) -> Option<String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let variables = [("OMP_NUM_THREADS", "2".to_owned()), ("OMP_WAIT_POLICY", "passive".to_owned())];
        Some(changed(&words, &variables, workers)?.last()?.clone())
    }

    #[test]
    fn scripts_of_shells_are_changed_word_by_word() {
        for (script, with) in [
            ("cd a; xz -T1 -k 'my file' > /dev/null", "cd a; xz -T2 -k 'my file' > /dev/null"),
            ("OMP_NUM_THREADS=8  ./x && make", "OMP_NUM_THREADS=2  ./x && make -j2"),
            ("export OMP_WAIT_POLICY=active\n./x", "export OMP_WAIT_POLICY=passive\n./x"),
            ("exec ffmpeg -i a b", "exec ffmpeg -threads 2 -i a b"),
            ("for f in *; do make -j9 $f; done", "for f in *; do make -j9 $f; done"),
        ] {
            let found = of(&["bash", "-c", script], Some(2));
            assert_eq!(found.as_deref().unwrap_or(script), with);
        }
        assert_eq!(of(&["bash", "-c", "echo make"], Some(2)), None);
    }

    #[test]
    fn commands_without_a_shell_are_changed_too() {
        assert_eq!(of(&["env", "OMP_NUM_THREADS=8"], None).as_deref(), Some("OMP_NUM_THREADS=2"));
        assert_eq!(of(&["nohup", "make", "-j8"], Some(2)).as_deref(), Some("-j2"));
        assert_eq!(of(&["./game", "-j8"], Some(2)), None);
    }
}
