//! Manifests before and after, from `testdata/fix`; whatever is written is looked at by the validator, the lifecycle table and a
//! reader that share no code with what wrote it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use replank_intake::document::Found;
use replank_intake::limits::Limits;
use replank_intake::read;
use replank_intake::source::Source;
use replank_lifecycle::Measure;
use replank_lifecycle::finding::Range;
use replank_lifecycle::fix::{self, Fixed, Scanner};
use replank_lifecycle::release::Release;
use replank_lifecycle::scan::{self, Hint};
use replank_lifecycle::schema::Schema;
use replank_lifecycle::table::{Gvk, Product, Stage, Table};
use replank_oracle::tell::tell;
use serde_json::Value;

fn measure(target: &str, current: Option<&str>) -> Measure {
    let release = |text: &str| text.parse::<Release>().unwrap();
    Measure {
        table: Table::embedded(),
        range: Range { current: current.map(release), target: release(target) },
        products: [].into(),
    }
}

fn fixed(measure: &Measure, schema: &Schema, text: &str) -> Fixed {
    fix::fix(measure, schema, &Arc::from("x.yaml"), text, &Hint::default(), &|_| false)
}

/// Objects as another reader sees them.
fn objects(text: &str) -> Vec<Value> {
    let mut seen = Vec::new();
    let source = Source::bytes("x", text.as_bytes());
    read::read(vec![source], &Limits::default(), &mut |found| {
        if let Found::Document(document) = found {
            seen.push(document.value.clone());
        }
    })
    .unwrap();
    seen
}

/// What holds of every text that was fixed.
fn hold_promises(measure: &Measure, schema: &Schema, text: &str, fixed: &Fixed, case: &str) {
    // A second run finds nothing to change, and leaves what the first one left.
    let again = self::fixed(measure, schema, &fixed.text);
    assert_eq!(again.text, fixed.text, "{case}: a second run changes something");
    assert!(again.changes.is_empty(), "{case}: {:?}", again.changes);
    assert_eq!(again.left.len(), fixed.left.len(), "{case}");
    // On one way through the same is found and fixed, and what a second scan would find is known.
    let name: Arc<str> = Arc::from("x.yaml");
    let scan = |text: &str| scan::scan(measure, &name, text, &Hint::default());
    let once = Scanner::new(measure, schema).text(&name, text, &Hint::default(), &|_| false);
    assert_eq!(once.report, scan(text), "{case}");
    let is_fixed = !(fixed.changes.is_empty() && fixed.left.is_empty());
    assert_eq!(once.fixed.as_ref(), is_fixed.then_some(fixed), "{case}");
    let told = |report: scan::Report| (report.findings, report.unread, report.unrendered, report.left_out);
    let is_changed = !fixed.hunks.is_empty();
    assert_eq!(once.after.map(told), is_changed.then(|| told(scan(&fixed.text))), "{case}");
    // No byte is changed outside of the lines that are told.
    let (old, new): (Vec<&str>, Vec<&str>) =
        (text.split_inclusive('\n').collect(), fixed.text.split_inclusive('\n').collect());
    let (mut at, mut to) = (0, 0);
    for hunk in &fixed.hunks {
        let same = hunk.line - 1 - at;
        assert_eq!(old[at..at + same], new[to..to + same], "{case}: before line {}", hunk.line);
        (at, to) = (at + same, to + same);
        assert!(
            hunk.old.iter().eq(old[at..at + hunk.old.len()].iter().copied()),
            "{case}: line {}",
            hunk.line
        );
        assert!(
            hunk.new.iter().eq(new[to..to + hunk.new.len()].iter().copied()),
            "{case}: line {}",
            hunk.line
        );
        assert!(hunk.old != hunk.new, "{case}: line {}", hunk.line);
        (at, to) = (at + hunk.old.len(), to + hunk.new.len());
    }
    assert_eq!(old[at..], new[to..], "{case}: behind the last change");
    // What was written is accepted.
    let found = objects(&fixed.text);
    for change in fixed.changes.iter().filter(|change| change.field.is_none()) {
        match measure.table.lookup_gvk(&change.to) {
            Some(row) if row.product == Product::Kubernetes => {
                let stage = row.stage(measure.range.target);
                assert!(
                    matches!(stage, Stage::Served | Stage::Deprecated),
                    "{case}: {} is {stage:?}",
                    change.to
                );
            }
            Some(row) => assert!(row.removed.is_none(), "{case}: {} is gone", change.to),
            // Of products the table has rows of what ends only, each with its successor.
            None => {
                let named =
                    measure.table.rows().iter().any(|row| row.replacement.as_ref() == Some(&change.to));
                assert!(named, "{case}: the table does not know {}", change.to);
            }
        }
        let is_it = |value: &&Value| {
            let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            Gvk::of(text("/apiVersion"), text("/kind")) == change.to
                && (text("/metadata/name") == change.name || change.name.is_empty())
        };
        let written: Vec<&Value> = found.iter().filter(is_it).collect();
        assert!(
            !written.is_empty() || change.to.kind.ends_with("List"),
            "{case}: {} is not there",
            change.to
        );
        if schema.serves(&change.to) {
            for value in written {
                assert_eq!(schema.check(value), [], "{case}: {}", change.name);
            }
        }
    }
}

