//! What is wrong with the way to a cluster, or with what is asked of it, on each command that changes one: it is said, with what to do next, and nothing is changed.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::common::{Ran, command, plan, replank};
use super::drive::ground::Ground;

fn kubeconfig(ground: &Ground, name: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
    let text = fs::read(ground.kubeconfig()).expect("it is written");
    let mut config: Value = serde_json::from_slice(&text).expect("it is JSON");
    change(&mut config);
    let file = ground.kubeconfig().with_file_name(format!("{name}.json"));
    fs::write(&file, config.to_string()).expect("it can be written");
    file
}

fn run(arguments: &[&str], kubeconfig: &Path) -> Ran {
    let file = kubeconfig.to_str().expect("it is text");
    command(&[arguments, &["--kubeconfig", file]].concat()).output().expect("the binary can be run").into()
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_command_says_what_is_wrong_with_the_way_and_changes_nothing() {
    let ground = Ground::served("bad-way");
    ground.workload("web", 3);
    let file = plan(
        "bad-way/plan.yaml",
        "kubeletVersion: '<1.36.3', target: {kubernetesVersion: '1.36.3'}, provider: external",
    );
    let commands: [&[&str]; 3] = [
        &["drain", "node-1"],
        &["roll", "-f", &file, "--yes"],
        &["migrate", "deployment/web", "--selector", "app=web,tier=x", "--apply", "--yes"],
    ];
    let other = Ground::served("bad-way-other");
    let read = |ground: &Ground| -> Value {
        serde_json::from_slice(&fs::read(ground.kubeconfig()).expect("it is written")).expect("it is JSON")
    };
    let authority = read(&other)["clusters"][0]["cluster"]["certificate-authority-data"].clone();
    let wrong_ca = kubeconfig(&ground, "wrong-ca", |config| {
        config["clusters"][0]["cluster"]["certificate-authority-data"] = authority;
    });
    // A port on which nobody listens.
    let unreachable = kubeconfig(&ground, "unreachable", |config| {
        config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1".into();
    });
    let nobody = kubeconfig(&ground, "nobody", |config| config["users"][0]["user"]["as"] = "nobody".into());
    let stranger =
        kubeconfig(&ground, "stranger", |config| config["users"][0]["user"] = json!({"token": "none"}));
    let missing = ground.kubeconfig().with_file_name("not-there");
    for arguments in commands {
        let none = replank(arguments);
        assert!(none.usage_error().contains("there is no kubeconfig"), "{none:?}");
        for (way, code, words) in [
            (&missing, 2, vec!["there is no kubeconfig"]),
            (&unreachable, 1, vec!["cannot reach the API server https://127.0.0.1:1"]),
            (&wrong_ca, 2, vec!["is not one that the kubeconfig trusts"]),
            (&stranger, 2, vec!["401 Unauthorized"]),
            (
                &nobody,
                2,
                vec!["may not do everything that is needed", "verbs: [", "grant the rules:", "pods"],
            ),
        ] {
            let ran = run(arguments, way);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{arguments:?}: {ran:?}");
            for word in words {
                assert!(flat(&ran.stderr).contains(word), "{word}: {arguments:?}: {ran:?}");
            }
        }
    }
    // What is asked for is not there.
    let nodes = run(&["drain", "node-9"], ground.kubeconfig());
    assert!(nodes.usage_error().contains("nodes \"node-9\" not found"), "{nodes:?}");
    let object = run(
        &["migrate", "deployment/none", "--selector", "app=none", "--apply", "--yes"],
        ground.kubeconfig(),
    );
    assert!(
        object.code == Some(2) && flat(&object.stderr).contains("Deployment default/none not found"),
        "{object:?}"
    );
    let groups = plan("bad-way/groups.yaml", "groups: [none], provider: external");
    let group = run(&["roll", "-f", &groups, "--yes"], ground.kubeconfig());
    assert!(group.code == Some(2) && group.stderr.contains("none"), "{group:?}");

    let nodes = ground.get("/api/v1/nodes").to_string();
    assert!(!nodes.contains("\"unschedulable\":true") && !nodes.contains("replank.dev"), "{nodes}");
    for namespace in ["default", "kube-system"] {
        let maps = ground
            .get(&format!("/api/v1/namespaces/{namespace}/configmaps?labelSelector=replank.dev%2Frecord"));
        assert_eq!(maps["items"].as_array().map_or(0, Vec::len), 0, "{maps}");
    }
}
