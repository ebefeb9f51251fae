//! The labelled cases of `testdata/cases`: what is found is exactly what is expected. README.md there tells the form.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use replank_intake::base64::encode;
use replank_lifecycle::Measure;
use replank_lifecycle::finding::{Finding, Range};
use replank_lifecycle::scan::{Hint, Report, Values, scan};
use replank_lifecycle::table::Table;

/// Fewer would mean that files are not read.
const CASES_MIN: usize = 260;

struct Case {
    name: String,
    options: Vec<(String, String)>,
    input: String,
    expected: Vec<String>,
}

impl Case {
    fn option(&self, key: &str) -> Option<&str> {
        self.options.iter().find(|(name, _)| name == key).map(|(_, value)| &**value)
    }
}

fn cases() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/cases");
    let mut files: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "txt"));
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        for part in text
            .split("\n=== ")
            .flat_map(|part| part.strip_prefix("=== ").or(Some(part)))
            .collect::<Vec<_>>()
            .chunks(2)
        {
            let [head, expect] = part else { panic!("{stem}: a case without what is expected") };
            let (head, input) = head.split_once('\n').unwrap_or((head, ""));
            let (name, options) = head.split_once(" | ").unwrap_or((head, ""));
            let option = |word: &str| {
                let (key, value) = word.split_once('=').unwrap_or((word, ""));
                (key.to_owned(), value.to_owned())
            };
            let expected =
                expect.strip_prefix("expect").unwrap_or_else(|| panic!("{stem}: {name}: no `=== expect`"));
            cases.push(Case {
                name: format!("{stem}: {name}"),
                options: options.split_whitespace().map(option).collect(),
                input: if input.is_empty() { String::new() } else { format!("{input}\n") },
                expected: expected.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect(),
            });
        }
    }
    cases
}

