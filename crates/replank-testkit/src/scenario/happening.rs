//! The section `happenings`: what others do, and what goes wrong, at moments of the roll.

use replank_model::object::Kind;
use replank_model::object::meta::Key;
use replank_model::time::Span;
use serde_json::{Value, json};

use super::cluster::{self, Declared};
use super::file::Flaw;
use super::words::{self, Line};

/// One thing that happens.
#[derive(Clone, Debug)]
pub(super) struct Happening {
    pub(super) line: usize,
    /// After so long; `None`: before the roll.
    pub(super) at: Option<Span>,
    /// The words in the file.
    pub(super) text: String,
    pub(super) what: What,
}

/// What happens.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// The kubelet of a pod does something.
    Pod(Key, PodDoes),
    /// A machine goes off.
    Silence(String),
    /// It is on again.
    Wake(String),
    /// A person cordons a node, or uncordons it.
    Cordon(String, bool),
    /// A person taints a node.
    Taint(String, Value),
    /// A person scales something.
    Scale(Kind, Key, u32),
    /// A person deletes something.
    Delete(Kind, Key),
    /// A person changes something by a merge patch.
    Patch(Kind, Key, Value),
    /// A person makes something.
    Create(Vec<Value>),
    /// Replank starts anew and remembers nothing.
    Restart,
}

/// What a pod does.
#[derive(Clone, Debug)]
pub(super) enum PodDoes {
    Ready,
    Unready,
    Exit(i32),
    /// Its deletion will never be finished.
    Stick,
    /// It will.
    Unstick,
}

const EXPECTED: &str = "one of: `pod ns/name unready`, `pod ns/name ready`, `pod ns/name exits 1`, `pod ns/name gets stuck`, \
    `pod ns/name gets unstuck`, `node name falls silent`, `node name speaks again`, `somebody cordons name`, \
    `somebody uncordons name`, `somebody taints name k=v:Effect`, `somebody scales kind ns/name to 3`, \
    `somebody deletes kind ns/name`, `somebody labels kind ns/name k=v`, `somebody patches kind ns/name {json}`, \
    `somebody creates kind ns/name: clauses`, `replank restarts`";

pub(super) fn read(lines: &[(usize, &str)]) -> Result<Vec<Happening>, Flaw> {
    let mut all: Vec<Happening> =
        lines.iter().map(|(number, text)| one(*number, text)).collect::<Result<_, _>>()?;
    all.sort_by_key(|happening| happening.at);
    Ok(all)
}

fn one(line: usize, text: &str) -> Result<Happening, Flaw> {
    let form = || Flaw::new(line, format!("expected `at 5m: …` or `before: …`, found {text:?}"));
    let (head, rest) = text.split_once(": ").ok_or_else(form)?;
    let at = match head.strip_prefix("at ") {
        Some(moment) => Some(words::span(moment).ok_or_else(form)?),
        None if head == "before" => None,
        None => return Err(form()),
    };
    let what = what(line, rest)?;
    let what = what.ok_or_else(|| Flaw::new(line, format!("expected {EXPECTED}; found {rest:?}")))?;
    Ok(Happening { line, at, text: rest.to_owned(), what })
}

fn what(line: usize, text: &str) -> Result<Option<What>, Flaw> {
    let parts: Vec<&str> = text.split(' ').collect();
    Ok(Some(match parts.as_slice() {
        ["pod", name, does @ ..] => match pod_does(does) {
            Some(does) => What::Pod(words::key(line, name)?, does),
            None => return Ok(None),
        },
        ["node", name, "falls", "silent"] => What::Silence((*name).to_owned()),
        ["node", name, "speaks", "again"] => What::Wake((*name).to_owned()),
        ["somebody", "cordons", name] => What::Cordon((*name).to_owned(), true),
        ["somebody", "uncordons", name] => What::Cordon((*name).to_owned(), false),
        ["somebody", "taints", name, taint] => match words::taint(taint) {
            Some(taint) => What::Taint((*name).to_owned(), taint),
            None => return Ok(None),
        },
        ["somebody", "scales", kind, name, "to", count] => match count.parse() {
            Ok(count) => What::Scale(known_kind(line, kind)?, words::key(line, name)?, count),
            Err(_) => return Ok(None),
        },
        ["somebody", "deletes", kind, name] => What::Delete(known_kind(line, kind)?, words::key(line, name)?),
        ["somebody", "labels", kind, name, pair] => {
            let Some((key, value)) = pair.split_once('=') else { return Ok(None) };
            let patch = json!({"metadata": {"labels": {key: value}}});
            What::Patch(known_kind(line, kind)?, words::key(line, name)?, patch)
        }
        ["somebody", "patches", kind, name, rest @ ..] => {
            let patch = serde_json::from_str(&rest.join(" "))
                .map_err(|error| Flaw::new(line, format!("expected a merge patch in JSON: {error}")))?;
            What::Patch(known_kind(line, kind)?, words::key(line, name)?, patch)
        }
        ["somebody", "creates", rest @ ..] => What::Create(creation(line, &rest.join(" "))?),
        ["replank", "restarts"] => What::Restart,
        _ => return Ok(None),
    }))
}

fn pod_does(words: &[&str]) -> Option<PodDoes> {
    match words {
        ["ready"] => Some(PodDoes::Ready),
        ["unready"] => Some(PodDoes::Unready),
        ["exits", code] => code.parse().ok().map(PodDoes::Exit),
        ["gets", "stuck"] => Some(PodDoes::Stick),
        ["gets", "unstuck"] => Some(PodDoes::Unstick),
        _ => None,
    }
}

fn known_kind(line: usize, word: &str) -> Result<Kind, Flaw> {
    let word = if word == "pdb" { "poddisruptionbudget" } else { word };
    let known = Kind::TYPED.iter().find(|kind| kind.as_str().eq_ignore_ascii_case(word));
    known
        .copied()
        .ok_or_else(|| Flaw::new(line, format!("expected a kind such as deployment, found {word:?}")))
}

fn creation(line: usize, text: &str) -> Result<Vec<Value>, Flaw> {
    Ok(match cluster::declared(&Line::read(line, text)?)? {
        Declared::Workload(workload, mut objects) => {
            objects.extend(workload.object(workload.count));
            objects.extend(workload.own_pods());
            objects
        }
        Declared::Object(object) => vec![object],
    })
}
