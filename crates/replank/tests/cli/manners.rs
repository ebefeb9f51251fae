//! What fits a program into a shell: completion, man pages, the version, quiet, and examples that work.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use replank_judge::Served;

use crate::common::{Ran, command, replank, root};

/// An empty folder of a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manners").join(name);
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).expect("it can be made");
    folder
}

#[test]
fn every_shell_gets_its_completion() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = replank(&["completion", shell]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["rehearse", "faults", "delete-emptydir-data"] {
            assert!(ran.stdout.contains(word), "{shell}: no {word}");
        }
    }
}

#[test]
fn bash_completes_commands_and_flags() {
    let script = folder("bash").join("completion");
    fs::write(&script, replank(&["completion", "bash"]).stdout).expect("it can be written");
    let completed = |words: &[&str]| {
        let ask = format!(
            "source '{}'; COMP_WORDS=({}); COMP_CWORD={}; _replank replank '{}' ''; echo \"${{COMPREPLY[@]}}\"",
            script.display(),
            words.join(" "),
            words.len() - 1,
            words.last().expect("a word"),
        );
        let output = Command::new("bash").args(["-c", &ask]).output().expect("bash is there");
        Ran::from(output).stdout
    };
    assert_eq!(completed(&["replank", "reh"]).trim(), "rehearse");
    assert_eq!(completed(&["replank", "roll", "pau"]).trim(), "pause");
    assert_eq!(completed(&["replank", "drain", "--ignore"]).trim(), "--ignore-daemonsets");
}

#[test]
fn every_command_has_a_man_page() {
    let dir = folder("man");
    let ran = replank(&["man", "--dir", dir.to_str().expect("text")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let pages: BTreeSet<String> = fs::read_dir(&dir)
        .expect("it is there")
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
        .collect();
    for (command, _) in examples() {
        let page = format!("replank-{}.1", command.replace(' ', "-"));
        assert!(pages.contains(&page), "no {page}");
    }
    let drain = fs::read_to_string(dir.join("replank-drain.1")).expect("it can be read");
    assert!(drain.starts_with(".ie") && drain.contains(".TH replank-drain 1"), "{drain}");
    assert_eq!(replank(&["man", "drain"]).stdout, drain);
    let title = drain.lines().find(|line| line.starts_with(".TH ")).expect("it has one");
    let rest = title.strip_prefix(".TH replank-drain 1 ").unwrap_or_default();
    let source = format!(" \"replank {}\" Replank", env!("CARGO_PKG_VERSION"));
    let date = rest.strip_suffix(&source).unwrap_or_else(|| panic!("{title}"));
    assert!(date == "\" \"" || date.matches('-').count() == 2, "{title}");
}

#[test]
fn a_man_page_of_no_command_names_those_there_are() {
    let error = replank(&["man", "roll", "nosuch"]).usage_error();
    assert!(error.contains("replank roll has no command \"nosuch\""), "{error}");
    assert!(error.contains("one of: status, watch, pause, resume, cancel, undo"), "{error}");
}

#[test]
fn the_version_names_the_commit() {
    let ran = replank(&["--version"]);
    let git = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).current_dir(root()).output();
    let commit =
        git.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    if commit.is_empty() {
        println!("there is no git here: the commit of the version was not compared");
        assert!(ran.stdout.starts_with(&format!("replank {version}")), "{}", ran.stdout);
        return;
    }
    assert!(ran.stdout.starts_with(&format!("replank {version} ({commit} ")), "{}", ran.stdout);
}

#[test]
fn quiet_leaves_results_and_errors() {
    let arguments = ["check", "examples/job-site/snapshot.yaml", "--roll", "web"];
    let told = replank(&arguments);
    let quiet = replank(&[&arguments[..], &["--quiet"]].concat());
    assert!(told.stderr.contains("read 160 objects"), "{}", told.stderr);
    assert_eq!((quiet.stdout, quiet.stderr.as_str()), (told.stdout, ""));
    let error = replank(&["rehearse", "nosuch.json", "-q", "--roll", "web"]);
    assert_eq!(error.code, Some(2));
    assert!(error.stderr.contains("error: "), "{}", error.stderr);
}

/// Each command and its examples, from the `--help` of all.
fn examples() -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    // Level by level, in the order of the help: a fault is started before it is cleared.
    let mut waiting = VecDeque::from([String::new()]);
    while let Some(path) = waiting.pop_front() {
        let words: Vec<&str> = path.split_whitespace().chain(["--help"]).collect();
        let help = command(&words).output().map(Ran::from).expect("it runs").stdout;
        let lines: Vec<String> = part(&help, "Examples:").map(str::to_owned).collect();
        let below: Vec<&str> = part(&help, "Commands:")
            .filter_map(|line| line.split_whitespace().next())
            .filter(|name| *name != "help")
            .collect();
        let is_run = below.is_empty() || ["roll", "cluster faults"].contains(&path.as_str());
        assert!(!lines.is_empty() || !is_run, "replank {path} --help has no example");
        if !lines.is_empty() {
            found.push((path.clone(), lines));
        }
        waiting.extend(below.iter().map(|name| format!("{path} {name}").trim().to_owned()));
    }
    assert!(found.len() > 30, "{found:?}");
    found
}

