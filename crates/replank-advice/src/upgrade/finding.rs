//! What is found on the way to another version.

use replank_facts::finding;

use crate::rule::rules;

pub use finding::{ObjectName, Severity};

/// One thing that was found, at the step that it stands before.
pub type Finding = finding::Finding<Rule>;

rules! {
    ApiRemoved = "api-removed", "an API version that is in use and not served by the next version";
    KubeletTooOld = "kubelet-too-old", "nodes whose kubelets are older than the control plane supports";
    KubeletNewer = "kubelet-newer", "nodes whose kubelets are newer than the control plane, which is never supported";
    NodesMatch = "nodes-match", "nodes that are behind the control plane: the EKS documentation is contradictory on whether the upgrade proceeds";
    FargateBehind = "fargate-behind", "pods on Fargate that are behind the control plane: delete each, and its replacement gets a new node";
    KubeProxySkew = "kube-proxy-skew", "a kube-proxy that does not match the control plane or the kubelets";
    AddonUnknown = "addon-unknown", "an add-on whose compatible versions are unknown";
    AddonIncompatible = "addon-incompatible", "an add-on without a version that EKS offers for the next Kubernetes version";
    ControllerVersion = "controller-version", "a self-installed controller that does not support the next version, or only on a best-effort basis";
    WebhookExact = "webhook-exact", "an admission webhook that matches one API version only and is bypassed at others";
    KubeletRefuses = "kubelet-refuses", "labels, arguments and feature gates with which kubelets of the next version do not start";
    DockerGone = "docker-gone", "pods that use Docker on their node, which nodes of 1.24 and later do not have";
    ImageGone = "image-gone", "nodes with a machine image that EKS does not publish for the next version";
    Insight = "insight", "EKS upgrade insights that report a problem";
    SubnetAddresses = "subnet-addresses", "subnets without enough free addresses for a new control plane";
    ClusterNotActive = "cluster-not-active", "a cluster that EKS does not upgrade in its current state";
    VersionNotOffered = "version-not-offered", "a version that EKS does not offer yet";
    RollBlocked = "roll-blocked", "a node group whose roll would not finish";
    ControlPlaneUnknown = "control-plane-unknown", "a control plane whose version is unknown";
}
