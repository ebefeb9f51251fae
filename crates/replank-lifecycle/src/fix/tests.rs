use crate::judge::Measure;
use crate::scan::Hint;
use crate::schema::Schema;
use std::sync::Arc;

use super::*;
use crate::finding::Range as Versions;
use crate::release::Release;
use crate::table::Table;

pub(super) fn measure() -> Measure {
    Measure {
        table: Table::embedded(),
        range: Versions { current: None, target: Release::minor(1, 36) },
        products: [].into(),
    }
}

fn fixed(text: &str) -> Fixed {
    fix(&measure(), &Schema::embedded(), &Arc::from("x.yaml"), text, &Hint::default(), &|_| false)
}

const BUDGET: &str =
    "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec:\n  selector: {}\n";

#[test]
fn the_ends_of_lines_are_kept() {
    let crlf = BUDGET.replace('\n', "\r\n");
    let fixed = fixed(&crlf);
    assert_eq!(fixed.changes.len(), 1);
    assert_eq!(fixed.text.matches('\n').count(), fixed.text.matches("\r\n").count());
    assert!(fixed.text.ends_with("operator: Exists\r\n"));
}

#[test]
fn a_text_without_a_last_line_end_gets_none() {
    let fixed_text = fixed(BUDGET.trim_end()).text;
    assert!(fixed_text.ends_with("operator: Exists"), "{fixed_text}");
    let replica_set = "apiVersion: extensions/v1beta1\nkind: ReplicaSet\nmetadata: {name: a, labels: {a: b}}\nspec:\n  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: []}";
    let fixed = fixed(replica_set);
    assert!(
        fixed.text.ends_with("    spec: {containers: []}\n  selector:\n    matchLabels:\n      a: b"),
        "{}",
        fixed.text
    );
}

#[test]
fn byte_order_marks_tabs_and_bare_markers_stay() {
    let text = format!("\u{feff}---\n{BUDGET}---\n# {{tab}}\tonly\n---\n{BUDGET}---");
    let fixed = fixed(&text);
    assert_eq!(fixed.changes.len(), 2);
    assert!(
        fixed.text.starts_with("\u{feff}---\napiVersion: policy/v1\n") && fixed.text.ends_with("Exists\n---")
    );
    assert!(fixed.text.contains("# {tab}\tonly\n"));
}

#[test]
fn templates_metrics_and_past_ones_are_left_alone() {
    let template = format!("{BUDGET}{{{{- if .x }}}}\nmore: [\n");
    assert_eq!(fixed(&template).text, template);
    assert!(fixed(&template).hunks.is_empty());
    let chart = format!("{BUDGET}# {{{{ .Values.x }}}}\n");
    let hint = Hint { in_chart: true, ..Hint::default() };
    let in_chart = fix(&measure(), &Schema::embedded(), &Arc::from("x.yaml"), &chart, &hint, &|_| false);
    assert_eq!(in_chart.text, chart);
}

#[test]
fn a_key_that_is_there_twice_is_told() {
    let fixed = fixed(&format!("{BUDGET}spec: {{}}\n"));
    assert_eq!(fixed.changes, []);
    let [Left { why: Why::InTheWay(why), place, .. }] = &fixed.left[..] else { panic!("{:?}", fixed.left) };
    assert_eq!((why.as_str(), place.line), ("duplicate key `spec`", 1));
}

#[test]
fn a_difference_can_be_applied() {
    let text = format!("# a\n# b\n# c\n# d\n{BUDGET}# e\n# f\n# g\n# h\n");
    let fixed = fixed(&text);
    assert_eq!(
        unified("x.yaml", &text, &fixed.hunks),
        "--- a/x.yaml\n+++ b/x.yaml\n@@ -2,11 +2,14 @@\n # b\n # c\n # d\n-apiVersion: policy/v1beta1\n+apiVersion: policy/v1\n \
         kind: PodDisruptionBudget\n metadata: {name: a}\n spec:\n-  selector: {}\n+  selector:\n+    matchExpressions:\n+    \
         - key: pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match\n+      operator: Exists\n # e\n # f\n # g\n"
    );
    let end = fixed.text.trim_end().len();
    assert!(end > 0);
}

#[test]
fn a_difference_says_where_a_line_has_no_end() {
    let text = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nspec: {selector: {}}";
    let fixed = fixed(text);
    let difference = unified("x", text, &fixed.hunks);
    assert_eq!(difference.matches("\\ No newline at end of file").count(), 2, "{difference}");
}
