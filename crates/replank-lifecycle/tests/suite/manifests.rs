//! The scan's reader against `replank-intake`, which reads the same texts into whole trees by other code: both must see the
//! same objects. Over public manifests, where `REPLANK_DATA` names a directory with `manifests`, and over random documents.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use replank_intake::document;
use replank_intake::limits::Limits;
use replank_intake::problem::Lost;
use replank_intake::read;
use replank_intake::source::Source;
use replank_lifecycle::source::{self, Found, Node};
use serde_json::Value;

/// apiVersion, kind and name of an object, and its items.
type Seen = Vec<[Option<String>; 3]>;

fn by_intake(text: &str) -> (Seen, usize) {
    let (mut seen, mut problems) = (Seen::new(), 0);
    let source = Source::bytes("x", text.as_bytes());
    read::read(vec![source], &Limits::default(), &mut |found| match found {
        replank_intake::document::Found::List { .. } => {}
        document::Found::Document(document) => {
            let text = |value: Option<&Value>| match value {
                Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
                _ => None,
            };
            let value = &document.value;
            if value.is_object() {
                seen.push([
                    text(value.get("apiVersion")),
                    text(value.get("kind")),
                    text(value.pointer("/metadata/name")),
                ]);
            }
        }
        document::Found::Problem(problem) if problem.lost != Lost::Nothing => problems += 1,
        document::Found::Problem(_) => {}
    })
    .unwrap();
    (seen, problems)
}

fn by_scan(text: &str) -> (Seen, usize) {
    let (mut seen, mut unread) = (Seen::new(), 0);
    source::read(&Arc::from("x"), text, &mut |found| match found {
        Found::Document(document) => push(&document.root, &mut seen),
        Found::Unread(_) | Found::Template { .. } => unread += 1,
    });
    (seen, unread)
}

/// Intake takes lists apart; so does this.
fn push(root: &Node<'_>, seen: &mut Seen) {
    let is_list = root.text_of("kind").is_none_or(|kind| kind.ends_with("List"));
    let text = |node: Option<&Node<'_>>| node.and_then(Node::text).map(str::to_owned);
    match root.get("items") {
        Some(items) if is_list && matches!(items.what, source::What::List(_)) => {
            items.items().iter().for_each(|item| push(item, seen));
        }
        Some(_) | None if !root.items().is_empty() => root.items().iter().for_each(|item| push(item, seen)),
        Some(_) | None if matches!(root.what, source::What::Map(_)) => {
            seen.push([
                text(root.get("apiVersion")),
                text(root.get("kind")),
                text(root.path(&["metadata", "name"])),
            ]);
        }
        Some(_) | None => {}
    }
}

#[test]
fn public_manifests_are_seen_as_intake_sees_them() {
    let Some(found) = crate::public::manifests() else { return };
    for (file, text) in found {
        // Templates are for the scan to read.
        if !text.contains("{{") {
            assert_eq!(by_scan(&text), by_intake(&text), "{}", file.display());
        }
    }
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("v1".to_owned()),
        Just("'it''s'".to_owned()),
        Just("\"a\\tb\\u00e9\"".to_owned()),
        Just("|\n    apiVersion: no\n    ---\n    x".to_owned()),
        Just(">-\n    folded\n\n    text".to_owned()),
        Just("{a: [1, {b: c}], d: ~}".to_owned()),
        Just("[x, 'y', \"z\"]".to_owned()),
        Just("&a word".to_owned()),
        Just("*a".to_owned()),
        Just("plain text # comment".to_owned()),
        Just("plain\n    over lines".to_owned()),
        Just("[".to_owned()),
        Just("\"open".to_owned()),
        Just(String::new()),
        "[ -~]{0,12}",
    ]
}

fn document() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        Just("apiVersion"),
        Just("kind"),
        Just("metadata"),
        Just("spec"),
        Just("\"data\""),
        Just("'x y'"),
        // Not `items`: intake reads any object with it as a list, the scan goes by the kind.
    ];
    proptest::collection::vec((key, scalar()), 1..6).prop_map(|members| {
        let mut text = String::new();
        let mut known = Vec::new();
        for (key, value) in members {
            // Of keys that are there twice intake keeps one and says so; that is tested elsewhere.
            if !known.contains(&key) {
                known.push(key);
                text.push_str(&format!("{key}: {value}\n"));
            }
        }
        text
    })
}

proptest! {
    // The same documents every time: a run that fails can be repeated.
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(400) })]

    #[test]
    fn whatever_is_read_by_both_is_the_same(documents in proptest::collection::vec(document(), 1..4)) {
        let text = documents.join("---\n");
        let (seen, unread) = by_scan(&text);
        let (expected, problems) = by_intake(&text);
        // What YAML 1.1 takes for numbers and booleans is text to one of them, and what JSON cannot say is refused by the
        // other: wherever both read everything, they have seen the same number of objects.
        if unread == 0 && problems == 0 {
            prop_assert_eq!(seen.len(), expected.len(), "{}", text);
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}", near in "([a-z]{1,3}: ?[|>&*\\[{'\"-]{0,2}[a-z\n]{0,4}\n|---\n|  - ){0,12}") {
        by_scan(&text);
        by_scan(&near);
    }
}
