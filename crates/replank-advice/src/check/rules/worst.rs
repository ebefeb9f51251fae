//! The worst of what is found of each workload: one with ten thousand pods is told once.

use std::collections::BTreeMap;

use replank_facts::workload::Workload;

use super::super::finding::{Finding, Severity};

/// The worst finding of each workload so far; of equal ones the first.
#[derive(Default)]
pub(super) struct Worst<'a> {
    found: BTreeMap<&'a Workload, Finding>,
}

impl<'a> Worst<'a> {
    /// Takes in a finding. It is written only where it is worse than what is known of the workload: its text and its remedy may take a look at all of the
    /// workload's pods.
    pub(super) fn take(
        &mut self,
        workload: &'a Workload,
        severity: Severity,
        write: impl FnOnce() -> Finding,
    ) {
        if self.found.get(workload).is_none_or(|known| severity < known.severity) {
            self.found.insert(workload, write());
        }
    }

    /// All of them, by workload.
    pub(super) fn findings(self) -> Vec<Finding> {
        self.found.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::meta::Key;

    use super::super::super::finding::{ObjectName, Rule};
    use super::*;

    #[test]
    fn what_is_no_worse_is_not_written() {
        let workload = |name: &str| Workload { kind: "Job".into(), key: Key::new("shop", name) };
        let (one, other) = (workload("a"), workload("b"));
        let mut written = Vec::new();
        let mut worst = Worst::default();
        let pods = [
            (&one, Severity::Info),
            (&one, Severity::Info),
            (&other, Severity::Warning),
            (&one, Severity::Warning),
            (&one, Severity::Info),
            (&one, Severity::Warning),
        ];
        for (at, (workload, severity)) in pods.into_iter().enumerate() {
            worst.take(workload, severity, || {
                written.push(at);
                let object = ObjectName { kind: workload.kind.clone(), key: workload.key.clone() };
                Finding {
                    rule: Rule::BatchUnprotected,
                    severity,
                    object,
                    reason: at.to_string(),
                    remedy: String::new().into(),
                }
            });
        }
        let reasons: Vec<String> = worst.findings().into_iter().map(|one| one.reason).collect();
        assert_eq!(reasons, ["3", "2"]);
        assert_eq!(written, [0, 2, 3]);
    }
}
