//! YAML to JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use granit_parser::{Event, Options, Parser, ScalarStyle};
use replank_intake::scalar;
use serde_json::{Map, Value};

/// How deep values may be nested.
const DEPTH_MAX: usize = 200;
/// Bytes that aliases may add: a few of them, each of all that is before it, would fill the memory.
const ALIASES_MAX: usize = 1024 * 1024;

/// The first document of a text, and the members that stand twice in their object: the line of the value, and the key.
///
/// # Errors
/// What keeps it from being read.
pub(in crate::wire) fn read(text: &str) -> Result<(Value, Vec<(usize, String)>), String> {
    let mut options = Options::default();
    options.flow_nesting_limit = DEPTH_MAX;
    options.block_nesting_limit = DEPTH_MAX;
    options.emit_comments = false;
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| format!("yaml: {}", unfinished(text, &error.info())))?;
        builder.line = span.start.line();
        if !builder.event(event)? {
            break;
        }
    }
    Ok((builder.whole.unwrap_or_default(), builder.duplicates))
}

/// A list or mapping in brackets that ends with the text, in libyaml's words.
fn unfinished(text: &str, info: &str) -> String {
    if !info.starts_with("unclosed bracket") {
        return info.to_owned();
    }
    let line = text.lines().count();
    let what = match text.trim_end().chars().next_back() {
        Some('[' | '{' | ',') => "node content",
        Some(_) | None if info.contains('{') => "',' or '}'",
        Some(_) | None => "',' or ']'",
    };
    format!("line {line}: did not find expected {what}")
}

/// A list or mapping that is being read.
struct Frame {
    anchor: usize,
    /// Where it begins.
    line: usize,
    kind: FrameKind,
}

enum FrameKind {
    List(Vec<Value>),
    /// Members, what is merged in, and the key whose value comes next.
    Map(Map<String, Value>, Vec<Value>, Option<Key>),
}

/// A key: of a member, or `<<` without quotes.
enum Key {
    Member(String),
    Merge,
}

#[derive(Default)]
struct Builder {
    stack: Vec<Frame>,
    anchors: BTreeMap<usize, Value>,
    alias_bytes: usize,
    duplicates: Vec<(usize, String)>,
    /// Where the value begins that is complete next.
    line: usize,
    /// Where the latest key stands.
    key_line: usize,
    whole: Option<Value>,
}

/// A scalar or a whole list or mapping.
enum Node<'a> {
    /// A scalar without quotes.
    Plain(Cow<'a, str>),
    Value(Value),
}

