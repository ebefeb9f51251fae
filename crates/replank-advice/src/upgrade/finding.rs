//! What is found on the way to another version.

use replank_facts::finding;

use crate::rule::rules;

pub use finding::{ObjectName, Severity};

/// One thing that was found, at the step that it stands before.
pub type Finding = finding::Finding<Rule>;

rules! {
    ApiRemoved = "api-removed", "an API version that is still used and that the next version does not serve";
    KubeletTooOld = "kubelet-too-old", "nodes whose kubelets are older than the control plane takes";
    KubeletNewer = "kubelet-newer", "nodes whose kubelets are newer than the control plane, which is never allowed";
    NodesMatch = "nodes-match", "nodes that are behind the control plane: EKS' own texts contradict each other on whether it goes on";
    FargateBehind = "fargate-behind", "pods on Fargate that are behind the control plane: each is deleted, and the next one gets a new node";
    KubeProxySkew = "kube-proxy-skew", "a kube-proxy that does not go with the control plane or the kubelets";
    AddonUnknown = "addon-unknown", "an add-on of which nobody has said which versions go with the next one";
    AddonIncompatible = "addon-incompatible", "an add-on for which EKS offers no version that goes with the next one";
    ControllerVersion = "controller-version", "a controller of one's own that is not made for the next version";
    WebhookExact = "webhook-exact", "an admission webhook that sees one API version only, and is passed by at others";
    KubeletRefuses = "kubelet-refuses", "labels, arguments and feature gates with which kubelets of the next version do not start";
    DockerGone = "docker-gone", "pods that talk to the Docker of their node, which nodes of 1.24 and later do not have";
    ImageGone = "image-gone", "nodes of a machine image that EKS does not make for the next version";
    Insight = "insight", "what EKS' upgrade insights say";
    SubnetAddresses = "subnet-addresses", "subnets without the free addresses that a new control plane needs";
    ClusterNotActive = "cluster-not-active", "a cluster that EKS does not upgrade in its present state";
    VersionNotOffered = "version-not-offered", "a version that EKS does not offer yet";
    RollBlocked = "roll-blocked", "a node group whose roll would not come to its end";
    ControlPlaneUnknown = "control-plane-unknown", "a control plane whose version nobody has said";
}
