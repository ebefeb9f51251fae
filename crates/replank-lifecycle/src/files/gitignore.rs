//! The rules of `.gitignore` (gitignore(5)): which paths git leaves out.

use std::path::Path;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    /// Between slashes; `**` stands for itself.
    segments: Vec<String>,
    /// Whether it takes back what lines before it leave out.
    takes_back: bool,
    /// Whether it is about directories alone.
    directories: bool,
    /// Whether it is about paths from the file's own directory, and not about names at any depth.
    anchored: bool,
}

/// The lines of one file, which are about what lies in or below its directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rules {
    patterns: Vec<Pattern>,
}

impl Rules {
    pub(super) fn read(text: &str) -> Self {
        Self { patterns: text.lines().filter_map(pattern).collect() }
    }

    /// What the rules say of a path relative to their directory: left out, taken back, or nothing.
    pub(super) fn say(&self, path: &Path, is_directory: bool) -> Option<Said> {
        let segments: Vec<String> =
            path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        let matching = self.patterns.iter().rev().find(|pattern| {
            (is_directory || !pattern.directories)
                && match (pattern.anchored, segments.last()) {
                    (true, _) => matches_path(&pattern.segments, &segments),
                    (false, Some(name)) => pattern.segments.iter().all(|segment| matches_name(segment, name)),
                    (false, None) => false,
                }
        })?;
        Some(if matching.takes_back { Said::TakenBack } else { Said::LeftOut })
    }
}

/// Whether a line would leave out a file, itself or by a directory above it.
pub(crate) fn is_below(line: &str, path: &Path) -> bool {
    let rules = Rules::read(line);
    let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    rules.say(path, false) == Some(Said::LeftOut)
        || above.into_iter().any(|above| rules.say(above, true) == Some(Said::LeftOut))
}

/// What rules say of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    LeftOut,
    TakenBack,
}

fn pattern(line: &str) -> Option<Pattern> {
    let mut text = line.trim_start_matches('\u{feff}').trim_end_matches('\r');
    // Blanks at the end count only behind a backslash.
    while text.ends_with(' ') && !text.ends_with("\\ ") {
        text = &text[..text.len() - 1];
    }
    if text.is_empty() || text.starts_with('#') {
        return None;
    }
    let takes_back = text.starts_with('!');
    let text = text.strip_prefix('!').unwrap_or(text);
    let directories = text.ends_with('/');
    let text = text.trim_end_matches('/');
    let anchored = text.contains('/');
    let segments: Vec<String> = text.trim_start_matches('/').split('/').map(str::to_owned).collect();
    (!text.is_empty()).then_some(Pattern { segments, takes_back, directories, anchored })
}

fn matches_path(pattern: &[String], path: &[String]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "**" => {
            // At the end it stands for everything within, and not for the directory itself.
            if rest.is_empty() {
                return !path.is_empty();
            }
            (0..=path.len()).any(|skipped| matches_path(rest, &path[skipped..]))
        }
        (Some((first, rest)), Some((name, below))) => matches_name(first, name) && matches_path(rest, below),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// A pattern without slashes: `*`, `?`, `[a-z]`, `[!a]`, `\x`.
pub fn matches_name(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    glob(&pattern, &name)
}

/// With one place to go back to: the last `*`.
fn glob(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => match class(&pattern[p..], name[n]) {
                Some((true, length)) => Some(length),
                Some((false, _)) => None,
                // Without an end it is a bracket like any other.
                None => (name[n] == '[').then_some(1),
            },
            Some('\\') => pattern.get(p + 1).filter(|&&escaped| escaped == name[n]).map(|_| 2),
            Some(&other) => (other == name[n]).then_some(1),
            None => None,
        };
        match (step, star) {
            (Some(length), _) => {
                p += length;
                n += 1;
            }
            (None, Some((at, from))) => {
                star = Some((at, from + 1));
                p = at + 1;
                n = from + 1;
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|&rest| rest == '*')
}

/// Whether a class, from its bracket on, has a character, and how long it is.
fn class(pattern: &[char], character: char) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let first = if negated { 2 } else { 1 };
    // A bracket that comes first is one of the characters.
    let end = first + 1 + pattern.get(first + 1..)?.iter().position(|&end| end == ']')?;
    let members = &pattern[first..end];
    let mut has = false;
    let mut at = 0;
    while at < members.len() {
        match members.get(at..at + 3) {
            Some([from, '-', to]) => {
                has |= (*from..=*to).contains(&character);
                at += 3;
            }
            Some(_) | None => {
                has |= members[at] == character;
                at += 1;
            }
        }
    }
    Some((has != negated, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(rules: &str, path: &str) -> bool {
        let rules = Rules::read(rules);
        let is_directory = path.ends_with('/');
        rules.say(Path::new(path.trim_end_matches('/')), is_directory) == Some(Said::LeftOut)
    }

    #[test]
    fn names_match_at_any_depth_and_paths_from_the_root() {
        assert!(left_out("*.tmp.yaml", "a/b/c.tmp.yaml"));
        assert!(left_out("/out", "out") && !left_out("/out", "a/out"));
        assert!(left_out("a/*.yaml", "a/b.yaml") && !left_out("a/*.yaml", "a/b/c.yaml"));
        assert!(left_out("**/gen/*.yaml", "x/y/gen/a.yaml") && left_out("**/gen", "gen"));
        assert!(left_out("a/**", "a/b/c") && !left_out("a/**", "a"));
        assert!(left_out("a/**/z", "a/z") && left_out("a/**/z", "a/b/c/z"));
    }

    #[test]
    fn a_slash_at_the_end_is_about_directories() {
        assert!(left_out("out/", "a/out/") && !left_out("out/", "a/out"));
    }

    #[test]
    fn the_last_line_that_matches_counts() {
        let rules = "*.yaml\n!keep.yaml\n# !a.yaml\n\\#b\ntrailing  \r\n";
        assert!(left_out(rules, "a.yaml") && !left_out(rules, "x/keep.yaml"));
        assert!(left_out(rules, "#b") && left_out(rules, "trailing"));
    }

    #[test]
    fn classes_and_escapes() {
        assert!(left_out("[a-c]?.y*l", "b1.yaml") && !left_out("[!a-c]?.yaml", "b1.yaml"));
        assert!(left_out("a\\*", "a*") && !left_out("a\\*", "ab"));
        assert!(left_out("[]x]", "]") && left_out("[x", "[x"));
    }
}
