use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::field::{FieldSelector, FieldSelectorError};
use super::parse::SelectorError;
use super::*;

fn selector(text: &str) -> Selector {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> String {
    text.parse::<Selector>().unwrap_err().to_string()
}

fn matches(selector: &Selector, labels: &[(&str, &str)]) -> bool {
    selector.matches(|key| labels.iter().find(|(name, _)| *name == key).map(|(_, value)| *value))
}

#[test]
fn a_selector_is_small() {
    assert_eq!(size_of::<Selector>(), 16);
}

#[test]
fn a_missing_label_is_not_in_anything() {
    for text in ["a!=b", "a notin (b)", "!a", ""] {
        assert!(matches(&selector(text), &[]), "{text}");
    }
    for text in ["a=b", "a=", "a in (b)", "a", "a>1", "a<1"] {
        assert!(!matches(&selector(text), &[]), "{text}");
    }
    assert!(matches(&selector("a="), &[("a", "")]));
    assert!(!matches(&Selector::Nothing, &[]));
    assert!(matches(&Selector::everything(), &[]));
}

#[test]
fn bounds_compare_as_integers() {
    let above = selector("a>10");
    for (value, expected) in
        [("9", false), ("10", false), ("11", true), ("100", true), ("x", false), ("+11", true)]
    {
        assert_eq!(matches(&above, &[("a", value)]), expected, "{value}");
    }
    assert!(matches(&selector("a<10"), &[("a", "-3")]));
}

#[test]
fn words_are_operators_only_where_one_is_due() {
    assert_eq!(selector("in in (in,notin),notin notin (x)").to_string(), "in in (in,notin),notin notin (x)");
    assert_eq!(selector("x in (a,,b,a,)").to_string(), "x in (,a,b)");
    assert_eq!(selector("x in ()").to_string(), "x in ()");
    assert_eq!(selector("x in (,)").to_string(), "x in ()");
    assert_eq!(error("a,"), "found '', expected: identifier after ','");
    assert_eq!(error("a,,b"), "found ',', expected: identifier after ','");
    assert_eq!(error("a in (b c)"), "unable to parse requirement: found 'c', expected: ',' or ')'");
    assert_eq!(error("a in (b,"), "unable to parse requirement: found '', expected: ',', or identifier");
    assert_eq!(error("a in ("), "unable to parse requirement: found '', expected: ',', ')' or identifier");
    assert_eq!(error("a in (=)"), "unable to parse requirement: found '=', expected: ',', ')' or identifier");
    assert_eq!(error("!"), "unable to parse requirement: found '', expected: identifier");
    assert_eq!(error("a>=1"), "unable to parse requirement: found '=', expected: identifier");
    assert_eq!(
        error("a b"),
        "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"
    );
    assert_eq!(
        error("a(b)"),
        "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt"
    );
}

#[test]
fn a_zero_byte_ends_the_text_where_a_token_begins() {
    assert_eq!(selector("a=b\0").to_string(), "a=b");
    assert_eq!(selector("a \0=b").to_string(), "a");
    assert_eq!(selector("\0a").to_string(), "");
    // It is read with the word before it, and another word follows.
    assert_eq!(error("a=b\0c"), "found 'c', expected: ',' or 'end of string'");
    assert_eq!(selector("a=\0b").to_string(), "a=b");
}

#[test]
fn an_index_is_told_the_one_value() {
    let selector = selector("a=b,c in (d),e in (f,g),h!=i");
    let value = |key| selector.exact_value(key).map(ToString::to_string);
    assert_eq!(value("a").as_deref(), Some("b"));
    assert_eq!(value("c").as_deref(), Some("d"));
    assert_eq!((value("e"), value("h"), value("x")), (None, None, None));
}

#[test]
fn sets_are_taken_unvalidated() {
    let set = [("b".into(), "not valid".into()), ("a".into(), "x".into())];
    let selector = Selector::from_set(set);
    assert_eq!(selector.to_string(), "a=x,b=not valid");
    assert!(matches(&selector, &[("a", "x"), ("b", "not valid"), ("c", "")]));
    assert!(Selector::from_set([]).is_empty());
}

#[test]
fn node_affinity_has_the_same_rules() {
    let new = |operator, values: &[&str]| {
        Requirement::new("a".into(), operator, values.iter().map(|value| Arc::from(*value)).collect())
    };
    assert!(new(Operator::GreaterThan, &["7"]).unwrap().matches(Some("8")));
    assert_eq!(
        new(Operator::LessThan, &[]).unwrap_err().to_string(),
        "values: Invalid value: null: for 'Gt', 'Lt' operators, exactly one value is required"
    );
    let errors = new(Operator::GreaterThan, &["x", "y/"]).unwrap_err();
    assert_eq!(errors.iter().count(), 4);
    assert!(errors.to_string().starts_with("[values: Invalid value: [\"x\",\"y/\"]: for 'Gt'"), "{errors}");
    assert!(new(Operator::Equals, &[]).is_err());
}

#[test]
fn the_object_reads_and_writes_as_the_api_does() {
    let json = r#"{"matchLabels":{"b":"1","a":null},"matchExpressions":[{"key":"c","operator":"Gt","values":null}],"x":{}}"#;
    let read: LabelSelector = serde_json::from_str(json).unwrap();
    assert_eq!(
        serde_json::to_string(&read).unwrap(),
        r#"{"matchLabels":{"a":"","b":"1"},"matchExpressions":[{"key":"c","operator":"Gt"}]}"#
    );
    assert_eq!(read.compile().unwrap_err().to_string(), "\"Gt\" is not a valid label selector operator");
    let empty: LabelSelector =
        serde_json::from_str(r#"{"matchLabels":null,"matchExpressions":null}"#).unwrap();
    assert_eq!(serde_json::to_string(&empty).unwrap(), "{}");
    assert!(empty.compile().unwrap().is_empty());
    let absent: Option<LabelSelector> = serde_json::from_str("null").unwrap();
    assert_eq!(LabelSelector::compile_option(absent.as_ref()), Ok(Selector::Nothing));
    assert_eq!(LabelSelector::formatted(None), "<none>");
}

#[test]
fn every_invalid_field_of_the_object_is_named() {
    let json = r#"{"matchLabels":{"a b":"c d"},"matchExpressions":[{"key":"","operator":"In"}]}"#;
    let read: LabelSelector = serde_json::from_str(json).unwrap();
    let paths: Vec<String> = read.validate("spec.selector").into_iter().map(|error| error.path).collect();
    assert_eq!(
        paths,
        [
            "spec.selector.matchLabels",
            "spec.selector.matchLabels",
            "spec.selector.matchExpressions[0].values",
            "spec.selector.matchExpressions[0].key",
            "spec.selector.matchExpressions[0].key",
        ]
    );
}

#[test]
fn fields_are_compared_as_texts() {
    let selector: FieldSelector = r"b!=x\,y\\,a==1".parse().unwrap();
    assert_eq!(selector.to_string(), r"a=1,b!=x\,y\\");
    let of = |field: &str| match field {
        "a" => Some("1"),
        "b" => Some("x,y"),
        _ => None,
    };
    assert!(selector.matches(of));
    assert_eq!(selector.exact_value("a").map(|value| &**value), Some("1"));
    assert_eq!(selector.exact_value("b"), None);
    // A missing field is empty; an empty term is not a term.
    assert!("c=".parse::<FieldSelector>().unwrap().matches(of));
    assert!("=,!=,==".parse::<FieldSelector>().unwrap().is_empty());
    let message = |text: &str| text.parse::<FieldSelector>().unwrap_err().to_string();
    assert_eq!(message(r"a=\é"), r"invalid field selector: invalid escape sequence: \é");
    assert_eq!(message("a===b"), "invalid field selector: unescaped character in value: 61");
    assert_eq!(
        "a!b".parse::<FieldSelector>().unwrap_err(),
        FieldSelectorError::Term { selector: "a!b".to_owned(), term: "a!b".to_owned() }
    );
}

fn keys() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c", "example.com/d", "in"])
}

fn requirements() -> impl Strategy<Value = String> {
    let value = || "|[a-c]|[0-9]{1,3}";
    prop_oneof![
        (keys(), prop::sample::select(vec!["=", "==", "!="]), value())
            .prop_map(|(k, o, v)| format!("{k} {o}{v}")),
        (keys(), prop::sample::select(vec!["in", "notin"]), prop::collection::vec(value(), 1..4))
            .prop_map(|(k, o, v)| format!("{k} {o} ({})", v.join(","))),
        (keys(), prop::sample::select(vec![">", "<"]), 0i64..200).prop_map(|(k, o, v)| format!("{k}{o}{v}")),
        keys().prop_map(str::to_owned),
        keys().prop_map(|key| format!("!{key}")),
    ]
}

proptest! {
    #[test]
    fn no_text_panics(text in ".*", tokens in "([a-b]|in|notin|[ \t!=<>(),/\0\\\\é]){0,30}") {
        for text in [text, tokens] {
            let parsed: Result<Selector, SelectorError> = text.parse();
            if let Err(error) = parsed {
                prop_assert!(!error.to_string().is_empty());
            }
            if let Ok(fields) = text.parse::<FieldSelector>() {
                prop_assert_eq!(fields.to_string().parse::<FieldSelector>().map(|again| again.to_string()), Ok(fields.to_string()));
            }
        }
    }

    #[test]
    fn what_is_written_reads_back(texts in prop::collection::vec(requirements(), 0..5)) {
        let selector = selector(&texts.join(","));
        prop_assert_eq!(selector.to_string().parse::<Selector>(), Ok(selector));
    }

    #[test]
    fn a_selector_is_the_conjunction_of_its_parts(
        texts in prop::collection::vec(requirements(), 1..5),
        labels in prop::collection::btree_map(keys(), "|[a-c]|[0-9]{1,3}", 0..5),
    ) {
        let of = |labels: &BTreeMap<&str, String>, selector: &Selector| {
            selector.matches(|key| labels.get(key).map(String::as_str))
        };
        let whole = selector(&texts.join(","));
        prop_assert_eq!(of(&labels, &whole), texts.iter().all(|text| of(&labels, &selector(text))));
    }
}
