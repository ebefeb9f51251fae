//! Tolerations (`ValidateTolerations`). The gate TaintTolerationComparisonOperators is off in 1.36: `Lt` and `Gt` are not
//! supported.

use super::error::{Causes, Shown};
use super::field::Field;
use super::names;
use crate::selector::validate::label_value_problems;

/// All of a pod.
pub(super) fn tolerations(field: &Field<'_>, causes: &mut Causes) {
    field.items().for_each(|toleration| one(&toleration, causes));
}

fn one(toleration: &Field<'_>, causes: &mut Causes) {
    let key = toleration.child("key");
    let operator = toleration.child("operator");
    let value = toleration.child("value").text();
    let effect = toleration.child("effect");
    if key.is_empty() {
        if operator.text() != "Exists" {
            let why =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            causes.invalid(&operator.path, Shown::word(operator.text()), why);
        }
    } else {
        names::qualified(&key.path, key.text(), causes);
    }
    if toleration.child("tolerationSeconds").is_set() && effect.text() != "NoExecute" {
        let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        causes.invalid(&effect.path, Shown::word(effect.text()), why);
    }
    match operator.text() {
        "Equal" | "" => {
            let problems = label_value_problems(value);
            if !problems.is_empty() {
                causes.invalid(&operator.path, Shown::text(value), problems.join(";"));
            }
        }
        "Exists" => {
            if !value.is_empty() {
                let why = "value must be empty when `operator` is 'Exists'";
                causes.invalid(&operator.path, Shown::text(value), why);
            }
        }
        word @ ("Lt" | "Gt") => {
            causes.not_supported(&operator.path, Shown::word(word), &["Equal", "Exists", "Lt", "Gt"]);
        }
        word => causes.not_supported(&operator.path, Shown::word(word), &["Equal", "Exists"]),
    }
    match effect.text() {
        "" | "NoSchedule" | "PreferNoSchedule" | "NoExecute" => {}
        word => {
            let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            causes.not_supported(&effect.path, Shown::word(word), &known);
        }
    }
}
