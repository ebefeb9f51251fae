//! From a line to what it says: its moment, then the form that its words have.

use replank_model::object::Kind;
use replank_model::object::cloud::{Market, TerminationPolicy};
use replank_model::object::meta::Key;
use replank_model::time::Span;
use serde_json::{Value, json};

use super::Flaw;
use super::form::{Form, forms};
use super::time::{When, span};
use super::what::What;
use crate::cloud::Rate;
use crate::kubelet::NodeTrouble;
use replank_model::object::cloud::ScalingProcess;

use super::args::Arg;
pub(super) use super::args::Args;

/// The moment of a line, the words behind it, and the column in which these begin.
///
/// # Errors
/// If there is none.
pub fn moment_and_words(line: usize, text: &str) -> Result<(When, &str, usize), Flaw> {
    let indent = text.len() - text.trim_start().len();
    let flaw = |column, found: &str| Flaw {
        line,
        column,
        message: format!("expected `at 5m: …`, `at 2026-01-05T09:15:00Z: …` or `before: …`, found {found:?}"),
    };
    let meant = &text[indent..];
    let Some((head, rest)) = meant.split_once(": ") else {
        return Err(flaw(indent + 1, meant));
    };
    let when = match head.strip_prefix("at ") {
        Some(moment) => When::read(moment.trim()).ok_or_else(|| flaw(indent + 4, moment))?,
        None if head == "before" => When::Before,
        None => return Err(flaw(indent + 1, head)),
    };
    let words = rest.trim_start();
    let column = text[..text.len() - words.len()].chars().count() + 1;
    Ok((when, words, column))
}

/// What the words of a line say that begin in a column.
///
/// # Errors
/// If no form fits; the message tells of the form that fits best up to the word that does not.
pub fn what_of(line: usize, column: usize, text: &str) -> Result<What, Flaw> {
    let words = words(text);
    let mut nearest: Vec<Miss> = Vec::new();
    for form in forms() {
        match fit(form, text, &words) {
            Ok(mut args) => return Ok(form.build(&mut args)),
            Err(miss) => match nearest.first().map(|known| known.word) {
                Some(word) if word > miss.word => {}
                Some(word) if word == miss.word => nearest.push(miss),
                Some(_) | None => nearest = vec![miss],
            },
        }
    }
    let at = nearest.first().map_or(0, |miss| miss.word);
    let found = words.get(at);
    let offset = found.map_or(text.len(), |(offset, _)| *offset);
    let mut expected: Vec<String> = nearest.into_iter().map(|miss| miss.expected).collect();
    expected.sort();
    expected.dedup();
    let found = found.map_or_else(|| "the end of the line".to_owned(), |(_, word)| format!("{word:?}"));
    let message = format!("expected {}, found {found}", one_of(&expected));
    Err(Flaw { line, column: column + text[..offset].chars().count(), message })
}

/// A word that does not fit a form, by its number, and what would.
struct Miss {
    word: usize,
    expected: String,
}

/// Words and where they begin.
fn words(text: &str) -> Vec<(usize, &str)> {
    let starts = text.split(' ').scan(0, |at, word| {
        let start = *at;
        *at += word.len() + 1;
        Some((start, word))
    });
    starts.filter(|(_, word)| !word.is_empty()).collect()
}

