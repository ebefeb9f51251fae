//! How a deletion is asked for.

use serde_json::Value;

use super::body;
use super::path::Address;
use super::request::read_delete_options;
use crate::server::{ApiError, DeleteOptions};

/// 400: what is to be a number is none.
pub(super) fn not_a_number(text: &str) -> ApiError {
    ApiError::bad_request(&format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
}

/// Reads meta/v1 DeleteOptions from a body, and what the query says in its place.
pub(super) fn delete_options(address: &Address, body: &Value) -> Result<DeleteOptions, ApiError> {
    let mut merged = body::options(body)?;
    for member in ["gracePeriodSeconds", "propagationPolicy", "orphanDependents"] {
        let Some(text) = address.parameter(member) else { continue };
        merged[member] = match member {
            "gracePeriodSeconds" => {
                let seconds = text.parse::<i64>();
                seconds.map(Value::from).map_err(|_| not_a_number(text))?
            }
            "orphanDependents" => Value::from(!matches!(text, "false" | "0")),
            _ => Value::from(text),
        };
    }
    let dry: Vec<&str> = address.parameters_named("dryRun").collect();
    if !dry.is_empty() {
        merged["dryRun"] = Value::from(dry);
    }
    read_delete_options(&merged)
}
