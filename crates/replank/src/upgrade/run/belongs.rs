//! Whether the API server is that of the cluster in EKS: an upgrade of one cluster by the nodes of another would end badly.

use replank_intake::base64;
use replank_live::aws::Aws;
use replank_live::{Connection, nodes};
use serde_json::Value;

use crate::failure::Failure;

/// How the addresses of EKS's API servers end, in each partition.
const OF_EKS: [&str; 2] = [".eks.amazonaws.com", ".eks.amazonaws.com.cn"];
/// EKS's own label of the nodes of a managed group.
const MANAGED: &str = "eks.amazonaws.com/nodegroup";

/// Tells by the address, the authority, or else the nodes. `cluster` is as DescribeCluster has it.
///
/// # Errors
/// Where it is another one, nothing tells, or nodes and groups cannot be read.
pub(super) async fn belongs(aws: &Aws, cluster: &Value, connection: &Connection) -> Result<(), Failure> {
    let endpoint = cluster["endpoint"].as_str().unwrap_or_default();
    if bare(endpoint) == bare(connection.server()) {
        return Ok(());
    }
    let other = |why: &str| another(cluster, connection, why);
    if is_of_eks(connection.server()) {
        return Err(other(""));
    }
    // Through a tunnel or a proxy the address is another one.
    if is_trusted(cluster["certificateAuthority"]["data"].as_str(), connection.authority()) {
        return Ok(());
    }
    let arn = cluster["arn"].as_str().and_then(|arn| arn.split(':').nth(3));
    let region = arn.filter(|region| !region.is_empty()).unwrap_or_else(|| aws.region());
    let name = cluster["name"].as_str().unwrap_or_default();
    let known = aws.nodegroups(name).await?;
    told_by(&nodes(connection, None, 500).await?, region, &known).map_err(|why| other(&why))
}

fn another(cluster: &Value, connection: &Connection, why: &str) -> Failure {
    let text = |member: &str| cluster[member].as_str().unwrap_or_default();
    let (name, endpoint) = (text("name"), text("endpoint"));
    let why = if why.is_empty() { String::new() } else { format!("; {why}") };
    Failure::usage_message(format!(
        "context {:?} leads to {}, and cluster {name} is at {endpoint}{why}",
        connection.context(),
        connection.server()
    ))
    .next(format!(
        "pass the context of {name}: aws eks update-kubeconfig --name {name}, then --context NAME; or the account and region of this context: --profile, --region"
    ))
}

/// An address without what does not matter.
fn bare(address: &str) -> String {
    let address = address.trim().trim_end_matches('/').to_ascii_lowercase();
    address.strip_suffix(":443").map_or(address.clone(), str::to_owned)
}

/// Whether an address is one that EKS gives to an API server.
fn is_of_eks(address: &str) -> bool {
    let address = bare(address);
    let host = address.split_once("://").map_or(&*address, |(_, rest)| rest);
    let host = host.split(['/', ':']).next().unwrap_or_default();
    OF_EKS.iter().any(|end| host.ends_with(end))
}

/// Whether the kubeconfig trusts the cluster's own authority, and nobody else.
fn is_trusted(told: Option<&str>, trusted: &[Vec<u8>]) -> bool {
    let pem = told.and_then(|told| String::from_utf8(base64::decode(told.trim())?).ok());
    let own = pem.map(|pem| certificates(&pem)).unwrap_or_default();
    !own.is_empty() && !trusted.is_empty() && trusted.iter().all(|one| own.contains(one))
}

/// The certificates of a text in PEM.
fn certificates(pem: &str) -> Vec<Vec<u8>> {
    let parts = pem.split("-----BEGIN CERTIFICATE-----").skip(1);
    let bodies = parts.filter_map(|part| part.split_once("-----END CERTIFICATE-----"));
    bodies
        .filter_map(|(body, _)| {
            let body: String = body.chars().filter(|one| !one.is_ascii_whitespace()).collect();
            base64::decode(&body)
        })
        .collect()
}

