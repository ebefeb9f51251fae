//! Tolerations that match no taint of any node: left over, or misspelt, so that the pods do not get where they should.

use std::collections::BTreeSet;

use replank_facts::taints::is_passing;
use replank_model::object::affinity::{Taint, TaintEffect, Toleration, TolerationOperator};
use serde_json::json;

use super::super::engine::Engine;
use super::super::ground::taint_text;
use super::super::near::nearest;
use super::super::remedy::{own_tolerations, patch};
use super::super::rule::{Finding, Rule, Severity};
use super::super::survey::{Subject, Survey};

/// Keys that manifests tolerate in case: no sign of a mistake.
const CUSTOMARY: [&str; 3] =
    ["node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane", "CriticalAddonsOnly"];

pub(super) fn find(survey: &Survey<'_>, _engine: &mut Engine) -> Vec<Finding> {
    let taints = taints(survey);
    let mut findings = Vec::new();
    for subject in survey.scheduled() {
        let own = own_tolerations(&subject.samples[0].pod);
        let dead =
            own.iter().filter(|one| is_asked(one) && !taints.iter().any(|taint| one.tolerates(taint, false)));
        for one in dead {
            findings.push(finding(survey, subject, &own, one, &taints));
        }
    }
    findings
}

/// The taints of all nodes, each once.
fn taints(survey: &Survey<'_>) -> Vec<Taint> {
    let mut seen = BTreeSet::new();
    let kinds = survey.ground.kinds().flat_map(|(_, kind)| kind.sample.spec.taints.iter());
    kinds.filter(|taint| seen.insert((&taint.key, &taint.value, taint.effect))).cloned().collect()
}

fn is_asked(one: &Toleration) -> bool {
    let passing = Taint::new(one.key.clone(), replank_model::object::affinity::TaintEffect::NoSchedule);
    !one.key.is_empty() && !is_passing(&passing) && !CUSTOMARY.contains(&&*one.key)
}

/// A toleration as kubectl describes it: `role=scaler:NoSchedule`, `role:NoSchedule op=Exists`.
fn text(one: &Toleration) -> String {
    let value = if one.value.is_empty() { String::new() } else { format!("={}", one.value) };
    let effect = one.effect.map(|effect| format!(":{effect}")).unwrap_or_default();
    match one.operator {
        Some(operator @ (TolerationOperator::Exists | TolerationOperator::Lt | TolerationOperator::Gt)) => {
            format!("{}{value}{effect} op={operator}", one.key)
        }
        Some(TolerationOperator::Equal) | None => format!("{}{value}{effect}", one.key),
    }
}

fn finding(
    survey: &Survey<'_>,
    subject: &Subject,
    own: &[Toleration],
    one: &Toleration,
    taints: &[Taint],
) -> Finding {
    let (told, meant) = match meant(one, taints) {
        Some((why, taint)) => (format!("{why} {}", taint_text(taint)), Some(taint)),
        None => ("no taint is similar".to_owned(), None),
    };
    let others = own.iter().filter(|other| *other != one).cloned();
    let corrected: Vec<Toleration> = match meant {
        Some(taint) => {
            let corrected = Toleration {
                key: taint.key.clone(),
                value: if one.operator == Some(TolerationOperator::Exists) {
                    "".into()
                } else {
                    taint.value.clone()
                },
                effect: one.effect.map(|_| taint.effect),
                // The API server takes seconds with NoExecute only.
                toleration_seconds: one
                    .toleration_seconds
                    .filter(|_| one.effect.is_none() || taint.effect == TaintEffect::NoExecute),
                ..one.clone()
            };
            let mut all: Vec<Toleration> = others.collect();
            if !all.contains(&corrected) {
                all.push(corrected);
            }
            all
        }
        None => others.collect(),
    };
    let command = patch(survey, subject, &json!({"tolerations": corrected}));
    Finding {
        rule: Rule::TolerationMatchesNothing,
        severity: if meant.is_some() { Severity::Warning } else { Severity::Info },
        object: subject.name.clone(),
        reason: format!("toleration {} matches no taint of any node: {told}", text(one)),
        remedy: match meant {
            Some(_) => command,
            None => command.note("or leave it, if nodes with that taint are planned"),
        },
    }
}

