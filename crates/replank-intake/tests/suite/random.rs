//! Bytes of every sort: nothing panics, nothing depends on how much is read at a time, and a document that is
//! whole is read whatever stands beside it.

use std::io::{self, Read};

use proptest::collection::vec;
use proptest::prelude::*;
use replank_intake::check::identify;
use replank_intake::document::Found;
use replank_intake::limits::Limits;
use replank_intake::read::read;
use replank_intake::source::Source;
use serde_json::{Value, json};

/// Gives at most so many bytes at a time.
struct Slow {
    bytes: io::Cursor<Vec<u8>>,
    at_most: usize,
}

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let take = buffer.len().min(self.at_most);
        self.bytes.read(&mut buffer[..take])
    }
}

fn found(source: Source) -> Vec<Found> {
    let mut all = Vec::new();
    read(vec![source], &Limits::default(), &mut |found| {
        if let Found::Document(document) = &found {
            // Whatever it is, it can be looked at.
            drop(identify(&document.value).map(|identity| identity.group().len()));
        }
        all.push(found);
    })
    .expect("bytes can be opened");
    all
}

fn check_bytes(bytes: &[u8], at_most: usize) -> Vec<Found> {
    let at_once = found(Source::bytes("in", bytes));
    let reader = Box::new(Slow { bytes: io::Cursor::new(bytes.to_vec()), at_most });
    let slowly = found(Source::Reader { name: "in".into(), reader });
    assert_eq!(at_once, slowly, "the result depends on how much is read at a time");
    for found in &at_once {
        match found {
            Found::Problem(problem) => assert!(!problem.to_string().is_empty()),
            Found::List { kind, .. } => assert!(kind.ends_with("List")),
            Found::Document(document) => assert!(document.line >= 1 && document.index >= 1),
        }
    }
    at_once
}

/// Pieces from which texts are put together that get further than random bytes would.
const PIECES: [&str; 64] = [
    "---",
    "...",
    "\n",
    "\r\n",
    "\r",
    " ",
    "  ",
    "\t",
    "a",
    "b",
    ":",
    ": ",
    "- ",
    "? ",
    ",",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "|",
    ">",
    "|-\n",
    ">+2\n",
    "&a ",
    "*a",
    "!!str ",
    "!!int ",
    "!foo ",
    "!!binary ",
    "! ",
    "%YAML 1.2\n",
    "%TAG ! x\n",
    "#",
    " # c\n",
    "<<: ",
    "items",
    "\"items\": [",
    "items:\n",
    "kind: PodList\n",
    "\"kind\": \"List\"",
    "metadata",
    "\\",
    "\\u12",
    "\\ud83d",
    "1",
    "0x",
    "1e999",
    ".inf",
    "yes",
    "~",
    "null",
    "true",
    "\u{feff}",
    "\0",
    "\u{7f}",
    "é",
    "🚢",
    "\u{85}",
    "\u{2028}",
    "{\"a\": 1}\n",
    "a: 1\n",
    "-----BEGIN\n",
];

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    vec(0..PIECES.len(), 0..60)
        .prop_map(|picks| picks.into_iter().flat_map(|pick| PIECES[pick].bytes()).collect())
}

const SAMPLE_YAML: &str = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a, \
     labels: &l {x: \"y\"}}\n  spec: |\n    text\n    ---\n- {kind: Node, metadata: {name: b, labels: *l}}\n---\n# c\n\
     kind: Job\nmetadata:\n  name: !!str 12\n  <<: {a: 1}\n---\n{\"kind\": \"Pod\"}\n";

const SAMPLE_JSON: &str = "{\n \"apiVersion\": \"v1\",\n \"items\": [\n  {\n   \"kind\": \"Pod\",\n   \"metadata\": \
     {\"name\": \"a\\u00e9\"}\n  },\n  {\n   \"metadata\": {\"name\": \"b\"},\n   \"n\": [1, -2.5e3, true, null]\n  }\n ],\n \
     \"kind\": \"PodList\"\n}\n{\"kind\": \"Node\"}\n";

/// One change to a text.
#[derive(Clone, Debug)]
enum Change {
    Replace(usize, u8),
    Insert(usize, usize),
    Remove(usize, usize),
    Repeat(usize, usize),
    Cut(usize),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        (any::<usize>(), 0..PIECES.len()).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (any::<usize>(), 1usize..20).prop_map(|(at, bytes)| Change::Remove(at, bytes)),
        (any::<usize>(), 1usize..40).prop_map(|(at, bytes)| Change::Repeat(at, bytes)),
        any::<usize>().prop_map(Change::Cut),
    ]
}