#[test]
fn every_case_is_found_as_it_is_labelled() {
    let cases = cases();
    assert!(cases.len() >= CASES_MIN, "{} cases", cases.len());
    let table = Table::embedded();
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let found = found(case, &table);
            let differs = found != case.expected;
            differs
                .then(|| format!("{}\n  expected {:#?}\n  found    {:#?}", case.name, case.expected, found))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// No case may be a test of nothing: without the table, none finds anything.
#[test]
fn the_table_is_what_finds() {
    for case in cases() {
        let report = report(&case, &measure(&case, &Table::default()));
        assert!(report.findings.is_empty(), "{}", case.name);
    }
}

/// Thousands of documents in one file, one of them broken, in every form of line ends: each has its own line.
#[test]
fn thousands_of_documents_have_their_lines() {
    const DOCUMENTS: usize = 5000;
    const BROKEN: usize = 2500;
    let table = Table::embedded();
    let document = |number: usize| match number {
        BROKEN => "apiVersion: v1\nkind: [\nmetadata: {name: x}\n".to_owned(),
        number => format!("apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {{name: a{number}}}\n"),
    };
    let text = (0..DOCUMENTS).map(document).collect::<Vec<_>>().join("---\n");
    let range = Range { current: None, target: "1.36".parse().unwrap() };
    let measure = Measure { table, range, products: BTreeMap::new() };
    for (form, text) in
        [("plain", text.clone()), ("crlf", text.replace('\n', "\r\n")), ("bom", format!("\u{feff}{text}"))]
    {
        let report = scan(&measure, &"x.yaml".into(), &text, &Hint::default()).finish(&measure);
        let found: Vec<(u32, String)> =
            report.findings.iter().map(|finding| (finding.place.line, finding.name.clone())).collect();
        let expected: Vec<(u32, String)> = (0..DOCUMENTS)
            .filter(|number| *number != BROKEN)
            .map(|number| (number as u32 * 4 + 1, format!("a{number}")))
            .collect();
        assert!(found == expected, "{form}: {} of {}", found.len(), expected.len());
        let unread: Vec<u32> = report.unread.iter().map(|unread| unread.place.line).collect();
        assert_eq!(unread.len(), 1, "{form}");
        assert!((BROKEN as u32 * 4 + 1..=BROKEN as u32 * 4 + 4).contains(&unread[0]), "{form}: {unread:?}");
    }
}

fn measure(case: &Case, table: &Table) -> Measure {
    let target = case.option("target").unwrap_or("1.37").parse().unwrap();
    let current = case.option("current").map(|current| current.parse().unwrap());
    let installed = case.option("installed").and_then(|installed| installed.split_once('='));
    let products: BTreeMap<_, _> =
        installed.into_iter().map(|(name, version)| (name.to_owned(), version.parse().unwrap())).collect();
    Measure { table: table.clone(), range: Range { current, target }, products }
}

fn report(case: &Case, measure: &Measure) -> Report {
    let name = case.option("file").unwrap_or("x.yaml").into();
    let hint = Hint {
        rendered_by: case.option("rendered").map(str::to_owned),
        in_chart: case.option("chart").is_some(),
        values: values(case).into(),
    };
    scan(measure, &name, &text(case), &hint).finish(measure)
}

/// `values=ingress.apiVersion:extensions/v1beta1`, as a chart's own values.
fn values(case: &Case) -> Values {
    let Some((path, version)) = case.option("values").and_then(|values| values.split_once(':')) else {
        return Values::default();
    };
    let keys = path.split('.').enumerate().map(|(depth, key)| format!("\n{}{key}:", "  ".repeat(depth)));
    Values::read(&format!("{} {version}\n", keys.collect::<String>()))
}

fn found(case: &Case, table: &Table) -> Vec<String> {
    let report = report(case, &measure(case, table));
    let mut found: Vec<String> = report.findings.iter().map(line).collect();
    found.extend(report.unread.iter().map(|unread| format!("unread {}", unread.place.line)));
    let mut unrendered: Vec<String> =
        report.unrendered.iter().map(|unrendered| format!("unrendered {}", unrendered.what)).collect();
    unrendered.sort();
    found.extend(unrendered);
    found
}

fn line(finding: &Finding) -> String {
    let name = finding.full_name();
    let holder = finding.holder.as_ref().map(|holder| format!(" ({})", holder.trim())).unwrap_or_default();
    format!(
        "{} {} {} {} {} {}{holder}",
        finding.place.line,
        finding.used,
        if name.is_empty() { "-" } else { &name },
        finding.severity.word(),
        finding.evidence.word(),
        finding.confidence.word()
    )
}

fn text(case: &Case) -> String {
    let mut text = case.input.clone();
    if case.option("no-eol").is_some() {
        text.truncate(text.trim_end_matches('\n').len());
    }
    if case.option("crlf").is_some() {
        text = text.replace('\n', "\r\n");
    }
    if case.option("bom").is_some() {
        text.insert(0, '\u{feff}');
    }
    match case.option("helm") {
        Some(storage) => dump(storage, case.option("status").unwrap_or("deployed"), &text),
        None => text,
    }
}

/// An object of a dump that keeps a release.
fn dump(storage: &str, status: &str, manifest: &str) -> String {
    let v3 = serde_json::json!({
        "name": "web",
        "namespace": "shop",
        "version": 3,
        "info": {"status": status},
        "chart": {"templates": [{"name": "a", "data": "eA=="}]},
        "manifest": manifest,
    });
    let v3 = encode(&gzip(v3.to_string().as_bytes()));
    let v2 = encode(&gzip(&tiller(manifest)));
    let name = "sh.helm.release.v1.web.v3";
    let (kind, labels, name, data) = match storage {
        "secret" => ("Secret", "owner: helm, status: deployed", name, encode(v3.as_bytes())),
        "configmap" => ("ConfigMap", "owner: helm", name, v3),
        "tiller-configmap" => ("ConfigMap", "OWNER: TILLER", "web.v3", v2),
        "tiller-secret" => ("Secret", "OWNER: TILLER", "web.v3", encode(v2.as_bytes())),
        other => panic!("no storage {other}"),
    };
    format!(
        "apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}, labels: {{{labels}}}}}\ndata:\n  release: {data}\n"
    )
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A message of `hapi.release.Release` with name, status, manifest and version.
fn tiller(manifest: &str) -> Vec<u8> {
    let bytes = |number: u8, value: &[u8]| {
        let mut field = vec![number << 3 | 2];
        let mut length = value.len();
        while length >= 0x80 {
            field.push(length as u8 | 0x80);
            length >>= 7;
        }
        field.push(length as u8);
        field.extend(value);
        field
    };
    let mut message = bytes(1, b"web");
    message.extend(bytes(2, &bytes(1, &[0x08, 0x01])));
    message.extend(bytes(5, manifest.as_bytes()));
    message.extend([0x38, 0x03]);
    message
}
