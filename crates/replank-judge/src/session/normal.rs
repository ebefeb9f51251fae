//! What is left of an output without what differs between any two clusters: uids, versions, times, ages, addresses, generated names, which node.

use regex_lite::Regex;

/// Letters of generated names: no vowels, and nothing that looks like another.
const LETTERS: &str = "[bcdfghjklmnpqrstvwxz2456789]";

/// Rules, in order.
#[derive(Debug)]
pub struct Normal {
    rules: Vec<(Regex, &'static str)>,
}

impl Default for Normal {
    fn default() -> Self {
        let rules = [
            (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}".to_owned(), "<uid>"),
            (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( ?Z| ?[+-]\d\d:?\d\d)?( UTC)?".to_owned(), "<time>"),
            (r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun),? \w+ +\w+ [\d:]+ [\d:+ ]+\b".to_owned(), "<time>"),
            (r"^([IWE])\d{4} [\d:.]+ +\d+ ".to_owned(), "$1 "),
            (r"/tmp/kubectl-edit-\d+".to_owned(), "/tmp/kubectl-edit-<n>"),
            (r"\beu-west-1[a-z]\b".to_owned(), "<zone>"),
            (r"https://[\w.]+:\d+".to_owned(), "https://<server>"),
            (r"\b\d{1,3}(\.\d{1,3}){3}\b".to_owned(), "<ip>"),
            (r#"((pod-template-hash|controller-revision-hash)"?[=:] ?"?)\w+-?\w*"#.to_owned(), "$1<hash>"),
            (format!(r"-{LETTERS}{{8,10}}-{LETTERS}{{5}}\b"), "-<hash>-<generated>"),
            (format!(r"-{LETTERS}{{8,10}}\b"), "-<hash>"),
            (format!(r"-{LETTERS}{{5}}\b"), "-<generated>"),
            (r#"(resourceVersion"?: ?"?)\d+"#.to_owned(), "$1<version>"),
            (r"\bnode-\d\b".to_owned(), "<node>"),
            (r"\b3[0-2]\d{3}/TCP".to_owned(), "<port>/TCP"),
            (r"(^|[\s(])(\d+m)?\d+s\b".to_owned(), "$1<age>"),
            (r"\(x\d+ over".to_owned(), "(x<times> over"),
            (r"(\S)([ \t]{2,}|\t)".to_owned(), "$1  "),
            (r"[ \t]+$".to_owned(), ""),
        ];
        let compiled = rules.into_iter().map(|(rule, by)| (Regex::new(&rule).expect("a rule"), by));
        Self { rules: compiled.collect() }
    }
}

impl Normal {
    /// The lines of an output, normalised, without blank ones at its end.
    #[must_use]
    pub fn lines(&self, output: &str) -> Vec<String> {
        // kubectl's own log of a watch that it cancels itself.
        let said = output.lines().filter(|line| !line.contains("] \"Failed to watch\" err="));
        let mut lines: Vec<String> = said.map(|line| self.line(line)).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    fn line(&self, line: &str) -> String {
        self.rules.iter().fold(line.to_owned(), |line, (rule, by)| rule.replace_all(&line, *by).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_goes_and_the_rest_stays() {
        let cases = [
            (
                "web-5d8f9c7b64-x2x9z   1/1   Running   0     1m12s",
                "web-<hash>-<generated>  1/1  Running  0  <age>",
            ),
            ("agent-x2x9z  10.244.0.7  node-2", "agent-<generated>  <ip>  <node>"),
            ("  cpu:     100m", "  cpu:  100m"),
            ("    creationTimestamp: \"2026-11-26T17:40:00Z\"", "    creationTimestamp: \"<time>\""),
            ("LAST DEPLOYED: Thu Nov 26 17:40:00 2026", "LAST DEPLOYED: <time>"),
            ("  resourceVersion: \"1234\"", "  resourceVersion: \"<version>\""),
            (
                "Normal  Pulled  3s (x2 over 10s)  kubelet",
                "Normal  Pulled  <age> (x<times> over <age>)  kubelet",
            ),
            ("test-pods", "test-pods"),
        ];
        let normal = Normal::default();
        for (printed, left) in cases {
            assert_eq!(normal.lines(printed), [left]);
        }
    }
}
