//! `replank scan --fix` and `--diff`.

use replank_oracle::tell::tell;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const MANIFEST: &str = "# ours\napiVersion: policy/v1beta1   # old\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: shop}\n\
                        spec:\n  minAvailable: 1\n  selector: {matchLabels: {app: web}}\n---\napiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: p}\n";

/// A directory of its own for each test, gone with it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("replank-fix-{}-{name}", std::process::id()));
        drop(std::fs::remove_dir_all(&path));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn run(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_replank"))
        .arg("scan")
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn files_are_rewritten_and_unchanged_objects_are_reported() {
    let place = Place::new("files");
    let path = place.write("web.yaml", MANIFEST);
    let other = place.write("other.yaml", "apiVersion: v1\nkind: ConfigMap\n");
    let before = std::fs::metadata(&other).unwrap().modified().unwrap();
    let output = run(&place.0, &["--fix", "--target-version", "1.36"]);
    assert_eq!(output.status.code(), Some(3), "the policy is left");
    let expected = MANIFEST.replacen("policy/v1beta1", "policy/v1", 1);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    let told = text(&output.stderr);
    assert!(
        told.contains("web.yaml:2: policy/v1beta1 PodDisruptionBudget shop/web becomes policy/v1"),
        "{told}"
    );
    assert!(told.contains("web.yaml: lines changed: 2\n"), "{told}");
    assert!(
        told.contains("web.yaml:9: policy/v1beta1 PodSecurityPolicy was not changed: it has no replacement"),
        "{told}"
    );
    // The table is of what is left.
    assert!(text(&output.stdout).contains("PodSecurityPolicy"));
    assert!(!text(&output.stdout).contains("PodDisruptionBudget"));
    // A second run changes nothing, and what has nothing in it was never touched.
    let again = run(&place.0, &["--fix", "--target-version", "1.36"]);
    assert!(text(&again.stderr).contains("0 files changed"), "{}", text(&again.stderr));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    assert_eq!(std::fs::metadata(&other).unwrap().modified().unwrap(), before);
    assert_eq!(std::fs::read_dir(&place.0).unwrap().count(), 2, "nothing is left beside them");
}

#[test]
fn many_changes_are_told_in_numbers() {
    let place = Place::new("many");
    for number in 0..45 {
        place.write(&format!("web-{number}.yaml"), MANIFEST);
    }
    let told = |arguments: &[&str]| {
        let output = run(&place.0, &[&["--diff", "--target-version", "1.36"], arguments].concat());
        text(&output.stderr)
    };
    let short = told(&[]);
    assert!(
        short.contains("policy/v1beta1 PodDisruptionBudget becomes policy/v1: 45 objects in 45 files"),
        "{short}"
    );
    let left =
        "warning: 45 objects in 45 files, such as web-0.yaml: policy/v1beta1 PodSecurityPolicy was not";
    assert!(short.contains(left), "{short}");
    assert!(short.contains("45 files would be changed"), "{short}");
    assert!(short.lines().count() < 45, "{short}");
    let all = told(&["--all"]);
    assert_eq!(all.matches(" shop/web becomes policy/v1\n").count(), 45, "{all}");
    assert_eq!(all.matches("PodSecurityPolicy was not changed").count(), 45, "{all}");
}

#[test]
fn a_difference_writes_nothing() {
    let place = Place::new("difference");
    let path = place.write("web.yaml", MANIFEST);
    let output = run(&place.0, &["--diff", "--target-version", "1.36"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), MANIFEST);
    let difference = text(&output.stdout);
    assert!(
        difference.contains("-apiVersion: policy/v1beta1   # old\n+apiVersion: policy/v1   # old\n"),
        "{difference}"
    );
    assert_eq!(output.status.code(), Some(3));
    // It is one that `patch` takes.
    if let Ok(mut patch) = Command::new("patch")
        .arg("-p1")
        .current_dir(&place.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
    {
        use std::io::Write;
        patch.stdin.take().unwrap().write_all(&output.stdout).unwrap();
        assert!(patch.wait().unwrap().success());
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            MANIFEST.replacen("policy/v1beta1", "policy/v1", 1)
        );
    } else {
        tell("SKIPPED in part: there is no `patch`");
    }
}

#[test]
fn an_exception_is_let_be() {
    let place = Place::new("exception");
    let path = place.write("web.yaml", MANIFEST);
    place.write(
        ".replank-ignore.yaml",
        "ignore:\n- {kind: PodDisruptionBudget, reason: goes with the old cluster, expires: 2099-12-31}\n",
    );
    run(&place.0, &["--fix", "--target-version", "1.36"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), MANIFEST);
}

#[test]
fn standard_input_comes_out_fixed() {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_replank"))
        .args(["scan", "--fix", "--target-version", "1.36", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(MANIFEST.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), MANIFEST.replacen("policy/v1beta1", "policy/v1", 1));
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let place = Place::new("refused");
    for arguments in [
        &["--helm-release", "."][..],
        &["--fix", "--render"],
        &["--diff", "-o", "json"],
        &["--fix", "-", "."],
    ] {
        assert_eq!(run(&place.0, arguments).status.code(), Some(2), "{arguments:?}");
    }
}

/// As Helm 3 stores it in a Secret, without gzip, which it reads as well.
fn stored(manifest: &str) -> String {
    let release = serde_json::json!({
        "name": "web", "namespace": "shop", "version": 4, "info": {"status": "deployed"}, "manifest": manifest,
        "chart": {"metadata": {"name": "web", "version": "1.20", "number": 1.0}},
        "hooks": [{"name": "h", "weight": 5, "manifest": "apiVersion: batch/v1\nkind: Job\n"}],
    });
    encode(encode(release.to_string().as_bytes()).as_bytes())
}

fn encode(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            out.push(if at <= chunk.len() {
                char::from(ALPHABET[(word >> (18 - 6 * at)) as usize & 63])
            } else {
                '='
            });
        }
    }
    out
}

