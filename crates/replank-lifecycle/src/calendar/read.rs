//! Rows of the calendar from JSON.

use replank_model::time::Time;
use serde::Deserialize;
use serde_json::Value;

use super::{Calendar, Day, Row};
use crate::release::Release;

/// Why rows cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub enum CalendarError {
    /// Neither form.
    #[error(
        "neither a list of calendar rows (`replank data -o json`) nor the output of `aws eks describe-cluster-versions`: {0}"
    )]
    Form(#[from] serde_json::Error),
    /// A version that is none.
    #[error("row {number}: {text:?}: expected a version such as 1.36")]
    Version {
        /// Which row, from 1.
        number: usize,
        /// What stands there.
        text: String,
    },
    /// A day that is none.
    #[error("the row of {version}: `{field}` is {text:?}: expected a day such as 2026-11-26")]
    Day {
        /// Whose row.
        version: String,
        /// Which field.
        field: &'static str,
        /// What stands there.
        text: String,
    },
    /// Days in the wrong order: support cannot end before it begins.
    #[error("the row of {version}: {what}")]
    Order {
        /// Whose row.
        version: String,
        /// What is wrong.
        what: &'static str,
    },
}

/// A row as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: String,
    upstream_release: Option<String>,
    eks_release: Option<String>,
    eks_standard_support_end: Option<String>,
    eks_extended_support_end: Option<String>,
    upstream_eol: Option<String>,
    #[serde(default)]
    source: String,
    #[serde(default)]
    note: String,
}

/// What `aws eks describe-cluster-versions` prints (EKS API reference, `ClusterVersionInformation`).
#[derive(Deserialize)]
struct Described {
    #[serde(rename = "clusterVersions")]
    versions: Vec<DescribedVersion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DescribedVersion {
    cluster_version: String,
    release_date: Option<Value>,
    end_of_standard_support_date: Option<Value>,
    end_of_extended_support_date: Option<Value>,
}

pub(super) fn rows(text: &str, known: &Calendar) -> Result<Vec<Row>, CalendarError> {
    let value: Value = serde_json::from_str(text)?;
    let rows = if value.get("clusterVersions").is_some() {
        let described: Described = serde_json::from_value(value)?;
        let versions = described.versions.into_iter().enumerate();
        versions.map(|(at, of)| of_described(at + 1, of, known)).collect::<Result<Vec<_>, _>>()?
    } else {
        let written: Vec<Written> = serde_json::from_value(value)?;
        written.into_iter().enumerate().map(|(at, row)| of_written(at + 1, row)).collect::<Result<_, _>>()?
    };
    rows.iter().try_for_each(in_order)?;
    Ok(rows)
}

fn version(number: usize, text: &str) -> Result<Release, CalendarError> {
    let read: Result<Release, _> = text.parse();
    let release = read.map_err(|_| CalendarError::Version { number, text: text.to_owned() })?;
    Ok(Release::minor(release.major, release.minor))
}

fn of_written(number: usize, row: Written) -> Result<Row, CalendarError> {
    let version = version(number, &row.version)?;
    let day = |field: &'static str, text: Option<String>| {
        text.map(|text| {
            let begin: Result<Time, _> = format!("{text}T00:00:00Z").parse();
            begin.map(Day::of).map_err(|_| CalendarError::Day { version: version.to_string(), field, text })
        })
        .transpose()
    };
    Ok(Row {
        version,
        upstream_release: day("upstream_release", row.upstream_release)?,
        upstream_end: day("upstream_eol", row.upstream_eol)?,
        release: day("eks_release", row.eks_release)?,
        standard_end: day("eks_standard_support_end", row.eks_standard_support_end)?,
        extended_end: day("eks_extended_support_end", row.eks_extended_support_end)?,
        source: row.source,
        note: row.note,
    })
}

/// What Kubernetes itself does is taken from the row that is known: EKS does not say.
fn of_described(number: usize, of: DescribedVersion, known: &Calendar) -> Result<Row, CalendarError> {
    let version = version(number, &of.cluster_version)?;
    let day = |field: &'static str, value: Option<Value>| {
        let wrong = |value: &Value| CalendarError::Day {
            version: version.to_string(),
            field,
            text: value.to_string(),
        };
        value
            .filter(|value| !value.is_null())
            .map(|value| moment(&value).map(Day::of).ok_or_else(|| wrong(&value)))
            .transpose()
    };
    let before = known.row(version);
    Ok(Row {
        version,
        upstream_release: before.and_then(|row| row.upstream_release),
        upstream_end: before.and_then(|row| row.upstream_end),
        release: day("releaseDate", of.release_date)?,
        standard_end: day("endOfStandardSupportDate", of.end_of_standard_support_date)?,
        extended_end: day("endOfExtendedSupportDate", of.end_of_extended_support_date)?,
        source: "aws eks describe-cluster-versions".to_owned(),
        note: String::new(),
    })
}

/// Version 2 of the AWS CLI writes RFC 3339 with the offset of the place, version 1 and the API seconds since 1970.
fn moment(value: &Value) -> Option<Time> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(seconds) => {
            // Whole milliseconds: years are far from the edge of what they hold.
            let millis = seconds.as_f64()? * 1_000.0;
            (millis.abs() < 4e15).then(|| Time::from_millis(millis as i64))
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn in_order(row: &Row) -> Result<(), CalendarError> {
    let wrong = |what| Err(CalendarError::Order { version: row.version.to_string(), what });
    let is_before = |a: Option<Day>, b: Option<Day>| a.zip(b).is_some_and(|(a, b)| a < b);
    if is_before(row.standard_end, row.release) {
        return wrong("standard support ends before EKS offers the version");
    }
    if is_before(row.extended_end, row.standard_end) {
        return wrong("extended support ends before standard support does");
    }
    Ok(())
}
