//! Rules in CEL, at the creation of a definition.

use serde_json::Value;

use super::list;
use super::schema::each_below;
use crate::problem::{Problem, quoted};
use crate::rules::{Unfit, unfit};
use crate::schema::{Rule, Schema, read};

pub(super) fn check(value: &Value, at: &str, problems: &mut Vec<Problem>) {
    node(value, true, at, problems);
}

fn node(value: &Value, is_root: bool, at: &str, problems: &mut Vec<Problem>) {
    if !list(value, "x-kubernetes-validations").is_empty() {
        let schema = read(value);
        for (index, rule) in schema.rules.iter().enumerate() {
            one(rule, &schema, is_root, &format!("{at}.x-kubernetes-validations[{index}]"), problems);
        }
    }
    each_below(value, at, &mut |schema, at, _| node(schema, false, at, problems));
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
