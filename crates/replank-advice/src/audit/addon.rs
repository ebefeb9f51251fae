//! Workloads that the cluster itself needs.

use replank_facts::remedy::EksAddon;
use replank_model::object::pod::Pod;

use super::capacity::image_name;

/// What a known add-on is called, and which it is where EKS manages it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownAddon {
    /// Name of its image, or the beginning of it.
    image: &'static str,
    /// What people call it.
    pub(super) name: &'static str,
    /// As EKS manages it, if it does.
    pub(super) managed: Option<EksAddon>,
}

const fn addon(image: &'static str, name: &'static str) -> KnownAddon {
    KnownAddon { image, name, managed: None }
}

const fn managed(image: &'static str, name: &'static str, eks: EksAddon) -> KnownAddon {
    KnownAddon { image, name, managed: Some(eks) }
}

/// Add-ons by image. Deployments only: DaemonSets belong on every node.
const KNOWN: &[KnownAddon] = &[
    managed("coredns", "CoreDNS", EksAddon::CoreDns),
    managed("metrics-server", "metrics-server", EksAddon::MetricsServer),
    managed("aws-ebs-csi-driver", "the EBS CSI controller", EksAddon::EbsCsi),
    managed("aws-efs-csi-driver", "the EFS CSI controller", EksAddon::EfsCsi),
    managed("snapshot-controller", "the snapshot controller", EksAddon::SnapshotController),
    addon("k8s-dns-kube-dns", "kube-dns"),
    addon("cluster-autoscaler", "cluster-autoscaler"),
    addon("karpenter", "Karpenter"),
    addon("aws-load-balancer-controller", "the AWS load balancer controller"),
    addon("ingress-nginx", "the ingress controller"),
    addon("nginx-ingress", "the ingress controller"),
    addon("traefik", "the ingress controller"),
    addon("haproxy-ingress", "the ingress controller"),
    addon("contour", "the ingress controller"),
    addon("cert-manager-", "cert-manager"),
    addon("external-dns", "external-dns"),
    addon("external-secrets", "external-secrets"),
    addon("cluster-proportional-autoscaler", "the DNS autoscaler"),
];

/// Why a workload counts as one that the cluster needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    /// A known add-on.
    Addon(KnownAddon),
    /// Its priority says so: `system-cluster-critical` or `system-node-critical`.
    Critical,
    /// It is in `kube-system`.
    Namespace,
}

impl System {
    /// What a pod's workload is to the cluster.
    pub(super) fn of(pod: &Pod) -> Option<Self> {
        let images = || pod.spec.containers.iter().map(|container| image_of(&container.image));
        // The first container is the main one; sidecars of CSI controllers are known by none of the names.
        let known = images()
            .find_map(|image| KNOWN.iter().find(|known| image == known.image || begins(image, known.image)));
        // Karpenter's image is called `controller`.
        let known = known.or_else(|| {
            let is_karpenter = |image: &str| image.contains("karpenter/");
            let has = pod.spec.containers.iter().any(|container| is_karpenter(&container.image));
            KNOWN.iter().find(|known| has && known.image == "karpenter")
        });
        if let Some(addon) = known {
            return Some(Self::Addon(*addon));
        }
        let class = &*pod.spec.priority_class_name;
        if class.starts_with("system-") && class.ends_with("-critical") {
            return Some(Self::Critical);
        }
        (pod.meta.namespace == "kube-system").then_some(Self::Namespace)
    }

    /// The add-on, if it is one.
    pub(super) fn addon(&self) -> Option<&KnownAddon> {
        match self {
            Self::Addon(addon) => Some(addon),
            Self::Critical | Self::Namespace => None,
        }
    }

    /// What sort of workload it is.
    pub(super) fn sort(&self) -> &'static str {
        match self {
            Self::Addon(_) => "an add-on",
            Self::Critical => "a workload with the cluster's own priority",
            Self::Namespace => "a workload of kube-system",
        }
    }

    /// What people call it.
    pub(super) fn told(&self) -> &'static str {
        match self {
            Self::Addon(addon) => addon.name,
            Self::Critical | Self::Namespace => "it",
        }
    }
}

/// `ingress-nginx/controller` is known by its directory.
fn image_of(image: &str) -> &str {
    let name = image_name(image);
    match name {
        "controller" | "nginx-ingress-controller" if image.contains("ingress-nginx") => "ingress-nginx",
        other => other,
    }
}

fn begins(image: &str, known: &str) -> bool {
    known.ends_with('-') && image.starts_with(known)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use replank_model::object::pod::{Container, PodSpec};

    use super::*;

    fn pod(namespace: &str, image: &str, class: &str) -> Pod {
        let container = Container { image: image.into(), ..Container::default() };
        let spec =
            PodSpec { containers: vec![container], priority_class_name: class.into(), ..PodSpec::default() };
        let mut pod = Pod { spec: Arc::new(spec), ..Pod::default() };
        pod.meta.namespace = namespace.into();
        pod
    }

    #[test]
    fn add_ons_are_known_by_their_image_wherever_they_run() {
        let named = |image: &str| System::of(&pod("tools", image, "")).map(|system| system.told());
        let eks = "602401143452.dkr.ecr.ap-northeast-1.amazonaws.com/eks";
        assert_eq!(named(&format!("{eks}/coredns:v1.12.4-eksbuild.1")), Some("CoreDNS"));
        assert_eq!(named(&format!("{eks}/aws-ebs-csi-driver:v1.51.0")), Some("the EBS CSI controller"));
        assert_eq!(
            named("registry.k8s.io/ingress-nginx/controller:v1.13@sha256:ab"),
            Some("the ingress controller")
        );
        assert_eq!(named("public.ecr.aws/karpenter/controller:1.6.0"), Some("Karpenter"));
        assert_eq!(named("quay.io/jetstack/cert-manager-webhook:v1.18"), Some("cert-manager"));
        assert_eq!(named("shop/coredns-lookalike:1"), None);
        assert_eq!(named("shop/controller:1"), None);
    }

    #[test]
    fn others_are_known_by_priority_or_namespace() {
        assert_eq!(System::of(&pod("a", "x", "system-cluster-critical")), Some(System::Critical));
        assert_eq!(System::of(&pod("kube-system", "x", "")), Some(System::Namespace));
        assert_eq!(System::of(&pod("a", "x", "high")), None);
    }
}
