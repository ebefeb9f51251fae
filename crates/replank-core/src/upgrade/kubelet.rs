//! With what kubelets of later versions do not start: arguments that are gone, and labels that they may not set.
//!
//! A kubelet that is given an argument that it does not know exits at once (`unknown flag`), and so a node never joins that a launch
//! template still gives it.

use replank_model::object::cloud::LaunchTemplate;
use replank_model::text::Text;

use super::minor::Minor;
use crate::audit::{is_label_kept_by_hand, is_label_refused};

/// An argument that kubelets have had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// Without the hyphens.
    pub flag: &'static str,
    /// First version that exits because of it.
    pub since: Minor,
    /// What to do instead.
    pub instead: &'static str,
}

/// What dockershim was told, which went with it (KEP-2221, kubernetes#106893).
const DOCKERSHIM: &str =
    "take it out: it was dockershim's, and the container runtime has a configuration of its own";

/// Arguments that are gone, by version. Source: the changelogs of these versions, "Urgent Upgrade Notes" and "Removal".
pub const GONE: &[Gone] = &[
    // kubernetes#77820
    Gone { flag: "allow-privileged", since: Minor(15), instead: "take it out: it is always so" },
    Gone { flag: "network-plugin", since: Minor(24), instead: DOCKERSHIM },
    Gone { flag: "network-plugin-mtu", since: Minor(24), instead: DOCKERSHIM },
    Gone { flag: "cni-bin-dir", since: Minor(24), instead: DOCKERSHIM },
    Gone { flag: "cni-conf-dir", since: Minor(24), instead: DOCKERSHIM },
    Gone { flag: "cni-cache-dir", since: Minor(24), instead: DOCKERSHIM },
    Gone { flag: "docker-endpoint", since: Minor(24), instead: DOCKERSHIM },
    Gone { flag: "image-pull-progress-deadline", since: Minor(24), instead: DOCKERSHIM },
    // kubernetes#106932: dynamic kubelet configuration
    Gone { flag: "dynamic-config-dir", since: Minor(24), instead: "give the kubelet a file: --config" },
    // kubernetes#114017; "Kubernetes Removals and Major Changes In v1.27"
    Gone { flag: "container-runtime", since: Minor(27), instead: "take it out: remote is all there is" },
    // kubernetes#133779
    Gone {
        flag: "pod-infra-container-image",
        since: Minor(35),
        instead: "take it out: the container runtime's own sandbox image is used",
    },
];

/// Since when a kubelet exits when it is told to set labels of Kubernetes' own domains on its node (`cmd/kubelet/app/options`:
/// "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels").
pub const LABELS_SINCE: Minor = Minor(16);

/// What a kubelet refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// An argument.
    Flag(Gone),
    /// A label that it is to set on its node.
    Label(String),
}

/// What kubelets up to a version refuse of a text that has their arguments in it: user data, a NodeConfig, a unit of systemd.
/// Sorted, each once.
#[must_use]
pub fn refused(text: &str, to: Minor) -> Vec<Refused> {
    let mut found: Vec<Refused> = Vec::new();
    let mut push = |refused: Refused| {
        if !found.contains(&refused) {
            found.push(refused);
        }
    };
    for (name, value) in flags(text) {
        if let Some(gone) = GONE.iter().find(|gone| gone.flag == name && gone.since <= to) {
            push(Refused::Flag(*gone));
        }
        if name == "node-labels" {
            for label in refused_labels(
                value.split(',').map(|pair| pair.split_once('=').map_or(pair, |(key, _)| key)),
                to,
            ) {
                push(Refused::Label(label));
            }
        }
    }
    found
}

/// Labels that a kubelet of a version does not set.
#[must_use]
pub fn refused_labels<'a>(keys: impl IntoIterator<Item = &'a str>, to: Minor) -> Vec<String> {
    if to < LABELS_SINCE {
        return Vec::new();
    }
    keys.into_iter().filter(|key| is_label_refused(key)).map(str::to_owned).collect()
}