fn told(fixed: &Fixed) -> String {
    let mut told = String::new();
    for change in &fixed.changes {
        let field = change.field.map(|field| format!("{field}: ")).unwrap_or_default();
        writeln!(
            told,
            "{}: {field}{} is {} {}",
            change.place.line,
            change.from,
            change.to.api_version(),
            change.name
        )
        .unwrap();
        for note in &change.notes {
            writeln!(told, "   {note}").unwrap();
        }
    }
    for left in &fixed.left {
        writeln!(told, "{}: {} is left: {}", left.place.line, left.used, left.why).unwrap();
    }
    told
}

/// The same manifests in other forms.
fn variants(input: &str) -> Vec<(&'static str, String)> {
    let found = objects(input);
    let lines = |print: fn(&Value) -> String| found.iter().map(print).collect::<Vec<_>>().join("\n");
    let mut items = "apiVersion: v1\nkind: List\nitems:\n".to_owned();
    for document in input.split("---\n") {
        for (number, line) in document.lines().enumerate() {
            let head = if number == 0 { "- " } else { "  " };
            items.push_str(&if line.is_empty() { "\n".to_owned() } else { format!("{head}{line}\n") });
        }
    }
    vec![
        ("with other line ends", input.replace('\n', "\r\n")),
        ("without the last line end", input.trim_end().to_owned()),
        ("behind a byte order mark", format!("\u{feff}{input}")),
        ("twice", format!("{input}---\n{input}")),
        ("as printed JSON", lines(|value| serde_json::to_string_pretty(value).unwrap())),
        ("as JSON in a line", lines(Value::to_string)),
        (
            "as a list in JSON",
            serde_json::json!({"apiVersion": "v1", "kind": "List", "items": found}).to_string(),
        ),
        ("as items of a list", items),
    ]
}

#[test]
fn whatever_the_form_the_objects_are_the_same() {
    let schema = Schema::embedded();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/fix");
    let mut compared = 0;
    for file in ["workloads", "network", "scaling", "control", "forms"] {
        let text = std::fs::read_to_string(directory.join(file).with_extension("txt")).unwrap();
        for case in text.split("=== ").skip(1) {
            let (name, rest) = case.split_once("\n>>> target ").unwrap();
            let (versions, rest) = rest.split_once('\n').unwrap();
            let input = format!("{}\n", rest.split("\n>>> fixed\n").next().unwrap());
            let target = versions.split(' ').next().unwrap();
            let measure = measure(target, None);
            let expected = objects(&fixed(&measure, &schema, &input).text);
            // What is in the way of one form is not in that of another; what is broken has no other form.
            let has_own = ["in the way", "is broken"].iter().any(|form| name.contains(form));
            for (form, variant) in variants(&input) {
                // JSON is not a YAML block, and typed lists are taken apart.
                if has_own
                    || (form == "as items of a list" && (input.starts_with('{') || name.contains("merged")))
                {
                    continue;
                }
                let case = format!("{name}, {form}");
                let fixed = fixed(&measure, &schema, &variant);
                hold_promises(&measure, &schema, &variant, &fixed, &case);
                let mut found = objects(&fixed.text);
                if form == "twice" {
                    assert_eq!(found.split_off(found.len() / 2), expected, "{case}");
                }
                assert_eq!(found, expected, "{case}:\n{}", fixed.text);
                compared += 1;
            }
        }
    }
    assert!(compared > 300, "{compared}");
}

