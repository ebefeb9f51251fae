//! `replank scan --render`, with stand-ins for helm, kustomize and kubectl: shell scripts that are alone on the PATH.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A directory of its own for each test, gone with it: programs below `bin`, what is scanned below `tree`.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("replank-render-{}-{name}", std::process::id()));
        drop(std::fs::remove_dir_all(&path));
        std::fs::create_dir_all(path.join("bin")).unwrap();
        std::fs::create_dir_all(path.join("tree")).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.0.join("tree").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        self
    }

    /// A stand-in. Another process writes it: a file that is open for writing in this one, or in what other tests are about to
    /// start, cannot be run.
    fn program(&self, name: &str, script: &str) -> &Self {
        let path = self.0.join("bin").join(name);
        let mut shell = Command::new("/bin/sh")
            .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let text = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >> \"$0.log\"\n{script}");
        shell.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(shell.wait().unwrap().success());
        self
    }

    /// What a stand-in was called with, an argument on each line.
    fn calls(&self, program: &str) -> String {
        std::fs::read_to_string(self.0.join("bin").join(format!("{program}.log"))).unwrap_or_default()
    }

    fn scan(&self, arguments: &[&str]) -> Scanned {
        let words = ["scan", "--render", "--target-version", "1.36", "-o", "json"];
        let output = Command::new(env!("CARGO_BIN_EXE_replank"))
            .args(words)
            .args(arguments)
            .current_dir(self.0.join("tree"))
            .env("PATH", self.0.join("bin"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        super::schemas::hold(&words, &String::from_utf8_lossy(&output.stdout));
        Scanned::of(&output)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

struct Scanned {
    code: Option<i32>,
    told: String,
    json: Value,
}

impl Scanned {
    fn of(output: &Output) -> Self {
        // However its lines break.
        let told = String::from_utf8(output.stderr.clone()).unwrap();
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {told}"));
        Self { code: output.status.code(), told, json }
    }

    /// `PATH:LINE VERSION KIND NAME EVIDENCE CONFIDENCE`
    fn findings(&self) -> Vec<String> {
        let of = |finding: &Value| {
            let text = |key: &str| {
                let found = &finding[key];
                found.as_str().map_or_else(|| found.to_string(), str::to_owned)
            };
            format!(
                "{}:{} {} {} {} {} {}",
                text("path"),
                text("line"),
                text("apiVersion"),
                text("kind"),
                text("name"),
                text("evidence"),
                text("confidence")
            )
        };
        self.json["findings"].as_array().unwrap().iter().map(of).collect()
    }

    fn unrendered(&self) -> Vec<&str> {
        self.json["unrendered"].as_array().unwrap().iter().map(|of| of["what"].as_str().unwrap()).collect()
    }

    fn unread(&self) -> Vec<String> {
        let of = |unread: &Value| {
            format!("{}: {}", unread["path"].as_str().unwrap(), unread["why"].as_str().unwrap())
        };
        self.json["unread"].as_array().unwrap().iter().map(of).collect()
    }
}

const INGRESS: &str = "{{- if .Values.ingress }}\n# ours\napiVersion: networking.k8s.io/v1beta1\nkind: Ingress\nmetadata: {name: {{ .Release.Name }}}\n{{- end }}\n";
const PDB: &str =
    "apiVersion: {{ include \"web.version\" . }}\nkind: PodDisruptionBudget\nmetadata: {name: x}\n";
const JOB: &str = "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: report}\n";

/// What helm prints of the chart below.
const PRINTED: &str = "/bin/cat <<'END'\n---\n# Source: web/templates/pdb.yaml\napiVersion: policy/v1beta1\nkind: PodDisruptionBudget\n\
                       metadata: {name: x}\n---\n# Source: web/templates/a b.yaml\napiVersion: batch/v1beta1\nkind: CronJob\n\
                       metadata: {name: report}\nEND\n";

fn chart(place: &Place) {
    place
        .write("my charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n")
        .write("my charts/web/templates/ingress.yaml", INGRESS)
        .write("my charts/web/templates/pdb.yaml", PDB)
        .write("my charts/web/templates/a b.yaml", &format!("# a\n{{{{- /* b */}}}}\n{JOB}"));
}

const AS_TEXT: [&str; 2] = [
    "my charts/web/templates/a b.yaml:3 batch/v1beta1 CronJob report template medium",
    "my charts/web/templates/ingress.yaml:3 networking.k8s.io/v1beta1 Ingress {{…}} template medium",
];

#[test]
fn a_rendered_chart_is_found_in_its_templates() {
    let place = Place::new("chart");
    chart(&place);
    place.program("helm", PRINTED);
    let scanned = place.scan(&[]);
    let expected = [
        "my charts/web/templates/a b.yaml:3 batch/v1beta1 CronJob report rendered high",
        // It depends on a value, which the chart's own file does not set.
        "my charts/web/templates/ingress.yaml:3 networking.k8s.io/v1beta1 Ingress {{…}} template low",
        // As text nobody could tell its version.
        "my charts/web/templates/pdb.yaml:1 policy/v1beta1 PodDisruptionBudget x rendered high",
    ];
    assert_eq!(scanned.findings(), expected, "{}", scanned.told);
    assert_eq!(scanned.code, Some(3));
    assert_eq!(place.calls("helm"), "template\nrelease-name\n./my charts/web\n");
    let text = scanned.json["findings"][1]["evidenceText"].as_str().unwrap();
    assert_eq!(text, "template, read as text: the chart's own values leave it out");
}

#[test]
fn what_the_own_values_leave_out_is_named_with_the_values() {
    let place = Place::new("left-out");
    chart(&place);
    let disabled = "{{- if .Values.ingress.enabled }}\napiVersion: {{ include \"web.ingress\" . }}\nkind: Ingress\nmetadata: {name: x}\n{{- end }}\n";
    place.write("my charts/web/templates/disabled.yaml", disabled).program("helm", PRINTED);
    let scanned = place.scan(&[]);
    let left_out = &scanned.json["leftOutByValues"];
    assert_eq!(left_out.as_array().unwrap().len(), 1, "what was rendered is not named: {left_out}");
    assert_eq!(left_out[0]["path"], "my charts/web/templates/disabled.yaml");
    assert_eq!((&left_out[0]["what"], &left_out[0]["line"]), (&"Ingress x".into(), &2.into()));
    assert_eq!(left_out[0]["values"], serde_json::json!(["ingress.enabled"]));
    assert!(scanned.unrendered().is_empty(), "it is by choice, not unseen: {}", scanned.told);
    let told = scanned.told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("Ingress x was not rendered: the chart's own values leave it out: ingress.enabled"),
        "{told}"
    );
}

#[test]
fn without_the_programs_files_are_scanned_as_they_are() {
    let place = Place::new("absent");
    chart(&place);
    place
        .write(
            "over/kustomization.yaml",
            "resources:\n- job.yaml\n- https://example.com/bases//old?ref=v1.2\n- github.com/example/all\n",
        )
        .write("over/job.yaml", JOB);
    let scanned = place.scan(&[]);
    let mut expected: Vec<&str> = AS_TEXT.to_vec();
    expected.push("over/job.yaml:1 batch/v1beta1 CronJob report manifest high");
    assert_eq!(scanned.findings(), expected);
    assert_eq!(
        scanned.unrendered(),
        ["PodDisruptionBudget x", "https://example.com/bases//old@v1.2", "github.com/example/all@HEAD"]
    );
    assert!(
        scanned.told.contains("helm is not on the PATH: templates of charts are read as text"),
        "{}",
        scanned.told
    );
    assert!(scanned.told.contains("neither kustomize nor kubectl is on the PATH"), "{}", scanned.told);
}

#[test]
fn a_rendered_kustomization_shows_what_comes_from_elsewhere() {
    for (program, first) in [("kustomize", "build"), ("kubectl", "kustomize")] {
        let place = Place::new(program);
        place
            .write(
                "over lay/kustomization.yaml",
                "namePrefix: dev-\nresources:\n- job.yaml\n- github.com/example/all?ref=v2\n",
            )
            .write("over lay/job.yaml", JOB);
        // The second is in no file; the first is, under the name it had there.
        let printed = format!(
            "/bin/cat <<'END'\n{}---\n{}END\n",
            JOB.replace("report", "dev-report"),
            JOB.replace("report", "dev-remote")
        );
        place.program(program, &printed);
        let scanned = place.scan(&[]);
        let expected = [
            "over lay/job.yaml:1 batch/v1beta1 CronJob report manifest high",
            "over lay/kustomization.yaml:1 batch/v1beta1 CronJob dev-remote rendered high",
        ];
        assert_eq!(scanned.findings(), expected, "{}", scanned.told);
        assert_eq!(scanned.unrendered(), Vec::<&str>::new(), "it was fetched");
        assert_eq!(place.calls(program), format!("{first}\n./over lay\n"));
        assert_eq!(scanned.json["counts"]["objects"], 1, "what lies there is counted once");
    }
}

#[test]
fn a_program_that_fails_takes_nothing_away() {
    let place = Place::new("fails");
    chart(&place);
    place
        .write("over/kustomization.yaml", "resources: [github.com/example/all?ref=v2]\n")
        .write("over/job.yaml", JOB);
    place.program(
        "helm",
        &format!("{PRINTED}echo 'Error: values.x is missing' >&2\necho Use --debug >&2\nexit 1\n"),
    );
    place.program("kustomize", "exit 7\n");
    let scanned = place.scan(&[]);
    let mut expected: Vec<&str> = AS_TEXT.to_vec();
    expected.push("over/job.yaml:1 batch/v1beta1 CronJob report manifest high");
    assert_eq!(scanned.findings(), expected);
    assert_eq!(scanned.unrendered(), ["PodDisruptionBudget x", "github.com/example/all@v2"]);
    assert!(scanned.json["renderFailures"][0]["why"].is_string(), "{}", scanned.json["renderFailures"]);
    for line in [
        "my charts/web cannot be rendered, and its templates are read as text: values.x is missing warning: ",
        "over cannot be rendered, and is scanned as plain files: it failed (exit status: 7) and said nothing warning: ",
    ] {
        assert!(scanned.told.contains(line), "{}", scanned.told);
    }
}

#[test]
fn half_a_document_is_told_and_hides_nothing() {
    let place = Place::new("half");
    chart(&place);
    place.program(
        "helm",
        &format!("{PRINTED}/bin/cat <<'END'\n---\n# Source: web/templates/ingress.yaml\napiVersion: networking.k8s.io/v1beta1\nkind: Ingr\nmetadata: {{name: [\nEND\n"),
    );
    let scanned = place.scan(&[]);
    let expected = [
        "my charts/web/templates/a b.yaml:3 batch/v1beta1 CronJob report rendered high",
        "my charts/web/templates/ingress.yaml:3 networking.k8s.io/v1beta1 Ingress {{…}} template medium",
        "my charts/web/templates/pdb.yaml:1 policy/v1beta1 PodDisruptionBudget x rendered high",
    ];
    assert_eq!(scanned.findings(), expected);
    let unread = scanned.unread();
    assert_eq!(unread.len(), 1, "{unread:?}");
    assert!(unread[0].starts_with("my charts/web/Chart.yaml: line 1"), "{unread:?}");
    assert!(unread[0].contains(" of what helm template prints: "), "{unread:?}");
    assert!(
        scanned.told.contains("the output of helm template for my charts/web cannot be read completely"),
        "{}",
        scanned.told
    );
}

#[test]
fn a_program_that_hangs_is_ended_and_one_that_is_slow_is_waited_for() {
    let place = Place::new("hangs");
    chart(&place);
    place.program("helm", "exec /bin/sleep 60\n");
    let begun = Instant::now();
    let scanned = place.scan(&["--render-timeout", "1s"]);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_eq!(scanned.findings(), AS_TEXT);
    assert!(
        scanned.told.contains("it did not finish within 1 s (--render-timeout) and was killed"),
        "{}",
        scanned.told
    );
    place.program("helm", &format!("/bin/sleep 1\n{PRINTED}"));
    assert_eq!(place.scan(&[]).findings().len(), 3);
}

#[test]
fn a_program_that_cannot_be_run_is_told() {
    let place = Place::new("norun");
    chart(&place);
    std::fs::write(place.0.join("bin/helm"), "no program").unwrap();
    let scanned = place.scan(&[]);
    assert_eq!(scanned.findings(), AS_TEXT);
    assert!(scanned.told.contains("the program cannot be run: "), "{}", scanned.told);
}

/// What a chart vendors is found where it lies, packed or not.
#[test]
fn charts_within_a_chart_are_rendered_with_it() {
    let place = Place::new("vendored");
    place
        .write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n")
        .write("web/charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n")
        .write("web/charts/db/templates/job.yaml", JOB);
    place.program(
        "helm",
        "/bin/cat <<'END'\n---\n# Source: web/charts/db/templates/job.yaml\napiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: report}\n\
         ---\n# Source: web/charts/packed/templates/hpa.yaml\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\n\
         spec:\n  scaleTargetRef: {apiVersion: extensions/v1beta1, kind: Deployment, name: d}\nEND\n",
    );
    let scanned = place.scan(&[]);
    let expected = [
        "web/Chart.yaml:1 extensions/v1beta1 Deployment d reference high",
        "web/charts/db/templates/job.yaml:1 batch/v1beta1 CronJob report rendered high",
    ];
    assert_eq!(scanned.findings(), expected, "{}", scanned.told);
    assert_eq!(place.calls("helm"), "template\nrelease-name\n./web\n", "once");
}

#[test]
fn a_time_limit_goes_with_rendering() {
    for arguments in [&["--render-timeout", "1s"][..], &["--render", "--render-timeout", "0s"]] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_replank")).arg("scan").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
