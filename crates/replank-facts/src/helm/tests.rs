use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::view::View;
use serde_json::{Value, json};

use super::{Dependency, Release, deployed, setting};

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
    let manifest = manifest.to_owned();
    Release { chart: "web".to_owned(), dependencies: Vec::new(), templates, values, manifest }
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

/// A value that a chart reads on which this one depends, or that says whether it is rendered, changes more than the object.
#[test]
fn what_other_charts_read_is_not_given() {
    let text = |path: &str| {
        format!(
            "kind: PodDisruptionBudget\nmetadata:\n  name: web\nspec:\n  maxUnavailable: {{{{ .Values.{path} }}}}\n"
        )
    };
    let manifest = "---\n# Source: web/templates/pdb.yaml\nkind: PodDisruptionBudget\nmetadata:\n  name: web\nspec:\n  maxUnavailable: 0\n";
    let one = json!({"spec": {"maxUnavailable": 1}});
    let of = |path: &str, values: Value, dependencies: &[(&str, &str)], more: &str| {
        let dependency = |(values, condition): &(&str, &str)| Dependency {
            values: (*values).to_owned(),
            condition: (*condition).to_owned(),
        };
        let manifest = format!("{manifest}{more}");
        let mut own = release(&[("templates/pdb.yaml", &*text(path))], values, &manifest);
        own.dependencies = dependencies.iter().map(dependency).collect();
        setting(&own, WEB, &one)
    };
    let redis = || json!({"redis": {"budget": 0}});
    assert_eq!(of("redis.budget", redis(), &[], ""), Some(json!({"redis": {"budget": 1}})), "no such chart");
    assert_eq!(of("redis.budget", redis(), &[("redis", "")], ""), None, "the chart's own value");
    let rendered = "---\n# Source: web/charts/redis/templates/x.yaml\nkind: ConfigMap\n";
    assert_eq!(of("redis.budget", redis(), &[], rendered), None, "a chart that nothing names");
    assert_eq!(of("global.budget", json!({"global": {"budget": 0}}), &[], ""), None);
    let max = || json!({"max": 0});
    assert!(of("max", max(), &[("redis", "cache.enabled, maximum")], "").is_some(), "a near name");
    assert_eq!(of("max", max(), &[("redis", "cache.enabled, max")], ""), None, "a condition");
}

/// To `default` a false is empty, as a 0 is; a text is not, if it has a letter.
#[test]
fn a_default_stands_in_for_what_is_empty() {
    let of = |shown: &str, value: Value, wanted: Value| {
        let text = format!(
            "kind: Deployment\nmetadata:\n  name: web\nspec:\n  it: {{{{ .Values.it | {shown} }}}}\n"
        );
        let said = value.to_string();
        let manifest = format!(
            "---\n# Source: web/templates/web.yaml\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  it: {}\n",
            said.trim_matches('"')
        );
        let own = release(&[("templates/web.yaml", &*text)], json!({"it": value}), &manifest);
        setting(&own, ("Deployment", "web"), &json!({"spec": {"it": wanted}})).is_some()
    };
    assert!(!of("default true", json!(true), json!(false)), "true would be rendered");
    assert!(of("default false", json!(true), json!(false)));
    assert!(of("default true", json!(true), json!("0")));
    assert!(!of("default 3", json!(2), json!(0)), "3 would be rendered");
}

#[test]
fn a_release_is_that_of_the_secret_that_is_deployed() {
    let secret = |version: &str, status: &str| {
        let value = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
            "metadata": {"name": format!("sh.helm.release.v1.web.v{version}"), "namespace": "shop",
                "labels": {"owner": "helm", "name": "web", "status": status, "version": version}},
            "data": {"release": version}});
        Delta::Put(Object::from_json(value).expect("an object"))
    };
    let unpack = |data: &str| Some(Release { chart: data.to_owned(), ..Release::default() });
    let of = |view: &View, namespace: &str| {
        deployed(view, &Key::new(namespace, "web"), &unpack).map(|release| release.chart)
    };
    let view: View = [secret("1", "superseded"), secret("2", "deployed")].into_iter().collect();
    assert_eq!(of(&view, "shop").as_deref(), Some("2"));
    assert_eq!(of(&view, "ops"), None);
    let past: View = [secret("1", "superseded")].into_iter().collect();
    assert_eq!(of(&past, "shop"), None);
}
