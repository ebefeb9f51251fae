//! Pages of every kind: made by the program from the examples, two from documents that are changed before, and one of a large cluster.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use replank_testkit::big::BigCluster;
use serde_json::{Value, json};

use crate::bench_files::{Files, files};
use crate::root;

/// Nodes of a page that is as large as one may be.
pub(super) const NODES: usize = 5_000;

/// A page to look at.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) name: &'static str,
    pub(super) page: PathBuf,
    pub(super) kind: Kind,
}

/// How closely a page is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// In light, dark and narrow, by axe-core.
    Small,
    /// In light, by axe-core: that of a large cluster, really rehearsed, with so many nodes to replace.
    Rehearsed { nodes: usize },
    /// The same, of a cluster as large as one can be.
    Large,
    /// In light, without axe-core, which would take minutes: it has ten thousand rows that are like those of the first.
    MadeUp,
}

const SNAPSHOT: &str = "examples/job-site/snapshot.yaml";
const PLAN: &str = "examples/job-site/plan.yaml";
/// Rehearsals may find something, or be blocked: their pages are of interest, too.
const ENDS: [i32; 3] = [0, 3, 4];
/// Nodes of the large cluster that is rehearsed: a quarter of a minute of a processor without optimisation; 5,000 would be minutes, and axe-core would take longer still.
const REHEARSED: usize = 400;

/// What a message could have in it. Names of objects cannot.
const HOSTILE: &str = "</script></style></textarea><img src=//x.invalid/i onerror=\"document.title='broken in'\"><svg onload=x>'\"`&amp;\u{202e}";

/// The samples, or those with a text in their names.
pub(super) fn make(program: &Path, folder: &Path, only: Option<&str>) -> Result<Vec<Sample>> {
    let at = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let is_wanted = |name: &str| only.is_none_or(|part| name.contains(part));
    let mut samples = Vec::new();
    let mut sample = |name: &'static str, kind: Kind| {
        let page = folder.join(format!("{name}.html"));
        samples.push(Sample { name, page: page.clone(), kind });
        page.to_string_lossy().into_owned()
    };
    let rehearse = ["rehearse", SNAPSHOT, "-f", PLAN];
    let journal = at("journal.jsonl");
    let arguments = ["-o", "json", "--journal", &journal, "--html", &sample("job-site", Kind::Small)];
    let first = replank_does(program, &[&rehearse[..], &arguments].concat(), &ENDS)?;
    std::fs::write(at("first.json"), &first)?;
    let remedied = ["-o", "json", "--with-remedies", "all"];
    let second = replank_does(program, &[&rehearse[..], &remedied].concat(), &ENDS)?;
    std::fs::write(at("second.json"), second)?;
    let seeds = ["--seeds", "40", "--html", &sample("seeds", Kind::Small)];
    replank_does(program, &[&rehearse[..], &seeds].concat(), &ENDS)?;
    let bad = [
        "rehearse",
        "examples/bad-ami/snapshot.yaml",
        "-f",
        "examples/bad-ami/plan.yaml",
        "--script",
        "examples/bad-ami/script.txt",
    ];
    replank_does(program, &[&bad[..], &["--html", &sample("bad-ami", Kind::Small)]].concat(), &ENDS)?;
    let kept = ["rehearse", "examples/questions/keepers.yaml", "--roll", "web"];
    replank_does(program, &[&kept[..], &["--html", &sample("kept", Kind::Small)]].concat(), &ENDS)?;
    replank_does(program, &["report", &journal, "--html", &sample("journal", Kind::Small)], &[0])?;
    let both = [at("first.json"), at("second.json")];
    replank_does(
        program,
        &["diff", &both[0], &both[1], "--html", &sample("compared", Kind::Small)],
        &[0, 3],
    )?;
    let document: Value = serde_json::from_slice(&first).context("the program prints JSON")?;
    let changed = [("hostile", hostile(&document), Kind::Small), ("big", big(&document), Kind::MadeUp)];
    for (name, document, kind) in changed {
        let file = at(&format!("{name}.json"));
        std::fs::write(&file, document.to_string())?;
        replank_does(program, &["report", &file, "--html", &sample(name, kind)], &[0])?;
    }
    if is_wanted("rehearsed") {
        let Files { snapshot, plan, nodes, .. } = files(folder, BigCluster::of_nodes(REHEARSED))?;
        let [snapshot, plan] = [&snapshot, &plan].map(|path| path.to_string_lossy().into_owned());
        let page = sample("rehearsed", Kind::Rehearsed { nodes });
        replank_does(program, &["rehearse", &snapshot, "-f", &plan, "--html", &page], &ENDS)?;
    }
    samples.retain(|sample| is_wanted(sample.name));
    Ok(samples)
}

/// The document with the worst in every text that a person, a controller or a server could have written.
fn hostile(document: &Value) -> Value {
    const FREE: [&str; 16] = [
        "reason", "object", "remedy", "text", "what", "group", "zone", "name", "node", "value", "about",
        "schedule", "kind", "plan", "snapshot", "sentence",
    ];
    fn spoil(value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (key, member) in members {
                    match member {
                        Value::String(text) if FREE.contains(&key.as_str()) => text.push_str(HOSTILE),
                        Value::Null
                        | Value::Bool(_)
                        | Value::Number(_)
                        | Value::String(_)
                        | Value::Array(_)
                        | Value::Object(_) => spoil(member),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(spoil),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut document = document.clone();
    spoil(&mut document);
    document
}

/// The document with as many nodes as a large cluster has: each node of the example again and again, under other names.
fn big(document: &Value) -> Value {
    let mut document = document.clone();
    let nodes = document["timeline"].as_array().cloned().unwrap_or_default();
    let old = nodes.iter().filter(|node| node["old"] == json!(true)).count().max(1);
    let mut all = Vec::new();
    for copy in 0..NODES.div_ceil(old) {
        for (index, node) in nodes.iter().enumerate() {
            let mut node = node.clone();
            let name = format!("ip-10-{}-{}-{index}.ap-northeast-1.compute.internal", copy / 250, copy % 250);
            node["node"] = json!(name);
            node["instance"] = json!(format!("i-0{copy:08x}{index:08x}"));
            all.push(node);
        }
    }
    document["timeline"] = json!(all);
    document["nodes"]["total"] = json!(NODES);
    document["nodes"]["replaced"] = json!(NODES);
    let workloads = document["workloads"].as_array().cloned().unwrap_or_default();
    let again = (0..150).flat_map(|copy| {
        workloads.iter().map(move |workload| {
            let mut workload = workload.clone();
            workload["namespace"] = json!(format!("team-{copy}"));
            workload
        })
    });
    document["workloads"] = again.collect();
    document
}

/// Runs the program; what it says comes with an error.
fn replank_does(program: &Path, arguments: &[&str], ends: &[i32]) -> Result<Vec<u8>> {
    let output = Command::new(program).args(arguments).current_dir(root()).output()?;
    let code = output.status.code().unwrap_or(-1);
    ensure!(
        ends.contains(&code),
        "replank {}: exit code {code}\n{}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}
