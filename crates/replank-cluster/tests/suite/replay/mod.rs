//! Recorded requests are answered as Kubernetes answered them, byte for byte but for what differs between any two runs.

mod client;
mod compare;
mod normal;
mod run;

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Mutex;

use serde_json::Value;

use super::wire::Served;
use run::Run;

/// Scenarios that run at the same time.
const THREADS: usize = 10;

/// Scenarios that are not replayed, and why.
const SKIPPED: [(&str, &str); 5] = [
    ("crud-endpoints", "warnings of deprecation come from a table that only the program has"),
    ("pdb-job-min0", "it looks for a state that lasts a moment"),
    ("watch-list-bookmarks", "the recorded etcd 3.4 cannot serve initial events, and we do"),
    ("ctl-scheduler", "its messages count all nodes, and others make nodes meanwhile"),
    ("ctl-taint-eviction", "it waits for a toleration to end"),
];

/// Scenarios and their steps, by name.
type Scenarios = BTreeMap<String, (Value, Vec<Value>)>;

fn read(name: &str) -> Scenarios {
    let path = format!("{}/../../testdata/transcripts/{name}.public.jsonl.gz", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("it is gzip");
    let mut all = Scenarios::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let value: Value = serde_json::from_str(line).expect("a line is JSON");
        let name = value["scenario"].as_str().unwrap_or_default().to_owned();
        match value["op"] == "meta" {
            true => drop(all.insert(name, (value, Vec::new()))),
            false => all.entry(name).or_default().1.push(value),
        }
    }
    all
}

/// Replays scenarios; what was skipped is printed.
fn replay(scenarios: Scenarios) {
    let served = Served::begin(0);
    let (address, mut todo) = (served.address, Vec::new());
    for (number, (name, (meta, steps))) in scenarios.into_iter().enumerate() {
        let skipped = SKIPPED.iter().find(|(known, _)| *known == name).map(|(_, why)| *why);
        let extracts = steps.iter().any(|step| !step["extract"].is_null());
        match skipped.or(extracts.then_some("parts of large bodies are compared elsewhere")) {
            Some(why) => println!("not replayed: {name}: {why}"),
            None => todo.push((number, name, meta, steps)),
        }
    }
    let (todo, done) = (Mutex::new(todo), Mutex::new((0, Vec::new())));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let next = todo.lock().expect("nobody panics with it").pop();
                    let Some((number, name, meta, steps)) = next else { return };
                    let run = Run::new(address, number, &meta).all(&steps);
                    let mut done = done.lock().expect("nobody panics with it");
                    done.0 += run.compared;
                    done.1.extend(run.differences.into_iter().map(|why| format!("{name} {why}")));
                }
            });
        }
    });
    served.end();
    let (compared, differences) = done.into_inner().expect("nobody has panicked");
    println!("compared {compared} answers");
    assert!(compared > 500, "only {compared} answers were compared");
    assert!(differences.is_empty(), "{} answers differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn requests_are_answered_as_recorded() {
    replay(read("http"));
}

#[test]
fn budgets_and_evictions_are_answered_as_recorded() {
    replay(read("pdb"));
}