fn cases(file: &Path) -> String {
    let schema = Schema::embedded();
    let text = std::fs::read_to_string(file).unwrap();
    let mut out = String::new();
    for case in text.split("=== ").skip(1) {
        let (name, rest) = case.split_once("\n>>> target ").unwrap();
        let (versions, rest) = rest.split_once('\n').unwrap();
        let input = rest.split("\n>>> fixed\n").next().unwrap().trim_end_matches('\n');
        let (target, current) = match versions.split_once(" current ") {
            Some((target, current)) => (target, Some(current)),
            None => (versions, None),
        };
        let measure = measure(target, current);
        let input = format!("{input}\n");
        let fixed = fixed(&measure, &schema, &input);
        hold_promises(&measure, &schema, &input, &fixed, name);
        let written = if fixed.text == input { String::new() } else { fixed.text.clone() };
        write!(
            out,
            "=== {name}\n>>> target {versions}\n{input}>>> fixed\n{written}>>> told\n{}\n",
            told(&fixed)
        )
        .unwrap();
    }
    out
}

#[test]
fn manifests_are_fixed_as_written_down() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/fix");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "txt"));
    files.sort();
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let made = cases(&file);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, &made).unwrap();
        } else {
            let expected = std::fs::read_to_string(&file).unwrap();
            for (made, expected) in made.split("=== ").zip(expected.split("=== ")) {
                assert_eq!(made, expected, "{}: UPDATE_GOLDEN=1 writes it anew", file.display());
            }
            assert_eq!(made, expected, "{}", file.display());
        }
    }
}

/// Public manifests, as they are and set back by ten years: whatever is left at an old version is told.
#[test]
fn public_manifests_keep_their_form() {
    let Some(found) = crate::public::manifests() else { return };
    let (schema, measure) = (Schema::embedded(), measure("1.36", None));
    let (mut changed, mut left) = (0, 0);
    for (file, text) in found {
        let aged = aged(&text);
        for text in [text, aged.replace('\n', "\r\n"), aged] {
            let fixed = fixed(&measure, &schema, &text);
            hold_promises(&measure, &schema, &text, &fixed, &file.display().to_string());
            comments_survive(&text, &fixed, &file);
            // Whatever is not changed is told.
            let name: Arc<str> = Arc::from("x.yaml");
            let report = scan::scan(&measure, &name, &fixed.text, &Hint::default()).finish(&measure);
            let of_manifests = report
                .findings
                .iter()
                .filter(|finding| matches!(finding.evidence, replank_lifecycle::finding::Evidence::Manifest));
            assert!(of_manifests.count() <= fixed.left.len(), "{}: {:?}", file.display(), fixed.left);
            changed += fixed.changes.len();
            left += fixed.left.len();
        }
    }
    tell(format!("{changed} objects changed, {left} left"));
    assert!(changed > 240, "{changed} objects were changed");
}

/// Newer versions under the names of older ones that have the same fields, or need what these manifests write anyway.
fn aged(text: &str) -> String {
    let mut text = text.replace("\r\n", "\n");
    for (new, old, kinds) in [
        ("apps/v1", "extensions/v1beta1", &["Deployment", "DaemonSet", "ReplicaSet"][..]),
        ("apps/v1", "apps/v1beta1", &["StatefulSet"][..]),
        (
            "rbac.authorization.k8s.io/v1",
            "rbac.authorization.k8s.io/v1beta1",
            &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"][..],
        ),
        ("policy/v1", "policy/v1beta1", &["PodDisruptionBudget"][..]),
        ("batch/v1", "batch/v1beta1", &["CronJob"][..]),
        ("networking.k8s.io/v1", "extensions/v1beta1", &["NetworkPolicy"][..]),
        ("storage.k8s.io/v1", "storage.k8s.io/v1beta1", &["StorageClass"][..]),
        ("autoscaling/v2", "autoscaling/v2beta2", &["HorizontalPodAutoscaler"][..]),
    ] {
        for kind in kinds {
            for quote in ["", "\""] {
                let line = |version: &str| format!("apiVersion: {quote}{version}{quote}\nkind: {kind}\n");
                text = text.replace(&line(new), &line(old));
                let json = |version: &str| format!("\"apiVersion\": \"{version}\",\n  \"kind\": \"{kind}\"");
                text = text.replace(&json(new), &json(old));
            }
        }
    }
    text
}

/// Every comment of a text is in it afterwards.
fn comments_survive(text: &str, fixed: &Fixed, file: &Path) {
    for hunk in &fixed.hunks {
        for line in hunk.old.iter() {
            if let Some(comment) = line.trim().strip_prefix('#').filter(|comment| !comment.is_empty()) {
                assert!(fixed.text.contains(comment), "{}: {comment} of {}", file.display(), text.len());
            }
        }
    }
}
