//! Inputs made to exhaust something, and the bounds that stop them.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use replank_intake::document::{Document, Found};
use replank_intake::limits::Limits;
use replank_intake::problem::{Problem, ProblemKind};
use replank_intake::read::read;
use replank_intake::source::Source;
use replank_oracle::tell::tell;

fn all(source: Source, limits: &Limits) -> (Vec<Document>, Vec<Problem>) {
    let (mut documents, mut problems) = (Vec::new(), Vec::new());
    read(vec![source], limits, &mut |found| match found {
        Found::Document(document) => documents.push(document),
        Found::List { .. } => {}
        Found::Problem(problem) => problems.push(problem),
    })
    .expect("bytes can be opened");
    (documents, problems)
}

fn text(text: impl Into<Vec<u8>>, limits: &Limits) -> (Vec<Document>, Vec<Problem>) {
    all(Source::bytes("in", text.into()), limits)
}

/// What the bound that was met was about.
#[track_caller]
fn bound(problems: &[Problem]) -> &'static str {
    match problems {
        [Problem { kind: ProblemKind::Bound { what, .. }, .. }] => what,
        other => panic!("expected one bound to be met, found {other:?}"),
    }
}

fn nested(open: &str, inner: &str, close: &str, levels: usize) -> String {
    open.repeat(levels) + inner + &close.repeat(levels)
}

#[test]
fn nesting_is_bounded_in_every_notation() {
    let limits = Limits::default();
    let deepest = limits.depth_max;
    type Notation = (&'static str, fn(usize) -> String);
    let notations: [Notation; 7] = [
        ("json arrays", |levels| nested("{\"a\":", &nested("[", "1", "]", levels - 1), "}", 1)),
        ("json objects", |levels| nested("{\"a\":", "1", "}", levels)),
        ("flow sequences", |levels| format!("a: {}", nested("[", "1", "]", levels - 1))),
        ("flow mappings", |levels| nested("{a: ", "1", "}", levels)),
        ("block sequences", |levels| format!("a:\n {}1", "- ".repeat(levels - 1))),
        ("block mappings", |levels| {
            (0..levels).map(|level| format!("{}a:\n", " ".repeat(level))).collect::<String>()
        }),
        ("list items", |levels| format!("{{\"items\": [{}]}}", nested("{\"a\":", "1", "}", levels))),
    ];
    for (name, notation) in notations {
        let (documents, problems) = text(notation(deepest), &limits);
        assert_eq!((documents.len(), problems.as_slice()), (1, &[][..]), "{name} at the bound");
        let beyond = notation(deepest + 1) + "\n---\nb: 2\n";
        let (documents, problems) = text(beyond, &limits);
        assert_eq!(bound(&problems), "the nesting of one object", "{name}");
        assert_eq!(documents.len(), 1, "{name}: the next document is read all the same");
    }
    let yaml_items = |levels| format!("items:\n- {}", nested("{a: ", "1", "}", levels));
    assert_eq!(text(yaml_items(deepest), &limits).1, []);
    assert_eq!(bound(&text(yaml_items(deepest + 1), &limits).1), "the nesting of one object");
}

#[test]
fn endless_nesting_neither_overflows_nor_takes_long() {
    let limits = Limits::default();
    for open in ["[", "{\"a\":", "{a: ", "- ", "? ", "[{", "a: [", "&a [", "!!seq [", "- ? "] {
        for prefix in ["", "{\"items\": [", "items:\n- "] {
            let (documents, problems) = text(prefix.to_owned() + &open.repeat(300_000), &limits);
            assert!(documents.is_empty() && !problems.is_empty(), "{prefix}{open}…: {documents:?}");
        }
    }
    let mut stairs = String::new();
    for level in 0..1500 {
        stairs.push_str(&" ".repeat(level));
        stairs.push_str("a:\n");
    }
    assert!(!text(stairs, &limits).1.is_empty());
}

#[test]
fn aliases_cannot_multiply() {
    let limits = Limits::default();
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = format!("*a{}, ", level - 1).repeat(9);
        laughs.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    let (documents, problems) = text(laughs + "---\nb: 2\n", &limits);
    assert_eq!(bound(&problems), "the expansion of this document's anchors and aliases");
    assert_eq!(documents.len(), 1);

    let long = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(100));
    assert_eq!(bound(&text(long, &limits).1), "the expansion of this document's anchors and aliases");

    // Each anchor holds all that is in it, so anchors within anchors multiply too.
    let within = nested("&a [", &"1, ".repeat(10_000), "]", 90);
    assert_eq!(bound(&text(within, &limits).1), "the expansion of this document's anchors and aliases");

    let merges = format!("a: &a {{{}}}\nb: [{}]\n", "k: &b {x: 1, y: 2}", "{<<: *a}, ".repeat(200_000));
    assert_eq!(bound(&text(merges, &limits).1), "the expansion of this document's anchors and aliases");

    let fair = format!("a: &a {{x: 1, y: 2}}\nb: [{}]\n", "*a, ".repeat(10_000));
    assert_eq!(text(fair, &limits).1, []);
}

