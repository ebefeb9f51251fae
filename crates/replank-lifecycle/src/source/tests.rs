use super::*;

/// `LINE KIND NAME` of each document, or `LINE: why`.
fn seen(text: &str) -> Vec<String> {
    let mut seen = Vec::new();
    read(&"x".into(), text, &mut |found| {
        seen.push(match found {
            Found::Document(document) => {
                let root = &document.root;
                let line = root.get("apiVersion").map_or(0, |node| node.at.line);
                format!(
                    "{line} {} {}",
                    root.text_of("apiVersion").unwrap_or("-"),
                    root.path(&["metadata", "name"]).and_then(Node::text).unwrap_or("-")
                )
            }
            Found::Unread(unread) => format!("{}: unread", unread.place.line),
            Found::Template { line, .. } => format!("{line}: template"),
        });
    });
    seen
}

#[test]
fn documents_have_the_place_of_their_version() {
    let text = "# c\n---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n\nkind: B\nmetadata:\n  name: b\napiVersion: 'v2'\n---";
    assert_eq!(seen(text), ["3 v1 a", "11 v2 b"]);
    let json = "{\"kind\": \"A\",\n \"apiVersion\": \"v1\"}\n{\"apiVersion\": \"v2\", \"metadata\": {\"name\": \"b\"}}\n";
    assert_eq!(seen(json), ["2 v1 -", "3 v2 b"]);
}

#[test]
fn a_broken_document_hides_nothing() {
    assert_eq!(
        seen("a: [\n---\napiVersion: v1\n---\nb: \"\n---\napiVersion: v2\n"),
        ["1: unread", "3 v1 -", "6: unread", "7 v2 -"]
    );
    assert_eq!(seen("{\"a\": 1,}\n{\"apiVersion\": \"v1\"}\n{\"b\"\n"), ["1: unread", "2 v1 -", "4: unread"]);
}

#[test]
fn aliases_and_merges_are_worked_out() {
    let text = "spec:\n  x: &v extensions/v1beta1\n  base: &base\n    name: merged\napiVersion: *v\nmetadata:\n  <<: *base\n";
    assert_eq!(seen(text), ["2 extensions/v1beta1 merged"]);
    let own =
        "a: &a {name: theirs}\nb: &b {name: last}\napiVersion: v1\nmetadata: {<<: [*a, *b], name: own}\n";
    assert_eq!(seen(own), ["3 v1 own"]);
}

#[test]
fn a_bomb_of_aliases_is_refused() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..8 {
        let alias = format!("*a{}", level - 1);
        text.push_str(&format!("a{level}: &a{level} [{}]\n", [alias.as_str(); 10].join(", ")));
    }
    assert_eq!(seen(&text).len(), 1);
    assert!(seen(&text)[0].ends_with("unread"));
}

#[test]
fn what_nobody_asks_for_is_parsed_and_not_kept() {
    let text = "apiVersion: v1\nspec:\n  deep: {a: [1, 2, {b: c}]}\n  template:\n    apiVersion: no\nmetadata:\n  name: a\n";
    let mut roots = Vec::new();
    read(&"x".into(), text, &mut |found| roots.push(found));
    let [Found::Document(document)] = roots.as_slice() else { panic!("{roots:?}") };
    assert_eq!(document.root.entries().len(), 3);
    assert!(document.root.path(&["spec", "deep"]).is_none());
    assert_eq!(seen(&text.replace("{b: c}", "{b: c")), ["3: unread"]);
}

#[test]
fn json_is_checked_where_nobody_asks_for_it() {
    for wrong in ["01", "1.", "tru", "\"\\x\"", "\"a", "[1 2]", "{\"a\"}", "-", "1e", "\"\u{1}\"", "[1,]"] {
        let text = format!("{{\"apiVersion\": \"v1\", \"spec\": {wrong}}}\n");
        let mut reader = json::Reader::new(&text, 0, 1);
        assert!(reader.value(&OBJECT).is_err(), "{wrong}");
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_err(), "{wrong}");
    }
    for right in ["0", "-0.5e+3", "true", "\"\\u00e9\\n\"", "[]", "{}", "[{\"a\": [null]}]", "\"ünï\""] {
        let text = format!("{{\"apiVersion\": \"v1\", \"spec\": {right}}}\n");
        assert!(json::Reader::new(&text, 0, 1).value(&OBJECT).is_ok(), "{right}");
    }
}

#[test]
fn templates_are_told_from_broken_documents() {
    let text = "{{- if .Values.x }}\napiVersion: v1\n{{- end }}\n---\napiVersion: v1\nx: [\n";
    assert_eq!(seen(text), ["1: template", "6: unread"]);
}
