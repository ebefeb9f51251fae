//! Discovery: which groups, versions and resources are served.

mod aggregated;
mod catalog;
mod custom;
mod plain;

pub(crate) use aggregated::{Aggregated, MEDIA, aggregated};
pub(crate) use catalog::Catalog;
pub(crate) use custom::{Definition, definitions, state};
pub(crate) use plain::{ApiResourceList, api_versions, group_list, one_group, resource_list};
