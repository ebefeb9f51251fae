//! User data as people have it at hand: the text itself, its base64, or what `aws` prints of a launch template, a launch
//! configuration or an instance.

use replank_intake::base64;
use serde_json::Value;

/// Fewer bytes of base64 are a word like any other.
const BASE64_MIN: usize = 24;

/// The text that an instance is given.
///
/// # Errors
/// In words, where it is several.
pub(super) fn user_data(text: &str) -> Result<String, String> {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return Ok(decoded(text)) };
    let mut found = Vec::new();
    collect(&value, &mut found);
    found.sort_unstable();
    found.dedup();
    match &found[..] {
        // A NodeConfig in JSON, say.
        [] => Ok(text.to_owned()),
        [one] => Ok(decoded(one)),
        several => Err(format!(
            "it has {} different user data: save one version of one launch template",
            several.len()
        )),
    }
}

/// `UserData`, as EC2 (`ResponseLaunchTemplateData`) and Auto Scaling (`LaunchConfiguration`) have it, and with a `Value` within
/// (`describe-instance-attribute`).
fn collect<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                match (key.as_str(), member, &member["Value"]) {
                    ("UserData", Value::String(text), _)
                    | ("UserData", Value::Object(_), Value::String(text)) => {
                        found.push(text);
                    }
                    (_, member, _) => collect(member, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Without base64, where it is that.
fn decoded(text: &str) -> String {
    let packed = text.trim();
    let bytes = (packed.len() >= BASE64_MIN).then(|| base64::decode(packed)).flatten();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SCRIPT: &str = "#!/bin/bash\n/etc/eks/bootstrap.sh shop\n";

    #[test]
    fn it_is_found_however_it_is_at_hand() {
        let packed = base64::encode(SCRIPT.as_bytes());
        for text in [
            SCRIPT.to_owned(),
            packed.clone(),
            format!("{}\n{}\n", &packed[..20], &packed[20..]),
            json!({"LaunchTemplateVersions": [{"VersionNumber": 7, "LaunchTemplateData": {"UserData": packed}}]}).to_string(),
            json!({"LaunchConfigurations": [{"UserData": packed}, {"UserData": packed}]}).to_string(),
            json!({"InstanceId": "i-1", "UserData": {"Value": packed}}).to_string(),
        ] {
            assert_eq!(user_data(&text).as_deref(), Ok(SCRIPT), "{text}");
        }
        let node_config = "{\"kind\": \"NodeConfig\"}";
        assert_eq!(user_data(node_config).as_deref(), Ok(node_config));
        assert_eq!(user_data("allow").as_deref(), Ok("allow"), "a word");
    }

    #[test]
    fn several_are_not_guessed_between() {
        let of =
            |script: &str| json!({"LaunchTemplateData": {"UserData": base64::encode(script.as_bytes())}});
        let several = json!({"LaunchTemplateVersions": [of("a"), of("b")]}).to_string();
        assert!(user_data(&several).is_err_and(|why| why.starts_with("it has 2 different user data")));
    }
}
