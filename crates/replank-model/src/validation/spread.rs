//! Topology spread constraints and the label keys that narrow selectors (`validateTopologySpreadConstraints`,
//! `ValidateMatchLabelKeysAndMismatchLabelKeys`).

use std::collections::{BTreeMap, BTreeSet};

use super::error::{Causes, Shown};
use super::field::Field;
use super::{names, selectors};

/// All of a pod.
pub(super) fn constraints(field: &Field<'_>, causes: &mut Causes) {
    let all: Vec<Field<'_>> = field.items().collect();
    for (index, constraint) in all.iter().enumerate() {
        positive(&constraint.child("maxSkew"), causes);
        let key = constraint.child("topologyKey");
        if key.is_empty() {
            causes.required(&key.path, "can not be empty");
        }
        let action = constraint.child("whenUnsatisfiable");
        if !matches!(action.text(), "DoNotSchedule" | "ScheduleAnyway") {
            let known = ["DoNotSchedule", "ScheduleAnyway"];
            causes.not_supported(&action.path, Shown::word(action.text()), &known);
        }
        let is_same = |other: &Field<'_>| {
            other.child("topologyKey").text() == key.text()
                && other.child("whenUnsatisfiable").text() == action.text()
        };
        if all[index + 1..].iter().any(is_same) {
            let pair = format!("{{{}, {}}}", key.text(), action.text());
            causes.duplicate(constraint.at("{topologyKey, whenUnsatisfiable}"), Shown::text(&pair));
        }
        domains(&constraint.child("minDomains"), action.text(), causes);
        for name in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            let policy = constraint.child(name);
            if policy.is_set() && !matches!(policy.text(), "Ignore" | "Honor") {
                causes.not_supported(&policy.path, Shown::word(policy.text()), &["Honor", "Ignore"]);
            }
        }
        label_keys(constraint, causes);
        selectors::at(&constraint.child("labelSelector"), causes);
    }
}

fn positive(field: &Field<'_>, causes: &mut Causes) {
    let number = field.number_or_zero();
    if number <= 0 {
        causes.invalid(&field.path, Shown::plain(number), "must be greater than zero");
    }
}

fn domains(field: &Field<'_>, action: &str, causes: &mut Causes) {
    let Some(number) = field.number() else { return };
    positive(field, causes);
    if action != "DoNotSchedule" {
        let why = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        causes.invalid(&field.path, Shown::plain(number), why);
    }
}

/// `matchLabelKeys` and `mismatchLabelKeys` of a constraint or of a pod affinity term.
pub(super) fn label_keys(term: &Field<'_>, causes: &mut Causes) {
    let selector = term.child("labelSelector");
    let (matched, mismatched) = (term.child("matchLabelKeys"), term.child("mismatchLabelKeys"));
    for keys in [&matched, &mismatched] {
        if keys.is_empty() {
            continue;
        }
        if !selector.is_set() {
            causes.forbidden(&keys.path, "must not be specified when labelSelector is not set");
            continue;
        }
        keys.items().for_each(|key| names::qualified(&key.path, key.text(), causes));
    }
    if selector.is_set() {
        // By key, the last place where it stands.
        let places: BTreeMap<&str, usize> =
            matched.texts().enumerate().map(|(index, key)| (key, index)).collect();
        let labels = selector.child("matchLabels");
        let mut taken: BTreeSet<&str> = labels.members().map(|(key, _)| key).collect();
        for expression in selector.child("matchExpressions").items() {
            let key = expression.child("key").text();
            // The expression made from a key of the list comes last; whatever was there before clashes with it.
            if let Some(index) = places.get(key).filter(|_| taken.contains(key)) {
                let why = "exists in both matchLabelKeys and labelSelector";
                causes.invalid(format!("{}[{index}]", term.path), Shown::text(key), why);
            }
            taken.insert(key);
        }
    }
    let unwanted: BTreeSet<&str> = mismatched.texts().collect();
    for key in matched.items().filter(|key| unwanted.contains(key.text())) {
        let why = "exists in both matchLabelKeys and mismatchLabelKeys";
        causes.invalid(&key.path, Shown::text(key.text()), why);
    }
}