/// Whether nodes are in a region, and those of managed groups in groups that the cluster has.
fn told_by(nodes: &[Value], region: &str, groups: &[String]) -> Result<(), String> {
    let mut told = 0;
    for node in nodes {
        let name = node["metadata"]["name"].as_str().unwrap_or_default();
        if let Some(group) = node["metadata"]["labels"][MANAGED].as_str()
            && !groups.iter().any(|known| known == group)
        {
            return Err(format!(
                "node {name} belongs to node group {group}, which that cluster does not have"
            ));
        }
        // aws:///eu-west-1a/i-0123; what is not an instance (Fargate, hybrid nodes) says nothing.
        let zone = node["spec"]["providerID"].as_str().and_then(|id| id.strip_prefix("aws:///"));
        let Some((zone, _)) = zone.and_then(|rest| rest.split_once("/i-")) else { continue };
        if !is_in(zone, region) {
            return Err(format!("node {name} is in {zone}, and that cluster is in {region}"));
        }
        told += 1;
    }
    match told {
        0 => Err("neither its authority nor a node tells that it is that cluster".to_owned()),
        _ => Ok(()),
    }
}

/// Whether a zone (`us-west-2a`, `us-west-2-lax-1a`) is in a region.
fn is_in(zone: &str, region: &str) -> bool {
    let rest = zone.strip_prefix(region).and_then(|rest| rest.chars().next());
    rest.is_some_and(|next| next == '-' || next.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_of_eks_is_known_in_every_partition() {
        for (address, is_so) in [
            ("https://ABC.gr7.eu-west-1.eks.amazonaws.com", true),
            ("https://ABC.gr7.eu-west-1.eks.amazonaws.com:443/", true),
            ("https://abc.sk1.cn-north-1.eks.amazonaws.com.cn", true),
            ("https://127.0.0.1:6443", false),
            ("https://eks.amazonaws.com.example.org", false),
        ] {
            assert_eq!(is_of_eks(address), is_so, "{address}");
        }
        assert_eq!(bare("https://ABC.eks.amazonaws.com:443/"), bare("https://abc.eks.amazonaws.com"));
    }

    #[test]
    fn an_authority_is_compared_by_its_certificates() {
        let pem = |bytes: &[u8]| {
            format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", base64::encode(bytes))
        };
        let told = base64::encode(pem(b"own").as_bytes());
        assert!(is_trusted(Some(&told), &[b"own".to_vec()]));
        assert!(!is_trusted(Some(&told), &[b"other".to_vec()]));
        assert!(!is_trusted(Some(&told), &[b"own".to_vec(), b"other".to_vec()]));
        assert!(!is_trusted(Some(&told), &[]));
        assert!(!is_trusted(None, &[b"own".to_vec()]));
        assert!(!is_trusted(Some(""), &[]));
    }

    #[test]
    fn nodes_tell_the_region_and_the_groups() {
        let node = |zone: &str, group: &str| json!({"metadata": {"name": "n", "labels": {MANAGED: group}}, "spec": {"providerID": format!("aws:///{zone}/i-0123")}});
        let groups = ["web".to_owned()];
        for (zone, group, is_so) in [
            ("eu-west-1a", "web", true),
            ("us-west-2-lax-1a", "web", false),
            ("eu-west-12a", "web", false),
            ("us-east-1a", "web", false),
            ("eu-west-1a", "other", false),
        ] {
            assert_eq!(told_by(&[node(zone, group)], "eu-west-1", &groups).is_ok(), is_so, "{zone} {group}");
        }
        assert!(is_in("us-west-2-lax-1a", "us-west-2"));
        let fargate = json!({"metadata": {"name": "f"}, "spec": {"providerID": "aws:///eu-west-1a/0123/fargate-ip-10-0-0-1"}});
        assert!(told_by(&[fargate], "eu-west-1", &groups).is_err(), "nothing tells");
    }
}
