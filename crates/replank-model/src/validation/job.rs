//! Jobs (Kubernetes 1.36 `pkg/apis/batch/validation/validation.go`).

use std::collections::BTreeSet;

use super::error::{Causes, Shown};
use super::field::Field;
use super::workload::not_negative;
use super::{names, pod, selectors, show};

/// What the uid of an object stands for that has none yet: the server draws one and says it in some of its messages.
pub(super) const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

/// More pods at once than an indexed Job may have.
const PARALLEL_MAX: i64 = 100_000;
/// More indexes that may fail than an indexed Job may allow.
const FAILED_MAX: i64 = 100_000;
/// From here on a Job with a limit per index is held to less.
const MANY_COMPLETIONS: i64 = 100_000;
/// What it is held to.
const MAX_WITH_MANY: i64 = 10_000;

/// A Job of its own (`ValidateJob`), after its metadata.
pub(super) fn job(object: &Field<'_>, causes: &mut Causes) {
    let (metadata, spec_field) = (object.child("metadata"), object.child("spec"));
    generated_selector(&metadata, &spec_field, causes);
    spec(&spec_field, causes);
    let selector = spec_field.child("selector");
    if selector.is_set() {
        selectors::at(&selector, causes);
    } else {
        causes.required(&selector.path, "");
    }
    let labels = spec_field.child("template").child("metadata").child("labels");
    if selectors::compiled(&selector).is_some_and(|selector| !selectors::matches(&selector, &labels)) {
        selectors::mismatch(&labels, causes);
    }
    host_name_of_last(&metadata.child("name"), &spec_field, causes);
}

/// The name of a pod of an indexed Job ends in its index.
fn host_name_of_last(name: &Field<'_>, spec: &Field<'_>, causes: &mut Causes) {
    let completions = spec.child("completions").number_or_zero();
    if spec.child("completionMode").text() != "Indexed" || completions <= 0 {
        return;
    }
    let last = format!("{}-{}", name.text(), completions - 1);
    if !names::label(&last).is_empty() {
        let why = format!("will not able to create pod with invalid DNS label: {last}");
        causes.invalid(&name.path, Shown::text(name.text()), why);
    }
}

/// Labels that the server gives a Job's pods, with what they say.
pub(super) fn generated_labels(name: &str) -> [(&'static str, &str); 4] {
    [
        ("controller-uid", NO_UID),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", NO_UID),
        ("batch.kubernetes.io/job-name", name),
    ]
}

/// That the selector is the one that the server makes (`validateGeneratedSelector`).
fn generated_selector(metadata: &Field<'_>, spec: &Field<'_>, causes: &mut Causes) {
    let selector = spec.child("selector");
    if spec.child("manualSelector").is_true() || !selector.is_set() {
        return;
    }
    let expected = generated_labels(metadata.child("name").text());
    let labels = spec.child("template").child("metadata").child("labels");
    for (key, value) in expected {
        let path = format!("{}[{key}]", labels.path);
        let label = labels.child(key);
        if !label.is_set() {
            causes.required(path, format!("must be '{value}'"));
        } else if label.text() != value {
            causes.invalid(path, show::map(labels.value), format!("must be '{value}'"));
        }
    }
    let value = |key: &str| expected.iter().find(|(known, _)| *known == key).map(|(_, value)| *value);
    if selectors::compiled(&selector).is_some_and(|compiled| !compiled.matches(value)) {
        causes.invalid(&selector.path, selectors::shown(&selector), "`selector` not auto-generated");
    }
}

/// The spec, of a Job or of a CronJob's template (`validateJobSpec`).
pub(super) fn spec(spec: &Field<'_>, causes: &mut Causes) {
    for name in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        not_negative(spec, name, causes);
    }
    let per_index = spec.child("backoffLimitPerIndex");
    if spec.child("maxFailedIndexes").is_set() && !per_index.is_set() {
        causes.required(per_index.path, "when maxFailedIndexes is specified");
    }
    if let Some(manager) = spec.child("managedBy").set() {
        names::domain_path(&manager, causes);
        if manager.len() > 63 {
            causes.too_long(manager.path, 63);
        }
    }
    completion_mode(spec, causes);
    if spec.child("podFailurePolicy").is_set() {
        failure_policy(spec, causes);
    }
    if let Some(policy) = spec.child("successPolicy").set() {
        if spec.child("completionMode").text() == "Indexed" {
            success_policy(&policy, spec, causes);
        } else {
            let shown = show::shown("batch.SuccessPolicy", policy.value);
            causes.invalid(&policy.path, shown, "requires indexed completion mode");
        }
    }
    replacement_policy(spec, causes);
    let template = spec.child("template");
    pod::template(&template, causes);
    restart_policy(&template.child("spec").child("restartPolicy"), spec, causes);
}

