//! Plugin ServiceAccount (plugin/pkg/admission/serviceaccount): a pod has an account, and mounts its token.

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::{Kind, Object, render};
use replank_model::text::Text;
use serde_json::{Value, json};

use super::error::ApiError;
use super::store::Api;
use crate::draw::Purpose;

/// Where containers find the token.
const PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// What names of the volume begin with.
const VOLUME: &str = "kube-api-access-";
/// What stands for the suffix until each pod gets its own: siblings share all else.
pub(super) const UNNAMED: &str = "00000";
/// The annotation of pods that stand for what a kubelet runs by itself.
const MIRROR: &str = "kubernetes.io/config.mirror";

impl Api {
    /// Names the account of a new pod that names none, before the pod is validated: some volumes need it.
    pub(crate) fn name_account(&self, kind: Kind, value: &mut Value) {
        let is_mirror = value["metadata"]["annotations"].get(MIRROR).is_some();
        if !self.serving().accounts || kind != Kind::Pod || is_mirror || !value["spec"].is_object() {
            return;
        }
        let spec = &mut value["spec"];
        let given = |member: &str| spec[member].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
        let name = given("serviceAccountName").or_else(|| given("serviceAccount"));
        let name = name.unwrap_or_else(|| "default".to_owned());
        spec["serviceAccountName"] = name.as_str().into();
        spec["serviceAccount"] = name.into();
    }

    /// Completes a pod's spec, or refuses the pod.
    pub(super) fn admit_account(&self, pod: &Pod, value: &mut Value) -> Result<(), ApiError> {
        let forbidden = |why: &str| ApiError::forbidden(Kind::Pod, &pod.meta.key(), why);
        let spec = &mut value["spec"];
        let text = |spec: &Value, member: &str| spec[member].as_str().unwrap_or_default().to_owned();
        let mut name = text(spec, "serviceAccountName");
        if name.is_empty() {
            name = text(spec, "serviceAccount");
        }
        if pod.meta.annotations.value(MIRROR).is_some() {
            let refers = !name.is_empty();
            return if refers {
                Err(forbidden("a mirror pod may not reference service accounts"))
            } else {
                Ok(())
            };
        }
        if name.is_empty() {
            "default".clone_into(&mut name);
        }
        let namespace = &pod.meta.namespace;
        let account = self.view().other("", "ServiceAccount", &Key::new(namespace.as_str(), name.as_str()));
        let Some(account) = account.cloned() else {
            let why = format!(
                "error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found"
            );
            return Err(forbidden(&why));
        };
        let account = render(&Object::Other(account));
        spec["serviceAccountName"] = name.as_str().into();
        spec["serviceAccount"] = name.as_str().into();
        let wish = spec.get("automountServiceAccountToken").and_then(Value::as_bool);
        let wish = wish.or_else(|| account.get("automountServiceAccountToken").and_then(Value::as_bool));
        if wish.unwrap_or(true) {
            mount(spec);
        }
        let has_none = |list: Option<&Value>| list.and_then(Value::as_array).is_none_or(Vec::is_empty);
        if has_none(spec.get("imagePullSecrets")) && !has_none(account.get("imagePullSecrets")) {
            spec["imagePullSecrets"] = account["imagePullSecrets"].clone();
        }
        Ok(())
    }

    /// What the name of a pod's volume ends with.
    pub(super) fn token_suffix(&self, pod: &Pod) -> Text {
        let entity = format!("Pod/{}/{}", pod.meta.namespace, pod.meta.name);
        suffix(self.draw(&entity, Purpose::TokenVolume)).into()
    }
}

/// Mounts the token wherever nothing else is mounted in its place.
fn mount(spec: &mut Value) {
    let named = |volume: &Value| {
        let name = volume["name"].as_str()?;
        name.starts_with(VOLUME).then(|| name.to_owned())
    };
    let known = spec["volumes"].as_array().into_iter().flatten().find_map(named);
    let name = known.clone().unwrap_or_else(|| format!("{VOLUME}{UNNAMED}"));
    let mut is_used = false;
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let mounts = container["volumeMounts"].as_array();
            if mounts.into_iter().flatten().any(|mount| mount["mountPath"] == PATH) {
                continue;
            }
            if !container["volumeMounts"].is_array() {
                container["volumeMounts"] = json!([]);
            }
            let mount = json!({"name": name, "readOnly": true, "mountPath": PATH});
            if let Some(mounts) = container["volumeMounts"].as_array_mut() {
                mounts.push(mount);
            }
            is_used = true;
        }
    }
    if !is_used || known.is_some() {
        return;
    }
    if !spec["volumes"].is_array() {
        spec["volumes"] = json!([]);
    }
    if let Some(volumes) = spec["volumes"].as_array_mut() {
        volumes.push(volume(&name));
    }
}

