//! The trace's rows.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

/// A node of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeRow {
    pub(super) name: String,
    pub(super) cpu_milli: u64,
    pub(super) memory_mib: u64,
    pub(super) gpus: u64,
    /// Empty without GPUs.
    pub(super) model: String,
}

/// A pod of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PodRow {
    pub(super) name: String,
    pub(super) cpu_milli: u64,
    pub(super) memory_mib: u64,
    /// Thousandths of a GPU, over all that it asks for.
    pub(super) gpu_milli: u64,
    /// Models that it can use; empty where any will do.
    pub(super) models: Vec<String>,
    pub(super) qos: String,
    pub(super) phase: String,
    pub(super) creation_seconds: i64,
}

/// A row that is read by the names of its columns.
pub(super) trait Row: Sized {
    fn of(fields: &Fields<'_>) -> Result<Self>;
}

/// The fields of one row.
pub(super) struct Fields<'a>(BTreeMap<&'a str, &'a str>);

impl Fields<'_> {
    fn text(&self, column: &str) -> Result<&str> {
        self.0.get(column).copied().with_context(|| format!("there is no column {column}"))
    }

    fn number(&self, column: &str) -> Result<u64> {
        let text = self.text(column)?;
        text.parse().with_context(|| format!("{column}: expected a whole number, found {text:?}"))
    }
}

impl Row for NodeRow {
    fn of(fields: &Fields<'_>) -> Result<Self> {
        Ok(Self {
            name: fields.text("sn")?.to_owned(),
            cpu_milli: fields.number("cpu_milli")?,
            memory_mib: fields.number("memory_mib")?,
            gpus: fields.number("gpu")?,
            model: fields.text("model")?.to_owned(),
        })
    }
}

impl Row for PodRow {
    fn of(fields: &Fields<'_>) -> Result<Self> {
        let (gpus, share) = (fields.number("num_gpu")?, fields.number("gpu_milli")?);
        let models = fields.text("gpu_spec")?.split('|').filter(|model| !model.is_empty());
        let mut models: Vec<String> = models.map(str::to_owned).collect();
        models.dedup();
        Ok(Self {
            name: fields.text("name")?.to_owned(),
            cpu_milli: fields.number("cpu_milli")?,
            memory_mib: fields.number("memory_mib")?,
            // One GPU may be shared; of several, each is taken whole.
            gpu_milli: if gpus == 1 { share } else { gpus * 1_000 },
            models,
            qos: fields.text("qos")?.to_owned(),
            phase: fields.text("pod_phase")?.to_owned(),
            creation_seconds: i64::try_from(fields.number("creation_time")?)?,
        })
    }
}

/// All rows behind a header. The trace quotes nothing.
pub(super) fn rows<R: Row>(text: &str) -> Result<Vec<R>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().context("it is empty")?.split(',').collect();
    let mut rows = Vec::new();
    for (number, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
        let fields: Vec<&str> = line.split(',').collect();
        if line.contains('"') || fields.len() != header.len() {
            bail!("line {}: expected {} plain fields, found {line:?}", number + 2, header.len());
        }
        let fields = Fields(header.iter().copied().zip(fields).collect());
        rows.push(R::of(&fields).with_context(|| format!("line {}", number + 2))?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_not_as_expected_is_named() {
        let header = "sn,cpu_milli,memory_mib,gpu,model\n";
        let error =
            |row: &str| format!("{:#}", rows::<NodeRow>(&format!("{header}{row}")).expect_err("it is wrong"));
        assert_eq!(
            error("a,x,1,0,\n"),
            "line 2: cpu_milli: expected a whole number, found \"x\": invalid digit found in string"
        );
        assert_eq!(error("a,1\n"), "line 2: expected 5 plain fields, found \"a,1\"");
    }

    #[test]
    fn shares_and_whole_gpus() {
        let header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n";
        let text = format!(
            "{header}a,1,1,1,460,V100M16|V100M32|V100M32,LS,Running,0,1,0\nb,1,1,8,1000,,LS,Running,0,1,0\n"
        );
        let rows: Vec<PodRow> = rows(&text).expect("rows");
        assert_eq!(rows[0].gpu_milli, 460);
        assert_eq!(rows[0].models, ["V100M16", "V100M32"]);
        assert_eq!(rows[1].gpu_milli, 8_000);
    }
}
