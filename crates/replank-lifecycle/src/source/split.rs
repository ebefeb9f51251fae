//! Where one document of a text ends and the next begins.
//!
//! A line that begins with `---` or `...` and then has a blank or nothing is a marker wherever it stands: YAML lets no
//! scalar hold such a line. `-----BEGIN` is none, and neither is an indented one.

use std::ops::Range;

/// One part of a text, between markers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Its bytes, from the start of a line. The `---` before it is in it, since content may stand on that line.
    pub(super) range: Range<usize>,
    /// The line it begins on, from 1.
    pub(super) line: u32,
}

/// Goes through a text, part by part.
pub(super) struct Parts<'t> {
    text: &'t str,
    at: usize,
    line: u32,
}

impl<'t> Parts<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self { text, at, line: 1 }
    }
}

impl Iterator for Parts<'_> {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        let bytes = self.text.as_bytes();
        if self.at >= bytes.len() {
            return None;
        }
        let (start, line) = (self.at, self.line);
        // Directives stand before the marker of their own document.
        let mut directives = bytes[start] == b'%';
        let mut at = start;
        loop {
            let rest = &bytes[at..];
            let length =
                rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |newline| newline + 1);
            at += length;
            self.line += u32::from(rest[..length].ends_with(b"\n"));
            match bytes.get(at) {
                None => break,
                Some(b'-') if directives && is_marker(&bytes[at..], b"---") => directives = false,
                Some(b'-') if is_marker(&bytes[at..], b"---") => break,
                Some(b'.') if is_marker(&bytes[at..], b"...") => break,
                // A file with a byte order mark, put behind another one.
                Some(0xef) if self.text[at..].starts_with("\u{feff}---") => break,
                Some(b'%' | b'#' | b'\n' | b'\r') => {}
                Some(_) => directives = false,
            }
        }
        self.at = at;
        Some(Part { range: start..at, line })
    }
}

/// Whether a line begins with a marker.
pub(super) fn is_marker(line: &[u8], marker: &[u8]) -> bool {
    line.starts_with(marker) && matches!(line.get(marker.len()), None | Some(b' ' | b'\t' | b'\r' | b'\n'))
}

/// Where the content of a part begins: past its markers, blank lines and comments. `None` where there is none.
pub(super) fn content(text: &str, range: Range<usize>) -> Option<usize> {
    let mut at = range.start;
    loop {
        let rest = &text[at..range.end];
        let trimmed = rest.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        at = range.end - trimmed.len();
        let bytes = trimmed.as_bytes();
        let at_line_start = at == range.start || matches!(text.as_bytes()[at - 1], b'\n' | 0xbf);
        if bytes.is_empty() {
            return None;
        } else if at_line_start && (is_marker(bytes, b"---") || is_marker(bytes, b"...")) {
            at += 3;
        } else if bytes[0] == b'#' {
            at += trimmed.find('\n').unwrap_or(trimmed.len());
        } else {
            return Some(at);
        }
    }
}

/// Whether what begins here is JSON rather than YAML's own flow notation.
pub(crate) fn is_json(text: &str) -> bool {
    let mut rest = text.trim_start();
    while let Some(inner) = rest.strip_prefix('[') {
        rest = inner.trim_start();
    }
    match rest.strip_prefix('{') {
        Some(inner) => inner.trim_start().starts_with(['"', '}']),
        None => text.trim_start().starts_with('[') && rest.starts_with(']'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<(&str, u32)> {
        Parts::new(text).map(|part| (&text[part.range], part.line)).collect()
    }

    #[test]
    fn only_a_marker_of_its_own_ends_a_document() {
        assert_eq!(parts("a: 1\n---\nb: 2\n---"), [("a: 1\n", 1), ("---\nb: 2\n", 2), ("---", 4)]);
        assert_eq!(parts("a: |\n  ---\n  x\nb: -----BEGIN X-----\n-----END\n").len(), 1);
        assert_eq!(parts("a: 1\r\n---\r\nb: 2\r\n"), [("a: 1\r\n", 1), ("---\r\nb: 2\r\n", 2)]);
        assert_eq!(parts("a: 1\n...\nb: 2\n").len(), 2);
        assert_eq!(
            parts("--- {a: 1}\n--- # c\n\u{feff}---\n"),
            [("--- {a: 1}\n", 1), ("--- # c\n", 2), ("\u{feff}---\n", 3)]
        );
    }

    #[test]
    fn directives_belong_to_the_document_behind_them() {
        assert_eq!(parts("%YAML 1.2\n# why\n---\na: 1\n---\nb: 2\n").len(), 2);
    }

    #[test]
    fn content_begins_behind_markers_and_comments() {
        let begins = |text: &str| content(text, 0..text.len());
        assert_eq!(begins("--- # c\n# d\n\n  a: 1"), Some(15));
        assert_eq!(begins("---\n...\n# x"), None);
        assert_eq!(begins("\u{feff}---\na"), Some(7));
        assert_eq!(begins("--- {a: 1}"), Some(4));
    }

    #[test]
    fn json_is_told_from_flow_notation() {
        assert!(is_json(" {\n \"a\": 1}") && is_json("[{\"a\": 1}]") && is_json("{}") && is_json("[]"));
        assert!(!is_json("{a: 1}") && !is_json("{{ x }}") && !is_json("a: 1"));
    }
}
