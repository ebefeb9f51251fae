//! Affinity to nodes and to pods (`validateAffinity`).

use super::error::{Causes, Shown};
use super::field::Field;
use super::{names, selectors, spread};
use crate::selector::validate::label_value_problems;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Whether the values of a node selector have to be possible labels. A preference's may be anything.
#[derive(Clone, Copy)]
enum Values {
    Labels,
    Any,
}

/// All of it.
pub(super) fn affinity(field: &Field<'_>, causes: &mut Causes) {
    if let Some(nodes) = field.child("nodeAffinity").set() {
        if let Some(selector) = nodes.child(REQUIRED).set() {
            node_selector(&selector, causes);
        }
        for term in nodes.child(PREFERRED).items() {
            weight(&term.child("weight"), causes);
            node_term(&term.child("preference"), Values::Any, causes);
        }
    }
    for pods in ["podAffinity", "podAntiAffinity"].map(|name| field.child(name)) {
        for term in pods.child(REQUIRED).items() {
            pod_term(&term, causes);
        }
        for term in pods.child(PREFERRED).items() {
            weight(&term.child("weight"), causes);
            pod_term(&term.child("podAffinityTerm"), causes);
        }
    }
}

fn weight(field: &Field<'_>, causes: &mut Causes) {
    let weight = field.number_or_zero();
    if !(1..=100).contains(&weight) {
        causes.invalid(&field.path, Shown::plain(weight), "must be in the range 1-100");
    }
}

fn node_selector(selector: &Field<'_>, causes: &mut Causes) {
    let terms = selector.child("nodeSelectorTerms");
    if terms.is_empty() {
        return causes.required(terms.path, "must have at least one node selector term");
    }
    terms.items().for_each(|term| node_term(&term, Values::Labels, causes));
}

fn node_term(term: &Field<'_>, values: Values, causes: &mut Causes) {
    for requirement in term.child("matchExpressions").items() {
        node_requirement(&requirement, values, causes);
    }
    for requirement in term.child("matchFields").items() {
        node_field(&requirement, causes);
    }
}

fn node_requirement(requirement: &Field<'_>, allowed: Values, causes: &mut Causes) {
    let values = requirement.child("values");
    let operator = requirement.child("operator");
    match operator.text() {
        "In" | "NotIn" => {
            if values.is_empty() {
                causes.required(&values.path, "must be specified when `operator` is 'In' or 'NotIn'");
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.forbidden(&values.path, why);
            }
        }
        "Gt" | "Lt" => {
            if values.len() != 1 {
                let why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                causes.required(&values.path, why);
            }
        }
        word => causes.invalid(&operator.path, Shown::word(word), "not a valid selector operator"),
    }
    let key = requirement.child("key");
    names::qualified(&key.path, key.text(), causes);
    match allowed {
        Values::Labels => {
            for value in values.items() {
                causes.broken_rules(&value.path, value.text(), label_value_problems(value.text()));
            }
        }
        Values::Any => {}
    }
}

fn node_field(requirement: &Field<'_>, causes: &mut Causes) {
    let values = requirement.child("values");
    let operator = requirement.child("operator");
    match operator.text() {
        "In" | "NotIn" => {
            if values.len() != 1 {
                let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                causes.required(&values.path, why);
            }
        }
        word => causes.invalid(&operator.path, Shown::word(word), "not a valid selector operator"),
    }
    let key = requirement.child("key");
    if key.text() == "metadata.name" {
        values.items().for_each(|value| names::subdomain_at(&value, causes));
    } else {
        causes.invalid(&key.path, Shown::text(key.text()), "not a valid field selector key");
    }
}

fn pod_term(term: &Field<'_>, causes: &mut Causes) {
    selectors::at(&term.child("labelSelector"), causes);
    selectors::at(&term.child("namespaceSelector"), causes);
    let path = term.at("namespace");
    for name in term.child("namespaces").texts() {
        causes.broken_rules(&path, name, names::label(name));
    }
    spread::label_keys(term, causes);
    let key = term.child("topologyKey");
    if key.is_empty() {
        causes.required(&key.path, "can not be empty");
    }
    names::qualified(&key.path, key.text(), causes);
}