fn volume(name: &str) -> Value {
    json!({"name": name, "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace",
            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}}]}})
}

/// Five letters and digits, as in generated names.
fn suffix(mut drawn: u64) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut next = || {
        let at = usize::try_from(drawn % 27).expect("less than 27");
        drawn /= 27;
        char::from(LETTERS[at])
    };
    (0..5).map(|_| next()).collect()
}

#[cfg(test)]
mod tests {
    use replank_model::time::Time;
    use replank_model::view::View;

    use super::super::serving::Serving;
    use super::*;
    use crate::Clock;
    use crate::draw::Draws;
    use crate::json::{Method, Request, Response};

    fn api() -> Api {
        let clock = Clock::new(Time::from_millis(1_764_000_000_000));
        let mut api = Api::new(clock, View::default(), Draws::new(1));
        api.serve(Serving { accounts: true, addresses: false, traces: false });
        let account = |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "a"}});
        api.apply_json(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}))
            .expect("it is new");
        api.apply_json(account("default")).expect("it is new");
        let mut quiet = account("quiet");
        quiet["automountServiceAccountToken"] = false.into();
        quiet["imagePullSecrets"] = json!([{"name": "pull"}]);
        api.apply_json(quiet).expect("it is new");
        api
    }

    fn make(api: &mut Api, name: &str, mut spec: Value) -> Response {
        if spec.get("containers").is_none() {
            spec["containers"] = json!([{"name": "c", "image": "i"}]);
        }
        let body = json!({"metadata": {"name": name}, "spec": spec});
        let path = "/api/v1/namespaces/a/pods".to_owned();
        api.handle(&Request { method: Method::Post, path, content_type: String::new(), body, wire: None })
    }

    #[test]
    fn a_pod_mounts_the_token_of_its_account() {
        let mut api = api();
        let containers = json!([{"name": "c", "image": "i"},
            {"name": "d", "image": "i", "volumeMounts": [{"name": "x", "mountPath": PATH}]}]);
        let made = make(
            &mut api,
            "p",
            json!({"containers": containers, "volumes": [{"name": "x", "emptyDir": {}}]}),
        );
        assert_eq!(made.code, 201, "{}", made.body);
        let spec = &made.body["spec"];
        assert_eq!(
            (&spec["serviceAccountName"], &spec["serviceAccount"]),
            (&json!("default"), &json!("default"))
        );
        let name = spec["volumes"][1]["name"].as_str().expect("it is the second");
        assert!(name.starts_with(VOLUME) && name.len() == VOLUME.len() + 5, "{name}");
        let mount = json!([{"name": name, "readOnly": true, "mountPath": PATH}]);
        assert_eq!(spec["containers"][0]["volumeMounts"], mount);
        assert_eq!(spec["containers"][1]["volumeMounts"][0]["name"], "x");
    }

    #[test]
    fn a_pod_without_an_account_may_ask_for_its_token() {
        let mut api = api();
        let token =
            json!({"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}});
        let made = make(&mut api, "p", json!({"volumes": [token]}));
        assert_eq!(
            (made.code, &made.body["spec"]["serviceAccountName"]),
            (201, &json!("default")),
            "{}",
            made.body
        );
    }

    #[test]
    fn an_account_that_is_not_there_is_refused_and_one_may_opt_out() {
        let mut api = api();
        let refused = make(&mut api, "p", json!({"serviceAccountName": "nope"}));
        let why = "pods \"p\" is forbidden: error looking up service account a/nope: serviceaccount \"nope\" not found";
        assert_eq!((refused.code, refused.body["message"].as_str()), (403, Some(why)));
        let quiet = make(&mut api, "q", json!({"serviceAccountName": "quiet"}));
        assert!(quiet.body["spec"].get("volumes").is_none(), "{}", quiet.body);
        assert_eq!(quiet.body["spec"]["imagePullSecrets"], json!([{"name": "pull"}]));
        let loud =
            make(&mut api, "r", json!({"serviceAccountName": "quiet", "automountServiceAccountToken": true}));
        assert!(loud.body["spec"]["volumes"][0]["projected"].is_object(), "{}", loud.body);
    }
}
