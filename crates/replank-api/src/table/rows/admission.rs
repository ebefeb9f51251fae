//! Rows of policies, rights, certificates and API services.

use serde_json::Value;

use crate::table::duration::human;
use crate::table::look::{Look, items, joined, selector, text};

/// The cells of a resource of this file.
pub(super) fn cells(plural: &str, look: Look<'_>) -> Option<Vec<Value>> {
    Some(match plural {
        "mutatingwebhookconfigurations" | "validatingwebhookconfigurations" => {
            vec![look.name(), look.list("/webhooks").len().into(), look.age()]
        }
        "mutatingadmissionpolicies" => policy(look, "/spec/mutations"),
        "validatingadmissionpolicies" => policy(look, "/spec/validations"),
        "mutatingadmissionpolicybindings" | "validatingadmissionpolicybindings" => {
            vec![look.name(), look.text("/spec/policyName").into(), param(look).into(), look.age()]
        }
        "rolebindings" | "clusterrolebindings" => binding(look),
        "certificatesigningrequests" => request(look),
        "apiservices" => service(look),
        _ => return None,
    })
}

fn policy(look: Look<'_>, parts: &str) -> Vec<Value> {
    let kind = match look.at("/spec/paramKind") {
        Value::Null => "<unset>".to_owned(),
        kind
        @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
            format!("{}/{}", text(&kind["apiVersion"]), text(&kind["kind"]))
        }
    };
    vec![look.name(), look.list(parts).len().into(), kind.into(), look.age()]
}

fn param(look: Look<'_>) -> String {
    let param = look.at("/spec/paramRef");
    match (text(&param["namespace"]), text(&param["name"])) {
        ("", "") | (_, "") if param["selector"].is_null() => "<unset>".to_owned(),
        (_, "") => selector(&param["selector"]),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

fn binding(look: Look<'_>) -> Vec<Value> {
    let subjects = || look.list("/subjects").iter();
    let named = |kind: &str| -> Value {
        joined(subjects().filter(|one| one["kind"] == kind).map(|one| text(&one["name"])), ", ").into()
    };
    let accounts = subjects().filter(|one| one["kind"] == "ServiceAccount");
    let accounts = accounts.map(|one| format!("{}/{}", text(&one["namespace"]), text(&one["name"])));
    vec![
        look.name(),
        format!("{}/{}", look.text("/roleRef/kind"), look.text("/roleRef/name")).into(),
        look.age(),
        named("User"),
        named("Group"),
        accounts.collect::<Vec<_>>().join(", ").into(),
    ]
}

fn request(look: Look<'_>) -> Vec<Value> {
    let has = |wanted: &str| items(look.at("/status/conditions")).iter().any(|one| one["type"] == wanted);
    let mut status = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    }
    .to_owned();
    if has("Failed") {
        status.push_str(",Failed");
    }
    if !look.text("/status/certificate").is_empty() {
        status.push_str(",Issued");
    }
    let lasts = look.at("/spec/expirationSeconds").as_i64();
    vec![
        look.name(),
        look.age(),
        look.filled_or("/spec/signerName", "<none>"),
        look.text("/spec/username").into(),
        lasts.map_or("<none>".to_owned(), human).into(),
        status.into(),
    ]
}

fn service(look: Look<'_>) -> Vec<Value> {
    let service = match look.at("/spec/service") {
        Value::Null => "Local".to_owned(),
        service @ (Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => format!("{}/{}", text(&service["namespace"]), text(&service["name"])),
    };
    let available = look.list("/status/conditions").iter().find(|one| one["type"] == "Available");
    let status = match available.map(|one| (text(&one["status"]), text(&one["reason"]))) {
        None => "Unknown".to_owned(),
        Some((status @ "True", _) | (status, "")) => status.to_owned(),
        Some((status, reason)) => format!("{status} ({reason})"),
    };
    vec![look.name(), service.into(), status.into(), look.age()]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn subjects_stand_by_their_kinds() {
        let object = json!({"metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"},
            {"kind": "ServiceAccount", "name": "s", "namespace": "n"}, {"kind": "User", "name": "v"}]});
        let told = cells("rolebindings", Look { object: &object, now: crate::table::Moment::At(0) })
            .expect("it is one");
        assert_eq!(told[1..], ["Role/r", "<unknown>", "u, v", "", "n/s"]);
    }

    #[test]
    fn a_request_is_what_has_been_decided() {
        let object = json!({"spec": {"expirationSeconds": 86_400}, "status": {"certificate": "x", "conditions": [{"type": "Approved"}]}});
        let told = request(Look { object: &object, now: crate::table::Moment::At(0) });
        assert_eq!(told[4..], ["24h", "Approved,Issued"]);
    }
}
