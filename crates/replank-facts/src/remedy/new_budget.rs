//! A new disruption budget, as `kubectl create pdb` makes it.

use replank_model::object::meta::Key;
use replank_model::selector::Selector;
use replank_model::selector::label::Operator;
use replank_model::text::Text;
use serde_json::{Map, Value, json};

/// What a new disruption budget allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetBound {
    /// `maxUnavailable`.
    MaxUnavailable(Text),
    /// `minAvailable`.
    MinAvailable(Text),
}

/// What `kubectl create pdb` makes of its flags.
pub(super) fn budget(key: &Key, selector: &str, bound: &BudgetBound) -> Value {
    let number = |text: &Text| text.parse::<i64>().map_or_else(|_| json!(&**text), |number| json!(number));
    let (member, value) = match bound {
        BudgetBound::MaxUnavailable(text) => ("maxUnavailable", number(text)),
        BudgetBound::MinAvailable(text) => ("minAvailable", number(text)),
    };
    let mut spec = Map::new();
    spec.insert(member.to_owned(), value);
    spec.insert("selector".to_owned(), label_selector(selector));
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"namespace": key.namespace.as_str(), "name": key.name.as_str()}, "spec": spec})
}

/// The label selector that a selector on one line says (apimachinery `ParseToLabelSelector`).
fn label_selector(text: &str) -> Value {
    let Ok(selector) = text.parse::<Selector>() else { return Value::Null };
    let mut labels = Map::new();
    let mut expressions = Vec::new();
    for requirement in selector.requirements() {
        let values: Vec<&str> = requirement.values().iter().map(|value| &**value).collect();
        let operator = match requirement.operator() {
            Operator::Equals | Operator::DoubleEquals => {
                labels.insert(requirement.key().to_string(), json!(values.first()));
                continue;
            }
            Operator::In => "In",
            Operator::NotIn | Operator::NotEquals => "NotIn",
            Operator::Exists => "Exists",
            Operator::DoesNotExist => "DoesNotExist",
            // A label selector has no such operator; the API refuses what is made of it.
            Operator::GreaterThan | Operator::LessThan => "Gt",
        };
        let key = &**requirement.key();
        expressions.push(json!({"key": key, "operator": operator, "values": values}));
    }
    let mut selector = Map::new();
    if !labels.is_empty() {
        selector.insert("matchLabels".to_owned(), Value::Object(labels));
    }
    if !expressions.is_empty() {
        selector.insert("matchExpressions".to_owned(), Value::Array(expressions));
    }
    Value::Object(selector)
}
