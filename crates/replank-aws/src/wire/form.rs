//! Queries: forms whose keys are paths, such as `Tags.member.1.Key`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::message::Request;
use crate::fault::Fault;
use crate::text::pairs;

/// How deep members lie at the most: no service has any that are half as deep.
const DEPTH_MAX: usize = 32;

/// A key that is part of a path.
#[derive(Default)]
struct Branch {
    leaf: Option<String>,
    below: BTreeMap<String, Branch>,
}

/// The operation, and its members.
///
/// # Errors
/// Where no operation is named.
pub(super) fn read(request: &Request<'_>) -> Result<(String, Value), Fault> {
    let body = String::from_utf8_lossy(request.body);
    let mut root = Branch::default();
    let mut action = None;
    for (key, value) in pairs(request.query).into_iter().chain(pairs(&body)) {
        match &*key {
            "Action" => action = Some(value),
            "Version" => {}
            _ if key.split('.').count() > DEPTH_MAX => {
                return Err(Fault::bad(
                    "MalformedQueryString",
                    format!("A parameter has more than {DEPTH_MAX} parts."),
                ));
            }
            _ => {
                let mut at = &mut root;
                for part in key.split('.') {
                    at = at.below.entry(part.to_owned()).or_default();
                }
                at.leaf = Some(value);
            }
        }
    }
    let action = action
        .filter(|action| !action.is_empty())
        .ok_or_else(|| Fault::bad("MissingAction", "The request must contain the parameter Action."))?;
    Ok((action, value(root)))
}

/// A list is numbered from 1; Auto Scaling has `member` before the numbers, EC2 has not.
fn value(branch: Branch) -> Value {
    let Branch { leaf, mut below } = branch;
    if below.len() == 1
        && let Some(member) = below.remove("member")
    {
        return value(member);
    }
    if below.is_empty() {
        return leaf.map_or_else(|| Value::Object(Map::new()), Value::String);
    }
    let numbers: Option<Vec<u32>> = below.keys().map(|key| key.parse().ok()).collect();
    if numbers.is_some() {
        let mut elements: Vec<(u32, Value)> =
            below.into_iter().map(|(key, one)| (key.parse().unwrap_or(0), value(one))).collect();
        elements.sort_by_key(|(number, _)| *number);
        return Value::Array(elements.into_iter().map(|(_, value)| value).collect());
    }
    Value::Object(below.into_iter().map(|(key, one)| (key, value(one))).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(body: &str) -> (String, Value) {
        let request = Request { method: "POST", path: "/", query: "", target: None, body: body.as_bytes() };
        read(&request).expect("it is a query")
    }

    #[test]
    fn what_is_too_deep_is_refused() {
        let body = format!("Action=A&{}=1", ["a"; 1_000_000].join("."));
        let request = Request { method: "POST", path: "/", query: "", target: None, body: body.as_bytes() };
        assert_eq!(read(&request).map_err(|fault| fault.code), Err("MalformedQueryString".to_owned()));
    }

    #[test]
    fn an_operation_without_a_name_is_none() {
        for body in [&b"Action=&Version=1"[..], b"Version=1"] {
            let request = Request { method: "POST", path: "/", query: "", target: None, body };
            assert_eq!(read(&request).map_err(|fault| fault.code), Err("MissingAction".to_owned()));
        }
    }

    #[test]
    fn paths_become_structures_and_lists() {
        let (action, input) = of(
            "Action=A&Version=1&Names.member.2=b&Names.member.1=a&Names.member.10=c&T.member.1.Key=k&T.member.1.Value=v%20w&X=1",
        );
        assert_eq!(action, "A");
        assert_eq!(input, json!({"Names": ["a", "b", "c"], "T": [{"Key": "k", "Value": "v w"}], "X": "1"}));
        let (_, input) = of("Action=A&Filter.1.Name=n&Filter.1.Value.1=v&InstanceId.1=i&D.I=t3");
        assert_eq!(
            input,
            json!({"Filter": [{"Name": "n", "Value": ["v"]}], "InstanceId": ["i"], "D": {"I": "t3"}})
        );
    }
}
