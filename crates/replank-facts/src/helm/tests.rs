use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::view::View;
use serde_json::{Value, json};

use super::{Release, deployed, setting};

const BUDGET: &str = "{{- if .Values.pdb.enabled }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include \"web.fullname\" . }}
spec:
  {{- if .Values.pdb.minAvailable }}
  minAvailable: {{ .Values.pdb.minAvailable }}
  {{- end }}
  {{- if .Values.pdb.maxUnavailable }}
  maxUnavailable: {{ .Values.pdb.maxUnavailable }}
  {{- end }}
  selector:
    matchLabels:
      app: {{ .Values.app | quote }}
{{- end }}
";

const MANIFEST: &str = "---
# Source: web/templates/pdb.yaml
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: web
spec:
  minAvailable: 2
  selector:
    matchLabels:
      app: \"web\"
";

fn release(templates: &[(&str, &str)], values: Value, manifest: &str) -> Release {
    let templates = templates.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    Release { chart: "web".to_owned(), templates, values, manifest: manifest.to_owned() }
}

fn values() -> Value {
    json!({"app": "web", "pdb": {"enabled": true, "minAvailable": 2}})
}

fn let_one_go() -> Value {
    json!({"spec": {"maxUnavailable": 1, "minAvailable": null}})
}

const WEB: (&str, &str) = ("PodDisruptionBudget", "web");

#[test]
fn values_are_those_that_the_template_shows() {
    let web = release(&[("templates/pdb.yaml", BUDGET)], values(), MANIFEST);
    assert_eq!(
        setting(&web, WEB, &let_one_go()),
        Some(json!({"pdb": {"maxUnavailable": 1, "minAvailable": null}}))
    );
    let either = BUDGET.replace(
        "  {{- end }}\n  {{- if .Values.pdb.maxUnavailable }}\n",
        "  {{- else if or .Values.pdb.maxUnavailable (not .Values.pdb.minAvailable) }}\n",
    );
    let other = release(&[("templates/pdb.yaml", &either)], values(), MANIFEST);
    assert!(setting(&other, WEB, &let_one_go()).is_some(), "one branch or the other");
}

#[test]
fn replicas_come_from_a_value_of_their_own() {
    let template = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: {{ .Values.replicaCount | default 1 }}\n";
    let manifest = "---\n# Source: web/templates/web.yaml\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n";
    let two = json!({"spec": {"replicas": 2}});
    let of = |more: &[(&str, &str)], manifest: &str| {
        let templates = [&[("templates/web.yaml", template)], more].concat();
        setting(&release(&templates, json!({"replicaCount": 1}), manifest), ("Deployment", "web"), &two)
    };
    assert_eq!(of(&[], manifest), Some(json!({"replicaCount": 2})));
    // Something else is made of the value.
    assert_eq!(of(&[("templates/x.yaml", "x: {{ .Values.replicaCount }}")], manifest), None);
    assert_eq!(of(&[("templates/x.yaml", "x: {{ toYaml .Values | nindent 2 }}")], manifest), None);
    assert!(of(&[("templates/x.yaml", "x: {{ .Values.replicaCounter }}")], manifest).is_some());
    // The release was not rendered from what stands there.
    assert_eq!(of(&[], &manifest.replace("replicas: 1", "replicas: 3")), None);
}

#[test]
fn what_is_not_proved_is_not_given() {
    let of = |template: &str, values: Value, manifest: &str| {
        setting(&release(&[("templates/pdb.yaml", template)], values, manifest), WEB, &let_one_go())
    };
    let whole = BUDGET.replace(
        ".Values.pdb.minAvailable }}\n  {{- end",
        ".Values.pdb.minAvailable | trunc 1 }}\n  {{- end",
    );
    assert_eq!(of(&whole, values(), MANIFEST), None, "a function that is not known");
    let versions = BUDGET.replace(
        "if .Values.pdb.maxUnavailable",
        "if semverCompare \">1\" .Capabilities.KubeVersion.Version",
    );
    assert_eq!(of(&versions, values(), MANIFEST), None, "a condition that is not known");
    let missing = BUDGET.replace("maxUnavailable: {{ .Values.pdb.maxUnavailable }}", "other: x");
    assert_eq!(of(&missing, values(), MANIFEST), None, "the chart has no such value");
    for shown in ["{{ .Values.pdb.maxUnavailable | quote }}", "\"{{ .Values.pdb.maxUnavailable }}\""] {
        let text = BUDGET
            .replace("maxUnavailable: {{ .Values.pdb.maxUnavailable }}", &format!("maxUnavailable: {shown}"));
        assert_eq!(of(&text, values(), MANIFEST), None, "{shown}: the API refuses 1 as a text");
    }
    let whole = BUDGET.replace("{{ .Values.pdb.maxUnavailable }}", "{{ .Values.pdb.maxUnavailable | int }}");
    assert!(of(&whole, values(), MANIFEST).is_some());
    let release = release(&[("templates/pdb.yaml", &whole)], values(), MANIFEST);
    let share = json!({"spec": {"maxUnavailable": "25%", "minAvailable": null}});
    assert_eq!(setting(&release, WEB, &share), None, "a percentage would become 0");
    let twice = format!("{MANIFEST}{MANIFEST}");
    assert_eq!(of(BUDGET, values(), &twice), None, "a template that makes several");
    let below = MANIFEST.replace("web/templates", "web/charts/db/templates");
    assert_eq!(of(BUDGET, values(), &below), None, "a chart that the chart depends on");
    assert_eq!(of(BUDGET, values(), &MANIFEST.replace("name: web", "name: api")), None, "another object");
    // Without the guard a budget would have both.
    let bare = BUDGET.replace("  {{- if .Values.pdb.minAvailable }}\n", "").replacen("  {{- end }}\n", "", 1);
    assert_eq!(of(&bare, values(), MANIFEST), None);
}

#[test]
fn a_release_is_unpacked_from_its_secret() {
    let stored = json!({"name": "web", "namespace": "shop", "info": {"status": "deployed"}, "manifest": MANIFEST,
        "chart": {"metadata": {"name": "web", "version": "1.2.3"}, "templates": [{"name": "templates/pdb.yaml", "data": STANDARD.encode(BUDGET)}],
            "values": {"app": "web", "pdb": {"enabled": false, "minAvailable": 1, "maxUnavailable": 1}}},
        "config": {"pdb": {"enabled": true, "minAvailable": 2, "maxUnavailable": null}}});
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(stored.to_string().as_bytes()).expect("memory");
    let packed = STANDARD.encode(packed.finish().expect("memory"));
    let secret = |version: &str, status: &str| {
        let value = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
            "metadata": {"name": format!("sh.helm.release.v1.web.v{version}"), "namespace": "shop",
                "labels": {"owner": "helm", "name": "web", "status": status, "version": version}},
            "data": {"release": STANDARD.encode(&packed)}});
        Delta::Put(Object::from_json(value).expect("an object"))
    };
    let view: View = [secret("1", "superseded"), secret("2", "deployed")].into_iter().collect();
    let found = deployed(&view, &Key::new("shop", "web")).expect("it is there");
    assert_eq!(found, release(&[("templates/pdb.yaml", BUDGET)], values(), MANIFEST));
    assert_eq!(deployed(&view, &Key::new("ops", "web")), None);
    let past: View = [secret("1", "superseded")].into_iter().collect();
    assert_eq!(deployed(&past, &Key::new("shop", "web")), None);
}
