//! Arguments of kubelets that are gone.

use super::super::minor::Minor;

/// An argument that kubelets have had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// Without the hyphens.
    pub flag: &'static str,
    /// The values with which it is gone.
    pub values: Values,
    /// First version that exits because of it.
    pub since: Minor,
    /// What to do instead.
    pub instead: &'static str,
}

/// Values of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// All of them.
    Any,
    /// This one.
    Only(&'static str),
    /// All but these, which are those of another program.
    AllBut(&'static [&'static str]),
}

const fn gone(flag: &'static str, since: u64, instead: &'static str) -> Gone {
    Gone { flag, values: Values::Any, since: Minor(since), instead }
}

/// What dockershim was told, which went with it (KEP-2221, kubernetes#106893).
const DOCKERSHIM: &str =
    "remove it: it belonged to dockershim, and the container runtime has its own configuration";

/// What the in-tree cloud providers were told.
const IN_TREE: &str = "remove it: the external cloud controller manager has replaced it";

const UNUSED: &str = "remove it: it is not used";

/// Arguments that are gone, by version. Source: the changelogs of these versions, "Urgent Upgrade Notes" and "Removal".
pub const GONE: &[Gone] = &[
    // kubernetes#77820
    gone("allow-privileged", 15, "remove it: it is always on"),
    gone("network-plugin", 24, DOCKERSHIM),
    gone("network-plugin-mtu", 24, DOCKERSHIM),
    gone("cni-bin-dir", 24, DOCKERSHIM),
    gone("cni-conf-dir", 24, DOCKERSHIM),
    gone("cni-cache-dir", 24, DOCKERSHIM),
    gone("docker-endpoint", 24, DOCKERSHIM),
    gone("image-pull-progress-deadline", 24, DOCKERSHIM),
    // kubernetes#106932: dynamic kubelet configuration
    gone("dynamic-config-dir", 24, "pass the kubelet a file: --config"),
    // That of Amazon Linux 2's bootstrap.sh, which exits because of it (awslabs/amazon-eks-ami#1024).
    Gone {
        flag: "container-runtime",
        values: Values::Only("dockerd"),
        since: Minor(24),
        instead: "remove it: the machine image has containerd only",
    },
    // kubernetes#114017; "Kubernetes Removals and Major Changes In v1.27"
    Gone {
        flag: "container-runtime",
        values: Values::AllBut(&["dockerd", "containerd"]),
        since: Minor(27),
        instead: "remove it: remote is the only value",
    },
    // CHANGELOG-1.27
    gone("master-service-namespace", 27, UNUSED),
    // kubernetes#115838: the in-tree provider of AWS
    Gone {
        flag: "cloud-provider",
        values: Values::Only("aws"),
        since: Minor(27),
        instead: "set --cloud-provider=external, --hostname-override to the private DNS name and --image-credential-provider-config to its file, as the EKS machine images do since 1.26 (awslabs/amazon-eks-ami#1203)",
    },
    // kubernetes#122082, kubernetes#122363
    gone("keep-terminated-pod-volumes", 31, UNUSED),
    gone("iptables-masquerade-bit", 31, UNUSED),
    gone("iptables-drop-bit", 31, UNUSED),
    // kubernetes#130161
    gone("cloud-config", 34, IN_TREE),
    // kubernetes#133779
    gone("pod-infra-container-image", 35, "remove it: the container runtime's own sandbox image is used"),
];

/// What is gone of an argument with a value.
pub(super) fn gone_at(name: &str, value: &str, to: Minor) -> Option<Gone> {
    let has = |gone: &&Gone| match gone.values {
        Values::Any => true,
        Values::Only(only) => value == only,
        Values::AllBut(others) => !others.contains(&value),
    };
    GONE.iter().filter(|gone| gone.flag == name && gone.since <= to).find(has).copied()
}

/// An argument as it is written.
pub(super) struct Given<'t> {
    /// From 1.
    pub(super) line: usize,
    pub(super) name: &'t str,
    pub(super) value: &'t str,
}

/// `--name=value` and `--name value`, wherever they stand.
pub(super) fn given(text: &str) -> Vec<Given<'_>> {
    let is_edge =
        |letter: char| letter.is_whitespace() || matches!(letter, '\'' | '"' | '[' | ']' | '`' | '\\');
    let words: Vec<(usize, &str)> = text
        .lines()
        .zip(1..)
        .flat_map(|(line, number)| line.split(is_edge).map(move |word| (number, word)))
        .filter(|(_, word)| !word.is_empty())
        .collect();
    let mut flags = Vec::new();
    for (at, (line, word)) in words.iter().enumerate() {
        let Some(flag) = word.strip_prefix("--") else { continue };
        let next = words.get(at + 1).map(|(_, word)| *word);
        let value = next.filter(|next| !next.starts_with('-')).unwrap_or_default();
        let (name, value) = match flag.split_once('=') {
            // `--node-labels="a=b"`: the quote has cut it in two.
            Some((name, "")) => (name, value),
            Some((name, given)) => (name, given.trim_end_matches(',')),
            None => (flag, value),
        };
        flags.push(Given { line: *line, name, value });
    }
    flags
}
