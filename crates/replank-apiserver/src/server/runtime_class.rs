//! Pods that name a RuntimeClass get what it says: overhead, nodes, tolerations (plugin RuntimeClass, plugin/pkg/admission/runtimeclass).

use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::object::{Kind, Object, render};
use replank_model::quantity::Quantity;
use serde_json::{Map, Value};

use super::error::ApiError;
use super::store::Api;

/// Whether a pod names a class: then what becomes of it hangs on another object.
pub(super) fn is_named(spec: &PodSpec) -> bool {
    spec.raw.as_deref().is_some_and(|raw| raw.contains("\"runtimeClassName\""))
}

impl Api {
    /// Gives a new pod what its class says, or refuses it.
    pub(super) fn admit_runtime_class(&self, pod: &Pod, value: &mut Value) -> Result<(), ApiError> {
        let refused = |why: &str| Err(ApiError::forbidden(Kind::Pod, &pod.meta.key(), why));
        let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
        let class = match spec.get("runtimeClassName").and_then(Value::as_str) {
            None => Value::Null,
            Some(name) => match self.view().other("node.k8s.io", "RuntimeClass", &Key::cluster(name)) {
                Some(class) => render(&Object::Other(class.clone())),
                None => return refused(&format!("pod rejected: RuntimeClass {name:?} not found")),
            },
        };
        match class.get("overhead").map(|overhead| &overhead["podFixed"]) {
            None if spec.contains_key("overhead") => {
                return refused(
                    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
                );
            }
            Some(fixed) if spec.get("overhead").is_some_and(|own| !is_same(own, fixed)) => {
                return refused("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
            }
            Some(fixed) => drop(spec.insert("overhead".to_owned(), fixed.clone())),
            None => {}
        }
        if let Err(why) = schedule(spec, &class["scheduling"]) {
            return refused(&why);
        }
        Ok(())
    }
}

/// The same amounts, however they are written.
fn is_same(own: &Value, fixed: &Value) -> bool {
    let amounts = |value: &Value| -> Vec<(String, Option<Quantity>)> {
        let members = value.as_object().into_iter().flatten();
        members
            .map(|(name, amount)| (name.clone(), amount.as_str().and_then(|text| text.parse().ok())))
            .collect()
    };
    amounts(own) == amounts(fixed)
}

fn schedule(spec: &mut Map<String, Value>, scheduling: &Value) -> Result<(), String> {
    if let Some(wanted) = scheduling["nodeSelector"].as_object() {
        let own = spec.entry("nodeSelector").or_insert_with(|| Value::Object(Map::new()));
        for (key, value) in wanted {
            if let Some(known) = own.get(key).filter(|known| *known != value) {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                return Err(format!(
                    "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                    text(value),
                    text(known)
                ));
            }
            own[key] = value.clone();
        }
    }
    if let Some(wanted) = scheduling["tolerations"].as_array() {
        let own = spec.entry("tolerations").or_insert_with(|| Value::Array(Vec::new()));
        if let Some(own) = own.as_array_mut() {
            let missing: Vec<Value> = wanted.iter().filter(|one| !own.contains(one)).cloned().collect();
            own.extend(missing);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use replank_model::object::render;
    use replank_model::time::Time;
    use replank_model::view::View;
    use serde_json::json;

    use super::super::serving::Serving;
    use super::*;
    use crate::Clock;
    use crate::draw::Draws;

    #[expect(clippy::needless_pass_by_value, reason = "a test writes it where it is needed")]
    fn made(api: &mut Api, name: &str, spec: Value) -> Result<Value, ApiError> {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec});
        api.create_object(Object::from_json(pod).expect("it is well formed"))
            .map(|object| render(&object)["spec"].clone())
    }

    #[test]
    fn a_pod_gets_what_its_class_says() {
        let mut api =
            Api::new(Clock::new(Time::from_millis(1_764_000_000_000)), View::default(), Draws::new(1));
        api.serve(Serving { accounts: false, addresses: true, traces: true });
        let class = json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}, "handler": "runsc",
            "overhead": {"podFixed": {"cpu": "250m"}},
            "scheduling": {"nodeSelector": {"runtime": "gvisor"}, "tolerations": [{"key": "runtime", "operator": "Exists"}]}});
        api.create_object(Object::from_json(class).expect("it is well formed")).expect("it is new");
        let containers = json!([{"name": "c", "image": "i"}]);
        let of = |more: Value| {
            let mut spec = json!({"containers": containers});
            spec.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            spec
        };
        let spec = made(&mut api, "a", of(json!({"runtimeClassName": "gvisor"}))).expect("it is taken");
        assert_eq!(
            (&spec["overhead"], &spec["nodeSelector"]),
            (&json!({"cpu": "250m"}), &json!({"runtime": "gvisor"}))
        );
        assert_eq!(spec["tolerations"][0]["key"], "runtime", "{spec}");
        let refused =
            |api: &mut Api, more: Value| made(api, "b", of(more)).expect_err("it is refused").message;
        assert_eq!(
            refused(&mut api, json!({"runtimeClassName": "kata"})),
            "pods \"b\" is forbidden: pod rejected: RuntimeClass \"kata\" not found"
        );
        assert!(refused(&mut api, json!({"overhead": {"cpu": "1"}})).contains("set without corresponding"));
        assert!(
            refused(&mut api, json!({"runtimeClassName": "gvisor", "overhead": {"cpu": "1"}}))
                .contains("doesn't match")
        );
        assert!(
            made(&mut api, "c", of(json!({"runtimeClassName": "gvisor", "overhead": {"cpu": "0.25"}})))
                .is_ok()
        );
        let other = json!({"runtimeClassName": "gvisor", "nodeSelector": {"runtime": "runc"}});
        assert!(
            refused(&mut api, other)
                .contains("nodeSelector[runtime] = gvisor; pod.spec.nodeSelector[runtime] = runc")
        );
    }
}
