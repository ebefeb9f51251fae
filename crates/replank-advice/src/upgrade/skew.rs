//! Which versions go together: Kubernetes' "Version Skew Policy" (kubernetes.io/releases/version-skew-policy).
//!
//! While a control plane with several API servers is upgraded, both versions answer. What may not be newer is then held
//! against the oldest, what may not be too old against the newest.

use super::minor::Minor;

/// How a version stands to that which it has to go with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skew {
    /// It goes with it.
    Fits {
        /// How many minor versions it is behind.
        behind: u64,
    },
    /// It is newer, which it may not be.
    Newer {
        /// By how many minor versions.
        by: u64,
    },
    /// It is older than it may be.
    TooOld {
        /// By how many minor versions it is behind.
        behind: u64,
        /// How many it may be.
        max: u64,
    },
}

impl Skew {
    /// Whether it goes.
    #[must_use]
    pub const fn fits(self) -> bool {
        match self {
            Self::Fits { .. } => true,
            Self::Newer { .. } | Self::TooOld { .. } => false,
        }
    }
}

/// How many minor versions a kubelet, or a kube-proxy, may be older than the API server: three, of those before 1.25 two.
#[must_use]
pub const fn behind_max(kubelet: Minor) -> u64 {
    if kubelet.0 < 25 { 2 } else { 3 }
}

/// Whether EKS upgrades a control plane while a node that EKS itself runs (of a managed group, or Fargate) has this kubelet. All its texts agree that kubelets
/// before 1.25 must run the control plane's own minor version first; of later ones they contradict each other, and the skew policy decides.
#[must_use]
pub fn eks_upgrades_beside(kubelet: Minor, server: Minor) -> bool {
    kubelet.0 >= 25 || kubelet >= server
}

/// How many minor versions the components of the control plane may be older than the API server.
const COMPONENT_BEHIND_MAX: u64 = 1;

/// A kubelet, against the oldest and the newest API server: "kubelet must not be newer than kube-apiserver".
#[must_use]
pub fn kubelet(kubelet: Minor, oldest: Minor, newest: Minor) -> Skew {
    against(kubelet, oldest, newest, behind_max(kubelet))
}

/// A kube-proxy, against the API servers: the same as a kubelet's.
#[must_use]
pub fn kube_proxy(kube_proxy: Minor, oldest: Minor, newest: Minor) -> Skew {
    against(kube_proxy, oldest, newest, behind_max(kube_proxy))
}

/// A kube-proxy, beside the kubelet of its node: "may be up to three minor versions older or newer", of those before 1.25 two.
#[must_use]
pub fn kube_proxy_beside(kube_proxy: Minor, kubelet: Minor) -> Skew {
    let max = behind_max(kube_proxy);
    let (behind, ahead) = (kube_proxy.behind(kubelet), kubelet.behind(kube_proxy));
    if behind > max {
        Skew::TooOld { behind, max }
    } else if ahead > max {
        Skew::Newer { by: ahead }
    } else {
        Skew::Fits { behind }
    }
}

/// kube-controller-manager, kube-scheduler and cloud-controller-manager, against the API servers they speak to.
#[must_use]
pub fn component(component: Minor, oldest: Minor, newest: Minor) -> Skew {
    against(component, oldest, newest, COMPONENT_BEHIND_MAX)
}

/// kubectl: one minor version older or newer than every API server.
#[must_use]
pub fn kubectl(kubectl: Minor, oldest: Minor, newest: Minor) -> Skew {
    let (behind, ahead) = (kubectl.behind(newest), oldest.behind(kubectl));
    if behind > 1 {
        Skew::TooOld { behind, max: 1 }
    } else if ahead > 1 {
        Skew::Newer { by: ahead }
    } else {
        Skew::Fits { behind }
    }
}

/// API servers among each other: "the newest and oldest kube-apiserver instances must be within one minor version".
#[must_use]
pub fn servers(oldest: Minor, newest: Minor) -> Skew {
    against(oldest, newest, newest, 1)
}

/// The oldest kubelet that an API server takes.
#[must_use]
pub fn oldest_kubelet(server: Minor) -> Minor {
    let oldest = (0..=3).rev().map(|behind| Minor(server.0.saturating_sub(behind)));
    oldest.into_iter().find(|version| kubelet(*version, server, server).fits()).unwrap_or(server)
}

