//! Where the templates of a Workflow come from: its own spec, the WorkflowTemplate that it was made from, and those that its steps name
//! (argo-workflows `workflow/templateresolution/context.go`, docs/workflow-templates).

use replank_model::object::meta::Key;
use replank_model::text::Namespace;
use replank_model::view::View;
use serde_json::Value;

/// The spec of a WorkflowTemplate, or of a ClusterWorkflowTemplate, as a reference names it (`{name, clusterScope}`).
#[must_use]
pub fn referred_spec(view: &View, namespace: &Namespace, reference: &Value) -> Option<Value> {
    let name = reference["name"].as_str()?;
    let (kind, key) = match reference["clusterScope"] == true {
        true => ("ClusterWorkflowTemplate", Key::cluster(name)),
        false => ("WorkflowTemplate", Key::new(namespace.clone(), name)),
    };
    let found = view.other("argoproj.io", kind, &key)?;
    let raw: Value = serde_json::from_str(found.meta.raw.0.as_deref()?).ok()?;
    raw.get("spec").cloned()
}

/// The template that a step's `templateRef` names (`{name, template, clusterScope}`).
#[must_use]
pub fn referred(view: &View, namespace: &Namespace, reference: &Value) -> Option<Value> {
    let spec = referred_spec(view, namespace, reference)?;
    named(&spec, reference["template"].as_str()?).cloned()
}

/// A template of a spec.
#[must_use]
pub fn named<'a>(spec: &'a Value, name: &str) -> Option<&'a Value> {
    spec["templates"].as_array()?.iter().find(|template| template["name"] == name)
}

/// A spec with what it refers to (`workflowTemplateRef`) laid under it.
#[must_use]
pub fn in_force(view: &View, namespace: &Namespace, spec: &Value) -> Value {
    let referred = spec.get("workflowTemplateRef").and_then(|found| referred_spec(view, namespace, found));
    let mut under = referred.unwrap_or_default();
    lay_over(&mut under, spec);
    under
}

/// Lays an object over another: what it says counts, the rest stays.
pub(super) fn lay_over(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                lay_over(under.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (under, over) => *under = over.clone(),
    }
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_followed_into_namespace_and_cluster() {
        let of = |kind: &str, namespace: Value, image: &str| {
            json!({"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": {"name": "lib", "namespace": namespace, "uid": kind},
                "spec": {"entrypoint": "main", "templates": [{"name": "main", "container": {"image": image}}]}})
        };
        let all = [
            of("WorkflowTemplate", json!("shop"), "near"),
            of("ClusterWorkflowTemplate", Value::Null, "far"),
        ];
        let view: View =
            all.into_iter().map(|value| Delta::Put(Object::from_json(value).expect("an object"))).collect();
        let image = |namespace: &str, reference: Value| {
            Some(referred(&view, &Namespace::from(namespace), &reference)?["container"]["image"].clone())
        };
        assert_eq!(image("shop", json!({"name": "lib", "template": "main"})), Some(json!("near")));
        assert_eq!(
            image("shop", json!({"name": "lib", "template": "main", "clusterScope": true})),
            Some(json!("far"))
        );
        assert_eq!(image("other", json!({"name": "lib", "template": "main"})), None, "of another namespace");
        assert_eq!(image("shop", json!({"name": "lib", "template": "absent"})), None);
        let spec = json!({"workflowTemplateRef": {"name": "lib"}, "activeDeadlineSeconds": 60});
        let spec = in_force(&view, &Namespace::from("shop"), &spec);
        assert_eq!((&spec["entrypoint"], &spec["activeDeadlineSeconds"]), (&json!("main"), &json!(60)));
    }
}
