//! With what kubelets of later versions do not start: arguments and feature gates that are gone, and labels that they may not
//! set.
//!
//! A kubelet that is given an argument or a gate that it does not know exits at once (`unknown flag`, `unrecognized feature
//! gate`), and so a node never joins that a launch template still gives it.

mod flags;
mod gates;

pub use flags::{GONE, Gone, Values};
pub use gates::{GATES, Gate};

use replank_model::object::cloud::NodeProfile;
use replank_model::text::Text;

use super::minor::Minor;
use replank_facts::node_labels::{is_kept_by_hand, is_refused};

/// Since when a kubelet exits when it is told to set labels of Kubernetes' own domains on its node (`cmd/kubelet/app/options`:
/// "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels").
pub const LABELS_SINCE: Minor = Minor(16);

/// What a kubelet refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// An argument.
    Flag(Gone),
    /// A feature gate, whether it is on or off.
    Gate(Gate),
    /// A label that it is to set on its node.
    Label(String),
}

/// What kubelets up to a version refuse of a text that has their arguments in it: user data, a NodeConfig, a unit of systemd.
/// Each once, with its line: arguments, then gates.
#[must_use]
pub fn refused(text: &str, to: Minor) -> Vec<(usize, Refused)> {
    let mut found: Vec<(usize, Refused)> = Vec::new();
    let mut push = |line: usize, refused: Refused| {
        if !found.iter().any(|(_, known)| *known == refused) {
            found.push((line, refused));
        }
    };
    for flags::Given { line, name, value } in flags::given(text) {
        if let Some(gone) = flags::gone_at(name, value, to) {
            push(line, Refused::Flag(gone));
        }
        if name == "node-labels" {
            let keys = value.split(',').map(|pair| pair.split_once('=').map_or(pair, |(key, _)| key));
            refused_labels(keys, to).into_iter().for_each(|label| push(line, Refused::Label(label)));
        }
    }
    for (line, gate) in gates::given(text) {
        if gate.since <= to {
            push(line, Refused::Gate(gate));
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
    keys.into_iter().filter(|key| is_refused(key)).map(str::to_owned).collect()
}

/// Labels of a group's nodes, learnt from nodes of one version, that kubelets of a later one do not set: those before 1.16 may have, and a person
/// has read the group's user data knows that nobody asks for them any more.
#[must_use]
pub fn lost_labels(profile: &NodeProfile, from: Minor, to: Minor) -> Vec<Text> {
    if from >= LABELS_SINCE || to < LABELS_SINCE {
        return Vec::new();
    }
    let keys = profile.labels.pairs().iter().map(|(key, _)| key);
    keys.filter(|key| is_kept_by_hand(key)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, to: u64) -> Vec<String> {
        let word = |(line, refused): &(usize, Refused)| match refused {
            Refused::Flag(Gone { flag, values: Values::Only(value), .. }) => {
                format!("{line} --{flag}={value}")
            }
            Refused::Flag(gone) => format!("{line} --{}", gone.flag),
            Refused::Gate(gate) => format!("{line} gate {}", gate.name),
            Refused::Label(label) => format!("{line} {label}"),
        };
        refused(text, Minor(to)).iter().map(word).collect()
    }

    #[test]
    fn every_argument_goes_at_its_version() {
        for gone in GONE {
            let value = match gone.values {
                Values::Only(value) => value,
                Values::Any | Values::AllBut(_) => "x",
            };
            let text = format!("--{}={value}", gone.flag);
            let word = match gone.values {
                Values::Only(value) => format!("1 --{}={value}", gone.flag),
                Values::Any | Values::AllBut(_) => format!("1 --{}", gone.flag),
            };
            assert!(!told(&text, gone.since.0 - 1).contains(&word), "{text} before {}", gone.since);
            assert!(told(&text, gone.since.0).contains(&word), "{text} from {} on", gone.since);
        }
        assert_eq!(
            told("--container-runtime-endpoint=unix:///run/x.sock", 36),
            [""; 0],
            "it only begins alike"
        );
    }

    #[test]
    fn every_gate_goes_at_its_version() {
        for gate in GATES {
            let text = format!("--feature-gates=RotateKubeletServerCertificate=true,{}=false", gate.name);
            assert_eq!(told(&text, gate.since.0 - 1), [""; 0], "{}", gate.name);
            assert_eq!(told(&text, gate.since.0), [format!("1 gate {}", gate.name)]);
        }
    }

    #[test]
    fn gates_are_found_in_arguments_and_configurations() {
        let block = "spec:\n  kubelet:\n    config:\n      featureGates:\n        DynamicKubeletConfig: false\n        KubeletTracing: true\n";
        assert_eq!(told(block, 26), ["5 gate DynamicKubeletConfig"]);
        assert_eq!(
            told("{\"featureGates\": {\"CSIMigration\":true, \"CSIMigrationX\": true}}", 27),
            ["1 gate CSIMigration"]
        );
        assert_eq!(
            told(
                "echo \"$(jq '.featureGates += {KubeletCredentialProviders: true}' $CONFIG)\" > $CONFIG",
                28
            ),
            ["1 gate KubeletCredentialProviders"]
        );
        assert_eq!(told("--kubelet-extra-args '--feature-gates CPUManager=true'", 33), ["1 gate CPUManager"]);
        assert_eq!(told("RuntimeClass: true", 33), [""; 0], "nothing says that it is a gate");
    }

    /// `bootstrap.sh` of Amazon Linux 2 has an argument of the same name.
    #[test]
    fn the_runtime_of_the_bootstrap_script_is_none_of_the_kubelet() {
        let with = |runtime: &str| {
            format!("/etc/eks/bootstrap.sh prod --container-runtime {runtime} --b64-cluster-ca x")
        };
        assert_eq!(told(&with("containerd"), 32), [""; 0]);
        assert_eq!(told(&with("dockerd"), 23), [""; 0]);
        assert_eq!(told(&with("dockerd"), 24), ["1 --container-runtime=dockerd"]);
        assert_eq!(told("kubelet --container-runtime=remote", 27), ["1 --container-runtime"]);
        assert_eq!(told("--cloud-provider=external", 36), [""; 0]);
    }

    #[test]
    fn arguments_are_found_in_whatever_holds_them() {
        let bootstrap = "#!/bin/bash\n/etc/eks/bootstrap.sh prod --kubelet-extra-args '--node-labels=kubernetes.io/role=web,team=shop \
                         --allow-privileged=true' --use-max-pods false\n";
        assert_eq!(told(bootstrap, 16), ["2 kubernetes.io/role", "2 --allow-privileged"]);
        let node_config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    flags:\n      - --node-labels=node-role.kubernetes.io/web=,team=shop\n      - \"--pod-infra-container-image=x/pause:3.5\"\n";
        assert_eq!(told(node_config, 35), ["6 node-role.kubernetes.io/web", "7 --pod-infra-container-image"]);
        assert_eq!(
            told("ExecStart=/usr/bin/kubelet --node-labels \"kubernetes.io/role=web\"", 20),
            ["1 kubernetes.io/role"]
        );
        assert_eq!(told("--node-labels=\"kubernetes.io/role=web\"", 20), ["1 kubernetes.io/role"]);
        assert_eq!(told("--network-plugin \\\n  cni", 24), ["1 --network-plugin"]);
    }

    #[test]
    fn labels_are_refused_since_1_16() {
        let labels = "--node-labels=kubernetes.io/role=web,node.kubernetes.io/pool=a,topology.kubernetes.io/zone=a,eks.amazonaws.com/nodegroup=w";
        assert_eq!(told(labels, 15), [""; 0]);
        assert_eq!(told(labels, 16), ["1 kubernetes.io/role"]);
    }
}
