//! What is known of a file before it is read.

use std::sync::Arc;

use super::values::Values;

/// What is known of a text besides its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// The program that rendered it.
    pub rendered_by: Option<String>,
    /// Whether it lies among the templates of a Helm chart.
    pub in_chart: bool,
    /// What the chart's own values say.
    pub values: Arc<Values>,
}
