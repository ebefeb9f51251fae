use super::*;
use crate::finding::Range;
use crate::table::Table;
use std::collections::BTreeMap;

/// With the rows that are built in.
pub(crate) fn measure(target: &str) -> Measure {
    let range = Range { current: None, target: target.parse().unwrap() };
    Measure { table: Table::embedded(), range, products: BTreeMap::new() }
}

/// `LINE GVK EVIDENCE CONFIDENCE` of what is found.
fn found(text: &str) -> Vec<String> {
    let measure = measure("1.30");
    let report = scan(&measure, &"x.yaml".into(), text, &Hint::default()).finish(&measure);
    let line = |finding: &Finding| {
        format!(
            "{} {} {} {}",
            finding.place.line,
            finding.used,
            finding.evidence.word(),
            finding.confidence.word()
        )
    };
    report.findings.iter().map(line).collect()
}

#[test]
fn smoke() {
    assert_eq!(
        found("apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\n"),
        ["1 batch/v1beta1 CronJob manifest high"]
    );
}