/// The lines below a heading that are indented by two blanks and no more.
fn part<'a>(help: &'a str, heading: &str) -> impl Iterator<Item = &'a str> {
    let lines = help.lines().skip_while(move |line| *line != heading).skip(1);
    lines
        .take_while(|line| line.starts_with(' '))
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
}

/// The example's files that stand for those of a command line.
fn files(command: &str) -> &'static [(&'static str, &'static str)] {
    match command {
        "migrate" => &[("cluster.json", "examples/migrate/cluster.yaml")],
        "hpa explain" => &[("cluster.json", "examples/hpa/snapshot.yaml")],
        "hpa simulate" => &[
            ("hpa.yaml", "examples/hpa/hpa.yaml"),
            ("load.csv", "examples/hpa/load.csv"),
            ("calm.yaml", "examples/hpa/calm.yaml"),
        ],
        "scale simulate" => {
            &[("cluster.json", "examples/scale/cluster.yaml"), ("groups.json", "examples/scale/groups.json")]
        }
        _ => &[
            ("cluster.json", "examples/job-site/snapshot.yaml"),
            ("plan.yaml", "examples/job-site/plan.yaml"),
            ("deploy/web.yaml", "examples/scan/web.yaml"),
        ],
    }
}

/// A plan for the nodes of the served cluster.
const ROLL: &str = "\
apiVersion: replank.dev/v1alpha1
kind: NodeRoll
metadata: {name: served}
spec: {groups: [default], target: {kubernetesVersion: '1.37'}, budget: {maxUnavailable: 1}}
";

/// Why an example cannot be run to its end here; its words are read all the same.
fn not_run(line: &str) -> Option<&'static str> {
    match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["replank", "roll", "watch" | "pause" | "resume" | "cancel" | "undo", ..] => {
            Some("needs a run: roll_live.rs")
        }
        ["replank", "roll", .., "--yes"] => Some("needs somebody who replaces nodes: roll_live.rs"),
        ["replank", "upgrade", "run" | "resume" | "cancel" | "rollback", ..] => {
            Some("needs an account of AWS: upgrade_run.rs")
        }
        ["replank", "cluster", "advance", ..] => Some("needs a cluster whose clock stands still: cluster.rs"),
        ["replank", "cluster", "up", ..] => Some("does not end by itself: cluster.rs"),
        ["replank", "handle", ..] => Some("needs an AWS account: handle_aws.rs"),
        ["replank", "autoscale", ..] => Some("needs an AWS account: autoscale_aws.rs"),
        _ => None,
    }
}

#[test]
fn the_examples_of_every_help_work() {
    let served = Served::up(
        Path::new(env!("CARGO_BIN_EXE_replank")),
        &["--nodes", "3", "--speed", "20"],
        &folder("examples-served"),
    )
    .expect("it is served");
    for (of, lines) in examples() {
        let place = folder(&format!("examples/{}", of.replace(' ', "-")));
        for (name, source) in files(&of) {
            let target = place.join(name);
            fs::create_dir_all(target.parent().expect("it has one")).expect("it can be made");
            fs::copy(root().join(source), target).expect("the example is there");
        }
        if of == "roll" {
            fs::write(place.join("plan.yaml"), ROLL).expect("it can be written");
        }
        if ["report", "diff"].contains(&of.as_str()) {
            for name in ["rehearsed.jsonl", "live.jsonl"] {
                let journal = place.join(name);
                let journal = journal.to_str().expect("text");
                replank(&[
                    "rehearse",
                    "examples/job-site/snapshot.yaml",
                    "--roll",
                    "web",
                    "--journal",
                    journal,
                ]);
            }
        }
        for line in lines {
            if let Some(why) = not_run(&line) {
                println!("not run: {line} ({why})");
                let words: Vec<&str> = said(&line).split_whitespace().skip(1).chain(["--help"]).collect();
                assert_eq!(replank(&words).code, Some(0), "{line}");
                continue;
            }
            let ran = run(&line, &place, served.kubeconfig());
            let is_wrong = matches!(ran.code, None | Some(1 | 2)) || ran.stderr.contains("error: ");
            assert!(!is_wrong, "{line}: {ran:?}");
        }
    }
}

/// An example without its comment.
fn said(line: &str) -> &str {
    line.split("  #").next().expect("a first part")
}

/// By a shell, in a folder, on a cluster; what would leave the folder stays in it, and readers of pipes take everything.
fn run(line: &str, place: &Path, kubeconfig: &Path) -> Ran {
    let line = said(line).replace("/etc/bash_completion.d/", "").replace("~/", "");
    let line = line.split(" | ").next().expect("a first part").to_owned();
    let program = Path::new(env!("CARGO_BIN_EXE_replank"));
    let bin = program.parent().expect("it lies in a folder");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", &line])
        .current_dir(place)
        .env("PATH", path)
        .env("KUBECONFIG", kubeconfig)
        .env("HOME", place)
        .stdin(Stdio::null())
        .output();
    output.map(Ran::from).expect("sh is there")
}
