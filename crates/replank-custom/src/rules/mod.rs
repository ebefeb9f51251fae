//! Rules in CEL (`x-kubernetes-validations`; apiextensions `pkg/apiserver/schema/cel/validation.go`).

mod program;
pub mod types;

use std::collections::BTreeMap;

use replank_cel::{Failure, Val, evaluate};
use serde_json::Value;

pub(crate) use program::Unfit;
pub use program::{Program, program};

use crate::object::{member_path, old_item};
use crate::problem::{Problem, ProblemKind, shown};
use crate::schema::{Rule, Schema};
use program::Compiled;

/// What is wrong with a rule about a value of a schema.
pub(crate) fn unfit(rule: &Rule, schema: &Schema, is_root: bool) -> Option<Unfit> {
    let of = types::of_schema(schema, is_root)?;
    program::compiled(rule, &of).err()
}

/// The rules that do not hold of an object; `old` is its stored state. What has not changed is not asked about.
#[must_use]
pub fn broken(value: &Value, old: Option<&Value>, schema: &Schema, program: &Program) -> Vec<Problem> {
    let mut problems = Vec::new();
    node(value, old, (schema, program), ("", true), &mut problems);
    problems
}

fn node(
    value: &Value,
    old: Option<&Value>,
    (schema, program): (&Schema, &Program),
    (path, is_root): (&str, bool),
    problems: &mut Vec<Problem>,
) {
    if !program.has_rules || value.is_null() || old == Some(value) {
        return;
    }
    if !program.rules.is_empty() {
        let is = types::of_value(value, schema, is_root);
        let was = old.map(|old| types::of_value(old, schema, is_root));
        for rule in &program.rules {
            problems.extend(ask(rule, (&is, was.as_ref()), value, schema, path));
        }
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let was = old.and_then(|old| old.get(name));
                if let (Some(below), Some(rules)) =
                    (schema.properties.get(name), program.properties.get(name))
                {
                    node(member, was, (below, rules), (&member_path(path, name), false), problems);
                } else if let (Some(below), Some(rules), false) =
                    (schema.member(name), program.additional.as_deref(), schema.properties.contains_key(name))
                {
                    node(member, was, (below, rules), (&format!("{path}[{name}]"), false), problems);
                }
            }
        }
        Value::Array(items) => {
            if let (Some(below), Some(rules)) = (schema.items.as_deref(), program.items.as_deref()) {
                for (index, item) in items.iter().enumerate() {
                    let was = old_item(item, old, schema);
                    node(item, was, (below, rules), (&format!("{path}[{index}]"), false), problems);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn ask(
    compiled: &Compiled,
    (is, was): (&Val, Option<&Val>),
    value: &Value,
    schema: &Schema,
    path: &str,
) -> Option<Problem> {
    let rule = &compiled.rule;
    let old = match (was, rule.optional_old_self) {
        (was, Some(true)) => Some(was.map_or(Val::Optional(None), |was| Val::some(was.clone()))),
        (None, Some(false) | None) if compiled.is_transition => return None,
        (was, Some(false) | None) => was.cloned(),
    };
    let mut scope: BTreeMap<String, Val> = [("self".to_owned(), is.clone())].into_iter().collect();
    scope.extend(old.map(|old| ("oldSelf".to_owned(), old)));
    let place = if path.is_empty() { "<nil>" } else { path };
    match evaluate(&compiled.expression, &scope) {
        Ok(Val::Bool(true)) => None,
        Ok(_) => {
            let message = compiled.message.as_ref().and_then(|message| match evaluate(message, &scope) {
                Ok(Val::Text(text)) if !text.trim().is_empty() && !text.contains('\n') => {
                    Some(text.trim().to_owned())
                }
                Ok(_) | Err(_) => None,
            });
            let message = message.unwrap_or_else(|| match rule.message.trim() {
                "" => format!("failed rule: {}", rule.rule.trim()),
                message => message.to_owned(),
            });
            let field = match rule.field_path.strip_prefix('.') {
                Some(below) => member_path(path, below),
                None if rule.field_path.is_empty() => place.to_owned(),
                None => format!("{path}{}", rule.field_path),
            };
            Some(refusal(rule, field, value, &message))
        }
        Err(failure) => Some(failed(rule, &failure, place, schema)),
    }
}

fn failed(rule: &Rule, Failure(why): &Failure, place: &str, schema: &Schema) -> Problem {
    let shown = format!("\"{}\"", schema.basic);
    let text = match rule.message.trim() {
        "" => rule.rule.trim(),
        message => message,
    };
    let why = if why.starts_with("no such overload") {
        format!(
            "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {text}"
        )
    } else if why.starts_with("operation cancelled: actual cost limit exceeded") {
        format!(
            "'{why}': no further validation rules will be run due to call cost exceeds limit for rule: {text}"
        )
    } else {
        format!("{why} evaluating rule: {text}")
    };
    Problem::invalid(place, &shown, &why)
}

fn refusal(rule: &Rule, field: String, value: &Value, message: &str) -> Problem {
    let is_plain = !value.is_object() && !value.is_array();
    match &*rule.reason {
        "FieldValueForbidden" => Problem::forbidden(field, message),
        "FieldValueRequired" => Problem::required(field, message),
        "FieldValueDuplicate" if is_plain => Problem::duplicate(field, &shown(value)),
        "FieldValueDuplicate" => {
            Problem { kind: ProblemKind::Duplicate, field, message: "Duplicate value".to_owned() }
        }
        _ if is_plain => Problem::invalid(field, &shown(value), message),
        _ => Problem { kind: ProblemKind::Invalid, field, message: format!("Invalid value: {message}") },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::read;

    fn told(value: &Value, old: Option<&Value>) -> Vec<String> {
        let schema = read(&json!({"type": "object", "properties": {"spec": {"type": "object",
            "x-kubernetes-validations": [
                {"rule": "self.x > 1"},
                {"rule": "self.x == oldSelf.x", "message": "x is fixed"},
                {"rule": "self.s != 'bad'", "message": "bad s", "reason": "FieldValueForbidden", "fieldPath": ".s"},
                {"rule": "self.ios > 3"}],
            "properties": {"x": {"type": "integer"}, "ios": {"x-kubernetes-int-or-string": true},
                "s": {"type": "string", "x-kubernetes-validations": [{"rule": "self.startsWith('b')"}]}}}}}));
        let program = program(&schema, true);
        broken(value, old, &schema, &program).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rules_are_told_as_a_server_tells_them() {
        let good = json!({"spec": {"x": 2, "s": "b", "ios": 5}});
        assert_eq!(told(&good, None), Vec::<String>::new());
        assert_eq!(
            told(&json!({"spec": {"x": 0, "s": "bad", "ios": "5"}}), None),
            [
                "spec: Invalid value: failed rule: self.x > 1",
                "spec.s: Forbidden: bad s",
                "spec: Invalid value: \"object\": 'no such overload': call arguments did not match a supported \
                 operator, function or macro signature for rule: self.ios > 3",
            ]
        );
        assert_eq!(
            told(&json!({"spec": {"x": 3, "s": "a"}}), Some(&good)),
            [
                "spec: Invalid value: x is fixed",
                "spec: Invalid value: \"object\": no such key: ios evaluating rule: self.ios > 3",
                "spec.s: Invalid value: \"a\": failed rule: self.startsWith('b')",
            ]
        );
        let bad = json!({"spec": {"x": 0}});
        assert_eq!(told(&bad, Some(&bad)), Vec::<String>::new(), "what was wrong before may stay");
    }
}
