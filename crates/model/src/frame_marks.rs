//! Which marks are frames, judged by their names alone.

/// Why a mark's name is that of a frame; the surest comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FrameMarkKind {
    /// The name is `frame`, alone or with a number: `frame`, `Frame 12`, `frame#3`.
    Frame,
    /// The main thread of an Android app: `Choreographer#doFrame`.
    Choreographer,
    /// The name ends with the word frame: `DrawFrame`, `render frame 12`.
    Named,
    /// A display's refresh: `vsync`, `VSYNC-app`.
    Vsync,
    /// A picture was given to the display: `Present`, `vkQueuePresentKHR`.
    Present,
    /// The main thread of an app of Android 4.0 or earlier, which had no Choreographer: `performTraversals`.
    Traversal,
}

/// Words that make a mark one step of a frame, or a wait for one.
const STEPS: [&str; 17] = [
    "acquire", "begin", "cancel", "drop", "end", "fence", "next", "notify", "prepare", "queue", "request", "schedule",
    "skip", "start", "wait", "waiting", "wakeup",
];

/// Returns whether a mark looks like a frame, and the name that selects all marks like it (`--frames-of`): the name itself, or with a
/// `*` for the number that follows.
///
/// ```
/// use model::{FrameMarkKind, frame_mark};
///
/// assert_eq!(frame_mark("Frame 12"), Some((FrameMarkKind::Frame, "Frame *".to_owned())));
/// assert_eq!(frame_mark("Choreographer#doFrame").map(|(kind, _)| kind), Some(FrameMarkKind::Choreographer));
/// assert_eq!(frame_mark("framebuffer"), None, "another word");
/// ```
#[must_use]
pub fn frame_mark(name: &str) -> Option<(FrameMarkKind, String)> {
    let (base, numbered) = unnumbered(name);
    let words = words(base);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let has = |word| words.contains(&word);
    let kind = match words[..] {
        ["frame" | "frames"] => FrameMarkKind::Frame,
        ["choreographer", ..] if has("frame") => FrameMarkKind::Choreographer,
        ["perform", "traversals"] => FrameMarkKind::Traversal,
        // The queue to which Vulkan presents is no step before it.
        ["vk", "queue", "present", ..] => FrameMarkKind::Present,
        _ if words.iter().any(|word| STEPS.contains(word)) => return None,
        [.., "frame" | "frames"] => FrameMarkKind::Named,
        _ if has("vsync") => FrameMarkKind::Vsync,
        _ if has("present") => FrameMarkKind::Present,
        _ => return None,
    };
    Some((kind, if numbered { format!("{base}*") } else { name.to_owned() }))
}

/// Splits a name before its last number and what follows it, if the number begins a word: `Frame 12 (main)` is `Frame ` with a number.
fn unnumbered(name: &str) -> (&str, bool) {
    let digit = |c: char| c.is_ascii_digit();
    let first = name.char_indices().find(|(at, c)| {
        let before = name[..*at].chars().next_back();
        digit(*c)
            && before.is_some_and(|b| !digit(b) && !b.is_alphabetic() || name[..*at].to_lowercase().ends_with("frame"))
    });
    first.map_or((name, false), |(at, _)| (&name[..at], true))
}

/// The words of a name, in lower case: parts between other characters than letters, and at capitals after small letters.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for c in name.chars() {
        if !c.is_alphabetic() || (small && c.is_uppercase()) {
            words.push(String::new());
        }
        if c.is_alphabetic() {
            words.last_mut().into_iter().for_each(|word| word.extend(c.to_lowercase()));
        }
        small = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::FrameMarkKind::{Choreographer, Frame, Named, Present, Traversal, Vsync};
    use super::*;

    #[test]
    fn names_of_frames_in_the_field() {
        for (name, kind, pattern) in [
            ("frame", Frame, "frame"),
            ("FRAME", Frame, "FRAME"),
            ("Frame 12", Frame, "Frame *"),
            ("frame#3", Frame, "frame#*"),
            ("Frame12", Frame, "Frame*"),
            ("frame: 7 of game", Frame, "frame: *"),
            ("Choreographer#doFrame", Choreographer, "Choreographer#doFrame"),
            ("Choreographer#doFrame 1471", Choreographer, "Choreographer#doFrame *"),
            ("DrawFrame", Named, "DrawFrame"),
            ("DrawFrames 1471", Named, "DrawFrames *"),
            ("render_frame", Named, "render_frame"),
            ("VSYNC-app", Vsync, "VSYNC-app"),
            ("onVsync 5", Vsync, "onVsync *"),
            ("Present", Present, "Present"),
            ("vkQueuePresentKHR", Present, "vkQueuePresentKHR"),
            ("performTraversals", Traversal, "performTraversals"),
        ] {
            assert_eq!(frame_mark(name), Some((kind, pattern.to_owned())), "{name}");
        }
    }

    #[test]
    fn parts_of_frames_and_other_words_are_none() {
        for name in [
            "",
            "12",
            "framebuffer",
            "postFramebuffer",
            "syncFrameState",
            "notifyFramePending",
            "eglBeginFrame",
            "waiting for presentFence",
            "representation",
            "presenter",
            "request next vsync",
            "queueBuffer",
            "frame rate",
            "Choreographer#scheduleVsync",
        ] {
            assert_eq!(frame_mark(name), None, "{name}");
        }
    }
}
