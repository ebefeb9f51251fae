//! Controllers that somebody has installed, and the Kubernetes versions that they are made for.
//!
//! They are known by their images. What each is made for stands in its own documentation; the rows below name it. Where a row
//! does not reach as far as the target, or nobody publishes such a table, the answer is that it is not known: look there.

use std::collections::BTreeMap;

use replank_model::object::meta::Key;
use replank_model::object::pod::PodSpec;
use replank_model::object::workload::{DaemonSet, Deployment, StatefulSet};
use replank_model::version::Version;
use replank_model::view::View;

use super::minor::Minor;

/// The first two numbers of a product's version.
type Number = (u64, u64);

/// What a controller is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// Its minor version is that of the control plane.
    ForItsOwnMinor,
    /// From this version on it goes with this minor version of Kubernetes and later ones, until the next row: `(Kubernetes,
    /// least version)`. Kubernetes beyond the last row is not known.
    Least(&'static [(u64, Number)]),
    /// Of a version and later, the newest Kubernetes that it was made for: `(version, newest Kubernetes)`, the last row first. Nothing is known of versions
    /// beyond that row's: they may have left out older Kubernetes, too.
    Newest(&'static [(Number, u64)]),
    /// From a version on, it goes with this Kubernetes and all later ones: `(version, oldest Kubernetes)`, the last row first. Nothing is known of versions
    /// beyond the last that the table was published with.
    Oldest(&'static [(Number, u64)], Number),
    /// It is built with the client-go of a Kubernetes, which is what it supports; with others it works as far as they have the same APIs: `(version, Kubernetes of
    /// its client-go)`, the last row first. Nothing is known of versions beyond that row's.
    Client(&'static [(Number, u64)]),
    /// It goes with all versions that Kubernetes or EKS supports when it is released: `(first version after the release of a Kubernetes, that Kubernetes)`, the
    /// last row first, and the last version that is known.
    Supported(&'static [(Number, u64)], Number),
    /// Nobody publishes a table that is built in.
    NotPublished,
}

/// Minor versions before the newest that are supported for certain: EKS supports each for 26 months, in which six or seven are released, and offers it two months late.
const SUPPORTED: u64 = 4;

/// How grave it is where it is not made for a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// It was not tried, and mostly works.
    Untested,
    /// It asks for API versions that are gone from this Kubernetes version on, and stops: `(versions before this, Kubernetes)`.
    Stops(Number, u64),
}

/// A controller that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// What to call it.
    pub name: &'static str,
    /// How the repository of its image ends, or what it has in it.
    images: &'static [&'static str],
    made: Made,
    breaks: Break,
    /// Where it says so.
    pub look: &'static str,
}

/// Controllers that are known.
pub const KNOWN: &[Known] = &[
    Known {
        name: "Cluster Autoscaler",
        images: &["/cluster-autoscaler"],
        // kubernetes/autoscaler, cluster-autoscaler/README.md "Releases": the version that was made for the control plane's.
        made: Made::ForItsOwnMinor,
        breaks: Break::Untested,
        look: "https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler#releases",
    },
    Known {
        name: "Karpenter",
        images: &["karpenter/controller", "/karpenter"],
        // karpenter-provider-aws, docs "Compatibility", matrix (as of 1.9).
        made: Made::Least(&[
            (29, (0, 34)),
            (30, (0, 37)),
            (31, (1, 0)),
            (32, (1, 2)),
            (33, (1, 5)),
            (34, (1, 6)),
            (35, (1, 9)),
        ]),
        breaks: Break::Untested,
        look: "https://karpenter.sh/docs/upgrading/compatibility/",
    },
    Known {
        name: "AWS Load Balancer Controller",
        images: &["/aws-load-balancer-controller", "/aws-alb-ingress-controller"],
        // kubernetes-sigs/aws-load-balancer-controller, docs/deploy/installation.md "Supported Kubernetes versions" (v3.5.0, 2026-08-03): 2.0.0 to 2.1.3 for 1.15 to
        // 1.21, 2.2.0 to 2.3.1 for 1.16 to 1.21, 2.4.0 and later for 1.19 and later, 2.5.0 and later for 1.22 and later.
        made: Made::Oldest(&[((2, 5), 22), ((2, 4), 19), ((2, 2), 16), ((2, 0), 15)], (3, 5)),
        breaks: Break::Stops((2, 4), 22),
        look: "https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/deploy/installation/",
    },
    Known {
        name: "Ingress-NGINX",
        images: &["ingress-nginx/controller", "/nginx-ingress-controller"],
        // kubernetes/ingress-nginx, README.md "Supported Versions table" (as of v1.11).
        made: Made::Newest(&[
            ((1, 11), 30),
            ((1, 10), 30),
            ((1, 9), 29),
            ((1, 8), 27),
            ((1, 7), 27),
            ((1, 6), 26),
            ((1, 5), 25),
            ((1, 4), 25),
            ((1, 3), 24),
            ((1, 1), 23),
            ((1, 0), 22),
            ((0, 0), 21),
        ]),
        breaks: Break::Stops((1, 0), 22),
        look: "https://github.com/kubernetes/ingress-nginx#supported-versions-table",
    },
    Known {
        name: "cert-manager",
        images: &["/cert-manager-controller"],
        // cert-manager, docs "Supported Releases" (as of 1.20).
        made: Made::Newest(&[((1, 20), 35), ((1, 19), 35), ((1, 18), 33)]),
        // Its release notes 1.5: versions before ask for API versions that 1.22 does not serve.
        breaks: Break::Stops((1, 5), 22),
        look: "https://cert-manager.io/docs/releases/",
    },
    Known {
        name: "metrics-server",
        images: &["/metrics-server"],
        // kubernetes-sigs/metrics-server, README.md "Compatibility Matrix" (5ed5d3a2, 2026-08-04): 0.9.x for 1.34 and later, and so on; 0.3.x for 1.8 to 1.21.
        made: Made::Oldest(&[((0, 9), 34), ((0, 8), 31), ((0, 7), 27), ((0, 6), 25), ((0, 3), 8)], (0, 9)),
        breaks: Break::Stops((0, 4), 22),
        look: "https://github.com/kubernetes-sigs/metrics-server#compatibility-matrix",
    },
    Known {
        name: "Amazon EBS CSI driver",
        images: &["/aws-ebs-csi-driver"],
        // kubernetes-sigs/aws-ebs-csi-driver, README.md "Compatibility" of v1.29.0 (2024-03-20) to v1.64.0 (2026-08-17): "compatible with all Kubernetes versions
        // supported by the Kubernetes project and/or Amazon EKS". Each row is the first minor version that was tagged after the release of a Kubernetes
        // (eks-calendar.json).
        made: Made::Supported(
            &[
                ((1, 60), 36),
                ((1, 55), 35),
                ((1, 49), 34),
                ((1, 43), 33),
                ((1, 39), 32),
                ((1, 34), 31),
                ((1, 30), 30),
                ((1, 29), 29),
            ],
            (1, 64),
        ),
        breaks: Break::Untested,
        look: "https://github.com/kubernetes-sigs/aws-ebs-csi-driver#compatibility",
    },
    of_no_table(
        "Amazon EFS CSI driver",
        &["/aws-efs-csi-driver"],
        "https://github.com/kubernetes-sigs/aws-efs-csi-driver",
    ),
    of_no_table(
        "snapshot-controller",
        &["/snapshot-controller"],
        "https://github.com/kubernetes-csi/external-snapshotter#compatibility",
    ),
    of_no_table("Istio", &["/pilot"], "https://istio.io/latest/docs/releases/supported-releases/"),
    of_no_table(
        "Calico",
        &["calico/node", "calico/kube-controllers", "tigera/operator"],
        "https://docs.tigera.io/calico/latest/getting-started/kubernetes/requirements",
    ),
    of_no_table(
        "Cilium",
        &["cilium/cilium", "cilium/operator-generic", "cilium/operator-aws"],
        "https://docs.cilium.io/en/stable/network/kubernetes/compatibility/",
    ),
    of_no_table(
        "ExternalDNS",
        &["/external-dns"],
        "https://github.com/kubernetes-sigs/external-dns#kubernetes-version-compatibility",
    ),
    of_no_table(
        "External Secrets",
        &["/external-secrets"],
        "https://external-secrets.io/latest/introduction/stability-support/",
    ),
    Known {
        name: "Argo CD",
        images: &["argoproj/argocd"],
        // argoproj/argo-cd, docs/operator-manual/tested-kubernetes-versions.md (as of 3.2).
        made: Made::Newest(&[((3, 2), 34), ((3, 1), 34), ((3, 0), 32)]),
        breaks: Break::Untested,
        look: "https://argo-cd.readthedocs.io/en/stable/operator-manual/installation/#tested-versions",
    },
    of_no_table(
        "Argo Workflows",
        &["argoproj/workflow-controller"],
        "https://argo-workflows.readthedocs.io/en/latest/releases/",
    ),
    of_no_table(
        "Argo Rollouts",
        &["argoproj/argo-rollouts"],
        "https://github.com/argoproj/argo-rollouts/releases",
    ),
    of_no_table(
        "Flux",
        &["fluxcd/source-controller", "fluxcd/helm-controller"],
        "https://fluxcd.io/flux/installation/#prerequisites",
    ),
    Known {
        name: "kube-state-metrics",
        images: &["/kube-state-metrics"],
        // kubernetes/kube-state-metrics, README.md "Kubernetes Version" and "Compatibility matrix" of v2.7.0 to v2.20.0 (2026-08-17): "the supported Kubernetes
        // cluster version is determined by client-go. [...] All additional compatibility is only best effort". kubernetes/client-go, README.md "Compatibility matrix":
        // with any other Kubernetes, what both have in common works.
        made: Made::Client(&[
            ((2, 20), 36),
            ((2, 19), 35),
            ((2, 18), 34),
            ((2, 17), 33),
            ((2, 15), 32),
            ((2, 14), 31),
            ((2, 13), 30),
            ((2, 12), 29),
            ((2, 11), 28),
            ((2, 10), 27),
            ((2, 8), 26),
            ((2, 7), 25),
            ((2, 5), 24),
            ((2, 3), 23),
        ]),
        breaks: Break::Untested,
        look: "https://github.com/kubernetes/kube-state-metrics#compatibility-matrix",
    },
    of_no_table("KEDA", &["/keda"], "https://keda.sh/docs/latest/operate/cluster/#kubernetes-compatibility"),
    of_no_table(
        "Gatekeeper",
        &["openpolicyagent/gatekeeper"],
        "https://open-policy-agent.github.io/gatekeeper/website/docs/install",
    ),
    of_no_table("Kyverno", &["/kyverno"], "https://kyverno.io/docs/installation/#compatibility-matrix"),
    of_no_table(
        "AWS Node Termination Handler",
        &["/aws-node-termination-handler"],
        "https://github.com/aws/aws-node-termination-handler#kubernetes-version-support",
    ),
];

const fn of_no_table(name: &'static str, images: &'static [&'static str], look: &'static str) -> Known {
    Known { name, images, made: Made::NotPublished, breaks: Break::Untested, look }
}

/// Whether a controller goes with a version of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goes {
    /// It is made for it.
    Yes,
    /// It is not, and may work.
    NotMadeFor {
        /// The version to take, where that is known.
        least: Option<Number>,
    },
    /// It is built with the client-go of another version, and its project supports it as far as it can.
    BestEffort {
        /// The Kubernetes of its client-go.
        client: Minor,
        /// The later version that is built for it, where that is known.
        built: Option<Number>,
    },
    /// It asks for a later Kubernetes.
    TooNew {
        /// The oldest that it goes with.
        oldest: Minor,
    },
    /// It requests an API version that is no longer served, and stops working.
    Stops {
        /// The version to take.
        least: Number,
    },
    /// Nobody has said: the tables that are built in do not reach so far, or its version is not to be read.
    Unknown,
}

impl Known {
    /// Whether a version of it goes with a version of Kubernetes.
    #[must_use]
    pub fn goes(&self, version: Number, with: Minor) -> Goes {
        match self.breaks {
            Break::Stops(least, from) if version < least && with.0 >= from => return Goes::Stops { least },
            Break::Stops(..) | Break::Untested => {}
        }
        match self.made {
            Made::ForItsOwnMinor if version == (1, with.0) => Goes::Yes,
            Made::ForItsOwnMinor => Goes::NotMadeFor { least: Some((1, with.0)) },
            Made::Least(rows) => match rows.iter().find(|(minor, _)| *minor == with.0) {
                Some((_, least)) if version >= *least => Goes::Yes,
                Some((_, least)) => Goes::NotMadeFor { least: Some(*least) },
                None => Goes::Unknown,
            },
            Made::Newest(rows) => match rows.iter().find(|(from, _)| version >= *from) {
                Some(_) if rows.first().is_some_and(|(last, _)| version > *last) => Goes::Unknown,
                Some((_, newest)) if with.0 <= *newest => Goes::Yes,
                Some(_) => {
                    let least =
                        rows.iter().rev().find(|(_, newest)| *newest >= with.0).map(|(from, _)| *from);
                    Goes::NotMadeFor { least }
                }
                None => Goes::Unknown,
            },
            Made::Client(rows) => match rows.iter().find(|(from, _)| version >= *from) {
                Some(_) if rows.first().is_some_and(|(last, _)| version > *last) => Goes::Unknown,
                Some((_, client)) if with.0 == *client => Goes::Yes,
                Some((_, client)) => {
                    let mut later = rows.iter().filter(|(_, other)| other > client);
                    let built = later.find(|(_, other)| *other == with.0).map(|(from, _)| *from);
                    Goes::BestEffort { client: Minor(*client), built }
                }
                None => Goes::Unknown,
            },
            Made::Oldest(rows, last) => match rows.iter().find(|(from, _)| version >= *from) {
                Some(_) if version > last => Goes::Unknown,
                Some((_, oldest)) if with.0 >= *oldest => Goes::Yes,
                Some((_, oldest)) => Goes::TooNew { oldest: Minor(*oldest) },
                None => Goes::Unknown,
            },
            Made::Supported(rows, last) => match rows.iter().find(|(from, _)| version >= *from) {
                Some((_, newest)) if version <= last && (*newest - SUPPORTED..=*newest).contains(&with.0) => {
                    Goes::Yes
                }
                Some(_) | None => Goes::Unknown,
            },
            Made::NotPublished => Goes::Unknown,
        }
    }
}

/// A controller of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controller {
    /// What it is.
    pub known: &'static Known,
    /// Kind and name of its workload.
    pub workload: (&'static str, Key),
    /// Its image.
    pub image: String,
    /// Its version, where the image's tag is one.
    pub version: Option<Number>,
}

impl Controller {
    /// Whether it goes with a version of Kubernetes.
    #[must_use]
    pub fn goes(&self, with: Minor) -> Goes {
        self.version.map_or(Goes::Unknown, |version| self.known.goes(version, with))
    }
}

/// The controllers among the workloads, sorted by name; a controller with several workloads is told once for each image.
#[must_use]
pub fn inventory(view: &View) -> Vec<Controller> {
    let mut found: BTreeMap<(&'static str, String), Controller> = BTreeMap::new();
    let mut look = |kind: &'static str, key: Key, spec: &PodSpec| {
        for container in &spec.containers {
            let Some((repository, tag)) = split(&container.image) else { continue };
            let Some(known) = KNOWN.iter().find(|known| known.is(repository)) else { continue };
            let version = Version::parse_generic(tag).ok().map(|version| (version.major(), version.minor()));
            let controller = Controller {
                known,
                workload: (kind, key.clone()),
                image: container.image.to_string(),
                version,
            };
            found.entry((known.name, container.image.to_string())).or_insert(controller);
        }
    };
    for (_, one) in view.table::<Deployment>().sorted() {
        look("Deployment", one.meta.key(), &one.spec.template.spec);
    }
    for (_, one) in view.table::<StatefulSet>().sorted() {
        look("StatefulSet", one.meta.key(), &one.spec.template.spec);
    }
    for (_, one) in view.table::<DaemonSet>().sorted() {
        look("DaemonSet", one.meta.key(), &one.spec.template.spec);
    }
    found.into_values().collect()
}

impl Known {
    fn is(&self, repository: &str) -> bool {
        self.images.iter().any(|image| repository.ends_with(image))
    }
}

/// Repository and tag of an image, the digest left off; a repository of one word gets a slash before it.
pub(super) fn split(image: &str) -> Option<(&str, &str)> {
    let image = image.split_once('@').map_or(image, |(named, _)| named);
    let (repository, tag) = image.rsplit_once(':')?;
    // What follows is a port, and there is no tag.
    (!tag.contains('/')).then_some((repository, tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> &'static Known {
        KNOWN.iter().find(|known| known.name == name).expect("it is known")
    }

    /// What their own documentation says; the rows name it. (controller, version, Kubernetes, answer)
    #[test]
    fn what_their_own_documentation_says() {
        let table: &[(&str, Number, u64, Goes)] = &[
            ("Cluster Autoscaler", (1, 33), 33, Goes::Yes),
            ("Cluster Autoscaler", (1, 33), 34, Goes::NotMadeFor { least: Some((1, 34)) }),
            ("Cluster Autoscaler", (1, 35), 34, Goes::NotMadeFor { least: Some((1, 34)) }),
            ("Karpenter", (1, 6), 34, Goes::Yes),
            ("Karpenter", (1, 5), 34, Goes::NotMadeFor { least: Some((1, 6)) }),
            ("Karpenter", (0, 37), 30, Goes::Yes),
            ("Karpenter", (1, 9), 36, Goes::Unknown),
            ("AWS Load Balancer Controller", (2, 2), 21, Goes::Yes),
            ("AWS Load Balancer Controller", (2, 2), 22, Goes::Stops { least: (2, 4) }),
            ("AWS Load Balancer Controller", (2, 4), 22, Goes::Yes),
            ("AWS Load Balancer Controller", (2, 13), 36, Goes::Yes),
            ("AWS Load Balancer Controller", (2, 5), 21, Goes::TooNew { oldest: Minor(22) }),
            ("AWS Load Balancer Controller", (3, 6), 36, Goes::Unknown),
            ("AWS Load Balancer Controller", (1, 1), 21, Goes::Unknown),
            ("Ingress-NGINX", (0, 49), 21, Goes::Yes),
            ("Ingress-NGINX", (0, 49), 22, Goes::Stops { least: (1, 0) }),
            ("Ingress-NGINX", (1, 5), 26, Goes::NotMadeFor { least: Some((1, 6)) }),
            ("Ingress-NGINX", (1, 9), 29, Goes::Yes),
            ("Ingress-NGINX", (1, 11), 30, Goes::Yes),
            ("Ingress-NGINX", (1, 11), 33, Goes::NotMadeFor { least: None }),
            ("Ingress-NGINX", (1, 14), 34, Goes::Unknown),
            ("Ingress-NGINX", (1, 12), 30, Goes::Unknown),
            ("cert-manager", (1, 3), 22, Goes::Stops { least: (1, 5) }),
            ("cert-manager", (1, 18), 34, Goes::NotMadeFor { least: Some((1, 19)) }),
            ("cert-manager", (1, 20), 35, Goes::Yes),
            ("cert-manager", (1, 21), 36, Goes::Unknown),
            ("cert-manager", (1, 21), 35, Goes::Unknown),
            ("cert-manager", (1, 12), 30, Goes::Unknown),
            ("metrics-server", (0, 3), 22, Goes::Stops { least: (0, 4) }),
            ("metrics-server", (0, 3), 21, Goes::Yes),
            ("metrics-server", (0, 7), 36, Goes::Yes),
            ("metrics-server", (0, 9), 34, Goes::Yes),
            ("metrics-server", (0, 9), 33, Goes::TooNew { oldest: Minor(34) }),
            ("metrics-server", (0, 10), 36, Goes::Unknown),
            ("kube-state-metrics", (2, 20), 36, Goes::Yes),
            ("kube-state-metrics", (2, 16), 32, Goes::Yes),
            ("kube-state-metrics", (2, 16), 33, Goes::BestEffort { client: Minor(32), built: Some((2, 17)) }),
            ("kube-state-metrics", (2, 10), 28, Goes::BestEffort { client: Minor(27), built: Some((2, 11)) }),
            ("kube-state-metrics", (2, 20), 37, Goes::BestEffort { client: Minor(36), built: None }),
            ("kube-state-metrics", (2, 20), 25, Goes::BestEffort { client: Minor(36), built: None }),
            ("kube-state-metrics", (2, 21), 36, Goes::Unknown),
            ("kube-state-metrics", (2, 21), 37, Goes::Unknown),
            ("kube-state-metrics", (2, 2), 22, Goes::Unknown),
            ("Amazon EBS CSI driver", (1, 64), 36, Goes::Yes),
            ("Amazon EBS CSI driver", (1, 60), 32, Goes::Yes),
            ("Amazon EBS CSI driver", (1, 60), 31, Goes::Unknown),
            ("Amazon EBS CSI driver", (1, 59), 36, Goes::Unknown),
            ("Amazon EBS CSI driver", (1, 59), 35, Goes::Yes),
            ("Amazon EBS CSI driver", (1, 65), 36, Goes::Unknown),
            ("Amazon EBS CSI driver", (1, 28), 28, Goes::Unknown),
            ("Argo CD", (3, 2), 34, Goes::Yes),
            ("Argo CD", (3, 0), 33, Goes::NotMadeFor { least: Some((3, 1)) }),
            ("Argo CD", (3, 2), 35, Goes::NotMadeFor { least: None }),
            ("Argo CD", (3, 3), 35, Goes::Unknown),
            ("Argo CD", (3, 3), 34, Goes::Unknown),
            ("Argo CD", (2, 14), 33, Goes::Unknown),
            ("Istio", (1, 24), 33, Goes::Unknown),
        ];
        for &(name, version, with, expected) in table {
            assert_eq!(known(name).goes(version, Minor(with)), expected, "{name} {version:?} with 1.{with}");
        }
    }

    #[test]
    fn every_controller_says_where_to_look_and_is_told_from_the_others() {
        for one in KNOWN {
            assert!(one.look.starts_with("https://"), "{}", one.name);
            let image = format!(
                "registry.example.com{}{}",
                if one.images[0].starts_with('/') { "" } else { "/" },
                one.images[0]
            );
            let first = KNOWN.iter().find(|known| known.is(&image)).expect("it is known by its image");
            assert_eq!(first.name, one.name, "{image}");
        }
    }

    #[test]
    fn images_are_split_into_repository_and_tag() {
        assert_eq!(
            split("registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0"),
            Some(("registry.k8s.io/autoscaling/cluster-autoscaler", "v1.33.0"))
        );
        assert_eq!(split("localhost:5000/a/b:v1@sha256:00"), Some(("localhost:5000/a/b", "v1")));
        assert_eq!(split("localhost:5000/a/b"), None);
        assert_eq!(split("a/b@sha256:00"), None);
    }
}
