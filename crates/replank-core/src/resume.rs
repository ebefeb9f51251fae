//! Going on with a run that another process began: from what is observed alone, without a plan file and without memory.
//!
//! The record of the run has the plan, since when it runs, how groups are told and what is wanted of it; marks and tags say how far it is.

use replank_facts::run_record::told;
use replank_model::text::RunId;
use replank_model::view::View;
use replank_protocol::record::{self, FoundRecord};

use crate::decide::Core;
use crate::run::Preflight;

/// Why no run can be gone on with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// Its record cannot be read.
    #[error("ConfigMap {holder}: {why}")]
    Record {
        /// Namespace and name.
        holder: String,
        /// Why.
        why: String,
    },
    /// There are several.
    #[error("there are records of several runs ({}): name one of them", runs.join(", "))]
    Several {
        /// Their names.
        runs: Vec<String>,
    },
}

impl Core {
    /// A core that goes on with the run whose record is in the view; `None` if there is no record. It has observed nothing yet.
    ///
    /// # Errors
    /// Where there are several and `run` names none of them, or the record cannot be read.
    pub fn resume(
        view: &View,
        run: Option<&RunId>,
        preflight: Preflight,
    ) -> Result<Option<Self>, ResumeError> {
        let mut records = record::all(view);
        records.retain(|found| run.is_none() || found.run.as_ref() == run);
        let found = match records.as_slice() {
            [] => return Ok(None),
            [found] => found,
            several => {
                let runs =
                    several.iter().map(|one| one.run.as_ref().map_or_else(String::new, ToString::to_string));
                return Err(ResumeError::Several { runs: runs.collect() });
            }
        };
        let unreadable = |why| ResumeError::Record { holder: holder(found), why };
        let record = found.record.as_ref().map_err(|error| unreadable(error.to_string()))?;
        let told = told(record).map_err(|error| unreadable(error.to_string()))?;
        let mut core = Self::new(told.plan, told.run, told.options, preflight).with_record();
        core.intend(told.intent);
        Ok(Some(core))
    }
}

fn holder(found: &FoundRecord) -> String {
    found.holder.meta.key().to_string()
}
