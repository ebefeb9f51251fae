//! Webhooks as their configurations have them.

use serde_json::{Value, json};

/// A kind of configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Webhooks that may change objects.
    Mutating,
    /// Webhooks that may refuse writes.
    Validating,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mutating => "MutatingWebhookConfiguration",
            Self::Validating => "ValidatingWebhookConfiguration",
        }
    }
}

/// A webhook.
#[derive(Clone, Debug)]
pub(super) struct Hook {
    pub(super) configuration: String,
    pub(super) name: String,
    pub(super) client: Value,
    /// Rules and selectors, as policies have them.
    pub(super) constraints: Value,
    pub(super) conditions: Vec<Value>,
    pub(super) ignores_failures: bool,
    pub(super) is_free_of_effects: bool,
    pub(super) is_reinvoked: bool,
    /// Whether it may change objects.
    pub(super) may_patch: bool,
    pub(super) timeout_seconds: u64,
    pub(super) versions: Vec<String>,
}

/// How long a webhook may take that does not say.
const TIMEOUT: u64 = 10;

/// The webhooks of a configuration.
pub(super) fn read(configuration: &Value) -> Vec<Hook> {
    let of = configuration.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let hooks = configuration.get("webhooks").and_then(Value::as_array).into_iter().flatten();
    hooks.map(|hook| one(of, hook)).collect()
}

fn one(of: &str, hook: &Value) -> Hook {
    let text = |name: &str| hook.get(name).and_then(Value::as_str).unwrap_or_default();
    let list = |name: &str| hook.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    // A webhook without rules is asked about nothing.
    let rules = match list("rules") {
        rules if rules.is_empty() => vec![json!({})],
        rules => rules,
    };
    Hook {
        configuration: of.to_owned(),
        name: text("name").to_owned(),
        client: hook["clientConfig"].clone(),
        constraints: json!({"resourceRules": rules, "namespaceSelector": hook["namespaceSelector"],
            "objectSelector": hook["objectSelector"], "matchPolicy": hook["matchPolicy"]}),
        conditions: list("matchConditions"),
        ignores_failures: text("failurePolicy") == "Ignore",
        is_free_of_effects: matches!(text("sideEffects"), "None" | "NoneOnDryRun"),
        is_reinvoked: text("reinvocationPolicy") == "IfNeeded",
        may_patch: false,
        timeout_seconds: hook.get("timeoutSeconds").and_then(Value::as_u64).unwrap_or(TIMEOUT),
        versions: list("admissionReviewVersions")
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    }
}
