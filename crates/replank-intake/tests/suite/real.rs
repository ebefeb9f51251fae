//! Dumps of a real control plane and public manifests, from the directory that `REPLANK_DATA` names: its
//! `snapshots/*.json.gz` and `manifests/`. Without it nothing is tested, and that is printed.

use std::path::{Path, PathBuf};

use replank_intake::document::Found;
use replank_intake::limits::Limits;
use replank_intake::now::Basis;
use replank_intake::problem::{Lost, ProblemKind};
use replank_intake::read::read;
use replank_intake::snapshot::{Options, Snapshot};
use replank_intake::source::Source;
use replank_model::object::render;
use replank_oracle::tell::tell;
use serde_json::Value;

fn data(below: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os("REPLANK_DATA") else {
        tell("skipped: REPLANK_DATA is not set");
        return None;
    };
    let path = Path::new(&root).join(below);
    if !path.is_dir() {
        tell(format!("skipped: {} is not there", path.display()));
        return None;
    }
    Some(path)
}

fn snapshots() -> Vec<PathBuf> {
    let Some(directory) = data("snapshots") else { return Vec::new() };
    let entries =
        std::fs::read_dir(directory).expect("it is a directory").map(|entry| entry.expect("readable").path());
    let mut paths: Vec<_> = entries.filter(|path| path.to_string_lossy().ends_with(".json.gz")).collect();
    paths.sort();
    assert!(!paths.is_empty(), "REPLANK_DATA has snapshots/, and no *.json.gz in there");
    paths
}

/// The line that a dump's page has for its heartbeat, and its counts by kind.
fn promised(path: &Path) -> Option<(String, u64)> {
    let page = path.to_string_lossy().replace(".json.gz", ".README.md");
    let page = std::fs::read_to_string(page).ok()?;
    let (_, heartbeat) = page.split_once("Latest node heartbeat: ")?;
    let (_, counts) = page.split_once("Counts: ")?;
    let (counts, _) = counts.split_once(". ")?;
    let total = counts.split(", ").filter_map(|count| count.rsplit_once(' ')?.1.parse::<u64>().ok()).sum();
    Some((heartbeat.split_whitespace().next()?.to_owned(), total))
}

#[test]
fn dumps_of_a_control_plane() {
    for path in snapshots() {
        let snapshot =
            Snapshot::load(vec![Source::Path(path.clone())], &Options::default()).expect("it can be read");
        tell(format!("{}: {:?}", path.display(), snapshot.summary));
        assert_eq!(snapshot.problems, [], "{}", path.display());
        assert_eq!(snapshot.summary.documents, snapshot.objects.len() as u64);
        let now = snapshot.now.expect("nodes have heartbeats");
        assert_eq!(now.basis, Basis::Heartbeat);
        match promised(&path) {
            Some((heartbeat, objects)) => {
                assert_eq!(now.time.to_string(), heartbeat, "{}", path.display());
                assert_eq!(snapshot.objects.len() as u64, objects, "{}", path.display());
            }
            None => tell(format!("no page says what {} holds", path.display())),
        }
    }
}

/// Nulls and empty members say nothing; and the API server's lists leave times in whole seconds as they are.
fn told(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().filter(|(_, member)| !member.is_null());
            Value::Object(members.map(|(key, member)| (key.clone(), told(member))).collect())
        }
        Value::Array(values) => Value::Array(values.iter().map(told).collect()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other.clone(),
    }
}

#[test]
fn nothing_of_a_dump_is_lost_on_the_way_to_objects() {
    for path in snapshots() {
        let mut values = Vec::new();
        read(vec![Source::Path(path.clone())], &Limits::default(), &mut |found| match found {
            Found::Document(document) => values.push(document.value),
            Found::List { .. } => {}
            Found::Problem(problem) => panic!("{problem}"),
        })
        .expect("it can be read");
        let snapshot =
            Snapshot::load(vec![Source::Path(path.clone())], &Options::default()).expect("it can be read");
        let key = |value: &Value| {
            let text =
                |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
            (text("/kind"), text("/apiVersion"), text("/metadata/namespace"), text("/metadata/name"))
        };
        let mut rendered: Vec<_> = snapshot.objects.iter().map(render).collect();
        rendered.sort_by_key(key);
        values.sort_by_key(key);
        assert_eq!(rendered.len(), values.len());
        for (rendered, value) in rendered.iter().zip(&values) {
            assert_eq!(told(rendered), told(value), "{:?} of {}", key(value), path.display());
        }
    }
}

#[test]
fn dumps_do_not_depend_on_how_they_are_given() {
    let paths = snapshots();
    if paths.len() < 2 {
        return;
    }
    let load = |paths: &[&PathBuf]| {
        let sources = paths.iter().map(|path| Source::Path(path.to_path_buf())).collect();
        Snapshot::load(sources, &Options::default()).expect("they can be read")
    };
    let (a, b) = (load(&[&paths[0], &paths[1]]), load(&[&paths[1], &paths[0]]));
    assert!(a.objects == b.objects && a.now == b.now);
    assert_eq!(a.summary.duplicates, b.summary.duplicates);
}

#[test]
fn public_manifests() {
    let Some(directory) = data("manifests") else { return };
    let (mut documents, mut losses) = (0, Vec::new());
    let report = read(vec![Source::Path(directory)], &Limits::default(), &mut |found| match found {
        Found::Document(_) => documents += 1,
        Found::Problem(problem) if problem.lost == Lost::Nothing => {
            assert!(matches!(problem.kind, ProblemKind::DuplicateKey { .. }), "{problem}");
        }
        Found::List { .. } => {}
        Found::Problem(problem) => losses.push(problem),
    })
    .expect("it can be read");
    tell(format!("{} files, {documents} documents, {} problems", report.sources.len(), losses.len()));
    assert!(documents >= 500, "{documents}");
    // All that cannot be read are templates that were never rendered.
    for problem in losses {
        let source = problem.place.source.to_string();
        assert!(source.contains("template"), "{problem}");
        assert!(problem.to_string().contains("this looks like a template; render it first"), "{problem}");
    }
}