/// Labels of a launch template, learnt from nodes of one version, that kubelets of a later one do not set: those before 1.16 may have, and whoever
/// has read the group's user data knows that nobody asks for them any more.
#[must_use]
pub fn lost_labels(template: &LaunchTemplate, from: Minor, to: Minor) -> Vec<Text> {
    if from >= LABELS_SINCE || to < LABELS_SINCE {
        return Vec::new();
    }
    let keys = template.labels.pairs().iter().map(|(key, _)| key);
    keys.filter(|key| is_label_kept_by_hand(key)).cloned().collect()
}

/// `--name=value` and `--name value`, wherever they stand.
fn flags(text: &str) -> Vec<(&str, &str)> {
    let is_edge = |letter: char| letter.is_whitespace() || matches!(letter, '\'' | '"' | '[' | ']' | '`');
    let words: Vec<&str> = text.split(is_edge).filter(|word| !word.is_empty()).collect();
    let mut flags = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(flag) = word.strip_prefix("--") else { continue };
        let value = words.get(at + 1).copied().filter(|next| !next.starts_with('-')).unwrap_or_default();
        flags.push(match flag.split_once('=') {
            // `--node-labels="a=b"`: the quote has cut it in two.
            Some((name, "")) => (name, value),
            Some((name, given)) => (name, given.trim_end_matches(',')),
            None => (flag, value),
        });
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, to: u64) -> Vec<String> {
        let word = |refused: &Refused| match refused {
            Refused::Flag(gone) => format!("--{}", gone.flag),
            Refused::Label(label) => label.clone(),
        };
        refused(text, Minor(to)).iter().map(word).collect()
    }

    #[test]
    fn arguments_go_at_their_versions() {
        // (argument, last version that takes it)
        for (flag, last) in [
            ("allow-privileged", 14),
            ("network-plugin", 23),
            ("dynamic-config-dir", 23),
            ("container-runtime", 26),
            ("pod-infra-container-image", 34),
        ] {
            assert_eq!(told(&format!("--{flag}=x"), last), [""; 0], "{flag}");
            assert_eq!(told(&format!("--{flag}=x"), last + 1), [format!("--{flag}")]);
        }
        assert_eq!(
            told("--container-runtime-endpoint=unix:///run/x.sock", 36),
            [""; 0],
            "it only begins alike"
        );
    }

    #[test]
    fn arguments_are_found_in_whatever_holds_them() {
        let bootstrap = "#!/bin/bash\n/etc/eks/bootstrap.sh prod --kubelet-extra-args '--node-labels=kubernetes.io/role=web,team=shop \
                         --allow-privileged=true' --use-max-pods false\n";
        assert_eq!(told(bootstrap, 16), ["kubernetes.io/role", "--allow-privileged"]);
        let node_config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    flags:\n      - --node-labels=node-role.kubernetes.io/web=,team=shop\n      - \"--pod-infra-container-image=x/pause:3.5\"\n";
        assert_eq!(told(node_config, 35), ["node-role.kubernetes.io/web", "--pod-infra-container-image"]);
        assert_eq!(
            told("ExecStart=/usr/bin/kubelet --node-labels \"kubernetes.io/role=web\"", 20),
            ["kubernetes.io/role"]
        );
        assert_eq!(told("--node-labels=\"kubernetes.io/role=web\"", 20), ["kubernetes.io/role"]);
    }

    #[test]
    fn labels_are_refused_since_1_16() {
        let labels = "--node-labels=kubernetes.io/role=web,node.kubernetes.io/pool=a,topology.kubernetes.io/zone=a,eks.amazonaws.com/nodegroup=w";
        assert_eq!(told(labels, 15), [""; 0]);
        assert_eq!(told(labels, 16), ["kubernetes.io/role"]);
    }
}
