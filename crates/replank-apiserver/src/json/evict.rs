//! The eviction subresource: POST …/pods/NAME/eviction with a policy/v1 Eviction.

use replank_model::object::meta::Key;
use serde_json::{Value, json};

use super::admit::PartWrite;
use super::path::Address;
use super::policies::Of;
use super::{Effect, read_delete_options};
use crate::server::Eviction;
use crate::server::{Api, ApiError, Cause, ResourceName};

impl Api {
    /// Evicts the pod at an address.
    ///
    /// # Errors
    /// As a server refuses: see [`crate::server::EvictionRefusal`], and 400 where body and path do not fit.
    pub(super) fn evict_json(&mut self, address: &Address, body: &Value) -> Result<Value, ApiError> {
        let pod: Key = address.key().unwrap_or_default();
        let given = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
        let (kind, version) = (given("kind"), given("apiVersion"));
        let is_known = |version: &str| matches!(version, "" | "policy/v1" | "policy/v1beta1");
        if (kind == "Eviction" && !is_known(version)) || !matches!(kind, "" | "Eviction") {
            let short = version.rsplit('/').next().unwrap_or_default();
            return Err(ApiError::bad_request(&format!(
                "{kind} in version {short:?} cannot be handled as a Eviction: no kind {kind:?} is registered for version \
                 {version:?} in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\""
            )));
        }
        let named = body.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        if pod.name != *named {
            return Err(ApiError::bad_request("name in URL does not match name in Eviction object"));
        }
        let options = body.get("deleteOptions").filter(|options| !options.is_null());
        let (effect, options) = read_options(address, options.unwrap_or(&Value::Null))?;
        if self.caller.is_some() {
            let of = Of { group: "policy", version: "v1", kind: "Eviction" };
            let write = PartWrite { operation: "CREATE", of, part: "eviction", old: None, effect };
            let mut asked = body.clone();
            asked["apiVersion"] = "policy/v1".into();
            asked["kind"] = "Eviction".into();
            // What is warned of is told with nothing that is written.
            self.admit_part(address, &write, asked, &mut Vec::new())?;
        }
        let eviction = Eviction { pod, options, effect };
        self.evict(&eviction).map_err(|refusal| refusal.into_error(&eviction.pod))?;
        let success =
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(success)
    }
}

/// The options of an eviction, or what is wrong with them, and whether it is a dry run: by the query or by the options,
/// which must not differ.
fn read_options(
    address: &Address,
    options: &Value,
) -> Result<(Effect, Result<crate::server::DeleteOptions, ApiError>), ApiError> {
    let words = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let inside = words(&options["dryRun"]);
    let outside: Vec<String> = address.parameter("dryRun").map(str::to_owned).into_iter().collect();
    if !inside.is_empty() && !outside.is_empty() && inside != outside {
        return Err(ApiError::internal(&format!(
            "Non-matching dry-run options in request and content: [{}] and [{}]",
            outside.join(" "),
            inside.join(" ")
        )));
    }
    let dry_run = if inside.is_empty() { outside } else { inside };
    let effect = if dry_run.is_empty() { Effect::Real } else { Effect::DryRun };
    if dry_run.iter().all(|word| word == "All") {
        return Ok((effect, read_delete_options(options)));
    }
    let shown = Value::from(dry_run);
    let cause = Cause {
        reason: "FieldValueNotSupported",
        message: format!("Unsupported value: {shown}: supported values: \"All\""),
        field: Some("dryRun".to_owned()),
    };
    let name = ResourceName {
        group: "meta.k8s.io".into(),
        plural: "deleteoptions".into(),
        kind: "DeleteOptions".into(),
    };
    Ok((effect, Err(ApiError::invalid(name, "", vec![cause]))))
}