fn completion_mode(spec: &Field<'_>, causes: &mut Causes) {
    let mode = spec.child("completionMode");
    let word = mode.text();
    if mode.is_set() && !matches!(word, "NonIndexed" | "Indexed") {
        causes.not_supported(&mode.path, Shown::word(word), &["NonIndexed", "Indexed"]);
    }
    if word == "Indexed" {
        indexed(spec, causes);
    }
    if !mode.is_set() || word == "NonIndexed" {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes"].map(|name| spec.child(name)) {
            if let Some(number) = field.number() {
                causes.invalid(field.path, Shown::plain(number), "requires indexed completion mode");
            }
        }
    }
}

fn indexed(spec: &Field<'_>, causes: &mut Causes) {
    let (completions, parallelism) = (spec.child("completions"), spec.child("parallelism"));
    let failed = spec.child("maxFailedIndexes");
    if !completions.is_set() {
        causes.required(&completions.path, "when completion mode is Indexed");
    }
    let mut at_most = |field: &Field<'_>, most: i64, why: &str| {
        if let Some(number) = field.number().filter(|number| *number > most) {
            causes.invalid(&field.path, Shown::plain(number), why);
        }
    };
    let why = format!("must be less than or equal to {PARALLEL_MAX} when completion mode is Indexed");
    at_most(&parallelism, PARALLEL_MAX, &why);
    if let Some(all) = completions.number() {
        at_most(&failed, all, "must be less than or equal to completions");
    }
    at_most(&failed, FAILED_MAX, &format!("must be less than or equal to {FAILED_MAX}"));
    let has_many = completions.number().is_some_and(|number| number > MANY_COMPLETIONS)
        && spec.child("backoffLimitPerIndex").is_set();
    if !has_many {
        return;
    }
    if !failed.is_set() {
        let why = format!("must be specified when completions is above {MANY_COMPLETIONS}");
        causes.required(&failed.path, why);
    }
    for field in [&parallelism, &failed] {
        if let Some(number) = field.number().filter(|number| *number > MAX_WITH_MANY) {
            let why = format!(
                "must be less than or equal to {MAX_WITH_MANY} when completions are above {MANY_COMPLETIONS} and used \
                 with backoff limit per index"
            );
            causes.invalid(&field.path, Shown::plain(number), why);
        }
    }
}

fn replacement_policy(spec: &Field<'_>, causes: &mut Causes) {
    let policy = spec.child("podReplacementPolicy");
    let known: &[&str] = if spec.child("podFailurePolicy").is_set() {
        &["Failed"]
    } else {
        &["Failed", "TerminatingOrFailed"]
    };
    if policy.is_set() && !known.contains(&policy.text()) {
        causes.not_supported(&policy.path, Shown::word(policy.text()), known);
    }
}

fn restart_policy(policy: &Field<'_>, spec: &Field<'_>, causes: &mut Causes) {
    match policy.text() {
        "Always" | "" => causes.required(&policy.path, "valid values: \"OnFailure\", \"Never\""),
        "Never" => {}
        "OnFailure" => {
            if spec.child("podFailurePolicy").is_set() {
                let why = "only \"Never\" is supported when podFailurePolicy is specified";
                causes.invalid(&policy.path, Shown::word("OnFailure"), why);
            }
        }
        word => causes.not_supported(&policy.path, Shown::word(word), &["OnFailure", "Never"]),
    }
}

/// What is made of pods that fail (`validatePodFailurePolicy`).
fn failure_policy(spec: &Field<'_>, causes: &mut Causes) {
    let rules = spec.child("podFailurePolicy").child("rules");
    if rules.len() > 20 {
        causes.too_many(&rules.path, rules.len(), 20);
    }
    let pod = spec.child("template").child("spec");
    let containers: BTreeSet<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| pod.child(list).items())
        .map(|container| container.child("name").text())
        .collect();
    for rule in rules.items() {
        failure_action(&rule.child("action"), spec, causes);
        let (codes, conditions) = (rule.child("onExitCodes"), rule.child("onPodConditions"));
        if codes.is_set() {
            exit_codes(&codes, &containers, causes);
        }
        if !conditions.is_empty() {
            pod_conditions(&conditions, causes);
        }
        let why = match (codes.is_set(), conditions.is_empty()) {
            (true, false) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, true) => "specifying one of OnExitCodes and OnPodConditions is required",
            (true, true) | (false, false) => continue,
        };
        causes.invalid(&rule.path, Shown::omitted(), why);
    }
}

fn failure_action(action: &Field<'_>, spec: &Field<'_>, causes: &mut Causes) {
    const KNOWN: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
    match action.text() {
        "" => causes.required(&action.path, valid_values(&KNOWN)),
        "FailIndex" => {
            if !spec.child("backoffLimitPerIndex").is_set() {
                let why = "requires the backoffLimitPerIndex to be set";
                causes.invalid(&action.path, Shown::word("FailIndex"), why);
            }
        }
        word if KNOWN.contains(&word) => {}
        word => causes.not_supported(&action.path, Shown::word(word), &KNOWN),
    }
}

/// A list as Go prints it with `%q`.
fn valid_values(known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().map(|word| format!("\"{word}\"")).collect();
    format!("valid values: [{}]", quoted.join(" "))
}