#[test]
fn values_are_counted() {
    let limits = Limits { nodes_max: 1000, ..Limits::default() };
    for (document, count) in [("{\"a\": [1", ", 1"), ("a: [1", ", 1")] {
        let close = if document.starts_with('{') { "]}" } else { "]" };
        let (documents, problems) = text(document.to_owned() + &count.repeat(997) + close, &limits);
        assert_eq!((documents.len(), problems.len()), (1, 0), "an object, an array and 998 numbers");
        let (documents, problems) = text(document.to_owned() + &count.repeat(998) + close, &limits);
        assert_eq!((documents.len(), bound(&problems)), (0, "the number of values in one object"));
    }
    // Of a list, each item is counted for itself.
    let items = "{\"a\": [1, 2, 3]}, ".repeat(2000) + "{}";
    assert_eq!(text(format!("{{\"items\": [{items}]}}"), &limits).0.len(), 2001);
    assert_eq!(text(format!("items: [{items}]"), &limits).0.len(), 2001);
}

#[test]
fn sizes_are_bounded_and_what_follows_is_read() {
    let limits = Limits { json_unit_bytes_max: 1000, held_bytes_max: 1000, ..Limits::default() };
    let long = "x".repeat(1000);
    for large in [
        format!("{{\"a\": \"{long}\"}}"),
        format!("{{\"a\": {}}}", "1".repeat(1000)),
        format!("{{\"a\": {}1}}", " ".repeat(1000)),
        format!("{{\"a\"{}: 1}}", " ".repeat(1000)),
        format!("{{\"{long}\": 1}}"),
        format!("{{\"a\": [{}]}}", "1, ".repeat(500)),
    ] {
        let (documents, problems) = text(format!("{large}\n{{\"b\": 2}}\n"), &limits);
        assert_eq!(bound(&problems), "the size of one object", "{large}");
        assert_eq!(documents.len(), 1, "{large}");
        let items = format!("{{\"items\": [\n {{\"a\": 1}},\n {large},\n {{\"c\": 3}}\n]}}\n{{\"b\": 2}}\n");
        let (documents, problems) = text(items, &limits);
        assert_eq!(bound(&problems), "the size of one object", "{large}");
        assert_eq!(documents.len(), 3, "{large}: its neighbours in the list, and the next document");
    }
    for large in [format!("a: {long}\n"), "a: 1 # 456789\n".repeat(100)] {
        let (documents, problems) = text(format!("{large}---\nb: 2\n"), &limits);
        assert_eq!((documents.len(), bound(&problems)), (1, "the size of one document"));
    }
    // What means nothing may be as long as it likes.
    let blank = format!("# {long}\n{}\n{}{{\"a\": 1}}", "\n".repeat(1000), " ".repeat(1000));
    assert_eq!(text(blank, &limits).0.len(), 1);
    // A list is not held.
    let list = format!("{{\"items\": [{}{{}}]}}", "{\"a\": \"some text\"},\n".repeat(1000));
    assert_eq!(text(list, &limits).0.len(), 1001);
}

