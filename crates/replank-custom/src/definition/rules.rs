//! Rules in CEL, at the creation of a definition.

use serde_json::Value;

use super::below::each_below;
use super::cost;
use crate::problem::{Problem, quoted};
use crate::rules::{Unfit, unfit};
use crate::schema::{Rule, Schema, read};

pub(super) fn check(value: &Value, at: &str, problems: &mut Vec<Problem>) {
    let before = problems.len();
    let mut rules = Vec::new();
    node(value, (true, 1.0), at, &mut rules, problems);
    if problems.len() > before {
        return;
    }
    costs(&rules, at, problems);
}

/// A rule that makes sense, where it stands and what it may cost.
struct Priced {
    at: String,
    cost: f64,
}

const ADVICE: &str = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and \
                      strings are declared)";

/// Rules that may cost too much, alone or together.
fn costs(rules: &[Priced], at: &str, problems: &mut Vec<Problem>) {
    let total: f64 = rules.iter().map(|rule| rule.cost).sum();
    for Priced { at, cost } in rules.iter().filter(|rule| rule.cost > cost::RULE_MAX) {
        let factor = cost::factor(*cost, cost::RULE_MAX);
        let why = format!("estimated rule cost exceeds budget by factor of {factor} {ADVICE}");
        problems.push(Problem::forbidden(format!("{at}.rule"), &why));
    }
    if total > cost::TOTAL_MAX {
        // Named are those that weigh: the dearest ones.
        for Priced { at, .. } in rules.iter().filter(|rule| rule.cost > cost::TOTAL_MAX / 100.0) {
            let why =
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            problems.push(Problem::forbidden(format!("{at}.rule"), why));
        }
        let factor = cost::factor(total, cost::TOTAL_MAX);
        let why = format!(
            "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of \
             {factor} {ADVICE}"
        );
        problems.push(Problem::forbidden(at, &why));
    }
}

/// Looks at the rules of a schema and of those below it; `times` says how often what it is of may be there.
fn node(
    value: &Value,
    (is_root, times): (bool, f64),
    at: &str,
    rules: &mut Vec<Priced>,
    problems: &mut Vec<Problem>,
) {
    let schema = read(value);
    for (index, rule) in schema.rules.iter().enumerate() {
        let at = format!("{at}.x-kubernetes-validations[{index}]");
        one(rule, &schema, is_root, &at, problems);
        if let Ok(parsed) = replank_cel::parse(&rule.rule) {
            rules.push(Priced { at, cost: times * cost::estimate(&parsed, &schema) });
        }
    }
    each_below(value, at, &mut |below, at, name| {
        let times = if name.is_some() { times } else { times * cost::times(&schema) };
        node(below, (false, times), at, rules, problems);
    });
}

/// A rule as Go shows it, with the characters escaped that HTML has a use for.
fn shown(rule: &Rule) -> String {
    let text = |text: &str| {
        let text = Value::from(text).to_string();
        text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
    };
    let reason = if rule.reason.is_empty() { "null".to_owned() } else { text(&rule.reason) };
    let optional = rule.optional_old_self.map_or_else(|| "null".to_owned(), |flag| flag.to_string());
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{reason},\"FieldPath\":{},\"OptionalOldSelf\":{optional}}}",
        text(&rule.rule),
        text(&rule.message),
        text(&rule.message_expression),
        text(&rule.field_path)
    )
}

fn one(rule: &Rule, schema: &Schema, is_root: bool, at: &str, problems: &mut Vec<Problem>) {
    let before = problems.len();
    if rule.rule.trim().is_empty() {
        problems.push(Problem::required(format!("{at}.rule"), "rule is not specified"));
    }
    let message = &rule.message;
    if !message.is_empty() && message.trim().is_empty() {
        problems.push(Problem::invalid(
            format!("{at}.message"),
            &quoted(message),
            "must be non-empty if specified",
        ));
    } else if message.trim().contains('\n') {
        problems.push(Problem::invalid(
            format!("{at}.message"),
            &quoted(message),
            "must not contain line breaks",
        ));
    } else if rule.rule.trim().contains('\n') && message.trim().is_empty() {
        problems.push(Problem::required(
            format!("{at}.message"),
            "message must be specified if rule contains line breaks",
        ));
    }
    const REASONS: [&str; 4] =
        ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    if !rule.reason.is_empty() && !REASONS.contains(&&*rule.reason) {
        let known = REASONS.map(str::to_owned);
        problems.push(Problem::not_supported(format!("{at}.reason"), &quoted(&rule.reason), &known));
    }
    if !rule.field_path.is_empty() && !is_path(&rule.field_path, schema) {
        let field = format!("{at}.fieldPath");
        problems.push(Problem::invalid(field, &quoted(&rule.field_path), "must be a valid path"));
    }
    if problems.len() > before {
        return;
    }
    match unfit(rule, schema, is_root) {
        None => {}
        Some(Unfit::Rule(why)) => {
            problems.push(Problem::invalid(format!("{at}.rule"), &shown(rule), &why));
        }
        Some(Unfit::Message(why)) => {
            problems.push(Problem::invalid(format!("{at}.messageExpression"), &shown(rule), &why));
        }
        Some(Unfit::NoOldSelf) => {
            let flag = rule.optional_old_self.unwrap_or_default().to_string();
            let why = "may not be set if oldSelf is not used in rule";
            problems.push(Problem::invalid(format!("{at}.optionalOldSelf"), &flag, why));
        }
    }
}

/// Whether a path such as `.spec.x` leads to a member of a schema.
fn is_path(path: &str, schema: &Schema) -> bool {
    let Some(rest) = path.strip_prefix('.') else { return path.starts_with('[') };
    rest.split(['.', '['])
        .try_fold(schema, |schema, part| schema.member(part.trim_end_matches(']').trim_matches('\'')))
        .is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_that_makes_no_sense_is_told_with_its_place() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object",
            "properties": {"x": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.y > 1"}, {"rule": ""}, {"rule": "self.x"}]}}});
        let mut problems = Vec::new();
        check(&schema, "spec.validation.openAPIV3Schema", &mut problems);
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let at = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations";
        let shown = |rule: &str| {
            format!(
                "{{\"Rule\":\"{rule}\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}}"
            )
        };
        assert_eq!(
            told,
            [
                format!(
                    "{at}[0].rule: Invalid value: {}: compilation failed: ERROR: <input>:1:5: undefined field 'y'\n | self.y > 1\n | ....^",
                    shown("self.y \\u003e 1")
                ),
                format!("{at}[1].rule: Required value: rule is not specified"),
                format!(
                    "{at}[2].rule: Invalid value: {}: cel expression must evaluate to a bool",
                    shown("self.x")
                ),
            ]
        );
    }
}
