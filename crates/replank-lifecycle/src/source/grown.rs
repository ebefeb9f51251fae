//! What is kept of a document that was read as a whole tree: the same as if it had been read for a scan alone.

use std::borrow::Cow;

use super::node::{At, Node, What};
use super::split::Part;
use super::want::{self, Want};
use crate::tree::{Entry, From, Origins, Style, Tree, What as Of};

/// What is kept of a tree. `None` where nodes are repeated: of those the places are others.
pub(super) fn node<'t>(
    text: &'t str,
    tree: &Tree,
    origins: &Origins,
    part: &Part,
    want: &'static Want,
) -> Option<Node<'t>> {
    let repeats = origins.nodes.iter().any(|node| node.style == Style::Alias)
        || origins.entries.iter().any(|entry| entry.merge);
    if repeats {
        return None;
    }
    let start = part.range.start;
    let mut reader = Reader { text, origins, line: part.line, line_start: start, counted: start };
    let want = if matches!(tree.what, Of::List(_)) { want::root_item() } else { want };
    reader.node(tree, want)
}

/// What is kept of a tree that no text says.
pub(super) fn unwritten(tree: &Tree, want: &'static Want) -> Node<'static> {
    let want = if matches!(tree.what, Of::List(_)) { want::root_item() } else { want };
    bare(tree, want)
}

fn bare(tree: &Tree, want: &'static Want) -> Node<'static> {
    let what = match &tree.what {
        _ if matches!(want, Want::Nothing) => What::Skipped,
        Of::Null => What::Null,
        Of::Bool(value) => What::Scalar(value.to_string().into()),
        Of::Number(value) => What::Scalar(value.to_string().into()),
        Of::Text(text) => What::Scalar((**text).to_owned().into()),
        Of::List(items) => What::List(items.iter().map(|item| bare(item, want.item())).collect()),
        Of::Map(entries) => {
            let kept = entries.iter().filter(|entry| !matches!(want.key(&entry.key), Want::Nothing));
            let of =
                |entry: &Entry| ((*entry.key).to_owned().into(), bare(&entry.value, want.key(&entry.key)));
            What::Map(kept.map(of).collect())
        }
    };
    Node { at: At::default(), what }
}

/// Counts lines from one place to the next.
struct Reader<'r, 't> {
    text: &'t str,
    origins: &'r Origins,
    line: u32,
    line_start: usize,
    counted: usize,
}

impl<'t> Reader<'_, 't> {
    /// Bytes of a text that come behind those asked for earlier.
    fn at(&mut self, start: usize, end: usize) -> At {
        let between = &self.text.as_bytes()[self.counted.min(start)..start];
        let newlines = between.iter().filter(|byte| **byte == b'\n').count();
        if newlines > 0 {
            self.line += u32::try_from(newlines).unwrap_or(u32::MAX);
            let last = between.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
            self.line_start = self.counted + last + 1;
        }
        self.counted = self.counted.max(start);
        let before = &self.text[self.line_start.min(start)..start];
        let column = before.trim_start_matches('\u{feff}').chars().count() + 1;
        At { line: self.line, column: u32::try_from(column).unwrap_or(u32::MAX), start, end }
    }

    fn node(&mut self, tree: &Tree, want: &'static Want) -> Option<Node<'t>> {
        if matches!(want, Want::Nothing) {
            return Some(Node { at: At::default(), what: What::Skipped });
        }
        let origin = &self.origins.nodes[tree.from?];
        let range = origin.range.clone();
        let at = self.at(range.start, range.end);
        let written = &self.text[range];
        let is_plain = origin.style == Style::Plain;
        let what = match &tree.what {
            Of::Null => What::Null,
            Of::Bool(_) | Of::Number(_) if is_plain => What::Scalar(Cow::Borrowed(written)),
            Of::Bool(value) => What::Scalar(value.to_string().into()),
            Of::Number(value) => What::Scalar(value.to_string().into()),
            Of::Text(text) if is_plain && **text == *written => What::Scalar(Cow::Borrowed(written)),
            Of::Text(text) => What::Scalar((**text).to_owned().into()),
            Of::List(items) => {
                let items: Option<Vec<_>> = items.iter().map(|item| self.node(item, want.item())).collect();
                What::List(items?)
            }
            Of::Map(entries) => {
                let mut kept = Vec::new();
                for entry in entries {
                    let key = self.key(entry)?;
                    let want = want.key(&key);
                    if !matches!(want, Want::Nothing) {
                        kept.push((key, self.node(&entry.value, want)?));
                    }
                }
                What::Map(kept)
            }
        };
        Some(Node { at, what })
    }

    /// A key as it is written: what `on` or `017` would mean is asked by nobody.
    fn key(&self, entry: &Entry) -> Option<Cow<'t, str>> {
        let From::Text(index) = entry.from else { return None };
        let at = &self.origins.entries[index];
        let written = &self.text[at.key.clone()];
        let is_plain = at.key_style == Style::Plain && !written.contains('\n');
        Some(if is_plain { Cow::Borrowed(written) } else { (*at.says).to_owned().into() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Ahead, Found, Way, read_ahead};
    use super::*;

    /// A node without ends, which trees know better.
    fn without_ends(node: &Node<'_>) -> String {
        let At { line, column, start, .. } = node.at;
        match &node.what {
            What::List(items) => {
                format!("{line}:{column}:{start}[{}]", items.iter().map(without_ends).collect::<String>())
            }
            What::Map(entries) => {
                let entries = entries.iter().map(|(key, node)| format!("{key}: {}", without_ends(node)));
                format!("{line}:{column}:{start}{{{}}}", entries.collect::<String>())
            }
            what @ (What::Null | What::Scalar(_) | What::Skipped) => {
                format!("{line}:{column}:{start} {what:?},")
            }
        }
    }

    /// What is kept of a text's documents, and how many of them were read as trees.
    fn kept(text: &str, wanted: bool) -> (Vec<String>, usize) {
        let (mut all, mut grown) = (Vec::new(), 0);
        let way = |_: &Ahead<'_>| if wanted { Way::Grow } else { Way::Scan };
        read_ahead(&Arc::from("x"), text, &way, &mut |found, tree| {
            grown += usize::from(tree.is_some());
            all.push(match found {
                Found::Document(document) => {
                    format!("{:?} {} {}", document.range, document.line, without_ends(&document.root))
                }
                Found::Unread(unread) => format!("{unread:?}"),
                Found::Template { line, .. } => format!("template {line}"),
            });
        });
        (all, grown)
    }

    #[test]
    fn a_tree_keeps_what_a_scan_keeps() {
        for (text, trees) in [
            (
                "\u{feff}# c\n---\napiVersion: v1\nkind: A\nmetadata:\n  name: ä\n  labels: {ü: 1, on: yes, 'q': \"\\x41\"}\n",
                1,
            ),
            (
                "kind: List\nitems:\n- apiVersion: 1.10\n  kind: ~\n-\n- {kind: B, metadata: {name: }}\n---\n- kind: C\n",
                2,
            ),
            (
                "apiVersion: v1\r\nkind: 'A'\r\nrules:\r\n- apiGroups:\r\n  - \"\"\r\n  verbs: [get, 017, 0x1]\r\n",
                1,
            ),
            (
                "kind: >-\n  A\n  b\nspec:\n  scaleTargetRef:\n    kind: x\n     y\n  other: |\n   text\nmetadata: &a\n  name: !!str 1\n",
                1,
            ),
            ("kind: &k A\napiVersion: v1\nmetadata: {name: *k}\n", 0),
            ("a: &b {kind: x}\n<<: *b\n", 0),
            ("kind: A\nkind: B\n", 0),
            ("{\"kind\": \"A\"}\n", 0),
            ("kind: {{ .x }}\n---\nkind: [\n", 0),
        ] {
            let (plain, _) = kept(text, false);
            assert_eq!(kept(text, true), (plain, trees), "{text}");
        }
    }

    #[test]
    fn of_a_tree_without_a_text_the_same_is_kept() {
        let text =
            "kind: List\nitems: [{apiVersion: v1, kind: A, spec: {replicas: 3, targetRef: {kind: x}}}]\n";
        read_ahead(&Arc::from("x"), text, &|_| Way::Grow, &mut |found, tree| {
            let (Found::Document(document), Some((tree, _))) = (found, tree) else { panic!("{text}") };
            let places = |text: String| {
                text.split(['{', '['])
                    .map(|part| part.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':').to_owned())
                    .collect::<String>()
            };
            let bare = unwritten(&tree, &super::super::OBJECT);
            let values = |node: &Node<'_>| {
                places(without_ends(node)).replace(|c: char| c.is_ascii_digit() || c == ':', "")
            };
            assert_eq!(values(&bare), values(&document.root));
        });
    }
}
