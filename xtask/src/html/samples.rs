//! Pages of every kind: made by the program from the examples, and two from documents that are changed before.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::root;

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
    /// In light, dark and narrow: it has every part.
    Every,
    /// In light: it differs from the first in its parts, not in their looks.
    One,
    /// It has ten thousand rows.
    Big,
}

const SNAPSHOT: &str = "examples/job-site/snapshot.yaml";
const PLAN: &str = "examples/job-site/plan.yaml";
/// Rehearsals may find something, or be blocked: their pages are of interest, too.
const ENDS: [i32; 3] = [0, 3, 4];
/// Nodes to replace on the big page.
const NODES: usize = 5_000;

/// What a message could have in it. Names of objects cannot.
const HOSTILE: &str = "</script></style></textarea><img src=//x.invalid/i onerror=\"document.title='broken in'\"><svg onload=x>'\"`&amp;\u{202e}";

pub(super) fn make(program: &Path, folder: &Path) -> Result<Vec<Sample>> {
    let at = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let mut samples = Vec::new();
    let mut sample = |name: &'static str, kind: Kind| {
        let page = folder.join(format!("{name}.html"));
        samples.push(Sample { name, page: page.clone(), kind });
        page.to_string_lossy().into_owned()
    };
    let rehearse = ["rehearse", SNAPSHOT, "-f", PLAN];
    let journal = at("journal.jsonl");
    let arguments = ["-o", "json", "--journal", &journal, "--html", &sample("job-site", Kind::Every)];
    let first = replank_does(program, &[&rehearse[..], &arguments].concat(), &ENDS)?;
    std::fs::write(at("first.json"), &first)?;
    let remedied = ["-o", "json", "--with-remedies", "all"];
    let second = replank_does(program, &[&rehearse[..], &remedied].concat(), &ENDS)?;
    std::fs::write(at("second.json"), second)?;
    let seeds = ["--seeds", "12", "--html", &sample("seeds", Kind::One)];
    replank_does(program, &[&rehearse[..], &seeds].concat(), &ENDS)?;
    let bad = [
        "rehearse",
        "examples/bad-ami/snapshot.yaml",
        "-f",
        "examples/bad-ami/plan.yaml",
        "--script",
        "examples/bad-ami/script.txt",
    ];
    replank_does(program, &[&bad[..], &["--html", &sample("bad-ami", Kind::One)]].concat(), &ENDS)?;
    replank_does(program, &["report", &journal, "--html", &sample("journal", Kind::One)], &[0])?;
    let both = [at("first.json"), at("second.json")];
    replank_does(program, &["diff", &both[0], &both[1], "--html", &sample("compared", Kind::One)], &[0, 3])?;
    let document: Value = serde_json::from_slice(&first).context("the program prints JSON")?;
    let changed = [("hostile", hostile(&document), Kind::One), ("big", big(&document), Kind::Big)];
    for (name, document, kind) in changed {
        let file = at(&format!("{name}.json"));
        std::fs::write(&file, document.to_string())?;
        replank_does(program, &["report", &file, "--html", &sample(name, kind)], &[0])?;
    }
    Ok(samples)
}

/// The document with the worst in every text that a person, a controller or a server could have written.
fn hostile(document: &Value) -> Value {
    const FREE: [&str; 12] = [
        "reason", "object", "remedy", "what", "group", "zone", "name", "node", "value", "about", "schedule",
        "kind",
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
