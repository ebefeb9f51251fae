//! What every namespace has: the account `default` and the certificate of the cluster's authority (pkg/controller/serviceaccount,
//! pkg/controller/certificates/rootcacertpublisher).

use replank_apiserver::Api;
use replank_model::object::meta::Key;
use serde_json::json;

use super::edit::{create, read, text, update};

/// The account.
pub(super) const ACCOUNT: &str = "default";
/// The ConfigMap with the certificate.
pub(super) const AUTHORITY: &str = "kube-root-ca.crt";

/// Makes what is missing in a namespace.
pub(super) fn furnish(api: &mut Api, namespace: &Key, authority: &str) {
    let is_there = api.view().namespaces.by_key(namespace).is_some_and(|known| !known.meta.is_terminating());
    if !is_there {
        return;
    }
    let namespace = namespace.name.as_str();
    if api.view().other("", "ServiceAccount", &Key::new(namespace, ACCOUNT)).is_none() {
        create(
            api,
            json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": ACCOUNT, "namespace": namespace}}),
        );
    }
    match read(api, "", "ConfigMap", &Key::new(namespace, AUTHORITY)) {
        None => create(
            api,
            json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": AUTHORITY, "namespace": namespace,
                "annotations": {"kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."}},
            "data": {"ca.crt": authority}}),
        ),
        Some(mut known) => {
            let is_right = text(&known, "/data/ca.crt") == authority
                && known["data"].as_object().is_some_and(|data| data.len() == 1);
            if !is_right {
                known["data"] = json!({"ca.crt": authority});
                update(api, known);
            }
        }
    }
}
