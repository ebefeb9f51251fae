//! What is written is read again, whatever was cut off.

use std::fs;
use std::path::{Path, PathBuf};

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::view::{Change, View};
use serde_json::json;

use super::{Files, Journal, JournalError, LOG_MAX, Whole};

fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("replank-journal-{}-{name}", std::process::id()));
    drop(fs::remove_dir_all(&dir));
    dir
}

fn config_map(name: &str, version: u64, text: &str) -> Object {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": text},
        "metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": version.to_string()}});
    Object::from_json(object).expect("it is well formed")
}

fn whole(version: u64, objects: Vec<Object>) -> Whole {
    Whole { version, time: 1_000, objects, memory: "{\"a\":1}".to_owned() }
}

fn put(view: &mut View, name: &str, version: u64, text: &str) -> Vec<Change> {
    vec![view.apply(Delta::Put(config_map(name, version, text)))]
}

fn opened(dir: &Path) -> (Files, super::Kept) {
    let (files, kept) = Files::open(dir, "v1.36.2").expect("it is ours");
    (files, kept.expect("there is a state"))
}

fn names(kept: &super::Kept) -> Vec<String> {
    kept.objects.iter().map(|object| object.meta().name.to_string()).collect()
}

#[test]
fn a_torn_tail_is_cut_off_and_the_rest_is_there() {
    let dir = scratch("torn");
    let (files, kept) = Files::open(&dir, "v1.36.2").expect("it is new");
    assert!(kept.is_none());
    let mut journal = Journal::begin(files, &whole(5, vec![config_map("a", 5, "x")])).expect("there is room");
    let mut view = View::default();
    journal.write(6, 2_000, &put(&mut view, "b", 6, "y"), "{\"a\":2}").expect("there is room");
    let len = fs::metadata(dir.join("log.1")).expect("it is there").len();
    journal.write(7, 3_000, &put(&mut view, "c", 7, "z"), "{\"a\":2}").expect("there is room");
    drop(journal);
    let log = fs::read(dir.join("log.1")).expect("it is there");
    fs::write(dir.join("log.1"), &log[..log.len() - 3]).expect("there is room");
    let (files, kept) = opened(&dir);
    assert_eq!((names(&kept), kept.version, kept.time), (vec!["a".to_owned(), "b".to_owned()], 6, 2_000));
    assert_eq!((kept.memory.as_str(), kept.log_len), ("{\"a\":2}", len));
    // What is written next comes after what is whole.
    let mut journal = Journal::resume(files, kept.version).expect("it is there");
    let gone = view.apply(Delta::Gone(config_map("b", 6, "y").reference()));
    journal.write(8, 4_000, &[gone], "{\"a\":2}").expect("there is room");
    drop(journal);
    let (_files, kept) = opened(&dir);
    assert_eq!((names(&kept), kept.version), (vec!["a".to_owned()], 8));
}

#[test]
fn a_version_is_kept_that_no_object_shows() {
    let dir = scratch("version");
    let (files, _) = Files::open(&dir, "v1.36.2").expect("it is new");
    let mut journal = Journal::begin(files, &whole(5, Vec::new())).expect("there is room");
    journal.write(9, 2_000, &[], "{\"a\":1}").expect("there is room");
    drop(journal);
    assert_eq!(opened(&dir).1.version, 9);
}

#[test]
fn a_long_log_is_replaced_while_changes_go_on() {
    let dir = scratch("long");
    let (files, _) = Files::open(&dir, "v1.36.2").expect("it is new");
    let mut journal = Journal::begin(files, &whole(1, Vec::new())).expect("there is room");
    let mut view = View::default();
    let text = "x".repeat(1024 * 1024);
    let mut version = 1;
    for _ in 0..=LOG_MAX / (1024 * 1024) {
        version += 1;
        journal.write(version, 2_000, &put(&mut view, "a", version, &text), "{}").expect("there is room");
        journal
            .compact(|| Whole { version, time: 2_000, objects: view.objects(), memory: "{}".to_owned() })
            .expect("there is room");
    }
    version += 1;
    journal.write(version, 3_000, &put(&mut view, "b", version, "y"), "{}").expect("there is room");
    drop(journal);
    assert!(!dir.join("log.1").exists() && dir.join("log.2").exists());
    let (_files, kept) = opened(&dir);
    assert_eq!((names(&kept), kept.version), (vec!["a".to_owned(), "b".to_owned()], version));
}

#[test]
fn a_directory_of_others_is_refused() {
    let dir = scratch("others");
    let (files, _) = Files::open(&dir, "v1.36.2").expect("it is new");
    assert!(matches!(Files::open(&dir, "v1.36.2"), Err(JournalError::Locked(_))));
    drop(Journal::begin(files, &whole(1, Vec::new())).expect("there is room"));
    assert!(matches!(Files::open(&dir, "v1.30.0"), Err(JournalError::Kubernetes { .. })));
    let state = fs::read(dir.join("state")).expect("it is there");
    let head = b"{\"format\":\"replank-cluster 9\"}";
    let mut other = Vec::new();
    super::frame::put(&mut other, head);
    fs::write(dir.join("state"), &other).expect("there is room");
    assert!(matches!(Files::open(&dir, "v1.36.2"), Err(JournalError::Version { .. })));
    fs::write(dir.join("state"), &state[..state.len() - 1]).expect("there is room");
    assert!(matches!(Files::open(&dir, "v1.36.2"), Err(JournalError::Damaged { .. })));
}
