//! What names stand for in the expressions of a policy.

use std::collections::BTreeMap;

use replank_custom::cel::convert::from_json;
use replank_custom::cel::{Failure, Scope, Val, evaluate};
use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use serde_json::{Value, json};

use super::attempt::Attempt;
use crate::server::Api;
use crate::server::policies::{Expression, Policy};

/// What names stand for.
pub(in super::super) struct Names {
    values: BTreeMap<String, Val>,
    /// Variables that come to nothing.
    failed: BTreeMap<String, Failure>,
}

impl Scope for Names {
    fn value(&self, name: &str) -> Option<Result<Val, Failure>> {
        self.values.get(name).cloned().map(Ok)
    }
}

impl Names {
    pub(in super::super) fn new(api: &Api, attempt: &Attempt<'_>, param: Option<&Value>) -> Self {
        let value = |of: Option<&Value>| of.map_or(Val::Null, from_json);
        let namespace = api.view().namespaces.by_key(&Key::cluster(attempt.namespace));
        let namespace = namespace.map(|one| render(&Object::Namespace(one.clone())));
        let user = api.caller.as_ref().map(|caller| caller.user.clone()).filter(Value::is_object);
        let user = user.unwrap_or_else(
            || json!({"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]}),
        );
        let mut values: BTreeMap<String, Val> = BTreeMap::new();
        values.insert("object".to_owned(), value(attempt.object));
        values.insert("oldObject".to_owned(), value(attempt.old));
        values.insert("request".to_owned(), from_json(&request(attempt, &user)));
        values.insert("namespaceObject".to_owned(), value(namespace.as_ref()));
        values.insert("params".to_owned(), value(param));
        values.insert("variables".to_owned(), Val::object([]));
        Self { values, failed: BTreeMap::new() }
    }

    /// Variables may use those before them.
    pub(super) fn with_variables(mut self, policy: &Policy) -> Self {
        let mut made: Vec<(String, Val)> = Vec::new();
        for (name, expression) in &policy.variables {
            match self.ask(expression) {
                Ok(value) => made.push((name.clone(), value)),
                Err(failure) => {
                    self.failed.insert(name.clone(), failure);
                }
            }
            self.values.insert("variables".to_owned(), Val::object(made.clone()));
        }
        self
    }

    /// What an expression comes to.
    pub(in super::super) fn ask(&self, expression: &Expression) -> Result<Val, Failure> {
        let parsed =
            expression.parsed.as_ref().map_err(|error| Failure(format!("compilation error: {error}")))?;
        evaluate(parsed, self).map_err(|failure| {
            // A variable that came to nothing says why.
            let missing =
                failure.0.strip_prefix("no such key: ").and_then(|name| Some((name, self.failed.get(name)?)));
            match missing {
                Some((name, Failure(why))) => {
                    Failure(format!("composited variable {name:?} fails to evaluate: {why}"))
                }
                None => failure,
            }
        })
    }
}

fn request(attempt: &Attempt<'_>, user: &Value) -> Value {
    json!({"kind": attempt.kind(), "resource": attempt.plural(), "subResource": attempt.subresource,
        "requestKind": attempt.requested_kind(), "requestResource": attempt.requested_plural(), "requestSubResource": attempt.subresource, "name": attempt.name,
        "namespace": attempt.namespace, "operation": attempt.operation, "dryRun": attempt.is_dry,
        "userInfo": user})
}
