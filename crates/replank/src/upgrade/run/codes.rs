//! Why an update of a control plane or an add-on has failed, in words, and what to type.

use replank_live::aws::{EksError, EksUpdate};
use replank_model::object::cloud::{EksSubject, explained};

/// What a code means, and what to type; nothing where EKS's own words have to be enough.
pub(super) fn meaning(code: &str, cluster: &str, addon: Option<&str>) -> Option<String> {
    let name = addon.unwrap_or("ADDON");
    let next = match code {
        "InsufficientNumberOfReplicas" => format!("; is there room for {name} on the nodes?"),
        "ConfigurationConflict" => {
            format!(": pass --conflicts {name}=OVERWRITE (EKS's values) or {name}=PRESERVE (yours stay)")
        }
        "K8sResourceNotFound" => format!(
            ": aws eks delete-addon --preserve and create-addon --cluster-name {cluster} --addon-name {name}"
        ),
        _ => String::new(),
    };
    Some(format!("{}{next}", explained(code, EksSubject::Cluster)?))
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
