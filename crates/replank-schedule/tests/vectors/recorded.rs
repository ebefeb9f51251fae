//! Objects of recordings: those of one kind stand there without saying it.

use std::sync::Arc;

use anyhow::bail;
use replank_model::object::Object;
use replank_model::object::pod::Pod;
use serde_json::{Value, json};

/// A recorded object with its kind.
pub(crate) fn typed(recorded: &Value, api_version: &str, kind: &str) -> Value {
    let mut object = recorded.clone();
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    object
}

pub(crate) fn pod(recorded: &Value) -> anyhow::Result<Arc<Pod>> {
    let object = Object::from_json(typed(recorded, "v1", "Pod"))?;
    let Object::Pod(pod) = object else { bail!("{} is not a pod", object.reference()) };
    Ok(pod)
}