fn required_word(field: &Field<'_>, known: &[&str], causes: &mut Causes) {
    match field.text() {
        "" => causes.required(&field.path, valid_values(known)),
        word if known.contains(&word) => {}
        word => causes.not_supported(&field.path, Shown::word(word), known),
    }
}

fn pod_conditions(patterns: &Field<'_>, causes: &mut Causes) {
    if patterns.len() > 20 {
        causes.too_many(&patterns.path, patterns.len(), 20);
    }
    for pattern in patterns.items() {
        let kind = pattern.child("type");
        names::qualified(&kind.path, kind.text(), causes);
        required_word(&pattern.child("status"), &["False", "True", "Unknown"], causes);
    }
}

fn exit_codes(codes: &Field<'_>, containers: &BTreeSet<&str>, causes: &mut Causes) {
    let operator = codes.child("operator");
    required_word(&operator, &["In", "NotIn"], causes);
    let container = codes.child("containerName");
    if container.is_set() && !containers.contains(container.text()) {
        let why = "must be one of the container or initContainer names in the pod template";
        causes.invalid(&container.path, Shown::text(container.text()), why);
    }
    let values = codes.child("values");
    if values.is_empty() {
        causes.invalid(&values.path, show::numbers(values.value), "at least one value is required");
    } else if values.len() > 255 {
        causes.too_many(&values.path, values.len(), 255);
    }
    let mut seen = BTreeSet::new();
    let mut last = i64::MIN;
    let mut is_ordered = true;
    for value in values.items() {
        let number = value.number_or_zero();
        if operator.text() == "In" && number == 0 {
            causes.invalid(&value.path, Shown::plain(number), "must not be 0 for the In operator");
        }
        if !seen.insert(number) {
            causes.duplicate(&value.path, Shown::plain(number));
        }
        is_ordered &= last <= number;
        last = number;
    }
    if !is_ordered {
        causes.invalid(&values.path, show::numbers(values.value), "must be ordered");
    }
}

/// When a Job has succeeded before all of its pods have (`validateSuccessPolicy`).
fn success_policy(policy: &Field<'_>, spec: &Field<'_>, causes: &mut Causes) {
    let rules = policy.child("rules");
    if rules.is_empty() {
        let why = "at least one rules must be specified when the successPolicy is specified";
        causes.required(&rules.path, why);
    }
    if rules.len() > 20 {
        causes.too_many(&rules.path, rules.len(), 20);
    }
    // Without completions upstream fails here; that they are missing has been said.
    let Some(completions) = spec.child("completions").number() else { return };
    rules.items().for_each(|rule| success_rule(&rule, completions, causes));
}

fn success_rule(rule: &Field<'_>, completions: i64, causes: &mut Causes) {
    let (indexes, count) = (rule.child("succeededIndexes"), rule.child("succeededCount"));
    if !indexes.is_set() && !count.is_set() {
        let why = "at least one of succeededCount or succeededIndexes must be specified";
        causes.required(&rule.path, why);
    }
    let mut total = 0;
    if indexes.is_set() {
        if indexes.len() > 64 << 10 {
            causes.too_long(&indexes.path, 64 << 10);
        }
        match count_indexes(indexes.text(), completions) {
            Ok(counted) => total = counted,
            Err(error) => {
                let why = format!("error parsing succeededIndexes: {error}");
                causes.invalid(&indexes.path, Shown::text(indexes.text()), why);
            }
        }
    }
    let Some(number) = count.number() else { return };
    causes.not_negative(&count.path, number);
    if number > completions {
        let why =
            format!("must be less than or equal to {completions} (the number of specified completions)");
        causes.invalid(&count.path, Shown::plain(number), why);
    }
    if indexes.is_set() && number > total {
        let why = format!(
            "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        );
        causes.invalid(&count.path, Shown::plain(number), why);
    }
}

/// How many indexes `0-3,7` names (`validateIndexesFormat`).
fn count_indexes(text: &str, completions: i64) -> Result<i64, String> {
    let mut total = 0;
    let mut last = None;
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let index = |text: &str| {
            let quoted = crate::go::Quoted(text);
            match crate::go::parse_int(text.as_bytes()) {
                Err(_) => Err(format!("cannot convert string to integer for index: {quoted}")),
                Ok(index) if index >= completions => Err(format!("too large index: {quoted}")),
                Ok(index) => Ok(index),
            }
        };
        let limits: Vec<&str> = part.split('-').collect();
        let (first, end) = match limits.as_slice() {
            [only] => (index(only)?, None),
            [first, end] => (index(first)?, Some(index(end)?)),
            _ => {
                let quoted = crate::go::Quoted(part);
                return Err(format!(
                    "the fragment {quoted} violates the requirement that an index interval can have at most two parts \
                     separated by '-'"
                ));
            }
        };
        if let Some(end) = end.filter(|end| first >= *end) {
            return Err(format!("non-increasing order, previous: {first}, current: {end}"));
        }
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(format!("non-increasing order, previous: {last}, current: {first}"));
        }
        let end = end.unwrap_or(first);
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}