#[test]
fn what_helm_has_stored_is_corrected_with_a_backup() {
    let place = Place::new("helm");
    let manifest =
        format!("# Source: web/templates/pdb.yaml\n{}", &MANIFEST[..MANIFEST.find("---").unwrap()]);
    let dump = format!(
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  type: helm.sh/release.v1\n  metadata:\n    name: sh.helm.release.v1.web.v4\n    \
         namespace: shop\n    uid: u\n    resourceVersion: \"7\"\n  data:\n    release: {}\n",
        stored(&manifest)
    );
    let path = place.write("releases.yaml", &dump);
    let shown = run(&place.0, &["--diff", "--helm-release", "--target-version", "1.36", "releases.yaml"]);
    let difference = text(&shown.stdout);
    assert!(difference.contains("--- a/releases.yaml/sh.helm.release.v1.web.v4\n"), "{difference}");
    assert!(
        difference.contains("-apiVersion: policy/v1beta1   # old\n+apiVersion: policy/v1   # old\n"),
        "{difference}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), dump);

    let output = run(&place.0, &["--fix", "--helm-release", "--target-version", "1.36", "releases.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(place.0.join("releases.yaml.bak")).unwrap(), dump);
    let fixed = std::fs::read_to_string(&path).unwrap();
    let (before, after): (Vec<&str>, Vec<&str>) = (dump.lines().collect(), fixed.lines().collect());
    assert_eq!(before[..before.len() - 1], after[..after.len() - 1], "only the data differ");
    assert_ne!(before.last(), after.last());
    let expected = stored(&manifest.replacen("policy/v1beta1", "policy/v1", 1));
    assert_eq!(
        after.last().unwrap().trim().strip_prefix("release: "),
        Some(&*expected),
        "the rest is as it was"
    );
    // A scan finds nothing; a second run has nothing to do and needs no backup.
    assert_eq!(run(&place.0, &["--target-version", "1.36", "releases.yaml"]).status.code(), Some(0));
    let again = run(&place.0, &["--fix", "--helm-release", "--target-version", "1.36", "releases.yaml"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
}

#[test]
fn a_backup_is_never_written_over() {
    let place = Place::new("backup");
    let dump = format!(
        "apiVersion: v1\nkind: Secret\ntype: helm.sh/release.v1\nmetadata: {{name: sh.helm.release.v1.web.v4}}\ndata: {{release: {}}}\n",
        stored(&MANIFEST[..MANIFEST.find("---").unwrap()])
    );
    let path = place.write("releases.yaml", &dump);
    place.write("releases.yaml.bak", "of before");
    let output = run(&place.0, &["--fix", "--helm-release", "--target-version", "1.36", "releases.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), dump);
    assert_eq!(std::fs::read_to_string(place.0.join("releases.yaml.bak")).unwrap(), "of before");
}

/// The manifests of the examples, before and after: what their pages tell is what is done.
#[test]
fn the_examples_are_fixed_to_what_lies_beside_them() {
    for (example, current, target) in [("upgrade", "1.33", "1.36"), ("upgrade-2020", "1.15", "1.18")] {
        let place = Place::new(example);
        let directory = super::common::root().join("examples").join(example);
        let files: Vec<String> = std::fs::read_dir(directory.join("deploy"))
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        for name in &files {
            place.write(name, &std::fs::read_to_string(directory.join("deploy").join(name)).unwrap());
        }
        let output = run(&place.0, &["--fix", "--current", current, "--target-version", target]);
        assert_eq!(output.status.code(), Some(0), "{example}: {}", text(&output.stdout));
        assert!(text(&output.stderr).contains("changed"), "{example}: {}", text(&output.stderr));
        for name in &files {
            let fixed = std::fs::read_to_string(directory.join("fixed").join(name)).unwrap();
            assert_eq!(std::fs::read_to_string(place.0.join(name)).unwrap(), fixed, "{example}/{name}");
        }
    }
}

/// A base that is changed by an overlay in every way that names its version.
fn kustomization(place: &Place) {
    for directory in ["base", "over"] {
        std::fs::create_dir_all(place.0.join(directory)).unwrap();
    }
    place.write("base/kustomization.yaml", "resources: [web.yaml]\n");
    place.write(
        "base/web.yaml",
        "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata:\n  name: web\n  labels: {app: web}\nspec:\n  selector:\n    matchLabels: {app: web}\n  \
         template:\n    metadata:\n      labels: {app: web}\n    spec:\n      containers:\n      - {name: web, image: 'web:1'}\n",
    );
    place.write(
        "over/kustomization.yaml",
        "resources: [../base]\nnamePrefix: my-\npatches:\n- path: more.yaml\n- target: {version: v1beta1, kind: Deployment}\n  patch: |-\n    \
         - {op: add, path: /spec/paused, value: true}\n- patch: |-\n    apiVersion: extensions/v1beta1\n    kind: Deployment\n    metadata:\n      \
         name: web\n    spec:\n      minReadySeconds: 5\n",
    );
    place.write(
        "over/more.yaml",
        "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    metadata:\n      labels: {tier: front}\n",
    );
}

#[test]
fn a_kustomization_builds_the_same_before_and_after() {
    let place = Place::new("kustomize");
    kustomization(&place);
    let build = || Command::new("kubectl").args(["kustomize", "over"]).current_dir(&place.0).output();
    let before = build();
    let output = run(&place.0, &["--fix", "--target-version", "1.36"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(place.0.join(name)).unwrap();
    assert!(!read("over/more.yaml").contains("selector"), "{}", read("over/more.yaml"));
    for name in ["base/web.yaml", "over/more.yaml", "over/kustomization.yaml"] {
        assert!(!read(name).contains("v1beta1"), "{name}: {}", read(name));
    }
    match (before, build()) {
        (Ok(before), Ok(after)) if before.status.success() => {
            assert!(after.status.success(), "{}", text(&after.stderr));
            assert!(text(&before.stdout).contains("paused: true"), "{}", text(&before.stdout));
            let before = place.write("before.yaml", &text(&before.stdout));
            drop(run(&place.0, &["--fix", "before.yaml"]));
            let (fixed, built) = (std::fs::read_to_string(before).unwrap(), text(&after.stdout));
            // The API server's own defaults of the old version are all that differs in order.
            let lines = |text: &str| {
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                lines.sort();
                lines
            };
            assert_eq!(lines(&fixed), lines(&built));
        }
        (Ok(before), _) => tell(format!("skipped: kubectl kustomize fails: {}", text(&before.stderr))),
        (Err(error), _) => tell(format!("skipped: kubectl is not there: {error}")),
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link_that_leaves_the_tree() {
    let (place, other) = (Place::new("link"), Place::new("link-target"));
    let target = other.write("web.yaml", MANIFEST);
    std::os::unix::fs::symlink(&target, place.0.join("web.yaml")).unwrap();
    let output = run(&place.0, &["--fix", "--target-version", "1.36"]);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), MANIFEST);
    let told = text(&output.stderr);
    assert!(told.contains("web.yaml was not changed: it is a link to"), "{told}");
    assert_eq!(output.status.code(), Some(3));
}