fn changed(text: &str, changes: &[Change]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for change in changes {
        let length = bytes.len().max(1);
        match *change {
            Change::Replace(at, byte) if !bytes.is_empty() => bytes[at % length] = byte,
            Change::Replace(..) => {}
            Change::Insert(at, piece) => {
                let at = at % (bytes.len() + 1);
                drop(bytes.splice(at..at, PIECES[piece].bytes()));
            }
            Change::Remove(at, count) => {
                let at = at % length;
                let end = (at + count).min(bytes.len());
                drop(bytes.drain(at.min(end)..end));
            }
            Change::Repeat(at, count) => {
                let at = (at % length).min(bytes.len());
                let end = (at + count).min(bytes.len());
                let part = bytes[at..end].to_vec();
                drop(bytes.splice(end..end, part));
            }
            Change::Cut(at) => bytes.truncate(at % length),
        }
    }
    bytes
}

/// Any JSON value, with texts that look like something else.
fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        // Control characters and U+FFFE, U+FFFF are refused in YAML, as kubectl does.
        ".{0,12}".prop_map(
            |text| text.replace(|c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'), "x")
        ),
        Just("yes".to_owned()),
        Just("017".to_owned()),
        Just("null".to_owned()),
        Just("---".to_owned()),
        Just("1e3".to_owned()),
        Just("a\nb\n".to_owned()),
        Just("<<".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e15..1e15f64)
            .prop_filter("whole numbers become integers in YAML", |number| number.fract() != 0.0)
            .prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((text.clone(), inner), 0..6).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The value as the text of a document: as compact or printed JSON, or as JSON within YAML.
fn write(value: &Value, how: u8) -> String {
    let holder = json!({ "value": value });
    match how % 4 {
        0 => holder.to_string(),
        1 => format!("{holder:#}"),
        2 => format!("value: {value}\n"),
        _ => format!("? value\n:  {value}\n"),
    }
}

fn documents(found: &[Found]) -> Vec<&Value> {
    let values = found.iter().filter_map(|found| match found {
        Found::Document(document) => Some(&document.value),
        Found::List { .. } | Found::Problem(_) => None,
    });
    values.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_global_rejects: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in vec(any::<u8>(), 0..300), at_most in 1usize..20) {
        check_bytes(&bytes, at_most);
    }

    #[test]
    fn random_pieces(bytes in pieces(), at_most in 1usize..20) {
        check_bytes(&bytes, at_most);
    }

    #[test]
    fn changed_samples(json in any::<bool>(), changes in vec(change(), 1..6), at_most in 1usize..20) {
        check_bytes(&changed(if json { SAMPLE_JSON } else { SAMPLE_YAML }, &changes), at_most);
    }

    #[test]
    fn what_was_written_is_read(values in vec((any_json(), any::<u8>()), 1..5), at_most in 1usize..50) {
        let mut text = String::new();
        for (value, how) in &values {
            text.push_str(&write(value, *how));
            text.push_str("\n---\n");
        }
        let found = check_bytes(text.as_bytes(), at_most);
        let expected: Vec<Value> = values.iter().map(|(value, _)| json!({ "value": value })).collect();
        prop_assert_eq!(documents(&found), expected.iter().collect::<Vec<_>>(), "{}", text);
        prop_assert_eq!(found.len(), expected.len());
    }

    #[test]
    fn items_are_read_as_documents_are(values in vec(any_json(), 0..6), printed in any::<bool>(), kind_last in any::<bool>()) {
        let items: Vec<Value> = values.iter().map(|value| json!({ "kind": "A", "value": value })).collect();
        let list = Value::Array(items.clone());
        let list = if printed { format!("{list:#}") } else { list.to_string() };
        let text = if kind_last {
            format!("{{\"items\": {list}, \"kind\": \"List\"}}")
        } else {
            format!("{{\"kind\": \"List\", \"items\": {list}}}")
        };
        let found = check_bytes(text.as_bytes(), 7);
        prop_assert_eq!(documents(&found), items.iter().collect::<Vec<_>>());
        // The same text, read as YAML.
        let found = check_bytes(format!("--- {text}").as_bytes(), 7);
        prop_assert_eq!(documents(&found), items.iter().collect::<Vec<_>>());
    }

    #[test]
    fn broken_text_between_markers_hides_nothing(bytes in pieces(), json in any::<bool>()) {
        // Directives belong to the document that follows.
        let broken = String::from_utf8_lossy(&bytes).replace("---", "").replace("...", "").replace('%', "");
        let (first, last) = if json { ("{\"first\": 1}", "{\"last\": 2}") } else { ("first: 1", "last: 2") };
        let text = format!("{first}\n---\n{broken}\n---\n{last}\n");
        let found = check_bytes(text.as_bytes(), 11);
        let read = documents(&found);
        prop_assert_eq!(read.first(), Some(&&json!({ "first": 1 })));
        prop_assert_eq!(read.last(), Some(&&json!({ "last": 2 })));
    }

    #[test]
    fn a_changed_item_of_a_printed_list_hides_no_other(changes in vec(change(), 1..4), which in 0usize..3) {
        let item = |name: &str| format!("  {{\n   \"kind\": \"Pod\",\n   \"metadata\": {{\"name\": \"{name}\"}}\n  }}");
        // Its first line stays: by that is known where items begin.
        let broken = item("broken");
        let (first, rest) = broken.split_at("  {\n".len());
        let broken = [first.as_bytes(), &changed(rest, &changes)].concat();
        // What looks like the start of a document counts as one.
        let looks_like_document = |line: &[u8]| matches!(line.first(), Some(b'{' | b'[' | b'-' | b'.'));
        prop_assume!(!broken.split(|&byte| byte == b'\n').any(looks_like_document));
        // The end of a list is the end of the list, and what is within another list is within that.
        prop_assume!(!broken.contains(&b']') && !broken.contains(&b'['));
        let mut texts = vec![item("a"), item("b"), item("c")].into_iter().map(String::into_bytes).collect::<Vec<_>>();
        texts.insert(which, broken);
        let text = [b"{\n \"items\": [\n".to_vec(), texts.join(&b",\n"[..]), b"\n ]\n}\n".to_vec()].concat();
        let found = check_bytes(&text, 13);
        let names: Vec<_> = documents(&found).iter().filter_map(|value| value["metadata"]["name"].as_str()).collect();
        // The first item after the broken one may be drowned in a string or bracket that does not end.
        for (position, name) in ["a", "b", "c"].iter().enumerate() {
            prop_assert!(names.contains(name) || position == which, "{} of {names:?} in\n{}", name, String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn a_changed_item_of_a_yaml_list_hides_no_other(changes in vec(change(), 1..4), which in 0usize..3, indent in 0usize..3) {
        let indent = " ".repeat(indent);
        let item = |name: &str| format!("{indent}- kind: Pod\n{indent}  metadata:\n{indent}    name: {name}\n");
        let broken = item("broken");
        let (first, rest) = broken.split_at(broken.find("- ").expect("it begins with a dash") + 2);
        // Bytes that are no text make the whole document none.
        let Ok(rest) = String::from_utf8(changed(rest, &changes)) else { return Ok(()) };
        prop_assume!(!rest.contains(|c: char| c.is_control() && c != '\n' || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}')));
        // What is indented as little as the items ends the list.
        let inside = |line: &str| line.trim().is_empty() || line.starts_with(&format!("{indent}  "));
        prop_assume!(rest.lines().skip(1).all(inside) && !rest.contains("\n---") && !rest.contains("\n..."));
        let mut texts = [item("a"), item("b"), item("c")].to_vec();
        texts.insert(which, format!("{first}{}\n", rest.trim_end_matches('\n')));
        let text = format!("kind: List\nitems:\n{}metadata: {{}}\n", texts.concat());
        let found = check_bytes(text.as_bytes(), 13);
        let names: Vec<_> = documents(&found).iter().filter_map(|value| value["metadata"]["name"].as_str()).collect();
        for name in ["a", "b", "c"] {
            prop_assert!(names.contains(&name), "{} of {names:?} in\n{}", name, text);
        }
    }
}
