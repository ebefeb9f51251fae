//! Each command as somebody would type it, for its `--help`: one table. A test of the binary runs them all.

/// A command, without `replank`, and lines that use it.
type Rows = (&'static str, &'static [&'static str]);

/// By the order of `replank --help`. What follows two blanks and `#` is a comment.
const EXAMPLES: &[Rows] = &[
    (
        "rehearse",
        &[
            "replank rehearse cluster.json --roll web --to-version 1.36",
            "replank rehearse cluster.json -f plan.yaml --seeds 20",
            "replank rehearse cluster.json -f plan.yaml --seeds 100000 --on-cluster --container-image registry.example/replank:0.1.0",
            "replank rehearse cluster.json -f plan.yaml --as eks,kubectl,replank",
            "replank rehearse --roll default  # the cluster of the current kubeconfig context",
        ],
    ),
    ("snapshot", &["replank snapshot --write cluster.json.gz"]),
    ("cordon", &["replank cordon node-1"]),
    ("uncordon", &["replank uncordon node-1"]),
    (
        "drain",
        &[
            "replank drain node-1 --ignore-daemonsets --delete-emptydir-data --dry-run=server",
            "replank drain node-1 --ignore-daemonsets --delete-emptydir-data --timeout 15m",
        ],
    ),
    (
        "roll",
        &[
            "replank roll -f plan.yaml --provider external --dry-run",
            "replank roll -f plan.yaml --provider external --yes",
        ],
    ),
    ("roll status", &["replank roll status"]),
    ("roll watch", &["replank roll watch  # of the only run there is"]),
    ("roll pause", &["replank roll pause"]),
    ("roll resume", &["replank roll resume"]),
    ("roll cancel", &["replank roll cancel"]),
    ("roll undo", &["replank roll undo"]),
    (
        "handle",
        &[
            "replank handle --queue-url https://sqs.eu-west-1.amazonaws.com/111122223333/replank-prod --dry-run",
            "replank handle --queue-url https://sqs.eu-west-1.amazonaws.com/111122223333/replank-prod",
            "replank handle --queue-url https://sqs.eu-west-1.amazonaws.com/111122223333/replank-prod --autoscale=--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled",
        ],
    ),
    (
        "autoscale",
        &[
            "replank autoscale --node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/prod --dry-run",
            "replank autoscale --nodes=1:10:web --nodes=0:4:spare --expander=least-waste --scale-down-unneeded-time=5m",
        ],
    ),
    (
        "rbac",
        &[
            "replank rbac drain | kubectl apply -f -",
            "replank rbac roll --for ServiceAccount:ops/replank | kubectl apply -f -",
        ],
    ),
    (
        "place",
        &[
            "replank place deployment/web cluster.json -n site",
            "replank place --all-pending cluster.json",
            "replank place --audit cluster.json",
        ],
    ),
    ("check", &["replank check cluster.json", "replank check cluster.json -f plan.yaml --fail-on warning"]),
    (
        "scale simulate",
        &["replank scale simulate cluster.json --groups groups.json -- --expander=least-waste"],
    ),
    ("explain", &["replank explain pdb-never-allows"]),
    (
        "scan",
        &[
            "replank scan deploy/ --target-version 1.36",
            "replank scan --diff deploy/ --target-version 1.36",
            "replank scan --fix deploy/ --target-version 1.36",
        ],
    ),
    ("data", &["replank data -o json"]),
    ("upgrade calendar", &["replank upgrade calendar --of 1.34 --fail-within 90d"]),
    ("upgrade watch", &["replank upgrade watch cluster.json --within 90d"]),
    ("upgrade plan", &["replank upgrade plan cluster.json --to 1.36 --scan deploy/"]),
    (
        "upgrade run",
        &[
            "replank upgrade run --to 1.36 --cluster shop --dry-run",
            "replank upgrade run --to 1.36 --cluster shop --conflicts vpc-cni=PRESERVE",
        ],
    ),
    ("upgrade resume", &["replank upgrade resume", "replank upgrade resume --conflicts coredns=OVERWRITE"]),
    ("upgrade status", &["replank upgrade status"]),
    ("upgrade rollback", &["replank upgrade rollback --cluster shop --dry-run"]),
    ("upgrade cancel", &["replank upgrade cancel"]),
    ("leftover", &["replank leftover cluster.json --expired"]),
    ("report", &["replank report rehearsed.jsonl"]),
    ("diff", &["replank diff rehearsed.jsonl live.jsonl"]),
    (
        "migrate",
        &[
            "replank migrate deployment/web cluster.json -n shop --selector app=web",
            "replank migrate deployment/web cluster.json -n shop --to-rollout",
        ],
    ),
    ("hpa explain", &["replank hpa explain shop/web cluster.json"]),
    (
        "hpa simulate",
        &[
            "replank hpa simulate -f hpa.yaml --load load.csv --try calm.yaml",
            "replank hpa simulate -f hpa.yaml --load load.csv --no-scale-down 09:00,9h,Europe/Dublin",
        ],
    ),
    (
        "cluster up",
        &["replank cluster up cluster.json --speed 10", "replank cluster up --nodes 6 --zones 3 --aws"],
    ),
    ("cluster advance", &["replank cluster advance 10m"]),
    (
        "cluster faults",
        &[
            "replank cluster faults list",
            "replank cluster faults start image registry.example/shop/web:2 crashes pods",
        ],
    ),
    ("cluster faults list", &["replank cluster faults list"]),
    ("cluster faults start", &["replank cluster faults start node node-1 falls silent"]),
    ("cluster faults clear", &["replank cluster faults clear 1"]),
    ("cluster status", &["replank cluster status"]),
    (
        "setup aws",
        &[
            "replank setup aws --cluster prod --mode handle --group web > replank.json",
            "replank setup aws --cluster prod -o terraform --write terraform/",
        ],
    ),
    ("completion", &["replank completion bash > /etc/bash_completion.d/replank"]),
    ("man", &["replank man roll status | man -l -", "replank man --dir ~/.local/share/man/man1"]),
];

/// The examples of a command, for its `--help`; nothing where it has none.
pub(crate) fn section(command: &str) -> String {
    let of = EXAMPLES.iter().find(|(of, _)| *of == command);
    let lines = of.map_or(&[][..], |(_, lines)| lines);
    if lines.is_empty() {
        return String::new();
    }
    lines.iter().fold(String::from("Examples:\n"), |text, line| text + "  " + line + "\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ends::ENDS;

    #[test]
    fn every_command_has_its_examples() {
        // A group that does nothing by itself has examples of what is in it, and no end.
        let all = EXAMPLES.iter().map(|(command, _)| *command);
        let commands: Vec<&str> = all.filter(|command| *command != "cluster faults").collect();
        assert_eq!(commands, ENDS.iter().map(|ends| ends.command).collect::<Vec<_>>());
        for (command, lines) in EXAMPLES {
            assert!(!lines.is_empty(), "{command} has none");
            for line in *lines {
                let is_its_own = line.strip_prefix("replank ").is_some_and(|rest| rest.starts_with(command));
                assert!(is_its_own, "{line}: not of {command}");
            }
        }
    }
}
