//! Small inputs and everything that is found in them.
//!
//! A file in `golden/` holds cases: `### name`, the input, what is found. Input lines begin with `| `; after
//! `|e ` escapes stand for what cannot be seen (`\r`, `\t`, `\xNN`, `\n` for the line end, which is not added).
//! What is found begins with `> `. With `REPLANK_BLESS=1` the files are written anew: read the difference.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::Path;

use replank_intake::check::identify;
use replank_intake::document::Found;
use replank_intake::limits::Limits;
use replank_intake::read::read;
use replank_intake::source::Source;

struct Case {
    name: String,
    /// The lines as they stand in the file.
    lines: Vec<String>,
    input: Vec<u8>,
    expected: String,
}

/// Gives one byte at a time, so that every boundary between two reads is met.
struct Drip(io::Cursor<Vec<u8>>);

impl Read for Drip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let one = buffer.len().min(1);
        self.0.read(&mut buffer[..one])
    }
}

/// Whether documents are looked at as objects of a cluster.
#[derive(Clone, Copy, PartialEq, Eq)]
enum As {
    Values,
    Objects,
}

fn run(source: Source, seen: As) -> String {
    let mut out = String::new();
    let mut each = |found: Found| {
        match found {
            Found::Document(document) => {
                let item = document.item.map(|item| format!("[{item}]")).unwrap_or_default();
                let value = &document.value;
                writeln!(out, "> {}{item} @{} {value}", document.index, document.line)
                    .expect("strings take all");
                if seen == As::Objects
                    && let Err(kind) = identify(value)
                {
                    writeln!(out, ">   {}", document.problem(kind)).expect("strings take all");
                }
            }
            Found::List { api_version, kind } => {
                writeln!(out, "> list: {api_version} {kind}").expect("strings take all");
            }
            Found::Problem(problem) => {
                writeln!(out, "> problem: {problem}").expect("strings take all");
            }
        };
    };
    let report = read(vec![source], &Limits::default(), &mut each).expect("bytes can be opened");
    if report.empty_documents > 0 {
        writeln!(out, "> empty documents: {}", report.empty_documents).expect("strings take all");
    }
    if !report.empty_sources.is_empty() {
        writeln!(out, "> nothing in it").expect("strings take all");
    }
    out
}

fn unescape(line: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        out.extend(&rest.as_bytes()[..at]);
        let escape = rest.as_bytes()[at + 1];
        let mut used = 2;
        match escape {
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'\\' => out.push(b'\\'),
            b'x' => {
                out.push(u8::from_str_radix(&rest[at + 2..at + 4], 16).expect("two hex digits follow \\x"));
                used = 4;
            }
            other => panic!("no escape \\{}", char::from(other)),
        }
        rest = &rest[at + used..];
    }
    out.extend(rest.as_bytes());
    out
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("### ") {
            cases.push(Case {
                name: name.into(),
                lines: Vec::new(),
                input: Vec::new(),
                expected: String::new(),
            });
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        if line.starts_with('>') {
            case.expected.push_str(line);
            case.expected.push('\n');
            continue;
        }
        if let Some(escaped) = line.strip_prefix("|e ") {
            case.input.extend(unescape(escaped));
        } else if let Some(plain) = line.strip_prefix('|') {
            case.input.extend(plain.strip_prefix(' ').unwrap_or(plain).as_bytes());
            case.input.push(b'\n');
        } else {
            assert!(line.is_empty(), "neither input nor expectation: {line}");
            continue;
        }
        case.lines.push(line.into());
    }
    cases
}

fn golden(file: &str, seen: As, at_least: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let text = std::fs::read_to_string(&path).expect("the golden file can be read");
    let head: String =
        text.lines().take_while(|line| !line.starts_with("### ")).map(|l| format!("{l}\n")).collect();
    let cases = cases(&text);
    assert!(cases.len() >= at_least, "{file} has lost cases: {} are left", cases.len());
    let bless = std::env::var_os("REPLANK_BLESS").is_some();
    let (mut written, mut wrong) = (head, String::new());
    for case in cases {
        let found = run(Source::bytes("in", case.input.clone()), seen);
        let reader = Box::new(Drip(io::Cursor::new(case.input.clone())));
        let dripped = run(Source::Reader { name: "in".into(), reader }, seen);
        assert_eq!(found, dripped, "{}: the result depends on how much is read at a time", case.name);
        let lines: String = case.lines.iter().map(|line| format!("{line}\n")).collect();
        write!(written, "### {}\n{lines}{found}\n", case.name).expect("strings take all");
        if found != case.expected {
            let expected = case.expected;
            write!(wrong, "\n{}: {}\nexpected\n{expected}found\n{found}", file, case.name)
                .expect("strings take all");
        }
    }
    if bless {
        std::fs::write(&path, written.trim_end().to_owned() + "\n").expect("the golden file can be written");
    } else {
        assert!(wrong.is_empty(), "{wrong}");
    }
}

#[test]
fn documents() {
    golden("documents.txt", As::Values, 25);
}

#[test]
fn yaml() {
    golden("yaml.txt", As::Values, 25);
}

#[test]
fn json() {
    golden("json.txt", As::Values, 25);
}

#[test]
fn lists() {
    golden("lists.txt", As::Values, 15);
}

#[test]
fn objects() {
    golden("objects.txt", As::Objects, 10);
}
