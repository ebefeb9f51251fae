//! What the error codes of EKS's updates mean, and what to do about each.
//!
//! Source: the API reference of EKS, `ErrorDetail.errorCode`, and the user guide's pages on updating clusters and add-ons.

use replank_live::aws::{EksError, EksUpdate};

/// What a code means; nothing where EKS's own words have to be enough.
pub(super) fn meaning(code: &str, cluster: &str, addon: Option<&str>) -> Option<String> {
    let name = addon.unwrap_or("ADDON");
    Some(match code {
        "SubnetNotFound" => "a subnet of the cluster does not exist any more: aws eks describe-cluster names them".to_owned(),
        "SecurityGroupNotFound" => "a security group of the cluster does not exist any more: make one with the same rules, or ask AWS support".to_owned(),
        "EniLimitReached" => "the account's limit of network interfaces is reached: have it raised, or delete interfaces that nothing uses".to_owned(),
        "IpNotAvailable" | "InsufficientFreeAddresses" => {
            "the cluster's subnets have too few free addresses: a control plane needs up to five".to_owned()
        }
        "AccessDenied" => "the cluster's role, or EKS inside the cluster, may not do what the update needs".to_owned(),
        "OperationNotPermitted" => "a service-linked role of EKS is missing or may not do what the update needs".to_owned(),
        "VpcIdNotFound" => "the cluster's VPC does not exist any more".to_owned(),
        "NodeCreationFailure" => "new nodes did not become Ready within 15 minutes".to_owned(),
        "PodEvictionFailure" => "pods were left on a node after 15 minutes: a disruption budget or a finalizer keeps them".to_owned(),
        "ClusterUnreachable" => "EKS could not reach the cluster's API: look for webhooks that refuse or do not answer".to_owned(),
        "InsufficientNumberOfReplicas" => {
            format!("pods of the add-on are not available: kubectl -n kube-system get pods; is there room for {name} on the nodes?")
        }
        "ConfigurationConflict" => format!(
            "somebody has changed fields of the add-on that the update sets: pass --conflicts {name}=OVERWRITE (EKS's values) or {name}=PRESERVE (yours stay)"
        ),
        "AdmissionRequestDenied" => "an admission webhook refuses the add-on's objects: its message names it".to_owned(),
        "UnsupportedAddonModification" => "the add-on has settings that the new version does not take: aws eks describe-addon-configuration shows those that it does".to_owned(),
        "K8sResourceNotFound" => format!(
            "an object of the add-on was deleted: reinstall it: aws eks delete-addon --preserve and create-addon --cluster-name {cluster} --addon-name {name}"
        ),
        _ => return None,
    })
}

/// Why an update has failed, in a sentence for each error.
pub(super) fn told(update: &EksUpdate, cluster: &str, addon: Option<&str>) -> String {
    let one = |error: &EksError| {
        let about = match error.resources.as_slice() {
            [] => String::new(),
            some => format!(" ({})", some.join(", ")),
        };
        let means =
            meaning(&error.code, cluster, addon).map(|means| format!("; {means}")).unwrap_or_default();
        format!("{}: {}{about}{means}", error.code, error.message)
    };
    match update.errors.as_slice() {
        [] => "EKS gives no reason".to_owned(),
        some => some.iter().map(one).collect::<Vec<_>>().join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_api_but_unknown_is_explained() {
        for code in [
            "SubnetNotFound",
            "SecurityGroupNotFound",
            "EniLimitReached",
            "IpNotAvailable",
            "AccessDenied",
            "OperationNotPermitted",
            "VpcIdNotFound",
            "NodeCreationFailure",
            "PodEvictionFailure",
            "InsufficientFreeAddresses",
            "ClusterUnreachable",
            "InsufficientNumberOfReplicas",
            "ConfigurationConflict",
            "AdmissionRequestDenied",
            "UnsupportedAddonModification",
            "K8sResourceNotFound",
        ] {
            assert!(meaning(code, "shop", Some("coredns")).is_some(), "{code}");
        }
        assert_eq!(meaning("Unknown", "shop", None), None);
        let conflict = meaning("ConfigurationConflict", "shop", Some("coredns")).expect("it is known");
        assert!(conflict.contains("--conflicts coredns=OVERWRITE"), "{conflict}");
    }
}
