//! `replank scan`.

use std::io::{ErrorKind, Write};
use std::process::{Command, Output, Stdio};

use super::common::{replank, scratch};

const MANIFEST: &str =
    "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: shop}\n";

fn scan(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_replank"))
        .arg("scan")
        .arg("-")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary is built");
    if let Err(error) = child.stdin.take().unwrap().write_all(input.as_bytes()) {
        assert_eq!(error.kind(), ErrorKind::BrokenPipe, "a usage error ends it before it has read anything");
    }
    let output = child.wait_with_output().unwrap();
    let words = [&["scan", "-"], arguments].concat();
    super::schemas::hold(&words, &String::from_utf8_lossy(&output.stdout));
    output
}

fn code(arguments: &[&str], input: &str) -> i32 {
    scan(arguments, input).status.code().unwrap()
}

#[test]
fn the_exit_code_says_what_was_asked_for() {
    assert_eq!(code(&["--target-version", "1.24"], MANIFEST), 0);
    assert_eq!(code(&["--target-version", "1.24", "--fail-on", "deprecated"], MANIFEST), 3);
    assert_eq!(code(&["--target-version", "1.25"], MANIFEST), 3);
    assert_eq!(code(&["--target-version", "1.25", "--fail-on", "never"], MANIFEST), 0);
    assert_eq!(code(&["--target-version", "1.20", "--fail-on", "deprecated"], MANIFEST), 0);
    assert_eq!(code(&["--target-version", "1.24", "--current", "1.25"], MANIFEST), 2);
    assert_eq!(code(&["--installed", "nothing=1.0"], MANIFEST), 2);
}

#[test]
fn the_json_has_all_there_is_to_know() {
    let output = scan(&["--target-version", "1.29", "--current", "1.24", "-o", "json"], MANIFEST);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["version"], "replank.dev/scan/v1alpha1");
    let finding = &value["findings"][0];
    for (key, expected) in [
        ("severity", "removed"),
        ("path", "<stdin>"),
        ("kind", "PodDisruptionBudget"),
        ("namespace", "shop"),
        ("name", "web"),
        ("apiVersion", "policy/v1beta1"),
        ("deprecated", "1.21"),
        ("removed", "1.25"),
        ("evidence", "manifest"),
        ("confidence", "high"),
    ] {
        assert_eq!(finding[key], expected, "{key}");
    }
    assert_eq!(finding["line"], 1);
    assert_eq!(finding["replacement"]["apiVersion"], "policy/v1");
    assert_eq!(finding["fails"], true);
}

#[test]
fn what_the_current_version_lacks_is_gone() {
    let output = scan(&["--target-version", "1.29", "--current", "1.25", "-o", "csv"], MANIFEST);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.lines().nth(1).unwrap().starts_with("gone,<stdin>,1,PodDisruptionBudget,shop,web,"),
        "{text}"
    );
}

#[test]
fn code_scanning_gets_the_place() {
    let output = scan(&["-o", "sarif"], MANIFEST);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let result = &value["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&"api-removed".into(), &"error".into()));
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "stdin");
    assert_eq!(place["region"]["startColumn"], 13);
    let github = String::from_utf8(scan(&["-o", "github"], MANIFEST).stdout).unwrap();
    assert!(github.starts_with(
        "::error file=<stdin>,line=1,col=13,title=policy/v1beta1 PodDisruptionBudget is removed::"
    ));
}

#[test]
fn exceptions_are_told_and_do_not_fail() {
    let path = std::env::temp_dir().join(format!("replank-exceptions-{}.yaml", std::process::id()));
    let file = path.to_str().unwrap();
    let with = |expires: &str| {
        std::fs::write(
            &path,
            format!("ignore:\n- kind: PodDisruptionBudget\n  reason: it goes\n  expires: {expires}\n"),
        )
        .unwrap();
        scan(&["--ignore-file", file], MANIFEST)
    };
    let output = with("2999-12-31");
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains("it goes"));
    let output = with("2001-12-31");
    assert_eq!(output.status.code(), Some(3));
    assert!(
        String::from_utf8(output.stderr).unwrap().contains("an exception expired on 2001-12-31: it goes")
    );
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn rows_of_a_file_count() {
    let path = std::env::temp_dir().join(format!("replank-rows-{}.json", std::process::id()));
    let row = r#"[{"group": "policy", "version": "v1beta1", "kind": "PodDisruptionBudget", "introduced": null, "deprecated": null, "removed": "1.99", "replacement": null}]"#;
    std::fs::write(&path, row).unwrap();
    assert_eq!(code(&["--lifecycle", path.to_str().unwrap()], MANIFEST), 0);
    std::fs::write(&path, "{}").unwrap();
    assert_eq!(code(&["--lifecycle", path.to_str().unwrap()], MANIFEST), 2);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn many_findings_are_told_by_their_worst_files() {
    let many: String = (0..25).map(|_| format!("---\n{MANIFEST}")).collect();
    let directory = scratch("worst-files/many.yaml", &many);
    let (path, _) = directory.rsplit_once('/').unwrap();
    for number in 0..12 {
        scratch(&format!("worst-files/one-{number:02}.yaml"), MANIFEST);
    }
    let told = |arguments: &[&str]| {
        replank(&[&["scan", path, "--target-version", "1.25"], arguments].concat()).stdout
    };
    let short = told(&[]);
    assert!(short.contains("37 findings in 13 files: 37 manifest"), "{short}");
    let places = |text: &str| text.lines().filter(|line| line.contains(".yaml")).count();
    assert_eq!(places(&short), 10, "{short}");
    let worst = short.lines().find(|line| line.contains(".yaml")).unwrap();
    assert!(worst.contains("many.yaml") && worst.ends_with("25 findings"), "{worst}");
    assert!(short.contains("and 3 more files: --all shows every place"), "{short}");
    assert_eq!(places(&told(&["--all"])), 37);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_a_directory_is_not_waited_for() {
    let file =
        scratch("with-a-pipe/web.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n");
    let directory = file.strip_suffix("/web.yaml").expect("the file lies in the directory");
    let pipe = format!("{directory}/pipe.yaml");
    if !std::path::Path::new(&pipe).exists() {
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
        assert!(made.success());
    }
    let ran = replank(&["scan", directory]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(ran.stderr.contains("it is not a regular file"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_fails_and_is_in_every_form() {
    let directory = std::env::temp_dir().join(format!("replank-unread-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("broken.yaml"), "apiVersion: v1\nkind: [\n").unwrap();
    for (format, words) in
        [("github", "::error file="), ("sarif", "toolExecutionNotifications"), ("json", "\"unread\"")]
    {
        let ran = std::process::Command::new(env!("CARGO_BIN_EXE_replank"))
            .args(["scan", "-o", format])
            .arg(&directory)
            .output()
            .unwrap();
        let out = String::from_utf8(ran.stdout).unwrap();
        super::schemas::hold(&["scan", "-o", format], &out);
        assert!(out.contains(words) && out.contains("broken.yaml"), "{format}: {out}");
        assert_ne!(ran.status.code(), Some(0), "{format}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