impl Builder {
    /// Takes in an event; false at the end of the first document.
    #[expect(clippy::wildcard_enum_match_arm, reason = "granit's events are not exhaustive")]
    fn event(&mut self, event: Event<'_>) -> Result<bool, String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
                    // A block begins with its sign, which stands behind the key.
                    self.line = self.key_line;
                }
                let is_plain = style == ScalarStyle::Plain && tag.is_none();
                let node = if is_plain { Node::Plain(text) } else { Node::Value(text.into_owned().into()) };
                self.complete(anchor, node)?;
            }
            Event::SequenceStart(_, anchor, _) => self.open(anchor, FrameKind::List(Vec::new()))?,
            Event::MappingStart(_, anchor, _) => {
                self.open(anchor, FrameKind::Map(Map::new(), Vec::new(), None))?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned().unwrap_or_default();
                self.alias_bytes += value.to_string().len();
                if self.alias_bytes > ALIASES_MAX {
                    return Err("yaml: document contains excessive aliasing".to_owned());
                }
                self.complete(0, Node::Value(value))?;
            }
            Event::DocumentEnd => return Ok(false),
            _ => {}
        }
        Ok(true)
    }

    fn open(&mut self, anchor: usize, kind: FrameKind) -> Result<(), String> {
        if let Some(Frame { kind: FrameKind::Map(_, _, None), .. }) = self.stack.last() {
            return Err("yaml: invalid map key".to_owned());
        }
        if self.stack.len() >= DEPTH_MAX {
            return Err("yaml: exceeded max depth".to_owned());
        }
        self.stack.push(Frame { anchor, line: self.line, kind });
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(Frame { anchor, line, kind }) = self.stack.pop() else { return Ok(()) };
        self.line = line;
        let value = match kind {
            FrameKind::List(items) => Value::Array(items),
            FrameKind::Map(mut members, merged, _) => {
                let merged = merged.into_iter().flat_map(|one| match one {
                    Value::Array(items) => items,
                    other @ (Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Object(_)) => vec![other],
                });
                for (key, value) in merged.filter_map(|one| one.as_object().cloned()).flatten() {
                    members.entry(key).or_insert(value);
                }
                Value::Object(members)
            }
        };
        self.complete(anchor, Node::Value(value))
    }

    fn complete(&mut self, anchor: usize, node: Node<'_>) -> Result<(), String> {
        if let Some(Frame { kind: FrameKind::Map(_, _, pending @ None), .. }) = self.stack.last_mut() {
            let key = match &node {
                Node::Plain(text) if text == "<<" => Some(Key::Merge),
                Node::Plain(text) => scalar::key(text).map(Key::Member),
                Node::Value(Value::String(text)) => Some(Key::Member(text.clone())),
                Node::Value(_) => None,
            };
            self.key_line = self.line;
            *pending = Some(key.ok_or("yaml: invalid map key")?);
            return Ok(());
        }
        let value = match node {
            Node::Plain(text) => scalar::value(&text).ok_or("json: unsupported value: NaN or Inf")?,
            Node::Value(value) => value,
        };
        if anchor != 0 {
            self.anchors.insert(anchor, value.clone());
        }
        if let Some(key) = self.duplicate().filter(|_| self.duplicates.len() < 100) {
            self.duplicates.push((self.line, key));
        }
        match self.stack.last_mut().map(|frame| &mut frame.kind) {
            None => self.whole = Some(value),
            Some(FrameKind::List(items)) => items.push(value),
            Some(FrameKind::Map(members, merged, pending)) => match pending.take() {
                Some(Key::Member(key)) => drop(members.insert(key, value)),
                Some(Key::Merge) | None => merged.push(value),
            },
        }
        Ok(())
    }

    /// The key of the value that is complete, if it is there already.
    fn duplicate(&self) -> Option<String> {
        match self.stack.last().map(|frame| &frame.kind) {
            Some(FrameKind::Map(members, _, Some(Key::Member(key)))) => {
                members.contains_key(key).then(|| key.clone())
            }
            Some(FrameKind::Map(..) | FrameKind::List(_)) | None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_manifest_is_read_as_kubectl_reads_it() {
        let text = "a: &x {m: 017, on: yes}\nb:\n- *x\n- <<: *x\n  m: 2\nc: \"1\"\nc: |\n  two\n---\nd: 1\n";
        let (value, duplicates) = read(text).expect("it is YAML");
        let first = json!({"m": 15, "true": true});
        assert_eq!(value, json!({"a": first, "b": [first, {"m": 2, "true": true}], "c": "two\n"}));
        assert_eq!(duplicates, [(7, "c".to_owned())]);
        assert_eq!(read("").map(|read| read.0), Ok(Value::Null));
    }

    #[test]
    fn what_ends_too_early_is_told_as_libyaml_tells_it() {
        let why = |text: &str| read(text).expect_err("it is unfinished");
        assert_eq!(why("a: b\nc: ["), "yaml: line 2: did not find expected node content");
        assert_eq!(why("a: [b"), "yaml: line 1: did not find expected ',' or ']'");
    }

    #[test]
    fn what_is_no_yaml_is_refused() {
        for text in ["a: b: c", "{", "? [a]\n: b", "a: .nan", &"[".repeat(1_000)] {
            assert!(read(text).is_err(), "{text}");
        }
        let bomb: String = (0..9)
            .map(|n| format!("a{}: &a{} [{}]\n", n + 1, n + 1, vec![format!("*a{n}"); 9].join(",")))
            .collect();
        assert!(
            read(&format!("a0: &a0 [xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx]\n{bomb}"))
                .unwrap_err()
                .contains("aliasing")
        );
    }
}
