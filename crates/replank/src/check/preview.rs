//! `check --fix-preview`: what the proved changes do to each object.

use replank_advice::check::Finding;
use replank_facts::remedy::Way;
use replank_rehearse::FindingEntry;
use replank_rehearse::proof::{Preview, preview};
use serde::Serialize;
use serde_json::Value;

use super::Found;
use crate::failure::Failure;
use crate::report::words::grouped;
use crate::report::{Look, Page, Tone};

/// The version of the form.
const VERSION: &str = "replank.dev/fix-preview/v1alpha1";

/// What `--fix-preview -o json` prints; docs/check.md describes it.
#[derive(Serialize)]
struct Form<'a> {
    version: &'static str,
    remedies: &'a [Fixed],
}

/// One remedy.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fixed {
    /// The rule.
    id: &'static str,
    /// What it was found of.
    object: String,
    /// What is found.
    reason: String,
    /// As a person pastes it.
    commands: Vec<String>,
    /// What it touches.
    objects: Vec<Touched>,
    /// Why it cannot be made after those before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// One object, before and after.
#[derive(Debug, Serialize)]
struct Touched {
    object: String,
    before: Option<Value>,
    after: Option<Value>,
}

/// Each proved remedy of findings that count, with the objects that it touches.
pub(super) fn fixed(found: &Found, counts: &[FindingEntry]) -> Vec<Fixed> {
    let is_counted = |finding: &Finding| {
        let object = finding.object.to_string();
        counts
            .iter()
            .any(|one| one.id == finding.rule.id() && one.object == object && one.reason == finding.reason)
    };
    let all = found.findings.iter().zip(&found.proofs).filter(|(finding, _)| is_counted(finding));
    let proved: Vec<(&Finding, &Way)> =
        all.filter_map(|(finding, proofs)| Some((finding, proofs.way(&finding.remedy)?))).collect();
    let ways: Vec<&Way> = proved.iter().map(|(_, way)| *way).collect();
    let previews = preview(&found.ground, &ways);
    let fixed = proved.iter().zip(previews).map(|((finding, way), preview)| {
        let (objects, refused) = match preview {
            Ok(objects) => (objects, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        Fixed {
            id: finding.rule.id(),
            object: finding.object.to_string(),
            reason: finding.reason.clone(),
            commands: way.edits.iter().map(ToString::to_string).collect(),
            objects: objects
                .into_iter()
                .map(|Preview { object, before, after }| Touched { object, before, after })
                .collect(),
            refused,
        }
    });
    fixed.collect()
}

pub(super) fn json(remedies: &[Fixed]) -> Result<String, Failure> {
    let form = Form { version: VERSION, remedies };
    Ok(serde_json::to_string_pretty(&form).map_err(Failure::internal)? + "\n")
}

pub(super) fn text(remedies: &[Fixed], look: Look) -> String {
    let mut page = Page::new(look);
    let remedies_count = match remedies.len() {
        1 => "1 proved remedy".to_owned(),
        many => format!("{} proved remedies", grouped(many)),
    };
    page.heading("Preview", &remedies_count);
    for fixed in remedies {
        page.gap();
        let id = format!("[{}]", fixed.id);
        page.beside(2, &[(&fixed.object, Tone::Strong), (&id, Tone::Faint)]);
        page.wrapped(4, &fixed.reason, Tone::Plain);
        for command in &fixed.commands {
            page.verbatim(4, command, Tone::Note);
        }
        if let Some(why) = &fixed.refused {
            page.wrapped(6, &format!("not after those before it: {why}"), Tone::Warning);
        }
        for touched in &fixed.objects {
            let (sign, tone) = match (&touched.before, &touched.after) {
                (None, _) => ("+", Tone::Good),
                (_, None) => ("-", Tone::Bad),
                (Some(_), Some(_)) => ("~", Tone::Warning),
            };
            page.beside(6, &[(sign, tone), (&touched.object, Tone::Strong)]);
            let mut lines = Vec::new();
            differences("", touched.before.as_ref(), touched.after.as_ref(), &mut lines);
            for line in &lines {
                page.verbatim(10, line, Tone::Plain);
            }
        }
    }
    page.into_text()
}

/// The members that differ: `spec.replicas: 1 -> 2`. Of an object that is deleted none.
fn differences(path: &str, before: Option<&Value>, after: Option<&Value>, lines: &mut Vec<String>) {
    if before == after || (path.is_empty() && after.is_none()) {
        return;
    }
    let members = |value: Option<&Value>| match value {
        Some(Value::Object(members)) => members.keys().cloned().collect::<Vec<String>>(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) | None => {
            Vec::new()
        }
    };
    let mut keys = [members(before), members(after)].concat();
    keys.sort();
    keys.dedup();
    if keys.is_empty() {
        lines.push(match (before, after) {
            (None, Some(after)) => format!("{path}: {after}"),
            (Some(before), None) => format!("{path}: {before} -> (none)"),
            (Some(before), Some(after)) => format!("{path}: {before} -> {after}"),
            (None, None) => return,
        });
        return;
    }
    for key in keys {
        let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let of = |value: Option<&'_ Value>| value.and_then(|value| value.get(&key)).cloned();
        differences(&inner, of(before).as_ref(), of(after).as_ref(), lines);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_that_differ_are_told_by_their_paths() {
        let mut lines = Vec::new();
        let before = json!({"spec": {"replicas": 1, "paused": true}, "kept": [1]});
        let after = json!({"spec": {"replicas": 2}, "kept": [1], "metadata": {"name": "web"}});
        differences("", Some(&before), Some(&after), &mut lines);
        assert_eq!(lines, ["metadata.name: \"web\"", "spec.paused: true -> (none)", "spec.replicas: 1 -> 2"]);
        lines.clear();
        differences("", Some(&before), None, &mut lines);
        assert!(lines.is_empty(), "that it is deleted says it all");
    }
}