/// The taint that may be meant, if its own toleration is not there, and in what the toleration differs.
fn meant<'t>(one: &Toleration, taints: &'t [Taint]) -> Option<(&'static str, &'t Taint)> {
    let same_key = || taints.iter().filter(|taint| taint.key == one.key);
    // `Equal` without a value, where `Exists` was meant.
    let is_equal = !matches!(one.operator, Some(TolerationOperator::Exists));
    if is_equal
        && one.value.is_empty()
        && let Some(taint) = same_key().next()
    {
        return Some(("without a value it needs operator: Exists, or the value of", taint));
    }
    if let Some(taint) = same_key().find(|taint| taint.value == one.value || !is_equal) {
        return Some(("it has another effect than", taint));
    }
    let values: Vec<&str> = same_key().map(|taint| &*taint.value).collect();
    if let Some(value) = nearest(&one.value, values) {
        return same_key().find(|taint| &*taint.value == value).map(|taint| ("did you mean", taint));
    }
    if same_key().next().is_some() {
        return None;
    }
    let key = nearest(&one.key, taints.iter().map(|taint| &*taint.key))?;
    let near = || taints.iter().filter(|taint| &*taint.key == key);
    let same_value = near().find(|taint| taint.value == one.value || !is_equal);
    let taint = same_value.or_else(|| {
        let value = nearest(&one.value, near().map(|taint| &*taint.value))?;
        near().find(|taint| &*taint.value == value)
    });
    taint.map(|taint| ("did you mean", taint))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, node, remedies, service, tainted};
    use super::*;

    fn with(toleration: &Value) -> Vec<Value> {
        let nodes =
            vec![node("n", "web", "a"), tainted(node("m", "scaler", "a"), &["role=scaler:NoSchedule"])];
        [nodes, service("web", &["n"], &json!({"spec": {"tolerations": [toleration]}}))].concat()
    }

    #[test]
    fn misspelt_tolerations_are_found_with_what_is_meant() {
        for (toleration, told) in [
            (
                json!({"key": "role", "value": "sclaer", "effect": "NoSchedule"}),
                "did you mean role=scaler:NoSchedule",
            ),
            (json!({"key": "roles", "value": "scaler"}), "did you mean role=scaler:NoSchedule"),
            (json!({"key": "example.com/role", "operator": "Exists"}), "did you mean role=scaler:NoSchedule"),
            (
                json!({"key": "role", "value": "scaler", "effect": "NoExecute"}),
                "it has another effect than role=scaler:NoSchedule",
            ),
            (
                json!({"key": "role", "effect": "NoSchedule"}),
                "without a value it needs operator: Exists, or the value of role=scaler:NoSchedule",
            ),
        ] {
            let found = found(Rule::TolerationMatchesNothing, with(&toleration));
            assert!(
                found.len() == 1 && found[0].starts_with("warning") && found[0].ends_with(told),
                "{found:?}"
            );
        }
        let remedy = remedies(
            Rule::TolerationMatchesNothing,
            with(&json!({"key": "role", "value": "sclaer", "effect": "NoSchedule"})),
        );
        assert!(
            remedy[0].contains(r#"{"tolerations":[{"effect":"NoSchedule","key":"role","value":"scaler"}]}"#),
            "{remedy:?}"
        );
    }

    #[test]
    fn what_matches_or_is_customary_is_not_found_and_what_is_left_over_is_only_told() {
        for toleration in [
            json!({"key": "role", "value": "scaler"}),
            json!({"key": "role", "operator": "Exists"}),
            json!({"operator": "Exists"}),
            json!({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}),
            json!({"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}),
            json!({"key": "CriticalAddonsOnly", "operator": "Exists"}),
        ] {
            assert_eq!(found(Rule::TolerationMatchesNothing, with(&toleration)), [""; 0]);
        }
        let left = found(Rule::TolerationMatchesNothing, with(&json!({"key": "team", "value": "blue"})));
        assert!(left.len() == 1 && left[0].starts_with("info"), "{left:?}");
    }
}
