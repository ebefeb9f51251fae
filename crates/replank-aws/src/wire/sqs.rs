//! SQS by queries, as older clients speak it: what differs from its JSON.

use serde_json::{Map, Value, json};

/// Members of the query, as JSON names them.
pub(super) fn input(mut input: Value, path: &str) -> Value {
    let Some(members) = input.as_object_mut() else { return input };
    // The queue can be the path that is asked.
    if !members.contains_key("QueueUrl") && path.len() > 1 {
        members.insert("QueueUrl".to_owned(), json!(path));
    }
    if let Some(pairs) = members.remove("Attribute") {
        members.insert("Attributes".to_owned(), map(&pairs, "Name", "Value"));
    }
    if let Some(pairs) = members.remove("Tag") {
        members.insert("Tags".to_owned(), map(&pairs, "Key", "Value"));
    }
    attributes(members);
    let renamed = [
        ("AttributeName", "AttributeNames"),
        ("MessageAttributeName", "MessageAttributeNames"),
        ("MessageSystemAttributeName", "MessageSystemAttributeNames"),
        ("TagKey", "TagKeys"),
        ("SendMessageBatchRequestEntry", "Entries"),
        ("DeleteMessageBatchRequestEntry", "Entries"),
        ("ChangeMessageVisibilityBatchRequestEntry", "Entries"),
    ];
    for (from, to) in renamed {
        if let Some(value) = members.remove(from) {
            members.insert(to.to_owned(), value);
        }
    }
    input
}

/// Attributes of messages, of the call's own and of those in a batch.
fn attributes(members: &mut Map<String, Value>) {
    if let Some(pairs) = members.remove("MessageAttribute") {
        members.insert("MessageAttributes".to_owned(), map(&pairs, "Name", "Value"));
    }
    let entries = members.get_mut("SendMessageBatchRequestEntry").and_then(Value::as_array_mut);
    entries.into_iter().flatten().filter_map(Value::as_object_mut).for_each(attributes);
}

fn map(pairs: &Value, key: &str, value: &str) -> Value {
    let all = pairs.as_array().cloned().unwrap_or_default();
    let pair = |one: &Value| Some((one[key].as_str()?.to_owned(), one[value].clone()));
    Value::Object(all.iter().filter_map(pair).collect())
}

/// An answer in JSON, as XML has it.
pub(super) fn output(action: &str, value: &Value) -> Value {
    let Value::Object(members) = value else { return Value::Null };
    let mut out = Map::new();
    for (name, value) in members {
        let element = match (name.as_str(), action) {
            ("Attributes", _) => {
                out.insert("*Attribute".to_owned(), pairs(value));
                continue;
            }
            ("MessageAttributes", _) => {
                out.insert("*MessageAttribute".to_owned(), pairs(value));
                continue;
            }
            ("Tags", _) => {
                let tags = value.as_object().cloned().unwrap_or_default();
                let tags: Vec<Value> =
                    tags.into_iter().map(|(key, value)| json!({"Key": key, "Value": value})).collect();
                out.insert("*Tag".to_owned(), Value::Array(tags));
                continue;
            }
            ("Messages", _) => "*Message",
            ("QueueUrls" | "queueUrls", _) => "*QueueUrl",
            ("Failed", _) => "*BatchResultErrorEntry",
            ("Successful", "SendMessageBatch") => "*SendMessageBatchResultEntry",
            ("Successful", "DeleteMessageBatch") => "*DeleteMessageBatchResultEntry",
            ("Successful", _) => "*ChangeMessageVisibilityBatchResultEntry",
            (other, _) => other,
        };
        let value = match value {
            Value::Array(all) => Value::Array(all.iter().map(|one| nested(action, one)).collect()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                value.clone()
            }
        };
        out.insert(element.to_owned(), value);
    }
    Value::Object(out)
}

fn nested(action: &str, value: &Value) -> Value {
    if value.is_object() { output(action, value) } else { value.clone() }
}

fn pairs(map: &Value) -> Value {
    let all = map.as_object().cloned().unwrap_or_default();
    Value::Array(all.into_iter().map(|(name, value)| json!({"Name": name, "Value": value})).collect())
}

/// The code that a query answers with for one of JSON.
pub(super) fn query_code(code: &str) -> String {
    match code {
        "QueueDoesNotExist" => "AWS.SimpleQueueService.NonExistentQueue".to_owned(),
        "QueueDeletedRecently" => "AWS.SimpleQueueService.QueueDeletedRecently".to_owned(),
        "MessageNotInflight" => "AWS.SimpleQueueService.MessageNotInflight".to_owned(),
        "PurgeQueueInProgress" => "AWS.SimpleQueueService.PurgeQueueInProgress".to_owned(),
        "EmptyBatchRequest" => "AWS.SimpleQueueService.EmptyBatchRequest".to_owned(),
        "TooManyEntriesInBatchRequest" => "AWS.SimpleQueueService.TooManyEntriesInBatchRequest".to_owned(),
        "BatchEntryIdsNotDistinct" => "AWS.SimpleQueueService.BatchEntryIdsNotDistinct".to_owned(),
        "QueueNameExists" => "QueueAlreadyExists".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_messages_have_names_and_values() {
        let value = json!({"DataType": "String", "StringValue": "v"});
        let pairs = json!([{"Name": "a b", "Value": value}]);
        let entry = json!({"Id": "1", "MessageAttribute": pairs});
        let sent = input(json!({"QueueUrl": "q", "SendMessageBatchRequestEntry": [entry]}), "/");
        assert_eq!(sent["Entries"], json!([{"Id": "1", "MessageAttributes": {"a b": value}}]));
        let sent = input(json!({"QueueUrl": "q", "MessageAttribute": pairs}), "/");
        assert_eq!(sent["MessageAttributes"], json!({"a b": value}));
        let got = output("ReceiveMessage", &json!({"Messages": [{"MessageAttributes": {"a b": value}}]}));
        assert_eq!(got, json!({"*Message": [{"*MessageAttribute": pairs}]}));
    }
}
