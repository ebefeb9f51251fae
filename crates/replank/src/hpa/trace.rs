//! The load to be replayed: CSV, one column of times and one for each metric.

use std::path::Path;

use anyhow::{Context, anyhow};
use replank_model::object::Kind;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::meta::Key;
use replank_model::quantity::Quantity;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_sim::load::{Curve, Load, Measured};

use crate::failure::Failure;

/// A file of load: times as spans since its first row.
#[derive(Debug)]
pub(crate) struct Trace {
    name: String,
    /// Names of the columns besides the first, and the line that they stand in.
    columns: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    since: Span,
    values: Vec<f64>,
}

/// What a time of the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// Since a beginning.
    Since(Span),
    /// By the clock.
    At(Time),
}

impl Trace {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{name} cannot be read"))
            .map_err(Failure::usage)?;
        Self::parse(&name, &text).map_err(|error| {
            Failure::usage(error).next("docs/hpa.md describes the form: time,load and one row for each point")
        })
    }

    fn parse(name: &str, text: &str) -> anyhow::Result<Self> {
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (_, head) = lines.next().with_context(|| format!("{name} is empty"))?;
        let head: Vec<&str> = head.split(',').map(unquoted).collect();
        let Some((&"time", columns)) = head.split_first() else {
            return Err(anyhow!(
                "{name}: the first column is {:?}, expected time",
                head.first().unwrap_or(&"")
            ));
        };
        if columns.is_empty() {
            return Err(anyhow!("{name} has no load column"));
        }
        let columns: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
        let mut first = None;
        let mut rows: Vec<Row> = Vec::new();
        for (number, line) in lines {
            let at = || format!("{name}, line {number}");
            let cells: Vec<&str> = line.split(',').map(unquoted).collect();
            if cells.len() != columns.len() + 1 {
                return Err(anyhow!("{}: {} cells, the header has {}", at(), cells.len(), columns.len() + 1));
            }
            let moment = moment(cells[0]).with_context(at)?;
            let first = *first.get_or_insert(moment);
            let since = since(first, moment).with_context(at)?;
            if rows.last().is_some_and(|last| last.since > since) {
                return Err(anyhow!("{}: its time is before that of the previous row", at()));
            }
            let values =
                cells[1..].iter().map(|cell| value(cell).with_context(at)).collect::<anyhow::Result<_>>()?;
            rows.push(Row { since, values });
        }
        if rows.last().is_none_or(|last| last.since == Span::ZERO) {
            return Err(anyhow!("{name} needs at least two rows with different times"));
        }
        Ok(Self { name: name.to_owned(), columns, rows })
    }

    /// What it is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How long it is.
    pub(crate) fn length(&self) -> Span {
        self.rows.last().map_or(Span::ZERO, |row| row.since)
    }

    /// The load of each metric of the autoscalers that a column is for, from a moment on. An autoscaler of which one metric has a
    /// column needs one for each.
    pub(crate) fn loads(&self, all: &[&HorizontalPodAutoscaler], start: Time) -> Result<Vec<Load>, Failure> {
        let metrics: Vec<(Key, Measured)> = all
            .iter()
            .flat_map(|hpa| Measured::all_of(hpa).into_iter().map(|of| (hpa.meta.key(), of)))
            .collect();
        let mut loads = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let (hpa, of) = self.meant(column, &metrics)?;
            let points = self.rows.iter().map(|row| (start + row.since, row.values[index])).collect();
            let curve = Curve::new(points).map_err(|error| {
                Failure::usage(anyhow::Error::new(error).context(format!("{}, column {column}", self.name)))
            })?;
            loads.push(Load { hpa: hpa.clone(), of: of.clone(), curve });
        }
        for (hpa, of) in &metrics {
            let is_loaded = loads.iter().any(|load| load.hpa == *hpa);
            if is_loaded && !loads.iter().any(|load| load.hpa == *hpa && load.of == *of) {
                return Err(Failure::usage_message(format!(
                    "HorizontalPodAutoscaler {hpa} also uses {of}, but {} has no column for it",
                    self.name
                ))
                .next(format!("add a column {hpa}:{of}: a missing metric prevents scale-down")));
            }
        }
        Ok(loads)
    }

    /// Whether everything is there that is scaled by the autoscalers that meet loads of this file.
    pub(crate) fn has_targets(&self, loads: &[Load], view: &View, next: &str) -> Result<(), Failure> {
        for load in loads {
            let Some(hpa) = view.find::<HorizontalPodAutoscaler>(&load.hpa) else { continue };
            let target = &hpa.spec.scale_target_ref;
            let key = Key::new(hpa.meta.namespace.as_str(), target.name.as_str());
            let kind = Kind::of(&target.api_version, &target.kind);
            if kind.and_then(|kind| view.object(kind, &key)).is_none() {
                return Err(Failure::usage_message(format!(
                    "{} {key}, which HorizontalPodAutoscaler {} scales and {} loads, does not exist",
                    target.kind, load.hpa, self.name
                ))
                .next(next));
            }
        }
        Ok(())
    }

    /// The metric that a column is for: `load` where there is one only, its name where only one has it, or with the autoscaler's before it.
    fn meant<'a>(
        &self,
        column: &str,
        metrics: &'a [(Key, Measured)],
    ) -> Result<&'a (Key, Measured), Failure> {
        let fits: Vec<&(Key, Measured)> = metrics
            .iter()
            .filter(|(hpa, of)| {
                let of = of.to_string();
                column == "load"
                    || column == of
                    || column == format!("{}:{of}", hpa.name)
                    || column == format!("{hpa}:{of}")
            })
            .collect();
        let named = |list: &[&(Key, Measured)]| {
            let names: Vec<String> = list.iter().map(|(hpa, of)| format!("{hpa}:{of}")).collect();
            names.join(", ")
        };
        let all: Vec<&(Key, Measured)> = metrics.iter().collect();
        match fits.as_slice() {
            [only] => Ok(only),
            [] => {
                Err(Failure::usage_message(format!("{}: no autoscaler uses a metric {column:?}", self.name))
                    .next(format!("name the column after one of: {}", named(&all))))
            }
            several => Err(Failure::usage_message(format!(
                "{}: the column {column:?} matches {} metrics",
                self.name,
                several.len()
            ))
            .next(format!("name it after one of: {}", named(several)))),
        }
    }
}

fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell)
}

/// Seconds, a duration, or a moment as in RFC 3339.
fn moment(text: &str) -> anyhow::Result<Moment> {
    if let Ok(seconds) = text.parse::<f64>()
        && seconds.is_finite()
    {
        return Ok(Moment::Since(Span::from_millis((seconds * 1_000.0).round() as i64)));
    }
    if let Ok(span) = text.parse::<Span>() {
        return Ok(Moment::Since(span));
    }
    let at = text.parse::<Time>();
    at.map(Moment::At).map_err(|_| {
        anyhow!("{text:?} is not a time: expected seconds (90), a duration (1m30s) or a time (2026-11-20T09:52:00Z)")
    })
}

fn since(first: Moment, moment: Moment) -> anyhow::Result<Span> {
    match (first, moment) {
        (Moment::Since(first), Moment::Since(later)) => Ok(later - first),
        (Moment::At(first), Moment::At(later)) => Ok(later - first),
        (Moment::Since(_), Moment::At(_)) | (Moment::At(_), Moment::Since(_)) => {
            Err(anyhow!("absolute and relative times cannot be mixed in one file"))
        }
    }
}

/// A quantity, as in a manifest.
fn value(text: &str) -> anyhow::Result<f64> {
    if let Ok(number) = text.parse::<f64>()
        && number.is_finite()
    {
        return Ok(number);
    }
    let quantity = text.parse::<Quantity>();
    quantity
        .map(|quantity| quantity.approximate_f64())
        .map_err(|error| anyhow!(error).context(format!("{text:?} is not a number")))
}

#[cfg(test)]
mod tests {
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;

    fn hpa(name: &str, metrics: &serde_json::Value) -> HorizontalPodAutoscaler {
        let object = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name, "namespace": "shop"},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": name}, "maxReplicas": 3, "metrics": metrics}});
        let object = Object::from_json(object).unwrap();
        let Object::HorizontalPodAutoscaler(hpa) = &object else { panic!("{}", object.reference()) };
        (**hpa).clone()
    }

    fn error(text: &str) -> String {
        format!("{:#}", Trace::parse("t.csv", text).unwrap_err())
    }

    #[test]
    fn times_are_seconds_durations_or_moments() {
        for rows in ["0,1\n90,2", "10m,1\n11m30s,2", "2026-11-20T09:00:00Z,1\n2026-11-20T10:01:30+01:00,2"] {
            let trace = Trace::parse("t.csv", &format!("# a comment\ntime,load\n\n{rows}\n")).unwrap();
            assert_eq!(trace.length(), Span::from_secs(90), "{rows}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        assert_eq!(error(""), "t.csv is empty");
        assert_eq!(error("when,load\n0,1"), "t.csv: the first column is \"when\", expected time");
        assert_eq!(error("time,load\n0,1\n5,1,2"), "t.csv, line 3: 3 cells, the header has 2");
        assert_eq!(
            error("time,load\n9,1\n5,1"),
            "t.csv, line 3: its time is before that of the previous row"
        );
        assert!(error("time,load\n0,1\nsoon,1").starts_with("t.csv, line 3: \"soon\" is not a time"));
        assert!(error("time,load\n0,1\n5m,many").starts_with("t.csv, line 3: \"many\" is not a number"));
        assert!(error("time,load\n0,1\n2026-11-20T09:00:00Z,1").contains("cannot be mixed in one file"));
        assert!(error("time,load\n0,1").contains("needs at least two rows with different times"));
    }

    #[test]
    fn columns_are_for_metrics() {
        let cpu =
            json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 50}}}]);
        let two = json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 50}}},
            {"type": "External", "external": {"metric": {"name": "queue"}, "target": {"averageValue": "5"}}}]);
        let (web, worker) = (hpa("web", &cpu), hpa("worker", &two));
        let start = Time::from_millis(0);
        let loads = |head: &str, hpas: &[&HorizontalPodAutoscaler]| {
            let columns = head.split(',').count();
            let row = |time: u32| format!("{time}{}", ",500m".repeat(columns - 1));
            let trace = Trace::parse("t.csv", &format!("{head}\n{}\n{}", row(0), row(60))).unwrap();
            trace
                .loads(hpas, start)
                .map_err(|failure| (failure.error.to_string(), failure.next.unwrap_or_default()))
        };
        let one = loads("time,load", &[&web]).unwrap();
        assert_eq!((one.len(), one[0].curve.at(start)), (1, 0.5));
        assert_eq!(loads("time,web:cpu,worker:cpu,queue", &[&web, &worker]).unwrap().len(), 3);
        assert_eq!(loads("time,shop/web:cpu", &[&web, &worker]).unwrap().len(), 1);
        assert!(loads("time,cpu", &[&web, &worker]).unwrap_err().0.contains("matches 2 metrics"));
        assert!(loads("time,rps", &[&web]).unwrap_err().1.contains("shop/web:cpu"));
        assert!(loads("time,worker:cpu", &[&worker]).unwrap_err().0.contains("also uses queue"));
    }
}