fn against(version: Minor, oldest: Minor, newest: Minor, max: u64) -> Skew {
    let behind = version.behind(newest);
    if version > oldest {
        Skew::Newer { by: oldest.behind(version) }
    } else if behind > max {
        Skew::TooOld { behind, max }
    } else {
        Skew::Fits { behind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FITS: bool = true;
    const NOT: bool = false;

    /// The examples of the policy itself, and its limits. (what, version, oldest API server, newest, whether it goes)
    #[test]
    fn the_policys_own_examples() {
        let table: &[(&str, u64, u64, u64, bool)] = &[
            // "kubelet": API server at 1.37 takes 1.37, 1.36, 1.35 and 1.34.
            ("kubelet", 37, 37, 37, FITS),
            ("kubelet", 36, 37, 37, FITS),
            ("kubelet", 35, 37, 37, FITS),
            ("kubelet", 34, 37, 37, FITS),
            ("kubelet", 33, 37, 37, NOT),
            ("kubelet", 38, 37, 37, NOT),
            // API servers at 1.37 and 1.36: "kubelet is supported at 1.36, 1.35, and 1.34 (1.37 is not)".
            ("kubelet", 37, 36, 37, NOT),
            ("kubelet", 36, 36, 37, FITS),
            ("kubelet", 34, 36, 37, FITS),
            ("kubelet", 33, 36, 37, NOT),
            // "kubelet < 1.25 may only be up to two minor versions older".
            ("kubelet", 24, 26, 26, FITS),
            ("kubelet", 24, 27, 27, NOT),
            ("kubelet", 25, 27, 27, FITS),
            ("kubelet", 25, 28, 28, FITS),
            ("kubelet", 25, 29, 29, NOT),
            ("kubelet", 15, 17, 17, FITS),
            ("kubelet", 15, 18, 18, NOT),
            // "kube-proxy": the same against the API server.
            ("kube-proxy", 34, 37, 37, FITS),
            ("kube-proxy", 33, 37, 37, NOT),
            ("kube-proxy", 37, 36, 37, NOT),
            ("kube-proxy", 23, 26, 26, NOT),
            // "kube-controller-manager, kube-scheduler, cloud-controller-manager": at most one older.
            ("component", 37, 37, 37, FITS),
            ("component", 36, 37, 37, FITS),
            ("component", 35, 37, 37, NOT),
            ("component", 37, 36, 37, NOT),
            ("component", 36, 36, 37, FITS),
            // "kubectl": 1.38, 1.37 and 1.36 beside 1.37; with API servers at 1.37 and 1.36 only these two.
            ("kubectl", 38, 37, 37, FITS),
            ("kubectl", 36, 37, 37, FITS),
            ("kubectl", 35, 37, 37, NOT),
            ("kubectl", 39, 37, 37, NOT),
            ("kubectl", 38, 36, 37, NOT),
            ("kubectl", 37, 36, 37, FITS),
            ("kubectl", 36, 36, 37, FITS),
            ("kubectl", 35, 36, 37, NOT),
            // "kube-apiserver": within one.
            ("servers", 36, 36, 37, FITS),
            ("servers", 36, 36, 36, FITS),
            ("servers", 35, 35, 37, NOT),
        ];
        for &(what, version, oldest, newest, expected) in table {
            let (version, oldest, newest) = (Minor(version), Minor(oldest), Minor(newest));
            let skew = match what {
                "kubelet" => kubelet(version, oldest, newest),
                "kube-proxy" => kube_proxy(version, oldest, newest),
                "component" => component(version, oldest, newest),
                "kubectl" => kubectl(version, oldest, newest),
                "servers" => servers(oldest, newest),
                other => unreachable!("{other}"),
            };
            assert_eq!(skew.fits(), expected, "{what} {version} beside {oldest} to {newest}: {skew:?}");
        }
    }

    #[test]
    fn a_kube_proxy_beside_its_kubelet() {
        for (proxy, kubelet, expected) in [
            (36, 33, FITS),
            (33, 36, FITS),
            (36, 32, NOT),
            (32, 36, NOT),
            (24, 26, FITS),
            (24, 27, NOT),
            (24, 21, NOT),
            (25, 22, FITS),
        ] {
            assert_eq!(
                kube_proxy_beside(Minor(proxy), Minor(kubelet)).fits(),
                expected,
                "{proxy} beside {kubelet}"
            );
        }
    }

    #[test]
    fn the_oldest_kubelet_is_the_oldest_that_fits() {
        for server in 10..60 {
            let server = Minor(server);
            let fitting = (0..=server.0)
                .map(Minor)
                .find(|kubelet_version| kubelet(*kubelet_version, server, server).fits());
            assert_eq!(Some(oldest_kubelet(server)), fitting, "beside {server}");
        }
    }
}