fn fit<'a>(form: &Form, text: &'a str, words: &[(usize, &'a str)]) -> Result<Args, Miss> {
    let mut args = Args::default();
    let mut kind = None;
    for (at, part) in form.pattern.split(' ').enumerate() {
        let miss = |expected: String| Miss { word: at, expected };
        let is_placeholder = part.starts_with(|letter: char| letter.is_ascii_uppercase());
        let Some((offset, word)) = words.get(at).copied() else {
            return Err(miss(wanted(part, kind)));
        };
        if !is_placeholder {
            if word != part {
                return Err(miss(wanted(part, kind)));
            }
            continue;
        }
        if part == "OBJECTS" {
            let objects = json_objects(&text[offset..]).map_err(miss)?;
            args.0.push_back(objects);
            return Ok(args);
        }
        if part == "BODY" {
            args.0.push_back(Arg::Word(text[offset..].to_owned()));
            return Ok(args);
        }
        if part == "PATCH" {
            let patch = serde_json::from_str(&text[offset..])
                .map_err(|error| miss(format!("a merge patch in JSON ({error})")))?;
            args.0.push_back(Arg::Json(patch));
            return Ok(args);
        }
        let arg = placeholder(part, word, kind).ok_or_else(|| miss(wanted(part, kind)))?;
        if let Arg::Kind(found) = arg {
            kind = Some(found);
        }
        args.0.push_back(arg);
    }
    let count = form.pattern.split(' ').count();
    match words.get(count) {
        Some(_) => Err(Miss { word: count, expected: "the end of the line".to_owned() }),
        None => Ok(args),
    }
}

/// What a word of a form may be.
fn wanted(part: &str, kind: Option<Kind>) -> String {
    match part {
        "IMAGE" => "an image such as ami-0abc".to_owned(),
        "BODY" => "a message".to_owned(),
        "MARKET" => "`spot`, `on-demand` or `any`".to_owned(),
        "CONDITION" => "`MemoryPressure`, `DiskPressure`, `PIDPressure` or `NetworkUnavailable`".to_owned(),
        "TYPE" => "an instance type or `any`".to_owned(),
        "ZONE" => "a zone or `any`".to_owned(),
        "RATE" => "a share such as 5% or 0.5%".to_owned(),
        "PROCESS" => "a process such as `Launch`, `Terminate` or `ReplaceUnhealthy`".to_owned(),
        "POLICIES" => "termination policies such as OldestInstance or NewestInstance,Default".to_owned(),
        "HOOK" => "the name of a lifecycle hook".to_owned(),
        "POD" => "NAMESPACE/NAME of a pod".to_owned(),
        "NODE" => "a node".to_owned(),
        "NODES" => "nodes with commas between them".to_owned(),
        "GROUP" => "a node group".to_owned(),
        "KIND" => "a kind such as deployment or node".to_owned(),
        "OBJECT" => match kind {
            Some(kind) if !kind.is_namespaced() => format!("the name of a {}", kind.as_str().to_lowercase()),
            Some(_) | None => "NAMESPACE/NAME".to_owned(),
        },
        "COUNT" => "a number".to_owned(),
        "CODE" => "an exit code".to_owned(),
        "DURATION" => "a duration such as 30s, 10m or 2d".to_owned(),
        "TAINT" => "a taint such as spot=true:NoSchedule".to_owned(),
        "KEY" => "a key".to_owned(),
        "KEY=VALUE" => "KEY=VALUE".to_owned(),
        "PATCH" => "a merge patch in JSON".to_owned(),
        "OBJECTS" => "an object in JSON".to_owned(),
        literal => format!("`{literal}`"),
    }
}

fn placeholder(part: &str, word: &str, kind: Option<Kind>) -> Option<Arg> {
    match part {
        "COUNT" => word.parse().ok().map(Arg::Count),
        "CODE" => word.parse().ok().map(Arg::Code),
        "MARKET" => market(word).map(Arg::Market),
        "CONDITION" => NodeTrouble::of(word).map(Arg::Trouble),
        "RATE" => Rate::read(word).map(Arg::Rate),
        "PROCESS" => ScalingProcess::of(word).map(Arg::Process),
        "POLICIES" => word.split(',').map(TerminationPolicy::of).collect::<Option<_>>().map(Arg::Policies),
        "DURATION" => span(word).filter(|span| *span >= Span::ZERO).map(Arg::Span),
        "KIND" => known_kind(word).map(Arg::Kind),
        "POD" => namespaced(word).map(Arg::Key),
        "OBJECT" => match kind {
            Some(kind) if !kind.is_namespaced() => {
                (!word.contains('/')).then(|| Arg::Key(Key::cluster(word)))
            }
            Some(_) | None => namespaced(word).map(Arg::Key),
        },
        "TAINT" => taint(word).map(Arg::Json),
        "KEY=VALUE" => {
            let (key, value) = word.split_once('=').filter(|(key, _)| !key.is_empty())?;
            Some(Arg::Pair(key.to_owned(), value.to_owned()))
        }
        // Names are whatever stands there: whether there is such a thing is seen when it happens.
        _ => Some(Arg::Word(word.to_owned())),
    }
}

/// `None` inside is any.
fn market(word: &str) -> Option<Option<Market>> {
    match word {
        "any" => Some(None),
        "spot" => Some(Some(Market::Spot)),
        "on-demand" => Some(Some(Market::OnDemand)),
        _ => None,
    }
}

fn namespaced(word: &str) -> Option<Key> {
    let (namespace, name) = word.split_once('/')?;
    let is_one = !namespace.is_empty() && !name.is_empty() && !name.contains('/');
    is_one.then(|| Key::new(namespace, name))
}

/// By kind, plural or usual short name, in any capitals.
fn known_kind(word: &str) -> Option<Kind> {
    let word = word.to_lowercase();
    let long = match word.as_str() {
        "pdb" => "poddisruptionbudget",
        "hpa" => "horizontalpodautoscaler",
        "pvc" => "persistentvolumeclaim",
        "pv" => "persistentvolume",
        other => other,
    };
    let is_it = |kind: &&Kind| kind.as_str().eq_ignore_ascii_case(long) || kind.plural() == long;
    Kind::TYPED.iter().find(is_it).copied()
}

/// `key=value:Effect` or `key:Effect`.
fn taint(text: &str) -> Option<Value> {
    let (head, effect) = text.rsplit_once(':')?;
    let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect);
    let (key, value) = head.split_once('=').unwrap_or((head, ""));
    known.then(|| json!({"key": key, "value": value, "effect": effect}))
}

fn json_objects(text: &str) -> Result<Arg, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("an object in JSON ({error})"))?;
    let objects = if let Value::Array(items) = value { items } else { vec![value] };
    let is_named = |object: &Value| object["kind"].is_string() && object["apiVersion"].is_string();
    if objects.iter().all(is_named) {
        Ok(Arg::Objects(objects))
    } else {
        Err("an object in JSON with apiVersion and kind".to_owned())
    }
}

fn one_of(expected: &[String]) -> String {
    match expected {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}
