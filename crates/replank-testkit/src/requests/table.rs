//! Tables: what `kubectl get` prints. The server's printing is not part of the simulation; the cells are made here from the
//! objects, so that what they say is compared.

use serde_json::{Value, json};

/// The cells of budgets, one row each, without their age (`pkg/printers/internalversion` `printPodDisruptionBudget`).
pub(super) fn of_budgets(answer: &Value) -> Vec<Value> {
    let rows = match answer.get("items").and_then(Value::as_array) {
        Some(items) => items.iter().collect(),
        None => vec![answer],
    };
    rows.into_iter().map(row).collect()
}

fn row(budget: &Value) -> Value {
    let bound = |name: &str| match &budget["spec"][name] {
        Value::Null => "N/A".into(),
        Value::Number(number) => Value::String(number.to_string()),
        other @ (Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => other.clone(),
    };
    json!([
        budget["metadata"]["name"],
        bound("minAvailable"),
        bound("maxUnavailable"),
        budget["status"]["disruptionsAllowed"],
    ])
}

/// The same cells of a recorded Table.
pub(super) fn recorded(table: &Value) -> Vec<Value> {
    let rows = table["rows"].as_array().into_iter().flatten();
    rows.map(|row| Value::Array(row["cells"].as_array().into_iter().flatten().take(4).cloned().collect()))
        .collect()
}
