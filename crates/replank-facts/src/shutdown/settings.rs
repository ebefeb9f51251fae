//! Where containers have their settings: variables, and ConfigMaps beside them.

use std::collections::BTreeMap;

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::view::View;
use serde_json::Value;

/// The variables of a container that have a value of their own.
pub(super) fn env_of(pod: &Pod, container: &str) -> BTreeMap<String, String> {
    let spec = pod.spec.raw.as_deref().and_then(|raw| serde_json::from_str::<Value>(raw).ok());
    let spec = spec.unwrap_or_default();
    let lists = [&spec["containers"], &spec["initContainers"]];
    let containers = lists.into_iter().filter_map(Value::as_array).flatten();
    let own = containers.filter(|one| one["name"].as_str() == Some(container));
    let env = own.filter_map(|one| one["env"].as_array()).flatten();
    env.filter_map(|one| Some((one["name"].as_str()?.to_owned(), one["value"].as_str()?.to_owned())))
        .collect()
}

/// The data of a ConfigMap, if the snapshot has it.
pub(super) fn config_map(view: &View, namespace: &str, name: &str) -> Option<Value> {
    let map = view.other("", "ConfigMap", &Key::new(namespace, name))?;
    let mut object: Value = serde_json::from_str(map.meta.raw.0.as_deref()?).ok()?;
    Some(object["data"].take())
}
