//! The paths of EKS.

use serde_json::{Value, json};

use super::json::body;
use super::message::Request;
use crate::fault::Fault;
use crate::text::{pairs, unescape};

/// An operation: its method, its path, and its name. A part in braces is a member.
type Route = (&'static str, &'static str, &'static str);

const ROUTES: &[Route] = &[
    ("GET", "/clusters", "ListClusters"),
    ("POST", "/clusters", "CreateCluster"),
    ("GET", "/clusters/{name}", "DescribeCluster"),
    ("DELETE", "/clusters/{name}", "DeleteCluster"),
    ("POST", "/clusters/{name}/update-config", "UpdateClusterConfig"),
    ("POST", "/clusters/{name}/updates", "UpdateClusterVersion"),
    ("GET", "/clusters/{name}/updates", "ListUpdates"),
    ("GET", "/clusters/{name}/updates/{updateId}", "DescribeUpdate"),
    ("POST", "/clusters/{name}/updates/{updateId}/cancel-update", "CancelUpdate"),
    ("GET", "/clusters/{clusterName}/node-groups", "ListNodegroups"),
    ("POST", "/clusters/{clusterName}/node-groups", "CreateNodegroup"),
    ("GET", "/clusters/{clusterName}/node-groups/{nodegroupName}", "DescribeNodegroup"),
    ("DELETE", "/clusters/{clusterName}/node-groups/{nodegroupName}", "DeleteNodegroup"),
    ("POST", "/clusters/{clusterName}/node-groups/{nodegroupName}/update-config", "UpdateNodegroupConfig"),
    ("POST", "/clusters/{clusterName}/node-groups/{nodegroupName}/update-version", "UpdateNodegroupVersion"),
    ("GET", "/clusters/{clusterName}/addons", "ListAddons"),
    ("POST", "/clusters/{clusterName}/addons", "CreateAddon"),
    ("GET", "/clusters/{clusterName}/addons/{addonName}", "DescribeAddon"),
    ("DELETE", "/clusters/{clusterName}/addons/{addonName}", "DeleteAddon"),
    ("POST", "/clusters/{clusterName}/addons/{addonName}/update", "UpdateAddon"),
    ("GET", "/addons/supported-versions", "DescribeAddonVersions"),
    ("GET", "/addons/configuration-schemas", "DescribeAddonConfiguration"),
    ("GET", "/cluster-versions", "DescribeClusterVersions"),
    ("POST", "/clusters/{clusterName}/insights", "ListInsights"),
    ("GET", "/clusters/{clusterName}/insights/{id}", "DescribeInsight"),
    ("GET", "/clusters/{clusterName}/fargate-profiles", "ListFargateProfiles"),
    ("GET", "/clusters/{clusterName}/fargate-profiles/{fargateProfileName}", "DescribeFargateProfile"),
    ("GET", "/access-policies", "ListAccessPolicies"),
    ("GET", "/clusters/{clusterName}/access-entries", "ListAccessEntries"),
    ("POST", "/clusters/{clusterName}/access-entries", "CreateAccessEntry"),
    ("GET", "/clusters/{clusterName}/access-entries/{principalArn}", "DescribeAccessEntry"),
    ("POST", "/clusters/{clusterName}/access-entries/{principalArn}", "UpdateAccessEntry"),
    ("DELETE", "/clusters/{clusterName}/access-entries/{principalArn}", "DeleteAccessEntry"),
    (
        "GET",
        "/clusters/{clusterName}/access-entries/{principalArn}/access-policies",
        "ListAssociatedAccessPolicies",
    ),
    (
        "POST",
        "/clusters/{clusterName}/access-entries/{principalArn}/access-policies",
        "AssociateAccessPolicy",
    ),
    (
        "DELETE",
        "/clusters/{clusterName}/access-entries/{principalArn}/access-policies/{policyArn}",
        "DisassociateAccessPolicy",
    ),
    ("GET", "/clusters/{clusterName}/pod-identity-associations", "ListPodIdentityAssociations"),
    ("POST", "/clusters/{clusterName}/pod-identity-associations", "CreatePodIdentityAssociation"),
    (
        "GET",
        "/clusters/{clusterName}/pod-identity-associations/{associationId}",
        "DescribePodIdentityAssociation",
    ),
    (
        "POST",
        "/clusters/{clusterName}/pod-identity-associations/{associationId}",
        "UpdatePodIdentityAssociation",
    ),
    (
        "DELETE",
        "/clusters/{clusterName}/pod-identity-associations/{associationId}",
        "DeletePodIdentityAssociation",
    ),
    ("GET", "/clusters/{clusterName}/identity-provider-configs", "ListIdentityProviderConfigs"),
    ("GET", "/tags/{resourceArn}", "ListTagsForResource"),
    ("POST", "/tags/{resourceArn}", "TagResource"),
    ("DELETE", "/tags/{resourceArn}", "UntagResource"),
];

/// Members of queries that are lists, even of one.
const LISTS: &[&str] = &["tagKeys", "types", "publishers", "owners", "clusterVersions", "include"];

/// The operation, and its members: those of the path, the query and the body.
///
/// # Errors
/// Where nothing has such a path, or the body is no JSON.
pub(super) fn read(request: &Request<'_>) -> Result<(String, Value), Fault> {
    let parts: Vec<String> =
        request.path.trim_matches('/').split('/').map(|part| unescape(part, false)).collect();
    let (route, in_path) = ROUTES
        .iter()
        .filter(|(method, ..)| *method == request.method)
        .find_map(|route| Some((route, matched(route.1, &parts)?)))
        .ok_or_else(|| {
            Fault::new(
                404,
                "UnknownOperationException",
                format!("{} {} is not served", request.method, request.path),
            )
        })?;
    let mut input = body(request.body)?;
    if !input.is_object() {
        return Err(Fault::bad("SerializationException", "the body has to be an object"));
    }
    for (key, value) in pairs(request.query) {
        if LISTS.contains(&&*key) {
            match &mut input[&key] {
                Value::Array(all) => all.push(json!(value)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                    input[&key] = json!([value]);
                }
            }
        } else {
            input[&key] = json!(value);
        }
    }
    for (key, value) in in_path {
        input[key] = json!(value);
    }
    Ok((route.2.to_owned(), input))
}

/// The members in a path, where it is the route's.
fn matched(route: &'static str, parts: &[String]) -> Option<Vec<(&'static str, String)>> {
    let known: Vec<&'static str> = route.trim_matches('/').split('/').collect();
    if known.len() != parts.len() {
        return None;
    }
    let mut members = Vec::new();
    for (known, part) in known.into_iter().zip(parts) {
        match known.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => members.push((name, part.clone())),
            None if known == part => {}
            None => return None,
        }
    }
    Some(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_operations() {
        let of = |method: &str, path: &str, query: &str| {
            read(&Request { method, path, query, target: None, body: b"" }).map_err(|fault| fault.status)
        };
        let input = json!({"clusterName": "a", "nodegroupName": "b c"});
        assert_eq!(
            of("GET", "/clusters/a/node-groups/b%20c", ""),
            Ok(("DescribeNodegroup".to_owned(), input))
        );
        let input = json!({"resourceArn": "arn:aws:eks:x:1:cluster/a", "tagKeys": ["k", "l"]});
        assert_eq!(
            of("DELETE", "/tags/arn%3Aaws%3Aeks%3Ax%3A1%3Acluster%2Fa", "tagKeys=k&tagKeys=l"),
            Ok(("UntagResource".to_owned(), input))
        );
        assert_eq!(of("GET", "/nothing", ""), Err(404));
    }
}