#[test]
fn items_that_wait_for_a_kind_are_bounded() {
    let limits = Limits { held_bytes_max: 1000, ..Limits::default() };
    let list =
        format!("{{\"items\": [{}{{}}], \"kind\": \"PodList\"}}", "{\"a\": \"some text\"},\n".repeat(1000));
    let (documents, problems) = text(list, &limits);
    assert_eq!((documents.len(), problems.len()), (1001, 0), "none is lost");
    let typed = documents.iter().filter(|document| document.value.get("kind").is_some()).count();
    assert!((1..1001).contains(&typed), "{typed} items waited");
}

#[test]
fn a_gzip_bomb_ends_at_the_bound() {
    let limits = Limits { input_bytes_max: 50 << 20, ..Limits::default() };
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(b"a: 1\n---\n").expect("memory takes all");
    for _ in 0..100 {
        encoder.write_all(&[b' '; 1 << 20]).expect("memory takes all");
    }
    let bomb = encoder.finish().expect("memory takes all");
    assert!(bomb.len() < 200_000, "{}", bomb.len());
    let (documents, problems) = text(bomb, &limits);
    assert_eq!(documents.len(), 1);
    assert_eq!(bound(&problems), "the size of the input, unpacked,");
    assert!(problems[0].to_string().contains("limit of 50 MiB"), "{}", problems[0]);
}

#[test]
fn numbers_that_name_more_than_any_machine_holds_are_text_or_refused() {
    let limits = Limits::default();
    let (documents, problems) = text("cpu: 1e99999999999\nmemory: \"1e99999999999\"\n", &limits);
    assert_eq!(documents[0].value.to_string(), r#"{"cpu":"1e99999999999","memory":"1e99999999999"}"#);
    assert_eq!(problems, []);
    let digits = "9".repeat(100_000);
    let (documents, problems) =
        text(format!("a: {digits}\nb: 0x{digits}\nc: 1e-{digits}\n---\na: .{digits}"), &limits);
    assert_eq!((documents.len(), problems.len()), (2, 0));
    let (documents, problems) =
        text(format!("{{\"a\": {digits}}}\n{{\"b\": 1e-{digits}}}\n{{\"c\": 3}}"), &limits);
    assert_eq!(
        (documents.len(), problems.len()),
        (2, 1),
        "a number of 100,000 digits fits no float; 1e-999… is 0"
    );
}

#[test]
fn lists_that_are_wrong_everywhere_are_read_once_or_a_few_times() {
    let limits = Limits::default();
    let whole = "  {\n   \"a\": 1\n  },\n".repeat(20);
    for wrong in [
        "  {\n   \"a\": [\n  },\n",
        "  {\n   \"a\": {\n  },\n",
        "  {\n   \"a\n  },\n",
        "  {\n   \"a\": [ {\n",
    ] {
        let list = format!("{{\n \"items\": [\n{}", format!("{wrong}{whole}").repeat(600));
        let (documents, problems) = text(list, &limits);
        assert!(
            documents.len() >= 20 * 590 && problems.len() >= 590,
            "{wrong}: {} {}",
            documents.len(),
            problems.len()
        );
    }
    let whole = "- {a: 1}\n".repeat(20);
    for wrong in [
        "- {a: .nan}\n",
        "- a: [\n",
        "- a: \"\\q\n",
        "- {a: *nobody}\n",
        "- a: b: c\n",
        "- @\n",
        "- a: |\n  x\n y\n",
    ] {
        let list = format!("items:\n{}", format!("{wrong}{whole}").repeat(600));
        let (documents, problems) = text(list, &limits);
        // How much is looked at again is bounded, so a list that is wrong in thousands of places may end early.
        assert!(
            documents.len() >= 20 * 100 && problems.len() >= 100,
            "{wrong}: {} {}",
            documents.len(),
            problems.len()
        );
        tell(format!("{wrong:?}: {} documents, {} problems", documents.len(), problems.len()));
    }
}
