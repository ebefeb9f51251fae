//! How far two servers agree, class by class.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use serde_json::Value;

use super::step::Class;
use crate::wire::Sent;

/// An answer, as far as it is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The status.
    pub status: u16,
    /// Headers.
    pub headers: Vec<(&'static str, Option<String>)>,
    /// The body.
    pub body: Value,
}

impl Answered {
    fn json(&self) -> Value {
        let headers: Vec<_> = self.headers.iter().filter(|(_, text)| text.is_some()).collect();
        serde_json::json!({"status": self.status, "headers": headers, "body": self.body})
    }
}

/// One request that was not answered alike.
#[derive(Clone, Debug)]
pub struct Difference {
    /// What it tried.
    pub class: Class,
    /// The resource, such as `apps/v1/deployments`.
    pub resource: String,
    /// The request, as the served cluster got it.
    pub sent: Sent,
    /// What the reference answered, masked.
    pub wanted: Answered,
    /// What the served cluster answered.
    pub got: Answered,
    /// Where they differ.
    pub places: Vec<String>,
}

impl Difference {
    /// What differences of one cause have in common.
    #[must_use]
    pub fn signature(&self) -> String {
        let mut places = self.places.clone();
        places.sort();
        places.dedup();
        places.truncate(3);
        format!("{}: {}", self.class.name(), places.join("; "))
    }

    /// All of it, as one line of JSON.
    #[must_use]
    pub fn line(&self) -> String {
        let body = self.sent.body.as_ref().map(|body| String::from_utf8_lossy(body).into_owned());
        serde_json::json!({"class": self.class.name(), "resource": self.resource, "places": self.places,
            "method": self.sent.method, "path": self.sent.path, "headers": self.sent.headers, "body": body,
            "wanted": self.wanted.json(), "got": self.got.json()})
        .to_string()
    }
}

/// Requests of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    sent: usize,
    status: usize,
    whole: usize,
}

/// What a run found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    rows: BTreeMap<Class, Row>,
    /// Requests that the reference could not answer for what its store cannot do.
    pub not_compared: usize,
    /// All that was not answered alike.
    pub differences: Vec<Difference>,
}

impl Report {
    /// Counts one request that was answered alike.
    pub(super) fn agreed(&mut self, class: Class) {
        let row = self.rows.entry(class).or_default();
        row.sent += 1;
        row.status += 1;
        row.whole += 1;
    }

    /// Counts one that was not.
    pub(super) fn differed(&mut self, difference: Difference) {
        let row = self.rows.entry(difference.class).or_default();
        row.sent += 1;
        row.status += usize::from(difference.wanted.status == difference.got.status);
        self.differences.push(difference);
    }

    /// How many requests were sent.
    #[must_use]
    pub fn sent(&self) -> usize {
        self.rows.values().map(|row| row.sent).sum()
    }

    /// The share that was answered alike, from 0 to 1.
    #[must_use]
    pub fn agreement(&self) -> f64 {
        let whole: usize = self.rows.values().map(|row| row.whole).sum();
        ratio(whole, self.sent())
    }

    /// Differences by their signatures, the most frequent first: how many, and one of them.
    #[must_use]
    pub fn by_signature(&self) -> Vec<(String, usize, &Difference)> {
        let mut found: BTreeMap<String, (usize, &Difference)> = BTreeMap::new();
        for difference in &self.differences {
            found.entry(difference.signature()).or_insert((0, difference)).0 += 1;
        }
        let mut all: Vec<_> = found.into_iter().map(|(name, (count, one))| (name, count, one)).collect();
        all.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
        all
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of requests are far below 2^52")]
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

impl Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{:<24} {:>8} {:>8} {:>8}", "class", "requests", "status", "whole")?;
        let mut total = Row::default();
        for class in Class::ALL {
            let Some(row) = self.rows.get(&class) else { continue };
            line(out, class.name(), *row)?;
            total.sent += row.sent;
            total.status += row.status;
            total.whole += row.whole;
        }
        line(out, "all", total)?;
        if self.not_compared > 0 {
            writeln!(out, "not compared: {}, which the reference's store cannot do", self.not_compared)?;
        }
        Ok(())
    }
}

fn line(out: &mut fmt::Formatter<'_>, name: &str, row: Row) -> fmt::Result {
    let percent = |part| format!("{:.1}%", (ratio(part, row.sent) * 1000.0).floor() / 10.0);
    writeln!(out, "{name:<24} {:>8} {:>8} {:>8}", row.sent, percent(row.status), percent(row.whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_is_counted_and_never_rounded_up() {
        let mut report = Report::default();
        (0..1999).for_each(|_| report.agreed(Class::Get));
        report.differed(Difference {
            class: Class::Get,
            resource: String::new(),
            sent: Sent::new("GET", "/x"),
            wanted: Answered { status: 200, headers: Vec::new(), body: Value::Null },
            got: Answered { status: 200, headers: Vec::new(), body: Value::from(1) },
            places: vec!["/b".to_owned(), "/a".to_owned(), "/b".to_owned()],
        });
        assert!((report.agreement() - 0.9995).abs() < 1e-9);
        let text = report.to_string();
        assert!(text.contains("get                          2000   100.0%    99.9%"), "{text}");
        assert_eq!(report.by_signature()[0].0, "get: /a; /b");
    }
}
